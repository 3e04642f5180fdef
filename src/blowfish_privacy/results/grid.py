"""A noisy grid: every rectangle over two ordered attributes from one release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.mechanisms import Error, ExpectedError, GridFamily
from blowfish_privacy.mechanisms.constraints import ConstrainedError, Correction
from blowfish_privacy.mechanisms.grid.grid_family import GridError, areas, over_all_rectangles
from blowfish_privacy.mechanisms.intervals import (
    GridBootstrapError,
    KnownParts,
    RectangleIntervals,
    known_bounds,
    whole_cells,
)
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.release.plan import sliced
from blowfish_privacy.results.pictures.figure import Drawing
from blowfish_privacy.results.pictures.map import MapDrawing
from blowfish_privacy.results.result import Result, rows_of_cells
from blowfish_privacy.support.arrays import Floats, Integers, estimates
from blowfish_privacy.support.exact import Number, about


@dataclass(frozen=True)
class Box:
    """A leaf of the k-d tree: inclusive ranges of both attributes, and the estimated number of records inside."""

    first: tuple[Any, Any]
    second: tuple[Any, Any]
    count: float


class GridResult(Result):
    """Estimated counts of the cells; rectangles are looked up in a table of their sums."""

    kind = "grid"

    @property
    def domain(self) -> Domain:
        """The domain of the two attributes."""
        return self.release.query.own_domain(self.release.policy.domain)

    @cached_property
    def linear(self) -> Floats:
        """The unbiased count of every cell, which meets every public total; some may be below zero."""
        mechanism, constraints = self.release.mechanism, self._constraints
        if isinstance(mechanism, GridFamily):
            cells = mechanism.meeting(mechanism.estimate(self.release.noisy), self._correction)
        else:
            cells = self.noisy if constraints is None else constraints.nearest(self.noisy)
        return self._of_selected(cells)

    @cached_property
    def counts(self) -> Floats:
        """The count of every cell that is shown: none is below zero, and they meet every public total.

        Of the mechanism laplace they are the unbiased ones.
        """
        mechanism = self.release.mechanism
        if not isinstance(mechanism, GridFamily):
            return self.linear
        return self._of_selected(mechanism.shown_estimate(self.release.noisy, self.release.records, self._correction))

    def _of_selected(self, cells: Floats) -> Floats:
        """Leave out cells that a condition does not select; where the total is public, it says so already."""
        shaped = cells.reshape(self.domain.shape)
        return shaped if self._constraints is not None else sliced(shaped, self.domain, self.release.population.box)

    @property
    def _family(self) -> GridFamily | None:
        """The mechanism, where the cells are an estimate of it that has noise."""
        mechanism = self.release.mechanism
        return mechanism if isinstance(mechanism, GridFamily) and self.release.certificate.amount else None

    @cached_property
    def _correction(self) -> Correction | None:
        family, constraints = self._family, self._constraints
        if constraints is None or family is None:
            return None
        return Correction(constraints, family.taken(self.release.noisy).spread)

    def error(self) -> Error:
        return self._guaranteed if self._bootstrap is None else self._bootstrap

    @cached_property
    def _bootstrap(self) -> GridBootstrapError | None:
        if self._family is None:
            return None
        return GridBootstrapError(self._family, whole_cells(self.counts), self._guaranteed, self._correction)

    @cached_property
    def _guaranteed(self) -> Error:
        """The error of a random rectangle of the linear estimate; what the public totals say is taken away."""
        mechanism, constraints = self.release.mechanism, self.release.constraints
        measured = mechanism.taken(self.release.noisy) if isinstance(mechanism, GridFamily) else mechanism
        raw = measured.expected_error()
        if isinstance(raw, ExpectedError) and constraints is not None and raw.scale:
            return ConstrainedError.of_cells(raw, constraints)
        if self._correction is None or not isinstance(raw, GridError):
            return raw
        known = self._correction.taken_away().T.reshape(-1, *self.domain.shape)
        return replace(raw, variance=max(raw.mse - sum(map(over_all_rectangles, known)), 0.0))

    @property
    def values(self) -> Floats:
        return self.counts.reshape(-1)

    @cached_property
    def _sums(self) -> Floats:
        return np.pad(np.cumsum(np.cumsum(self.counts, axis=0), axis=1), ((1, 0), (1, 0)))

    def range(self, first: tuple[Any, Any], second: tuple[Any, Any]) -> float:
        """Count the records of a rectangle: an inclusive range of each attribute (for bins: from edge to edge)."""
        return float(self._between(*self._cuts(first, second)))

    def ranges(self, corners: npt.ArrayLike) -> Floats:
        """Count many rectangles at once: rows of inclusive positions (first from, first to, second from, second to)."""
        return self._between(*self._many_cuts(corners).T)

    def interval(self, first: tuple[Any, Any], second: tuple[Any, Any], level: Number = "0.95") -> tuple[float, float]:
        """Return bounds for the number of records in a rectangle, around what :meth:`range` says.

        They are learned by releasing an estimate like this one many times, for the size and place of the rectangle; of
        those of about this size, the share ``level`` is to lie within theirs. That is estimated, not guaranteed.
        """
        lower, upper = self._bounds(np.array([self._cuts(first, second)]), level)
        return float(lower[0]), float(upper[0])

    def intervals(self, corners: npt.ArrayLike, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return bounds for many rectangles at once, given as for :meth:`ranges`: the lower ones and the upper ones."""
        return self._bounds(self._many_cuts(corners), level)

    def _bounds(self, cuts: Integers, level: Number) -> tuple[Floats, Floats]:
        if self._intervals is not None:
            return self._intervals.of(cuts, level)
        # Equal noise on every cell, and none where nothing is secret.
        half = self.release.mechanism.expected_error().interval(level) * np.sqrt(areas(cuts))
        value = self._between(*cuts.T)
        records, constraints = self.release.records, self.release.constraints
        totals = [] if records is None else [records_total(self.domain.size, records)]
        totals += () if constraints is None else constraints.totals
        least, most = known_bounds([KnownParts.of(each, self.domain.shape) for each in totals], cuts)
        # The estimate itself is inside, also where noise puts it past a bound.
        return np.maximum(value - half, np.minimum(value, least)), np.minimum(value + half, np.maximum(value, most))

    @cached_property
    def _intervals(self) -> RectangleIntervals | None:
        if self._family is None:
            return None
        return RectangleIntervals(self._family, self.counts, self.release.records, self._correction, self._of_selected)

    def _cuts(self, first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[int, int, int, int]:
        """Return the cut points before and after a rectangle along both attributes."""
        down, across = (
            attribute.subset(tuple(ends))
            for attribute, ends in zip(self.domain.attributes, (first, second), strict=True)
        )
        return down.first, down.last + 1, across.first, across.last + 1

    def _many_cuts(self, corners: npt.ArrayLike) -> Integers:
        given = np.asarray(corners)
        if given.ndim != 2 or given.shape[1] != 4 or given.dtype.kind not in "iu":
            raise QueryError("rectangles are rows of four positions.", hint="first from, to; second from, to.")
        low, high = given[:, [0, 2]], given[:, [1, 3]]
        if (low < 0).any() or (high >= np.array(self.domain.shape)).any() or (low > high).any():
            raise QueryError("a rectangle is reversed or ends outside the declared values.")
        return np.stack([low[:, 0], high[:, 0] + 1, low[:, 1], high[:, 1] + 1], axis=1).astype(np.int64)

    def _between(self, top: Any, bottom: Any, left: Any, right: Any) -> Any:
        sums = self._sums
        return sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]

    def kd_tree(self, depth: int) -> list[Box]:
        """Cut the grid in turn along both attributes where half of the records lie on each side.

        The cuts are chosen from the noisy grid alone, so the tree costs nothing.
        """
        if type(depth) is not int or not 0 <= depth <= 20:
            raise QueryError(f"the depth of a k-d tree lies between 0 and 20, got {brief(depth)}.")
        leaves = [(0, self.domain.shape[0], 0, self.domain.shape[1])]
        for level in range(depth):
            leaves = [half for leaf in leaves for half in self._halves(leaf, level % 2)]
        return [self._box(leaf) for leaf in leaves]

    def _halves(self, leaf: tuple[int, int, int, int], axis: int) -> list[tuple[int, int, int, int]]:
        top, bottom, left, right = leaf
        start, stop = (top, bottom) if axis == 0 else (left, right)
        if stop - start < 2:
            return [leaf]
        cuts = np.arange(start + 1, stop)
        below = self._between(top, cuts, left, right) if axis == 0 else self._between(top, bottom, left, cuts)
        cut = int(cuts[np.abs(below - self._between(*leaf) / 2).argmin()])
        if axis == 0:
            return [(top, cut, left, right), (cut, bottom, left, right)]
        return [(top, bottom, left, cut), (top, bottom, cut, right)]

    def _box(self, leaf: tuple[int, int, int, int]) -> Box:
        top, bottom, left, right = leaf
        first, second = self.domain.attributes
        ends = (first.value(top), first.value(bottom - 1)), (second.value(left), second.value(right - 1))
        return Box(*ends, float(self._between(*leaf)))

    def _remarks(self) -> list[str]:
        error = self.error()
        met = "" if self.release.constraints is None else " meet every public total and"
        if self._bootstrap is None:
            return [
                f"Tables and rectangles{met} have an error of {about(error.rmse)} for {error.of}. "
                "Pictures are cut at zero, and biased."
            ]
        return [
            f"Tables, pictures and rectangles{met} have no negative count, with an estimated error of "
            f"{about(error.rmse)} for {error.of}. They are nearer to the truth than the unbiased estimate (“linear”), "
            "and biased."
        ]

    @property
    def header(self) -> list[str]:
        return [*self.domain.names, "count"]

    def rows(self) -> Iterator[list[Any]]:
        return rows_of_cells(self.domain, estimates(self.counts.reshape(-1), self.stated_error))

    def drawings(self) -> Sequence[Drawing]:
        bounds = self.intervals if self.release.certificate.amount else None
        return [MapDrawing(self.domain, self.counts, bounds, self.title())]

    def asked(self) -> str:
        return f"map of counts by {' and '.join(self.domain.names)}"
