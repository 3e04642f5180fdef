"""Attributes that are alike, so that large symmetrical plans are small problems.

Two attributes are alike if swapping them changes neither the tables asked for nor what is secret. This is an
equivalence, and swaps generate all permutations within each *kind*, so sets of attributes fall into orbits named by
their *shape*: the kinds of their attributes, ascending, with repetitions. A convex plan may be averaged over these
permutations; so planning looks at shapes only, and every count below is a product of binomial coefficients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import comb, prod
from typing import TypeAlias

Axes: TypeAlias = tuple[int, ...]
"""Numbers of attributes, ascending."""
Shape: TypeAlias = tuple[int, ...]
"""Numbers of kinds, ascending, once for each attribute."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The attributes of each kind, and how many values one of them has."""

    members: tuple[Axes, ...]
    sizes: tuple[int, ...]

    def shapes(self, sets: Iterable[Iterable[int]]) -> Iterator[Shape]:
        """Name the orbit of each set of attributes."""
        kind = {axis: number for number, axes in enumerate(self.members) for axis in axes}
        return (tuple(sorted([kind[axis] for axis in axes])) for axes in sets)

    def cells(self, shape: Shape) -> int:
        """Count the cells of one table."""
        return prod(self.sizes[kind] for kind in shape)

    def number(self, shape: Shape) -> int:
        """Count the sets of a shape."""
        return prod(comb(len(self.members[kind]), count) for kind, count in Counter(shape).items())

    def sets(self, shape: Shape) -> Iterator[Axes]:
        """List the sets of a shape."""
        parts = [combinations(self.members[kind], count) for kind, count in sorted(Counter(shape).items())]
        return (tuple(sorted(chain.from_iterable(choice))) for choice in product(*parts))

    def larger(self, small: Shape, large: Shape) -> int:
        """Count the sets of a large shape that contain a given one of a small shape."""
        some, many = Counter(small), Counter(large)
        return prod(comb(len(self.members[kind]) - some[kind], many[kind] - some[kind]) for kind in many)

    def avoiding(self, shape: Shape, other: Shape) -> int:
        """Count the sets of a shape that do not meet a given one of another shape."""
        rest = Counter(other)
        return prod(comb(len(self.members[kind]) - rest[kind], count) for kind, count in Counter(shape).items())


def smaller(small: Shape, large: Shape) -> int:
    """Count the sets of a small shape within a given one of a large shape."""
    many = Counter(large)
    return prod(comb(many[kind], count) for kind, count in Counter(small).items())


def parts(shape: Shape) -> list[Shape]:
    """List the shapes of all subsets, the empty one and the whole included."""
    subsets = chain.from_iterable(combinations(shape, length) for length in range(len(shape) + 1))
    return list(dict.fromkeys(subsets))


def alike(sizes: tuple[int, ...], tables: Mapping[Axes, float], changed: Iterable[Axes]) -> Kinds:
    """Sort the attributes that matter into kinds."""
    asked, secret = _links(tables), _links(dict.fromkeys(changed, 1.0))
    found: list[list[int]] = []
    for axis in sorted(asked.keys() | secret.keys()):
        for axes in found:
            first = axes[0]
            if sizes[first] == sizes[axis] and all(_swap(links, first, axis) for links in (asked, secret)):
                axes.append(axis)
                break
        else:
            found.append([axis])
    return Kinds(tuple(tuple(axes) for axes in found), tuple(sizes[axes[0]] for axes in found))


_Links: TypeAlias = dict[int, dict[Axes, float]]


def _links(sets: Mapping[Axes, float]) -> _Links:
    """Note for each attribute the rest of every set that contains it."""
    links: _Links = {}
    for axes, weight in sets.items():
        for place, axis in enumerate(axes):
            links.setdefault(axis, {})[axes[:place] + axes[place + 1 :]] = weight
    return links


def _swap(links: _Links, one: int, other: int) -> bool:
    """Say whether swapping two attributes leaves the sets as they are."""
    first, second = links.get(one, {}), links.get(other, {})
    if len(first) != len(second):
        return False
    return {rest: weight for rest, weight in first.items() if other not in rest} == {
        rest: weight for rest, weight in second.items() if one not in rest
    }
