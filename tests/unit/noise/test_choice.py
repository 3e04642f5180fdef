from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.bits import Interval, _series, exp_negative, multiply
from blowfish_privacy.noise.choice import (
    ONE,
    Weight,
    aligned,
    choose,
    exponential_weight,
    logarithm_of_two,
    product,
    total,
    uniform_below,
)
from blowfish_privacy.testing.seeded import SeededSource
from unit.noise.chi_square import of_cells
from unit.noise.reference import ScriptedSource

POWERS = st.lists(st.fractions(min_value=-8, max_value=8, max_denominator=50), min_size=2, max_size=6)


def of_powers(powers):
    return lambda bits: [exponential_weight(power, bits) for power in powers]


def truncated(powers, kept):
    """The mistake of weights that are computed with so many bits, and taken for exact."""

    def weights(bits):
        rounded = [exponential_weight(power, kept) for power in powers]
        return [Weight(weight.low, weight.low, weight.exponent) for weight in rounded]

    return weights


def cumulative(powers):
    with localcontext() as context:
        context.prec = 200
        weights = [(Decimal(power.numerator) / power.denominator).exp() for power in powers]
        return [Fraction(part / sum(weights)) for part in accumulate(weights)]


def words_of(uniform, count):
    start = int(uniform * 2 ** (32 * count))
    return [(start >> shift) & 0xFFFFFFFF for shift in range(32 * (count - 1), -1, -32)]


def next_to_a_boundary(powers, index, agreeing, step):
    """Words of a U that agrees with F_index so far and is then a few units away, and what inversion makes of it."""
    shares = cumulative(powers)
    bits = 32 * (agreeing + 1)
    start = int(shares[index] * 2**bits) + step
    if not 0 <= start < 2**bits:
        return None
    # The middle of that cell, to the last bit.
    uniform = Fraction(2 * start + 1, 2 ** (bits + 1))
    return words_of(uniform, agreeing + 10), sum(share <= uniform for share in shares[:-1])


@settings(deadline=None, max_examples=300)
@given(powers=POWERS, data=st.data(), agreeing=st.integers(0, 12), step=st.integers(-3, 3))
def test_a_draw_next_to_a_boundary_is_settled_as_exact_arithmetic_says(powers, data, agreeing, step):
    case = next_to_a_boundary(powers, data.draw(st.integers(0, len(powers) - 2)), agreeing, step)
    if case is not None:
        words, expected = case
        assert choose(of_powers(powers), ScriptedSource(words)) == expected


@pytest.mark.parametrize("kept", [53, 64, 128, 200])
def test_weights_that_are_truncated_are_told_apart(kept):
    """A sampler that took rounded weights for exact ones would fail the test above."""
    powers = [Fraction(1, 3), Fraction(-1, 7), Fraction(5, 11)]
    wrong = 0
    for index in (0, 1):
        for step in (-1, 1):
            words, expected = next_to_a_boundary(powers, index, kept // 32 + 3, step)
            assert choose(of_powers(powers), ScriptedSource(words)) == expected
            wrong += choose(truncated(powers, kept), ScriptedSource([*words, *[0] * 60])) != expected
    assert wrong >= 1


def test_too_little_precision_ends_in_an_error_and_never_in_a_decision():
    """Enclosures that are honest, but do not narrow: words are drawn until it is plain that they do not help."""
    powers = [Fraction(1, 3), Fraction(-1, 7), Fraction(5, 11)]
    words, _ = next_to_a_boundary(powers, 0, 8, 1)
    stuck = [exponential_weight(power, 128) for power in powers]
    with pytest.raises(QueryError, match="still open after 2,048 bits"):
        choose(lambda bits: stuck, ScriptedSource([*words, *[0] * 60]))


def test_an_ordinary_draw_takes_one_word_and_128_bits():
    asked = []

    def weights(bits):
        asked.append(bits)
        return [exponential_weight(Fraction(power), bits) for power in (0, 1, 2, 3)]

    source = ScriptedSource([2**31, 7])
    assert choose(weights, source) == 3
    assert source.left == [7]
    assert asked == [128]


def test_weights_that_differ_beyond_all_measure_are_compared_without_computing_them():
    powers = [Fraction(-(2**50)), Fraction(2**50), Fraction(0)]
    assert [choose(of_powers(powers), ScriptedSource([word, 5, 9])) for word in (1, 2**31, 2**32 - 1)] == [1, 1, 1]
    with pytest.raises(QueryError, match="still open"):
        # Only a U that begins with 2,048 zeros could be the first one's.
        choose(of_powers(powers), ScriptedSource([0] * 70))


def test_one_alternative_is_always_chosen():
    assert choose(of_powers([Fraction(5)]), ScriptedSource([3])) == 0


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2**31 + 1, 2**32, 2**40 + 5])
def test_a_bounded_number_rejects_what_does_not_fit_whole_rounds(bound):
    words = -(-bound.bit_length() // 32)
    whole = 2 ** (32 * words) // bound * bound
    for number in (0, bound - 1, whole - 1):
        script = words_of(Fraction(number, 2 ** (32 * words)), words)
        assert uniform_below(bound, ScriptedSource(script)) == number % bound
    if whole < 2 ** (32 * words):
        beyond = words_of(Fraction(whole, 2 ** (32 * words)), words)
        assert uniform_below(bound, ScriptedSource([*beyond, *[0] * words])) == 0


def test_draws_follow_their_law_and_a_tenth_more_or_less_is_rejected():
    """Chi-square at 1e-9, 40,000 draws; powers that are 10 % too large or too small are found."""
    powers = np.array([Fraction(0), Fraction(1), Fraction(-1), Fraction(2)])

    def p_value(factor, source):
        weights = [exponential_weight(factor * power, 128) for power in powers]
        draws = [choose(lambda bits: weights, source) for _ in range(40_000)]
        shares = np.diff([float(share) for share in cumulative(list(powers))], prepend=0)
        return of_cells(np.bincount(draws, minlength=4), shares)

    assert p_value(1, SeededSource(1)) > 1e-9
    assert p_value(Fraction(11, 10), SeededSource(2)) < 1e-9
    assert p_value(Fraction(9, 10), SeededSource(3)) < 1e-9


WEIGHT_POWERS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**9)

WEIGHTS = st.builds(
    lambda low, more, exponent: Weight(low, low + more, exponent),
    st.integers(0, 2**80),
    st.integers(0, 2**20),
    st.integers(-300, 300),
)


def ends(weight):
    return weight.low * Fraction(2) ** weight.exponent, weight.high * Fraction(2) ** weight.exponent


@settings(deadline=None, max_examples=300)
@given(power=WEIGHT_POWERS, bits=st.integers(64, 400))
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
