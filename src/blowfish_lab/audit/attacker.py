"""The attacker of an audit: who knows both tables, chooses an event on some outputs, and counts it on fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_lab.audit.cases import Case
from blowfish_lab.audit.following import follower
from blowfish_lab.audit.outputs import exact_rows, outputs
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.support.arrays import Floats

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
