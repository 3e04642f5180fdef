"""Ctrl-C and kill -9 while the data are read: one charge, no output, nothing left behind, a retry that is free."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from faults.child import Release, interrupt, kill


def slow_table(folder: Path, rows: int) -> str:
    path = folder / "slow.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT CAST(range % 3 AS INTEGER) AS x FROM range({rows})")
    return "slow.duckdb::v"


@pytest.mark.slow
def test_an_interrupt_leaves_a_consistent_ledger_and_no_files(tmp_path: Path) -> None:
    release = Release(tmp_path, slow_table(tmp_path, 10**13))
    stopped = release.strike(interrupt)
    assert stopped.returncode == 130
    assert stopped.stderr.rstrip().endswith("Stopped.")
    assert "Traceback" not in stopped.stderr
    release.check_charged_once_and_nothing_out()
    release.check_nothing_left_behind()
    slow_table(tmp_path, 9)
    release.check_a_retry_is_not_charged()
    release.check_nothing_left_behind()


@pytest.mark.slow
def test_a_killed_process_leaves_its_charge_only(tmp_path: Path) -> None:
    release = Release(tmp_path, slow_table(tmp_path, 10**13))
    assert release.strike(kill).returncode == -9
    release.check_charged_once_and_nothing_out()
    slow_table(tmp_path, 9)
    release.check_a_retry_is_not_charged()
