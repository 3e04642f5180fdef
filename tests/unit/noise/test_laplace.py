import math
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy import noise
from blowfish_privacy.errors import BlowfishError, QueryError
from blowfish_privacy.noise import laplace
from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.laplace import GeometricLaw, _sampler, both_within
from blowfish_privacy.testing.seeded import SeededSource
from unit.noise.reference import ScriptedSource

ONES = 2**32 - 1


def word_for(digit: Digit, value: int) -> int:
    """A word that gives this value without any doubt: one above the threshold before it."""
    word = 0 if value == 0 else int(digit.thresholds[value - 1]) + 1
    following = int(digit.thresholds[value]) if value < digit.beyond else 2**32
    assert word < following, "this value has no unambiguous word"
    return word


@settings(deadline=None)
@given(
    scale=st.sampled_from([Fraction(5), Fraction(1000), Fraction(10**6), Fraction(10**9), Fraction(2**50)]),
    data=st.data(),
)
def test_the_digits_make_the_number(scale: Fraction, data: st.DataObject) -> None:
    """|Z| = magnitude + sign digit: the identity the proof turns on, and each Z has one set of digits."""
    sampler = _sampler(scale)
    longest = int(5 * scale / 1024 ** len(sampler.digits)) + 1
    leading = data.draw(st.integers(min_value=0, max_value=longest))
    digits = [data.draw(st.integers(min_value=0, max_value=1023)) for _ in sampler.digits]
    sign = data.draw(st.integers(min_value=0, max_value=1))
    source = ScriptedSource(
        [
            word_for(sampler.leading, leading),
            *[word_for(table, value) for table, value in zip(sampler.digits, digits, strict=True)],
            word_for(sampler.sign, sign),
        ]
    )
    magnitude = leading
    for value in digits:
        magnitude = magnitude * 1024 + value
    assert noise.discrete_laplace(scale, 1, source=source)[0] == (-1 - magnitude if sign else magnitude)
    assert source.left == []


@pytest.mark.parametrize(
    ("scale", "weights"),
    [
        (Fraction(1, 3), []),
        (Fraction(1024), []),
        (Fraction(1025), [1]),
        (Fraction(1024**2 + 1), [1024, 1]),
        (Fraction(2**50), [1024**3, 1024**2, 1024, 1]),
    ],
    ids=str,
)
def test_each_digit_has_the_law_of_its_weight(scale: Fraction, weights: list[int]) -> None:
    sampler = _sampler(scale)
    assert sampler.sign.law == GeometricLaw(1 / scale, 2)
    assert [digit.law for digit in sampler.digits] == [GeometricLaw(weight / scale, 1024) for weight in weights]
    assert all(digit.beyond == 1023 for digit in sampler.digits)
    assert sampler.leading.law == GeometricLaw(1024 ** len(weights) / scale)


def test_a_draw_past_the_table_continues_behind_it() -> None:
    """Scale 10: the leading table has 139 entries; three draws past it and then a 7 make 3 x 139 + 7."""
    sampler = _sampler(Fraction(10))
    assert sampler.leading.beyond == 139
    after = word_for(sampler.leading, 7)
    plus = word_for(sampler.sign, 0)
    source = ScriptedSource([ONES, ONES, ONES, after, plus])
    assert list(noise.discrete_laplace(10, 1, source=source)) == [3 * 139 + 7]
    assert source.left == []


def test_only_the_draws_past_the_table_are_drawn_again() -> None:
    sampler = _sampler(Fraction(10))
    two, five = (word_for(sampler.leading, value) for value in (2, 5))
    plus, minus = (word_for(sampler.sign, value) for value in (0, 1))
    source = ScriptedSource([two, ONES, five, ONES, ONES, five, two, plus, minus, minus, plus])
    # Places 1 and 3 restart: place 1 once more, then place 1 ends at 2 x 139 + 2 and place 3 at 139 + 5.
    assert list(noise.discrete_laplace(10, 4, source=source)) == [2, -1 - (2 * 139 + 2), -6, 139 + 5]


def test_a_draw_that_would_leave_64_bits_is_refused_and_never_wraps() -> None:
    class AllOnes(ScriptedSource):
        def words(self, count: int) -> np.ndarray:
            return np.full(count, ONES, dtype=np.uint32)

    with pytest.raises(QueryError, match="does not fit 64-bit integers"):
        noise.discrete_laplace(2**50, 1, source=AllOnes([]))


