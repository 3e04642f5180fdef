"""No error says a value of the data: canaries are planted in bad rows and searched for in all that comes out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from blowfish_privacy.domain import Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError, DataError
from engines.conftest import Way, as_parquet
from engines.reference import to_table

NUMBER, TEXT = 987654321, "CANARY-7f3a"
DOMAIN = Domain(n=Integer(0, 5), c=Categorical(["x"]), b=Binned([0, 1]))
TYPES = {"n": pa.int64(), "c": pa.string(), "b": pa.float64()}


def caught(action: Callable[[], Any]) -> BlowfishError:
    """Run what must fail, and search everything about its failure."""
    with pytest.raises(DataError) as info:
        action()
    error = info.value
    assert error.__cause__ is None
    assert error.__context__ is None
    said = [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error, chain=True))]
    for text in said:
        assert str(NUMBER) not in text
        assert TEXT not in text
    return error


@pytest.mark.parametrize("name", ["n", "c", "b"])
def test_values_outside_the_domain_stay_unsaid(
    way: Way, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bad: dict[str, Any] = {"n": NUMBER, "c": TEXT, "b": float(NUMBER)}
    rows = [{"n": 1, "c": "x", "b": 0.5}, {"n": 1, "c": "x", "b": 0.5, name: bad[name]}]
    engine = open_engine(way(to_table(rows, TYPES), tmp_path))
    error = caught(lambda: engine.counts(DOMAIN, [["n", "c", "b"]]))
    assert error.message == f"the column {name!r} has values outside the declared ones."
    assert error.hint is not None
    assert str(NUMBER) not in repr(engine.check(DOMAIN))
    written = "".join(capfd.readouterr()) + caplog.text
    assert str(NUMBER) not in written
    assert TEXT not in written


def test_a_wrong_type_leaves_the_values_unsaid(way: Way, tmp_path: Path) -> None:
    rows = [{"n": TEXT, "c": str(NUMBER), "b": TEXT}] * 3
    engine = open_engine(way(to_table(rows, dict.fromkeys("ncb", pa.string())), tmp_path))
    for name in "ncb":
        assert repr(name) in str(caught(lambda name=name: engine.counts(DOMAIN, [[name]])[0]))


@pytest.mark.parametrize(
    "text",
    [
        f"n,c\n1,x\n{NUMBER}\n", f"n,c\n1,x\n1,{TEXT},{NUMBER}\n", f'n,c\n1,"{TEXT}\n', f"n,c\n{TEXT},x\n",
        f"{NUMBER},{TEXT}\n1,x\n", f'"{TEXT}\n', f"n,c\n1,{TEXT}\udcff\n", f"{TEXT}\udcff,c\n1,x\n",
        f"n,c\n1.5{NUMBER},x\n",
    ],
)  # fmt: skip
def test_broken_csv_files_leave_their_lines_unsaid(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    caught(lambda: open_engine(path).counts(DOMAIN, [["n", "c"]]))


def test_errors_of_the_engine_are_replaced(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{TEXT}' AS s, 'x' AS c")
    failing = connection.sql("SELECT CAST(s AS INTEGER) AS n, c FROM t")
    error = caught(lambda: open_engine(failing).counts(DOMAIN, [["n", "c"]]))
    assert "ConversionException" in error.message
    caught(lambda: open_engine(failing).check(Domain(n=Integer(0, 5))))
    lazy = pl.LazyFrame({"n": [TEXT]}).select(pl.col("n").cast(pl.Int64))
    caught(lambda: open_engine(lazy).counts(DOMAIN, [["n"]]))
    connection.close()
    caught(lambda: open_engine(failing).rows())


def test_damaged_parquet_files_are_refused(tmp_path: Path) -> None:
    path = Path(as_parquet(to_table([{"n": NUMBER, "c": TEXT, "b": 0.5}] * 5000, TYPES), tmp_path))
    whole = path.read_bytes()
    for damaged in (
        whole[: len(whole) // 2],
        b"",
        b"PAR1",
        TEXT.encode() * 100,
        whole[:40] + b"\xff" * 40 + whole[80:],
    ):
        path.write_bytes(damaged)
        caught(lambda: open_engine(path).counts(DOMAIN, [["n", "c"]]))


def test_a_table_too_large_to_count_is_refused_before_reading() -> None:
    engine = open_engine(pa.table({f"x{n}": [0] for n in range(40)}))
    wide = Domain({f"x{n}": Integer(0, 1) for n in range(40)})
    for names in (wide.names, wide.names[:26]):
        with pytest.raises(BlowfishError, match="too large to count at once"):
            engine.counts(wide, [names])
    assert engine.reads == 0
    assert engine.counts(wide, [wide.names[:12]])[0].sum() == 1
