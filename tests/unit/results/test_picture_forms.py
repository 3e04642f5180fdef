"""What pictures show: the form that suits a result, round numbers along axes, bands; and files that are equal again."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import combinations, pairwise
from math import log10
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.text import Text

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.results.pictures.distribution import bin_edges
from blowfish_privacy.results.pictures.errors import compare_plans
from blowfish_privacy.results.pictures.figure import (
    _dates,
    deserved,
    drawn_from,
    label_values,
    round_numbers,
    start_figure,
    with_interval,
)
from blowfish_privacy.results.pictures.map import added_up, count_scale, draw_map, draw_squares
from blowfish_privacy.results.pictures.tables import CountsDrawing
from blowfish_privacy.testing.seeded import SeededSource

DOMAIN = bp.Domain(
    age=bp.Integer(17, 90),
    sex=bp.Categorical(["Female", "Male"]),
    region=bp.Categorical(["North", "East", "South"]),
)
SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), region=bp.Public())
POLICY = bp.Policy(DOMAIN, secrets=SECRETS)
COUNTS = np.random.default_rng(1).integers(0, 90, DOMAIN.shape)


def released(query, epsilon="1", policy=POLICY, counts=COUNTS):
    return bp.Session(bp.Counts(counts), policy, budget=9, source=SeededSource(4)).release(query, epsilon=epsilon)


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def is_round(value):
    """Whether a number is 0 or a multiple of 1, 2 or 5 times the power of ten of a tick's step."""
    return not value or round(value / 10 ** (np.floor(log10(abs(value)))), 9) in (1, 2, 5)


def test_age_by_sex_is_a_pyramid():
    axes = released(bp.Histogram("age", "sex")).figure().axes[0]
    low, high = axes.get_xlim()
    assert low == -high
    assert [text.get_text() for text in axes.texts] == ["sex Female", "sex Male"]
    assert labels(axes.yaxis) == ["20", "30", "40", "50", "60", "70", "80", "90"]
    # Both sides are counted upwards from the middle, in round steps.
    axes.figure.canvas.draw()
    assert labels(axes.xaxis)[0] == labels(axes.xaxis)[-1]
    assert is_round(np.diff(axes.get_xticks())[0])


def test_groups_of_a_mean_are_dots_with_intervals_on_one_axis():
    groups = released(bp.Mean("age").by("region"))
    (axes,) = groups.figure().axes
    assert labels(axes.yaxis) == ["North", "East", "South"]
    written = [text.get_text() for text in axes.texts]
    for text, each in zip(written, groups.values(), strict=True):
        width = each.error().interval("0.95")
        assert text == deserved(each.value, 2 * width)
        assert axes.get_xlim()[0] < each.value - width < each.value + width < axes.get_xlim()[1]
    assert groups.figure()._supxlabel.get_text() == groups.statement


def test_quantiles_of_groups_share_a_row_and_have_intervals():
    groups = released(bp.queries.Quantiles("age", ["0.25", "0.75"]).by("region"), "0.1")
    (axes,) = groups.figure().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0.25", "0.75"]
    for each in groups.values():
        for shown, share in zip(each.intervals_shown(), ("0.25", "0.75"), strict=True):
            assert shown.value == each.quantile(share)
            assert shown.low <= shown.value <= shown.high
            assert shown.low < shown.high


def test_other_groups_have_panels_that_can_be_compared():
    panels = released(bp.Histogram("sex").by("region")).figure().axes
    assert [axes.get_title() for axes in panels[:3]] == ["North", "East", "South"]
    (limits,) = {axes.get_xlim() for axes in panels[:3]}
    assert limits[1] > COUNTS.sum(axis=0).max()


def test_a_single_number_is_a_strip_with_its_value_written():
    result = released(bp.Mean("age"))
    figure = result.figure()
    (shown,) = result.intervals_shown()
    assert figure.get_size_inches()[1] < 2.2
    assert [text.get_text() for text in figure.axes[0].texts] == [with_interval(shown.value, shown.low, shown.high)]


def test_the_interval_of_a_mean_ends_where_the_declared_values_do():
    (shown,) = released(bp.Mean("age"), "0.000001").intervals_shown()
    assert (shown.low, shown.high) == (min(17, shown.value), max(90, shown.value))


def test_the_picture_of_a_weighted_table_says_what_it_is_weighted_by():
    title = released(bp.Histogram("sex").weighted("age")).figure().get_suptitle()
    assert title == "release: histogram of sex weighted by age"


@pytest.mark.parametrize(
    ("query", "title"),
    [
        (bp.Histogram("age").where(sex="Female").by("region"), "histogram of age by region"),
        (bp.Mean("age").where(sex="Female").by("region"), "mean of age by region"),
        (bp.Tables([["age", "region"], ["region"]]).where(sex="Female"), "tables"),
        (bp.Mean("age").where(sex="Female"), "mean of age"),
    ],
)
def test_pictures_say_of_which_records_they_are(query, title):
    figure = released(query).figure()
    assert figure.get_suptitle() == f"release: {title}, of the records with “sex” Female"


