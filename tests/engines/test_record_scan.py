"""Very many tables: fetched rows give, one table after the other, the integers that grouping by every set gives."""

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

from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines import open_engine
from blowfish_privacy.engines.sql import counts as record_scan
from blowfish_privacy.engines.sql import positions as cells
from blowfish_privacy.engines.sql.counts import Packing
from blowfish_privacy.errors import BlowfishError, DataError, DomainError
from effort import examples
from engines.conftest import Way
from engines.reference import Rows, expected, tables
from engines.test_several_tables import DOMAIN, EVERY_PAIR, counted_by_numpy, random_columns, values_at

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
