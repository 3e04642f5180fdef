"""Known facts: counts about the data that everybody is assumed to know already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import SpecError
from blowfish_privacy.known_facts.facts.known_count import KnownCount
from blowfish_privacy.known_facts.facts.known_marginal import KnownMarginal

KnownFact: TypeAlias = KnownCount | KnownMarginal


def read_fact(body: Any, domain: Domain) -> KnownFact:
    """Read a known fact from a policy file."""
    if not isinstance(body, Mapping) or ("count" in body) == ("marginal" in body):
        raise SpecError(
            "a known fact is a marginal or a count.",
            hint="write {marginal: [sex]} or {count: {age: [17, 25]}, equals: 1234}.",
        )
    return KnownMarginal.from_file(body) if "marginal" in body else KnownCount.from_file(body, domain)
