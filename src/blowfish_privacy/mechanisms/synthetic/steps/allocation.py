"""Sharing what may be lost between tables, so that the noise does least harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from blowfish_privacy.mechanisms.synthetic.steps.tariff import Changes
from blowfish_privacy.privacy.loss import PairClass

_ROUNDS, _FILLING = 400, 20
_SETTLED = 1e-12
"""The fixed point is reached when no amount changes by more than such a share."""
_DIGITS = 24
"""Bits to which a scale is rounded up."""
_MOST_SHIFT = 60
MOST_SCALE = 2**50
"""Noise of this scale tells nothing: a table that could only have such is not measured."""


def allocated(
    weights: Sequence[Changes], importance: Sequence[float], room: Mapping[PairClass, Fraction], power: float
) -> list[Fraction]:
    """Return a scale for each table that minimises the sum of importance times deviation, within every class's room.

    ``weights`` are what noise of scale 1 costs. The multipliers of the classes are found by a fixed point in floating
    point, and what is left then filled; what the scales cost is added up exactly, and they are all enlarged by the
    share they cost too much.
    A table that no class pays for gets 0.
    """
    classes = [pairs for pairs in room if any(pairs in each for each in weights)]
    if not classes:
        return [Fraction(0) for _ in weights]
    matrix = np.array([[float(each.get(pairs, 0)) for each in weights] for pairs in classes])
    paid = matrix.any(axis=0)
    limits = np.array([max(float(room[pairs]), 1e-300) for pairs in classes])
    wanted = np.maximum(np.asarray(importance, dtype=np.float64), 1e-9)
    multipliers = np.ones(len(classes))
    amounts = np.zeros(len(weights))
    for _ in range(_ROUNDS):
        # The least sum of w_S m_S^-p with constraints sum c_S m_S <= room has m_S = (w_S / price_S)^(1 / (1 + p)).
        prices = np.maximum(multipliers @ matrix, 1e-300)
        before, amounts = amounts, np.where(paid, (wanted / prices) ** (1 / (1 + power)), 0.0)
        if np.allclose(amounts, before, rtol=_SETTLED, atol=0.0):
            break
        multipliers *= np.maximum(matrix @ amounts / limits, 1e-3) ** 0.7
        multipliers = np.maximum(multipliers, 1e-200)
    for _ in range(_FILLING):
        # Each table takes the share that the class with least room leaves it, so that none exceeds its limit.
        left = limits / np.maximum(matrix @ amounts, 1e-300)
        amounts *= np.where(paid, np.where(matrix > 0, left[:, None], np.inf).min(axis=0), 1.0)
    scales = [rounded_up(1 / float(each)) if each else Fraction(0) for each in amounts]
    return _fitting(scales, weights, {pairs: room[pairs] for pairs in classes})


def _fitting(
    scales: Sequence[Fraction], weights: Sequence[Changes], room: Mapping[PairClass, Fraction]
) -> list[Fraction]:
    """Enlarge all scales by the largest share by which a class would lose more than its room."""
    lost = dict.fromkeys(room, Fraction(0))
    for scale, changes in zip(scales, weights, strict=True):
        for pairs, change in changes.items():
            lost[pairs] += change / scale
    share = max((lost[pairs] / amount for pairs, amount in room.items()), default=Fraction(0))
    return [rounded_up(scale * share) if share > 1 and scale else scale for scale in scales]


def rounded_up(scale: float | Fraction) -> Fraction:
    """Round up to some binary digits, so that scales are short numbers."""
    exact, shift = Fraction(scale), _shift(Fraction(scale))
    return Fraction(-(-(exact.numerator << shift) // exact.denominator), 1 << shift)


def rounded_down(factor: Fraction) -> Fraction:
    """Round down to some binary digits; a very small number becomes 0."""
    shift = _shift(factor)
    return Fraction((factor.numerator << shift) // factor.denominator, 1 << shift)


def _shift(exact: Fraction) -> int:
    return min(max(0, _DIGITS - (exact.numerator.bit_length() - exact.denominator.bit_length())), _MOST_SHIFT)
