import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from blowfish_privacy import noise
from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise import gaussian
from blowfish_privacy.noise.gaussian import HalfGaussianLaw
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN

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
