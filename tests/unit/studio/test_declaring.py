"""Choosing a table and declaring attributes, as changes of a policy file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from blowfish_privacy.errors import DataError, PolicyError, SpecError
from blowfish_privacy.studio.declaring import with_attribute, with_data, with_other_data, without_attribute
from blowfish_privacy.studio.draft import Draft, from_folder, moved
from blowfish_privacy.studio.rooms.table import check_place, look_into

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
