"""The truth by exhaustion, for tiny domains: every database, every neighbour, every chain of secret pairs.

Nothing here is clever, on purpose. A database is a tuple with one cell for each individual; :data:`ABSENT` stands for
an individual who is not in the table, where the policy keeps the number of records secret.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import inf
from typing import TypeAlias

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.policies import Policy, SecretGraph
from blowfish_privacy.policies.graph import Hops
from blowfish_privacy.policies.known_count import CountedBox

ABSENT: Cell = ()
Database: TypeAlias = tuple[Cell, ...]
Contribution: TypeAlias = Callable[[Cell], Sequence[int | Fraction]]
"""What one record adds to each output of a linear query; an absent one adds nothing."""


@dataclass(frozen=True)
class Worst:
    """The sensitivity of a query and two neighbours that attain it (None when there are no neighbours)."""

    value: Fraction
    witness: tuple[Database, Database] | None


def hops_by_search(graph: SecretGraph, start: Cell) -> dict[Cell, Hops]:
    """Walk the graph breadth first from a value, asking only whether pairs are adjacent."""
    hops: dict[Cell, Hops] = dict.fromkeys(graph.domain.cells(), inf)
    hops[start] = 0
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there, steps in hops.items():
            if steps == inf and graph.adjacent(here, there):
                hops[there] = hops[here] + 1
                queue.append(there)
    return hops


def neighbours(policy: Policy, size: int) -> Iterator[tuple[Database, Database]]:
    """Go through all neighbouring databases of ``size`` individuals.

    Individuals are interchangeable, so the first database is given in sorted order only; the second is any.
    """
    values = [*policy.domain.cells(), *([ABSENT] if policy.size == "unknown" else [])]
    for first in combinations_with_replacement(values, size):
        if satisfies(policy, first):
            for second in product(values, repeat=size):
                if are_neighbours(policy, first, second):
                    yield first, second


def are_neighbours(policy: Policy, first: Database, second: Database) -> bool:
    """Apply the definition of the neighbour relation (docs/proofs/neighbours.md) word by word."""
    changed = [i for i, (x, y) in enumerate(zip(first, second, strict=True)) if x != y]
    secret = [is_secret_move(policy, first[i], second[i]) for i in changed]
    if not changed or not any(secret):
        return False
    if not policy.known:
        return all(secret) and len(changed) <= policy.rows_per_person
    if policy.compensation == "secret-moves" and not all(secret):
        return False
    if not (satisfies(policy, first) and _same_counts(policy, first, second)):
        return False
    return not any(_same_counts(policy, first, middle) for middle in _strictly_between(first, second, changed))


def is_secret_move(policy: Policy, x: Cell, y: Cell) -> bool:
    """Say whether a record's move is along a secret pair; coming and going is, where the size is secret."""
    return ABSENT in (x, y) or policy.graph.adjacent(x, y)


def satisfies(policy: Policy, database: Database) -> bool:
    """Say whether a database agrees with every stated known count."""
    return all(fact.count is None or fact.count == _count(policy.domain, fact, database) for fact in _facts(policy))


def linear_sensitivity(policy: Policy, size: int, contribution: Contribution) -> Worst:
    """Find the largest L1 change of a linear query between neighbours, and neighbours that attain it."""
    added = {cell: tuple(map(Fraction, contribution(cell))) for cell in policy.domain.cells()}
    added[ABSENT] = tuple(Fraction(0) for _ in next(iter(added.values())))
    worst = Worst(Fraction(0), None)
    for first, second in neighbours(policy, size):
        change = _l1_change(added, first, second)
        if worst.witness is None or change > worst.value:
            worst = Worst(change, (first, second))
    return worst


def _l1_change(added: dict[Cell, tuple[Fraction, ...]], first: Database, second: Database) -> Fraction:
    moved = [(added[x], added[y]) for x, y in zip(first, second, strict=True) if x != y]
    outputs = range(len(added[ABSENT]))
    return sum((abs(sum((y[i] - x[i] for x, y in moved), Fraction(0))) for i in outputs), Fraction(0))


def _facts(policy: Policy) -> list[CountedBox]:
    return [counted for fact in policy.known for counted in fact.counted(policy.domain)]


def _count(domain: Domain, fact: CountedBox, database: Database) -> int:
    axes = [(domain.axis(name), subset) for name, subset in fact.box.items()]
    return sum(all(cell[axis] in subset for axis, subset in axes) for cell in database)


def _same_counts(policy: Policy, first: Database, second: Database) -> bool:
    return all(_count(policy.domain, f, first) == _count(policy.domain, f, second) for f in _facts(policy))


def _strictly_between(first: Database, second: Database, changed: Sequence[int]) -> Iterator[Database]:
    for how_many in range(1, len(changed)):
        for moved in combinations(changed, how_many):
            yield tuple(second[i] if i in moved else first[i] for i in range(len(first)))
