"""Paths: what is opened, what is refused, and what is left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError

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
