"""Paths: what is opened, what is refused, and what is left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import parquet

import blowfish_privacy as bp
from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Domain, Integer
from blowfish_privacy.domain.numbers import DATES_HINT, DECIMALS_HINT
from blowfish_privacy.engines import Column, describe, located, open_engine
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines.sql.table import MOST_SHOWN, YEAR_FIRST
from blowfish_privacy.errors import DataError
from blowfish_privacy.release import spec
from blowfish_privacy.release.checks import PolicyCheck
from blowfish_privacy.statements.data_check import data_check_words
from blowfish_privacy.support.limits import COLUMNS
from engines.conftest import Way, as_arrow

DOMAIN = Domain(x=Integer(0, 2))


def write(path: Path, *values: object, kind: pa.DataType | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": pa.array(values, kind)}), path)
    return path


def count(data: object) -> list[int]:
    engine = open_engine(data)
    try:
        return engine.counts(DOMAIN, [["x"]])[0].tolist()
    finally:
        engine.close()


@pytest.mark.parametrize(
    "name", ["absent.parquet", "absent.csv", "absent.duckdb", "absent", "a\0b.csv", "https://x.org/a.csv", ""]
)
def test_a_path_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"(there is no file|neither a path nor an address).* Hint:"):
        open_engine(name)


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x\n1\n")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="not a known kind of file"):
        open_engine(tmp_path / "notes.txt")
    for folder in (tmp_path, tmp_path / "folder.csv", tmp_path / "*.parquet"):
        with pytest.raises(DataError, match="no Parquet files"):
            open_engine(folder)
    (tmp_path / "folder.duckdb").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        open_engine(tmp_path / "folder.duckdb")
    for data in (None, 7, [1, 2], {"x": [1]}, b"table.csv"):
        with pytest.raises(DataError, match="data cannot be a"):
            open_engine(data)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to the superuser")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", 1).chmod(0)
    with pytest.raises(DataError, match="no permission to read"):
        open_engine(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "name", ["a[1].parquet", "a*.parquet", "a?.parquet", "it's.parquet", "{a,b}.parquet", "a;--.pq", "ü 😀.parquet"]
)
def test_a_file_is_taken_by_its_own_name(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a1.parquet", 2)
    write(tmp_path / "ab.parquet", 2)
    assert count(write(tmp_path / name, 1)) == [0, 1, 0]


def test_patterns_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part, value in (("p/a.parquet", 0), ("p/b.parquet", 1), ("q/c.parquet", 2), ("p/_note.txt.tmp", 2)):
        write(tmp_path / part, value)
    monkeypatch.chdir(tmp_path)
    assert count("p") == count(tmp_path / "p") == count("p/*.parquet") == [1, 1, 0]
    assert count("**/*.parquet") == [1, 1, 1]


def test_files_must_agree_on_the_type_of_a_column(tmp_path: Path) -> None:
    write(tmp_path / "p/a.parquet", 1)
    write(tmp_path / "p/b.parquet", 1.6)
    with pytest.raises(DataError, match="differ in the type of the column 'x'"):
        count(tmp_path / "p")
    write(tmp_path / "q/a.parquet", 1)
    pq.write_table(pa.table({"y": [1]}), tmp_path / "q/b.parquet")
    with pytest.raises(DataError, match="not every file has exactly one column 'x'"):
        count(tmp_path / "q")
    pq.write_table(pa.table({"y": [1.5], "z": [{"x": 2}], "x": [2]}), tmp_path / "q/b.parquet")
    assert count(tmp_path / "q") == [0, 1, 1]


def test_tables_of_a_duckdb_file(tmp_path: Path) -> None:
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    assert count(path) == [0, 1, 0]
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 2 AS x; CREATE TABLE s.u AS SELECT 0 AS x")
    assert count(f"{path}::t") == count(f"{path}::main.t") == [0, 1, 0]
    assert count(f"{path}::s.t") == [0, 0, 1]
    assert count(f"{path}::u") == [1, 0, 0]
    for wrong in (str(path), f"{path}::absent", f"{path}::t; DROP TABLE t", f"{path}::"):
        with pytest.raises(DataError, match=r"with one of t, s\.t, s\.u"):
            count(wrong)


def test_a_duckdb_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    with pytest.raises(DataError, match="could not be read"):
        count(tmp_path / "bad.db")
    with duckdb.connect(str(tmp_path / "open.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        with pytest.raises(DataError, match="relation of that connection"):
            count(tmp_path / "open.duckdb")
        assert count(connection.table("t")) == [0, 1, 0]


def test_a_view_in_a_file_cannot_reach_other_files(tmp_path: Path) -> None:
    other = write(tmp_path / "other.parquet", 1)
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_parquet('{other}')")
    with pytest.raises(DataError, match="passed as a relation"):
        count(tmp_path / "v.duckdb")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    monkeypatch.chdir(tmp_path / "spill")
    engine = open_engine(write(tmp_path / "t.parquet", 1))
    engine.counts(DOMAIN, [["x"]])
    (folder,) = (tmp_path / "spill").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    engine.close()
    assert not list((tmp_path / "spill").iterdir())
    forgotten = open_engine(tmp_path / "t.parquet")
    forgotten.counts(DOMAIN, [["x"]])
    del forgotten
    with pytest.raises(DataError, match="could not be read"):
        open_engine(tmp_path / "t.parquet", memory_limit="much").counts(DOMAIN, [["x"]])
    gc.collect()
    assert not list((tmp_path / "spill").iterdir())


def test_a_table_larger_than_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    duckdb.connect().execute(
        "COPY (SELECT (hash(i) % 1000)::INT AS a, (hash(i + 17) % 2000)::INT AS b FROM range(4000000) AS t(i)) "
        f"TO '{path}' (FORMAT parquet)"
    )
    domain = Domain(a=Integer(0, 999), b=Integer(0, 1999))
    counts = open_engine(path, memory_limit="80MB").counts(domain, [["a", "b"]])[0]
    assert counts.sum() == 4_000_000
    assert (counts == open_engine(path).counts(domain, [["a", "b"]])[0]).all()
    with pytest.raises(DataError, match="OutOfMemory"):
        open_engine(path, memory_limit="1MB").counts(domain, [["a", "b"]])


def test_progress_is_told_and_never_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.005)
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "1\n" * 1_000_000)
    told: list[float] = []
    engine = open_engine(path)
    assert engine.counts(DOMAIN, [["x"]], progress=told.append)[0].tolist() == [0, 1_000_000, 0]
    assert told
    assert all(0 <= share <= 1 for share in told)


def test_opening_imports_no_table_library(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", 1)
    code = (
        "import sys; from blowfish_privacy.engines import open_engine; "
        "assert not {'duckdb', 'sqlglot', 'pandas', 'polars', 'pyarrow', 'rich'} & set(sys.modules); "
        "from blowfish_privacy.domain import Domain, Integer; "
        f"open_engine({str(path)!r}).counts(Domain(x=Integer(0, 2)), [['x']]); "
        "assert not {'pandas', 'polars', 'pyarrow', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What the text of a CSV file may be.


def csv_count(folder: Path, text: str | bytes, attribute: Attribute, name: str = "x") -> list[int]:
    path = folder / "it's [1].csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_engine(path).counts(Domain({name: attribute}), [[name]])[0].tolist()


def lines(*values: str) -> str:
    return "".join(f"{value},end\n" for value in ("x", *values)).replace("end", "y", 1)


def test_whole_numbers_are_read(tmp_path: Path) -> None:
    assert csv_count(tmp_path, lines("0", "-1", '"2"', "2"), Integer(-1, 2)) == [1, 1, 0, 2]
    clamp = Integer(0, 2, outside="clamp", missing=1)
    huge = ["9" * 19, "9" * 38, "9" * 39, "9" * 400]
    assert csv_count(tmp_path, lines(*huge, *(f"-{each}" for each in huge), ""), clamp) == [4, 1, 4]
    largest = Integer(2**61 - 1, 2**61)
    assert csv_count(tmp_path, lines(str(2**61), str(2**61 - 1)), largest) == [1, 1]
    assert csv_count(tmp_path, lines("5", "-7"), Categorical([-7, 5])) == [1, 1]


NOT_WHOLE = [
    "007",
    "+5",
    " 5",
    "5 ",
    "5.5",
    "5.",
    "1e3",
    "-0",
    "0x5",
    "5,0",
    "\u0665",
    "five",
    "1_0",
    '""',
    "5\n",
    "nan",
]


@pytest.mark.parametrize("text", NOT_WHOLE)
@pytest.mark.parametrize("attribute", [Integer(0, 10, outside="clamp", missing=0), Integer(0, 10), Categorical([5, 7])])
def test_other_text_is_not_a_whole_number(tmp_path: Path, text: str, attribute: Attribute) -> None:
    quoted = text if text == '""' else f'"{text}"'
    with pytest.raises(DataError, match="'x' has values that are not plain whole numbers"):
        csv_count(tmp_path, lines("5", quoted), attribute)


def test_a_value_of_another_kind_deep_in_the_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "deep.csv"
    path.write_text(lines(*["5"] * 200_000, "5.7", *["5"] * 1000))
    with pytest.raises(DataError, match="not plain whole numbers"):
        open_engine(path).counts(Domain(x=Integer(0, 10)), [["x"]])
    check = open_engine(path).check(Domain(x=Integer(0, 10), y=Categorical(["end"])))
    assert (check.rows, check.columns[0].malformed, check.columns[0].type_fits) == (201_001, 1, False)


def test_numbers_for_bins_are_read(tmp_path: Path) -> None:
    bins = Binned([0, "0.1", 1, 1000], outside="clamp", missing=500)
    good = ["0", "0.1", "1e-1", "1.5E2", "-5", "1e400", "-1e400", "inf", "-Infinity", "NaN", "", "00.5"[1:]]
    # 0 -> 0; 0.1, 1e-1, 0.5 -> 1; 150 -> 2; -5 clamps to 0; the infinities clamp; NaN and nothing are missing -> 2.
    assert csv_count(tmp_path, lines(*good), bins) == [1 + 1 + 2, 3, 1 + 2 + 2]
    for bad in ("007", "+5", " 5", ".5", "5.", "1,5", "0x1p3", "1_000", "five", "1e", "--1", '""'):
        with pytest.raises(DataError, match="'x' has values that are not plain numbers"):
            csv_count(tmp_path, lines("5", bad if bad == '""' else f'"{bad}"'), bins)


def test_a_number_for_bins_is_the_double_nearest_to_its_text(tmp_path: Path) -> None:
    # As docs/policy-file.md says: 0.29999999999999999 and the edge 0.3 have the same nearest double.
    bins = Binned([0, "0.3", 1])
    assert float("0.29999999999999999") == 0.3 > float("0.2999999999999999")
    assert csv_count(tmp_path, lines("0.29999999999999999"), bins) == [0, 1]
    assert csv_count(tmp_path, lines("0.2999999999999999"), bins) == [1, 0]
    assert csv_count(tmp_path, lines("0.3"), bins) == [0, 1]


def test_truth_values_are_read(tmp_path: Path) -> None:
    assert csv_count(tmp_path, lines("true", "False", "TRUE"), Categorical([True, False])) == [2, 1]
    for bad in ("1", "yes", "t", " true"):
        with pytest.raises(DataError, match="not true or false"):
            csv_count(tmp_path, lines("true", bad), Categorical([True, False]))


def test_codes_keep_their_leading_zeros(tmp_path: Path) -> None:
    assert csv_count(tmp_path, lines("01234", "1234", "01234"), Categorical(["01234", "1234"])) == [2, 1]
    with pytest.raises(DataError, match="outside"):
        csv_count(tmp_path, lines("01234"), Categorical(["1234"]))


def test_nothing_is_missing_but_quoted_nothing_is_text(tmp_path: Path) -> None:
    assert csv_count(tmp_path, lines("", '""', "NULL"), Categorical(["", "NULL", "gone"], missing="gone")) == [1, 1, 1]
    assert csv_count(tmp_path, 'x\n\n""\n', Categorical(["", "gone"], missing="gone")) == [1, 1]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_line_ends_and_byte_order_marks(tmp_path: Path, separator: str, end: str) -> None:
    text = end.join([separator.join(row) for row in (["a", "größe", "c"], ["1", "2", "3"], ["4", '"a""b"', "6"])])
    for start in ("", "\ufeff"):
        for finish in ("", end):
            assert csv_count(tmp_path, start + text + finish, Categorical(["2", 'a"b']), "größe") == [1, 1]
    assert csv_count(tmp_path, "\ufeff" + text, Categorical(["1", "4"]), "a") == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        b"x,y\n1,2\n3\n", b"x,y\n1,2,3\n", b'x,y\n1,"2\n3,4\n', b"x,y\n\xff,1\n",
        b"x,y\n" + b"1" * 5_000_000 + b",2\n", b'x,y\n1,"a"b\n',
    ],
)  # fmt: skip
def test_broken_files_are_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(DataError, match="could not be read") as caught:
        csv_count(tmp_path, text, Integer(0, 9))
    assert "CSV" in str(caught.value)


def test_an_empty_file_has_no_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no header"):
        csv_count(tmp_path, b"", Integer(0, 9))
    with pytest.raises(DataError, match="no header"):
        csv_count(tmp_path, b"\n1\n", Integer(0, 9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("größe,x\n1,2\n".encode("latin-1"), "Latin-1"),
        *(("x,größe\n1,2\n".encode(each), "UTF-16") for each in ("utf-16", "utf-16-le", "utf-16-be")),
        (b"x" + b"," * 2_000_000 + b"\n", "2,000,001 columns; at most 20,000"),
        (b"z" * 5_000_000, "does not end within 4,000,000 bytes"),
        (b"", "no header"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_before_the_charge(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    session = bp.Session(path, bp.Policy(Domain(x=Integer(0, 9)), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=said):
        session.release(bp.Histogram("x"), epsilon=1)
    assert (session.remaining, session.engine.reads) == (1, 0)


def test_no_row_decides_whether_a_file_is_refused_before_the_charge(tmp_path: Path) -> None:
    """What stands in a row is private: letters that are not UTF-8 are an error of reading, which is paid for once."""
    path = tmp_path / "table.csv"
    path.write_bytes("name\nJosé\n".encode("latin-1"))
    session = bp.Session(path, bp.Policy(Domain(name=Categorical(["Ana", "José"])), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=r"UTF-8 \(not Latin-1\)"):
        session.release(bp.Histogram("name"), epsilon=1)
    assert session.remaining == 0
    path.write_bytes("name\nJosé\n".encode())
    assert session.release(bp.Histogram("name"), epsilon=1).noisy.size == 2


def test_a_stored_table_of_too_many_columns_is_refused_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({f"c{number}": [1] for number in range(COLUMNS + 1)}), path)
    session = bp.Session(path, bp.Policy(Domain(c1=Integer(0, 9)), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=r"20,001 columns; at most 20,000"):
        session.release(bp.Histogram("c1"), epsilon=1)
    assert session.remaining == 1


# One policy file, and only its ``data:`` changed: the same exact aggregates on every engine.


FILE = """
version: 1
data: {data!r}
policy:
  domain:
    age: {{integer: [17, 90], outside: clamp}}
    sex: {{categorical: [Female, Male, "it's \\\\ other"], missing: Male}}
    wage: {{binned: [0, 0.1, 100, 1000.5, 100000], outside: clamp}}
    member: {{categorical: [true, false]}}
  secrets: attributes
