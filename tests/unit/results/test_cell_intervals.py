"""Every count and every answer has an interval of its own: as wide as its error, and none where it is exact."""

from __future__ import annotations

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.results.pictures.map import draw_map
from blowfish_privacy.results.pictures.tables import draw_table
from blowfish_privacy.testing.seeded import SeededSource

AGES = bp.Domain(age=bp.Integer(20, 59))
EDGES = bp.ExplicitGraph([(20, 21), (21, 22)])
COUNTS = np.random.default_rng(3).integers(30, 70, 40)
UNEVEN = bp.ExplicitGraph([(20, 21), *((age, age + 1) for age in (*range(23, 25), *range(30, 59)))])
"""Blocks of 2, 3, 1 and 30 values, which are told by no total but their own."""


def released(domain, secrets, counts, query, mechanism=None):
    policy = bp.Policy(domain, secrets=secrets)
    session = bp.Session(bp.Counts(counts), policy, budget=9, source=SeededSource(4))
    return session.release(query, epsilon="0.1", mechanism=mechanism)


def test_only_the_values_that_are_secret_have_intervals():
    result = released(AGES, EDGES, COUNTS, bp.Histogram("age"))
    low, high = result.interval()
    assert (low < high).tolist() == [True] * 3 + [False] * 37
    assert low[3:].tolist() == COUNTS[3:].tolist()
    errors = np.array([row[-1] for row in result.rows()])
    assert ((high - low) / 2)[:3] == pytest.approx(errors[:3] * 2.0, rel=0.05)
    # One width for all would be that of a random count, most of which are exact.
    assert ((high - low) / 2)[0] > 4 * result.error().interval("0.95")
    bars = result.figure().axes[0].containers
    (whiskers,) = (each.lines[2][0] for each in bars if hasattr(each, "has_yerr") and each.has_yerr)
    drawn = [path.vertices[:, 1].tolist() for path in whiskers.get_paths()]
    assert drawn == [pytest.approx(ends) for ends in zip(low[:3].tolist(), high[:3].tolist(), strict=True)]


def test_values_that_a_condition_leaves_out_have_no_interval():
    result = released(AGES, bp.FullDomain(), COUNTS, bp.Histogram("age").where(age=(20, 29)))
    low, high = result.interval()
    assert (low < high).tolist() == [True] * 10 + [False] * 30


@pytest.mark.parametrize(("level", "alike"), [("0.8", 0.02), ("0.95", 0.006)])
def test_intervals_of_counts_hold_the_truth_as_often_as_they_say(level, alike):
    """Shapes of errors differ a little among blocks, which moves the share held by less than ``alike``.

    The share of 20,000 draws has a standard deviation below 0.003; an alarm is 4 of these further away, which happens
    by chance in less than one of 10,000 cells.
    """
    result = released(AGES, UNEVEN, COUNTS, bp.Histogram("age"))
    error, (low, high) = result.error(), result.interval(level)
    generator = np.random.default_rng(8)
    odds = 1 - np.exp(-1 / float(error.raw.scale))
    noise = generator.geometric(odds, (20_000, 40)) - generator.geometric(odds, (20_000, 40))
    errors = np.abs(np.array([error.estimate(each.astype(float)) for each in noise]))
    exact = np.array([2, *range(6, 10)])
    assert errors[:, exact].max() < 1e-9
    held = (errors <= (high - low) / 2 + 1e-9).mean(axis=0)
    secret = np.setdiff1d(np.arange(40), exact)
    assert np.abs(held[secret] - float(level)).max() < alike + 4 * 0.003
    # Half as wide would be noticed.
    assert np.abs((errors <= (high - low) / 4).mean(axis=0)[secret] - float(level)).min() > alike + 4 * 0.003


def test_answers_that_a_public_total_tells_have_no_interval():
    result = released(AGES, bp.FullDomain(), COUNTS, bp.Cumulative("age"), mechanism="laplace")
    low, high = result.interval()
    assert low[-1] == high[-1] == pytest.approx(COUNTS.sum())
    assert (low[:-1] < high[:-1]).all()


@pytest.mark.parametrize("way", [None, "nonnegative", "whole"])
def test_tables_are_drawn_with_the_intervals_that_they_state(way):
    domain = bp.Domain(place=bp.Categorical(["a", "b", "c", "d"]), flag=bp.Categorical(["x", "y"]))
    secrets = bp.PerAttribute(place=bp.ExplicitGraph([("a", "b")]), flag=bp.FullDomain())
    counts = np.array([[3, 120], [124, 126], [130, 145], [130, 104]])
    result = released(domain, secrets, counts, bp.Tables([["place"], ["flag"]]))
    made = result if way is None else getattr(result, way)()
    table = made["place"]
    low, high = table.interval()
    assert (low < high).tolist() == [True, True, False, False]
    assert low[2:].tolist() == [275, 234]
    whiskers = table.figure().axes[0].containers[0].lines[2][0].get_paths()
    drawn = [path.vertices[:, 0].tolist() for path in whiskers]
    assert drawn == [pytest.approx(ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]


def test_a_map_states_the_widest_interval():
    for half, said in ((np.full((3, 4), 32.5), "interval: ± 32.5"), (np.eye(3, 4), "interval: up to ± 1"), (0.0, "")):
        figure, axes = start_figure(8, 4)
        draw_map(axes, np.full((3, 4), 50.0), "count", half=half)
        words = figure.axes[1].get_ylabel()
        assert words.endswith(said)
        assert said or "interval" not in words


def test_intervals_of_a_pyramid_are_those_of_the_counts_and_end_in_the_middle():
    domain = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["f", "m"]))
    counts = np.stack([np.full(10, -20.0), np.full(10, 50.0)], axis=1)
    half = np.where(np.arange(10)[:, None] < 5, 60.0, 0.0) * np.ones(2)
    _, axes = start_figure(8, 4)
    draw_table(axes, counts, domain, half)
    left, right = ([path.vertices[:, 0].tolist() for path in each.get_paths()] for each in axes.collections)
    assert left == [[0, -40]] * 5
    assert right == [[0, 110]] * 5


def test_the_first_and_the_last_step_are_as_wide_as_the_others():
    domain = bp.Domain(age=bp.Integer(0, 99))
    _, axes = start_figure(8, 4)
    draw_table(axes, np.arange(100.0), domain, 3.0)
    assert [(each.get_data().edges[0], each.get_data().edges[-1]) for each in axes.patches] == [(-0.5, 99.5)] * 2
