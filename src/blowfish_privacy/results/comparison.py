"""Synthetic records compared with the data that they stand for. For the custodian: it is exact, and no release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb, prod

import numpy as np

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.results.record_columns import counted
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.progress import task

NOT_FOR_PUBLICATION = (
    "These are exact comparisons with private rows. They are for the data's custodian; do not publish them."
)
MOST_TABLES = 1_000
"""Tables of each number of attributes that are compared."""
MOST_CELLS = 1_000_000
_WAYS = (1, 2, 3)
_MOST_LISTED = 5

Count = Callable[[Sequence[tuple[str, ...]]], Iterable[Integers]]


@dataclass(frozen=True)
class Distances:
    """The total variation between tables of one number of attributes: half the sum of the differences of shares."""

    mean: float
    worst: float
    tables: int
    """How many tables were compared."""
    of: int
    """How many there are."""


@dataclass(frozen=True)
class Comparison:
    """How far synthetic records are from the data. Exact, so it is not for publication."""

    ways: Mapping[int, Distances]
    """By the number of attributes of a table."""
    tables: Mapping[tuple[str, ...], float]
    """The distance of every table that was compared."""

    @property
    def worst(self) -> list[tuple[str, ...]]:
        """All tables, the farthest first."""
        return sorted(self.tables, key=lambda names: -self.tables[names])

    def explain(self) -> str:
        """Say how far the records are from the data, and that it must not be published."""
        lines = [
            f"Tables of {ways} attribute{'s' * (ways > 1)}: total variation {each.mean:.3f} on average, "
            f"{each.worst:.3f} at worst{_some(each)}."
            for ways, each in self.ways.items()
        ]
        listed = (f"  {' by '.join(map(quoted, names))}: {self.tables[names]:.3f}" for names in self.worst)
        return "\n".join([*lines, "The farthest:", *islice(listed, _MOST_LISTED), NOT_FOR_PUBLICATION])


def compare(positions: Integers, domain: Domain, count: Count) -> Comparison:
    """Compare records with data, whose tables ``count`` counts exactly.

    Of very many tables some are taken, evenly spread; very large ones are left out.
    """
    sets = {ways: list(_taken(domain, ways)) for ways in _WAYS if ways <= len(domain.names)}
    wanted = [axes for some in sets.values() for axes in some]
    tables: dict[tuple[str, ...], float] = {}
    with task("Comparing with the data") as progress:
        counts = count([tuple(domain.names[axis] for axis in axes) for axes in wanted])
        for number, (axes, true) in enumerate(zip(wanted, counts, strict=True)):
            made = counted(positions, axes, domain.shape)
            tables[tuple(domain.names[axis] for axis in axes)] = total_variation(made, true)
            if progress is not None:
                progress((number + 1) / len(wanted))
    return Comparison(
        {
            ways: _summary([tables[tuple(domain.names[axis] for axis in axes)] for axes in some], domain, ways)
            for ways, some in sets.items()
            if some
        },
        tables,
    )


def total_variation(first: Integers, second: Integers) -> float:
    """Return half the sum of the differences of the shares of all cells; 1 where one of the tables is empty."""
    if not first.sum() or not second.sum():
        return float(first.sum() != second.sum())
    return float(np.abs(first / first.sum() - second / second.sum()).sum()) / 2


def _taken(domain: Domain, ways: int) -> Iterator[tuple[int, ...]]:
    """Choose tables that are not too large, evenly spread if there are very many."""
    step = -(-comb(len(domain.names), ways) // MOST_TABLES)
    for axes in islice(combinations(range(len(domain.names)), ways), 0, None, step):
        if prod(domain.shape[axis] for axis in axes) <= MOST_CELLS:
            yield axes


def _summary(distances: Sequence[float], domain: Domain, ways: int) -> Distances:
    return Distances(sum(distances) / len(distances), max(distances), len(distances), comb(len(domain.names), ways))


def _some(each: Distances) -> str:
    return "" if each.tables == each.of else f" (of {each.tables:,} of {each.of:,} tables)"
