"""Which column types an attribute takes, at the ends of every width."""

from __future__ import annotations

from decimal import Decimal as Exact
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Domain, Integer
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError
from engines.conftest import Way

WIDTHS = {"TINYINT": (-(2**7), 2**7), "SMALLINT": (-(2**15), 2**15), "INTEGER": (-(2**31), 2**31)}
WIDTHS |= {"BIGINT": (-(2**63), 2**63), "HUGEINT": (-(2**127), 2**127), "UTINYINT": (0, 2**8), "USMALLINT": (0, 2**16)}
WIDTHS |= {"UINTEGER": (0, 2**32), "UBIGINT": (0, 2**64), "UHUGEINT": (0, 2**128)}


def column(kind: str, values: list[object]) -> duckdb.DuckDBPyRelation:
    rows = ", ".join(f"(CAST({'NULL' if v is None else repr(str(v))} AS {kind}))" for v in values)
    return duckdb.connect().sql(f"SELECT * FROM (VALUES {rows}) AS t(x)")


def count(data: object, attribute: Attribute) -> list[int]:
    return open_engine(data).counts(Domain(x=attribute), [["x"]])[0].tolist()


@pytest.mark.parametrize("kind", WIDTHS)
def test_whole_numbers_of_every_width(kind: str) -> None:
    low, stop = WIDTHS[kind]
    values: list[object] = [low, 0, 1, 100, stop - 1]
    assert sum(count(column(kind, values), Integer(-100, 100, outside="clamp"))) == 5
    assert count(column(kind, values), Integer(0, 2, outside="clamp")) == [2, 1, 2]
    assert count(column(kind, [0, 2]), Categorical([2, 0])) == [1, 1]
    for outside in (low if low < 0 else 3, stop - 1):
        for attribute in (Integer(0, 2), Categorical([0, 2]), Binned([0, 1, 2])):
            with pytest.raises(DataError, match="outside"):
                count(column(kind, [0, outside]), attribute)


@pytest.mark.parametrize("kind", WIDTHS)
def test_bins_reach_beyond_the_width_of_a_column(kind: str) -> None:
    low, stop = WIDTHS[kind]
    edges = [-(2**130), low, 50, stop, 2**130]
    assert count(column(kind, [low, 49, 50, stop - 1]), Binned(edges)) == [0, 2, 2, 0]
    with pytest.raises(DataError, match="missing"):
        count(column(kind, [low, None]), Binned([-(2**130), 2**130]))


def test_integers_near_the_largest_do_not_overflow() -> None:
    near = Integer(2**61 - 2, 2**61, outside="clamp")
    assert count(column("BIGINT", [-(2**63), 2**63 - 1, 2**61, 2**61 - 1]), near) == [1, 1, 2]
    assert count(column("TINYINT", [-100, 100]), Integer(-100, 100))[0] == 1


def test_decimals_are_compared_exactly() -> None:
    third = Binned([0, "1/3", 1])
    assert count(column("DECIMAL(38, 37)", ["0." + "3" * 37, "0." + "3" * 36 + "4"]), third) == [1, 1]
    assert count(column("DECIMAL(4, 0)", [0, 9999]), Binned([0, 1, 10_000])) == [1, 1]
    assert count(column("DECIMAL(3, 2)", ["-9.99", "9.99"]), Binned([-(10**40), "-9.985", 10**40])) == [1, 1]


def test_whole_floats_and_decimals_are_whole_numbers(way: Way, tmp_path: Path) -> None:
    if way.__name__ == "as_csv":
        pytest.skip("text has no type: how it is read is tested with files")
    near = Integer(-2, 2, outside="clamp", missing=0)
    floats = [-0.0, 1.0, 2.0, 1e300, -1e300, 3.0, np.inf, -np.inf, np.nan, None, 2.0**63, -(2.0**70)]
    assert count(way(pa.table({"x": pa.array(floats)}), tmp_path), near) == [3, 0, 3, 1, 5]
    exact = pa.array([Exact("1.000"), Exact("-2"), None, Exact(10**20)], pa.decimal128(30, 3))
    assert count(way(pa.table({"x": exact}), tmp_path), near) == [1, 0, 1, 1, 1]
    for values in ([0.5], [1.0, 1.0 + 2**-52], [0.0, -(2.0**-1000)]):
        with pytest.raises(DataError, match="'x' has values that are not plain whole numbers"):
            count(way(pa.table({"x": values}), tmp_path), near)
    check = open_engine(way(pa.table({"x": [0.5, 1.0]}), tmp_path)).check(Domain(x=near))
    assert (check.columns[0].malformed, check.columns[0].fits) == (1, False)
    # Beyond 2^53 a float means the whole number that it is, and bounds between two floats are still exact.
    huge = Integer(2**60 + 1, 2**60 + 512, outside="clamp")
    found = count(way(pa.table({"x": [2.0**60, 2.0**60 + 256, 2.0**60 + 512, 2.0**60 + 768]}), tmp_path), huge)
    assert [place for place, times in enumerate(found) for _ in range(times)] == [0, 255, 511, 511]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(6, 3)", "DECIMAL(38, 18)"])
