"""The attacker of an audit: who knows both tables, chooses an event on some outputs, and counts it on fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import inf
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.lloyd import NoisyLloyd
from blowfish_privacy.testing.audit_cases import Case, Remembered, outputs, quiet

TRAINING = 0.4
"""For choosing the event so many times as many outputs are drawn as for counting it."""
_PILOT, _SECONDS, _LEAST = 20, 60.0, 2_000
"""A slow mechanism gets fewer outputs: what it draws in about so many seconds, from one table."""

Floats = npt.NDArray[np.float64]
Score = Callable[[npt.NDArray[Any]], Floats]


def affordable(mechanism: Mechanism, case: Case, samples: int, seconds: float = _SECONDS) -> int:
    """Return how many outputs to draw, at most those asked for; it is settled before any of them is seen."""
    start = process_time()
    outputs(mechanism, case.tables[0], _PILOT)
    return min(samples, max(_LEAST, int(seconds * _PILOT / max(process_time() - start, 1e-6))))


def lower_bound(mechanism: Mechanism, case: Case, *, samples: int, level: float) -> float:
    """Return a number that the loss between the two tables exceeds, except with probability ``level``."""
    training = [outputs(mechanism, table, int(TRAINING * samples)) for table in case.tables]
    event = choose_event(case, training, samples, level)
    hits = [np.array([int(event(outputs(mechanism, table, samples)).sum())]) for table in case.tables]
    return float(clopper_pearson(hits[0], hits[1], samples, level)[0])


def clopper_pearson(first: npt.NDArray[Any], second: npt.NDArray[Any], samples: int, level: float) -> Floats:
    """Bound log(p / q) from below by how often events with probabilities p and q happened; wrong at most at level."""
    from scipy.stats import beta

    below = np.where(first > 0, beta.ppf(level / 2, np.maximum(first, 1), samples - first + 1), 0.0)
    above = np.where(second < samples, beta.ppf(1 - level / 2, second + 1, np.maximum(samples - second, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(below) - np.log(above)


def choose_event(case: Case, training: Sequence[list[npt.NDArray[Any]]], samples: int, level: float) -> Any:
    """Choose on the training outputs the score and the threshold that promise the largest bound."""
    lengths = [len(row) for drawn in training for row in drawn]
    length = max(set(lengths), key=lengths.count)
    best: tuple[float, Score, float] = (-inf, _flat, inf)
    usual = [np.array([row for row in drawn if len(row) == length]) for drawn in training]
    for score in _scores(case, usual) if all(map(len, usual)) else ():
        found = [score(rows) for rows in usual]
        thresholds = np.unique(np.quantile(found[0], _QUANTILES))
        scale = samples / len(training[0])
        hits = [np.array([int(scale * (each >= t).sum()) for t in thresholds]) for each in found]
        bounds = clopper_pearson(hits[0], hits[1], samples, level)
        if bounds.max() > best[0]:
            best = (float(bounds.max()), score, float(thresholds[bounds.argmax()]))

    def event(drawn: list[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        # A mechanism that chooses what to measure has outputs of several lengths; one length is looked at.
        rows = np.array([row for row in drawn if len(row) == length])
        return best[1](rows) >= best[2] if len(rows) else np.zeros(0, dtype=bool)

    return event


_QUANTILES = np.concatenate([np.linspace(0.3, 0.95, 40), 1 - np.geomspace(0.05, 0.002, 20)])


def _flat(rows: npt.NDArray[Any]) -> Floats:
    return np.zeros(len(rows))


def _scores(case: Case, usual: Sequence[npt.NDArray[Any]]) -> Iterator[Score]:
    """Try the likelihood ratio of independent Laplace noise on the outputs, and on their running sums."""
    if isinstance(case.mechanism, NoisyLloyd):
        yield _following(case.mechanism, case, [rows[:_FOLLOWED] for rows in usual])
    shown = [outputs(quiet(case), table, 1)[0] for table in case.tables]
    exact = len(shown[0]) == len(shown[1]) == usual[0].shape[1]
    for seen in _VIEWS:
        views = [seen(rows) for rows in usual]
        middles = [seen(row[None, :])[0] for row in shown] if exact else [np.median(view, axis=0) for view in views]
        spread = np.mean([np.abs(view - m).mean(axis=0) for view, m in zip(views, middles, strict=True)], axis=0)
        yield _likelihood_ratio(seen, middles[0], middles[1], np.maximum(spread, 0.05))


def exact_rounds(mechanism: NoisyLloyd, case: Case, rows: npt.NDArray[Any]) -> list[Floats]:
    """Return what every round would have shown of either table without its noise, after the noisy rounds before it."""
    exact, records = [Remembered(table) for table in case.tables], int(case.tables[0].sum())
    made = [np.empty((len(rows), mechanism.rounds, rows.shape[1] // mechanism.rounds)) for _ in exact]
    for place, row in enumerate(rows):
        rounds, centres = list(row.reshape(mechanism.rounds, -1)), mechanism.start
        for number in range(mechanism.rounds):
            if number:
                centres = mechanism.moved(centres, rounds[:number], records)
            for own, shown in zip(exact, made, strict=True):
                shown[place, number] = own.assigned(mechanism.question(centres)).reshape(-1)
    return [shown.reshape(rows.shape) for shown in made]


@lru_cache(maxsize=256)
def shown_loss(case: Case, many: int = 40) -> float:
    """Estimate the loss that an attacker can see on the two tables, to find cases that show much."""
    mechanism = case.mechanism
    if not isinstance(mechanism, NoisyLloyd):
        return _apparent_loss(case)
    here, there = exact_rounds(mechanism, case, np.array(outputs(mechanism, case.tables[0], many)))
    # The scales are those certified, whatever noise is really drawn.
    own = [float(mechanism.size_scale), *[float(mechanism.sum_scale)] * len(mechanism.reaches)]
    scales = np.tile(own, mechanism.rounds * len(mechanism.start))
    return float((np.abs(here - there) / scales).sum(axis=1).mean())


def _apparent_loss(case: Case, many: int = 60) -> float:
    """Estimate the loss from a few outputs and what is shown without noise."""
    rows = [outputs(quiet(case), table, 1)[0] for table in case.tables]
    drawn = [[row for row in outputs(case.mechanism, table, many) if len(row) == len(rows[0])] for table in case.tables]
    if len(rows[0]) != len(rows[1]) or not all(drawn):
        return _guessed_loss(case)
    spread = np.mean([np.abs(np.array(own) - row).mean(axis=0) for own, row in zip(drawn, rows, strict=True)], axis=0)
    found = float((np.abs(rows[0] - rows[1]) / np.maximum(spread, 0.05)).sum())
    if case.mechanism.independent_rows:
        return min(found, float(case.claimed))
    # Above the certificate it is no estimate: a mechanism that goes by what it drew went another way without noise.
    return found if found <= _BELIEVED * float(case.claimed) else 0.0


_BELIEVED = 1.2


def _guessed_loss(case: Case, many: int = 400) -> float:
    """Estimate the loss from outputs alone, where the mechanism measures something else without noise."""
    drawn = [outputs(case.mechanism, table, many) for table in case.tables]
    lengths = [len(row) for own in drawn for row in own]
    usual = max(set(lengths), key=lengths.count)
    views = [np.array([row for row in own if len(row) == usual]) for own in drawn]
    if min(map(len, views)) < many // 2:
        return 0.0
    middles = [np.median(view, axis=0) for view in views]
    spread = np.mean([np.abs(view - middle).mean(axis=0) for view, middle in zip(views, middles, strict=True)], axis=0)
    apart = np.abs(middles[0] - middles[1]) / np.maximum(spread, 0.05)
    # Smaller differences may be chance.
    return min(float(apart[apart > 4 / many**0.5].sum()), float(case.claimed))


def _following(mechanism: NoisyLloyd, case: Case, usual: Sequence[npt.NDArray[Any]]) -> Score:
    """Follow the rounds: whoever sees the outputs knows from which centres each of them went on."""
    off = [np.abs(rows - exact_rounds(mechanism, case, rows)[side]) for side, rows in enumerate(usual)]
    spread = np.maximum(np.concatenate(off).mean(axis=0), 0.05)

    def score(rows: npt.NDArray[Any]) -> Floats:
        here, there = exact_rounds(mechanism, case, rows)
        return np.round(((np.abs(rows - there) - np.abs(rows - here)) / spread).sum(axis=1), 9)

    return score


_FOLLOWED = 300
_VIEWS: tuple[Callable[[npt.NDArray[Any]], npt.NDArray[Any]], ...] = (
    lambda rows: rows.astype(np.float64),
    lambda rows: np.cumsum(rows, axis=1).astype(np.float64),
)


def _likelihood_ratio(seen: Any, here: Floats, there: Floats, spread: Floats) -> Score:
    moved = np.flatnonzero(here != there)

    def score(rows: npt.NDArray[Any]) -> Floats:
        view = seen(rows)[:, moved]
        gain = np.abs(view - there[moved]) - np.abs(view - here[moved])
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return np.round((gain / spread[moved]).sum(axis=1), 9)

    return score
