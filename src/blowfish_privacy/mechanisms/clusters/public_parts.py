"""Points whose weights meet public totals of parts of the cells."""

from __future__ import annotations

import numpy as np

from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.clusters.synopsis import Points, to_values
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats, Integers


def meet_totals(points: Points, domain: Domain, constraints: Constraints) -> Points:
    """Scale the weights of the points in each part until all totals are met.

    A part that holds records, and in which no point lies, gets one in its middle cell.
    """
    if max(len(each.counts) for each in constraints.totals) == 1:
        return points
    columns = [_positions(attribute, points.places[:, axis]) for axis, attribute in enumerate(domain.attributes)]
    cells = np.ravel_multi_index(columns, domain.shape)
    for each in constraints.totals:
        empty = np.flatnonzero((np.bincount(each.labels[cells], minlength=len(each.counts)) == 0) & (each.counts > 0))
        middles = [np.flatnonzero(each.labels == part) for part in empty.tolist()]
        points, cells = _with_cells(points, domain, cells, np.array([m[len(m) // 2] for m in middles], dtype=np.int64))
    held = Constraints(tuple(Totals(each.labels[cells], each.counts) for each in constraints.totals))
    return Points(points.places, held.scaled(points.weights), points.widths)


def _positions(attribute: Attribute, places: Floats) -> Integers:
    if isinstance(attribute, Binned):
        edges = [float(bound) for bound in attribute.bounds]
        found = np.searchsorted(edges, places, side="right") - 1
    elif isinstance(attribute, Numeric):
        found = np.rint((places - float(attribute.lowest)) / float(attribute.spacing)).astype(np.int64)
    else:
        raise QueryError("categories have no coordinates.")
    return np.clip(found, 0, attribute.size - 1)


def _with_cells(points: Points, domain: Domain, cells: Integers, added: Integers) -> tuple[Points, Integers]:
    """Add a point without weight in the middle of each of some cells."""
    if not len(added):
        return points, cells
    along = np.unravel_index(added, domain.shape)
    low, high = (
        np.stack(
            [to_values(a, at.astype(np.float64) + end) for a, at in zip(domain.attributes, along, strict=True)], axis=1
        )
        for end in (0, 1)
    )
    places = np.concatenate([points.places, (low + high) / 2])
    weights = np.concatenate([points.weights, np.zeros(len(added))])
    return Points(places, weights, np.concatenate([points.widths, high - low])), np.concatenate([cells, added])
