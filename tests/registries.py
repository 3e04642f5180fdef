"""Kinds that a test defines, forgotten afterwards: other tests look at what the package itself defines."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from blowfish_privacy.domain import Attribute
from blowfish_privacy.graphs.graph import Secrets
from blowfish_privacy.known_facts.facts import Fact
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.queries.query import Query
from blowfish_privacy.results import Result


@contextmanager
def forgotten() -> Generator[None]:
    """Let what is defined inside be known inside only."""
    registries = (Attribute.kinds, Secrets.kinds, Fact.kinds, Query.kinds, Mechanism.kinds, Result.kinds)
    before = [dict(registry) for registry in registries]
    try:
        yield
    finally:
        for registry, old in zip(registries, before, strict=True):
            registry.clear()
            registry.update(old)
