"""Pictures beside their numbers: axes carry values and not positions, and nothing is drawn over anything else."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

import blowfish_privacy as bp
from blowfish_privacy.results import pictures
from blowfish_privacy.results.pictures import figure as fonts
from blowfish_privacy.results.pictures import map as cluster_pictures
from blowfish_privacy.results.pictures.errors import compare_plans
from blowfish_privacy.results.pictures.figure import drawn_from, picture, shorten_all

DOMAIN = bp.Domain(
    age=bp.Integer(17, 90),
    height=bp.Binned(list(range(140, 201, 5))),
    region=bp.Categorical(["North", "East $ide", "South", "West"]),
)
SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), height=bp.FullDomain(), region=bp.Public())
COUNTS = np.random.default_rng(1).integers(0, 9, DOMAIN.shape)

QUERIES = {
    "histogram": bp.Histogram("age"),
    "bins": bp.Histogram("height"),
    "exact": bp.Histogram("region"),
    "map": bp.Histogram("age", "height"),
    "three": bp.Histogram("age", "height", "region"),
    "lines": bp.Histogram("age", "region"),
    "cumulative": bp.Cumulative("age"),
    "cumulative bins": bp.Cumulative("height"),
    "quantiles": bp.queries.Quantiles("age"),
    "ranges": bp.queries.Ranges("age", [(17, 30)]),
    "mean": bp.Mean("age"),
    "sum": bp.Sum("age"),
    "linear": bp.Linear([[1, 1, 0, 0], [0, 0, 1, 1]], ["region"]),
    "grid": bp.RangeGrid("age", "height"),
    "clusters": bp.KMeans(["age", "height"], k=3),
    "one attribute": bp.KMeans(["age"], k=3),
}


def released(query, rows_per_person=1):
    policy = bp.Policy(DOMAIN, secrets=SECRETS, rows_per_person=rows_per_person)
    return bp.Session(bp.Counts(COUNTS), policy, budget=9).release(query, epsilon="1")


def labelled(axis):
    return {
        int(place): text.get_text().replace(r"\$", "$")
        for place, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    }


@pytest.mark.parametrize("name", ["grid", "map"])
def test_maps_have_their_first_attribute_to_the_right_and_round_values(name):
    axes = released(QUERIES[name]).figure().axes[0]
    (image,) = axes.get_images()
    assert image.get_array().shape == (12, 74)
    assert image.origin == "lower"
    # The middle of the picture's first cell is position 0, the attribute's first value.
    assert [*image.get_extent()] == [-0.5, 73.5, -0.5, 11.5]
    ages = labelled(axes.xaxis)
    assert ages == {place: DOMAIN["age"].show(place) for place in ages}
    assert [*ages.values()] == ["20", "30", "40", "50", "60", "70", "80", "90"]
    # Bins are labelled at their edges, half a position before and after their middle.
    edges = dict(zip(axes.yaxis.get_ticklocs(), (text.get_text() for text in axes.get_yticklabels()), strict=True))
    assert edges == {2 * step - 0.5: str(140 + 10 * step) for step in range(7)}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "height")


def test_three_attributes_have_a_panel_for_each_value_of_the_shortest():
    figure = released(QUERIES["three"]).figure()
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title().replace(r"\$", "$") for axes in panels] == [
        f"region {name}" for name in DOMAIN["region"].texts()
    ]
    assert all(axes.get_images()[0].get_array().shape == (12, 74) for axes in panels)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_nothing_is_drawn_over_anything_else_or_cut_off(query):
    figure = released(query).figure()
    figure.canvas.draw()
    axes = figure.axes[0]
    ticks = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text()]
    if not any(text.get_rotation() for text in axes.get_xticklabels()):
        assert all(before.x1 < after.x0 for before, after in pairwise(ticks))
    statement, below = figure._supxlabel.get_window_extent(), axes.xaxis.label.get_window_extent()
    assert figure._supxlabel.get_text()
    assert not statement.overlaps(below)
    texts = [text for text in (axes.yaxis.label, axes.title, figure._suptitle) if text.get_text()]
    for box in (statement, below, *(text.get_window_extent() for text in texts)):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


def test_what_is_exact_is_called_exact():
    for name, said in (("exact", "exact count"), ("linear", "answer about region, exact")):
        assert released(QUERIES[name]).figure().axes[0].get_xlabel() == said
    assert released(QUERIES["bins"]).figure().axes[0].get_ylabel() == "count, with its 95 % interval"


@pytest.mark.parametrize("rows", [1, 4])
def test_the_plain_rival_protects_as_many_rows_as_the_policy(rows):
    result = released(QUERIES["cumulative"], rows)
    lines = {line.get_label(): line for line in result.error_figure().axes[0].get_lines()}
    plain = lines["plain differential privacy, guaranteed"]
    made = result.release
    plan = made.plan()
    rival = bp.Policy(DOMAIN, secrets=bp.FullDomain(), rows_per_person=rows)
    session = bp.Session(bp.Counts(COUNTS), rival, budget=9)
    expected = (
        session.plan(bp.Cumulative("age"), epsilon=1)
        .expected_error()
        .by_width([int(width) for width in plain.get_xdata()])
    )
    assert plain.get_ydata() == pytest.approx(expected)
    assert plan.plain_error().rmse == pytest.approx(session.plan(bp.Cumulative("age"), epsilon=1).expected_error().rmse)


def test_an_exact_release_is_compared_with_nothing():
    policy = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.Public(), height=bp.FullDomain(), region=bp.Public()))
    result = bp.Session(bp.Counts(COUNTS), policy, budget=9).release(bp.Cumulative("age"), epsilon=1)
    assert [line.get_label() for line in result.error_figure().axes[0].get_lines()] == [
        "this release, estimated",
        "this policy, guaranteed",
    ]


def test_plans_without_error_are_called_exact_and_plain_privacy_is_not():
    session = bp.Session(bp.Counts(COUNTS), bp.Policy(DOMAIN, secrets=SECRETS), budget=9)
    figure = compare_plans([session.plan(QUERIES[name], epsilon=1) for name in ("mean", "exact")])
    figure.canvas.draw()
    assert len(figure.axes) == 2
    assert [text.get_text() for text in figure.axes[1].texts] == ["not known", "exact", "published exactly"]
    assert "exact" not in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("mechanism", ["soft-grid", "soft-mesh"])
def test_the_density_below_clusters_adds_up_and_has_no_gaps(mechanism):
    counts = np.zeros((100, 100), dtype=int)
    counts[20:80, 20:80] = 5
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 99), b=bp.Integer(0, 99)), secrets=bp.FullDomain())
    session = bp.Session(bp.Counts(counts), policy, budget=9)
    result = session.release(bp.KMeans(["a", "b"], k=3), epsilon="3", mechanism=mechanism)
    mesh = result.figure().axes[0].collections[0]
    shown = np.asarray(mesh.get_array()).reshape(cluster_pictures._BINS, cluster_pictures._BINS)
    assert shown.sum() == pytest.approx(result.points.records)
    # Inside the one block of records no strip of the picture is empty.
    inside = shown[24:40, 24:40]
    assert inside.sum(axis=0).min() > 0.2 * inside.sum(axis=0).mean()
    assert inside.sum(axis=1).min() > 0.2 * inside.sum(axis=1).mean()


def test_parts_that_are_left_out_are_said():
    domain = bp.Domain(place=bp.Integer(1, 15), age=bp.Integer(0, 3))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(place=bp.Public(), age=bp.FullDomain()))
    session = bp.Session(bp.Counts(np.full((15, 4), 9)), policy, budget=9)
    figure = session.release(bp.Histogram("age").by("place"), epsilon=1).figure()
    assert figure.get_suptitle() == "release: histogram of age by place: the first 12 of 15 groups"


def test_long_names_that_begin_alike_are_told_apart():
    names = [f"Agriculture, forestry, fishing and hunting, part {part}" for part in "ab"]
    assert shorten_all(["short", *names], 24) == ["short", "Agriculture,…ing, part a", "Agriculture,…ing, part b"]
    assert shorten_all(["a" * 40 + end + "b" * 40 for end in "xy"], 9) == ["1: aaaaa…", "2: aaaaa…"]
    assert shorten_all(["a long name alone", "a long name alone"], 9) == ["a long n…"] * 2
    domain = bp.Domain(branch=bp.Categorical(names), age=bp.Integer(0, 9))
    session = bp.Session(bp.Counts(np.full((2, 10), 9)), bp.Policy(domain, secrets=bp.FullDomain()), budget=9)
    dots = session.release(bp.Histogram("branch"), epsilon=1).figure().axes[0]
    pyramid = session.release(bp.Histogram("age", "branch"), epsilon=1).figure().axes[0]
    assert len({text.get_text() for text in dots.get_yticklabels()}) == 2
    assert len({text.get_text() for text in pyramid.texts}) == 2


@pytest.fixture
def chinese_font(tmp_path):
    """Install a font with nothing but the sign for woman, a square."""
    pen = TTGlyphPen(None)
    for place, move in (((0, 0), pen.moveTo), ((0, 500), pen.lineTo), ((500, 500), pen.lineTo), ((500, 0), pen.lineTo)):
        move(place)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "woman"])
    builder.setupCharacterMap({ord("女"): "woman"})
    glyph = pen.glyph()
    builder.setupGlyf({".notdef": glyph, "woman": glyph})
    builder.setupHorizontalMetrics({".notdef": (600, 0), "woman": (600, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Only Woman", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "woman.ttf")
    before = list(fontManager.ttflist)
    fonts._families.cache_clear()
    fontManager.addfont(tmp_path / "woman.ttf")
    yield "Only Woman"
    fontManager.ttflist[:] = before
    fonts._families.cache_clear()


def woman():
    domain = bp.Domain(sex=bp.Categorical(["女", "m"]))
    session = bp.Session(bp.Counts(np.array([5, 9])), bp.Policy(domain, secrets=bp.FullDomain()), budget=9)
    return session.release(bp.Histogram("sex"), epsilon=1)


def test_letters_that_the_font_has_not_are_taken_from_one_that_has_them(chinese_font, recwarn):
    figure = woman().figure()
    assert picture(figure, "png").startswith(b"\x89PNG")
    assert figure.axes[0].get_yticklabels()[0].get_fontfamily()[-1] == chinese_font
    for ending in ("svg", "pdf"):
        assert picture(figure, ending)
    assert not recwarn.list


def test_letters_that_no_font_has_are_drawn_without_a_word(recwarn):
    assert woman().png().startswith(b"\x89PNG")
    assert not recwarn.list


def test_a_figure_knows_no_global_state():
    axes = Figure().subplots()
    released(QUERIES["grid"]).draw(axes)
    assert axes.get_xlabel() == "age"


def test_drawing_writes_nothing_and_plot_writes_the_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = released(QUERIES["cumulative"])
    assert isinstance(result.figure(), Figure)
    assert isinstance(result.error_figure(), Figure)
    drawn = result.png()
    assert not list(tmp_path.iterdir())
    result.plot("x.png")
    result.plot_error("error.png")
    assert (tmp_path / "x.png").read_bytes() == drawn
    assert drawn_from(result.text, drawn)
    assert not drawn_from(released(QUERIES["cumulative"]).text, drawn)
    assert (tmp_path / "error.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_writes_a_file():
    # Only the drawings of the documentation are written, by the command that is run for them.
    for path in Path(pictures.__file__).parent.glob("*.py"):
        source = path.read_text().partition('if __name__ == "__main__":')[0]
        assert not re.search(r"write_atomically\(|\.write_|open\(|path:", source), path
