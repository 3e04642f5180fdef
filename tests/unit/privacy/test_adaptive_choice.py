"""Why one order is fixed in advance: who chooses releases by what earlier ones said breaks any later choice.

Gaussian noise is released in many small steps. Where its privacy loss happens to come out high, one stops, and spends
what the budget still admits on a pure release. All of it is worked out numerically: the loss of the steps is a normal
random walk, followed on a grid; the pure release is randomised response, whose loss is exactly its epsilon. With a
budget of (1, 1e-6) the whole is then (1, d)-private for no d below what is found here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from blowfish_privacy.privacy.measure import Approximate, epsilon_of

EPSILON, DELTA = Fraction(1), Fraction("1e-6")
PROMISE = Approximate.of(EPSILON, DELTA)
RATIO = 1.02
"""By how much each step makes the rho of all steps so far larger."""
WIDTH, FURTHEST = 0.02, 8.0


def broken_with_probability(left: Callable[[float], float], times: list[float]) -> float:
    """Follow the random walk of the loss, and add up by how much probabilities exceed exp(epsilon) times the others.

    After steps of rho t in all the loss is normal with mean t and variance 2 t; ``left`` says what pure epsilon the
    budget still admits. One stops as soon as the loss is so high that this breaks the promise well.
    """
    normal = np.arange(-FURTHEST, FURTHEST + WIDTH / 2, WIDTH)
    kept = 1 / math.sqrt(RATIO)
    moves = np.exp(-((normal[:, None] - kept * normal[None, :]) ** 2) / (2 * (1 - kept**2)))
    moves /= moves.sum(axis=0)
    running = np.exp(-(normal**2) / 2)
    running /= running.sum()
    broken = 0.0
    for time in times:
        pure = left(time)
        lost = time + math.sqrt(2 * time) * normal
        told = 1 / (1 + math.exp(-pure))
        gained = told * np.maximum(1 - np.exp(float(EPSILON) - lost - pure), 0)
        # Stop where the loss is beyond what the budget assumes of these steps by so much that waiting gains little.
        stopped = lost > float(EPSILON) - pure + math.sqrt(time) / 4
        broken += float((running * gained)[stopped].sum())
        running = moves @ np.where(stopped, 0, running)
    return broken


def times(most: float, decades: int) -> list[float]:
    steps = round(decades * math.log(10) / math.log(RATIO))
    return [most * RATIO**-step for step in range(steps, -1, -1)]


def test_the_best_split_at_the_end_does_not_hold_for_adaptive_choices() -> None:
    """Counting Gaussian releases by their rho, and pure ones beside it as epsilon, breaks the promise several times."""

    def left(time: float) -> float:
        return max(float(EPSILON - epsilon_of(Fraction(time), DELTA)), 0)

    everything = float(PROMISE.allowed)
    # One look only, at a time chosen in advance, keeps the promise.
    assert max(broken_with_probability(left, [time]) for time in times(everything, 2)[::20]) < float(DELTA)
    assert broken_with_probability(left, times(everything, 2)) > 2 * float(DELTA)


def test_amounts_of_one_order_hold_for_adaptive_choices() -> None:
    def left(time: float) -> float:
        return float(PROMISE.pure(max(PROMISE.allowed - Fraction(time), Fraction(0))))

    assert broken_with_probability(left, times(float(PROMISE.allowed), 2)) < float(DELTA)
