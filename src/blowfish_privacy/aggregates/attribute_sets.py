"""Counts of several sets of attributes at once: which tables must be counted, and which follow from these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.support.arrays import Integers

Names: TypeAlias = tuple[str, ...]

AttributeSets: TypeAlias = Sequence[Sequence[str]]
"""Sets of attributes, each in the order that the axes of its table shall have."""


def checked_sets(domain: Domain, sets: AttributeSets) -> list[Names]:
    """Refuse sets that name an attribute twice, or one that the domain does not have."""
    if isinstance(sets, str):
        raise QueryError(f"a list of sets of attributes is needed, got {brief(sets)}.", hint='such as [["age"], []].')
    # A domain has attributes; the empty set, which stands for the number of records, has none.
    return [() if not len(names) else domain.project(names).names for names in sets]


def involved(domain: Domain, sets: Sequence[Names]) -> Names:
    """Return the attributes, and levels of them, that some set names, in the order of the domain."""
    named = dict.fromkeys(name for names in sets for name in names)
    return tuple(sorted(named, key=domain.axis))


def maximal(sets: Sequence[Names]) -> list[Names]:
    """Leave out the empty set, and every set that another one contains: their tables are sums of others."""
    largest: dict[frozenset[str], Names] = {}
    for names in sorted(sets, key=len, reverse=True):
        members = frozenset(names)
        if members and not any(members <= larger for larger in largest):
            largest[members] = names
    return list(largest.values())


def marginal(table: Integers, names: Sequence[str], kept: Sequence[str]) -> Integers:
    """Sum a table with one axis for each name down to the names kept, in their order; the result is a copy."""
    axes = [names.index(name) for name in kept]
    summed = np.asarray(table.sum(axis=tuple(set(range(len(names))) - set(axes)), dtype=np.int64))
    return np.asarray(summed.transpose([sorted(axes).index(axis) for axis in axes]), order="C")


def summed(table: Integers, domain: Domain, kept: Sequence[str]) -> Integers:
    """Sum a table of a domain's cells down to some attributes, or levels of them, in their order."""
    columns = [*dict.fromkeys(domain.names[domain.axis(name)] for name in kept)]
    counts = marginal(table, domain.names, columns)
    if columns == [*kept]:
        return counts
    chosen, along = domain.project(kept), np.indices(counts.shape, sparse=True)
    cells = np.zeros(counts.shape, dtype=np.int64)
    for name, size in zip(chosen.names, chosen.shape, strict=True):
        positions, view = along[columns.index(domain.names[domain.axis(name)])], domain.view(name)
        cells = cells * size + (positions if view is None else view[positions])
    totals = np.zeros(chosen.size, dtype=np.int64)
    np.add.at(totals, cells.reshape(-1), counts.reshape(-1))
    return totals.reshape(chosen.shape)


def marginals(tables: Mapping[Names, Integers], sets: Sequence[Names]) -> list[Integers]:
    """Return the table of each set, summed from the smallest one that contains it; no two share memory."""
    members = {frozenset(names): names for names in tables}
    unused = dict(tables)

    def derived(kept: Names) -> Integers:
        if kept in unused:
            return unused.pop(kept)
        larger = (names for each, names in members.items() if each.issuperset(kept))
        names = members.get(frozenset(kept)) or min(larger, key=lambda names: tables[names].size)
        return marginal(tables[names], names, kept)

    return [derived(kept) for kept in sets]
