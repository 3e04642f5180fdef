"""What a loss means for odds is never less than it is."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.privacy.measure import EPSILON, RHO, UNLIKELY, Approximate, Strength, epsilon_of

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


def test_what_rows_show_bounds_what_steps_add_up_to():
    strength = Strength(RHO, Fraction(1, 20))
    assert strength.exponent(10, Fraction(1, 10)) == Strength(RHO, Fraction(1, 10)).exponent()
    assert strength.exponent(1, Fraction(1, 10)) == strength.exponent()
    assert "one in a billion" in strength.but
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
