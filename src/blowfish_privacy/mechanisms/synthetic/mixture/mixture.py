"""A model of synthetic records that is a mixture of products: no number of attributes is too large for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from blowfish_privacy.mechanisms.synthetic.mixture.evidence import Grouping, gathered
from blowfish_privacy.mechanisms.synthetic.mixture.exchanges import exchanged
from blowfish_privacy.mechanisms.synthetic.mixture.mixture_fit import fitted
from blowfish_privacy.mechanisms.synthetic.mixture.mixture_records import Parts, given_columns, mixture_records
from blowfish_privacy.mechanisms.synthetic.mixture.possible import only_possible
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Zeros
from blowfish_privacy.support.arrays import Floats, Integers

MOST_CELLS = 4_000_000
"""Cells of components that are worked on at once, of one table."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components with weights, in each of which the attributes are independent.

    ``shares`` holds for each attribute a row for each component and a column for each group of values.
    """

    shape: tuple[int, ...]
    total: float
    weights: Floats
    shares: tuple[Floats, ...]
    groupings: tuple[Grouping, ...]
    zeros: tuple[Zeros, ...] = ()

    def table(self, axes: Axes) -> Floats:
        """Return the expected counts of a table of distinct attributes in any order; they sum to the total.

        Impossible combinations of the table's own attributes have count 0, at the expense of all other cells alike.
        """
        groups = self._grouped(axes)
        for place, axis in enumerate(axes):
            grouping = self.groupings[axis]
            if grouping.many < len(grouping.of_values):
                along = [1] * len(axes)
                along[place] = self.shape[axis]
                groups = np.take(groups, grouping.of_values, axis=place) * grouping.within.reshape(along)
        possible = self._without_impossible(axes, groups)
        return possible * (self.total / possible.sum())

    def _grouped(self, axes: Axes) -> Floats:
        """Return the shares of all combinations of groups, some components at a time."""
        sizes = [self.groupings[axis].many for axis in axes]
        cells = prod(sizes[:-1])
        found, step = np.zeros((cells, sizes[-1]) if axes else (1, 1)), max(1, MOST_CELLS // max(cells, 1))
        for first in range(0, len(self.weights), step):
            some = slice(first, first + step)
            products = self.weights[some, None]
            for axis in axes[:-1]:
                products = (products[:, :, None] * self.shares[axis][some, None, :]).reshape(len(products), -1)
            found += products.T @ (self.shares[axes[-1]][some] if axes else np.ones((len(products), 1)))
        return found.reshape(sizes)

    def _without_impossible(self, axes: Axes, shares: Floats) -> Floats:
        """Set impossible combinations to 0, unless nothing would be left."""
        found = shares
        for each in self.zeros:
            if set(each.axes) <= set(axes):
                places = [axes.index(axis) for axis in each.axes]
                ascending = np.transpose(each.impossible, np.argsort(places))
                sizes = [self.shape[axis] if axis in each.axes else 1 for axis in axes]
                found = np.where(ascending.reshape(sizes), 0.0, found)
        return found if found.sum() > 0 else shares

    def records(self, many: int, generator: np.random.Generator, kept: Integers | None = None) -> Integers:
        """Draw records, one row of positions for each; columns of ``kept`` without -1 are taken as they are."""
        parts = Parts(self.shape, self.weights, self.shares, self.groupings)
        drawn, components = mixture_records(parts, many, generator, kept)
        closer = exchanged(drawn, components, parts, given_columns(kept), generator)
        return only_possible(closer, self.zeros, parts, generator, kept)


def fit_mixture(
    shape: tuple[int, ...], total: float, measurements: Sequence[Measurement], zeros: Sequence[Zeros] = ()
) -> Mixture:
    """Fit a mixture to measured tables: all that these tell about single attributes and pairs."""
    from threadpoolctl import threadpool_limits  # it looks through all libraries that are loaded, so only when needed

    # These matrices are small: on a busy machine several threads wait for each other far longer than they work. With
    # one, sums do not depend on the number of cores either.
    with threadpool_limits(limits=1):
        evidence = gathered(shape, total, measurements, zeros)
        found = fitted(evidence, total)
    ends = np.cumsum([len(margin) for margin in evidence.margins])
    shares = np.split(found.shares.astype(np.float64), ends[:-1], axis=1)
    weights = found.weights.astype(np.float64)
    return Mixture(
        shape,
        total,
        weights / weights.sum(),
        tuple(part / part.sum(axis=1, keepdims=True) for part in shares),
        evidence.groupings,
        tuple(zeros),
    )
