"""What is shown of a table: columns, kinds, declarations; and the custodian's check."""

from __future__ import annotations

from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Column
from blowfish_privacy.studio import declaring
from blowfish_privacy.studio.declaring import check_of, columns_of, first_form, first_rows, place_of, rows_of
from blowfish_privacy.studio.draft import Problem

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