def test_the_table_of_a_number_says_of_which_records_it_is():
    for query in (bp.Mean("age").where(sex="Female"), bp.Sum("age").where(sex="Female").by("region")):
        result = released(query)
        column = result.header.index("query")
        keyword = "sum" if "region" in result.header else "mean"
        assert {row[column] for row in result.rows()} == {f"{keyword} of age, of the records with “sex” Female"}


def test_a_long_headline_has_lines_that_fit_above_the_figure():
    chosen = {"age": (20, 29), "region": ["North", "South"], "sex": "Female"}
    figure = released(bp.Histogram("age").where(chosen)).figure()
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
    assert figure.get_suptitle().count("\n") == 1
    assert figure.get_suptitle().endswith("and “sex” Female")


def test_a_number_is_written_to_the_digits_that_its_interval_leaves():
    assert with_interval(40.411633430244464, 40.31, 40.51) == "40.4 (95 % interval 40.3 to 40.5)"
    assert with_interval(1_125_539.0, 1_125_389.0, 1_125_689.0) == "1,125,539 (95 % interval 1,125,389 to 1,125,689)"
    assert with_interval(1_125_539.0, 1_125_239.0, 1_125_839.0) == "1,125,540 (95 % interval 1,125,240 to 1,125,840)"
    assert [deserved(value, 7.0) for value in (36.0, 36.6, -0.2)] == ["36", "37", "0"]
    large = with_interval(249_381_009.0, 219_423_686.0, 279_338_332.0)
    assert large == "249,000,000 (95 % interval 219,000,000 to 279,000,000)"
    assert with_interval(7.0, 7.0, 7.0) == "7"


def test_a_distribution_has_its_density_beside_it_and_both_have_bands():
    result = released(bp.Cumulative("age"), "0.05")
    figure = result.figure()
    left, right = figure.axes[:2]
    density = result.density()
    assert left.collections
    band, line = right.patches[0], right.patches[-1]
    assert np.array_equal(band.get_data().values, density.high)
    assert np.array_equal(line.get_data().values, density.values)
    assert (density.low <= density.values).all()
    assert (density.values <= density.high).all()
    # The bins hold all records, and what is said of their width is true.
    assert (density.values * np.diff(density.edges)).sum() == pytest.approx(result.total)
    assert f"mean of {density.width} neighbours" in right.get_ylabel()
    assert density.width > 1


def test_a_thin_band_is_enlarged():
    result = released(bp.Cumulative("age"), "8")
    (inset,) = result.figure().axes[0].child_axes
    _, low, high = result.shares()
    middle = int(np.searchsorted(result.shares()[0], 0.5))
    assert (high - low)[middle] / np.diff(inset.get_ylim())[0] > 1 / 12


def test_distributions_of_groups_are_enlarged_too():
    figure = released(bp.Cumulative("age").by("region"), "8").figure()
    assert [len(axes.child_axes) for axes in figure.axes[:3]] == [1, 1, 1]


def test_what_is_enlarged_has_values_along_it_and_nothing_crosses_its_labels():
    result = released(bp.Cumulative("age"), "8")
    axes = result.figure().axes[0]
    (inset,) = axes.child_axes
    low, high = inset.get_xlim()
    ticks = dict(zip(inset.get_xticks(), labels(inset.xaxis), strict=True))
    assert 1 <= len(ticks) <= 3
    assert all(low <= place <= high and text == str(17 + int(place)) for place, text in ticks.items())
    indicator = next(each for each in axes.get_children() if hasattr(each, "connectors"))
    assert not any(line.get_visible() for line in indicator.connectors)


def test_the_distribution_of_a_single_value_is_a_step():
    domain = bp.Domain(v=bp.Integer(5, 5), w=bp.Integer(0, 3))
    result = released(bp.Cumulative("v"), policy=bp.Policy(domain, secrets=bp.FullDomain()), counts=np.full((1, 4), 9))
    axes = result.figure().axes[0]
    assert axes.get_ylim() == (-0.02, 1.02)
    assert axes.get_lines()[0].get_xydata().tolist() == [[-0.5, 0.0], [0.0, 1.0], [0.5, 1.0]]


def test_quantiles_are_written_apart_and_inside_the_panel():
    shares = ["0.1", "0.5", "0.51", "0.52", "0.9", "0.97", "0.98", "0.99"]
    figure = released(bp.queries.Quantiles("age", shares), "1").figure()
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert len(boxes) == len(shares)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    panel = axes.get_window_extent()
    for box in boxes:
        assert panel.x0 <= box.x0 <= box.x1 <= panel.x1 + 1
        assert panel.y0 <= box.y0 <= box.y1 <= panel.y1 + 1


