"""Peers in the benchmarks know what ours knows, and their guarantees are stated as they are."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def ordered(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import ordered

    return ordered


@pytest.mark.parametrize("name", ["hierarchy_b", "privelet"])
def test_peers_use_the_public_number_of_records(ordered, name):
    counts = np.arange(64)
    for _ in range(5):
        found = getattr(ordered, name)(counts, Fraction(1, 10))
        assert found[-1] == pytest.approx(counts.sum())
        assert abs(found[:-1] - np.cumsum(counts)[:-1]).max() > 0.5


def test_figure_2b_is_compared_at_the_papers_number_of_records(ordered):
    rows = [row for row in ordered.expected() if row["theta"] == "full"]
    own = ordered.calibrated(ordered.SmoothHierarchy, 4357, None, Fraction(1), 48_842).expected_error().mse
    assert rows[0]["smooth hierarchy"] == round(own, 1)


def test_what_the_paper_prints_is_judged_for_each_threshold(ordered):
    assert "holds" in ordered.printed_promise(None)
    assert "without noise" in ordered.printed_promise(1)
    assert "overspends" in ordered.printed_promise(100)
