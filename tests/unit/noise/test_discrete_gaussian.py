import math
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy import noise
from blowfish_privacy.errors import BlowfishError, QueryError
from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.gaussian import (
    HalfGaussianLaw,
    _append_bits,
    _bits,
    _Composed,
    _exponential_bounds,
    _sampler,
)
from blowfish_privacy.testing.seeded import SeededSource
from unit.noise.reference import ScriptedSource

ONES = 2**32 - 1
LARGE = [Fraction(2**20 + 1), Fraction(10_001, 7) ** 2, Fraction(10**12), Fraction(10**25, 3), Fraction(2**100)]


def word_for(digit: Digit, value: int) -> int:
    """A word that gives this value without any doubt: one above the threshold before it."""
    word = 0 if value == 0 else int(digit.thresholds[value - 1]) + 1
    assert word < int(digit.thresholds[value]), "this value has no unambiguous word"
    return word


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 3), Fraction(1), Fraction(100)], ids=str)
def test_the_probability_of_every_value_is_exact_to_64_bits(sigma_squared: Fraction) -> None:
    """All words with all following words, by the thresholds that part them, and either sign."""
    magnitude = _sampler(sigma_squared).magnitude
    assert magnitude.law == HalfGaussianLaw(sigma_squared, Fraction(1, 2))
    ends = [int(w) << 32 | int(f) for w, f in zip(magnitude.thresholds, magnitude.following, strict=True)]
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [(-rate * z * z).exp() for z in range(len(ends) + int(20 * math.sqrt(sigma_squared)) + 20)]
        total = 2 * sum(weights) - 1
        start = 0
        for value, end in enumerate(ends):
            exact = weights[value] / total * 2**64
            signs = 1 if value == 0 else 2
            # Each end is a floor, so the difference is off by less than 1.
            assert abs(signs * exact - (end - start)) < 1
            start = end


def test_one_word_and_one_bit_make_a_number() -> None:
    magnitude = _sampler(Fraction(100)).magnitude
    words = [word_for(magnitude, value) for value in (0, 0, 7, 7)]
    # Bits are taken from the first byte of the word on, the highest first: 0101.
    source = ScriptedSource([*words, int(np.array([0b01010000, 0, 0, 0], np.uint8).view(np.uint32)[0])])
    assert list(noise.discrete_gaussian(100, 4, source=source)) == [0, 0, 7, -7]
    assert source.left == []


@pytest.mark.parametrize("sigma_squared", LARGE, ids=str)
def test_the_leading_digit_is_as_wide_as_sigma_at_least_and_hardly_more(sigma_squared: Fraction) -> None:
    sampler = _sampler(sigma_squared)
    assert isinstance(sampler, _Composed)
    assert sampler.leading.law == HalfGaussianLaw(Fraction(sampler.width**2), Fraction(1))
    assert 33 <= sampler.width <= 64
    assert (sampler.width - 1) ** 2 * 4**sampler.shift < sigma_squared <= sampler.width**2 * 4**sampler.shift


def exponent_of(sampler: _Composed, digit: int, magnitude: int) -> Decimal:
    """E = (magnitude^2 / sigma^2 - digit^2 / width^2) / 2."""
    exact = (magnitude**2 / sampler.sigma_squared - Fraction(digit**2, sampler.width**2)) / 2
    assert exact >= 0
    return Decimal(exact.numerator) / exact.denominator


@settings(deadline=None, max_examples=300)
@given(sigma_squared=st.sampled_from(LARGE), data=st.data())
def test_what_is_accepted_at_once_would_be_accepted(sigma_squared: Fraction, data: st.DataObject) -> None:
    sampler = _sampler(sigma_squared)
    digit = data.draw(st.integers(0, sampler.leading.beyond - 1))
    rest = data.draw(st.one_of(st.integers(0, 2**sampler.shift), st.just(2**sampler.shift)))
    with localcontext() as context:
        context.prec = 80
        least = exponent_of(sampler, digit, (digit << sampler.shift) + 2**sampler.shift)
        probability = (-exponent_of(sampler, digit, (digit << sampler.shift) + rest)).exp()
        assert Decimal(int(sampler.accepted[digit])) / 2**16 <= probability
        assert int(sampler.accepted[digit]) == max(0, math.floor((1 - least) * 2**16))
    assert sampler.accepted[sampler.leading.beyond] == 0