def test_quantiles_of_bins_have_their_intervals_around_them():
    bins = bp.Domain(v=bp.Binned(list(range(0, 101, 10))))
    policy = bp.Policy(bins, secrets=bp.FullDomain())
    result = released(bp.queries.Quantiles("v", ["0.5"]), "0.01", policy, np.full(10, 90))
    ((_, place, first, last),) = result.marks()
    (drawn,) = result.figure().axes[0].containers[0].lines[2][0].get_paths()
    assert drawn.vertices[:, 0].tolist() == [first + 0.5, last + 0.5]
    assert first <= place <= last


def test_maps_of_groups_have_one_scale_of_colours():
    domain = bp.Domain(a=bp.Integer(0, 19), b=bp.Integer(0, 14), sex=bp.Categorical(["f", "m"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(a=bp.FullDomain(), b=bp.FullDomain(), sex=bp.Public()))
    counts = np.stack([np.full((20, 15), 200), np.full((20, 15), 20)], axis=2)
    for query in (bp.Histogram("a", "b").by("sex"), bp.Histogram("a", "b", "sex")):
        figure = released(query, policy=policy, counts=counts).figure()
        norms = [image.norm for axes in figure.axes[:2] for image in axes.get_images()]
        assert len(norms) == 2
        assert norms[0].vmax == norms[1].vmax > 190
        bars = [labels(axes.yaxis) for axes in figure.axes[2:]]
        assert bars[0] == bars[1]


def test_nothing_is_enlarged_over_quantiles():
    assert not released(bp.queries.Quantiles("age"), "8").figure().axes[0].child_axes


def test_quantiles_have_intervals_in_their_table():
    result = released(bp.queries.Quantiles("age", ["0.5"]), "0.01")
    assert result.header == ["share", "age", "low_95_in_100", "high_95_in_100"]
    ((share, *shown),) = result.rows()
    (drawn,) = result.intervals_shown()
    assert share == "0.5"
    assert [float(each) for each in shown] == [drawn.value, drawn.low, drawn.high]
    assert drawn.low < drawn.value < drawn.high


def test_less_noise_means_narrower_bins():
    widths = [released(bp.Cumulative("age"), epsilon).density().width for epsilon in ("0.01", "0.1", "8")]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1] == 1


def test_bins_of_a_density_begin_at_round_values():
    edges = bin_edges(DOMAIN["age"], 10)
    assert edges.tolist() == [0, 13, 23, 33, 43, 53, 63, 74]
    assert bin_edges(bp.Binned(list(range(12))), 5).tolist() == [0, 5, 11]


def test_what_is_exact_has_no_band():
    policy = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.Public(), sex=bp.FullDomain(), region=bp.Public()))
    result = released(bp.Cumulative("age"), policy=policy)
    left, right = result.figure().axes[:2]
    assert not left.collections
    assert left.get_ylabel().endswith("exact")
    assert len(right.patches) == 1


@pytest.mark.parametrize(("largest", "scale"), [(900.0, "square-root"), (900_000.0, "logarithmic")])
def test_maps_have_a_bar_of_round_counts(largest, scale):
    counts = np.linspace(1, 50, 12 * 30).reshape(12, 30)
    counts[3, 4] = largest
    figure, axes = start_figure(8, 4)
    draw_map(axes, counts, "count")
    bar = figure.axes[1]
    assert scale in bar.get_ylabel()
    ticks = [float(text.replace(",", "")) for text in labels(bar.yaxis)]
    assert ticks == bar.get_yticks().tolist()
    assert ticks[0] == 0
    assert len(ticks) >= 4
    assert all(is_round(tick) for tick in ticks)
    norm, _ = count_scale(counts)
    assert min(np.diff([norm(tick) for tick in ticks])) >= 0.07
    # A cell of twenty is told from one of two, though the largest is far away.
    assert norm(20) - norm(2) > 0.05


def test_cells_that_noise_hides_are_added_up_and_it_is_said():
    counts = np.full((80, 60), 3.0)
    assert added_up(counts, 1.0) == (pytest.approx(counts), pytest.approx(np.ones_like(counts)), 1)
    squares, reach, side = added_up(counts, 8.0)
    assert reach[0, 0] == pytest.approx(8.0 * side)
    assert side in (2, 5, 10)
    assert squares.sum() == counts.sum()
    figure, axes = start_figure(8, 4)
    draw_squares(axes, counts, "count", half=8.0)
    assert f"count in squares of {side} by {side}" in figure.axes[1].get_ylabel()
    assert axes.get_xlim() == (-0.5, 59.5)
    large = added_up(np.ones((1000, 1000)), 0.0)
    assert max(large[0].shape) <= 300


