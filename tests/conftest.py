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