releases:
  - {{name: ages, histogram: [age], epsilon: 0.1}}
  - {{name: table, histogram: [sex, wage, member], epsilon: 0.1}}
  - {{name: all, histogram: [member, wage, age, sex], epsilon: 0.1}}
  - {{name: steps, cumulative: age, epsilon: 0.1}}
  - {{name: middle, quantiles: age, at: [0.5], epsilon: 0.1}}
  - {{name: total, sum: age, epsilon: 0.1}}
  - {{name: average, mean: age, epsilon: 0.1}}
"""


def table() -> pa.Table:
    dice = np.random.default_rng(11)
    sexes = np.array(["Female", "Male", "it's \\ other", None], dtype=object)
    return pa.table({
        "member": pa.array(dice.integers(0, 2, 500).astype(bool)),
        "age": pa.array(dice.integers(-5, 120, 500)),
        "unused": pa.array(["x"] * 500),
        "wage": pa.array(dice.choice([0.1, 0.05, 99.999, 1000.5, 1e9, -3.0, 77.0], 500)),
        "sex": pa.array(sexes[dice.integers(0, 4, 500)].tolist()),
    })  # fmt: skip


def aggregates(data: Any) -> dict[str, Any]:
    text = FILE.format(data=data) if isinstance(data, str) else FILE.format(data="t.csv")
    loaded = spec.loads(text)
    engine = open_engine(located(str(loaded.data), "/") if isinstance(data, str) else data)
    domain = loaded.policy.domain
    found = {planned.name: engine.counts(domain, [planned.query.attributes])[0] for planned in loaded.releases}
    return {**found, "rows": engine.rows(), "check": engine.check(domain)}


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    return aggregates(as_arrow(table(), Path()))


def test_every_engine_gives_the_same_numbers(way: Way, tmp_path: Path, wanted: dict[str, Any]) -> None:
    data = way(table(), tmp_path)
    found = aggregates(str(data) if isinstance(data, Path) else data)
    assert found["rows"] == wanted["rows"] == 500
    assert found["check"] == wanted["check"]
    for name in (name for name in wanted if name not in ("rows", "check")):
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].sum() == 500


# What the custodian's check says of values that are not declared, from whichever engine the data come.


TABLE = pa.table(
    {
        "age": pa.array([30, -3, 120, 30, None, 99], pa.int64()),
        "sex": ["Female", "Fem", "Fem", "Male", "Männlich", None],
        "wage": [0.5, 7.5, -2.5, 1.0, 1.5, 2.0],
        "town": ["A", "A", "B", "B", "A", "A"],
    }
)

UNDECLARED_DOMAIN = Domain(
    age=Integer(17, 90), sex=Categorical(["Female", "Male", "X"]), wage=Binned([0, 1, 5]), towns=Categorical(["A"])
)


def test_values_that_are_not_declared_are_shown_with_their_rows(way, tmp_path):
    engine = open_engine(way(TABLE, tmp_path))
    age, sex, wage, towns = engine.check(UNDECLARED_DOMAIN).columns
    assert (age.smallest, age.largest, age.undeclared) == ("-3", "120", ())
    assert sex.undeclared == (("Fem", 2), ("Männlich", 1))
    assert sex.unused == ("X",)
    assert (float(wage.smallest or 0), float(wage.largest or 0)) == (-2.5, 7.5)
    assert (towns.present, towns.similar) == (False, ("town",))
    with pytest.raises(DataError, match=r"no column 'towns'.*nearest names in the data are 'town'"):
        engine.prepare(UNDECLARED_DOMAIN, UNDECLARED_DOMAIN.names)
    assert "Fem'" not in repr(engine.check(UNDECLARED_DOMAIN))


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


# Columns and their kinds, without a look at a row.


def test_columns_of_a_frame_and_its_files(tmp_path: Path):
    frame = pd.DataFrame({"age": [1, 2], "name": ["a", "b"], "wage": [0.5, 1.5], "old": [True, False]})
    kinds = [("age", "integer"), ("name", "text"), ("wage", "float"), ("old", "boolean")]
    assert [(each.name, each.kind) for each in describe(frame)] == kinds
    frame.to_parquet(tmp_path / "t.parquet")
    assert [(each.name, each.kind) for each in describe(tmp_path / "t.parquet")] == kinds
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert describe(tmp_path / "t.csv")[0] == Column("age", "unparsed")
    assert describe(frame)[0].words == "whole numbers"


def test_nothing_is_read(tmp_path: Path):
    (tmp_path / "t.csv").write_text("age,sex\n1,f\n")
    engine = open_engine(tmp_path / "t.csv")
    assert engine.columns() == [("age", "unparsed"), ("sex", "unparsed")]
    assert engine.reads == 0
    engine.close()


@pytest.mark.parametrize("first", ["34,Canary", "Canary,2020-01-31", "Canary,", "Canary,Canary", "Canary,-1.5e3"])
def test_a_row_in_the_place_of_names_is_not_told(tmp_path: Path, first: str):
    (tmp_path / "t.csv").write_text(f"{first}\n1,f\n")
    with pytest.raises(DataError, match="first line") as caught:
        describe(tmp_path / "t.csv")
    assert "Canary" not in str(caught.value)


def test_counts_have_no_columns():
    with pytest.raises(DataError, match="no named columns"):
        describe(bp.Counts(np.array([1, 2])))
