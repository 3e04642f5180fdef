"""Tables by columns: the same rows and the same bytes as row by row."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.support.arrays import Columns, Labels, estimates, rounded_column, single_estimates
from blowfish_privacy.support.files import csv_table

TEXTS = ["plain", "", "two words", 'a "quote"', "a,comma", "=1+1", "-5", "'", "line\nbreak", "é", "1e5", "+x"]


def by_rows(header, columns):
    return csv_table(header, [*columns])


@given(st.data())
def test_bulk_writes_the_same_bytes_as_row_by_row(data):
    many = data.draw(st.integers(0, 12))
    exact = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=many, max_size=many)
    numbers = st.lists(
        st.sampled_from([0.0, -0.0, 1.5, 1e16, 1e-7, 0.1, 1e300]) | st.floats(), min_size=many, max_size=many
    )
    places = st.lists(st.integers(0, len(TEXTS) - 1), min_size=many, max_size=many)
    columns = [
        Labels(TEXTS, np.array(data.draw(places), dtype=np.int64)),
        np.array(data.draw(exact), dtype=np.int64),
        np.array(data.draw(numbers)),
    ]
    kept = columns[: data.draw(st.integers(1, 3))]
    header = ["a", "=b", "c"][: len(kept)]
    assert csv_table(header, Columns(*kept)) == by_rows(header, Columns(*kept))


def test_texts_come_back_from_a_bulk_table():
    table = csv_table(["text", "number"], Columns(Labels.of_all(TEXTS), np.arange(len(TEXTS))))
    read = [*csv.reader(io.StringIO(table.decode(), newline=""))][1:]
    assert [row[0].removeprefix("'") if row[0].startswith("'") else row[0] for row in read] == TEXTS


@given(st.lists(st.floats(-1e18, 1e18) | st.integers(-(10**9), 10**9).map(lambda n: n / 2000)), st.integers(0, 6))
def test_a_column_is_rounded_as_python_rounds(numbers, digits):
    made = rounded_column(np.array(numbers, dtype=np.float64), digits)
    assert [*map(repr, made.tolist())] == [repr(round(number, digits)) for number in numbers]


def test_numbers_keep_the_digits_that_their_error_leaves():
    def single(numbers, errors):
        return single_estimates(np.array(numbers), errors).tolist()

    def shown(numbers, errors):
        return estimates(np.array(numbers), errors).tolist()

    # Sums have errors of millions: a hundredth of those is enough, and whole numbers stay whole.
    assert repr(single([249_381_009, -51], 14_142_136.0)) == "[249400000, 0]"
    assert single([249_381_009.25], 14_142_136.0) == [249_400_000.0]
    assert single([12_345], 999.0) == [12_345]
    assert single([249_381_009, 12_345], [14_142_136.0, 0.0]) == [249_400_000, 12_345]
    assert single([249_381_009], 0.0) == [249_381_009]
    # The cells of a map are small where the error of a rectangle, which is stated for them, is large.
    assert shown([3.25, 17.5], 14_142_136.0) == [3.0, 18.0]
    assert shown([249_381_009], 14_142_136.0) == [249_381_009]
    # Exact means have digits without end; exact sums keep their decimals.
    for either in (single, shown):
        assert either([38.511530398322854], 0.0) == [38.5115304]
        assert either([1 / 3], 0.0) == [0.3333333333]
        assert either([123_456_789_012.125], 0.0) == [123_456_789_012.125]
        assert either([0.0], 0.0) == [0.0]


@pytest.mark.parametrize(
    "query", [bp.Cumulative("a"), bp.Histogram("a", "b"), bp.RangeGrid("a", "b"), bp.Histogram("b")], ids=repr
)
def test_results_write_the_same_bytes_in_bulk(query):
    domain = bp.Domain(a=bp.Integer(-3, 8), b=bp.Integer(0, 4))
    counts = np.arange(60).reshape(12, 5)
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain()), budget=5)
    result = session.release(query, epsilon=1)
    assert isinstance(result.rows(), Columns)
    assert result.csv() == by_rows(result.header, result.rows())
    assert [*map(str, next(result.rows()))] == result.csv().decode().splitlines()[1].split(",")
