import math
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from importlib import import_module

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from blowfish_privacy import noise
from blowfish_privacy.errors import BlowfishError, QueryError
from blowfish_privacy.noise import DISCRETE_GAUSSIAN, gaussian
from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.gaussian import (
    HalfGaussianLaw,
    _append_bits,
    _bits,
    _Composed,
    _exponential_bounds,
    _sampler,
    tail_sums,
)
from blowfish_privacy.testing.seeded import SeededSource
from unit.noise import chi_square
from unit.noise.reference import DIGITS, ScriptedSource, floor_times_power_of_two

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


# Is it the right Gaussian distribution? Each test also shows that it would notice the wrong one.
#
# The bits are those that belong to each test's name, so no test fails by chance. With other bits, a right sampler
# would be rejected with a probability of about 1e-9 (``FALSE_ALARM``) per test.


FALSE_ALARM = 1e-9

COUNT = 1_000_000

SIGMAS = [
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(100),
    Fraction(1000),
    Fraction(1024),
    Fraction(1025),
    Fraction(10_001, 7),
    Fraction(50_000),
    Fraction(10**6),
    Fraction(10**9),
]


def cumulative(sigma: Fraction, places: np.ndarray) -> np.ndarray:
    """P(Z <= z): a sum of all weights, or from sigma 100 on the integral to z + 1/2.

    By the formula of Euler and Maclaurin the integral is wrong by z phi(z / sigma) / (24 sigma^3) at most, below
    2e-6 at sigma 100, where 10^6 draws do not see less than 1e-4.
    """
    if sigma >= 100:
        root = math.sqrt(2) * float(sigma)
        return np.array([(1 + math.erf((float(z) + 0.5) / root)) / 2 for z in places])
    values = np.arange(-int(12 * sigma) - 4, int(12 * sigma) + 5)
    weights = np.exp(-(values**2) / (2 * float(sigma) ** 2))
    return np.array([weights[values <= z].sum() for z in places]) / weights.sum()


def cuts(sigma: Fraction) -> np.ndarray:
    """About 60 cut points; the outermost leave at least 5e-5 on each side, 50 of 10^6 draws."""
    levels = np.concatenate([[1e-4, 1e-3], np.linspace(0.01, 0.5, 28)])
    deep = np.array([noise.gaussian_quantile(sigma**2, str(1 - 2 * level + 1e-12)) for level in levels])
    places = np.unique(np.concatenate([-deep - 1, deep]))
    below = cumulative(sigma, places)
    return places[(below > 5e-5) & (below < 1 - 5e-5)]


def p_value(draws: np.ndarray, sigma: Fraction) -> float:
    places = cuts(sigma)
    return chi_square.p_value(draws, places, cumulative(sigma, places))


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_distribution_is_the_exact_one(sigma: Fraction) -> None:
    assert p_value(noise.discrete_gaussian(sigma**2, COUNT), sigma) > FALSE_ALARM


@pytest.mark.parametrize("mutation", [Fraction(49, 50), Fraction(51, 50)], ids=["too little", "too much"])
@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_two_percent_of_noise_too_little_or_too_much_is_noticed(sigma: Fraction, mutation: Fraction) -> None:
    assert p_value(noise.discrete_gaussian((sigma * mutation) ** 2, COUNT), sigma) < FALSE_ALARM


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_tails_cut_off_are_noticed(sigma: Fraction) -> None:
    """Draws past three deviations are brought back to there: 0.3 percent of them."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)
    end = math.floor(3 * sigma) if sigma > 1 else 0 if sigma < 1 else 2
    assert p_value(np.clip(draws, -end, end), sigma) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(10)], ids=str)
def test_a_sampler_that_counts_zero_twice_is_noticed(sigma: Fraction) -> None:
    """The half of the bell from 0 on, with a fair sign: zero comes up twice as often as it should."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)
    kept = draws[draws >= 0]
    signs = 1 - 2 * (noise.SystemSource().words(len(kept)) & np.uint32(1)).astype(np.int64)
    assert p_value(kept * signs, sigma) < FALSE_ALARM


def test_rounded_floats_are_noticed() -> None:
    rounded = np.rint(np.random.default_rng().normal(0, 1, COUNT)).astype(np.int64)
    assert p_value(rounded, Fraction(1)) < FALSE_ALARM


SMALL = [(Fraction(7), 1), (Fraction(50), 2), (Fraction(33), 2), (Fraction(997, 3), 4)]


