from __future__ import annotations

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts
from blowfish_privacy.mechanisms.intervals import RangeIntervals
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.results.pictures.map import draw_map
from blowfish_privacy.results.pictures.tables import CountsDrawing
from blowfish_privacy.testing.seeded import SeededSource

SIZE = 256

PLACES = np.arange(SIZE)

SHAPES = {
    "hill": np.rint(200 * np.exp(-0.5 * ((PLACES - 90) / 30) ** 2)).astype(np.int64),
    "even": np.full(SIZE, 12),
    "spikes": np.where(PLACES % 32 == 5, 400, 0),
}

WIDTHS = {"narrow": (1, 12), "middle": (13, 64), "wide": (65, 200)}


def released(counts, secrets, epsilon="0.2", **options):
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, len(counts) - 1)), secrets=secrets, **options)
    return bp.Session(Counts(counts), policy, budget=1000).release(bp.Cumulative("v"), epsilon=epsilon)


@pytest.fixture(scope="module")
def hill():
    return released(SHAPES["hill"], bp.DistanceThreshold(8))


def test_intervals_hold_the_estimate_and_stay_among_what_is_possible(hill):
    first, last = np.triu_indices(SIZE)
    low, high = hill.intervals(first, last)
    values = hill.ranges(first, last)
    assert (low <= values).all()
    assert (values <= high).all()
    assert low.min() >= 0
    assert high.max() <= hill.total
    # The number of all records is public.
    assert hill.interval(0, SIZE - 1) == (hill.total, hill.total)
    assert hill.interval(20, 100) == pytest.approx([end[(first == 20) & (last == 100)][0] for end in (low, high)])
    assert hill.intervals([], [])[0].tolist() == []


def test_a_higher_level_is_a_wider_interval(hill):
    ends = [hill.interval(40, 120, level) for level in ("0.5", "0.8", 0.95, "0.99")]
    widths = [high - low for low, high in ends]
    assert widths == sorted(widths)
    assert widths[0] < 0.7 * widths[2]
    for level in (0, 1, "2", "x"):
        with pytest.raises(bp.QueryError):
            hill.interval(40, 120, level)
    for low, high in ((-1, 5), (9, 3), (0, SIZE)):
        with pytest.raises(bp.BlowfishError):
            hill.interval(low, high)
        with pytest.raises(bp.QueryError):
            hill.intervals([low], [high])


def test_everybody_computes_the_same_intervals(hill, tmp_path):
    hill.save(tmp_path / "hill.release.json")
    assert bp.load(tmp_path / "hill.release.json").interval(10, 30) == hill.interval(10, 30)


def shares_held(counts, secrets):
    """Return for each class of widths how often intervals hold the truth, and how often half and twice as wide ones."""
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, SIZE - 1)), secrets=secrets)
    # Only intervals are of interest, so the mechanism is run without a ledger and documents.
    mechanism = bp.Session(Counts(counts), policy, budget=1).plan(bp.Cumulative("v"), epsilon="0.2").mechanism
    truth, records, source = np.append(0, np.cumsum(counts)), int(counts.sum()), SimulationSource("test")
    dice, held = np.random.default_rng(3), {width: np.zeros(3) for width in WIDTHS}
    for _ in range(30):
        cuts = np.append(0, mechanism.shown_estimate(mechanism.measure(counts, source), records))
        intervals = RangeIntervals(mechanism, cuts, records, None, lambda estimate: estimate)
        for name, (least, most) in WIDTHS.items():
            width = dice.integers(least, most + 1, 100)
            first = dice.integers(0, SIZE - width + 1)
            value, true = cuts[first + width] - cuts[first], truth[first + width] - truth[first]
            low, high = intervals.of(np.stack([first, first + width], axis=1), "0.95")
            for index, factor in enumerate((1, 0.5, 2)):
                wrong = (true < value - factor * (value - low)) | (true > value + factor * (high - value))
                held[name][index] += np.mean(~wrong) / 30
    return held


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("secrets", [bp.DistanceThreshold(1), bp.DistanceThreshold(16), bp.FullDomain()], ids=str)
def test_intervals_hold_the_truth_about_as_often_as_they_say(shape, secrets):
    # Bits are fixed, so this cannot fail by chance; half of the width must be noticed, and so must twice.
    held = shares_held(SHAPES[shape], secrets)
    # Empty ranges between spikes are mostly exact, whatever the width of the intervals.
    most = 0.995 if shape == "spikes" else 0.985
    for right, half, twice in held.values():
        assert 0.92 <= right <= most
        assert twice > 0.985
        assert half < 0.9 or shape == "spikes"
    assert held["wide"][1] < 0.9


def test_counts_of_public_blocks_bound_what_is_inside():
    counts = np.arange(40) % 7
    blocks = [(start, start + 9) for start in range(0, 40, 10)]
    result = released(counts, bp.Partition(widths=10))
    for low, high in blocks:
        true = float(counts[low : high + 1].sum())
        assert result.interval(low, high) == (true, true)
    low, high = result.interval(5, 24)
    assert low >= counts[10:20].sum()
    assert high <= counts[:30].sum()


