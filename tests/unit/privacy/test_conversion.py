"""Conversions between rho, epsilon and delta are on the safe side, and tight."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.privacy.measure import best_order, epsilon_at, epsilon_of, pure_of, rho_of, round_down, round_up
from blowfish_privacy.support.exact import enclosed_log

POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**9)
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(1, 10**power) for power in (2, 3, 6, 9, 12, 20, 100)])
ULP = Fraction(1, 10**5)
"""Results have six digits: rounding moves them by at most this part."""


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def high_precision_epsilon(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Evaluate Proposition 12 of [canonne2020] with 80 digits: delta = exp((a-1)(a rho - e)) (1 - 1/a)^a / (a-1)."""
    with localcontext() as context:
        context.prec = 80
        a, one = decimal(order), Decimal(1)
        tail = (one / decimal(delta)).ln() + a * (one - one / a).ln() - (a - one).ln()
        return Fraction(a * decimal(rho) + tail / (a - one))


@given(POSITIVE)
def test_the_logarithm_is_enclosed_tightly(number: Fraction) -> None:
    low, high = enclosed_log(number)
    with localcontext() as context:
        context.prec = 80
        true = Fraction(decimal(number).ln())
    assert low - Fraction(1, 10**70) <= true <= high + Fraction(1, 10**70)
    assert high - low < Fraction(1, 10**40)


@given(st.fractions(min_value=0, max_value=10**9))
def test_rounding_keeps_six_digits_and_its_direction(number: Fraction) -> None:
    low, high = round_down(number), round_up(number)
    assert low <= number <= high
    assert high - low <= ULP * number
    assert round_down(low) == low
    assert round_up(high) == high


@given(POSITIVE, DELTAS)
def test_epsilon_is_that_of_the_best_order_rounded_up(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_of(rho, delta)
    best = 1 + math.sqrt(-math.log(delta) / rho)
    orders = (Fraction(1 + (best - 1) * (1 + step / 40)) for step in range(-39, 400))
    least = max(min(high_precision_epsilon(order, rho, delta) for order in orders), Fraction(0))
    # No order of a fine grid does visibly better, and what is returned is not below the true optimum of them all.
    assert epsilon <= least * (1 + 2 * ULP) + Fraction(1, 10**12)
    assert epsilon >= least * (1 - Fraction(1, 100))


@given(POSITIVE, DELTAS, st.fractions(min_value=Fraction(11, 10), max_value=1000))
def test_one_order_is_never_below_its_exact_value(rho: Fraction, delta: Fraction, order: Fraction) -> None:
    exact = max(high_precision_epsilon(order, rho, delta), Fraction(0))
    assert exact <= epsilon_at(order, rho, delta) <= exact * (1 + ULP) + Fraction(1, 10**50)
    assert epsilon_of(rho, delta) <= exact * (1 + ULP) + Fraction(1, 10**12)


@given(EPSILONS, DELTAS)
def test_rho_and_epsilon_go_back_and_forth(epsilon: Fraction, delta: Fraction) -> None:
    rho, order = rho_of(epsilon, delta), best_order(epsilon, delta)
    assert 0 < rho == round_down(rho)
    assert epsilon_of(rho, delta) <= epsilon
    assert high_precision_epsilon(order, rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + 3 * ULP), delta) > epsilon
    assert order > 1
    assert round_down(1 / order) == 1 / order


@given(POSITIVE, POSITIVE, DELTAS, DELTAS)
def test_more_loss_is_never_a_smaller_epsilon(rho: Fraction, more: Fraction, delta: Fraction, other: Fraction) -> None:
    assert epsilon_of(rho, delta) <= epsilon_of(rho + more, delta) * (1 + ULP)
    assert epsilon_of(rho, max(delta, other)) <= epsilon_of(rho, min(delta, other)) * (1 + ULP)


@given(POSITIVE)
def test_pure_releases_of_the_same_cost(rho: Fraction) -> None:
    epsilon = pure_of(rho)
    assert epsilon**2 / 2 <= rho < (epsilon * (1 + ULP)) ** 2 / 2


def test_nothing_lost_is_nothing() -> None:
    assert epsilon_of(Fraction(0), Fraction(1, 10**9)) == pure_of(Fraction(0)) == 0


@pytest.mark.parametrize(("delta", "rho"), [("1e-9", 0.01497), ("1e-6", 0.02436)])
def test_epsilon_of_one(delta: str, rho: float) -> None:
    # The figures that 1 / (4 rho) = 16.7 and 10.3 stand for.
    assert float(rho_of(Fraction(1), Fraction(delta))) == pytest.approx(rho, rel=1e-3)


def test_several_steps_at_delta_one_in_a_billion() -> None:
    rho, delta = rho_of(Fraction(1), Fraction("1e-9")), Fraction("1e-9")
    meant = [round(float(epsilon_of(rho * steps**2, delta)), 2) for steps in (2, 5, 10, 20)]
    assert meant == [2.07, 5.52, 11.97, 27.27]


def normal_above(bound: float) -> float:
    return math.erfc(bound / math.sqrt(2)) / 2


def gaussian_delta(epsilon: float, rho: float) -> float:
    """What the Gaussian mechanism needs exactly: the mass of its privacy loss beyond epsilon."""
    mu = math.sqrt(2 * rho)
    return normal_above(epsilon / mu - mu / 2) - math.exp(epsilon) * normal_above(epsilon / mu + mu / 2)


def discrete_gaussian_delta(epsilon: float, rho: float) -> float:
    """The same for the discrete Gaussian on counts that differ by one, summed over whole numbers."""
    variance = 1 / (2 * rho)
    reach = math.ceil(40 * math.sqrt(variance)) + 2
    mass = [math.exp(-(number**2) / (2 * variance)) for number in range(-reach, reach + 2)]
    total = math.fsum(mass)
    return math.fsum(max(p - math.exp(epsilon) * q, 0) / total for p, q in pairwise(mass))


GRID = [(rho, power) for rho in ("0.001", "0.015", "0.1", "0.5", "1", "3") for power in (2, 3, 6, 9, 12)]


@pytest.mark.parametrize(("rho", "power"), GRID)
def test_gaussian_noise_keeps_what_is_promised(rho: str, power: int) -> None:
    delta = Fraction(1, 10**power)
    epsilon = float(epsilon_of(Fraction(rho), delta))
    assert gaussian_delta(epsilon, float(rho)) <= float(delta)
    assert discrete_gaussian_delta(epsilon, float(rho)) <= float(delta)
    # And not by far: with half the epsilon the promise would be broken.
    assert gaussian_delta(epsilon / 2, float(rho)) > float(delta)


@given(st.lists(EPSILONS, min_size=1, max_size=5), st.one_of(st.just(Fraction(0)), POSITIVE), DELTAS)
def test_pure_releases_beside_rho_cost_no_more_than_either_way_of_counting(
    pure: list[Fraction], rho: Fraction, delta: Fraction
) -> None:
    epsilon = epsilon_of(rho, delta, tuple(pure))
    assert epsilon <= epsilon_of(rho + sum(each**2 / 2 for each in pure), delta) * (1 + 2 * ULP)
    assert epsilon <= (epsilon_of(rho, delta) + sum(pure)) * (1 + 2 * ULP)
    assert epsilon >= epsilon_of(rho, delta) * (1 - 2 * ULP)
