import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts
from blowfish_privacy.mechanisms.ordered.range_intervals import RangeIntervals
from blowfish_privacy.noise import SimulationSource

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
        cuts = np.append(0, mechanism.ordered_estimate(mechanism.measure(counts, source), records))
        intervals = RangeIntervals(mechanism, cuts, records, None, lambda estimate: estimate)
        for name, (least, most) in WIDTHS.items():
            width = dice.integers(least, most + 1, 100)
            first = dice.integers(0, SIZE - width + 1)
            value, true = cuts[first + width] - cuts[first], truth[first + width] - truth[first]
            low, high = intervals.of(first, first + width, "0.95")
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
