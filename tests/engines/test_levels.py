"""Counts at the levels of a hierarchy: every engine maps leaves to the level while it scans, together with leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from blowfish_privacy.aggregates import RecordAggregates, TableAggregates
from blowfish_privacy.domain import Categorical, Domain, Hierarchy
from blowfish_privacy.engines import Counts, open_engine
from blowfish_privacy.engines.sources.frames import ArrayEngine
from blowfish_privacy.errors import DataError
from engines.conftest import Way
from engines.reference import handed

PLACE = Hierarchy(["land", "state", "town"], {"A": {"x": ["one", "two"], "y": ["it's"]}, "B": {"z": ["four"]}})
CODE = Hierarchy(["region", "code"], {"north": [7, -3], "south": [2**40, 5]})
DOMAIN = Domain(place=PLACE, sex=Categorical(["f", "m"]), code=CODE)
SETS = [
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
    return {name: generator.integers(0, DOMAIN[name].size, rows) for name in DOMAIN.names}


def by_hand(positions: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    table = np.zeros([DOMAIN[name].size for name in names], dtype=np.int64)
    for row in zip(*(positions[name].tolist() for name in DOMAIN.names), strict=True):
        leaves = DOMAIN.record(row)
        paths = {**dict(zip(PLACE.levels, PLACE.paths[row[0]], strict=True)), "region": CODE.paths[row[2]][0]}
        table[tuple(DOMAIN[n].position(leaves[n] if n in leaves else paths[n.split("@")[1]]) for n in names)] += 1
    return table


def as_table(positions: dict[str, np.ndarray]) -> pa.Table:
    return pa.table({name: DOMAIN[name].decode(column).tolist() for name, column in positions.items()})


@pytest.mark.parametrize("sets", [SETS, *([one] for one in SETS)], ids=str)
def test_every_engine_counts_levels(way: Way, tmp_path: Path, sets: list[list[str]]) -> None:
    positions = columns()
    engine = open_engine(way(as_table(positions), tmp_path))
    for names, counts in zip(sets, engine.counts(DOMAIN, sets), strict=True):
        np.testing.assert_array_equal(counts, by_hand(positions, names))
    assert engine.reads == 1


def test_what_is_in_memory_counts_levels() -> None:
    positions = columns()
    joint = by_hand(positions, [*DOMAIN.names])
    values = {name: DOMAIN[name].decode(column) for name, column in positions.items()}
    for answer in (
        open_engine(Counts(joint)).counts(DOMAIN, SETS),
        ArrayEngine(*handed(values)).counts(DOMAIN, SETS),
        TableAggregates(DOMAIN, joint).counts(SETS),
        RecordAggregates(DOMAIN, [*positions.values()]).counts(SETS),
    ):
        for names, counts in zip(SETS, answer, strict=True):
            np.testing.assert_array_equal(counts, by_hand(positions, names))


@pytest.mark.parametrize("sets", [[["place@land"]], [["place@land"], ["sex"]]])
def test_leaves_that_are_not_declared_are_problems_of_their_column(
    way: Way, tmp_path: Path, sets: list[list[str]]
) -> None:
    table = pa.table({"place": ["one", "A", "four"], "sex": ["f", "m", "f"]})
    engine = open_engine(way(table, tmp_path))
    with pytest.raises(DataError, match="the column 'place' has values outside"):
        engine.counts(DOMAIN.project(["place", "sex"]), sets)


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
    for names, counts in zip(SETS, engine.counts(DOMAIN, SETS), strict=True):
        np.testing.assert_array_equal(counts, by_hand(positions, names))
