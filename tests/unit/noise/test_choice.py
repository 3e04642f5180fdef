from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.choice import Weight, choose, exponential_weight, uniform_below
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
