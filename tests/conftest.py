"""What all tests share: random bits that repeat themselves, and servers, started when a test first asks for one."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from effort import FACTOR
from predictable import predictable_bits

# How long an example takes depends on what else the machine does. A run of the tests tries the same examples every
# time, so that it fails because of a change; the audit looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=FACTOR == 1)
settings.load_profile("repeatable")

# A forked child must not collect what earlier tests left over: the threads of a library, which it may wait for or take
# for alive, are not in the child.
os.register_at_fork(after_in_child=gc.freeze)

# Whoever runs the tests may ignore it (nohup does), and what they start would then ignore it too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give each test bits of its own, the same in every run and wherever it stands, unless it asks for fresh ones."""
    if item.get_closest_marker("fresh_bits"):
        return (yield)
    with predictable_bits(item.name):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    """What several tests share must not depend on which of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with predictable_bits(fixturedef.argname):
        return (yield)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    from servers.postgres import PASSWORD, PostgresServer

    server = PostgresServer()
    os.environ["PGPASSWORD"] = PASSWORD
    os.environ["BLOWFISH_TRUSTED_SERVERS"] = f"127.0.0.1:{server.port}"
    try:
        yield server
    finally:
        del os.environ["PGPASSWORD"], os.environ["BLOWFISH_TRUSTED_SERVERS"]
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
