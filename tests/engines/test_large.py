"""Larger than memory, and ten million cells from file to document."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines import open_engine

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
