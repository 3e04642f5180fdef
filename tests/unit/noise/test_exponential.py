from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.noise.exponential import Interval, _series, exp_negative, multiply

exponents = st.fractions(min_value=0, max_value=200, max_denominator=10**6)


@settings(deadline=None, max_examples=300)
@given(exponent=exponents, bits=st.integers(min_value=8, max_value=400))
def test_the_true_value_never_escapes_and_the_interval_is_narrow(exponent: Fraction, bits: int) -> None:
    low, high = exp_negative(exponent, bits)
    with localcontext() as context:
        context.prec = 300
        true = (-Decimal(exponent.numerator) / exponent.denominator).exp() * 2**bits
    assert low <= true <= high
    assert high - low <= 2


@given(exponent=st.fractions(min_value=0, max_value=Fraction(1, 2)), bits=st.integers(4, 40))
def test_the_series_alone_encloses_the_true_value(exponent: Fraction, bits: int) -> None:
    """Without the guard bits around it, so that its own rounding must hold."""
    low, high = _series(exponent, bits)
    with localcontext() as context:
        context.prec = 60
        true = (-Decimal(exponent.numerator) / exponent.denominator).exp() * 2**bits
    assert low <= true <= high


@pytest.mark.parametrize("exponent", [Fraction(1, 10**300), Fraction(1, 2**50), Fraction(1, 2), Fraction(64)])
def test_extreme_exponents_are_enclosed(exponent: Fraction) -> None:
    low, high = exp_negative(exponent, 2000)
    # A hand-made rational enclosure: 1 - x <= exp(-x) <= 1 / (1 + x).
    assert high >= (1 - exponent) * 2**2000
    assert low <= 2**2000 / (1 + exponent)
    assert high - low <= 2


def test_a_huge_exponent_asks_for_no_work() -> None:
    assert exp_negative(Fraction(10**400), 64) == Interval(0, 1)


@given(left=st.integers(0, 2**64), right=st.integers(0, 2**64), widths=st.tuples(*[st.integers(0, 9)] * 2))
def test_a_product_encloses_all_products_of_members(left: int, right: int, widths: tuple[int, int]) -> None:
    low, high = multiply(Interval(left, left + widths[0]), Interval(right, right + widths[1]), 64)
    assert low <= Fraction(left * right, 2**64)
    assert high >= Fraction((left + widths[0]) * (right + widths[1]), 2**64)
