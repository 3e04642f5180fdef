"""Decimal attributes: which numbers are values, how far apart they are, and what is asked of them."""

from decimal import Decimal as Exact
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Decimal
from blowfish_privacy.errors import DataError, DomainError

WAGE = Decimal(0, 100, "0.25")


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Decimal(0, 1, "1/3"), "12 places, got 1/3"),
        (lambda: Decimal(0, 1, 0), "above 0"),
        (lambda: Decimal(0, 1, "0.3"), r"do not lead to 1\. Hint: end at 0\.9 or at 1\.2"),
        (lambda: Decimal(1, 0, "0.5"), "above the upper"),
        (lambda: Decimal(0, "nan", 1), "finite"),
        (lambda: Decimal(0, 10**15, "0.01"), "too many digits"),
        (lambda: Decimal(0, 1, "0.5", round="up"), "round must be"),
        (lambda: Decimal(0, 1, "0.5", missing="0.3"), "not a declared value"),
    ],
)
def test_wrong_declarations_are_refused(build, said):
    with pytest.raises(DomainError, match=said):
        build()


def test_values_are_decimals_and_distances_are_in_their_units():
    assert WAGE.size == 401
    assert WAGE.position(12.75) == WAGE.position("12.75") == WAGE.position(Exact("12.750")) == 51
    assert (WAGE.value(51), WAGE.show(51), WAGE.number(51)) == (Exact("12.75"), "12.75", Fraction(51, 4))
    assert WAGE.gap(0, 3) == Fraction(3, 4)
    assert list(WAGE.subset(("0.5", 1))) == [2, 3, 4]
    for wrong in ("0.3", -1, 101, "x", True):
        with pytest.raises(DomainError):
            WAGE.position(wrong)


def test_all_spellings_are_one_declaration():
    spelt = [WAGE, Decimal("0.0", 100.0, 0.25), Decimal(Fraction(0), Exact(100), Fraction(1, 4))]
    assert len({*spelt}) == 1
    assert WAGE.to_file() == {"decimal": [0, 100], "step": "0.25"}
    for attribute in (WAGE, Decimal("-0.5", 2, "0.1", round="down", outside="clamp", missing="0.3")):
        assert bp.domain.Attribute.read(attribute.to_file()) == attribute
        assert attribute.canonical() == bp.domain.Attribute.read(attribute.to_file()).canonical()


def test_a_column_of_any_type_of_number_is_read():
    tenths = Decimal("-0.5", "0.5", "0.1")
    wanted = [*range(11)]
    written = [f"{n / 10}" for n in range(-5, 6)]
    for column in (
        [Exact(text) for text in written],
        [Fraction(text) for text in written],
        [float(text) for text in written],
        np.array(written, dtype=np.float64),
        np.array(written, dtype=np.float32),
    ):
        assert tenths.encode(column).tolist() == wanted
    assert Decimal(0, 100, "0.5").encode(np.array([0, 7, 100], dtype=np.uint8)).tolist() == [0, 14, 200]
    clamped = Decimal(0, 1, "0.5", outside="clamp", missing=0)
    odd = [float("inf"), -np.inf, Exact("-Infinity"), None, float("nan"), 7, -(2**90)]
    assert clamped.encode(odd).tolist() == [2, 0, 0, 0, 0, 2, 0]
    for column in ([0.3], np.array([0.3]), [Exact("0.3")], [Fraction(1, 3)]):
        with pytest.raises(DataError, match=r"0\.5 apart.*round: nearest") as caught:
            clamped.encode(column)
        assert "0.3" not in str(caught.value)
    for column in (["0.5"], [True], [b"1"]):
        with pytest.raises(DataError, match="must hold numbers"):
            clamped.encode(column)


def test_numbers_between_values_are_rounded_as_declared():
    column = ["0.124", "0.125", "0.25", "0.374", "0.375"]
    for cast in (float, Exact, Fraction):
        given_column = [cast(text) for text in column]
        assert Decimal(0, 1, "0.25", round="nearest").encode(given_column).tolist() == [0, 1, 1, 1, 2]
        assert Decimal(0, 1, "0.25", round="down").encode(given_column).tolist() == [0, 0, 1, 1, 1]


