"""Measures of loss: what several steps lose, what another measure costs, and how budgets are stated."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import erfc, exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError, RefusalError, SpecError
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import (
    EPSILON,
    RHO,
    UNLIKELY,
    Approximate,
    Budget,
    Measure,
    Strength,
    best_order,
    epsilon_at,
    epsilon_of,
    meanings,
    pure_of,
    rho_of,
    round_down,
    round_up,
)
from blowfish_privacy.support.exact import enclosed_log
from effort import examples

amounts = st.fractions(min_value=Fraction(1, 50), max_value=4, max_denominator=50)

chains = st.lists(st.tuples(amounts, st.integers(1, 4)), min_size=1, max_size=4)

BILLION = Approximate.of(Fraction(1), Fraction("1e-9"))

MEASURES = [
    EPSILON,
    RHO,
    BILLION,
    Approximate.of(Fraction(1, 3), Fraction(7, 10**12)),
    Approximate.of(Fraction(9), Fraction(1, 100)),
]


def renyi(p: list[float], q: list[float], order: float) -> float:
    """The Renyi divergence of two laws with the same outcomes."""
    return math.log(math.fsum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True))) / (order - 1)


def randomised_response(epsilon: float) -> tuple[list[float], list[float]]:
    """The worst of all releases that lose epsilon: one bit, told truly with odds exp(epsilon)."""
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [true, 1 - true], [1 - true, true]


@given(chains)
def test_rho_along_a_chain_is_that_of_shifted_gaussians(chain: list[tuple[Fraction, int]]) -> None:
    # Normals of variance 1 whose means differ by d have rho d^2 / 2; along a line the differences add up.
    apart = sum(math.sqrt(2 * amount) * steps for amount, steps in chain)
    found = RHO.along(chain)
    assert found >= apart**2 / 2 * (1 - 1e-12)
    assert found <= apart**2 / 2 * (1 + 1e-5)
    assert EPSILON.along(chain) == sum(amount * steps for amount, steps in chain)


@given(amounts, st.integers(1, 30))
def test_equal_steps_are_exact(amount: Fraction, steps: int) -> None:
    assert RHO.over(amount, steps) == BILLION.over(amount, steps) == steps**2 * amount
    assert RHO.along([(amount, 1)] * steps) == steps**2 * amount
    assert RHO.along([(4 * amount, 1), (9 * amount, 2)]) == 64 * amount
    assert EPSILON.over(amount, steps) == steps * amount


@given(amounts, st.sampled_from([1.1, 1.5, 2, 3, 8, 20, 34.9, 64]))
def test_a_pure_release_costs_no_less_than_its_divergence(epsilon: Fraction, order: float) -> None:
    assume(epsilon * Fraction(order) < 300)
    lost = renyi(*randomised_response(float(epsilon)), order)
    assert lost <= float(RHO.converted(epsilon, EPSILON)) * order * (1 + 1e-9)
    fixed = Approximate(Fraction(1), Fraction("1e-9"), Fraction(order))
    assert lost <= float(fixed.converted(epsilon, EPSILON)) * order * (1 + 1e-9)
    # A bound by the smaller of two is not above either, and both are used.
    assert fixed.converted(epsilon, EPSILON) == min(epsilon**2 / 2, epsilon / fixed.order)


@pytest.mark.parametrize("measure", MEASURES)
@given(amounts, amounts)
def test_several_steps_of_a_pure_release_cost_no_more_than_they_would_as_rho(
    measure: Measure, epsilon: Fraction, other: Fraction
) -> None:
    for steps in (1, 2, 5):
        first = measure.converted(EPSILON.over(epsilon, steps), EPSILON)
        assert first <= measure.over(measure.converted(epsilon, EPSILON), steps)
        together = measure.converted(epsilon + other, EPSILON)
        assert together >= measure.converted(epsilon, EPSILON) + measure.converted(other, EPSILON)


@pytest.mark.parametrize("measure", MEASURES)
@given(amounts)
def test_the_pure_release_of_an_amount_costs_no_more(measure: Measure, amount: Fraction) -> None:
    epsilon = measure.pure(amount)
    assert measure.converted(epsilon, EPSILON) <= amount
    assert measure.converted(epsilon * Fraction("1.00001"), EPSILON) > amount


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_is_found_by_its_name(measure: Measure) -> None:
    assert Measure.named(measure.name) == measure
    assert measure.converted(Fraction(1, 7), measure) == Fraction(1, 7)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "delta",
        "rho for epsilon 1 at delta 1/1000000000",
        "rho for epsilon 2/2 at delta 1/9, order 3",
        "rho for epsilon 1 at delta 3/2, order 3",
        "rho for epsilon 1 at delta 1/9, order 1",
        "rho for epsilon 1 at delta 1/9, order 3\n",
        "rho for epsilon 0 at delta 1/9, order 3",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(LedgerError, match="unknown measure"):
        Measure.named(name)


def test_a_pure_budget_refuses_what_may_fail() -> None:
    assert EPSILON.converted(Fraction(0), RHO) == 0
    for measure in (RHO, BILLION):
        with pytest.raises(RefusalError, match="promises that nothing fails") as refused:
            EPSILON.converted(Fraction(1, 100), measure)
        assert "{rho: ..} or {epsilon: .., delta: ..}" in str(refused.value)
    with pytest.raises(RefusalError, match="one order only"):
        RHO.converted(Fraction(1, 100), BILLION)


def test_a_loss_is_converted_class_by_class() -> None:
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    women, men, young = (
        PairClass("attribute", "wage", ((n, Subset.of([at])),)) for n, at in (("sex", 0), ("sex", 1), ("age", 0))
    )
    apart = Loss.of({women: half, men: tenth, changing("age"): tenth}).measured_in(RHO)
    assert dict(apart) == {women: half**2 / 2, men: tenth**2 / 2, changing("age"): tenth**2 / 2}
    assert apart.measured_in(BILLION) == Loss(BILLION, apart.amounts)
    # A pair of young women loses 0.6 of a release that treats it in two regions.
    assert Loss.of({women: half, young: tenth}).measured_in(RHO).largest >= (half + tenth) ** 2 / 2
    assert Loss.of({EVERY: half, changing("age"): tenth}).measured_in(RHO).largest == (half + tenth) ** 2 / 2
    with pytest.raises(RefusalError, match="pure epsilon"):
        apart.measured_in(EPSILON)
    with pytest.raises(LedgerError, match="do not add up"):
        Loss.of({EVERY: half}) + apart


@pytest.mark.parametrize(
    ("value", "words", "written"),
    [
        (1.0, "1", 1),
        ("0.05", "0.05", "0.05"),
        ({"rho": 0.05}, "rho 0.05", {"rho": "0.05"}),
        ({"rho": "1/3"}, "rho 1/3", {"rho": "1/3"}),
        ({"epsilon": 1, "delta": 1e-9}, "epsilon 1 at delta 1e-9", {"epsilon": 1, "delta": "1e-9"}),
        ({"epsilon": "0.5", "delta": "2.5e-7"}, "epsilon 0.5 at delta 2.5e-7", {"epsilon": "0.5", "delta": "2.5e-7"}),
        (
            {"epsilon": Decimal("0.5"), "delta": "1/1000"},
            "epsilon 0.5 at delta 0.001",
            {"epsilon": "0.5", "delta": "0.001"},
        ),
    ],
)
def test_budgets_are_read_and_written(value: Any, words: str, written: Any) -> None:
    budget = Budget.read(value)
    assert (budget.words, budget.written) == (words, written)
    assert Budget.read(budget.written) == Budget.read(budget) == budget
    assert budget.same(Budget.read(written))
    assert not budget.same(Budget.read({"rho": 7}))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "must be above 0"),
        (None, "finite number"),
        ("rho", "finite number"),
        ({}, "lacks rho, or epsilon and delta"),
        ({"epsilon": 1}, "lacks delta"),
        ({"delta": "1e-9"}, "lacks epsilon"),
        ({"rho": 1, "epsilon": 1}, "one or the other"),
        ({"rho": 1, "delta": "1e-9"}, "one or the other"),
        ({"rho": 1, "epsilon": 1, "delta": "1e-9"}, "one or the other"),
        ({"rho": -1}, "rho of the budget must be above 0"),
        ({"epsilon": 0, "delta": "1e-9"}, "epsilon of the budget must be above 0"),
        ({"epsilon": 1, "delta": 0}, "epsilon alone, as in 1.0"),
        ({"epsilon": 1, "delta": -1}, "above 0 and below 1"),
        ({"epsilon": 1, "delta": 1}, "above 0 and below 1"),
        ({"epsilon": 1, "delta": "0.02"}, "at most 0.01"),
        ({"epsilon": 1, "delta": True}, "finite number"),
        ({"epsilom": 1, "delta": "1e-9"}, "did you mean 'epsilon'"),
        ({"epsilon": "1e-300", "delta": "1e-300"}, "too small"),
    ],
)
def test_what_is_no_budget_is_refused(value: Any, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        Budget.read(value)
    assert said in str(refused.value)


def test_what_an_amount_means() -> None:
    assert list(meanings(EPSILON, Fraction(1))) == []
    billionth = Fraction("1e-9")
    assert (epsilon_of(Fraction("0.05"), billionth), billionth) in meanings(RHO, Fraction("0.05"))
    ((epsilon, delta),) = meanings(BILLION, BILLION.allowed)
    assert (delta, Fraction("0.9999") < epsilon <= 1) == (billionth, True)
    assert list(meanings(BILLION, Fraction(0))) == [(0, billionth)]


def bit_told(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The privacy losses of randomised response, with their probabilities."""
    (true, false), _ = randomised_response(epsilon)
    return np.array([epsilon, -epsilon]), np.array([true, false])


