"""The attacker of an audit: who knows both tables, chooses an event on some outputs, and counts it on fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_lab.audit.cases import Case, Remembered, exact_rows, outputs
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.clusters.lloyd import NoisyLloyd
from blowfish_privacy.mechanisms.clusters.soft_grid import CountedGrid
from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh
from blowfish_privacy.mechanisms.grid.adaptive_grid import AdaptiveGrid, SquareBlocks
from blowfish_privacy.mechanisms.synthetic.rounds import Look
from blowfish_privacy.mechanisms.synthetic.synthetic import SyntheticMechanism
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.support.arrays import Floats

# Following a mechanism that continues from its noisy numbers: what its later steps would have shown without noise.
#
# Whoever sees an output knows every noisy number that led to the next question, and so the question itself. An attacker
# who knows both tables works out its exact answers on each of them, and compares.

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Followed:
    """The noisy numbers of one output, what either table would have shown, and the certified scales of the noise."""

    noisy: Numbers
    exact: tuple[Numbers, Numbers]
    scales: Numbers
    measure: Measure = EPSILON
    """In rho the scales are variances."""

    @property
    def gain(self) -> float:
        """The logarithm of how much likelier the first table is, for noise of these scales."""
        first, second = (self._off(self.noisy - each) for each in self.exact)
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return round(float((second - first).sum()), 9)

    @property
    def loss(self) -> float:
        """The largest gain that noise could have led to, had it led to the same questions; for a variance, the rho."""
        return float(self._off(self.exact[0] - self.exact[1]).sum())

    def _off(self, numbers: Numbers) -> Numbers:
        return numbers**2 / (2 * self.scales) if self.measure is RHO else np.abs(numbers) / self.scales


Follow = Callable[[Numbers], Followed]


def follower(mechanism: Mechanism, case: Case) -> Follow | None:
    """Return how to follow the outputs of a mechanism; None where all its questions are fixed beforehand.

    It is the case's own or one with less noise, which may ask other questions.
    """
    if isinstance(mechanism, NoisyLloyd):
        records = None if mechanism.secret_size else int(case.tables[0].sum())
        return _rounds(mechanism, case.aggregates, records)
    if isinstance(mechanism, SyntheticMechanism):
        return _looks(mechanism, case.aggregates)
    if isinstance(mechanism, CountedGrid):
        return _counted(mechanism, case.aggregates)
    if isinstance(mechanism, AdaptiveGrid):
        return _blocks(mechanism, case.aggregates)
    return _mesh(mechanism, case.aggregates) if isinstance(mechanism, SoftMesh) else None


def _rounds(mechanism: NoisyLloyd, tables: tuple[Remembered, ...], records: int | None) -> Follow:
    scales_of_a_cluster = [float(mechanism.size_scale), *[float(mechanism.sum_scale)] * len(mechanism.reaches)]
    scales = np.tile(scales_of_a_cluster, mechanism.rounds * len(mechanism.start))

    def follow(row: Numbers) -> Followed:
        rounds, centres = list(row.reshape(mechanism.rounds, -1)), mechanism.start
        exact: list[list[Numbers]] = [[], []]
        for number in range(mechanism.rounds):
            if number:
                centres = mechanism.moved(centres, rounds[:number], records)
            for table, shown in zip(tables, exact, strict=True):
                shown.append(table.assignments(mechanism.question(centres)).reshape(-1))
        return Followed(row, (np.concatenate(exact[0]), np.concatenate(exact[1])), scales)

    return follow


def _looks(mechanism: SyntheticMechanism, tables: tuple[Remembered, ...]) -> Follow:
    names = mechanism.domain.names
    sets = [tuple(names.index(name) for name in listed) for listed in mechanism.tables(mechanism.scope.query)]
    first, second = (
        dict(zip(sets, table.counts(mechanism.tables(mechanism.scope.query)), strict=True)) for table in tables
    )

    def follow(row: Numbers) -> Followed:
        looks = [step for step in mechanism.steps(row) if isinstance(step, Look) and step.scale]
        noisy, *exact = (
            np.concatenate([each.reshape(-1) for each in counts])
            for counts in zip(*((look.noisy, first[look.axes], second[look.axes]) for look in looks), strict=True)
        )
        scales = np.concatenate([np.full(look.noisy.size, float(look.scale)) for look in looks])
        return Followed(noisy, (exact[0], exact[1]), scales, mechanism.counted_in)

    return follow


def _counted(mechanism: CountedGrid, tables: tuple[Remembered, ...]) -> Follow:
    def follow(row: Numbers) -> Followed:
        lattice = mechanism.lattice(mechanism.cells(int(row[0])))
        sums = [table.lattice_sums(lattice).reshape(-1) for table in tables]
        first, second = (np.append(each.sum() // lattice.unit, each) for each in sums)
        scales = np.repeat([float(mechanism.count_scale), float(mechanism.scale)], [1, len(row) - 1])
        return Followed(row, (first, second), scales)

    return follow


def _mesh(mechanism: SoftMesh, tables: tuple[Remembered, ...]) -> Follow:
    looks = [table.lattice_sums(mechanism.lattice(mechanism.first)).reshape(-1) for table in tables]

    def follow(row: Numbers) -> Followed:
        mesh, nodes = mechanism.parse(row)
        level = next(level for level in mechanism.levels if level.depth == mesh.depth)
        first, second = (
            np.concatenate([look, mesh.restrict(table.lattice_sums(mechanism.lattice(level)))])
            for look, table in zip(looks, tables, strict=True)
        )
        scales = np.repeat([float(mechanism.first.scale), float(level.scale)], [mechanism.rows, len(nodes)])
        return Followed(np.concatenate([row[: mechanism.rows], nodes]), (first, second), scales)

    return follow


def _blocks(mechanism: AdaptiveGrid, tables: tuple[Remembered, ...]) -> Follow:
    rows, columns = mechanism.form.domain.shape
    blocks, scales = SquareBlocks((rows, columns), mechanism.side), mechanism.scales
    counts = [table.counts()[0].reshape(rows, columns) for table in tables]

    def follow(row: Numbers) -> Followed:
        full = row[: blocks.many].reshape(blocks.table) >= mechanism.full
        cells = np.where(blocks.to_cells(full), float(scales.fine), float(scales.coarse)).reshape(-1)
        numbers = (blocks.many, int((~full).sum()))
        used = np.concatenate([np.repeat([float(scales.look), float(scales.again)], numbers), cells])
        first, second = (
            np.concatenate([(sums := blocks.sums(each)).reshape(-1), sums[~full], each.reshape(-1)]) for each in counts
        )
        if mechanism.total is None:
            return Followed(row, (first, second), used)
        ends = np.append(first, counts[0].sum()), np.append(second, counts[1].sum())
        return Followed(row, ends, np.append(used, float(mechanism.total)))

    return follow


TRAINING = 0.4
"""How many outputs are drawn for choosing the event, relative to those for counting it."""
_PILOT, _SECONDS, _LEAST = 20, 5.0, 3_000
"""A slow mechanism gets fewer outputs: as many as it draws from one table in about so many seconds."""

Rows = list[npt.NDArray[Any]]
Score = Callable[[Rows], Floats]
Hits = npt.NDArray[np.bool_]


def affordable(mechanism: Mechanism, case: Case, samples: int, seconds: float = _SECONDS) -> int:
    """Return how many outputs to draw, at most those asked for; this is decided before any of them is seen."""
    start = process_time()
    outputs(mechanism, case.aggregates[0], _PILOT)
    return min(samples, max(_LEAST, int(seconds * _PILOT / max(process_time() - start, 1e-6))))


def lower_bound(mechanism: Mechanism, case: Case, *, samples: int, level: float) -> float:
    """Return a number that the loss between the two tables exceeds, except with probability ``level``.

    Where the case allows for a delta, it is the epsilon that goes with it.
    """
    training = [outputs(mechanism, table, int(TRAINING * samples)) for table in case.aggregates]
    scores = _scores(mechanism, case, training)
    delta = float(case.delta)
    event = choose_event(scores, training, samples, level, delta)
    hits = [np.array([int(event(outputs(mechanism, table, samples)).sum())]) for table in case.aggregates]
    return float(clopper_pearson(hits[0], hits[1], samples, level, delta)[0])


def clopper_pearson(
    first: npt.NDArray[Any], second: npt.NDArray[Any], samples: int, level: float, delta: float = 0.0
) -> Floats:
    """Bound log((p - delta) / q) from below by how often events of probabilities p and q happened.

    It is wrong at most at level.
    """
    from scipy.stats import beta

    below = np.where(first > 0, beta.ppf(level / 2, np.maximum(first, 1), samples - first + 1), 0.0)
    above = np.where(second < samples, beta.ppf(1 - level / 2, second + 1, np.maximum(samples - second, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(below - delta, 0)) - np.log(above)


def choose_event(
    scores: Iterable[Score], training: Sequence[Rows], samples: int, level: float, delta: float
) -> Callable[[Rows], Hits]:
    """Choose on the training outputs the score and the threshold that promise the largest bound."""
    best: tuple[float, Score, float] = (-inf, _flat, inf)
    for score in scores:
        scored = [score(rows) for rows in training]
        thresholds = np.unique(np.quantile(scored[0], _QUANTILES))
        scale = samples / len(training[0])
        hits = [np.array([int(scale * (each >= t).sum()) for t in thresholds]) for each in scored]
        bounds = clopper_pearson(hits[0], hits[1], samples, level, delta)
        if bounds.max() > best[0]:
            best = (float(bounds.max()), score, float(thresholds[bounds.argmax()]))
    return lambda drawn: best[1](drawn) >= best[2]


_QUANTILES = np.concatenate([np.linspace(0.3, 0.95, 40), 1 - np.geomspace(0.05, 0.002, 20)])


def _flat(rows: Rows) -> Floats:
    return np.zeros(len(rows))


def _scores(mechanism: Mechanism, case: Case, training: Sequence[Rows]) -> Iterator[Score]:
    """Follow the mechanism; or try the likelihood ratio of independent noise of its law, and how far one row goes.

    Both are tried on running sums too. A single row shows noise that ends too early, which no likelihood ratio does.
    """
    follow = follower(mechanism, case)
    if follow is not None:
        yield lambda rows: np.array([follow(row).gain for row in rows])
        return
    shown = [exact_rows(mechanism, table) for table in case.aggregates]
    for seen in _VIEWS:
        first, second = (seen(row) for row in shown)
        off = [np.abs(seen(np.array(drawn)) - exact) for drawn, exact in zip(training, (first, second), strict=True)]
        spread = np.maximum(np.concatenate(off).mean(axis=0), 0.05)
        yield _likelihood_ratio(seen, first, second, spread, 2 if mechanism.counted_in is RHO else 1)
        yield _how_far(seen, (first - second) / spread)


_VIEWS: tuple[Callable[[npt.NDArray[Any]], Floats], ...] = (
    lambda rows: rows.astype(np.float64),
    lambda rows: np.cumsum(rows, axis=-1).astype(np.float64),
)


def _likelihood_ratio(seen: Any, first: Floats, second: Floats, spread: Floats, power: int) -> Score:
    """Score by the logarithm of a probability: proportional to the deviation for Laplace noise, else to its square."""
    moved = np.flatnonzero(first != second)

    def score(rows: Rows) -> Floats:
        view = seen(np.array(rows))[:, moved]
        gain = np.abs(view - second[moved]) ** power - np.abs(view - first[moved]) ** power
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return np.round((gain / spread[moved] ** power).sum(axis=1), 9)

    return score


def _how_far(seen: Any, moves: Floats) -> Score:
    row = int(np.abs(moves).argmax())
    return lambda rows: np.sign(moves[row]) * seen(np.array(rows))[:, row]


@lru_cache(maxsize=256)
def shown_loss(case: Case) -> float:
    """Estimate the loss that an attacker can see on the two tables, to find cases that show much.

    It goes by the noise that is certified. Noise that is too small must not lead the audit away from where it shows.
    """
    follow = follower(case.mechanism, case)
    if follow is not None:
        seen = np.mean([follow(row).loss for row in outputs(case.mechanism, case.aggregates[0], _FOLLOWED)])
        return case.promise(Fraction(float(seen)))
    lost, scales = case.promise(case.lost(case.mechanism)), case.mechanism.certify(case.policy).scales
    if case.mechanism.counted_in is RHO:
        return lost
    first, second = (exact_rows(case.mechanism, table) for table in case.aggregates)
    return min(lost, float(np.abs(first - second).sum() / float(scales[0]))) if len(scales) == 1 else lost


_FOLLOWED = 40