def test_decimals_are_rounded_as_declared(kind: str) -> None:
    values: list[object] = ["0.124", "0.125", "0.25", "0.374", "0.375", "0.6", "0.7"]
    quarters = [Decimal(0, 1, "0.25", round=rule) for rule in ("nearest", "down")]
    assert [count(column(kind, values), each) for each in quarters] == [[1, 3, 2, 1, 0], [2, 3, 2, 0, 0]]
    tenths = column(kind, [f"{tenth / 10}" for tenth in range(-9, 10)])
    for rule in ("error", "nearest", "down"):
        assert count(tenths, Decimal("-0.9", "0.9", "0.1", round=rule)) == [1] * 19
    with pytest.raises(DataError, match=r"not plain numbers in steps of 0\.25"):
        count(column(kind, ["0.25", "0.3"]), Decimal(0, 1, "0.25", outside="clamp"))
    assert count(column(kind, ["0.25", "-0.3", "1.1"]), Decimal(0, 1, "0.25", outside="clamp")) == [1, 1, 0, 0, 1]


def test_decimals_too_fine_to_compare_are_named_as_such() -> None:
    for attribute in (Decimal(0, 1, "0.25"), Integer(0, 1)):
        engine = open_engine(column("DECIMAL(38, 19)", ["1"]))
        with pytest.raises(DataError, match="'x' has decimals of more than 18 places"):
            engine.counts(Domain(x=attribute), [["x"]])
        assert engine.reads == 0
        assert not engine.check(Domain(x=attribute)).columns[0].type_fits


def test_floats_are_compared_as_floats() -> None:
    assert count(column("DOUBLE", [0.1, 0.3, np.nextafter(0.1, 0)]), Binned([0, "0.1", "0.3", 1])) == [1, 1, 1]
    assert count(column("FLOAT", [0.5, 0.25]), Binned([0, "0.5", 1])) == [1, 1]
    clamp = Binned([0, 1, 2], outside="clamp", missing=0)
    assert count(column("DOUBLE", ["inf", "-inf", "nan", None, "-0.0"]), clamp) == [4, 1]
    with pytest.raises(DataError, match=r"missing values; .*outside"):
        count(column("DOUBLE", ["inf", "nan"]), Binned([0, 1]))


@pytest.mark.parametrize(
    ("kind", "value", "attribute"),
    [
        ("VARCHAR", 1, Decimal(0, 2, "0.5")),
        ("DATE", "2020-01-01", Decimal(0, 2, 1)),
        ("VARCHAR", 1, Integer(0, 2)), ("BOOLEAN", 1, Integer(0, 2)), ("BIGNUM", 1, Integer(0, 2)),
        ("DATE", "2020-01-01", Integer(0, 2)), ("VARCHAR", 1, Binned([0, 2])), ("BOOLEAN", 1, Binned([0, 2])),
        ("TIMESTAMP", "2020-01-01", Binned([0, 2])), ("INTEGER", 1, Categorical(["1"])),
        ("JSON", '"a"', Categorical(['"a"'])), ("BLOB", "a", Categorical(["a"])), ("VARCHAR", "1", Categorical([1])),
        ("BOOLEAN", 1, Categorical([1])), ("DOUBLE", 1, Categorical([1])), ("INTEGER", 1, Categorical([True])),
        ("VARCHAR", "true", Categorical([True])), ("UUID", "0" * 32, Categorical(["x"])),
        ("INTEGER[]", "[1]", Integer(0, 2)),
    ],
)  # fmt: skip
def test_other_types_are_refused_without_a_read(kind: str, value: object, attribute: Attribute) -> None:
    engine = open_engine(column(kind, [value]))
    with pytest.raises(DataError, match=r"column 'x' must hold .* of another type"):
        engine.counts(Domain(x=attribute), [["x"]])
    assert engine.reads == 0
    assert not engine.check(Domain(x=attribute)).columns[0].type_fits


def test_text_is_compared_byte_for_byte() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO t VALUES ('a'), ('A'), ('A')")
    connection.execute("SET default_collation = 'nocase'")
    assert count(connection.table("t"), Categorical(["a", "A"])) == [1, 2]
    with pytest.raises(DataError, match="outside"):
        count(connection.table("t"), Categorical(["a"]))


def test_enumerations_and_categories_are_text() -> None:
    assert count(column("ENUM('b', 'a')", ["a", "a", "b"]), Categorical(["a", "b"])) == [2, 1]
    assert count(pd.DataFrame({"x": pd.Categorical(["a", "b", "a"])}), Categorical(["a", "b"])) == [2, 1]
    assert count(pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"]))}), Categorical(["a", "b"])) == [
        1,
        1,
    ]
    assert count(pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Categorical)}), Categorical(["a", "b"])) == [1, 0]
    assert count(pd.DataFrame({"x": pd.Categorical([2, 1, 2])}), Integer(1, 2)) == [1, 2]


