"""Why DAWA's rows of the benchmarks promise nothing: the first step of its program, as distributed, in closed form."""

from __future__ import annotations

from math import exp, log
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/benchmarks.md"
SIZE = 4


def cost(values):
    """How far the values of a bucket are from their mean, added up."""
    mean = sum(values) / len(values)
    return sum(abs(value - mean) for value in values)


def above(bound, scale):
    """The probability that Laplace noise exceeds a bound."""
    return exp(-bound / scale) / 2 if bound >= 0 else 1 - exp(bound / scale) / 2


def all_alone(histogram, first, second):
    """The probability that no values are merged.

    A bucket scores its cost, its share 1 / second of the later noise, and here Laplace noise of scale
    (2 - 1 / width - 1 / size) / first, except that a bucket of a single value gets none. The program merges two or four
    adjacent values where that scores no more than what was best without it; all the noises are independent.
    """
    likely = 1.0
    for width in (2, 4):
        scale = (2 - 1 / width - 1 / SIZE) / first
        for start in range(SIZE - width + 1):
            # All alone score width / second; merged, the cost, the noise and one share.
            likely *= above((width - 1) / second - cost(histogram[start : start + width]), scale)
    return likely


def test_one_record_changes_the_first_step_by_more_than_its_epsilon():
    before, after = (all_alone(histogram, first=1, second=1) for histogram in ((0, 0, 0, 0), (0, 1, 0, 0)))
    # Two pairs cost 1 more at scale 5/4, all four values 3/2 more at scale 3/2: 4/5 + 4/5 + 1.
    assert log(after / before) == pytest.approx(2.6)
    assert log(after / before) > 1
    assert f"{exp(2.6):.0f} times (e^2.6)" in " ".join(PAGE.read_text().split())


def test_no_row_says_that_it_is_private(monkeypatch):
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and "DAWA" in line]
    monkeypatch.syspath_prepend(str(PAGE.parents[1] / "benchmarks"))
    import ordered

    assert len(rows) == 15
    assert all(f"| {ordered.AS_DISTRIBUTED} |" in row for row in rows)
