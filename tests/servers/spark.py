"""Spark on the loopback interface: a session in this process, or a master with workers in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from servers.ports import free_port

pyspark: Any = pytest.importorskip("pyspark")
LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1", "PYSPARK_PYTHON": sys.executable}
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Broadcast only what is told to be: a query that forgets to say so is slow.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


def session(master: str, **settings: str) -> Any:
    """Start the one session of this process."""
    from pyspark.sql import SparkSession

    os.environ.update(LOOPBACK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master(master).appName("tests")
        for name, value in {**SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


class Cluster:
    """A master and two workers, started and stopped by their process ids."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="blowfish-spark-"))
        self._port = free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        self._log = (self.folder / "log").open("ab")
        place = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"]
        self._processes = [self._start("master.Master", *place)]
        self.workers = [self.add_worker() for _ in range(2)]
        self._wait(2)

    def add_worker(self) -> subprocess.Popen[bytes]:
        place = ["--host", "127.0.0.1", "--cores", "2", "--memory", "1100m", "--webui-port", "0"]
        worker = self._start("worker.Worker", *place, "--work-dir", str(self.folder / "work"), self.master)
        self._processes.append(worker)
        return worker

    def close(self) -> None:
        for process in reversed(self._processes):
            # A worker's executors are in its process group, which is one of its own.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments],
            env={**os.environ, **LOOPBACK, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
            stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip

    def _wait(self, workers: int) -> None:
        deadline = time.monotonic() + 90
        while self.log.count("Registering worker") < workers:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the Spark cluster did not start:\n{self.log}")
            time.sleep(0.1)
