"""The truth by exhaustion, for tiny domains: every database, every neighbour, every chain of secret pairs.

Nothing here is clever, on purpose. A database is a tuple with one cell for each individual; :data:`ABSENT` stands for
an individual who is not in the table, where the policy keeps the number of records secret.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import inf, lcm
from typing import TypeAlias

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.facts import CountedBox
from blowfish_privacy.policies import Policy

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


def known_counts(policy: Policy, database: Database) -> list[int]:
    """Return what is known of a database, stated or not."""
    return [_count(policy.domain, fact, database) for fact in _facts(policy)]


def linear_sensitivity(policy: Policy, size: int, contribution: Contribution, power: int = 1) -> Worst:
    """Find the largest sum of changes (of their powers) of a linear query between neighbours, and who attains it."""
    added, parts = _in_whole_numbers(policy, contribution)
    added[ABSENT] = (0,) * len(next(iter(added.values())))
    most, witness = 0, None
    for first, second in neighbours(policy, size):
        change = _change(added, first, second, power)
        if witness is None or change > most:
            most, witness = change, (first, second)
    return Worst(Fraction(most, parts**power), witness)


def moves_together(policy: Policy, size: int) -> Iterator[tuple[tuple[Cell, Cell], ...]]:
    """Go through all sets of moves that make two tables of at most ``size`` records neighbours; no count is stated.

    This is the definition once more, without the records that stay: moves whose effects on the known counts add up to
    zero while those of no proper part do, one of them (or all, under secret-moves) along a secret pair.
    """
    facts, cells = _facts(policy), [*policy.domain.cells()]
    # One whole number stands for all counts: no count changes by more than the number of moves.
    base = 2 * size + 1
    counted = {cell: sum(_count(policy.domain, f, (cell,)) * base**i for i, f in enumerate(facts)) for cell in cells}
    moves = [(x, y, counted[y] - counted[x], policy.graph.adjacent(x, y)) for x in cells for y in cells if x != y]
    if policy.compensation == "secret-moves":
        moves = [move for move in moves if move[3]]

    def grow(
        start: int, chosen: list[int], total: int, parts: frozenset[int]
    ) -> Iterator[tuple[tuple[Cell, Cell], ...]]:
        for place in range(start, len(moves)):
            effect = moves[place][2]
            if total + effect == 0:
                found = [moves[number] for number in [*chosen, place]]
                if any(secret for _, _, _, secret in found):
                    yield tuple((x, y) for x, y, _, _ in found)
            elif len(chosen) + 1 < size and effect and -effect not in parts:
                grown = parts | {part + effect for part in parts} | {effect}
                yield from grow(place, [*chosen, place], total + effect, grown)

    yield from grow(0, [], 0, frozenset())


def move_together(policy: Policy, moves: Sequence[tuple[Cell, Cell]]) -> bool:
    """Say whether records that move like this make two tables neighbours; no count is stated."""
    secret = [policy.graph.adjacent(x, y) for x, y in moves]
    if not (all(secret) if policy.compensation == "secret-moves" else any(secret)):
        return False
    before, after = (tuple(cells) for cells in zip(*moves, strict=True))
    between = _strictly_between(before, after, range(len(moves)))
    return _same_counts(policy, before, after) and not any(_same_counts(policy, before, each) for each in between)


def largest_changes(policy: Policy, size: int, contributions: Sequence[Contribution], power: int = 1) -> list[Fraction]:
    """Find the largest sum of changes (of their powers) of several linear queries over all sets of moves together."""
    added = [_in_whole_numbers(policy, each) for each in contributions]
    most = [0] * len(added)
    nets: set[frozenset[tuple[Cell, int]]] = set()
    for moves in moves_together(policy, size):
        net = Counter(y for _, y in moves)
        net.subtract(x for x, _ in moves)
        nets.add(frozenset((cell, count) for cell, count in net.items() if count))
    for net in nets:
        for number, (columns, _) in enumerate(added):
            rows = zip(*([count * each for each in columns[cell]] for cell, count in net), strict=True)
            most[number] = max(most[number], sum(abs(sum(row)) ** power for row in rows))
    return [Fraction(change, parts**power) for change, (_, parts) in zip(most, added, strict=True)]


def _in_whole_numbers(policy: Policy, contribution: Contribution) -> tuple[dict[Cell, tuple[int, ...]], int]:
    """Work out what every value adds, in parts of one of which there are so many."""
    added = {cell: tuple(map(Fraction, contribution(cell))) for cell in policy.domain.cells()}
    parts = lcm(*(number.denominator for numbers in added.values() for number in numbers))
    return {cell: tuple(int(number * parts) for number in numbers) for cell, numbers in added.items()}, parts


def _change(added: dict[Cell, tuple[int, ...]], first: Database, second: Database, power: int) -> int:
    moved = [(added[x], added[y]) for x, y in zip(first, second, strict=True) if x != y]
    return sum(abs(sum(y[i] - x[i] for x, y in moved)) ** power for i in range(len(added[ABSENT])))


# Asked for at every table.
@lru_cache(maxsize=16)
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
