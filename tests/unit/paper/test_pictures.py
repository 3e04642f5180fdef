"""The pictures of the reproduction: everything that is drawn is explained, and nothing else."""

from __future__ import annotations

import pytest

from blowfish_lab.paper import runner
from blowfish_lab.paper.curves import Curves
from blowfish_lab.paper.figure import OURS, FigureRun, Panel, draw_panels
from blowfish_lab.paper.figure_2 import UNORDERED, OrderedCurves
from blowfish_lab.paper.runner import FIGURES
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.results.pictures.policy_graph import _read_colours

QUICK = FigureRun(None, quick=True)
NUMBERS = {"mean": 2.0, "lower": 1.0, "median": 1.5, "upper": 3.0, "repeats": 3, "seconds": 0.1, "expected": 2.0}


@pytest.mark.parametrize("many", [1, 4, 5, 6, 8])
def test_the_lowest_panel_of_every_column_has_labels(many):
    rows = [{"epsilon": 0.1, "ours": 1.0}, {"epsilon": 1.0, "ours": 2.0}]
    last = [{**row, "published": 3.0} for row in rows]
    panels = [Panel(str(place), last if place == many - 1 else rows) for place in range(many)]
    figure = draw_panels(panels, {"published": "black", "ours": "blue"}, "title", "quantity", "caption")
    figure.canvas.draw()
    axes = figure.axes[:many]
    lowest = [place for place in range(many) if place + 4 >= many]
    for place, each in enumerate(axes):
        shown = any(label.get_visible() and label.get_text() for label in each.get_xticklabels())
        assert shown == (place in lowest)
        assert bool(each.get_xlabel()) == (place in lowest)
    assert not figure.legends[0].get_window_extent().overlaps(figure._suptitle.get_window_extent())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["published", "ours"]


def test_the_caption_says_how_often_and_how_thoroughly_was_measured():
    figure = FIGURES["1b"]
    for run in (QUICK, FigureRun("somewhere")):
        rows = figure.rows(dict.fromkeys(figure.points(run), NUMBERS), run)
        caption = figure.caption(rows, run)
        assert "3 repeats" in caption
        assert ("QUICK" in caption) == run.quick
        assert ("SYNTHETIC" in figure.heading(run)) == run.synthetic


@pytest.mark.parametrize("name", FIGURES)
def test_tables_name_their_units(name):
    assert FIGURES[name].units() in runner.table(FIGURES[name], [{"seconds": 0.1}], QUICK)


def inside(figure):
    """Say whether the title lies within the picture."""
    figure.canvas.draw()
    titles = [figure.axes[0].title, *([figure._suptitle] if figure._suptitle else [])]
    boxes = [title.get_window_extent() for title in titles if title.get_text()]
    return boxes and all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


@pytest.mark.parametrize("name", ["rectangles", "averaging", "marginals"])
def test_titles_lie_inside_the_picture(name):
    figure = FIGURES[name]
    own = {point: runner.measure(name, point, QUICK) for point in figure.points(QUICK)}
    drawn = figure.picture(figure.rows(own, QUICK), QUICK)
    assert inside(drawn)
    if name == "averaging":
        assert "synthetic" in drawn.axes[0].get_title()


def test_a_bound_is_a_hatched_bar_of_its_length():
    figure = FIGURES["marginals"]
    measured = {
        "bound": 6,
        "ours, secret-moves": "at most 6",
        "ours, default": "refused",
        "checked": "",
        "seconds": 0.1,
    }
    drawn = figure.picture(figure.rows(dict.fromkeys(figure.points(QUICK), measured), QUICK), QUICK)
    _, bound, refused = drawn.axes[0].containers
    assert {bar.get_width() for bar in bound} == {6}
    assert all(bar.get_hatch() for bar in bound)
    assert {bar.get_width() for bar in refused} == {0}
    assert "Hatched" in drawn._supxlabel.get_text()
    assert {text.get_text() for text in drawn.axes[0].texts} == {"6", "8", "at most 6", "refused"}


def test_arrows_of_the_policy_graph_end_outside_the_names():
    figure = FIGURES["policy-graph"].picture([], QUICK)
    figure.canvas.draw()
    texts = figure.axes[0].texts
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts if text.get_text()]
    arrows = [text.arrow_patch for text in texts if not text.get_text()]
    assert len(arrows) == 7
    for arrow in arrows:
        path = arrow.get_transform().transform_path(arrow.get_path())
        ends = [path.vertices[0], path.vertices[2]]
        assert not any(box.contains(*end) for box in boxes for end in ends)
    assert "v+ and v- stand for outside" in figure._supxlabel.get_text()


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if isinstance(figure, Curves)])
def test_captions_explain_the_panels_and_only_what_is_drawn(name):
    figure = FIGURES[name]
    rows = figure.rows(dict.fromkeys(figure.points(QUICK), NUMBERS), QUICK)
    caption = figure.caption(rows, QUICK)
    assert UNORDERED not in caption
    for word in ("theta", "km", "attributes", "partition"):
        if any(word in policy for policy in figure.policies):
            assert f"{word}: " in caption
    if isinstance(figure, OrderedCurves):
        assert UNORDERED in runner.table(figure, rows, QUICK)


def test_colours_are_explained_where_they_are_drawn():
    closed = policy_graph(FIGURES["policy-graph"].examples()[0].policy("secret-moves"))
    assert "green" not in " ".join(_read_colours(closed))
    open_ones = policy_graph(FIGURES["rectangles"].examples()[0].policy("secret-moves"))
    assert "green" in " ".join(_read_colours(open_ones))
    assert "red" in " ".join(_read_colours(open_ones))


def test_the_table_has_quartiles_beside_their_value_and_readable_numbers():
    ends = {f"{OURS}, lower quartile": 42_609.0, f"{OURS}, median": 50_000.0, f"{OURS}, upper quartile": 0.12349}
    row = {"policy": "all", OURS: 53_476.2, **ends}
    lines = runner.table(FIGURES["2c"], [row], QUICK).splitlines()
    assert lines[-3] == "| policy | ours |"
    assert lines[-1] == "| all | 53,480 (42,610, 50,000, 0.1235) |"