@settings(deadline=None, max_examples=300)
@given(
    sigma_squared=st.sampled_from(LARGE),
    data=st.data(),
    step=st.integers(-3, 3),
    agreeing=st.integers(0, 3),
)
def test_a_candidate_is_accepted_as_exact_arithmetic_says(
    sigma_squared: Fraction, data: st.DataObject, step: int, agreeing: int
) -> None:
    """U agrees with exp(-E) in ``agreeing`` words, then is ``step`` cells away: floats decide, or exact integers."""
    sampler = _sampler(sigma_squared)
    digit = data.draw(st.integers(0, sampler.leading.beyond + 100))
    magnitude = (digit << sampler.shift) + data.draw(st.integers(0, 2**sampler.shift))
    bits = 32 * (agreeing + 1)
    with localcontext() as context:
        context.prec = 120
        scaled = (-exponent_of(sampler, digit, magnitude)).exp() * 2**bits
        start = min(max(math.floor(scaled) + step, 0), 2**bits - 1)
        # The middle of that cell, to the last bit.
        expected = start + Decimal("0.5") < scaled
    words = [(start >> shift) & ONES for shift in range(bits - 32, -1, -32)]
    source = ScriptedSource([*words[1:], 2**31, *[0] * 4])
    arrays = np.array([digit], np.int16), np.array([magnitude], np.int64), np.array(words[:1], np.uint32)
    assert sampler._decide(*arrays, source)[0] == expected


@settings(deadline=None, max_examples=300)
@given(sigma_squared=st.sampled_from(LARGE), data=st.data())
def test_floats_are_within_half_of_the_guard(sigma_squared: Fraction, data: st.DataObject) -> None:
    """What ``_decide`` computes in floats, against decimals: 2^-41 for the exponent, 2^-40 in all."""
    sampler = _sampler(sigma_squared)
    digit = data.draw(st.integers(0, 15 * sampler.width))
    magnitude = (digit << sampler.shift) + data.draw(st.integers(0, 2**sampler.shift))
    far, near = np.array([magnitude]) * (1 / math.sqrt(sigma_squared)), np.array([digit], np.int16) / sampler.width
    exponent = (far - near) * (far + near) / 2
    below, above = _exponential_bounds(exponent)
    with localcontext() as context:
        context.prec = 80
        true = exponent_of(sampler, digit, magnitude)
        assert abs(Decimal(float(exponent[0])) - true) < Decimal(2) ** -41
        if true <= 1:
            assert Decimal(float(below[0])) - Decimal(2) ** -40 < (-true).exp()
            assert (-true).exp() < Decimal(float(above[0])) + Decimal(2) ** -40


def halves(first: int, second: int) -> int:
    """The word that these two make, as this machine stores them."""
    return int(np.array([first, second], np.uint16).view(np.uint32)[0])


def test_rejected_candidates_are_replaced_by_fresh_ones() -> None:
    sampler = _sampler(Fraction(10**12))
    three, five = (word_for(sampler.leading, value) for value in (3, 5))
    unused = 16 - sampler.shift
    assert 0 < unused < 16
    # Two candidates of which U = 1 - 2^-32 rejects the second, then one more, which is negative.
    first = [three, five, halves(17 << unused, 99 << unused), 0, halves(0, 2**16 - 1), halves(2**16 - 1, 0)]
    source = ScriptedSource([*first, three, halves(99 << unused, 0), 2**31 >> 24, 0])
    values = noise.discrete_gaussian(10**12, 2, source=source)
    assert list(values) == [(3 << sampler.shift) + 17, -1 - (3 << sampler.shift) - 99]
    assert source.left == []


@pytest.mark.parametrize("bits", [1, 5, 31, 32, 33, 44, 60])
def test_low_bits_are_uniform_and_complete(bits: int) -> None:
    """Every bit is 1 half of the time: 60 binomials of 20,000, each wrong beyond 7.5 deviations, 60 x 7e-14."""
    values = np.zeros(20_000, dtype=np.int64)
    _append_bits(values, bits, SeededSource(bits))
    assert values.min() >= 0
    share = [np.mean(values >> bit & 1) for bit in range(bits)]
    assert np.abs(np.array(share) - 0.5).max() < 7.5 * 0.5 / math.sqrt(20_000)
    assert not (values >> bits).any()


