from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from blowfish_privacy.errors import PolicyError, QueryError
from blowfish_privacy.support.exact import about, exact, positive, readable, show, stated_amount


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, Fraction(5)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (1e-5, Fraction(1, 100_000)),
        ("1e3", Fraction(1000)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
    ],
)
def test_numbers_are_taken_as_written(written, meant):
    assert exact(written, "x", error=PolicyError) == meant


@pytest.mark.parametrize(
    "nonsense",
    [
        True,
        None,
        "",
        "abc",
        "nan",
        float("nan"),
        float("inf"),
        "1/0",
        "1e999999999",
        "9" * 10_000,
        [],
        "٣",
        Decimal("NaN"),
        1j,
    ],
)
def test_what_is_no_finite_number_is_refused_with_a_hint(nonsense):
    with pytest.raises(PolicyError, match=r"epsilon must be a finite number.*Hint"):
        exact(nonsense, "epsilon", error=PolicyError)


def test_positive_refuses_zero_and_below():
    assert positive("0.5", "theta", error=PolicyError) == Fraction(1, 2)
    for value in (0, -1, "-0.1"):
        with pytest.raises(PolicyError, match="above 0"):
            positive(value, "theta", error=PolicyError)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Fraction(5), "5"), (Fraction(1, 20), "0.05"), (Fraction(-7, 2), "-3.5"), (Fraction(1, 3), "1/3")],
)
def test_numbers_are_shown_the_way_a_person_writes_them(number, shown):
    assert show(number) == shown
    assert Fraction(shown) == number


@pytest.mark.parametrize(
    ("text", "message"),
    [("1e400", "epsilon is too large: more than 10"), ("1e-300", "epsilon is too small: less than 10")],
)
def test_amounts_that_nobody_means_are_refused(text, message):
    with pytest.raises(QueryError, match=message):
        stated_amount(text, "epsilon", error=QueryError)
    assert stated_amount("1e15", "epsilon", error=QueryError) == 10**15
    assert stated_amount("1e-15", "epsilon", error=QueryError) == Fraction(1, 10**15)


def test_no_number_for_a_reader_is_long():
    assert (readable(Fraction(1, 3)), readable(Fraction("0.25"))) == ("1/3", "0.25")
    assert readable(Fraction("0.25" + "0" * 300 + "1")) == "0.25"
    assert [about(number) for number in (1e15, 1e300, float("inf"), 1e-300)] == [*["more than 10^15"] * 3, "1e-300"]
