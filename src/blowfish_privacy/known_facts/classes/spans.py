"""How far a query can change while a record stays in its class.

A compensating record may move anywhere, but whatever passes through a class enters it at one value and leaves it at
another. So what counts is the *span* of each class: for a single number, its lowest and highest value in the class; for
several outputs, the largest distance between two values of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.known_facts.classes.classes import Classes
from blowfish_privacy.known_facts.classes.scalars import Ranked, Scalar, Tabled, Whole, projected_pieces
from blowfish_privacy.queries.query import LinearForm, Pattern
from blowfish_privacy.support.arrays import Integers

_MOST_SIGNS = 10
_FEW_OUTPUTS = 5
"""Histograms with at most this many cells are treated as single numbers, which is exact."""
_CANDIDATES = 6


@dataclass(frozen=True, eq=False)
class Span:
    """How much a query can change inside each class and between classes, in units."""

    diameters: Whole
    """For each class, a bound on the change when a record moves inside it."""
    whole: int
    """A bound on the change when a record moves, wherever it goes."""
    scalars: tuple[Scalar, ...]
    """Numbers whose largest change is the query's change; empty where there would be too many."""
    guides: tuple[Scalar, ...]
    """Numbers that never change by more than the query does."""
    injective: bool
    """Whether the query is a histogram that distinguishes all classes."""
    ranked: bool = False
    """Whether the change between two values is the difference of their only guide."""

    def between(self, a: int, b: int) -> int:
        """Bound the change when a record moves from one class to another."""
        if not self.ranked:
            return self.whole
        (scalar,) = self.guides
        return int(max(scalar.high[b] - scalar.low[a], scalar.high[a] - scalar.low[b]))


def span_of(form: LinearForm, classes: Classes) -> Span:
    """Work out how much a query can change inside the classes and between them."""
    (first, *_) = form.domain.names
    match form.pattern:
        case Pattern.LINE:
            (lowest,), (next_one,) = form.column((0,)), form.column((min(1, form.domain.size - 1),))
            return _of_scalars([Ranked(classes, first, lowest, next_one - lowest)])
        case Pattern.RANKS if form.outputs > _FEW_OUTPUTS:
            ranked = Ranked(classes, first)
            return Span(ranked.high - ranked.low, form.domain.size - 1, (), (ranked,), injective=False, ranked=True)
        case Pattern.CELLS:
            return _of_histogram(form, classes)
        case _:
            return _of_matrix(form, classes)


def _of_scalars(scalars: Sequence[Scalar]) -> Span:
    ranges = [scalar.high - scalar.low for scalar in scalars]
    widest = np.maximum.reduce(ranges)
    whole = max(int(scalar.high.max() - scalar.low.min()) for scalar in scalars)
    return Span(widest, whole, tuple(scalars), tuple(scalars), injective=False)


def _of_matrix(form: LinearForm, classes: Classes) -> Span:
    matrix = form.as_matrix()
    if form.outputs <= _MOST_SIGNS:
        return _of_scalars(_signed(form.domain, matrix, classes))
    outputs = [Tabled(classes, form.domain, row) for row in matrix]
    ranges = np.sum([scalar.high - scalar.low for scalar in outputs], axis=0)
    whole = sum(int(scalar.high.max() - scalar.low.min()) for scalar in outputs)
    guides = [*outputs[:_MOST_SIGNS], Tabled(classes, form.domain, matrix.sum(axis=0))]
    return Span(ranges, whole, (), tuple(guides), injective=False)


def _signed(domain: Domain, matrix: Integers, classes: Classes) -> list[Scalar]:
    """Return all signed sums of the rows: the largest of their changes is the L1 change of the rows."""
    signs = [(1, *rest) for rest in product((1, -1), repeat=len(matrix) - 1)]
    return [Tabled(classes, domain, table) for table in np.array(signs, dtype=np.int64) @ matrix]


def _of_histogram(form: LinearForm, classes: Classes) -> Span:
    names = form.domain.names
    axes = [classes.domain.axis(name) for name in names]
    separates = all(len(groups) == 1 for axis, groups in enumerate(classes.groups) if axis not in axes)
    if not separates and form.outputs <= _FEW_OUTPUTS:
        return _of_scalars(_signed(form.domain, form.as_matrix(), classes))
    projected = projected_pieces(classes, axes)
    shape = [len(classes.groups[axis]) for axis in axes]
    several = np.zeros(shape, dtype=bool)
    for dimension, axis in enumerate(axes):
        wide = np.array([len(group) > 1 for group in classes.groups[axis]])
        several |= wide.reshape([-1 if other == dimension else 1 for other in range(len(axes))])
    seen = np.unique(classes.pieces * np.int64(several.size) + projected)
    label, piece = seen // several.size, seen % several.size
    values = np.bincount(label, weights=1 + several.reshape(-1)[piece], minlength=classes.size)
    diameters = np.where(values > 1, 2, 0).astype(object)
    return Span(diameters, 2 if form.domain.size > 1 else 0, (), (), injective=separates)


def candidates(classes: Classes, label: int) -> list[Cell]:
    """List a few different values of a class, including its extremes."""
    cells: dict[Cell, None] = {}
    pieces = np.flatnonzero(classes.pieces == label)
    for number in {*pieces[:_CANDIDATES].tolist(), *pieces[-1:].tolist()}:
        groups = classes.piece(int(number))
        low, high = tuple(group.first for group in groups), tuple(group.last for group in groups)
        cells |= {low: None, high: None}
        for axis, group in enumerate(groups):
            cells |= {(*low[:axis], position, *low[axis + 1 :]): None for position in _some(group)}
    return [*cells]


def _some(group: Subset) -> list[int]:
    return [position for position, _ in zip(group, range(_CANDIDATES), strict=False)]
