"""Tables of Gaussian magnitudes, against sums made by the decimal module."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.gaussian import HalfGaussianLaw, tail_sums
from unit.noise.reference import DIGITS, ScriptedSource, floor_times_power_of_two

HALF, WHOLE = Fraction(1, 2), Fraction(1)
SIGMAS_SQUARED = [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(16), Fraction(100)]


@lru_cache
def cumulatives(law: HalfGaussianLaw) -> list[Decimal]:
    """P(D <= k) for all k that matter, from terms of 250 digits; those left out sum to less than 10^-240."""
    with localcontext() as context:
        context.prec = DIGITS + 50
        sigma_squared = Decimal(law.sigma_squared.numerator) / law.sigma_squared.denominator
        zero = Decimal(law.zero.numerator) / law.zero.denominator
        last = int((2 * 560 * float(law.sigma_squared)) ** 0.5) + 2  # exp(-560) < 10^-243
        weights = [zero, *((-(Decimal(k) ** 2) / (2 * sigma_squared)).exp() for k in range(1, last))]
        total, below, found = sum(weights), Decimal(0), []
        for weight in weights:
            below += weight
            found.append(below / total)
    return found


def laws() -> list[HalfGaussianLaw]:
    return [HalfGaussianLaw(sigma_squared, zero) for sigma_squared in SIGMAS_SQUARED for zero in (HALF, WHOLE)]


@pytest.mark.parametrize("law", laws(), ids=str)
def test_every_table_entry_is_the_true_floor(law: HalfGaussianLaw) -> None:
    digit = Digit.tabulate(law, law.length(64))
    for index in range(digit.beyond):
        expected = floor_times_power_of_two(cumulatives(law)[index], 64)
        assert int(digit.thresholds[index]) << 32 | int(digit.following[index]) == expected
    # Whatever is past the table begins with 32 ones, so that it is never taken for settled.
    assert digit.thresholds[-1] == 2**32 - 1


@pytest.mark.parametrize("sigma", [33, 64, 1000, 1024])
def test_the_longest_tables_are_true_floors_too(sigma: int) -> None:
    law = HalfGaussianLaw(Fraction(sigma**2), HALF if sigma > 64 else WHOLE)
    digit = Digit.tabulate(law, law.length(64))
    with localcontext() as context:
        context.prec = 60
        last = 20 * sigma  # exp(-200) < 10^-86
        weights = [Decimal(law.zero.numerator) / law.zero.denominator]
        weights += [(-Decimal(k * k) / (2 * sigma * sigma)).exp() for k in range(1, last)]
        total, below = sum(weights), Decimal(0)
        for index in range(digit.beyond):
            below += weights[index]
            found = int(digit.thresholds[index]) << 32 | int(digit.following[index])
            # Within 10^-55 of the boundary between two floors this comparison would decide nothing; none is.
            assert found <= below / total * 2**64 < found + 1
    assert digit.beyond < 32767
    assert digit.thresholds[-1] == 2**32 - 1


@settings(deadline=None, max_examples=100)
@given(
    sigma_squared=st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=1000),
    bits=st.integers(min_value=8, max_value=200),
)
def test_the_sums_of_weights_enclose_the_true_ones(sigma_squared: Fraction, bits: int) -> None:
    sums, slack = tail_sums(sigma_squared, bits)
    with localcontext() as context:
        context.prec = 120
        rate = Decimal(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [
            (-rate * k * k).exp() for k in range(1, int((2 * 200 * float(sigma_squared)) ** 0.5) + len(sums) + 5)
        ]
        for index, low in enumerate(sums):
            # What the decimals leave out is below 10^-80, and the sum itself above it, or low is 0.
            true = sum(weights[index:], Decimal(0)) * 2**bits
            assert low <= true + Decimal(10) ** -20
            assert true <= low + slack


@settings(deadline=None, max_examples=200)
@given(
    law=st.sampled_from(laws()),
    data=st.data(),
    agreeing=st.integers(min_value=1, max_value=4),
    step=st.integers(min_value=-3, max_value=3),
)
def test_a_draw_next_to_a_boundary_is_settled_as_exact_arithmetic_says(
    law: HalfGaussianLaw, data: st.DataObject, agreeing: int, step: int
) -> None:
    """U agrees with some F_index in the first ``agreeing`` words, then is ``step`` cells of 2^-bits away."""
    digit = Digit.tabulate(law, law.length(64))
    index = data.draw(st.integers(min_value=0, max_value=digit.beyond - 1))
    bits = 32 * (agreeing + 1)
    start = floor_times_power_of_two(cumulatives(law)[index], bits) + step
    if not 0 <= start < 2**bits:
        return
    words = [(start >> shift) & 0xFFFFFFFF for shift in range(bits - 32, -1, -32)]
    source = ScriptedSource([*words, 2**31, *[0] * 8])
    uniform = Fraction(2 * start + 1, 2 ** (bits + 1))
    assert digit.draw(1, source)[0] == sum(Fraction(below) <= uniform for below in cumulatives(law))


@pytest.mark.parametrize("law", [HalfGaussianLaw(Fraction(1), HALF), HalfGaussianLaw(Fraction(16), WHOLE)], ids=str)
def test_a_draw_past_the_table_is_searched_for_with_the_same_bits(law: HalfGaussianLaw) -> None:
    """Seventy to a hundred ones lead behind the table, to the value that a thousand bits of U have."""
    digit = Digit.tabulate(law, law.length(64))
    for ones in (64, 70, 80, 90, 100, 120):
        start = (1 << ones) - 1 << 160 - ones
        words = [(start >> shift) & 0xFFFFFFFF for shift in range(128, -1, -32)]
        source = ScriptedSource([*words, 2**31, *[0] * 8])
        uniform = Fraction(2 * start + 1, 2**161)
        expected = sum(Fraction(below) <= uniform for below in cumulatives(law))
        assert digit.draw(1, source)[0] == expected
        assert ones < 70 or expected >= digit.beyond - 1
