"""Larger than memory, and ten million cells from file to document."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from blowfish_privacy.domain import Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import Counts, Engine, open_engine
from blowfish_privacy.errors import BlowfishError, DataError, DomainError
from engines.conftest import Way, as_parquet
from engines.reference import to_table

RELEASE = """
import sys
from pathlib import Path
import blowfish_privacy as bp

policy = bp.Policy(bp.Domain(x=bp.Integer(0, 9_999_999)), secrets=bp.FullDomain())
session = bp.Session(sys.argv[1], policy, budget=1, ledger=sys.argv[2], create=True)
release = session.release(bp.Histogram("x"), epsilon="0.5")
release.save(sys.argv[3])
assert release.counts.shape == (10_000_000,)
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


def write_parts(folder: Path, parts: int, rows: int) -> None:
    folder.mkdir()
    for part in range(parts):
        duckdb.sql(
            f"COPY (SELECT CAST((range * 15485863) % 10000000 AS INTEGER) AS x "
            f"FROM range({part * rows}, {(part + 1) * rows})) TO '{folder}/{part:03}.parquet' (FORMAT parquet)"
        )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
def test_ten_million_cells_end_to_end_in_bounded_memory(tmp_path: Path) -> None:
    write_parts(tmp_path / "parts", parts=8, rows=100_000)
    done = subprocess.run(
        [sys.executable, "-c", RELEASE, tmp_path / "parts", tmp_path / "a.ledger", tmp_path / "r.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1200


def test_a_folder_of_many_files_larger_than_the_engines_memory(tmp_path: Path) -> None:
    write_parts(tmp_path / "parts", parts=100, rows=20_000)
    engine = open_engine(tmp_path / "parts", memory_limit="60MB")
    counts = engine.counts(Domain(x=Integer(0, 9_999_999)), [["x"]])[0]
    engine.close()
    wanted = np.bincount((np.arange(2_000_000) * 15_485_863) % 10_000_000, minlength=10_000_000)
    assert (counts == wanted).all()


# A histogram in place of a table.


DOMAIN = Domain(a=Integer(0, 1), b=Categorical(["x", "y", "z"]), c=Integer(0, 3))


def test_marginals_in_the_order_named() -> None:
    array = np.random.default_rng(1).integers(0, 100, DOMAIN.shape)
    engine = open_engine(Counts(array))
    assert isinstance(engine, Engine)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["a", "b", "c"]])[0], array)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["c", "a"]])[0], array.sum(axis=1).T)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["c", "a", "b"]])[0], array.transpose(2, 0, 1))
    assert engine.counts(DOMAIN, [["b"]])[0].dtype == np.int64
    assert engine.reads == 4
    assert engine.rows() == array.sum()
    assert engine.check(DOMAIN).fits
    assert open_engine(engine) is engine
    with pytest.raises(DomainError):
        engine.counts(DOMAIN, [["absent"]])


def test_what_is_counted_cannot_change_afterwards() -> None:
    array = np.zeros(DOMAIN.shape, dtype=np.int64)
    engine = open_engine(Counts(array))
    array[0, 0, 0] = -5
    engine.counts(DOMAIN, [DOMAIN.names])[0][0, 0, 0] = 7
    assert engine.rows() == 0


@pytest.mark.parametrize(
    "bad", [[0.0, 1.0], [True, False], ["1"], [-1, 2], [2**63], [2**62, 2**62], [2**64 - 1] * 3, [None]]
)
def test_what_are_no_counts(bad: list[object]) -> None:
    with pytest.raises(DataError):
        Counts(np.array(bad))


def test_the_largest_total_is_exact() -> None:
    engine = open_engine(Counts(np.array([2**62, 2**62 - 1, 0], dtype=np.uint64)))
    assert engine.counts(Domain(a=Integer(0, 2)), [["a"]])[0].tolist() == [2**62, 2**62 - 1, 0]
    assert engine.rows() == 2**63 - 1


def test_the_shape_must_be_that_of_the_whole_domain() -> None:
    engine = open_engine(Counts([[1, 2], [3, 4]]))
    for ask in (lambda: engine.counts(DOMAIN, [["a"]]), lambda: engine.check(DOMAIN)):
        with pytest.raises(DataError, match=r"shape \(2, 2\), but the domain has \(2, 3, 4\)"):
            ask()
    assert engine.reads == 0


# No error says a value of the data: canaries are planted in bad rows and searched for in all that comes out.


NUMBER, TEXT = 987654321, "CANARY-7f3a"

FAULTS_DOMAIN = Domain(n=Integer(0, 5), c=Categorical(["x"]), b=Binned([0, 1]))

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
    error = caught(lambda: engine.counts(FAULTS_DOMAIN, [["n", "c", "b"]]))
    assert error.message == f"the column {name!r} has values outside the declared ones."
    assert error.hint is not None
    assert str(NUMBER) not in repr(engine.check(FAULTS_DOMAIN))
    written = "".join(capfd.readouterr()) + caplog.text
    assert str(NUMBER) not in written
    assert TEXT not in written


def test_a_wrong_type_leaves_the_values_unsaid(way: Way, tmp_path: Path) -> None:
    rows = [{"n": TEXT, "c": str(NUMBER), "b": TEXT}] * 3
    engine = open_engine(way(to_table(rows, dict.fromkeys("ncb", pa.string())), tmp_path))
    for name in "ncb":
        assert repr(name) in str(caught(lambda name=name: engine.counts(FAULTS_DOMAIN, [[name]])[0]))


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
    caught(lambda: open_engine(path).counts(FAULTS_DOMAIN, [["n", "c"]]))


def test_errors_of_the_engine_are_replaced(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{TEXT}' AS s, 'x' AS c")
    failing = connection.sql("SELECT CAST(s AS INTEGER) AS n, c FROM t")
    error = caught(lambda: open_engine(failing).counts(FAULTS_DOMAIN, [["n", "c"]]))
    assert "ConversionException" in error.message
    caught(lambda: open_engine(failing).check(Domain(n=Integer(0, 5))))
    lazy = pl.LazyFrame({"n": [TEXT]}).select(pl.col("n").cast(pl.Int64))
    caught(lambda: open_engine(lazy).counts(FAULTS_DOMAIN, [["n"]]))
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
        caught(lambda: open_engine(path).counts(FAULTS_DOMAIN, [["n", "c"]]))


def test_a_table_too_large_to_count_is_refused_before_reading() -> None:
    engine = open_engine(pa.table({f"x{n}": [0] for n in range(40)}))
    wide = Domain({f"x{n}": Integer(0, 1) for n in range(40)})
    for names in (wide.names, wide.names[:32]):
        with pytest.raises(BlowfishError, match="too large to count at once"):
            engine.counts(wide, [names])
    assert engine.reads == 0
    assert engine.counts(wide, [wide.names[:12]])[0].sum() == 1
