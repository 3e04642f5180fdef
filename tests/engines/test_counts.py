"""Every way in gives the integers that counting by hand gives."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blowfish_privacy.domain import Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError
from effort import examples
from engines.conftest import Way, as_csv, as_parquet
from engines.reference import Rows, expected, tables, to_table

WORDS = {"missing": "missing values", "outside": "outside the declared", "malformed": "values that are not"}


@settings(max_examples=examples(18), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=tables(), data=st.data())
def test_counts_equal_counting_by_hand(way: Way, made: tuple[Domain, pa.Table, Rows], data: Any) -> None:
    domain, table, rows = made
    names = data.draw(st.permutations(domain.names))[: data.draw(st.integers(1, len(domain.names)))]
    wanted = expected(domain.project(names), rows)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(way(table, Path(folder)))
        try:
            if isinstance(wanted, set):
                with pytest.raises(DataError) as caught:
                    engine.counts(domain, [names])
                for name, problem in wanted:
                    assert repr(name) in caught.value.message
                    assert WORDS[problem] in caught.value.message
            else:
                found = engine.counts(domain, [names])[0]
                assert found.dtype == np.int64
                np.testing.assert_array_equal(found, wanted)
            # What is wrong may take a second look.
            assert engine.reads in ((1, 2) if isinstance(wanted, set) else (1,))
            assert engine.rows() == len(rows)
        finally:
            engine.close()


def test_the_check_counts_every_problem_apart(way: Way, tmp_path: Path) -> None:
    domain = Domain(
        n=Integer(0, 5, outside="clamp"),
        c=Categorical(["x", "y"], missing="x"),
        b=Binned([0, 1, 2]),
        t=Categorical([True]),
    )
    rows = [
        {"n": 1, "c": "x", "b": 0.5, "t": True},
        {"n": -7, "c": "z", "b": float("nan"), "t": False},
        {"n": 9, "c": None, "b": float("inf"), "t": None},
        {"n": None, "c": None, "b": None, "t": True},
    ]
    table = to_table(rows, {"n": pa.int64(), "c": pa.string(), "b": pa.float64(), "t": pa.bool_()})
    engine = open_engine(way(table, tmp_path))
    check = engine.check(domain)
    assert check.rows == 4
    assert [(column.name, column.missing, column.outside) for column in check.columns] == [
        ("n", 1, 2),
        ("c", 2, 1),
        ("b", 2, 1),
        ("t", 1, 1),
    ]
    assert all(column.present and column.type_fits and not column.malformed for column in check.columns)
    assert not check.fits
    # One scan counts; further ones find out which values these are, and which categories do not occur.
    assert engine.reads == 7


def test_the_check_reports_columns_that_are_absent_or_of_another_type(way: Way, tmp_path: Path) -> None:
    rows = [{"n": "one", "c": "x"}, {"n": "2", "c": "x"}]
    data = way(to_table(rows, {"n": pa.string(), "c": pa.string()}), tmp_path)
    check = open_engine(data).check(Domain(n=Integer(0, 5), c=Categorical(["x"]), absent=Integer(0, 5)))
    assert check.rows == 2
    assert [(column.name, column.present, column.type_fits) for column in check.columns] == [
        ("n", True, False),
        ("c", True, True),
        ("absent", False, False),
    ]
    assert open_engine(data).check(Domain(absent=Integer(0, 5))).rows == 2


def test_an_empty_table_has_zero_counts(way: Way, tmp_path: Path) -> None:
    domain = Domain(n=Integer(0, 2), c=Categorical(["x", "y"]))
    engine = open_engine(way(to_table([], {"n": pa.int64(), "c": pa.string()}), tmp_path))
    np.testing.assert_array_equal(engine.counts(domain, [["c", "n"]])[0], np.zeros((2, 3)))
    assert engine.rows() == 0
    assert engine.check(domain).fits


def test_names_that_differ_only_in_case_are_different_columns(way: Way, tmp_path: Path) -> None:
    if way.__name__.startswith("as_duckdb"):
        pytest.skip("a DuckDB table cannot have such columns")
    table = to_table([{"a": 1, "A": 2}, {"a": 1, "A": 2}], {"a": pa.int64(), "A": pa.int64()})
    engine = open_engine(way(table, tmp_path))
    assert engine.counts(Domain(A=Integer(0, 2)), [["A"]])[0].tolist() == [0, 0, 2]
    assert engine.counts(Domain(a=Integer(0, 2)), [["a"]])[0].tolist() == [0, 2, 0]


@pytest.mark.parametrize("way", [as_csv, as_parquet])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(12, 3)])
@pytest.mark.parametrize("spacing", ["even", "uneven"])
def test_hundreds_of_bins_and_categories(way: Way, tmp_path: Path, kind: pa.DataType, spacing: str) -> None:
    edges = [n * 3 / 7 for n in range(301)] if spacing == "even" else [1.1**n for n in range(120)]
    attribute, generator = Binned(edges, outside="clamp"), np.random.default_rng(7)
    values = np.concatenate([generator.uniform(-1, 200, 150), np.array(edges)]).round(3)
    values = values.astype(int).tolist() if pa.types.is_integer(kind) else values.tolist()
    domain = Domain(b=attribute, c=Categorical([f"c{n}" for n in range(300)]), k=Categorical(list(range(300))))
    table = pa.table({
        "b": pa.array(values).cast(kind, safe=False),
        "c": [f"c{n % 300}" for n in range(len(values))],
        "k": [n * 7 % 300 for n in range(len(values))],
    })  # fmt: skip
    rows = table.to_pylist()
    engine = open_engine(way(table, tmp_path))
    for names in (["b"], ["c"], ["k"], ["k", "b"]):
        np.testing.assert_array_equal(engine.counts(domain, [names])[0], expected(domain.project(names), rows))