def test_the_largest_scale_stays_in_range() -> None:
    draws = noise.discrete_laplace(2**50, 10_000)
    # P(|Z| > 40 scales) = exp(-40); the union over 10,000 draws is a false alarm of 5e-14.
    assert np.abs(draws).max() < 40 * 2**50
    assert np.median(np.abs(draws)) > 2**48


@pytest.mark.parametrize("scale", ["1/1000", Fraction(1, 10**300), "1e-12"])
def test_a_tiny_scale_gives_zeros(scale: object) -> None:
    # P(Z != 0) < 2 exp(-1000)
    assert not noise.discrete_laplace(scale, 100_000).any()


@pytest.mark.parametrize(
    ("size", "shape"),
    [(0, (0,)), (5, (5,)), (np.int64(3), (3,)), ((), ()), ((2, 3), (2, 3)), ([4, 0], (4, 0))],
)
def test_the_shape_is_as_asked(size: object, shape: tuple[int, ...]) -> None:
    draws = noise.discrete_laplace(3, size)
    assert draws.shape == shape
    assert draws.dtype == np.int64


@pytest.mark.parametrize("size", [-1, (3, -1), True, 2.0, "3", None, (2, "x"), math.nan, np.array([1, 2])])
def test_a_bad_size_is_refused(size: object) -> None:
    with pytest.raises(QueryError, match="number of noise draws"):
        noise.discrete_laplace(1, size)


@pytest.mark.parametrize(
    "scale",
    [
        0,
        -1,
        Fraction(-1, 3),
        math.nan,
        math.inf,
        -math.inf,
        True,
        "abc",
        "1/0",
        None,
        [1],
        2**50 + 1,
        "1e399",
    ],
)
@pytest.mark.parametrize("function", [noise.discrete_laplace, noise.variance, noise.quantile])
def test_a_bad_scale_is_refused_everywhere(scale: object, function) -> None:
    arguments = () if function is noise.variance else ("0.5",) if function is noise.quantile else (3,)
    with pytest.raises(BlowfishError, match="noise scale") as caught:
        function(scale, *arguments)
    assert len(str(caught.value)) < 300


def test_scales_written_in_different_ways_are_one_scale() -> None:
    draws = [noise.discrete_laplace(scale, 50, source=SeededSource(1)) for scale in ("0.5", 0.5, Fraction(1, 2))]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0], draws[2])


def test_memory_is_the_result_and_a_little_more() -> None:
    noise.discrete_laplace(10**6, 1)
    tracemalloc.start()
    noise.discrete_laplace(10**6, 2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2_000_000 + 3_000_000


def test_the_cache_is_bounded() -> None:
    for denominator in range(1, 60):
        noise.discrete_laplace(Fraction(1, denominator), 1)
    information = _sampler.cache_info()
    assert information.currsize <= (information.maxsize or 0) <= 64


scales = st.fractions(min_value=Fraction(1, 500), max_value=2**50).filter(bool)


def ratio(scale: Fraction) -> Decimal:
    return (-Decimal(scale.denominator) / scale.numerator).exp()


@settings(deadline=None)
@given(scale=scales)
def test_the_variance_has_twelve_digits_and_is_below_the_continuous_one(scale: Fraction) -> None:
    with localcontext() as context:
        context.prec = 80
        q = ratio(scale)
        true = float(2 * q / (1 - q) ** 2)
    assert noise.variance(scale) == pytest.approx(true, rel=1e-12)
    assert noise.variance(scale) <= 2 * float(scale) ** 2 * (1 + 1e-12)


def test_the_variance_at_known_places() -> None:
    # q = 1/e: 2 e^-1 / (1 - e^-1)^2 = 1.841347...; large scale: 2 b^2 - 1/6 + O(1 / b^2)
    assert noise.variance(1) == pytest.approx(1.8413471884155848, rel=1e-14)
    assert noise.variance(1000) == pytest.approx(2e6 - 1 / 6, rel=1e-12)
    assert noise.variance(Fraction(1, 10**300)) == 0.0


@settings(deadline=None)
@given(scale=scales, level=st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(10**12 - 1, 10**12)))
def test_the_quantile_is_the_smallest_that_reaches_the_level(scale: Fraction, level: Fraction) -> None:
    bound = noise.quantile(scale, level)
    with localcontext() as context:
        context.prec = 80
        q = ratio(scale)
        reached = [1 - 2 * q ** (t + 1) / (1 + q) for t in (bound, bound - 1)]
        wanted = Decimal(level.numerator) / level.denominator
    assert reached[0] >= wanted
    assert bound == 0 or reached[1] < wanted


