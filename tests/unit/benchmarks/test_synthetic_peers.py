"""The peers of synthetic records spend what they are given, and no more, for a record that is changed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SHAPE = (2, 3, 4, 2)


@pytest.fixture
def published(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from baselines import published_synthesis

    return published_synthesis


@pytest.fixture
def smartnoise(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from baselines import smartnoise

    return smartnoise


class Independent:
    """A model that knows the single attributes only."""

    def __init__(self, measured):
        self.shares = {axes[0]: np.maximum(noisy, 0.1) for axes, noisy, _ in measured if len(axes) == 1}
        self.total = sum(self.shares[0])

    def table(self, axes):
        found = np.array(float(self.total))
        for axis in axes:
            found = np.multiply.outer(found, self.shares[axis] / self.shares[axis].sum())
        return found


def records():
    generator = np.random.default_rng(1)
    first = generator.integers(0, 2, 2000)
    return np.column_stack([first, first + generator.integers(0, 2, 2000), generator.integers(0, 4, 2000), 1 - first])


@pytest.mark.parametrize("way", ["aim", "mst"])
@pytest.mark.parametrize("rho", [0.01, 0.5])
def test_they_spend_their_rho(published, way, rho):
    curator = published.Curator(records(), SHAPE, np.random.default_rng(2))
    getattr(published, way)(curator, rho, Independent)
    assert curator.spent == pytest.approx(rho)
    measured = sum(1 / variance for _, _, variance in curator.measured)
    assert measured == pytest.approx((0.9 if way == "aim" else 2 / 3) * rho, rel=0.02)


def test_they_find_what_depends(published):
    curator = published.Curator(records(), SHAPE, np.random.default_rng(3))
    published.mst(curator, 10.0, Independent)
    assert (0, 1) in [axes for axes, _, _ in curator.measured]
    assert (0, 3) in [axes for axes, _, _ in curator.measured] or (1, 3) in [axes for axes, _, _ in curator.measured]


def test_the_size_of_a_tree_is_that_of_its_cliques(published):
    assert published.tree_cells(SHAPE, []) == 2 + 3 + 4 + 2
    # A chain 0 - 1 - 2: eliminating 3, 0 and 1, whose cliques are (3), (0, 1) and (1, 2), leaves 2.
    assert published.tree_cells(SHAPE, [(0, 1), (1, 2)]) == 2 + 6 + 12 + 4
    whole = published.tree_cells(SHAPE, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert whole > published.tree_cells(SHAPE, [(0, 1), (1, 2), (2, 3)])


def test_changing_a_record_costs_smartnoise_as_much_as_stated(published, smartnoise):
    """A change moves two cells of a table by one and the score of a choice by two: twice, and four times, the loss."""
    before = np.array(list(product(*map(range, SHAPE))))
    after = before.copy()
    after[0] = [1, 2, 3, 1]
    curators = [published.Curator(each, SHAPE, np.random.default_rng(4)) for each in (before, after)]
    change = curators[0].table((0, 1)) - curators[1].table((0, 1))
    assert (change**2).sum() == 2
    assert np.abs(change).sum() == 2
    assert smartnoise.CHANGE_COSTS["aim"] == pytest.approx(0.9 * 2 + 0.1 * 2**2)
    assert smartnoise.CHANGE_COSTS["mst"] == pytest.approx((2 * 2 + 2**2) / 3)
