import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy import noise
from blowfish_privacy.errors import QueryError

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