def test_the_quantile_at_known_places() -> None:
    # Scale 1: P(Z = 0) = (e - 1) / (e + 1) = 0.4621, P(|Z| <= 1) = 1 - 2 e^-2 / (1 + e^-1) = 0.8021
    assert noise.quantile(1, "0.46") == 0
    assert noise.quantile(1, "0.47") == 1
    assert noise.quantile(1, "0.81") == 2
    assert noise.quantile(Fraction(1, 10**300), "0.999999") == 0
    # A level no float can hold: P(|Z| > t) = 10^-390 is reached at 390 ln 10 = 898.0 scales.
    assert noise.quantile(100, 1 - Fraction(1, 10**390)) == pytest.approx(100 * 390 * math.log(10), abs=2)


@pytest.mark.parametrize("error", [-30, -1, 1, 30])
def test_the_quantile_does_not_depend_on_where_the_search_starts(error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = noise.quantile(100, "0.95")
    monkeypatch.setattr("blowfish_privacy.noise.laplace._hint", lambda rate, miss: right + error)
    assert noise.quantile(100, "0.95") == right


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, math.nan, "abc", True, None])
def test_a_bad_level_is_refused(level: object) -> None:
    with pytest.raises(QueryError, match="level"):
        noise.quantile(1, level)


# Bounds on two draws together, beside the law of the draws, added up.


SCALES = [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(20)]

FACTORS = [0.0, 0.3, 1.0, 4.5]


def held(first: Fraction, times: float, second: Fraction, other: float, bound: float) -> float:
    """Add up how likely two draws are that are within a bound together; what is left out is less than 1e-12."""
    laws = []
    for scale in (first, second):
        draws = np.arange(-int(30 * scale) - 3, int(30 * scale) + 4)
        q = exp(-1 / scale)
        laws.append((draws, (1 - q) / (1 + q) * q ** np.abs(draws)))
    (draws, chances), (others, their_chances) = laws
    together = np.abs(times * draws[:, None] + other * others[None])
    return float((np.outer(chances, their_chances) * (together <= bound + 1e-9)).sum())


@pytest.mark.parametrize("level", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize(("times", "other"), [*product([0.5, 1.0], FACTORS)])
def test_bounds_hold_at_least_as_often_as_they_say(times, other, level):
    for first, second in product(SCALES, SCALES):
        bound = both_within(first, times, second, -other, level)
        assert held(first, times, second, other, bound) >= float(level) - 1e-12


@pytest.mark.parametrize("level", ["0.5", "0.95", "0.999"])
def test_bounds_hold_hardly_more_often_where_the_noise_is_large(level):
    for first, second, other in product([Fraction(40), Fraction(60)], [Fraction(40), Fraction(10)], [0.5, 1.0, 2.0]):
        bound = both_within(first, 1.0, second, other, level)
        assert held(first, 1.0, second, other, bound) < float(level) + 0.1 * (1 - float(level)) + 0.01
        # Nine tenths of it would be too little.
        assert held(first, 1.0, second, other, 0.9 * bound) < float(level)


def test_noise_of_nearly_equal_scales_is_bounded_alike():
    alike, near, far = (
        laplace._added(1000.0, 1000.0 * (1 - share), 0.05) for share in (0.0, 2e-6, 1e-3)
    )  # fmt: skip
    assert near == pytest.approx(alike, rel=1e-5)
    assert far == pytest.approx(alike, rel=1e-3)


def test_one_draw_has_its_own_bound_and_none_has_none():
    assert both_within(Fraction(5), 2.0, Fraction(0), 7.0, "0.95") == 2 * both_within(
        Fraction(5), 1.0, Fraction(3), 0.0, "0.95"
    )
    assert both_within(Fraction(0), 1.0, Fraction(0), 1.0, "0.95") == 0
    with pytest.raises(QueryError, match="between 0 and 1"):
        both_within(Fraction(5), 1.0, Fraction(3), 1.0, 1)
