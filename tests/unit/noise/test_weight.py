from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.noise.choice import ONE, Weight, aligned, exponential_weight, logarithm_of_two, product, total

POWERS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**9)
WEIGHTS = st.builds(
    lambda low, more, exponent: Weight(low, low + more, exponent),
    st.integers(0, 2**80),
    st.integers(0, 2**20),
    st.integers(-300, 300),
)


def ends(weight):
    return weight.low * Fraction(2) ** weight.exponent, weight.high * Fraction(2) ** weight.exponent


@settings(deadline=None, max_examples=300)
@given(power=POWERS, bits=st.integers(64, 400))
def test_the_true_exponential_never_escapes_and_its_enclosure_is_narrow(power, bits):
    weight = exponential_weight(power, bits)
    with localcontext() as context:
        context.prec = 250
        context.Emax, context.Emin = 10**9, -(10**9)
        true = (Decimal(power.numerator) / power.denominator).exp() / Decimal(2) ** weight.exponent
    assert weight.low <= true <= weight.high
    assert weight.high - weight.low <= 5
    assert weight.low.bit_length() >= bits - 2


@pytest.mark.parametrize("power", [2**50, -(2**50), Fraction(10**40, 7), -Fraction(10**40, 7), Fraction(1, 10**40)])
def test_huge_powers_are_enclosed_without_huge_numbers(power):
    """Next to each other they must give the ratio that is known: exp(power + 1/2) / exp(power)."""
    near, far = exponential_weight(Fraction(power), 256), exponential_weight(Fraction(power) + Fraction(1, 2), 256)
    low = Fraction(far.low, near.high) * Fraction(2) ** (far.exponent - near.exponent)
    high = Fraction(far.high, near.low) * Fraction(2) ** (far.exponent - near.exponent)
    with localcontext() as context:
        context.prec = 150
        root = Fraction(Decimal("0.5").exp())
    assert low < root < high
    assert high - low < Fraction(1, 2**245)
    assert near.high.bit_length() < 260


def test_nothing_is_exactly_one():
    weight = exponential_weight(Fraction(0), 128)
    assert ends(weight)[0] <= 1 <= ends(weight)[1]


@pytest.mark.parametrize("bits", [1, 2, 3, 64, 128, 1000])
def test_the_logarithm_of_two_is_enclosed(bits):
    low, high = logarithm_of_two(bits)
    with localcontext() as context:
        context.prec = 400
        assert low <= Decimal(2).ln() * 2**bits <= high
    assert high - low <= bits + 3


@given(left=WEIGHTS, right=WEIGHTS)
def test_products_enclose_all_products(left, right):
    low, high = ends(product(left, right))
    assert low == ends(left)[0] * ends(right)[0]
    assert high == ends(left)[1] * ends(right)[1]
    assert product(left, ONE) == left


@given(weights=st.lists(WEIGHTS, min_size=1, max_size=8), bits=st.integers(1, 150))
def test_sums_and_aligned_weights_enclose_what_they_stand_for(weights, bits):
    parts, exponent = aligned(weights, bits)
    unit = Fraction(2) ** exponent
    for part, weight in zip(parts, weights, strict=True):
        low, high = ends(weight)
        assert part.low * unit <= low
        assert high <= part.high * unit
        assert low - part.low * unit < unit
        assert part.high * unit - high < unit
    whole = total(weights, bits)
    assert ends(whole)[0] <= sum(ends(weight)[0] for weight in weights)
    assert ends(whole)[1] >= sum(ends(weight)[1] for weight in weights)
    assert whole.high <= 2**bits


def test_a_weight_far_below_the_others_is_somewhere_between_nothing_and_the_last_bit():
    parts, _ = aligned([Weight(1, 1, 0), Weight(1, 1, -(2**60)), Weight(1, 1, -(10**40))], 128)
    assert parts[1] == parts[2] == (0, 1)
    assert parts[0].low == parts[0].high
