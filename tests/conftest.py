"""Servers that tests may ask for; each is started when first asked for and stopped at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    from servers.postgres import PASSWORD, PostgresServer

    server = PostgresServer()
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        yield server
    finally:
        del os.environ["PGPASSWORD"]
        server.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from servers.spark import session

    made = session("local[2]")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    from servers.spark import Cluster

    made = Cluster()
    yield made
    made.close()


@pytest.fixture(scope="session")
def cluster_session(cluster: Any) -> Iterator[Any]:
    from servers.spark import session

    # One core of each worker: another application finds the other.
    share = {"spark.executor.memory": "500m", "spark.executor.cores": "1", "spark.cores.max": "2"}
    made = session(cluster.master, **share)
    yield made
    made.stop()
