"""Measures of loss: what several steps lose, what another measure costs, and how budgets are stated."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError, RefusalError, SpecError
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate, Budget, Measure, epsilon_of, meanings
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
