"""Every way in gives the integers that counting by hand gives."""

from __future__ import annotations

import re
import tempfile
import tracemalloc
from collections.abc import Callable
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
from blowfish_privacy.domain import Binned, Categorical, Domain, Hierarchy, Integer
from blowfish_privacy.engines import Counts, check_countable, open_engine
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines.engine import ArrayEngine, ColumnType
from blowfish_privacy.engines.sql import cells
from blowfish_privacy.engines.sql import table as record_scan
from blowfish_privacy.engines.sql.cells import Layout
from blowfish_privacy.engines.sql.counts import Packing, marginals_query
from blowfish_privacy.engines.sql.expressions import DUCKDB, POSTGRES, SPARK
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import BlowfishError, DataError, DomainError, QueryError
from effort import examples
from engines.conftest import Way, as_csv, as_parquet
from engines.reference import Rows, expected, handed, tables, to_table

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


# Counts of several sets of attributes: one scan gives the integers that numpy and counting by hand give.


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
        check_countable(Domain({f"a{n}": Integer(0, 1) for n in range(32)}), [[f"a{n}" for n in range(32)]])
    check_countable(many, [many.names[:8]])
    check_countable(many, [*combinations(many.names, 2)])
    assert engine.reads == 0


# Very many tables: fetched rows give, one table after the other, the integers that grouping by every set gives.


SETS = [*EVERY_PAIR, (), ("m", "c", "n"), ("t",), ("b", "n"), ("t",), ("n", "c", "b")]


def kept(monkeypatch: pytest.MonkeyPatch) -> int:
    """Fetch rows however few the tables are, and keep them."""
    monkeypatch.setattr(cells, "MOST_TABLES", 0)
    return 1


def kept_in_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    """Fetch the rows a few at a time."""
    kept(monkeypatch)
    monkeypatch.setattr(record_scan, "ANSWER", 4096)
    return 3


def in_lots(monkeypatch: pytest.MonkeyPatch) -> int:
    """Keep no rows: read the data again for every few tables."""
    kept_in_parts(monkeypatch)
    monkeypatch.setattr(record_scan, "HELD", 1)
    monkeypatch.setattr(record_scan, "MOST_TOGETHER", 100)
    return 4


@pytest.mark.parametrize("limited", [kept, kept_in_parts, in_lots])
def test_fetched_rows_are_counted_like_numpy(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limited: Callable[[pytest.MonkeyPatch], int]
) -> None:
    positions = random_columns(600)
    table = pa.table({name: values_at(name, column).tolist() for name, column in positions.items()})
    engine = open_engine(way(table, tmp_path))
    grouped = engine.counts(DOMAIN, SETS)
    assert engine.reads == 1
    reads = limited(monkeypatch)
    found = [*engine.tables(DOMAIN, SETS)]
    assert engine.reads == 2 if reads == 1 else engine.reads > reads
    assert len(found) == len(SETS)
    for names, counts, alike in zip(SETS, found, grouped, strict=True):
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, counted_by_numpy(positions, names))
        np.testing.assert_array_equal(counts, alike)
        counts += 1  # No other table shares its memory.
    engine.close()


@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=tables(), data=st.data())
def test_both_ways_agree_on_tables_and_on_errors(way: Way, made: tuple[Domain, pa.Table, Rows], data: Any) -> None:
    domain, table, rows = made
    drawn = data.draw(st.lists(st.lists(st.sampled_from(domain.names), unique=True), min_size=1, max_size=4))
    sets = [*drawn, [domain.names[0]]]
    limited = data.draw(st.sampled_from([kept, kept_in_parts, in_lots]))

    def outcome(engine: Any) -> Any:
        try:
            return [each.tolist() for each in engine.tables(domain, sets)]
        except DataError as error:
            # Which column is named first depends on the way; what is said of each does not.
            return "; ".join(sorted(re.split(r"; |\. ", str(error).rstrip("."))))

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        engine = open_engine(way(table, Path(folder)))
        grouped = outcome(engine)
        limited(patch)
        assert outcome(engine) == grouped
        engine.close()
    named = [name for name in domain.names if any(name in names for names in sets)]
    assert isinstance(grouped, str) == isinstance(expected(domain.project(named), rows), set)