def count_told(rho: float) -> tuple[np.ndarray, np.ndarray]:
    """The privacy losses of a count with discrete Gaussian noise of this rho, summed over all that matters."""
    variance = 1 / (2 * rho)
    numbers = np.arange(-int(12 * math.sqrt(variance)) - 2, int(12 * math.sqrt(variance)) + 3)
    mass = np.exp(-(numbers**2) / (2 * variance))
    return (1 - 2 * numbers) / (2 * variance), mass / mass.sum()


def exact_delta(epsilon: float, laws: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """By how much probabilities exceed exp(epsilon) times those of the neighbour, over all outcomes of all releases."""
    losses, mass = np.zeros(1), np.ones(1)
    for lost, likely in laws:
        losses, mass = np.add.outer(losses, lost).ravel(), np.multiply.outer(mass, likely).ravel()
    return float((mass * np.maximum(1 - np.exp(epsilon - losses), 0)).sum())


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.fractions(Fraction(1, 20), 2, max_denominator=20), max_size=4),
    st.lists(st.fractions(Fraction(1, 50), 1, max_denominator=50), max_size=2),
    st.sampled_from([Fraction(1, 10**power) for power in (2, 4, 6, 9)]),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(4)]),
)
def test_what_is_charged_is_never_below_an_exact_computation(
    pure: list[Fraction], rhos: list[Fraction], delta: Fraction, promised: Fraction
) -> None:
    laws = [*(bit_told(float(each)) for each in pure), *(count_told(float(each)) for each in rhos)]
    for measure in (RHO, Approximate.of(promised, delta)):
        asked = [*((EPSILON, each) for each in pure), *((RHO, each) for each in rhos)]
        spent = sum((measure.converted(amount, own) for own, amount in asked), Fraction(0))
        for epsilon, at in meanings(measure, spent):
            assert exact_delta(float(epsilon), laws) <= float(at) * (1 + 1e-9) + 1e-14
    together = epsilon_of(sum(rhos, Fraction(0)), delta, tuple(pure))
    assert exact_delta(float(together), laws) <= float(delta) * (1 + 1e-9) + 1e-14


