"""Counts of several sets of attributes: one scan gives the integers that numpy and counting by hand give."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from blowfish_privacy.aggregates import RecordAggregates, TableAggregates
from blowfish_privacy.aggregates.aggregates import maximal
from blowfish_privacy.domain import Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import Counts, check_countable, open_engine
from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sources.frames import ArrayEngine
from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.counts import marginals_query
from blowfish_privacy.engines.sql.expressions import DUCKDB, POSTGRES, SPARK
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import DataError, DomainError, QueryError
from effort import examples
from engines.conftest import Way
from engines.reference import Rows, expected, handed, tables
from engines.test_counts import WORDS

DOMAIN = Domain(
    n=Integer(0, 6),
    c=Categorical(["x", "y", "z"]),
    b=Binned([0, 1, 2.5, 4]),
    t=Categorical([True, False]),
    m=Integer(-4, 3),
)
EVERY_PAIR = [*combinations(DOMAIN.names, 2)]


def random_columns(rows: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    return {name: generator.integers(0, DOMAIN[name].size, rows) for name in DOMAIN.names}


def values_at(name: str, positions: np.ndarray) -> np.ndarray:
    attribute = DOMAIN[name]
    if isinstance(attribute, Binned):
        return np.array([float(bound) for bound in attribute.bounds])[positions]
    return attribute.decode(positions)


def counted_by_numpy(columns: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    table = np.zeros([DOMAIN[name].size for name in names], dtype=np.int64)
    np.add.at(table, tuple(columns[name] for name in names) if names else (), 1 if names else len(columns["n"]))
    return table


@pytest.mark.parametrize("sets", [EVERY_PAIR, [*EVERY_PAIR, (), ("m", "c", "n"), ("t",), ("b", "n"), ("t",)]])
def test_every_engine_counts_like_numpy_in_one_scan(way: Way, tmp_path: Path, sets: list[tuple[str, ...]]) -> None:
    positions = random_columns(500)
    table = pa.table({name: values_at(name, column).tolist() for name, column in positions.items()})
    engine = open_engine(way(table, tmp_path))
    found = engine.counts(DOMAIN, sets)
    assert engine.reads == 1
    assert len(found) == len(sets)
    for names, counts in zip(sets, found, strict=True):
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, counted_by_numpy(positions, names))
        counts += 1  # No other table shares its memory.
    assert found[0].sum() == 500 + found[0].size


@pytest.mark.parametrize("sets", [EVERY_PAIR, [(), ("m", "c"), ("c",), ("c", "m"), (), ("c", "m")], [()], []])
def test_what_is_in_memory_counts_like_numpy(sets: list[tuple[str, ...]]) -> None:
    positions = random_columns(500)
    joint = counted_by_numpy(positions, DOMAIN.names)
    values = {name: values_at(name, column) for name, column in positions.items()}
    memory, arrays = open_engine(Counts(joint)), ArrayEngine(*handed(values))
    answers = [
        memory.counts(DOMAIN, sets),
        arrays.counts(DOMAIN, sets),
        TableAggregates(DOMAIN, joint).counts(sets),
        RecordAggregates(DOMAIN, [*positions.values()]).counts(sets),
    ]
    for answer in answers:
        assert len(answer) == len(sets)
        for names, counts in zip(sets, answer, strict=True):
            np.testing.assert_array_equal(counts, counted_by_numpy(positions, names))
            counts += 1
    assert memory.reads == arrays.reads == 1
    assert joint.sum() == 500


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=tables(), data=st.data())
def test_values_of_every_attribute_are_checked(way: Way, made: tuple[Domain, pa.Table, Rows], data: Any) -> None:
    domain, table, rows = made
    sets = data.draw(st.lists(st.lists(st.sampled_from(domain.names), unique=True), min_size=1, max_size=4))
    named = [name for name in domain.names if any(name in names for names in sets)]
    wanted = expected(domain.project(named), rows) if named else None
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(way(table, Path(folder)))
        try:
            if isinstance(wanted, set):
                with pytest.raises(DataError) as caught:
                    engine.counts(domain, sets)
                for name, problem in wanted:
                    assert f"the column {name!r} has" in caught.value.message
                    assert WORDS[problem] in caught.value.message
                assert engine.reads in (1, 2)
                return
            found = engine.counts(domain, sets)
            assert engine.reads == 1
        finally:
            engine.close()
    for names, counts in zip(sets, found, strict=True):
        np.testing.assert_array_equal(counts, expected(domain.project(names), rows) if names else len(rows))


def test_a_column_without_any_value_is_missing_in_one_table(way: Way, tmp_path: Path) -> None:
    domain = Domain(a=Integer(0, 2), b=Integer(0, 2, missing=1), c=Integer(0, 2))
    kept = pa.table({"a": [0, 1], "b": pa.array([None, None], pa.int64()), "c": pa.array([None, None], pa.int64())})
    engine = open_engine(way(kept, tmp_path))
    assert engine.counts(domain, [["a"], ["b"]])[1].tolist() == [0, 2, 0]
    with pytest.raises(DataError, match="'c' has missing values"):
        engine.counts(domain, [["a"], ["b", "c"]])


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK])
def test_a_statement_reads_the_data_once(dialect: Any) -> None:
    types = [ColumnType.integer(0, 99), ColumnType("text"), ColumnType("float"), ColumnType("boolean")]
    domain = DOMAIN.project(["n", "c", "b", "t"])
    layouts = [Layout(domain.project(names)) for names in combinations(domain.names, 2)]
    query = marginals_query(types, domain, layouts, dialect)
    assert [table.name for table in query.find_all(exp.Table)].count(SOURCE) == 1
    # No group is one of all attributes.
    (group,) = query.find_all(exp.GroupingSets)
    assert [len(each.expressions) for each in group.expressions] == [2] * 6


def test_a_table_that_another_contains_is_not_counted() -> None:
    assert maximal([("a",), (), ("b", "a"), ("a", "b"), ("c", "b"), ("c",)]) == [("b", "a"), ("c", "b")]


def test_all_pairs_of_attributes_whose_joint_table_nobody_could_hold(tmp_path: Path) -> None:
    generator, names = np.random.default_rng(2), [f"a{n}" for n in range(13)]
    domain = Domain({name: Integer(0, 40) for name in names})
    columns = {name: generator.integers(0, 41, 20_000) for name in names}
    pairs = [*combinations(names, 2)]
    engine = open_engine(pa.table(columns))
    for pair, counts in zip(pairs, engine.counts(domain, pairs), strict=True):
        wanted = np.bincount(columns[pair[0]] * 41 + columns[pair[1]], minlength=41**2).reshape(41, 41)
        np.testing.assert_array_equal(counts, wanted)
    assert engine.reads == 1


def test_sets_that_cannot_be_counted() -> None:
    engine = open_engine(pa.table({"n": [1]}))
    for sets, error in (("n", QueryError), (["n"], DomainError), ([["n", "n"]], DomainError), ([["no"]], DomainError)):
        with pytest.raises(error):
            engine.counts(DOMAIN, sets)
    many = Domain({f"a{n}": Integer(0, 9) for n in range(100)})
    with pytest.raises(QueryError, match="too large to count"):
        check_countable(many, [many.names[:2], many.names[:12]])
    with pytest.raises(QueryError, match="too large to count with others"):
        check_countable(many, [many.names[:2], many.names[:8]])
    with pytest.raises(QueryError, match="too large to count at once"):
        check_countable(Domain({f"a{n}": Integer(0, 1) for n in range(21)}), [[f"a{n}" for n in range(21)]])
    check_countable(many, [many.names[:8]])
    check_countable(many, [*combinations(many.names, 2)])
    assert engine.reads == 0
