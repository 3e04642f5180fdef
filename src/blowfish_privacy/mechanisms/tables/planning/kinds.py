"""Attributes that are alike, so that large symmetrical plans are small problems.

Two attributes are alike if swapping them changes neither the tables asked for nor what is secret. This is an
equivalence, and swaps generate all permutations within each *kind*, so sets of attributes fall into orbits named by
their *shape*: the kinds of their attributes, ascending, with repetitions. A convex plan may be averaged over these
permutations; so planning looks at shapes only, and every count below is a product of binomial coefficients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from math import comb, prod
from typing import Any, TypeAlias

import numpy as np

from blowfish_privacy.support.arrays import Floats, Integers

Axes: TypeAlias = tuple[int, ...]
"""Numbers of attributes, ascending."""
Shape: TypeAlias = tuple[int, ...]
"""Numbers of kinds, ascending, once for each attribute."""
_Counted: TypeAlias = Callable[[Integers, Integers, Integers], Floats]


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

    @cached_property
    def plural(self) -> list[int]:
        """List the kinds of more than one attribute: the others count once or not at all."""
        return [kind for kind, axes in enumerate(self.members) if len(axes) > 1]

    def within(self, small: Sequence[Shape], large: Sequence[Shape]) -> Floats:
        """Count, pair by pair, the sets of a small shape within a given one of a large shape."""
        return self._times(lambda _, some, many: binomial(many, some), small, large)

    def around(self, small: Sequence[Shape], large: Sequence[Shape]) -> Floats:
        """Count, pair by pair, the sets of a large shape that contain a given one of a small shape."""
        return self._times(lambda members, some, many: binomial(members - some, many - some), small, large)

    def beside(self, one: Sequence[Shape], other: Sequence[Shape]) -> Floats:
        """Return, pair by pair, the share of the sets of a shape that do not meet a given one of another shape."""
        apart = [1.0 if set(shape).isdisjoint(set(rest) - self._repeated) else 0.0 for shape, rest in
                 zip(one, other, strict=True)]  # fmt: skip
        return np.array(apart) * self._times(
            lambda members, count, rest: binomial(members - rest, count) / binomial(members, count), one, other
        )

    @cached_property
    def _repeated(self) -> set[int]:
        return set(self.plural)

    def _times(self, counted: _Counted, one: Sequence[Shape], other: Sequence[Shape]) -> Floats:
        """Multiply a count over the kinds of more than one attribute."""
        product = np.ones(len(one))
        for kind in self.plural:
            first = np.array([shape.count(kind) for shape in one], dtype=np.int64)
            second = np.array([shape.count(kind) for shape in other], dtype=np.int64)
            product *= counted(np.array(len(self.members[kind])), first, second)
        return product


def binomial(of: Integers, choose: Integers) -> Floats:
    """Return binomial coefficients, from a table."""
    top, most = int(of.max(initial=0)), int(choose.max(initial=0))
    table = np.array([[comb(n, k) for k in range(most + 1)] for n in range(top + 1)], dtype=np.float64)
    return np.where((of >= 0) & (choose >= 0), table[np.maximum(of, 0), np.maximum(choose, 0)], 0.0)


def parts(shape: Shape) -> list[Shape]:
    """List the shapes of all subsets, from the empty one to the whole."""
    subsets = chain.from_iterable(combinations(shape, length) for length in range(len(shape) + 1))
    return list(dict.fromkeys(subsets))


def alike(sizes: tuple[Any, ...], tables: Mapping[Axes, float], changed: Iterable[Axes]) -> Kinds:
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


def apart(sizes: tuple[Any, ...], tables: Mapping[Axes, float], changed: Iterable[Axes]) -> Kinds:
    """Give each attribute that matters a kind of its own."""
    axes = sorted({axis for axes in (*tables, *changed) for axis in axes})
    return Kinds(tuple((axis,) for axis in axes), tuple(sizes[axis] for axis in axes))


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
