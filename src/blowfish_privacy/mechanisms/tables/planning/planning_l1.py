"""The best noise on tables for pure epsilon: several starts, then larger tables in place of smaller ones."""

from __future__ import annotations

import numpy as np

from blowfish_privacy.mechanisms.tables.planning.alternating import Problem
from blowfish_privacy.mechanisms.tables.planning.candidates import Measurement, candidates, measurements, unions
from blowfish_privacy.mechanisms.tables.planning.larger_tables import with_larger_tables
from blowfish_privacy.mechanisms.tables.planning.lattice import Lattice
from blowfish_privacy.support.arrays import Floats


def best_weights(lattice: Lattice) -> tuple[list[Measurement], Floats, float]:
    """Return what to measure, its weights for a largest loss of 1, and what it gives."""
    smaller = candidates(lattice)
    listed = [*smaller, *unions(lattice, smaller)]
    problem = Problem(lattice, measurements(lattice, listed))
    asked = frozenset(lattice.tables)
    alone = np.array([1.0 if not signs and shape in asked else 0.0 for shape, signs in listed])
    first = np.arange(len(listed)) < len(smaller)
    lengths = np.array([len(shape) for shape, _ in listed])
    starts: tuple[Floats, ...] = (alone, np.where(first, 1.0, 0.0), np.where(first, 0.25**lengths, 0.0))
    shares = np.full(len(asked), 1 / len(asked)) if lattice.importance is None else lattice.importance
    best = min((problem.settle(start, shares) for start in starts), key=lambda found: found.objective)
    best = with_larger_tables(problem, best)
    used = np.flatnonzero(best.weights)
    return [listed[place] for place in used], best.weights[used], best.objective
