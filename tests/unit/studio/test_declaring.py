"""Choosing a table and declaring attributes, as changes of a policy file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Column
from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.studio import declaring
from blowfish_privacy.studio.declaring import (
    check_of,
    check_place,
    columns_of,
    first_form,
    first_rows,
    look_into,
    place_of,
    rows_of,
    with_attribute,
    with_data,
    with_other_data,
    without_attribute,
)
from blowfish_privacy.studio.draft import Draft, Problem, from_folder, moved

AGE, SEX = {"integer": [0, 99]}, {"categorical": ["f", "m"]}

HERE = Path()


def valid(body):
    draft = Draft("")
    assert draft.change(body) is None
    return body


def test_a_table_begins_a_file():
    body = with_data({}, "people.csv")
    assert body == {"version": 1, "data": "people.csv", "ledger": "people.ledger", "budget": Decimal("1.0")}
    assert list(body) == ["version", "data", "ledger", "budget"]
    valid(body)
    assert with_data(body, "other.csv") == {**body, "data": "other.csv"}
    assert with_data({}, "postgresql://host/db?table=t")["ledger"] == "release.ledger"
    kept = with_data({"version": 1, "policy": {"domain": {"age": AGE}, "secrets": "full"}}, "a.csv")
    assert list(kept) == ["version", "data", "policy"]


def test_a_ledger_that_is_not_made_yet_is_named_after_the_next_table(tmp_path: Path):
    body, said = with_other_data({}, "a.csv", tmp_path)
    assert (body["ledger"], said) == ("a.ledger", "")
    body, said = with_other_data(body, "sub/b.csv", tmp_path)
    assert (body["data"], body["ledger"]) == ("sub/b.csv", "b.ledger")
    assert said == "The ledger, which is not made yet, is now b.ledger."
    assert list(valid(body)) == ["version", "data", "ledger", "budget"]
    assert with_other_data(body, "sub/b.csv", tmp_path) == (body, "")
    own = {**body, "ledger": "own.ledger"}
    assert with_other_data(own, "c.csv", tmp_path) == ({**own, "data": "c.csv"}, "")
    assert with_other_data({"data": "a.csv"}, "b.csv", tmp_path) == ({"version": 1, "data": "b.csv"}, "")


def test_a_ledger_that_exists_stays_and_belongs_to_the_table_before(tmp_path: Path):
    (tmp_path / "a.ledger").write_text("")
    body, said = with_other_data(with_data({}, "a.csv"), "b.csv", tmp_path)
    assert (body["data"], body["ledger"]) == ("b.csv", "a.ledger")
    assert "a.ledger exists already and belongs to a.csv" in said


def test_the_address_of_a_ledger_is_not_quoted(tmp_path: Path):
    before = {**with_data({}, "a.csv"), "ledger": "postgresql://host/ledgers"}
    body, said = with_other_data(before, "b.csv", tmp_path)
    assert body["ledger"] == before["ledger"]
    assert "made for a.csv" in said
    assert "host" not in said


def test_the_first_attribute_makes_a_policy_and_others_are_secret_in_full():
    body = valid(with_attribute({}, "age", AGE))
    assert body["policy"] == {"domain": {"age": AGE}, "secrets": "full"}
    body = valid(with_attribute(body, "sex", SEX))
    assert body["policy"]["secrets"] == "full"
    with pytest.raises(SpecError, match="no name"):
        with_attribute(body, "", SEX)


@pytest.mark.parametrize(
    ("secrets", "after"),
    [
        ("attributes", "attributes"),
        ("add_remove", "add_remove"),
        ({"per_attribute": {"age": {"threshold": 5}}}, {"per_attribute": {"age": {"threshold": 5}, "sex": "full"}}),
        ({"threshold": 5}, {"per_attribute": {"age": {"threshold": 5}, "sex": "full"}}),
        ("public", {"per_attribute": {"age": "public", "sex": "full"}}),
        (
            {"partition": {"widths": {"age": 10}}},
            {"per_attribute": {"age": {"partition": {"widths": {"age": 10}}}, "sex": "full"}},
        ),
    ],
)
def test_a_new_attribute_changes_nothing_of_what_was_promised_about_others(secrets, after):
    body = {"version": 1, "policy": {"domain": {"age": AGE}, "secrets": secrets}}
    assert valid(with_attribute(body, "sex", SEX))["policy"]["secrets"] == after


def test_a_declaration_is_replaced_in_its_place():
    body = with_attribute(with_attribute({}, "age", AGE), "sex", SEX)
    changed = with_attribute(body, "age", {"integer": [0, 120]})
    assert list(changed["policy"]["domain"]) == ["age", "sex"]
    assert body["policy"]["domain"]["age"] == AGE


def test_leaving_an_attribute_out_takes_it_out_of_the_secrets():
    domain = {"age": AGE, "sex": SEX}
    body = {"version": 1, "policy": {"domain": domain, "secrets": {"per_attribute": {"age": "full", "sex": "public"}}}}
    left = valid(without_attribute(body, "sex", HERE))
    assert left["policy"] == {"domain": {"age": AGE}, "secrets": {"per_attribute": {"age": "full"}}}
    assert without_attribute(left, "age", HERE) == {"version": 1}


def test_what_needs_an_attribute_is_named():
    domain = {"age": AGE, "sex": SEX}
    body = {
        "version": 1,
        "policy": {"domain": domain, "secrets": "full", "known": [{"marginal": ["age"]}, {"marginal": ["sex"]}]},
        "releases": [
            {"name": "ages", "histogram": ["age"], "epsilon": Decimal("0.1")},
            {"name": "both", "histogram": ["age", "sex"], "epsilon": Decimal("0.1")},
        ],
    }
    with pytest.raises(PolicyError, match="sex is still needed: known fact 2, release both\\."):
        without_attribute(body, "sex", HERE)
    by = {"by": "sex", "f": "full", "m": "public"}
    with pytest.raises(PolicyError, match="the secrets"):
        without_attribute({"version": 1, "policy": {"domain": domain, "secrets": by}}, "sex", HERE)
    one = {**body, "policy": {"domain": {"age": AGE}, "secrets": "full"}, "releases": body["releases"][:1]}
    with pytest.raises(PolicyError, match="release ages"):
        without_attribute(one, "age", HERE)


def test_folders_show_tables_and_folders_only(tmp_path: Path):
    for name in ("b.csv", "A.parquet", "notes.txt", ".hidden.csv"):
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    seen = look_into(tmp_path)
    assert seen.folders == ("inner",)
    assert seen.tables == ("A.parquet", "b.csv")
    assert seen.is_table
    assert not look_into(tmp_path / "inner").is_table
    for wrong in (tmp_path / "none", tmp_path / "b.csv", "\0"):
        with pytest.raises(DataError):
            look_into(wrong)


def test_a_table_beside_the_file_is_named_without_its_folder(tmp_path: Path):
    assert from_folder(str(tmp_path / "a" / "b.csv"), tmp_path) == "a/b.csv"
    assert from_folder("/elsewhere/b.csv", tmp_path) == "/elsewhere/b.csv"
    for data in ("b.csv", "postgresql://host/db?table=t", "spark:/lake"):
        assert from_folder(data, tmp_path) == data


def test_an_address_without_a_password_is_taken():
    pytest.importorskip("psycopg")
    check_place("postgresql://me@host/db?table=t")


def test_a_password_gets_into_no_file():
    for data in ("people.csv", "spark:/lake"):
        check_place(data)
    for data in ("postgresql://me:hunter2@host/db?table=t", "mysql://me:hunter2@host/db", "host=h password=hunter2"):
        with pytest.raises(DataError) as caught:
            check_place(data)
        assert "hunter2" not in str(caught.value)


def test_a_file_that_moves_names_the_same_files(tmp_path: Path):
    (tmp_path / "old.ledger").touch()
    body = {
        "data": "people.csv",
        "ledger": "new.ledger",
        "policy": {"domain": {"age": AGE, "place": {"hierarchy": {"file": "places.csv"}}}, "secrets": "full"},
    }
    after = moved(body, tmp_path, tmp_path / "inner")
    assert after["data"] == str(tmp_path / "people.csv")
    assert after["ledger"] == "new.ledger"
    assert after["policy"]["domain"]["place"]["hierarchy"]["file"] == str(tmp_path / "places.csv")
    assert moved({"ledger": "old.ledger"}, tmp_path, tmp_path / "inner")["ledger"] == str(tmp_path / "old.ledger")
    assert moved({"data": "inner/a.csv"}, tmp_path, tmp_path / "inner")["data"] == "a.csv"
    for data in ("postgresql://host/db?table=t", "spark:/lake", "/elsewhere/a.csv"):
        assert moved({"data": data}, tmp_path, tmp_path / "inner")["data"] == data


# What is shown of a table: columns, kinds, declarations; and the custodian's check.


POLICY = bp.Policy(bp.Domain(age=bp.Integer(0, 9)), secrets=bp.FullDomain())


def test_columns_come_first_and_then_attributes_without_one():
    attributes = {"sex": bp.Categorical(["f", "m"]), "age": bp.Integer(0, 9, outside="clamp", missing=3)}
    rows = rows_of([Column("age", "integer"), Column("name", "text")], attributes)
    assert [(row.name, row.holds) for row in rows] == [
        ("age", "whole numbers"),
        ("name", "text"),
        ("sex", "no such column in the table"),
    ]
    assert rows[0].said == "whole numbers from 0 to 9; values outside count as the nearest; missing ones count as 3"
    assert rows[1].said == ""
    assert rows[2].said == "2 categories: f, m"
    assert [row.holds for row in rows_of(None, attributes)] == ["", ""]
    spaced = {"day": bp.Date("2020-01-01", "2020-01-31", step="week"), "wage": bp.Decimal(0, 1, "0.25")}
    said = ["5 weeks from 2020-01-01 to 2020-01-31", "numbers from 0 to 1 in steps of 0.25"]
    assert [row.said for row in rows_of(None, spaced)] == said
    assert rows_of(None, {"town": bp.Categorical([f"t{n}" for n in range(50)])})[0].said == "50 categories"


@pytest.mark.parametrize(
    ("kind", "form"),
    [("integer", "integer"), ("unparsed", "integer"), ("float", "binned"), ("text", "categorical"), ("date", "date")],
)
def test_a_form_begins_with_what_the_column_suggests(kind, form):
    assert first_form(Column("a", kind)).kind == form


def test_truth_values_are_filled_in():
    assert first_form(Column("a", "boolean")).declaration() == {"categorical": [False, True]}
    assert first_form(None).kind == "integer"


def test_a_table_that_cannot_be_opened_is_a_problem(tmp_path: Path):
    found = columns_of(str(tmp_path / "none.csv"))
    assert isinstance(found, Problem)
    assert isinstance(check_of(str(tmp_path / "none.csv"), POLICY), Problem)


def test_an_error_that_nobody_thought_of_quotes_nothing(monkeypatch):
    def fail(_data):
        raise RuntimeError("Canary")

    monkeypatch.setattr(declaring, "describe", fail)
    found = columns_of("a.csv")
    assert isinstance(found, Problem)
    assert "RuntimeError" in found.message
    assert "Canary" not in f"{found.message}{found.hint}"


def test_a_check_counts(tmp_path: Path):
    (tmp_path / "a.csv").write_text("age,name\n1,x\n11,y\n")
    found = check_of(str(tmp_path / "a.csv"), POLICY)
    assert not isinstance(found, Problem)
    assert found.domain.rows == 2
    assert not found.fits
    columns = columns_of(str(tmp_path / "a.csv"))
    assert not isinstance(columns, Problem)
    assert [(each.name, each.kind) for each in columns] == [("age", "unparsed"), ("name", "unparsed")]


def test_where_a_table_is(tmp_path: Path):
    assert place_of("a/b.csv", tmp_path) == str(tmp_path / "a")
    for data in (None, "postgresql://host/db?table=t", "spark:?table=t"):
        assert place_of(data, tmp_path) == ""


def test_a_column_of_another_type_is_marked():
    columns = [Column("a", "text"), Column("b", "unparsed"), Column("c", "integer"), Column("d", "text")]
    rows = rows_of(columns, dict.fromkeys("abc", bp.Integer(0, 1)))
    assert [row.fits for row in rows] == [False, True, True, True]


def test_of_many_columns_some_are_shown_and_all_that_are_declared():
    rows = rows_of([Column(f"c{number}", "text") for number in range(50)], {"c40": bp.Categorical(["x"])})
    assert [row.name for row in first_rows(rows, 3)] == ["c0", "c1", "c2", "c40"]
    assert [row.name for row in first_rows(rows, 3, " C3")] == ["c3", "c30", "c31"]
