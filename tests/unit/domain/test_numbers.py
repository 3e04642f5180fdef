from decimal import Decimal as Exact
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Bin, Binned, Categorical, Decimal, Domain, Integer, Subset
from blowfish_privacy.errors import DataError, DomainError


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Integer(5, 4), "above the upper"),
        (lambda: Integer(0.5, 4), "whole numbers"),
        (lambda: Integer(True, 4), "whole numbers"),
        (lambda: Integer(0, 2**63), "2\\^61"),
        (lambda: Integer(0, 4, outside="ignore"), "outside must be"),
        (lambda: Integer(0, 4, missing=9), "outside 0..4"),
        (lambda: Integer(0, 4, missing=None), "missing"),
        (lambda: Categorical([]), "at least one"),
        (lambda: Categorical("abc"), "must be a list"),
        (lambda: Categorical(["a", "a"]), "listed twice"),
        (lambda: Categorical(["a", 1]), "all text"),
        (lambda: Categorical([1.5]), "Binned"),
        (lambda: Categorical(["a"], outside="clamp"), "cannot be clamped"),
        (lambda: Categorical(["a"], missing="b"), "not a declared category"),
        (lambda: Binned([1]), "at least two"),
        (lambda: Binned([1, 1]), "must increase"),
        (lambda: Binned([0, float("nan")]), "finite"),
        (lambda: Binned([1, "1.00000000000000000001"]), "too close"),
        (lambda: Domain(), "at least one attribute"),
        (lambda: Domain(a=3), "must be an attribute"),
        (lambda: Domain({"": Integer(0, 1)}), "printable"),
        (lambda: Domain({"a\n": Integer(0, 1)}), "printable"),
    ],
)
def test_wrong_declarations_are_refused(build, said):
    with pytest.raises(DomainError, match=said):
        build()


def test_values_and_positions():
    assert Integer(17, 90).position(30) == 13
    assert Categorical(["a", "b"]).position("b") == 1
    assert Categorical([True, False]).value(1) is False
    wage = Binned([0, 10, "20.5", 100])
    assert [wage.position(x) for x in (0, 9.99, 10, Fraction(41, 2), 99)] == [0, 0, 1, 2, 2]
    assert wage.value(1) == Bin(Fraction(10), Fraction(41, 2))
    assert wage.position(wage.value(2)) == 2
    assert wage.show(1) == "[10, 20.5)"
    for attribute, value in (
        (Integer(0, 1), 2),
        (Integer(0, 1), True),
        (Categorical([1]), True),
        (wage, 100),
        (wage, -1),
    ):
        with pytest.raises(DomainError):
            attribute.position(value)


def test_the_upper_edge_is_outside_and_the_hint_says_so():
    with pytest.raises(DomainError, match="does not include its upper edge"):
        Binned([0, 10]).position(10)


def test_bins_are_as_far_apart_as_their_closest_members():
    bins = Binned([0, 10, 30, 60])
    assert bins.gap(0, 1) == 0
    assert bins.gap(2, 0) == 20
    with pytest.raises(DomainError, match="no distance"):
        Categorical(["a", "b"]).gap(0, 1)


def test_choices_of_values():
    age = Integer(10, 20)
    assert list(age.subset((12, 14))) == [2, 3, 4]
    assert list(age.subset([20, 10])) == [0, 10]
    assert list(age.subset(range(11, 13))) == [1, 2]
    assert list(Binned([0, 1, 2, 3]).subset((1, 3))) == [1, 2]
    assert list(Binned([0, 1, 2, 3]).subset([(0, 1), (2, 3)])) == [0, 2]
    assert list(Categorical(["a", "b"]).subset("b")) == [1]
    for attribute, chosen in (
        (age, (14, 12)),
        (age, (1, 2, 3)),
        (age, (9, 12)),
        (Categorical(["a", "b"]), ("a", "b")),
        (Binned([0, 1, 2]), (0, 1.5)),
        (Binned([0, 1, 2]), 0.5),
        (Binned([0, 1, 2]), (1, 1)),
    ):
        with pytest.raises(DomainError):
            attribute.subset(chosen)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_subsets_behave_like_sets(one, other):
    first, second = Subset.of(one), Subset.of(other)
    assert set(first) == one
    assert len(first) == len(one)
    assert set(first & second) == one & other
    assert (first <= second) == (one <= other)
    assert all((place in first) == (place in one) for place in range(-1, 33))
    assert (first == second) == (one == other)


