"""A mixture of products, fitted to all pairs of attributes at once.

A record belongs to one of m components, and given the component its attributes are independent. With the weights w of
the components and their shares S (a row for each, the values of all attributes side by side) the tables of all pairs
are the blocks of one Gram matrix S' diag(w) S. So the squared error of all pairs together, and its gradient, cost two
products of matrices, however many pairs there are, and no tree is needed.

Many mixtures have the same pairs. Of these the one is wanted that says least beyond them: sum_z w_z KL(S_z | margins)
bounds from above the information that the attributes of the mixture have about each other. It is added with a factor
in proportion to the noise, so that what noise alone explains fades into independence.

The minimum is sought by Adam [kingma2015], a fixed number of steps from a fixed start: the same measurements give the
same mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture.evidence import Evidence
from blowfish_privacy.mechanisms.synthetic.mixture.mixture_start import tree_start
from blowfish_privacy.support.progress import task

Reals = NDArray[np.float32]

STEPS = 600
RATE = 0.2
"""How far a logarithm moves in the first step."""
PENALTY = 15.0
"""The factor of the information, in deviations of a cell times values; settled on data of several kinds."""
SAMPLED = 2.0
"""Records by which a cell is off even without noise, since those counted are a sample themselves."""
WORK = 2e7
FEWEST, MOST = 250, 1000
"""Components: so many that a step costs the same for up to 280 values of all attributes together."""
IMPOSSIBLE = 30.0
"""How many times as much a cell counts that holds impossible combinations only."""
HEAVIEST = 2.0
"""Pairs that are known exactly count at most this many times as much as the average pair."""
_LEAST = np.float32(1e-12)


@dataclass(frozen=True, eq=False)
class Components:
    """The weights of the components, and the shares of all values in each, attributes side by side."""

    weights: Reals
    shares: Reals


@dataclass(frozen=True, eq=False)
class _Goal:
    """Pairs as blocks of one matrix, how much each cell counts, single attributes, and penalties of each value."""

    pairs: Reals
    counts: Reals
    margins: Reals
    singles: float
    penalties: Reals
    starts: NDArray[np.intp]
    attributes: NDArray[np.intp]


def fitted(evidence: Evidence, records: float) -> Components:
    """Fit weights and shares to what is known of pairs and single attributes."""
    goal = _goal(evidence, max(records, 1.0))
    values = len(goal.margins)
    many = int(np.clip(WORK / values**2, FEWEST, MOST))
    # Where the descent starts is no secret: always the same, so that equal numbers give equal models.
    shares = _Descent(tree_start(evidence, many, np.random.default_rng(0)))
    weights = _Descent(np.zeros(many, np.float32))
    with task("Fitting a mixture to pairs of attributes") as progress:
        for step in range(STEPS):
            found = _components(goal, weights.place, shares.place)
            along_weights, along_shares = _slopes(goal, found)
            rate = RATE * (1 - step / STEPS) ** 0.5
            shares.move(along_shares, rate)
            weights.move(along_weights, rate)
            if progress is not None:
                progress((step + 1) / STEPS)
    return _components(goal, weights.place, shares.place)


def _goal(evidence: Evidence, records: float) -> _Goal:
    """Lay out what is known as one matrix."""
    sizes = np.array([len(margin) for margin in evidence.margins])
    ends = np.cumsum(sizes)
    starts, values, attributes = ends - sizes, int(ends[-1]), len(sizes)
    pairs, counts = (np.zeros((values, values), np.float32) for _ in range(2))
    deviations = np.array([pair.deviation for pair in evidence.pairs]) + SAMPLED / records
    precisions = np.minimum(deviations.mean() / deviations, HEAVIEST) if len(deviations) else deviations
    noise, tables = np.zeros(attributes), np.zeros(attributes)
    for pair, deviation, precision in zip(evidence.pairs, deviations, precisions, strict=True):
        rows, columns = (slice(starts[axis], ends[axis]) for axis in pair.axes)
        pairs[rows, columns], pairs[columns, rows] = pair.shares, pair.shares.T
        counts[rows, columns] = precision * np.where(pair.excluded, IMPOSSIBLE, 1.0)
        counts[columns, rows] = counts[rows, columns].T
        noise[list(pair.axes)] += deviation
        tables[list(pair.axes)] += 1
    # Cells are smaller the more values there are, and so is what the same penalty may take from them.
    penalties = PENALTY * noise / np.maximum(tables, 1) / np.sqrt(sizes * sizes.mean())
    of_values = np.repeat(np.arange(attributes), sizes)
    margins = np.concatenate(evidence.margins).astype(np.float32)
    return _Goal(
        pairs, counts, margins, float(max(attributes, 2)), penalties[of_values].astype(np.float32), starts, of_values
    )


def _components(goal: _Goal, weights: Reals, shares: Reals) -> Components:
    """Turn logarithms into weights and shares that sum to 1."""
    largest = np.maximum.reduceat(shares, goal.starts, axis=1)
    powers = np.exp(shares - largest[:, goal.attributes])
    powers /= np.add.reduceat(powers, goal.starts, axis=1)[:, goal.attributes]
    parts = np.exp(weights - weights.max())
    return Components(parts / parts.sum(), powers)


def _slopes(goal: _Goal, found: Components) -> tuple[Reals, Reals]:
    """Return the gradient along the logarithms of weights and shares, times the number of components."""
    weights, shares = found.weights, found.shares
    weighted = weights[:, None] * shares
    error = shares.T @ weighted
    error -= goal.pairs
    error *= goal.counts
    of_pairs = shares @ error
    of_singles = np.float32(2 * goal.singles) * (weighted.sum(axis=0) - goal.margins)
    information = goal.penalties * np.log(np.maximum(shares, _LEAST) / np.maximum(goal.margins, _LEAST))
    # A component enters the pairs once through its weight and twice through its shares, and each pair is there twice.
    along_weights = ((2 * of_pairs + of_singles + information) * shares).sum(axis=1)
    along_shares = 4 * of_pairs + of_singles + information
    along_shares *= (weights * len(weights))[:, None]
    inner = np.add.reduceat(along_shares * shares, goal.starts, axis=1)
    along_shares -= inner[:, goal.attributes]
    along_shares *= shares
    return weights * len(weights) * (along_weights - weights @ along_weights), along_shares


class _Descent:
    """Where the search for logarithms is, with running means of the slopes and their squares."""

    def __init__(self, place: Reals) -> None:
        self.place = place
        self._mean, self._square = np.zeros_like(place), np.zeros_like(place)
        self._steps = 0

    def move(self, slope: Reals, rate: float) -> None:
        """Take a step downhill; its length depends on how steady the slope is, not on how steep."""
        self._steps += 1
        self._mean *= np.float32(0.9)
        self._mean += np.float32(0.1) * slope
        self._square *= np.float32(0.99)
        self._square += np.float32(0.01) * slope * slope
        typical = np.sqrt(self._square / np.float32(1 - 0.99**self._steps)) + _LEAST
        self.place -= np.float32(rate / (1 - 0.9**self._steps)) * self._mean / typical