def test_equal_rows_are_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(pa.table({"a": [1, 1, 0, 1] * 500, "b": [0, 0, 2, 0] * 500}))
    domain = Domain(a=Integer(0, 1), b=Integer(0, 2))
    in_lots(monkeypatch)
    found = engine.tables(domain, [["a", "b"], ["b"], []])
    assert next(found).tolist() == [[0, 0, 500], [1500, 0, 0]]
    assert [each.tolist() for each in found] == [[1500, 0, 500], 2000]
    # Two different rows are a small answer, however often they occur.
    assert engine.reads == 1


def test_rows_that_change_between_reads_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "".join(f"{n % 40},{n // 40}\n" for n in range(1600)))
    domain = Domain(a=Integer(0, 39), b=Integer(0, 39))
    in_lots(monkeypatch)
    engine = open_engine(path)
    found = engine.tables(domain, [["a"], ["b"], ["a", "b"]])
    assert next(found).tolist() == [40] * 40
    with path.open("a") as file:
        file.write("0,0\n")
    with pytest.raises(DataError, match="changed while they were read"):
        list(found)


def test_sets_are_checked_before_the_first_table(way: Way, tmp_path: Path) -> None:
    engine = open_engine(way(pa.table({"a": [0]}), tmp_path))
    with pytest.raises(DomainError):
        engine.tables(Domain(a=Integer(0, 1)), [["a"], ["b"]] * 20)
    assert engine.reads == 0


def test_errors_carry_no_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n0,1\n1,4711\n,0\n")
    domain = Domain(a=Integer(0, 1), b=Integer(0, 1))
    engine = open_engine(path)
    with pytest.raises(BlowfishError) as caught:
        list(engine.tables(domain, [["a"], ["b"], ["a", "b"]] * 20))
    assert "'a' has missing values" in str(caught.value)
    assert "'b' has values outside" in str(caught.value)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


def test_packed_rows_read_back() -> None:
    generator = np.random.default_rng(3)
    sizes = [int(size) for size in generator.integers(1, 10_000, 30)]
    packing = Packing(Domain({f"a{axis}": Integer(0, size - 1) for axis, size in enumerate(sizes)}))
    rows = np.stack([generator.integers(0, size, 50) for size in sizes])
    groups: dict[str, Any] = {"n": np.ones(50, dtype=np.int64)}
    for rank, axes in enumerate(packing.axes):
        word = np.zeros(50, dtype=np.int64)
        for axis in axes:
            word = word * sizes[axis] + rows[axis]
        assert word.min() >= 0
        groups[f"w{rank}"] = word
    positions, times = packing.unpacked(groups)
    assert times is None
    assert len(packing.axes) > 1
    np.testing.assert_array_equal(np.stack(positions), rows)


def test_many_tables_are_never_held_together() -> None:
    generator, names = np.random.default_rng(1), [f"a{n}" for n in range(40)]
    domain = Domain({name: Integer(0, 9) for name in names})
    engine = open_engine(pa.table({name: generator.integers(0, 10, 300) for name in names}))
    sets = [*combinations(names, 3)]
    found = engine.tables(domain, sets)
    next(found)
    tracemalloc.start()
    for table in found:
        assert table.sum() == 300
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All 9,880 tables together have 79 million bytes.
    assert peak < 1_000_000


