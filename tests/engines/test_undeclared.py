"""What the custodian's check says of values that are not declared, from whichever engine the data come."""

from __future__ import annotations

import pyarrow as pa
import pytest

from blowfish_privacy.domain import Binned, Categorical, Date, Domain, Integer
from blowfish_privacy.domain.numbers import DATES_HINT, DECIMALS_HINT
from blowfish_privacy.engines import open_engine
from blowfish_privacy.engines.sql.table import MOST_SHOWN, YEAR_FIRST
from blowfish_privacy.errors import DataError
from blowfish_privacy.release.checks import PolicyCheck
from blowfish_privacy.statements.data_check import data_check_words

TABLE = pa.table(
    {
        "age": pa.array([30, -3, 120, 30, None, 99], pa.int64()),
        "sex": ["Female", "Fem", "Fem", "Male", "Männlich", None],
        "wage": [0.5, 7.5, -2.5, 1.0, 1.5, 2.0],
        "town": ["A", "A", "B", "B", "A", "A"],
    }
)
DOMAIN = Domain(
    age=Integer(17, 90), sex=Categorical(["Female", "Male", "X"]), wage=Binned([0, 1, 5]), towns=Categorical(["A"])
)


def test_values_that_are_not_declared_are_shown_with_their_rows(way, tmp_path):
    engine = open_engine(way(TABLE, tmp_path))
    age, sex, wage, towns = engine.check(DOMAIN).columns
    assert (age.smallest, age.largest, age.undeclared) == ("-3", "120", ())
    assert sex.undeclared == (("Fem", 2), ("Männlich", 1))
    assert sex.unused == ("X",)
    assert (float(wage.smallest or 0), float(wage.largest or 0)) == (-2.5, 7.5)
    assert (towns.present, towns.similar) == (False, ("town",))
    with pytest.raises(DataError, match=r"no column 'towns'.*nearest names in the data are 'town'"):
        engine.prepare(DOMAIN, DOMAIN.names)
    assert "Fem'" not in repr(engine.check(DOMAIN))


def test_few_of_many_values_are_shown_and_said_to_be_more(tmp_path):
    (tmp_path / "t.csv").write_text("c\n" + "".join(f"v{number}\n" * (number + 1) for number in range(20)))
    check = open_engine(tmp_path / "t.csv").check(Domain(c=Categorical(["a", "b"])))
    assert check.columns[0].undeclared == tuple((f"v{19 - n}", 20 - n) for n in range(MOST_SHOWN))
    said = data_check_words(PolicyCheck(check, ()).domain)
    assert said[0].startswith("c: not declared, the most frequent first: 'v19' in 20 rows, ")
    assert said[0].endswith(", and others.")
    assert said[1] == "c: declared, but in no row: 'a', 'b'."


def test_dates_and_decimals_among_whole_numbers_are_hinted_at(tmp_path):
    (tmp_path / "t.csv").write_text("day,wage,agee,date\n2020-01-03,1.5,3,2020-02-30\n2020-02-03,2,4,2020-02-03\n")
    whole, days = Integer(0, 9), Date("2020-01-01", "2020-12-31")
    check = open_engine(tmp_path / "t.csv").check(Domain(day=whole, wage=whole, age=whole, date=days))
    assert [each.hints for each in check.columns] == [(DATES_HINT,), (DECIMALS_HINT,), (), ()]
    said = data_check_words(check)
    assert f"day: {DATES_HINT}" in said
    assert f"wage: {DECIMALS_HINT}" in said


def test_dates_are_hinted_at_among_categories_and_in_whatever_order_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d\n2020-01-03,03/04/2020,03/04/2020,x\n2020-02-03,2020.4.3,2020-01-05,y\n")
    named, days = Categorical(["x", "y"]), Date("2020-01-01", "2020-12-31")
    check = open_engine(tmp_path / "t.csv").check(Domain(a=named, b=named, c=days, d=named))
    assert [each.hints for each in check.columns] == [(DATES_HINT,), (DATES_HINT,), (YEAR_FIRST,), ()]
    assert f"c: {YEAR_FIRST}" in data_check_words(check)


def test_the_nearest_column_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("agee\n3\n")
    engine, domain = open_engine(tmp_path / "t.csv"), Domain(age=Integer(0, 9))
    assert data_check_words(engine.check(domain)) == ["age: there is no such column; the nearest is 'agee'."]
    with pytest.raises(DataError, match="data check names the nearest"):
        engine.prepare(domain, ["age"])


def test_a_file_without_a_header_has_no_value_quoted(tmp_path):
    (tmp_path / "t.csv").write_text("Agatha,sexton\nb,c\n")
    with pytest.raises(DataError) as caught:
        open_engine(tmp_path / "t.csv").prepare(Domain(agathe=Integer(0, 1), sextons=Integer(0, 1)), ["agathe"])
    assert "Agatha" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([0], pa.date32()), r"dates are declared like day: \{date: \[2020-01-01, 2020-12-31\], step: day\}"),
        (pa.array([0.25]), r"[Nn]umbers with decimals are declared like wage: \{decimal: \[0, 100\], step: 0.25\}"),
    ],
)
def test_columns_of_other_types_say_how_they_are_declared(column, said):
    with pytest.raises(DataError, match=said):
        open_engine(pa.table({"n": column})).counts(Domain(n=Integer(0, 1)), [["n"]])


def test_text_that_is_no_number_says_how_dates_are_declared(tmp_path):
    (tmp_path / "t.csv").write_text("day\n2020-03-01\n")
    with pytest.raises(DataError, match=r"day: \{date: \[2020-01-01, 2020-12-31\], step: day\}") as caught:
        open_engine(tmp_path / "t.csv").counts(Domain(day=Integer(0, 1)), [["day"]])
    assert "2020-03-01" not in str(caught.value)
