"""Bounds on two draws together, beside the law of the draws, added up."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise import laplace
from blowfish_privacy.noise.laplace import both_within

SCALES = [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(20)]
FACTORS = [0.0, 0.3, 1.0, 4.5]


def held(first: Fraction, times: float, second: Fraction, other: float, bound: float) -> float:
    """Add up how likely two draws are that are within a bound together; what is left out is less than 1e-12."""
    laws = []
    for scale in (first, second):
        draws = np.arange(-int(30 * scale) - 3, int(30 * scale) + 4)
        q = exp(-1 / scale)
        laws.append((draws, (1 - q) / (1 + q) * q ** np.abs(draws)))
    (draws, chances), (others, their_chances) = laws
    together = np.abs(times * draws[:, None] + other * others[None])
    return float((np.outer(chances, their_chances) * (together <= bound + 1e-9)).sum())


@pytest.mark.parametrize("level", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize(("times", "other"), [*product([0.5, 1.0], FACTORS)])
def test_bounds_hold_at_least_as_often_as_they_say(times, other, level):
    for first, second in product(SCALES, SCALES):
        bound = both_within(first, times, second, -other, level)
        assert held(first, times, second, other, bound) >= float(level) - 1e-12


@pytest.mark.parametrize("level", ["0.5", "0.95", "0.999"])
def test_bounds_hold_hardly_more_often_where_the_noise_is_large(level):
    for first, second, other in product([Fraction(40), Fraction(60)], [Fraction(40), Fraction(10)], [0.5, 1.0, 2.0]):
        bound = both_within(first, 1.0, second, other, level)
        assert held(first, 1.0, second, other, bound) < float(level) + 0.1 * (1 - float(level)) + 0.01
        # Nine tenths of it would be too little.
        assert held(first, 1.0, second, other, 0.9 * bound) < float(level)


def test_noise_of_nearly_equal_scales_is_bounded_alike():
    alike, near, far = (
        laplace._added(1000.0, 1000.0 * (1 - share), 0.05) for share in (0.0, 2e-6, 1e-3)
    )  # fmt: skip
    assert near == pytest.approx(alike, rel=1e-5)
    assert far == pytest.approx(alike, rel=1e-3)


def test_one_draw_has_its_own_bound_and_none_has_none():
    assert both_within(Fraction(5), 2.0, Fraction(0), 7.0, "0.95") == 2 * both_within(
        Fraction(5), 1.0, Fraction(3), 0.0, "0.95"
    )
    assert both_within(Fraction(0), 1.0, Fraction(0), 1.0, "0.95") == 0
    with pytest.raises(QueryError, match="between 0 and 1"):
        both_within(Fraction(5), 1.0, Fraction(3), 1.0, 1)