def test_round_numbers_leave_room_between_them():
    for most in (1, 7, 1234, 98_765):
        ticks = round_numbers(most, lambda value, most=most: value / most)
        assert all(is_round(tick) for tick in ticks)
        assert all(after - before >= 0.07 * most for before, after in pairwise(ticks))


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (bp.Integer(1993, 2024), ["1995", "2000", "2005", "2010", "2015", "2020"]),
        (bp.Integer(0, 40_000), ["0", "5,000", "10,000", "15,000", "20,000", "25,000", "30,000", "35,000", "40,000"]),
        (bp.Binned([0, 0.5, 1, 1.5, 2]), ["0", "0.5", "1", "1.5", "2"]),
        (bp.Binned([0, 1000, 5000, 20_000]), ["0", "1,000", "5,000", "20,000"]),
    ],
)
def test_ticks_are_round_values(attribute, expected):
    _, axes = start_figure(8, 4)
    label_values(axes.xaxis, bp.Domain(value=attribute), room=99)
    assert labels(axes.xaxis) == expected


def test_dates_are_labelled_where_months_and_years_begin():
    class Days:
        size = 800

        def value(self, place):
            return date(2023, 11, 20) + timedelta(days=place)

    assert [text for _, text in _dates(Days(), 4)] == ["2024", "2025", "2026"]
    assert [text for _, text in _dates(Days(), 10)][:2] == ["2024-01", "2024-04"]
    assert [text for _, text in _dates(bp.Date("2021-01-01", "2021-12-31"), 2)] == ["2021-01", "2021-07"]


@pytest.mark.parametrize(
    ("first", "step", "label"),
    [("2024-03-01", "month", "2024-03"), ("2024-03-01", "day", "2024-03"), ("2024-03-02", "day", "2024-04"),
     ("2024-03-04", "week", "2024-03"), ("2024-03-11", "week", "2024-04")],
)  # fmt: skip
def test_the_first_date_is_labelled_where_it_begins_a_month(first, step, label):
    assert _dates(bp.Date(first, "2024-09-30", step=step), 11)[0][1] == label


def test_every_value_of_many_names_is_labelled():
    towns = bp.Domain(town=bp.Categorical([f"town {number}" for number in range(100)]))
    policy = bp.Policy(towns, secrets=bp.FullDomain())
    figure = released(bp.Histogram("town"), policy=policy, counts=np.arange(100)).figure()
    shown = [name for axes in figure.axes for name in labels(axes.yaxis)]
    assert shown == towns["town"].texts()


def test_few_lines_have_names_and_differ_in_more_than_colour():
    _, axes = start_figure(8, 4)
    counts = COUNTS.sum(axis=1)
    CountsDrawing(DOMAIN.project(["age", "region"]), counts, np.full(counts.shape, 3.0)).draw(axes)
    lines = [line for line in axes.get_lines() if line.get_label().startswith("region")]
    assert len({line.get_linestyle() for line in lines}) == len(lines) == 3


def test_errors_of_unlike_units_have_axes_of_their_own():
    session = bp.Session(bp.Counts(COUNTS), POLICY, budget=9)
    plans = [session.plan(query, epsilon=1) for query in (bp.Histogram("age"), bp.Mean("age"), bp.Cumulative("age"))]
    figure = compare_plans(plans, "Given up: this.")
    assert len(figure.axes) == len(plans)
    gains = [axes.texts[-1].get_text() for axes in figure.axes]
    assert gains[-1] == "the same"
    assert all("times more\naccurate" in gain for gain in gains[:-1])
    for axes in figure.axes:
        plain, ours = (bar.get_width() for bar in axes.patches)
        assert plain >= ours
    assert figure._supxlabel.get_text() == "Given up: this."


def test_pictures_are_the_same_again_and_say_where_they_come_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    result = released(bp.Histogram("age", "sex"))
    result.save("ages.release.json")
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF-")):
        result.plot(f"ages.{ending}")
        drawn = (tmp_path / f"ages.{ending}").read_bytes()
        assert drawn.startswith(start)
        assert drawn == getattr(result, ending)()
        assert drawn_from(result.text, drawn)
        assert not drawn_from(result.text + " ", drawn)
        # The command draws the same, also over what it drew before.
        assert run(["plot", "ages.release.json", "-o", f"ages.{ending}"]) == 0
        assert (tmp_path / f"ages.{ending}").read_bytes() == drawn
    assert ElementTree.fromstring(result.svg()).tag == "{http://www.w3.org/2000/svg}svg"
    (tmp_path / "mine.svg").write_text("mine")
    assert run(["plot", "ages.release.json", "-o", "mine.svg"]) == 2
    assert run(["plot", "ages.release.json", "-o", "ages.gif"]) == 2
    assert ".png, .svg or .pdf" in capsys.readouterr().err
    assert (tmp_path / "mine.svg").read_text() == "mine"
