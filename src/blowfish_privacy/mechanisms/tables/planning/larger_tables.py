"""Larger tables in place of the smaller ones that they contain.

One table with all of the smaller ones' loss may tell more than these do, above all where attributes have few values
and one secret pair changes many of them. Alternating from a start with all tables does not find this, as small tables
win while they are few: so single exchanges are tried, all at once by formula, and the best are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.tables.planning.alternating import Problem, Weights
from blowfish_privacy.mechanisms.tables.planning.candidates import containment
from blowfish_privacy.support.arrays import Entries, Floats, Matrix, at, dense, entries, turned

EXCHANGES = 16
"""The most exchanges that are made at once."""
ROUNDS = 100
SMALL = 100
"""Cells of the larger tables that are tried first: early exchanges for much larger ones stand in the way of better."""
SCALES = (0.6, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0)
"""Weights of a larger table that are tried, in units of the root of the sum of squares of those it replaces."""


def with_larger_tables(problem: Problem, best: Weights) -> Weights:
    """Exchange tables for larger ones while that helps: for any, or at first only for small ones."""
    exchanges = Exchanges.of(problem)
    found = [best, exchanges.all_made(best, inf), exchanges.all_made(exchanges.all_made(best, SMALL), inf)]
    best = min(found, key=lambda weights: weights.objective)
    return min(best, problem.settle(best.weights, best.shares), key=lambda weights: weights.objective)


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Tables that may be measured in place of those they contain.

    ``places`` numbers them among the candidates, ``contained`` says what each contains, ``told`` what each tells.
    """

    problem: Problem
    places: NDArray[np.intp]
    cells: Floats
    contained: Matrix
    told: Entries

    @classmethod
    def of(cls, problem: Problem) -> Exchanges:
        """List all tables without signs."""
        shapes = problem.known.shapes
        places = np.array([place for place, (_, signs) in enumerate(shapes) if not signs])
        cells = np.array([float(problem.lattice.kinds.cells(shapes[place][0])) for place in places])
        told = entries(turned(problem.known.precision[:, places]))
        return cls(problem, places, cells, containment(shapes, places.tolist()), told)

    def all_made(self, best: Weights, cells: float) -> Weights:
        """Make exchanges while they help, many at once if possible."""
        most = EXCHANGES
        while most:
            start = self.made(best, cells, most)
            if start is None:
                break
            found = self.problem.settle(start, best.shares, ROUNDS)
            if found.objective < best.objective * (1 - 1e-4):
                best = found
            else:
                most //= 4
        return best

    def made(self, now: Weights, cells: float, most: int) -> Floats | None:
        """Make the best exchanges that do not touch the same tables; None if none helps."""
        values, weights, value = self._values(now)
        values = np.where(self.cells <= cells, values, inf)
        start = now.weights.copy()
        gone: set[int] = set()
        made = 0
        for row in np.argsort(values).tolist():
            if values[row] >= value * (1 - 1e-5) or made == most:
                break
            inside = entries(self.contained[[row]])[1]
            replaced = {one for one in inside.tolist() if now.weights[one]}
            if gone.isdisjoint(replaced):
                gone |= replaced
                start[list(replaced)] = 0.0
                start[self.places[row]] = weights[row]
                made += 1
        return start if made else None

    def _values(self, now: Weights) -> tuple[Floats, Floats, float]:
        """Return the objective after each exchange, the best weight of the larger table in it, and the value now."""
        known, lattice, squares = self.problem.known, self.problem.lattice, now.weights * now.weights
        rows, columns, told = self.told
        precision = known.precision @ squares
        # what an exchange removes lies within the pattern of what it adds
        removed = at((self.contained * squares) @ turned(known.precision), rows, columns)
        left = np.maximum(precision[columns] - removed, 1e-9 * precision[columns])
        value = turned(lattice.spread) @ now.shares
        total, value = float(value @ (1 / precision)), value[columns]
        losses = dense(turned(known.loss))
        spent = (known.loss @ now.weights) - (self.contained * now.weights) @ losses
        costs = losses[self.places]
        unit = np.sqrt(self.contained @ squares)
        values, weights = np.full(len(unit), np.inf), unit
        for scale in SCALES:
            weight = scale * unit
            gains = value / (left + weight[rows] ** 2 * told) - value / precision[columns]
            after = (total + np.bincount(rows, gains, len(unit))) * ((spent + weight[:, None] * costs).max(axis=1) ** 2)
            after = np.where((now.weights[self.places] == 0) & (unit > 0), after, np.inf)
            values, weights = np.minimum(values, after), np.where(after < values, weight, weights)
        return values, weights, total
