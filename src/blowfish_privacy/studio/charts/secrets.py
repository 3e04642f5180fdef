"""Pictures of secrets: which values are secret pairs, and how many steps values are from one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, pi, sin, sqrt
from typing import Any

from blowfish_privacy.statements.policy import GraphValue, GraphView, Reach, ReachPoint
from blowfish_privacy.studio.charts.look import (
    INK,
    PLAIN,
    POLICY,
    Option,
    chart,
    margins,
    mark_lines,
    number_axis,
    tooltip,
    upwards,
    value_axis,
)

_LINE = "#9fb6cd"
_WIDER = 1.25
"""How many times a place for a graph is as wide as high, without the room for names at its sides."""
_HATCHED = {"symbol": "rect", "dashArrayX": [1, 0], "dashArrayY": [3, 4], "rotation": 0.8, "color": "#ffffff"}


def graph_chart(view: GraphView, first: int, second: int) -> Option:
    """Draw values as dots and secret pairs as lines; each group is a circle of its own, two values are marked."""
    places = _places(view.values)
    few = len(view.values) <= 16
    marked = {first, second}
    nodes = [_node(value, places[value.position], few=few, chosen=value.position in marked) for value in view.values]
    faint = 0.8 if len(view.pairs) <= 60 else 0.35
    plain_line, thick = {"color": _LINE, "width": 1.2, "opacity": faint}, {"color": PLAIN, "width": 4, "opacity": 1}
    links = [
        {"source": str(first), "target": str(last), "lineStyle": thick if {first, last} == marked else plain_line}
        for first, last in view.pairs
    ]
    series: Option = {
        "type": "graph",
        "layout": "none",
        "coordinateSystem": "cartesian2d",
        "data": nodes,
        "links": links,
        "emphasis": {"focus": "adjacency", "lineStyle": {"width": 2}},
    }
    across, down = _axes([*places.values()])
    about = f"The secret pairs of {view.name}: {view.sentence}"
    return chart(
        described=about,
        series=[series],
        tooltip=tooltip("item", show=False),
        grid={"left": 64, "right": 64, "top": 28, "bottom": 32},
        xAxis=across,
        yAxis=down,
    )


def graph_height(values: int) -> int:
    """Say how many pixels high a graph of so many values need be: two stand beside each other."""
    return 110 if values <= 2 else 200 if values <= 4 else 260


def steps_chart(reach: Reach, name: str, second: int) -> Option:
    """Draw how many steps each value of an ordered attribute is from one of them."""
    points = reach.points
    most = max((point.steps or 0 for point in points), default=0) or 1
    labels = [point.text for point in points]
    steps = [_bar(point, point.steps, chosen=point.position == second) for point in points]
    open_to = [most if point.steps is None else None for point in points]
    series: list[Option] = [
        {"type": "bar", "name": "secret steps", "data": steps, "barCategoryGap": "12%", "barGap": "-100%"},
        {
            "type": "bar",
            "name": "not protected",
            "data": open_to,
            "itemStyle": {"color": "#c9ced6", "decal": _HATCHED},
            "barGap": "-100%",
        },
    ]
    # The value that steps are counted from, whose own bar has no height.
    mark = mark_lines([labels.index(reach.text)], {"show": False}, color=INK, type="solid", width=2)
    series[0]["markLine"] = {**mark, "animation": False}
    axis = {**upwards(number_axis(f"steps from {reach.text}", minInterval=1, min=0)), "max": most}
    about = f"Steps from {name} {reach.text}: {'; '.join(reach.words()[:6]) or 'no other value'}."
    return chart(
        described=about,
        series=series,
        xAxis=value_axis(name, labels),
        yAxis=axis,
        legend={"show": any(open_to), "top": 4, "right": 8, "data": ["secret steps", "not protected"]},
        tooltip=tooltip("axis", axisPointer={"type": "shadow"}),
        grid=margins(top=40),
    )


def _node(value: GraphValue, place: _ValuePlace, *, few: bool, chosen: bool) -> Option:
    return {
        "id": str(value.position),
        "name": value.text,
        "value": [place.x, place.y],
        "symbolSize": (22 if chosen else 16) if few else (14 if chosen else 8),
        "itemStyle": {
            "color": POLICY if not chosen else PLAIN,
            "borderColor": INK if chosen else "#ffffff",
            "borderWidth": 2,
        },
        "label": {
            "show": True,
            # Not the text itself: braces in it would be taken for places to fill in.
            "formatter": "{b}",
            "width": 110,
            "overflow": "truncate",
            "position": place.side,
            "color": INK,
            "fontWeight": "bold" if chosen else "normal",
            "fontSize": 12 if few else 10,
        },
    }


@dataclass(frozen=True)
class _ValuePlace:
    """Where a value is drawn, and on which side of it there is room for its name."""

    x: float
    y: float
    side: str


def _places(values: Sequence[GraphValue]) -> dict[int, _ValuePlace]:
    """Place each group on a circle of its own, and the circles in rows."""
    groups: dict[int, list[GraphValue]] = {}
    for value in values:
        groups.setdefault(value.group, []).append(value)
    circles = [*groups.values()]
    columns = ceil(sqrt(len(circles)))
    radius = max(_radius(len(circle)) for circle in circles)
    longest = min(16, max(len(value.text) for value in values)) * 0.13
    across, down = 2 * radius + 0.4 + longest * (2 if radius else 1), 2 * radius + 1.2
    places: dict[int, _ValuePlace] = {}
    for number, circle in enumerate(circles):
        row, column = divmod(number, columns)
        for at, value in enumerate(circle):
            places[value.position] = _on_circle(at, len(circle), column * across, row * down)
    return places


def _on_circle(at: int, members: int, x: float, y: float) -> _ValuePlace:
    if members == 1:
        return _ValuePlace(x, y, "bottom")
    angle = 2 * pi * at / members - (pi / 2 if members > 2 else pi)
    along, up = cos(angle), sin(angle)
    side = ("right" if along > 0 else "left") if abs(along) > 0.3 else ("bottom" if up > 0 else "top")
    return _ValuePlace(round(x + _radius(members) * along, 6), round(y + _radius(members) * up, 6), side)


def _radius(members: int) -> float:
    return 0.0 if members == 1 else max(1.0, members / 6)


def _axes(places: Sequence[_ValuePlace]) -> tuple[Option, Option]:
    """Return axes that are not seen, on which a circle is about round in the place that a chart has."""
    xs, ys = [place.x for place in places], [place.y for place in places]
    height = max(max(ys) - min(ys), (max(xs) - min(xs)) / _WIDER, 1.0)
    middles = ((max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2)
    halves = (_WIDER * height / 2, height / 2)
    across, down = (
        {"type": "value", "show": False, "min": middle - half, "max": middle + half}
        for middle, half in zip(middles, halves, strict=True)
    )
    return across, {**down, "inverse": True}


def _bar(point: ReachPoint, steps: int | None, *, chosen: bool) -> Any:
    style = {"color": PLAIN} if chosen else {"color": POLICY, "opacity": max(0.35, 1 - 0.12 * ((steps or 1) - 1))}
    return {"value": steps, "name": point.text, "itemStyle": style}