def test_too_cheap_a_conversion_would_be_noticed() -> None:
    # Ten bits at epsilon 0.5 cost rho 1.25; at a quarter of that the promise at delta 1e-2 is broken.
    laws = [bit_told(0.5)] * 10
    right, cheap = (float(epsilon_of(Fraction(10, 8) / part, Fraction("0.01"))) for part in (1, 4))
    assert exact_delta(right, laws) <= 0.01 < exact_delta(cheap, laws)


# Conversions between rho, epsilon and delta are on the safe side, and tight.


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


# What a loss means for odds is never less than it is.


AMOUNTS = st.fractions(Fraction(1, 10**6), 20)


@given(rho=AMOUNTS, steps=st.integers(1, 40))
def test_gaussian_noise_exceeds_the_stated_exponent_as_rarely_as_said(rho, steps):
    # On a pair d steps apart the log-ratio of continuous Gaussian noise is normal: mean d^2 rho, variance 2 d^2 rho.
    lost = steps**2 * float(rho)
    exponent = Strength(RHO, rho).exponent(steps)
    assert erfc((exponent - lost) / sqrt(2 * lost) / sqrt(2)) / 2 <= UNLIKELY
    # Half as far from the mean it would be exceeded far more often.
    assert erfc((exponent - lost) / 2 / sqrt(2 * lost) / sqrt(2)) / 2 > UNLIKELY


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("measure", [RHO, Approximate.of(Fraction(1), Fraction(1, 10**9))])
def test_discrete_noise_exceeds_epsilon_at_delta_more_often_but_not_what_is_stated(measure, steps):
    # One count that changes by the steps: output z loses rho ((z - steps)^2 - z^2), here added up exactly.
    rho = Approximate.of(Fraction(1), UNLIKELY).allowed
    weights = {z: exp(-float(rho) * z * z) for z in range(-400, 401)}

    def exceeded(exponent):
        return sum(weight for z, weight in weights.items() if rho * (steps**2 - 2 * steps * z) > exponent) / sum(
            weights.values()
        )

    assert exceeded(epsilon_of(rho * steps**2, UNLIKELY)) > 2 * UNLIKELY
    assert exceeded(Strength(measure, rho).exponent(steps)) <= UNLIKELY


@given(amount=AMOUNTS)
def test_words_round_to_the_safe_side(amount):
    for measure in (EPSILON, RHO):
        strength = Strength(measure, amount)
        exponent = strength.exponent()
        assert int(strength.certainty) >= 100 / (1 + exp(-exponent)) - 1e-9
        said = strength.factor().replace(",", "").replace(" x 10^", "e").replace("10^", "1e")
        number, _, power = said.partition("e")
        assert log(float(number)) + int(power or 0) * log(10) >= exponent - 1e-9


def test_only_losses_in_rho_name_a_failure():
    assert "one in a billion" in Strength(RHO, Fraction(1, 20)).but
    assert Strength(EPSILON, Fraction(1)).but == ""


@pytest.mark.parametrize(
    ("measure", "amount", "grade"),
    [
        (EPSILON, 3, ""),
        (EPSILON, 4, "weakly"),
        (EPSILON, 11, "in effect not at all"),
        (RHO, "0.3", ""),
        (RHO, 1, "weakly"),
    ],
)
def test_large_losses_are_called_so(measure, amount, grade):
    assert Strength(measure, Fraction(amount)).grade == grade
