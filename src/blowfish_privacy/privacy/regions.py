"""Regions: which values of some attributes the secret pairs of a class have, where only these are told apart.

A release that is filtered to some values says nothing about pairs that lie elsewhere, so amounts are lost on regions.
On one pair the amounts of all regions that contain it add up; what counts is the largest such sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from blowfish_privacy.domain import Domain, Subset

Region: TypeAlias = tuple[tuple[str, Subset], ...]
"""The values that some attributes may have, by the name of the attribute and in the order of the names.

A set is given by canonical positions: those of an ordered attribute, and those in the list of the sorted categories, so
that a region is the same however a policy orders its categories. Attributes that are not named may have any value.
"""
EVERYWHERE: Region = ()
_MOST_STEPS = 20_000


def region_of(domain: Domain, box: Mapping[str, Subset]) -> Region:
    """Return the region of the values in a box, which is given by the positions of a domain."""
    narrow = {name: subset for name, subset in box.items() if len(subset) < domain[name].size}
    return tuple((name, _canonical(domain, name, narrow[name])) for name in sorted(narrow))


def box_of(domain: Domain, region: Region) -> dict[str, Subset]:
    """Return a region as positions of a domain, the inverse of :func:`region_of`."""
    return {name: _positions(domain, name, subset) for name, subset in region}


def meet(first: Region, second: Region) -> Region | None:
    """Return what two regions have in common; None if that is nothing."""
    if not first or not second:
        return first or second
    shared = dict(first)
    for name, subset in second:
        shared[name] = shared[name] & subset if name in shared else subset
        if not shared[name].runs:
            return None
    return tuple(sorted(shared.items(), key=lambda item: item[0]))


def contains(outer: Region, inner: Region) -> bool:
    """Say whether one region contains another."""
    narrow = dict(inner)
    return all(name in narrow and narrow[name] <= subset for name, subset in outer)


def largest_overlap(amounts: Iterable[tuple[Region, Fraction]]) -> Fraction:
    """Return the largest sum of the amounts of regions that have a point in common.

    Where that takes too long to find out, all amounts that might meet are added up, which is never too small.
    """
    weighted = [(region, amount) for region, amount in amounts if amount]
    unit = lcm(*(amount.denominator for _, amount in weighted))
    search = _Search()
    whole = [(region, amount.numerator * (unit // amount.denominator)) for region, amount in weighted]
    return Fraction(search.most(whole, 0), unit)


class _Search:
    """A search through the values that regions tell apart, one attribute after the other."""

    def __init__(self) -> None:
        self._steps = 0

    def most(self, weighted: Sequence[tuple[Region, int]], beat: int) -> int:
        """Return the largest sum of weights at a point, or any number up to ``beat`` if no sum is larger."""
        total = sum(weight for _, weight in weighted)
        names = [region[0][0] for region, _ in weighted if region]
        self._steps += 1 + len(weighted) // 8
        if total <= beat or not names or self._steps > _MOST_STEPS:
            return total
        best = beat
        for members in _along(min(names), weighted):
            best = max(best, self.most(members, best))
        return best


def _along(name: str, weighted: Sequence[tuple[Region, int]]) -> Iterable[list[tuple[Region, int]]]:
    """For every value of an attribute that regions tell apart, list the regions with it, without this attribute."""
    everywhere = [item for item in weighted if not item[0] or item[0][0][0] != name]
    begin: dict[int, list[int]] = {}
    end: dict[int, list[int]] = {}
    inside = {number: item for number, item in enumerate(weighted) if item[0] and item[0][0][0] == name}
    for number, (region, _) in inside.items():
        for start, stop in region[0][1].runs:
            begin.setdefault(start, []).append(number)
            end.setdefault(stop, []).append(number)
    active: dict[int, tuple[Region, int]] = {}
    for position in sorted({*begin, *end}):
        for number in end.get(position, []):
            del active[number]
        for number in begin.get(position, []):
            active[number] = inside[number][0][1:], inside[number][1]
        # The sum can only have grown where a run begins.
        if position in begin:
            yield [*everywhere, *active.values()]


def _canonical(domain: Domain, name: str, subset: Subset) -> Subset:
    attribute = domain[name]
    if attribute.ordered:
        return subset
    ranks = {position: rank for rank, position in enumerate(_sorted_positions(domain, name))}
    return Subset.of(ranks[position] for position in subset)


def _positions(domain: Domain, name: str, subset: Subset) -> Subset:
    attribute = domain[name]
    if attribute.ordered:
        return subset
    positions = _sorted_positions(domain, name)
    return Subset.of(positions[rank] for rank in subset)


def _sorted_positions(domain: Domain, name: str) -> list[int]:
    """List the positions of categories in the order in which a policy's canonical form lists them."""
    attribute = domain[name]
    return sorted(range(attribute.size), key=lambda position: repr(attribute.value(position)))
