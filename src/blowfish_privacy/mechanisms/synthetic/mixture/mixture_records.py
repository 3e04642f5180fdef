"""Records drawn from a mixture of products, with less error than independent draws have.

Components get as many records as they weigh, rounded, and so does every value of an attribute. Inside a component each
value occurs as often as expected, rounded up or down by chance, where what other components have rounded is made up
for: so single attributes are met nearly exactly. Which record of a component gets which value is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.mechanisms.synthetic.mixture.evidence import Grouping
from blowfish_privacy.support.arrays import Floats, Integers

MOST_MADE_UP = 50.0
"""A component makes up for others at most by getting a value so many times as often as it expects."""
MOST_CELLS = 4_000_000
"""Chances of components for single records that are held at once."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a mixture: weights, for each attribute the shares of groups in each component, and the groups."""

    shape: tuple[int, ...]
    weights: Floats
    shares: tuple[Floats, ...]
    groupings: tuple[Grouping, ...]

    def row(self, axis: int, component: int) -> Floats:
        """Return the shares of all values of an attribute in one component."""
        grouping = self.groupings[axis]
        return self.shares[axis][component, grouping.of_values] * grouping.within

    def value(self, axis: int, components: Integers, generator: np.random.Generator) -> Integers:
        """Draw a value of an attribute for each of some components, independently."""
        found = np.empty(len(components), np.int64)
        for component in np.unique(components):
            members = np.flatnonzero(components == component)
            cumulative = np.cumsum(self.row(axis, component))
            points = generator.random(len(members)) * cumulative[-1]
            found[members] = np.minimum(np.searchsorted(cumulative, points, side="right"), self.shape[axis] - 1)
        return found


def mixture_records(
    parts: Parts, many: int, generator: np.random.Generator, kept: Integers | None = None
) -> tuple[Integers, Integers]:
    """Draw records, and return the component of each with them.

    Columns of ``kept`` without -1 are given, and decide which components the records may belong to.
    """
    given = given_columns(kept)
    drawn = np.empty((many, len(parts.shape)), np.int64, order="F")
    if kept is None or not given:
        sizes = _rounded(parts.weights, many, generator)
        components = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    else:
        components = likely_components(parts, kept, given, generator)
        sizes = np.bincount(components, minlength=len(parts.weights))
    for axis in range(len(parts.shape)):
        if kept is not None and axis in given:
            drawn[:, axis] = kept[:, axis]
        else:
            # Components are whole numbers, random ones lie in [0, 1): one sort shuffles the records of each component.
            order = np.argsort(components + generator.random(many))
            drawn[order, axis] = _shared_out(parts, axis, sizes, generator)
    return drawn, components


def given_columns(kept: Integers | None) -> list[int]:
    """List the columns that are given."""
    return [] if kept is None else [axis for axis in range(kept.shape[1]) if (kept[:, axis] >= 0).all()]


def _rounded(weights: Floats, many: int, generator: np.random.Generator) -> Integers:
    """Share out records among components: each as many as it weighs, rounded up or down."""
    ends = np.floor(np.cumsum(weights) / weights.sum() * many + generator.random()).astype(np.int64)
    ends[-1] = many
    return np.diff(np.minimum(ends, many), prepend=0)


def _shared_out(parts: Parts, axis: int, sizes: Integers, generator: np.random.Generator) -> Integers:
    """List the values of an attribute for the records of all components, one component behind the other.

    What earlier components have lacked of a value later ones make up for, each in proportion to its own share of it: a
    value goes nowhere where it is not at home. Components come in random order, another one for each attribute.
    """
    found = np.empty(int(sizes.sum()), np.int64)
    if not len(found):
        return found
    ends, values = np.cumsum(sizes), np.arange(parts.shape[axis])
    order = generator.permutation(np.flatnonzero(sizes)).tolist()
    expected = np.zeros(len(values))
    for component in order:
        expected += parts.row(axis, component) * sizes[component]
    left = whole_counts(expected, len(found), generator).astype(np.float64)
    for component in order:
        size = int(sizes[component])
        row = parts.row(axis, component) * size
        ratio = np.clip(left / np.maximum(expected, 1e-9), 0.0, MOST_MADE_UP)
        times = whole_counts(row * ratio if (row * ratio).any() else row, size, generator)
        expected, left = expected - row, left - times
        found[ends[component] - size : ends[component]] = np.repeat(values, times)
    return found


def whole_counts(expected: Floats, size: int, generator: np.random.Generator) -> Integers:
    """Round counts in proportion to what is expected, such that they add up to a size.

    Every count is rounded up with the chance of its remainder, at points of equal distance from a random start, so
    that values with little chance have it in few records too.
    """
    wanted = expected * (size / expected.sum())
    down = np.floor(wanted)
    order = generator.permutation(len(wanted))
    ends = np.cumsum((wanted - down)[order])
    # The remainders add up to what is missing but for rounding: with their sum set to it, so do the points.
    ends *= (size - down.sum()) / max(ends[-1], 1e-9)
    ends[ends > size - down.sum() - 1e-9] = size - down.sum()
    up = np.diff(np.floor(ends + generator.random()), prepend=0.0)
    times = down.astype(np.int64)
    times[order] += up.astype(np.int64)
    return times


def likely_components(parts: Parts, kept: Integers, given: list[int], generator: np.random.Generator) -> Integers:
    """Draw a component for each record by its chances, given the columns that are known.

    Records alike in these follow each other, and take the components at points of equal distance.
    """
    alike, inverse = np.unique(kept[:, given], axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    points = (np.arange(len(kept)) * ((5**0.5 - 1) / 2) + generator.random()) % 1.0
    found = np.empty(len(kept), np.int64)
    for first, cumulative in _chances(parts, alike, given):
        members = order[slice(*np.searchsorted(inverse.ravel()[order], [first, first + len(cumulative)]))]
        lines = cumulative + np.arange(len(cumulative))[:, None]
        of_members = inverse.ravel()[members] - first
        places = np.searchsorted(lines.ravel(), of_members + points[members], side="right")
        found[members] = np.minimum(places - of_members * len(parts.weights), len(parts.weights) - 1)
    return found


def _chances(parts: Parts, alike: Integers, given: list[int]) -> Iterator[tuple[int, Floats]]:
    """Yield the cumulative chances of all components for some of the distinct rows, with the number of the first."""
    logarithms = [np.log(np.maximum(parts.shares[axis].T, 1e-30)) for axis in given]
    step = max(1, MOST_CELLS // len(parts.weights))
    for first in range(0, len(alike), step):
        some = alike[first : first + step]
        score = np.tile(np.log(np.maximum(parts.weights, 1e-30)), (len(some), 1))
        for column, (axis, logarithm) in enumerate(zip(given, logarithms, strict=True)):
            score += logarithm[parts.groupings[axis].of_values[some[:, column]]]
        chances = np.exp(score - score.max(axis=1, keepdims=True))
        cumulative = np.cumsum(chances, axis=1)
        yield first, cumulative / cumulative[:, -1:]