def test_the_share_that_is_done_never_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    table = pa.table({"a": [*range(40)] * 40, "b": [n // 40 for n in range(1600)]})
    domain = Domain(a=Integer(0, 39), b=Integer(0, 39))
    for limited, times in ((kept, 40), (kept_in_parts, 40), (in_lots, 3)):
        limited(monkeypatch)
        said: list[float | None] = []
        list(open_engine(table).tables(domain, [["a"], ["b"]] * times, progress=said.append))
        shares = [share for share in said if share is not None]
        assert len(shares) >= times
        assert shares == sorted(shares)
        assert shares[0] >= 0
        assert shares[-1] <= 1


@given(st.data())
def test_records_count_alike_whatever_comes_before(data: Any) -> None:
    generator = np.random.default_rng(0)
    records = RecordAggregates(DOMAIN, [generator.integers(0, size, 50) for size in DOMAIN.shape])
    sets = data.draw(st.lists(st.lists(st.sampled_from(DOMAIN.names), unique=True), max_size=5))
    for names, table in zip(sets, records.tables(sets), strict=True):
        np.testing.assert_array_equal(table, records.counts([names])[0])


# Counts at the levels of a hierarchy: every engine maps leaves to the level while it scans, together with leaves.


PLACE = Hierarchy(["land", "state", "town"], {"A": {"x": ["one", "two"], "y": ["it's"]}, "B": {"z": ["four"]}})

CODE = Hierarchy(["region", "code"], {"north": [7, -3], "south": [2**40, 5]})

LEVELS_DOMAIN = Domain(place=PLACE, sex=Categorical(["f", "m"]), code=CODE)

LEVELS_SETS = [
    ["place@state"],
    ["sex", "place@land"],
    ["place", "sex"],
    [],
    ["place@land", "place@state", "place"],
    ["code@region", "place@state"],
    ["code"],
]


def columns(rows: int = 300) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    return {name: generator.integers(0, LEVELS_DOMAIN[name].size, rows) for name in LEVELS_DOMAIN.names}


def by_hand(positions: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    table = np.zeros([LEVELS_DOMAIN[name].size for name in names], dtype=np.int64)
    for row in zip(*(positions[name].tolist() for name in LEVELS_DOMAIN.names), strict=True):
        leaves = LEVELS_DOMAIN.record(row)
        paths = {**dict(zip(PLACE.levels, PLACE.paths[row[0]], strict=True)), "region": CODE.paths[row[2]][0]}
        table[
            tuple(LEVELS_DOMAIN[n].position(leaves[n] if n in leaves else paths[n.split("@")[1]]) for n in names)
        ] += 1
    return table


def as_table(positions: dict[str, np.ndarray]) -> pa.Table:
    return pa.table({name: LEVELS_DOMAIN[name].decode(column).tolist() for name, column in positions.items()})


@pytest.mark.parametrize("sets", [LEVELS_SETS, *([one] for one in LEVELS_SETS)], ids=str)
def test_every_engine_counts_levels(way: Way, tmp_path: Path, sets: list[list[str]]) -> None:
    positions = columns()
    engine = open_engine(way(as_table(positions), tmp_path))
    for names, counts in zip(sets, engine.counts(LEVELS_DOMAIN, sets), strict=True):
        np.testing.assert_array_equal(counts, by_hand(positions, names))
    assert engine.reads == 1


def test_what_is_in_memory_counts_levels() -> None:
    positions = columns()
    joint = by_hand(positions, [*LEVELS_DOMAIN.names])
    values = {name: LEVELS_DOMAIN[name].decode(column) for name, column in positions.items()}
    for answer in (
        open_engine(Counts(joint)).counts(LEVELS_DOMAIN, LEVELS_SETS),
        ArrayEngine(*handed(values)).counts(LEVELS_DOMAIN, LEVELS_SETS),
        TableAggregates(LEVELS_DOMAIN, joint).counts(LEVELS_SETS),
        RecordAggregates(LEVELS_DOMAIN, [*positions.values()]).counts(LEVELS_SETS),
    ):
        for names, counts in zip(LEVELS_SETS, answer, strict=True):
            np.testing.assert_array_equal(counts, by_hand(positions, names))


@pytest.mark.parametrize("sets", [[["place@land"]], [["place@land"], ["sex"]]])
def test_leaves_that_are_not_declared_are_problems_of_their_column(
    way: Way, tmp_path: Path, sets: list[list[str]]
) -> None:
    table = pa.table({"place": ["one", "A", "four"], "sex": ["f", "m", "f"]})
    engine = open_engine(way(table, tmp_path))
    with pytest.raises(DataError, match="the column 'place' has values outside"):
        engine.counts(LEVELS_DOMAIN.project(["place", "sex"]), sets)


def test_missing_leaves_are_counted_where_it_is_declared(way: Way, tmp_path: Path) -> None:
    place = Hierarchy(["land", "town"], {"A": ["one", "two"], "B": ["four"]}, missing="four")
    table = pa.table({"place": ["one", None, "two", None]})
    engine = open_engine(way(table, tmp_path))
    (counts,) = engine.counts(Domain(place=place), [["place@land"]])
    assert counts.tolist() == [2, 2]


def test_very_many_tables_are_counted_at_their_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blowfish_privacy.engines.sql.table.many", lambda domain, sets: True)
    positions = columns()
    engine = open_engine(as_table(positions))
    for names, counts in zip(LEVELS_SETS, engine.counts(LEVELS_DOMAIN, LEVELS_SETS), strict=True):
        np.testing.assert_array_equal(counts, by_hand(positions, names))
