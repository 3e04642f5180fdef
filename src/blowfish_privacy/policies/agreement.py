"""Whether the data agree with the counts that a policy states as known."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.known_facts.facts import KnownFact, KnownMarginal
from blowfish_privacy.policies.policy import Policy

Counter: TypeAlias = Callable[[tuple[str, ...]], npt.NDArray[np.int64]]
"""Counts the records in every cell of some attributes."""

_MOST_CELLS = 10_000_000


def contradicted(policy: Policy, count: Counter, sound: Container[str] | None = None) -> Iterator[KnownFact]:
    """Yield the facts whose stated counts disagree with the data; if given, only facts about ``sound`` attributes."""
    stated = [fact for fact in stated_facts(policy) if sound is None or all(name in sound for name in fact.attributes)]
    names = tuple(name for name in policy.domain if any(name in fact.attributes for fact in stated))
    together = prod(policy.domain[name].size for name in names) <= _MOST_CELLS
    all_counts = count(names) if names and together else None
    for fact in stated:
        if all_counts is None:
            attributes = tuple(name for name in policy.domain if name in fact.attributes)
            check_size(policy.domain, fact)
            agrees = _agrees(policy.domain, fact, attributes, count(attributes))
        else:
            agrees = _agrees(policy.domain, fact, names, all_counts)
        if not agrees:
            yield fact


def check_size(domain: Domain, fact: KnownFact) -> None:
    """Refuse a stated count over too many cells to compare with the data."""
    if prod(domain[name].size for name in fact.attributes) > _MOST_CELLS:
        raise RefusalError(
            f"{fact.words(domain)}: too many combinations of values to check against the data.",
            hint="leave out the stated count; what is known matters more than how many.",
        )


def stated_facts(policy: Policy) -> list[KnownFact]:
    """Return the facts whose counts are stated; the data must have columns for their attributes."""
    return [
        fact
        for fact in policy.known
        if (fact.counts(policy.domain) if isinstance(fact, KnownMarginal) else fact.count) is not None
    ]


def _agrees(domain: Domain, fact: KnownFact, names: tuple[str, ...], counts: npt.NDArray[np.int64]) -> bool:
    axes = tuple(axis for axis, name in enumerate(names) if name not in fact.attributes)
    margin = counts.sum(axis=axes)
    left = [name for name in names if name in fact.attributes]
    if isinstance(fact, KnownMarginal):
        stated = np.array(fact.counts(domain), dtype=object).reshape([domain[name].size for name in fact.attributes])
        return bool((stated.transpose([fact.attributes.index(name) for name in left]) == margin).all())
    box = fact.box(domain)
    chosen = [[*box[name]] if name in box else [*range(domain[name].size)] for name in left]
    return int(margin[np.ix_(*chosen)].sum()) == fact.count
