from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.laplace import GeometricLaw
from unit.noise.reference import ScriptedSource, cumulative, floor_times_power_of_two, invert

LAWS = [
    (GeometricLaw(Fraction(3)), 6),
    (GeometricLaw(Fraction(1)), 14),
    (GeometricLaw(Fraction(7, 10)), 40),
    (GeometricLaw(Fraction(1, 10)), 139),
    (GeometricLaw(Fraction(1000)), 2),
    (GeometricLaw(Fraction(10**300)), 1),
    (GeometricLaw(Fraction(1), 2), 1),
    (GeometricLaw(Fraction(1, 2**50), 2), 1),
    (GeometricLaw(Fraction(1, 10**6), 1024), 1023),
    (GeometricLaw(Fraction(1, 2**50), 1024), 1023),
    (GeometricLaw(Fraction(1024, 1025), 1024), 1023),
]


@pytest.mark.parametrize(("law", "count"), LAWS)
def test_every_table_entry_is_the_true_floor(law: GeometricLaw, count: int) -> None:
    thresholds = Digit.tabulate(law, count).thresholds
    for index in range(count):
        if law.rate * (index + 1) > 400:  # exp(-400) < 2^-500: F_index is in the last of the 2^32 cells
            assert thresholds[index] == 2**32 - 1
        else:
            assert thresholds[index] == floor_times_power_of_two(cumulative(law, index), 32)


def test_the_longest_table_holds_true_floors_too() -> None:
    law = GeometricLaw(Fraction(1, 1000))
    thresholds = Digit.tabulate(law, 13_863).thresholds
    for index in [*range(0, 13_863, 97), 13_861, 13_862]:
        assert thresholds[index] == floor_times_power_of_two(cumulative(law, index), 32)


def test_the_floors_of_scale_one_by_rational_series_alone() -> None:
    """1/e lies between consecutive partial sums of the alternating series: nothing but fractions is used."""
    term, total = Fraction(1), Fraction(1)
    sums = [total]
    for order in range(1, 40):
        term = -term / order
        total += term
        sums.append(total)
    below, above = min(sums[-2:]), max(sums[-2:])
    thresholds = Digit.tabulate(GeometricLaw(Fraction(1)), 14).thresholds
    for index in range(14):
        low, high = 1 - above ** (index + 1), 1 - below ** (index + 1)
        assert int(low * 2**32) == int(high * 2**32) == thresholds[index]


@pytest.mark.parametrize(("law", "count"), LAWS)
def test_the_guide_agrees_with_the_table_in_each_of_its_cells(law: GeometricLaw, count: int) -> None:
    digit = Digit.tabulate(law, count)
    first = np.arange(2**16, dtype=np.uint64) << np.uint64(16)
    thresholds = digit.thresholds.astype(np.uint64)
    at_start = np.searchsorted(thresholds, first, side="left")
    past_end = np.searchsorted(thresholds, first + np.uint64(2**16), side="left")
    # A cell is settled iff no threshold lies in it, and then all of its words have the same digit.
    assert np.array_equal(digit.guide, np.where(at_start == past_end, at_start, -1))


def test_tables_cannot_be_written() -> None:
    digit = Digit.tabulate(GeometricLaw(Fraction(1)), 14)
    assert not digit.thresholds.flags.writeable
    assert not digit.guide.flags.writeable


@settings(deadline=None, max_examples=300)
@given(
    case=st.sampled_from([case for case in LAWS if case[0].rate <= 3 and case[1] < 200]),
    data=st.data(),
    agreeing=st.integers(min_value=1, max_value=4),
    step=st.integers(min_value=-3, max_value=3),
)
def test_a_draw_next_to_a_boundary_is_settled_as_exact_arithmetic_says(
    case: tuple[GeometricLaw, int], data: st.DataObject, agreeing: int, step: int
) -> None:
    """U agrees with some F_index in the first ``agreeing`` words, then is ``step`` cells of 2^-bits away."""
    law, count = case
    digit = Digit.tabulate(law, count)
    index = data.draw(st.integers(min_value=0, max_value=count - 1))
    bits = 32 * (agreeing + 1)
    start = floor_times_power_of_two(cumulative(law, index), bits) + step
    if not 0 <= start < 2**bits:
        return
    words = [(start >> shift) & 0xFFFFFFFF for shift in range(bits - 32, -1, -32)]
    # The middle of that cell, to the last bit: a binary 1 and then zeros for as long as anyone asks.
    source = ScriptedSource([*words, 2**31, *[0] * 8])
    assert digit.draw(1, source)[0] == invert(law, Fraction(2 * start + 1, 2 ** (bits + 1)), count)


@settings(deadline=None, max_examples=200)
@given(
    case=st.sampled_from([case for case in LAWS if case[0].rate <= 3 and case[1] < 200]),
    word=st.integers(min_value=0, max_value=2**32 - 1),
)
def test_an_ordinary_draw_is_inversion_and_takes_one_word(case: tuple[GeometricLaw, int], word: int) -> None:
    law, count = case
    digit = Digit.tabulate(law, count)
    if word not in digit.thresholds:
        middle = Fraction(2 * word + 1, 2**33)
        assert digit.draw(1, ScriptedSource([word]))[0] == invert(law, middle, count)


def test_further_bits_are_drawn_only_while_needed() -> None:
    law = GeometricLaw(Fraction(1))
    digit = Digit.tabulate(law, 14)
    expansion = floor_times_power_of_two(cumulative(law, 0), 96)
    first, second, third = ((expansion >> shift) & 0xFFFFFFFF for shift in (64, 32, 0))
    for words, value, unused in [
        ([first - 1, 7], 0, [7]),
        ([first + 1, 7], 1, [7]),
        ([first, second - 1, 7], 0, [7]),
        ([first, second + 1, 7], 1, [7]),
        ([first, second, third - 1, 7], 0, [7]),
        ([first, second, third + 1, 7], 1, [7]),
    ]:
        source = ScriptedSource(words)
        assert digit.draw(1, source)[0] == value
        assert source.left == unused


def test_equal_thresholds_are_told_apart_by_further_bits() -> None:
    """At rate 30 both F_0 = 1 - 9.4e-14 and F_1 = 1 - 8.8e-27 begin with 32 ones; only further bits help."""
    digit = Digit.tabulate(GeometricLaw(Fraction(30)), 2)
    assert list(digit.thresholds) == [2**32 - 1] * 2
    ones = 2**32 - 1
    # exp(-30) 2^64 = 1,726,176.8 and exp(-60) 2^96 = 693.8: how far the boundaries are from all ones.
    below_first, above_first = ones - 1_726_177, ones - 1_726_175
    assert digit.draw(1, ScriptedSource([ones, below_first]))[0] == 0
    assert digit.draw(1, ScriptedSource([ones, above_first]))[0] == 1
    assert digit.draw(1, ScriptedSource([ones, ones, ones - 694]))[0] == 1
    assert digit.draw(1, ScriptedSource([ones, ones, ones - 692]))[0] == digit.beyond == 2


def test_a_scale_of_a_thousandth_needs_1443_ones_to_leave_zero() -> None:
    """exp(-1000) = 2^-1442.7, so U leaves F_0 = 1 - exp(-1000) behind only after more than 1442 ones."""
    digit = Digit.tabulate(GeometricLaw(Fraction(1000)), 1)
    ones = [2**32 - 1] * 45  # 1440 ones
    assert digit.draw(1, ScriptedSource([*ones, 0]))[0] == 0
    assert digit.draw(1, ScriptedSource([*ones, 2**32 - 1]))[0] == 1