def test_columns_are_encoded_as_declared():
    assert Integer(0, 9).encode(np.array([0, 9, 3], dtype=np.uint8)).tolist() == [0, 9, 3]
    assert Integer(-5, 5, outside="clamp").encode([-100, 2**200, 0]).tolist() == [0, 10, 5]
    assert Integer(0, 9, missing=0).encode([None, 4, float("nan"), pd.NA]).tolist() == [0, 4, 0, 0]
    assert Integer(0, 9).encode(np.array([2**64 - 1], dtype=np.uint64) * 0).tolist() == [0]
    assert Categorical(["x", "y"]).encode(np.array(["y", "x", "y"])).tolist() == [1, 0, 1]
    assert Categorical(["x", "?"], missing="?").encode(["x", None]).tolist() == [0, 1]
    assert Categorical([3, 5]).encode(np.array([5, 3])).tolist() == [1, 0]
    assert Binned([0, 0.1, 1]).encode(np.array([0.1, 0.05, 0.999])).tolist() == [1, 0, 1]
    assert Binned([0, "0.5", 2]).encode(np.array([0, 1])).tolist() == [0, 1]
    assert Binned([0, 1], outside="clamp").encode([-5.0, 7]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        (Integer(0, 9), [3.5]),
        (Integer(0, 9), np.array([3.5])),
        (Integer(0, 9), ["3"]),
        (Integer(0, 9), [True]),
        (Integer(0, 9), [None]),
        (Integer(0, 9), [10]),
        (Integer(0, 9), np.array([2**64 - 1], dtype=np.uint64)),
        (Integer(-(2**61), 0), np.array([2**63], dtype=np.uint64)),
        (Integer(0, 9), np.array([[1]])),
        (Categorical(["a"]), ["b"]),
        (Categorical(["a"]), [1]),
        (Categorical([1]), [True]),
        (Categorical(["a"]), [None]),
        (Binned([0, 1]), [float("inf")]),
        (Binned([0, 1]), np.array([np.inf])),
        (Binned([0, 1]), np.array([np.nan])),
        (Binned([0, 1]), ["0.5"]),
        (Binned([0, 1]), [1]),
        (Binned([0, 1]), np.array([1])),
        (Binned([0, 1]), [True]),
        (Binned([2**40, 2**41]), np.array([5], dtype=np.int8)),
        (Binned([0, 2**41]), np.array([-5], dtype=np.int8)),
    ],
)
def test_data_that_do_not_fit_are_refused_without_showing_them(attribute, column):
    with pytest.raises(DataError) as caught:
        attribute.encode(column)
    assert "18446744073709551615" not in str(caught.value)


@given(
    st.lists(st.integers(-300, 300), min_size=1),
    st.sampled_from([np.int8, np.int16, np.int64, np.uint8, object, float]),
)
def test_binned_columns_agree_with_one_value_at_a_time(values, dtype):
    bins = Binned([-250, "-100.5", 0, "0.5", 127, 128, "200.25", 260], outside="clamp")
    if dtype in (np.int8, np.uint8):
        values = [value % 100 for value in values]
    column = np.array(values, dtype=dtype)
    one_by_one = [min(max(sum(value >= edge for edge in bins.bounds) - 1, 0), bins.size - 1) for value in values]
    assert bins.encode(column).tolist() == one_by_one


def test_small_number_types_do_not_overflow():
    assert Integer(300, 400, outside="clamp").encode(np.array([1], dtype=np.uint8)).tolist() == [0]
    assert Integer(-10, -5, outside="clamp").encode(np.array([0], dtype=np.uint8)).tolist() == [5]
    assert Integer(-(2**61), 2**61).size == 2**62 + 1
    assert len(Integer(-(2**61), 2**61).subset((-(2**61), 2**61))) == 2**62 + 1


def test_a_bin_must_be_one_bin():
    with pytest.raises(DomainError, match="spans 2 bins, not one"):
        Binned([0, 10, 20]).position(Bin(0, 20))
    with pytest.raises(DomainError):
        Bin(None, 3)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Domain([1]),
        lambda: Domain("x"),
        lambda: Domain({f"a{i}": Integer(0, 1) for i in range(2000)}),
        lambda: Integer(10**5000, 5),
        lambda: Integer(0, 5, outside=np.array([1, 2])),
        lambda: Integer(0, 5, missing=np.array([1, 2])),
        lambda: Integer(0, 5, missing=pd.NA),
        lambda: Integer(0, 10**10).subset(range(0, 10**9, 2)),
        lambda: Integer(0, 10).subset(range(10**30)),
        lambda: Binned(np.array(3)),
        lambda: Binned([0, "1e400"]),
        lambda: Categorical(["\ud800"]),
        lambda: Domain(a=Integer(0, 9)).unflat(-1),
        lambda: Domain(a=Integer(0, 9)).flat((99,)),
        lambda: Domain(a=Integer(0, 9)).record((-1,)),
        lambda: Domain(a=Integer(0, 9)).cell(5),
        lambda: Domain(a=Integer(0, 9)).project(5),
        lambda: Domain(a=Integer(0, 9)).encode({"a": 5}),
    ],
)
def test_strange_input_gets_an_error_of_ours(build):
    from blowfish_privacy.errors import BlowfishError

    with pytest.raises(BlowfishError):
        build()


# Decimal attributes: which numbers are values, how far apart they are, and what is asked of them.


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
def test_wrong_declarations_are_refused_in_decimal(build, said):
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