def test_intervals_where_the_number_of_records_is_secret():
    result = released(SHAPES["hill"], bp.DistanceThreshold(8), size="unknown")
    low, high = result.interval(0, SIZE - 1)
    assert low < result.range(0, SIZE - 1) < high
    low, high = result.interval(200, 255)
    assert 0 <= low <= result.range(200, 255) <= high


def test_ranges_are_shown_with_their_intervals():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, SIZE - 1)), secrets=bp.DistanceThreshold(8))
    session = bp.Session(Counts(SHAPES["hill"]), policy, budget=10)
    result = session.release(bp.Ranges("v", [(0, 99), (0, SIZE - 1)]), epsilon="0.5")
    assert result.header == ["from", "to", "count", "low_95_in_100", "high_95_in_100"]
    some, everything = result.rows()
    assert some[3] < some[2] < some[4]
    # An interval of several records deserves no third digit.
    assert [round(each, 2) for each in some[2:]] == some[2:]
    assert len(set(everything[2:])) == 1


def test_the_error_of_a_cumulative_count_depends_on_its_value():
    result = released(SHAPES["spikes"], bp.DistanceThreshold(16), epsilon="0.5")
    wrong = result.error().by_value()
    # Near the ends, whose counts are public, there is less to be wrong about.
    assert wrong[0] < 0.8 * wrong[100:150].mean()
    assert wrong[-1] == 0


# Every count and every answer has an interval of its own: as wide as its error, and none where it is exact.


AGES = bp.Domain(age=bp.Integer(20, 59))

EDGES = bp.ExplicitGraph([(20, 21), (21, 22)])

COUNTS = np.random.default_rng(3).integers(30, 70, 40)

UNEVEN = bp.ExplicitGraph([(20, 21), *((age, age + 1) for age in (*range(23, 25), *range(30, 59)))])

"""Blocks of 2, 3, 1 and 30 values, which are told by no total but their own."""


def cell_released(domain, secrets, counts, query, mechanism=None):
    policy = bp.Policy(domain, secrets=secrets)
    session = bp.Session(bp.Counts(counts), policy, budget=9, source=SeededSource(4))
    return session.release(query, epsilon="0.1", mechanism=mechanism)


def test_only_the_values_that_are_secret_have_intervals():
    result = cell_released(AGES, EDGES, COUNTS, bp.Histogram("age"))
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
    result = cell_released(AGES, bp.FullDomain(), COUNTS, bp.Histogram("age").where(age=(20, 29)))
    low, high = result.interval()
    assert (low < high).tolist() == [True] * 10 + [False] * 30


@pytest.mark.parametrize(("level", "alike"), [("0.8", 0.02), ("0.95", 0.006)])
def test_intervals_of_counts_hold_the_truth_as_often_as_they_say(level, alike):
    """Shapes of errors differ a little among blocks, which moves the share held by less than ``alike``.

    The share of 20,000 draws has a standard deviation below 0.003; an alarm is 4 of these further away, which happens
    by chance in less than one of 10,000 cells.
    """
    result = cell_released(AGES, UNEVEN, COUNTS, bp.Histogram("age"))
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
    result = cell_released(AGES, bp.FullDomain(), COUNTS, bp.Cumulative("age"), mechanism="laplace")
    low, high = result.interval()
    assert low[-1] == high[-1] == pytest.approx(COUNTS.sum())
    assert (low[:-1] < high[:-1]).all()


@pytest.mark.parametrize("way", [None, "nonnegative", "whole"])
def test_tables_are_drawn_with_the_intervals_that_they_state(way):
    domain = bp.Domain(place=bp.Categorical(["a", "b", "c", "d"]), flag=bp.Categorical(["x", "y"]))
    secrets = bp.PerAttribute(place=bp.ExplicitGraph([("a", "b")]), flag=bp.FullDomain())
    counts = np.array([[3, 120], [124, 126], [130, 145], [130, 104]])
    result = cell_released(domain, secrets, counts, bp.Tables([["place"], ["flag"]]))
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
    CountsDrawing(domain, counts, half).draw(axes)
    left, right = ([path.vertices[:, 0].tolist() for path in each.get_paths()] for each in axes.collections)
    assert left == [[0, -40]] * 5
    assert right == [[0, 110]] * 5


def test_the_first_and_the_last_step_are_as_wide_as_the_others():
    domain = bp.Domain(age=bp.Integer(0, 99))
    _, axes = start_figure(8, 4)
    CountsDrawing(domain, np.arange(100.0), np.full(100, 3.0)).draw(axes)
    assert [(each.get_data().edges[0], each.get_data().edges[-1]) for each in axes.patches] == [(-0.5, 99.5)] * 2
