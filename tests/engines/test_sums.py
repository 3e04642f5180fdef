"""Sums by centre: every engine gives the same integers as assigning by hand, hard and soft."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, Axis, Decay, Lattice, Run
from blowfish_privacy.domain import Binned, Domain, Integer
from blowfish_privacy.engines import Counts, open_engine
from blowfish_privacy.engines.engine import ArrayEngine, ColumnType
from blowfish_privacy.engines.sql.expressions import POSTGRES
from blowfish_privacy.engines.sql.sums import assignment_query
from blowfish_privacy.errors import DataError, QueryError
from effort import examples
from engines.conftest import Way
from engines.reference import handed, judge, to_table

TYPES = {"a": pa.int64(), "b": pa.float64()}

DECAY = Decay(halving=7, bits=10)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Domain, Assignment, list[dict[str, Any]]]:
    """Make centres and rows on a small domain; large enough numbers that 32 bits would not do."""
    domain = Domain(a=Integer(-5, 40), b=Binned(list(range(12)), outside="clamp"))
    places = st.tuples(st.integers(0, 45), st.integers(0, 10))
    centres = tuple(draw(st.lists(places, min_size=1, max_size=4)))
    decay = draw(st.none() | st.builds(Decay, st.sampled_from([1, 7, 40, 10**6]), st.sampled_from([1, 10, 20])))
    row = st.fixed_dictionaries({"a": st.integers(-5, 40), "b": st.floats(-2, 13)})
    weights = draw(st.sampled_from([(3, 1), (1, 64)]))
    return domain, Assignment(centres, weights, (6, 4), decay), draw(st.lists(row, max_size=12))


def assigned_by_hand(assignment: Assignment, positions: list[tuple[int, ...]]) -> list[list[int]]:
    """Share with fractions, from the definition of the decay."""
    decay = assignment.decay
    found = [[0] * (1 + len(assignment.weights)) for _ in assignment.centres]
    for place in positions:
        steps = [[p - at for p, at in zip(place, centre, strict=True)] for centre in assignment.centres]
        if decay is None:
            far = [sum(w * step**2 for w, step in zip(assignment.weights, each, strict=True)) for each in steps]
            shares = [int(number == far.index(min(far))) for number in range(len(far))]
        else:
            far = [sum(w * abs(step) for w, step in zip(assignment.weights, each, strict=True)) for each in steps]
            base = min(far) // decay.halving
            parts = [_decay(each - base * decay.halving, decay) for each in far]
            shares = [int(decay.unit * part / sum(parts)) for part in parts[:-1]]
            shares.append(decay.unit - sum(shares))
        for row, share, each in zip(found, shares, steps, strict=True):
            clipped = [max(-r, min(r, step)) for r, step in zip(assignment.reaches, each, strict=True)]
            row[:] = [total + share * term for total, term in zip(row, [1, *clipped], strict=True)]
    return found


def _decay(far: int, decay: Decay) -> Fraction:
    halvings, rest = divmod(far, decay.halving)
    return (1 - Fraction(rest, 2 * decay.halving)) / 2**halvings if halvings <= decay.bits else Fraction(0)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_sums_equal_assigning_by_hand(way: Way, case: tuple[Domain, Assignment, list[dict[str, Any]]]) -> None:
    domain, assignment, rows = case
    positions = [tuple(judge(domain[name], row[name]) for name in domain.names) for row in rows]
    wanted = assigned_by_hand(assignment, positions)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(way(to_table(rows, TYPES), Path(folder)))
        found = engine.assignments(domain, domain.names, assignment)
        assert found.dtype == np.int64
        assert found.tolist() == wanted
        assert found[:, 0].sum() == len(rows) * assignment.unit
        assert engine.reads == 1
        counts = engine.counts(domain, [domain.names])[0]
        engine.close()
    assert open_engine(Counts(counts)).assignments(domain, domain.names, assignment).tolist() == wanted
    if rows:
        arrays = ArrayEngine(*handed({name: np.array([row[name] for row in rows]) for name in domain.names}))
        assert arrays.assignments(domain, domain.names, assignment).tolist() == wanted


@pytest.mark.parametrize("decay", [None, DECAY])
def test_problems_are_named_and_never_quoted(way: Way, tmp_path: Path, decay: Decay | None) -> None:
    domain = Domain(a=Integer(0, 9), b=Binned([0, 1, 2]))
    rows = [{"a": 5, "b": 0.5}, {"a": 1234567, "b": 0.5}, {"a": 3, "b": None}]
    engine = open_engine(way(to_table(rows, TYPES), tmp_path))
    with pytest.raises(DataError) as caught:
        engine.assignments(domain, domain.names, Assignment(((1, 0), (8, 1)), (1, 1), (3, 1), decay))
    assert "'a' has values outside" in caught.value.message
    assert "'b' has missing values" in caught.value.message
    assert "1234567" not in str(caught.value)


@pytest.mark.parametrize("decay", [None, DECAY])
def test_nothing_is_worked_out_twice_where_nested_queries_are_merged(decay: Decay | None) -> None:
    domain = Domain(a=Integer(0, 9), b=Integer(0, 9))
    assignment = Assignment(((1, 0), (8, 1)), (1, 1), (3, 1), decay)
    query = assignment_query([ColumnType("integer")] * 2, domain, assignment, POSTGRES)
    assert query.sql("postgres").count("OFFSET 0") >= len([*query.find_all(exp.Subquery)]) - 1 > 1


def test_many_rows_are_shared_in_parts() -> None:
    generator = np.random.default_rng(3)
    positions = (generator.integers(0, 50, 70_000), generator.integers(0, 20, 70_000))
    assignment = Assignment(((5, 5), (30, 2), (44, 19)), (1, 3), (12, 5), Decay(13, 20))
    parts = [assignment.sums([column[chosen] for column in positions]) for chosen in (slice(9), slice(9, None))]
    assert assignment.sums(positions).tolist() == (parts[0] + parts[1]).tolist()


def test_decays_that_cannot_be() -> None:
    for halving, bits in [(0, 5), (5, 0), (True, 3)]:
        with pytest.raises(QueryError, match="positive distance"):
            Decay(halving, bits)
    assert Decay(2**20, 20).fits(centres=5, records=10**6, reach=100)
    assert not Decay(2**22, 20).fits(centres=5, records=10**6, reach=100)
    assert not Decay(1, 20).fits(centres=5, records=10**12, reach=100)


# Sums on a lattice: every way in gives the integers that sharing row by row gives.


@st.composite
def axes(draw: st.DrawFn, size: int) -> Axis:
    """Lay nodes over so many positions: in the middles or on the corners of cells, in one or several pieces."""
    resolution = draw(st.sampled_from([1, 2, 3, 7, 16, 1000]))
    if draw(st.booleans()):
        nodes = draw(st.integers(1, 6))
        run = draw(st.sampled_from([Run.cornered(size, nodes), Run.centred(0, size, 1, nodes), Run(0, 1, size, 1)]))
        return Axis((run,), run.step)
    if draw(st.booleans()):
        return Axis((Run.cornered(size, draw(st.integers(1, 6))),), resolution)
    runs, start = [], 0
    while start < size:
        width = draw(st.integers(1, size - start))
        count = draw(st.integers(1, (size - start) // width))
        runs.append(Run.centred(start, width, count, draw(st.integers(1, 5))))
        start += width * count
    return Axis(tuple(runs), resolution)


@st.composite
def lattice_sums_cases(draw: st.DrawFn) -> tuple[Domain, Lattice, list[dict[str, Any]]]:
    high, strict = draw(st.integers(-3, 12)), draw(st.booleans())
    a = Integer(-3, high) if strict else Integer(-3, high, outside="clamp", missing=-3)
    domain = Domain(a=a, b=Binned([0, 1, 2.5, 4, 9], outside="clamp"))
    lattice = Lattice(tuple(draw(axes(size)) for size in domain.shape))
    whole = st.integers(-3, high) if strict else st.one_of(st.integers(-9, 15), st.none())
    row = st.fixed_dictionaries({"a": whole, "b": st.floats(-2, 12)})
    return domain, lattice, draw(st.lists(row, max_size=15))


def shared_by_hand(lattice: Lattice, positions: list[tuple[int, ...]]) -> np.ndarray:
    """Follow the module's formula for one record after the other, in Python's own integers."""
    sums = np.zeros(lattice.shape, dtype=np.int64)
    for cell in positions:
        parts = []
        for axis, p in zip(lattice.axes, cell, strict=True):
            first = 0
            for run in axis.runs:
                if run.start <= p < run.start + run.width * run.count:
                    q, r = divmod(p - run.start, run.width)
                    u = min(max(run.slope * r + run.shift, 0), run.step * (run.nodes - 1))
                    node, share = divmod((2 * u * axis.resolution + run.step) // (2 * run.step), axis.resolution)
                    node += first + q * run.nodes
                    parts.append([(node, axis.resolution - share), *([(node + 1, share)] if share else [])])
                first += run.nodes * run.count
        for corner in product(*parts):
            sums[tuple(node for node, _ in corner)] += int(np.prod([share for _, share in corner]))
    return sums


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=lattice_sums_cases())
def test_sums_equal_sharing_by_hand(way: Way, case: tuple[Domain, Lattice, list[dict[str, Any]]]) -> None:
    domain, lattice, rows = case
    wanted = shared_by_hand(lattice, [tuple(judge(domain[name], row[name]) for name in domain.names) for row in rows])
    table = to_table(rows, {"a": pa.int64(), "b": pa.float64()})
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(way(table, Path(folder)))
        found = engine.lattice_sums(domain, domain.names, lattice)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, wanted)
        assert found.sum() == len(rows) * lattice.unit
        assert engine.reads == 1
        turned = Lattice(lattice.axes[::-1])
        np.testing.assert_array_equal(engine.lattice_sums(domain, ["b", "a"], turned), wanted.T)
        counts = engine.counts(domain, [domain.names])[0]
        engine.close()
    np.testing.assert_array_equal(open_engine(Counts(counts)).lattice_sums(domain, domain.names, lattice), wanted)
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in domain.names}
    if rows:
        np.testing.assert_array_equal(ArrayEngine(*handed(columns)).lattice_sums(domain, domain.names, lattice), wanted)


def test_problems_are_named_and_never_quoted_in_lattice_sums(way: Way, tmp_path: Path) -> None:
    domain = Domain(a=Integer(0, 9), b=Binned([0, 1, 2]))
    lattice = Lattice((Axis((Run.centred(0, 10, 1, 3),), 8), Axis.identity(2)))
    rows = [{"a": 5, "b": 0.5}, {"a": 1234567, "b": 0.5}, {"a": 3, "b": None}]
    engine = open_engine(way(to_table(rows, {"a": pa.int64(), "b": pa.float64()}), tmp_path))
    with pytest.raises(DataError) as caught:
        engine.lattice_sums(domain, domain.names, lattice)
    assert "'a' has values outside" in caught.value.message
    assert "'b' has missing values" in caught.value.message
    assert "1234567" not in str(caught.value)


@pytest.mark.parametrize("values", [[2**63 - 1, -(2**63)], [None, 2**62], [10, 0], [-1, 9]])
def test_values_that_fit_no_arithmetic_are_only_outside(way: Way, tmp_path: Path, values: list[int | None]) -> None:
    domain = Domain(a=Integer(0, 9), b=Integer(0, 9))
    run = Run.centred(0, 10, 1, 4)
    lattice = Lattice((Axis((run,), run.step),) * 2)
    assert lattice.affine
    rows = [{"a": value, "b": other} for value in [5, *values] for other in [3, *values]]
    engine = open_engine(way(to_table(rows, {"a": pa.int64(), "b": pa.int64()}), tmp_path))
    with pytest.raises(DataError) as caught:
        engine.lattice_sums(domain, domain.names, lattice)
    assert "'a' has" in caught.value.message


def test_an_empty_table_gives_nothing(way: Way, tmp_path: Path) -> None:
    domain = Domain(a=Integer(0, 9))
    engine = open_engine(way(to_table([], {"a": pa.int64()}), tmp_path))
    assert engine.lattice_sums(domain, ["a"], Lattice((Axis((Run.centred(0, 10, 1, 3),), 8),))).tolist() == [0, 0, 0]
    run = Run.centred(0, 10, 1, 3)
    assert engine.lattice_sums(domain, ["a"], Lattice((Axis((run,), run.step),))).tolist() == [0, 0, 0]


def test_lattices_that_cannot_be() -> None:
    with pytest.raises(QueryError, match="cover its positions"):
        Axis((Run(1, 2, 1, 1),))
    with pytest.raises(QueryError, match="exact arithmetic"):
        Axis((Run.centred(0, 2**50, 1, 64),), 2**20)
    with pytest.raises(QueryError, match="at most"):
        Lattice((Axis.identity(5000), Axis.identity(5000)))
