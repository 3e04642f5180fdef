"""What public totals of parts of a grid say of rectangles, and intervals that stay within it."""

from __future__ import annotations

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.grid.grid_family import random_rectangles
from blowfish_privacy.mechanisms.grid.rectangle_intervals import KnownParts, known_bounds
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.testing.seeded import SeededSource

SHAPE = (7, 9)


@pytest.mark.parametrize("parts", [1, 2, 5, 40])
def test_bounds_hold_for_every_table_with_these_totals(parts):
    dice = np.random.default_rng(parts)
    labels = dice.permutation(np.concatenate([np.arange(parts), dice.integers(0, parts, 63 - parts)]))
    corners = random_rectangles(SHAPE, 200, SimulationSource("parts"))
    cells = dice.integers(0, 5, 63) * (dice.random(63) < 0.5)
    known = KnownParts.of(Totals(labels, np.bincount(labels, cells, parts).astype(np.int64)), SHAPE)
    least, most = known_bounds([known], corners)
    table = cells.reshape(SHAPE)
    truth = np.array([table[a:b, c:d].sum() for a, b, c, d in corners])
    assert (least <= truth).all()
    assert (truth <= most).all()
    # The whole grid is known, and what no total speaks of is not bounded above.
    everything = np.array([[0, 7, 0, 9]])
    assert known_bounds([known], everything).tolist() == [[cells.sum()], [cells.sum()]]
    assert known_bounds([], everything).tolist() == [[0], [np.inf]]


@pytest.mark.parametrize("mechanism", [None, "laplace"])
def test_intervals_know_public_blocks(mechanism):
    counts = np.random.default_rng(3).integers(0, 9, (20, 30))
    domain = bp.Domain(a=bp.Integer(0, 19), b=bp.Integer(0, 29))
    policy = bp.Policy(domain, secrets=bp.Partition(widths={"a": 10, "b": 30}))
    session = bp.Session(bp.Counts(counts), policy, budget=1, source=SeededSource(1))
    grid = session.release(session.plan(bp.RangeGrid("a", "b"), epsilon="0.1", mechanism=mechanism))
    block = counts[:10].sum()
    assert grid.interval((0, 9), (0, 29)) == pytest.approx((block, block))
    low, high = grid.interval((0, 12), (0, 29))
    assert block <= low < grid.range((0, 12), (0, 29)) < high <= counts.sum()


@pytest.mark.parametrize("size", ["known", "unknown"])
@pytest.mark.parametrize("mechanism", ["adaptive-grid", "grid-hierarchy"])
def test_noise_that_never_comes_is_no_division_by_zero(size, mechanism):
    domain = bp.Domain(a=bp.Integer(0, 5), b=bp.Integer(0, 8))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), size=size)
    session = bp.Session(bp.Counts(np.ones((6, 9), dtype=np.int64)), policy, budget=10**7)
    plan = session.plan(bp.RangeGrid("a", "b"), epsilon=10**6, mechanism=mechanism)
    assert "oise" in plan.explain()
    assert np.allclose(session.release(plan).counts, 1)
