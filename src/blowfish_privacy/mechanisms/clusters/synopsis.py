"""A synopsis: a noisy release of where the records lie, from which clusters and more follow at no further cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets, TableAggregates
from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.errors import DataError, QueryError, RefusalError, SpecError, brief
from blowfish_privacy.mechanisms.clusters.deconvolution import deconvolve, hats, kron
from blowfish_privacy.mechanisms.clusters.grid_choice import MOST_DIMENSIONS
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, MOST_SECRET_RECORDS, Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm, clusters_asked
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.arrays import Floats

MOST_POINTS = 20_000
FINEST = 8


@dataclass(frozen=True, eq=False)
class Points:
    """Weighted points in the units of the values, and the width of the cell that each represents."""

    places: Floats
    weights: Floats
    widths: Floats

    @property
    def records(self) -> float:
        """The estimated number of records of all points together."""
        return float(self.weights.sum())


class Synopsis(Mechanism):
    """A mechanism that releases where the records lie."""

    form: HistogramForm
    gives = ("clusters",)
    whole: ClassVar[bool] = True
    """Whether the points show where all records lie, rather than only the centres asked for."""

    def for_free(self) -> str:
        """Offer centres for any other k, where the points show where all records lie."""
        return ", and any other number of them for free" if self.whole else ""

    def tables(self, query: Query) -> AttributeSets:
        """Return none: a synopsis asks for sums, never for counts of cells."""
        return []

    @abstractmethod
    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Ask for sums on lattices and add the noise."""

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Compute the sums from counts that are in memory."""
        return self.draw(TableAggregates(self.form.domain, counts.reshape(self.form.domain.shape)), source)

    @abstractmethod
    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Estimate from the noisy numbers how many records lie where; ``records`` is None where it is secret."""


def bound_clusters(
    query: Query, policy: Policy, records: int | None, *, secret: bool = False
) -> tuple[HistogramForm, int]:
    """Bind a query that asks for clusters; return the number of records, or the most there may be.

    ``secret`` says whether the mechanism can do without a public number of records.
    """
    form = query.on(policy.domain)
    if query.answer != "clusters" or form.pattern is not Pattern.CELLS:
        raise RefusalError(f"this mechanism answers k-means, not {brief(query)}.")
    if policy.size == "unknown":
        if secret:
            return cast(HistogramForm, form), MOST_SECRET_RECORDS
        raise RefusalError("this mechanism needs a public number of records.", hint='use mechanism="counted-grid".')
    if records is None:
        raise RefusalError("clusters need the number of records to choose a grid.", hint="state size in the policy.")
    asked = clusters_asked(query)
    if asked > records:
        raise QueryError(f"k = {asked:,} needs at least as many records, and there are {records:,}.")
    return cast(HistogramForm, form), records


def few_dimensions(form: HistogramForm) -> None:
    """Refuse more dimensions than a grid can serve."""
    if len(form.domain.names) > MOST_DIMENSIONS:
        raise RefusalError(
            f"a grid serves up to {MOST_DIMENSIONS} attributes, got {len(form.domain.names)}.",
            hint='use mechanism="lloyd".',
        )


def check_size(sums: npt.NDArray[np.int64]) -> None:
    """Make sure that noisy sums fit in 64 bits, which depends on the number of records alone."""
    if int(sums.sum(dtype=np.float64)) >= LARGEST_ANSWER:
        raise DataError("the sums may be too large for 64-bit arithmetic.", hint="make a new plan for these data.")


def whole_numbers(written: Any, form: HistogramForm) -> tuple[int, ...]:
    """Read one positive whole number for each axis."""
    if len(written) != len(form.domain.names) or any(type(each) is not int or each < 1 for each in written):
        raise SpecError("the document is damaged: it needs a positive whole number for each attribute.")
    return tuple(written)


def to_values(attribute: Attribute, edges: Floats) -> Floats:
    """Turn coordinates in positions, with 0 at the lower edge of the first position, into values."""
    if isinstance(attribute, Binned):
        return np.interp(edges, np.arange(attribute.size + 1), [float(bound) for bound in attribute.bounds])
    if not isinstance(attribute, Numeric):
        raise QueryError("categories have no coordinates.")
    return float(attribute.lowest) + (edges - 0.5) * float(attribute.spacing)


def to_points(domain: Domain, lows: Floats, highs: Floats, weights: Floats) -> Points:
    """Make points of cells given by their lower and upper ends in positions; empty cells are left out."""
    kept = weights > 0
    ends = [
        np.stack([to_values(attribute, end[kept, axis]) for axis, attribute in enumerate(domain.attributes)], axis=1)
        for end in (lows, highs)
    ]
    return Points((ends[0] + ends[1]) / 2, weights[kept], ends[1] - ends[0])


def mesh_grid(axes: Sequence[Floats]) -> Floats:
    """List all combinations, the last axis fastest."""
    return np.stack([each.reshape(-1) for each in np.meshgrid(*axes, indexing="ij")], axis=1)


def finest(cells: Sequence[int], sizes: Sequence[int], most: float) -> tuple[int, ...]:
    """Return how many parts to cut every axis into: up to eight for each cell, but none below one position."""
    for factor in range(FINEST, 0, -1):
        parts = tuple(1 if m == 1 else min(factor * m, size) for m, size in zip(cells, sizes, strict=True))
        if np.prod(parts, dtype=float) <= most:
            return parts
    return tuple(cells)


def spread(
    cells: Sequence[int], sizes: Sequence[int], rows: Floats, scale: float, most: float
) -> tuple[Floats, Floats, Floats]:
    """Estimate the weights of finer cells of a box; return their lower and upper ends in positions, and weights."""
    parts = finest(cells, sizes, most)
    matrix = kron([hats(m, (np.arange(many) + 0.5) / many) for m, many in zip(cells, parts, strict=True)])
    weights = deconvolve(matrix, rows, scale)
    edges = [np.arange(many + 1) * size / many for many, size in zip(parts, sizes, strict=True)]
    return mesh_grid([each[:-1] for each in edges]), mesh_grid([each[1:] for each in edges]), weights