@given(st.integers(-(2**20), 2**20), st.sampled_from(["0.1", "0.25", "0.007", "3", "0.000001"]), st.floats(0, 1))
def test_every_value_is_itself_as_a_float_and_between_two_values_the_rule_decides(first, step, part):
    low = first * Fraction(step)
    bounds = (low, low + 20 * Fraction(step), step)
    values = [low + n * Fraction(step) for n in range(21)]
    assert Decimal(*bounds).encode(np.array([float(value) for value in values])).tolist() == [*range(21)]
    between = np.clip([float(value) + part * float(Fraction(step)) for value in values[:-1]], None, float(values[-1]))
    down = Decimal(*bounds, round="down").encode(between)
    nearest = Decimal(*bounds, round="nearest").encode(between)
    for position, (float_value, below, near) in enumerate(zip(between, down, nearest, strict=True)):
        assert float(values[below]) <= float_value or abs(float_value - float(values[below])) < 1e-6 * abs(float_value)
        assert below in (position, position + 1)
        assert near in (below, below + 1)
        assert abs(Fraction(float(float_value)) - values[near]) <= Fraction(step) * Fraction(51, 100)


def test_sums_and_means_count_whole_multiples():
    domain = bp.Domain(wage=Decimal("0.1", "1.1", "0.25"), sex=bp.Categorical(["f", "m"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(wage=bp.DistanceThreshold("0.5"), sex=bp.FullDomain()))
    form = bp.Sum("wage").on(domain)
    assert form.unit == Fraction(1, 20)
    assert [form.unit * form.column((p,))[0] for p in range(5)] == [
        Fraction(1, 10) + p * Fraction(1, 4) for p in range(5)
    ]
    assert bp.sensitivity(bp.Sum("wage"), policy).value == Fraction(1, 2)
    assert bp.sensitivity(bp.Cumulative("wage"), policy).value == 2
    counts = np.arange(10).reshape(5, 2)
    session = bp.Session(bp.Counts(counts), policy, budget=1000)
    exact = sum((Fraction(1, 10) + p * Fraction(1, 4)) * int(counts[p].sum()) for p in range(5))
    assert abs(session.release(bp.Sum("wage"), epsilon=100).value - float(exact)) < 1
    assert abs(session.release(bp.Mean("wage"), epsilon=100).value - float(exact) / 45) < 0.05
    assert session.release(bp.Quantiles("wage", ["0.5"]), epsilon=100).quantile("0.5") == Exact("0.85")
    secret = bp.Policy(domain, secrets=policy.secrets, size="unknown")
    hidden = bp.Session(bp.Counts(counts), secret, budget=1000).release(bp.Mean("wage"), epsilon=200)
    assert abs(hidden.value - float(exact) / 45) < 0.05
    plain = bp.Policy(bp.Domain(wage=bp.Integer(0, 4)), secrets=bp.DistanceThreshold(2), size="unknown")
    narrow = bp.Policy(bp.Domain(wage=domain["wage"]), secrets=bp.DistanceThreshold("0.5"), size="unknown")
    errors = [
        bp.Session(bp.Counts([1] * 5), each, budget=1).plan(bp.Mean("wage"), epsilon=1) for each in (plain, narrow)
    ]
    coarse, fine = (plan.expected_error() for plan in errors)
    assert fine.rmse == coarse.rmse / 4
    assert fine.interval("0.95") == coarse.interval("0.95") / 4


def test_widths_of_blocks_are_in_the_units_of_the_values():
    policy = bp.Policy(bp.Domain(wage=WAGE), secrets=bp.Partition(widths={"wage": "2.5"}))
    assert policy.distance({"wage": 0}, {"wage": "2.25"}) == 1
    assert policy.distance({"wage": 0}, {"wage": "2.5"}) == float("inf")
    with pytest.raises(bp.PolicyError, match=r"multiple of 0\.25, got 0\.3"):
        bp.Policy(bp.Domain(wage=WAGE), secrets=bp.Partition(widths={"wage": "0.3"}))


def test_clusters_lie_among_the_values():
    domain = bp.Domain(a=Decimal(0, 5, "0.5"), b=Decimal("-0.2", "0.2", "0.1"))
    counts = np.zeros(domain.shape, dtype=np.int64)
    counts[2, 0], counts[9, 4] = 3000, 5000
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain()), budget=1000)
    centres = sorted(session.release(bp.KMeans(["a", "b"], k=2), epsilon=100).centers.tolist())
    np.testing.assert_allclose(centres, [[1, -0.2], [4.5, 0.2]], atol=0.3)
