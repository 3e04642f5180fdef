"""A worker or the driver of a Spark cluster dying in the middle of a release."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import open_engine
from faults.child import Release, interrupt, kill

pytestmark = pytest.mark.cluster
ROWS = 900_000_000
POLICY = bp.Policy(bp.Domain(x=bp.Integer(0, 2)), secrets=bp.FullDomain())


def reading(session: Any) -> bool:
    """Whether tasks of a stage are running."""
    tracker = session.sparkContext.statusTracker()
    return any(tracker.getStageInfo(stage).numActiveTasks for stage in tracker.getActiveStageIds())


def until(holds: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_worker_is_killed_mid_query(cluster: Any, cluster_session: Any, tmp_path: Path) -> None:
    frame = cluster_session.range(ROWS, numPartitions=24).selectExpr("CAST(id % 3 AS INT) AS x")
    session = bp.Session(frame, POLICY, budget=1, ledger=tmp_path / "a.ledger", create=True)
    plan = session.plan(bp.Histogram("x"), epsilon="1/2")
    victim = cluster.workers.pop()
    struck: list[bool] = []

    def strike() -> None:
        until(lambda: reading(cluster_session))
        time.sleep(0.5)
        struck.append(reading(cluster_session))
        # The worker's executor is in its process group.
        os.killpg(victim.pid, signal.SIGKILL)

    striker = Thread(target=strike)
    striker.start()
    release = session.release(plan)
    striker.join()
    assert struck == [True]
    victim.wait(30)
    assert abs(sum(release.counts.flat) - ROWS) < 1000
    report = session.ledger.verify()
    assert (report.problems, report.entries, report.documents, report.spent) == ((), 1, 1, Fraction(1, 2))
    # The exact count, of which no row was lost or counted twice when tasks were run again.
    assert open_engine(frame).counts(POLICY.domain, [["x"]])[0].tolist() == [ROWS // 3] * 3
    cluster.workers.append(cluster.add_worker())


@pytest.fixture
def release(cluster: Any, tmp_path: Path) -> Release:
    """A release by a process that is a driver of its own; its table takes a minute to read, then an instant."""
    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.executor.memory": "500m", "spark.cores.max": "1", "spark.log.level": "OFF",
    }  # fmt: skip
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    folder = tmp_path / "release"
    folder.mkdir()
    slow = folder / "slow.parquet"
    slow.mkdir()
    many = pa.table({"x": pa.array([0, 1, 2] * 3, pa.int32())})
    for number in range(4000):
        pq.write_table(many, slow / f"{number}.parquet")
    return Release(
        folder, "spark:slow.parquet", SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_SUBMIT_ARGS=f"--master {cluster.master} {options} pyspark-shell",
    )  # fmt: skip


def quicken(release: Release) -> None:
    for path in list((release.folder / "slow.parquet").iterdir())[:-1]:
        path.unlink()


def kill_the_driver(process: subprocess.Popen[str]) -> None:
    """Kill the Java process that drives the cluster, and leave the Python process that waits for it alone."""
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)


@pytest.mark.parametrize("blow", [kill, kill_the_driver, interrupt], ids=["process", "driver", "interrupt"])
def test_the_driver_is_killed_mid_query(release: Release, blow: Any) -> None:
    stopped = release.strike(blow, after=2)
    assert stopped.returncode == {kill: -9, kill_the_driver: 5, interrupt: 130}[blow], stopped.stderr
    if blow is not kill:
        assert "Traceback" not in stopped.stderr
    release.check_charged_once_and_nothing_out()
    quicken(release)
    release.check_a_retry_is_not_charged()