def test_bits_are_not_repeated() -> None:
    assert list(_bits(40, ScriptedSource([ONES, 0]))) == [1] * 32 + [0] * 8


def test_a_source_without_randomness_is_refused() -> None:
    class AllOnes(ScriptedSource):
        def words(self, count: int) -> np.ndarray:
            return np.full(count, ONES, dtype=np.uint32)

    for sigma_squared in ("0.01", 1, 10**6, 2**20):
        with pytest.raises(QueryError, match="check the source of random bits"):
            noise.discrete_gaussian(sigma_squared, 1, source=AllOnes([]))
    with pytest.raises(QueryError, match="check the source of random bits"):
        noise.discrete_gaussian(2**100, 1, source=AllOnes([]))


def test_the_largest_sigma_stays_in_range() -> None:
    draws = noise.discrete_gaussian(2**100, 10_000)
    # P(|Z| > 9 sigma) = 2e-19; the union over 10,000 draws is a false alarm of 2e-15.
    assert np.abs(draws).max() < 9 * 2**50
    assert np.median(np.abs(draws)) > 2**49


@pytest.mark.parametrize("sigma_squared", ["1/1000", Fraction(1, 10**300), "1e-12"])
def test_a_tiny_sigma_gives_zeros(sigma_squared: object) -> None:
    # P(Z != 0) < 3 exp(-500)
    assert not noise.discrete_gaussian(sigma_squared, 100_000).any()


@pytest.mark.parametrize("sigma_squared", [3, 10**8])
@pytest.mark.parametrize(
    ("size", "shape"),
    [(0, (0,)), (5, (5,)), (np.int64(3), (3,)), ((), ()), ((2, 3), (2, 3)), ([4, 0], (4, 0))],
)
def test_the_shape_is_as_asked(size: object, shape: tuple[int, ...], sigma_squared: int) -> None:
    draws = noise.discrete_gaussian(sigma_squared, size)
    assert draws.shape == shape
    assert draws.dtype == np.int64


@pytest.mark.parametrize("size", [-1, (3, -1), True, 2.0, "3", None])
def test_a_bad_size_is_refused(size: object) -> None:
    with pytest.raises(QueryError, match="number of noise draws"):
        noise.discrete_gaussian(1, size)


@pytest.mark.parametrize(
    "sigma_squared", [0, -1, Fraction(-1, 3), math.nan, math.inf, True, "abc", "1/0", None, [1], 2**100 + 1, "1e399"]
)
@pytest.mark.parametrize("function", [noise.discrete_gaussian, noise.gaussian_variance, noise.gaussian_quantile])
def test_a_bad_sigma_is_refused_everywhere(sigma_squared: object, function) -> None:
    arguments = {noise.gaussian_variance: (), noise.gaussian_quantile: ("0.5",)}.get(function, (3,))
    with pytest.raises(BlowfishError, match=r"sigma\^2 of the noise") as caught:
        function(sigma_squared, *arguments)
    assert len(str(caught.value)) < 300


def test_variances_written_in_different_ways_are_one() -> None:
    draws = [noise.discrete_gaussian(number, 50, source=SeededSource(1)) for number in ("0.5", 0.5, Fraction(1, 2))]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0], draws[2])


@pytest.mark.parametrize("sigma_squared", [10**4, 10**12])
def test_memory_is_the_result_and_a_little_more(sigma_squared: int) -> None:
    noise.discrete_gaussian(sigma_squared, 1)
    tracemalloc.start()
    noise.discrete_gaussian(sigma_squared, 2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2_000_000 + 4_000_000


def test_the_caches_are_bounded() -> None:
    for denominator in range(1, 60):
        noise.discrete_gaussian(Fraction(1, denominator), 1)
        noise.discrete_gaussian(Fraction(10**10, denominator), 1)
    module = import_module("blowfish_privacy.noise.gaussian")
    for cache in (_sampler, module._leading):
        information = cache.cache_info()
        assert information.currsize <= (information.maxsize or 0) <= 64
