"""The best way to measure a set of tables together.

Pure numerics on public numbers: sizes, tables, and which attributes are secret together. What is certified is derived
again from the weights that the mechanism holds, so nothing here can break a promise; it can only make noise larger.
Proof: ``docs/proofs/tables.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from blowfish_privacy.mechanisms.tables.planning.candidates import Measurement
from blowfish_privacy.mechanisms.tables.planning.kinds import Axes, apart
from blowfish_privacy.mechanisms.tables.planning.lattice import Lattice, Wanted, exact_tables, lattice
from blowfish_privacy.mechanisms.tables.planning.planning_l1 import best_weights
from blowfish_privacy.mechanisms.tables.planning.planning_l2 import best_precisions
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.support.arrays import Floats

MOST_APART = 1000
"""Up to so many components attributes that are alike may be treated differently, which sometimes gains a little."""
__all__ = ["Design", "Wanted", "best_design"]


@dataclass(frozen=True, eq=False)
class Design:
    """What is measured, how precisely, and how good that is.

    ``measured`` has the attributes of each measurement, and those of them (binary) that are measured as a sign. For
    pure epsilon (L1) ``weights`` are 1/b for a largest loss of exactly 1; for L2 the measurements are components, and
    the weights their precisions for a largest squared change of 1. An infinite weight means exact: no secret pair
    changes the table, which is listed because tables asked for need it. (Where records do not come and go the empty
    table, the number of records, is known and not listed.)

    ``objective`` is the variance asked to be small, and no unbiased linear strategy of the same noise has a smaller
    one than ``bound``: for L2 the optimum, for L1 twice that. This takes any two values that differ within a set of
    ``changed`` to be a secret pair (full-domain and attribute secrets, public attributes, records that come and go);
    where only some are (thresholds, partitions), it holds for strategies that treat all values of an attribute alike
    if every part of a changed set is changed by some pair.
    """

    measured: tuple[tuple[Axes, Axes], ...]
    weights: Floats
    bound: float
    objective: float


def best_design(wanted: Wanted, norm: Norm = Norm.L1) -> Design:
    """Plan how to measure the tables."""
    arranged = lattice(wanted)
    exact = [(axes, ()) for axes in exact_tables(wanted)]
    if not arranged.components:
        return Design(tuple(exact), np.full(len(exact), np.inf), 0.0, 0.0)
    precisions = best_precisions(arranged)
    if norm is Norm.L2:
        shapes = [(shape, ()) for shape in arranged.components]
        weights, bound, objective = precisions.precisions, precisions.bound, precisions.objective
    else:
        if sum(map(arranged.kinds.number, arranged.components)) <= MOST_APART:
            arranged = lattice(wanted, apart)
        shapes, weights, objective = best_weights(arranged)
        bound = 2 * precisions.bound
    members = [_members(arranged, shape) for shape in shapes]
    measured = [one for several in members for one in several]
    repeated = np.repeat(weights, [len(several) for several in members])
    return Design((*measured, *exact), np.append(repeated, np.full(len(exact), np.inf)), bound, objective)


def _members(arranged: Lattice, measurement: Measurement) -> list[tuple[Axes, Axes]]:
    """List the measurements of a shape."""
    shape, signs = measurement
    kind = {axis: number for number, axes in enumerate(arranged.kinds.members) for axis in axes}
    if not signs:
        return [(axes, ()) for axes in arranged.kinds.sets(shape)]
    return [
        (axes, chosen)
        for axes in arranged.kinds.sets(shape)
        for chosen in combinations(axes, len(signs))
        if tuple(sorted(kind[axis] for axis in chosen)) == signs
    ]