def test_a_pandas_column_of_objects_is_looked_at_to_its_end() -> None:
    values: list[object] = [1] * 5000
    for odd in ("2", 1.5, True, b"2", 2**70):
        with pytest.raises(DataError, match="not plain whole numbers" if odd == 1.5 else "another type"):
            count(pd.DataFrame({"x": pd.Series([*values, odd], dtype=object)}), Integer(0, 2))
    assert count(pd.DataFrame({"x": pd.Series([*values, None], dtype=object)}), Integer(0, 2, missing=0)) == [
        1,
        5000,
        0,
    ]
    assert count(pd.DataFrame({"x": [1.0, None]}), Integer(0, 2, missing=0)) == [1, 1, 0]
    decimals = pd.Series([Exact("0.1"), Exact("0.25")], dtype=object)
    assert count(pd.DataFrame({"x": decimals}), Binned([0, "0.25", 1])) == [1, 1]


def test_widths_of_numpy_and_polars() -> None:
    assert count(pd.DataFrame({"x": np.array([1, 2], dtype=np.uint8)}), Integer(0, 2)) == [0, 1, 1]
    assert count(pl.DataFrame({"x": pl.Series([2**64 - 1, 1], dtype=pl.UInt64)}), Integer(0, 2, outside="clamp")) == [
        0,
        1,
        1,
    ]
    with pytest.raises(DataError, match="another type"):
        count(pl.DataFrame({"x": pl.Series([2**100], dtype=pl.Int128)}), Integer(0, 2))


def test_a_column_without_any_value_is_missing_throughout() -> None:
    for attribute in (
        Integer(0, 2, missing=1),
        Categorical(["a", "b", "c"], missing="b"),
        Binned([0, 1, 2, 3], missing=1),
    ):
        assert count(pa.table({"x": pa.nulls(4)}), attribute) == [0, 4, 0]
    with pytest.raises(DataError, match="missing"):
        count(pa.table({"x": pa.nulls(4)}), Integer(0, 2))


def test_columns_that_occur_twice_and_labels_that_are_not_text(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([0])], names=["x", "x", "y"])
    frame = pd.DataFrame([[1, 2, 3]], columns=["x", "x", 7])
    (tmp_path / "twice.csv").write_text("x,y,x\n1,2,3\n")
    for data in (twice, frame, duckdb.connect().sql("SELECT 1 AS x, 2 AS x"), tmp_path / "twice.csv"):
        with pytest.raises(DataError, match="several columns 'x'"):
            count(data, Integer(0, 2))
        assert not open_engine(data).check(Domain(x=Integer(0, 2))).columns[0].present
    assert open_engine(twice).counts(Domain(y=Integer(0, 2)), [["y"]])[0].tolist() == [1, 0, 0]


def test_a_misspelt_column_is_named_only_when_it_differs_in_case() -> None:
    with pytest.raises(DataError, match="the data spell it 'X'"):
        count(pa.table({"X": [1]}), Integer(0, 2))
    with pytest.raises(DataError) as caught:
        count(pa.table({"SECRET-39": [1]}), Integer(0, 2))
    assert "SECRET" not in str(caught.value)


def test_times_finer_than_microseconds_stay_in_their_day_and_in_their_cell():
    # The last is rounded to the next day, which is not declared.
    times = ["2020-01-02T23:59:59.999999499", "2020-01-03T12:00:00.000000001", "2020-01-03T23:59:59.999999999"]
    domain = Domain(sex=Categorical(["F", "M"]), day=Date("2020-01-01", "2020-01-03"))
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        column = pa.array(np.array(times[:2], dtype="datetime64[ns]")).cast(kind)
        table = open_engine(pa.table({"sex": ["F", "F"], "day": column})).counts(domain, [("sex", "day")])[0]
        assert table.tolist() == [[0, 1, 1], [0, 0, 0]]
        late = pa.array(np.array(times[2:], dtype="datetime64[ns]")).cast(kind)
        with pytest.raises(DataError, match="outside the declared ones"):
            open_engine(pa.table({"sex": ["F"], "day": late})).counts(domain, [("sex", "day")])


@pytest.mark.parametrize("rule", ["down", "nearest"])
def test_floats_of_values_that_32_bits_do_not_tell_apart_stay_where_they_are(rule):
    cents = Decimal(0, 1_000_000, "0.01", round=rule)
    values = [300_000.0, 131_072.01, 199_999.99]
    column = pa.table({"v": pa.array(values)})
    table = open_engine(column).counts(Domain(v=cents), [("v",)])[0]
    assert np.flatnonzero(table).tolist() == sorted(round(100 * value) for value in values)
    assert cents.encode(values).tolist() == [round(100 * value) for value in values]