def every_value_p_value(draws: np.ndarray, sigma_squared: Fraction) -> float:
    """Chi-square with one cell for every value of at least 5e-5."""
    values = np.arange(-200, 201)
    weights = np.exp(-(values**2) / (2 * float(sigma_squared)))
    below = np.cumsum(weights) / weights.sum()
    kept = (below > 5e-5) & (below < 1 - 5e-5)
    return chi_square.p_value(draws, values[kept], below[kept])


@pytest.mark.parametrize(("sigma_squared", "leading"), SMALL, ids=str)
def test_the_way_of_large_sigmas_is_right_for_small_ones(
    sigma_squared: Fraction, leading: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With leading digits of 1 to 4 in place of 64 most candidates are rejected, and every value is seen often."""
    monkeypatch.setattr(import_module(_Composed.__module__), "_LEADING_SIGMA", leading)
    sampler = _Composed.of(sigma_squared)
    draws = sampler.draw(40_000, noise.SystemSource())
    assert every_value_p_value(draws, sigma_squared) > FALSE_ALARM
    # Mutants: everything is accepted; the sign does not count; one value of the low bits is missing.
    everything = _Composed(sigma_squared, sampler.shift, sampler.width, sampler.leading, sampler.accepted | 2**16 - 1)
    assert every_value_p_value(everything.draw(40_000, noise.SystemSource()), sigma_squared) < FALSE_ALARM
    assert every_value_p_value(np.where(draws < 0, draws + 1, draws), sigma_squared) < FALSE_ALARM
    assert every_value_p_value(draws[draws != 1], sigma_squared) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(10**6), Fraction(10**9)], ids=str)
def test_the_last_bits_of_a_large_sigma_are_uniform(sigma: Fraction) -> None:
    """Of (sign, z modulo 1024), 2 x 1024 cells, whose probabilities differ by a share of 4e-4 at sigma 10^6."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)

    def cells(values: np.ndarray) -> float:
        observed = np.bincount((values < 0) * 1024 + values % 1024, minlength=2048)
        return chi_square.of_cells(observed, np.full(2048, 1 / 2048))

    assert cells(draws) > FALSE_ALARM
    assert cells(draws // 2 * 2) < FALSE_ALARM
    assert cells(np.where(draws < 0, draws | 1, draws)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [1, 10, 300])
def test_opendp_draws_from_the_same_distribution(sigma: int) -> None:
    """Two-sample chi-square against an independent exact sampler, and ten percent off on both sides."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), prelude.l2_distance(T=float)
    theirs = np.array(prelude.m.make_gaussian(*space, scale=float(sigma))([0] * 50_000))
    places = cuts(Fraction(sigma))[2:-2]
    assert chi_square.two_sample_p_value(noise.discrete_gaussian(sigma**2, COUNT), theirs, places) > FALSE_ALARM
    for mutation in (Fraction(9, 10), Fraction(11, 10)):
        ours = noise.discrete_gaussian((sigma * mutation) ** 2, COUNT)
        assert chi_square.two_sample_p_value(ours, theirs, places) < FALSE_ALARM


levels = st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(10**12 - 1, 10**12))


def weights(sigma_squared: Fraction) -> list[Decimal]:
    """``exp(-k^2 / (2 sigma^2))`` down to 10^-60, in the precision of the context."""
    rate = Decimal(sigma_squared.denominator) / (2 * sigma_squared.numerator)
    return [(-rate * k * k).exp() for k in range(int((2 * 140 * float(sigma_squared)) ** 0.5) + 3)]


@settings(deadline=None)
@given(sigma_squared=st.fractions(min_value=Fraction(1, 200), max_value=100, max_denominator=1000))
@example(sigma_squared=Fraction(4))
@example(sigma_squared=Fraction(3999, 1000))
def test_the_variance_has_twelve_digits_and_is_below_the_continuous_one(sigma_squared: Fraction) -> None:
    with localcontext() as context:
        context.prec = 80
        terms = weights(sigma_squared)
        true = float(2 * sum(k * k * term for k, term in enumerate(terms)) / (2 * sum(terms) - 1))
    assert noise.gaussian_variance(sigma_squared) == pytest.approx(true, rel=1e-12)
    assert noise.gaussian_variance(sigma_squared) <= float(sigma_squared) * (1 + 1e-15)


def test_the_variance_of_extremes() -> None:
    assert noise.gaussian_variance(Fraction(1, 10**300)) == 0.0
    assert noise.gaussian_variance(2**100) == 2.0**100


@settings(deadline=None)
@given(
    sigma_squared=st.one_of(
        st.fractions(min_value=Fraction(1, 200), max_value=100, max_denominator=1000),
        st.integers(min_value=100, max_value=5000).map(Fraction),
    ),
    level=levels,
)
def test_the_quantile_is_the_smallest_that_reaches_the_level(sigma_squared: Fraction, level: Fraction) -> None:
    bound = noise.gaussian_quantile(sigma_squared, level)
    with localcontext() as context:
        context.prec = 80
        terms = weights(sigma_squared)
        total = 2 * sum(terms) - 1
        reached = [(2 * sum(terms[: t + 1]) - 1) / total for t in (bound, bound - 1)]
        wanted = Decimal(level.numerator) / level.denominator
    assert reached[0] >= wanted
    assert bound == 0 or reached[1] < wanted


@settings(deadline=None, max_examples=60)
@given(
    sigma_squared=st.integers(min_value=130, max_value=200_000).map(Fraction),
    deviations=st.floats(min_value=0, max_value=7),
    bits=st.sampled_from([64, 100, 128]),
)
def test_the_integral_encloses_the_sum(sigma_squared: Fraction, deviations: float, bits: int) -> None:
    """Two ways to the same probability, which share nothing but the exponential function."""
    bound = int(deviations * math.sqrt(sigma_squared))
    integral = gaussian._tail_by_integral(bound, sigma_squared, bits)
    exact = HalfGaussianLaw(sigma_squared, Fraction(1, 2)).survival(bound, bits + 64)
    assert integral.low <= exact.high >> 64
    assert exact.low >> 64 <= integral.high
    # Narrow: to a share of (2 + x)^2 / sigma^2 of itself.
    assert integral.high - integral.low <= 2 + integral.high * (2 + deviations) ** 2 / sigma_squared


@settings(deadline=None)
@given(
    sigma=st.integers(min_value=1025, max_value=2**50),
    miss=st.floats(min_value=1e-12, max_value=0.999),
)
def test_a_large_quantile_is_that_of_the_continuous_law(sigma: int, miss: float) -> None:
    # The sum over |z| <= t is the integral to t + 1/2, up to a share of 1/sigma^2.
    continuous = float(stats.norm.isf(miss / 2)) * sigma - 0.5
    found = noise.gaussian_quantile(sigma**2, 1 - Fraction(miss))
    assert continuous - 0.01 - 1e-12 * sigma <= found <= continuous + 1.01 + 1e-12 * sigma


def test_the_quantile_at_known_places() -> None:
    # sigma 1: P(0) = 1 / 2.506628 = 0.39894, P(|Z| <= 1) = 0.39894 (1 + 2 exp(-1/2)) = 0.88289
    assert noise.gaussian_quantile(1, "0.398") == 0
    assert noise.gaussian_quantile(1, "0.399") == 1
    assert noise.gaussian_quantile(1, "0.883") == 2
    assert noise.gaussian_quantile(10**12, "0.95") == 1_959_964
    assert noise.gaussian_quantile(Fraction(1, 10**300), "0.999999") == 0
    # A level no float can hold: x = 42.2856 solves x^2/2 + log(x sqrt(pi/2)) = 390 log 10.
    for sigma in (100, 10**4, 10**9):
        bound = noise.gaussian_quantile(sigma**2, 1 - Fraction(1, 10**390))
        assert bound == pytest.approx(42.2856 * sigma, rel=1e-5, abs=1)


def test_pi_is_enclosed() -> None:
    digits = int("31415926535897932384626433832795028841971693993751")
    for bits in (8, 64, 160):
        low, high = gaussian._pi(bits)
        assert low <= Fraction(digits + 1, 10**49) * 2**bits
        assert high >= Fraction(digits, 10**49) * 2**bits
        assert high - low <= 3


@pytest.mark.parametrize("error", [-300, -30, -1, 1, 30, 300])
@pytest.mark.parametrize("sigma", [3, 100, 10**6])
def test_the_quantile_does_not_depend_on_where_the_search_starts(
    error: int, sigma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = noise.gaussian_quantile(sigma**2, "0.95")
    monkeypatch.setattr(gaussian, "_hint", lambda sigma_squared, miss: max(0, right + error))
    assert noise.gaussian_quantile(sigma**2, "0.95") == right


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, math.nan, "abc", True, None])
def test_a_bad_level_is_refused(level: object) -> None:
    with pytest.raises(QueryError, match="level"):
        noise.gaussian_quantile(1, level)


def test_the_law_is_told_by_sigma_squared() -> None:
    assert DISCRETE_GAUSSIAN.variance(Fraction(100)) == 100.0
    assert DISCRETE_GAUSSIAN.quantile(Fraction(100), "0.95") == 20


# Tables of Gaussian magnitudes, against sums made by the decimal module.


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
