"""What is drawn before anything is published: secrets, the errors of plans, the budget, what known facts do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, cos, floor, log10, pi, sin, sqrt
from typing import Any

from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.statements.policy import GraphValue, GraphView, Reach, ReachPoint
from blowfish_privacy.studio.charts.look import (
    BAD,
    INK,
    LABEL_SIZE,
    MUTED,
    PLAIN,
    POLICY,
    RULE,
    SERIES,
    Option,
    chart,
    downwards,
    legend,
    line,
    log_axis,
    margins,
    mark_lines,
    number_axis,
    tooltip,
    upwards,
    value_axis,
)
from blowfish_privacy.support.exact import about, readable, rounded_down

# Secrets: which values are secret pairs, and how many steps values are from one of them.

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


# How wrong a release will be: beside plain differential privacy, by size, by table, and for other amounts.

OURS = "this policy"
USUAL = "plain differential privacy"


def error_bars(accuracy: Mapping[str, Any]) -> Option:
    """Show the typical error as a bar, above that of plain differential privacy."""
    found = [(OURS, accuracy["rmse"], POLICY)]
    if accuracy["plain"] is not None:
        found.append((USUAL, accuracy["plain"], PLAIN))
    names = downwards(value_axis("", [name.replace(" privacy", "\nprivacy") for name, *_ in found]))
    said = ", ".join(f"{about(error)} under {name}" for name, error, _ in found)
    bars = [
        {"value": error, "itemStyle": {"color": colour}, "label": {"formatter": about(error)}}
        for _, error, colour in found
    ]
    beside = {"show": True, "position": "right", "color": INK, "fontSize": LABEL_SIZE}
    series = {"type": "bar", "data": bars, "barMaxWidth": 26, "label": beside, "name": "typical error"}
    return chart(
        described=f"Typical error of {accuracy['of']}: {said}.",
        grid=margins(left=118, top=4, bottom=4, right=64, containLabel=False),
        tooltip={"show": False},
        xAxis={**number_axis(min=0), "show": False},
        yAxis={**names, "axisTick": {"show": False}, "axisLabel": {**names["axisLabel"], "lineHeight": 15}},
        series=[series],
    )


def by_size(view: Mapping[str, Any]) -> Option:
    """Show the typical error of ranges or rectangles by their size."""
    rows: Sequence[Mapping[str, Any]] = view["rows"]
    lines = [line(OURS, [[row["size"], row["rmse"]] for row in rows], 0)]
    if all(row["plain"] is not None for row in rows):
        lines.append(line(USUAL, [[row["size"], row["plain"]] for row in rows], 1))
    first, last = rows[0], rows[-1]
    return chart(
        described=(
            f"Typical error of a {view['of']} by the {view['sized_in']} it covers: {about(first['rmse'])} for "
            f"{first['size']}, {about(last['rmse'])} for {last['size']}."
        ),
        legend=legend([each["name"] for each in lines]),
        grid=margins(top=64),
        xAxis=log_axis(f"{view['sized_in']} in the {view['of']}", min=first["size"], max=last["size"]),
        yAxis=upwards(number_axis("typical error", min=0)),
        series=lines,
    )


def by_part(parts: Sequence[Mapping[str, Any]]) -> Option:
    """Show the typical errors of several tables, the largest first."""
    series = [_bars(OURS, [part["rmse"] for part in parts], POLICY)]
    if all(part["plain"] is not None for part in parts):
        series.append(_bars(USUAL, [part["plain"] for part in parts], PLAIN))
    worst = parts[0]
    return chart(
        described=f"Typical errors of {len(parts)} tables; the largest is {about(worst['rmse'])}, of {worst['title']}.",
        legend=legend([each["name"] for each in series]),
        grid=margins(top=40, bottom=34),
        xAxis=number_axis("typical error of a cell", min=0),
        yAxis=downwards(value_axis("", [part["title"] for part in parts])),
        series=series,
    )


def by_amount(rows: Sequence[Mapping[str, Any]]) -> Option:
    """Show the typical error for larger and smaller amounts, and where the plan is."""
    points = [[float(Fraction(row["amount"])), row["rmse"]] for row in rows if row["rmse"] > 0]
    name = rows[0]["measure"]
    curve = {
        **line("typical error", points, 0),
        "markLine": {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"color": INK, "type": "dotted"},
            "label": {"formatter": "now", "color": INK, "fontSize": LABEL_SIZE},
            "data": [{"xAxis": float(Fraction(row["amount"]))} for row in rows if row["stated"]],
        },
    }
    return chart(
        described=(
            f"Typical error by {name}: {about(points[0][1])} at {about(points[0][0])}, "
            f"{about(points[-1][1])} at {about(points[-1][0])}."
            if points
            else "There is no error to show."
        ),
        grid=margins(top=40),
        xAxis=log_axis(name, **_decades([point[0] for point in points])),
        yAxis=upwards(log_axis("typical error")),
        series=[curve],
    )


def _decades(values: Sequence[float]) -> Option:
    """Return the powers of ten that values lie between."""
    if not values:
        return {}
    return {"min": 10.0 ** floor(log10(min(values))), "max": 10.0 ** ceil(log10(max(values)))}


def _bars(name: str, values: Sequence[float], colour: str, width: int = 14, **more: object) -> Option:
    return {"type": "bar", "name": name, "data": list(values), "color": colour, "barMaxWidth": width, **more}


# What is spent, what planned releases would take and what is left, for each class of secret pairs.

SPENT, LEFT = "spent before", "left"
_PATTERNS = ("none", "rect", "triangle", "circle", "diamond", "pin")


def balances(rows: Sequence[Mapping[str, Any]], releases: Sequence[str], budget: str, unit: str) -> Option:
    """Stack what each release takes on what is spent, up to the budget, which is a line."""
    limit, releases = float(Fraction(budget)), [name for name in releases if any(name in row["takes"] for row in rows)]
    stacked = [_part(SPENT, [row["spent"] for row in rows], MUTED, 0)]
    for number, name in enumerate(releases):
        colour, pattern = SERIES[number % len(SERIES)], 1 + number // len(SERIES)
        stacked.append(_part(name, [row["takes"].get(name, "0") for row in rows], colour, pattern))
    left = _part(LEFT, [str(max(Fraction(row["left"]), Fraction(0))) for row in rows], "#ffffff", 0)
    stacked.append({**left, "itemStyle": {"color": "#ffffff", "borderColor": RULE}})
    stacked[-1]["markLine"] = _limit(limit, budget)
    most = max([limit, *(limit - float(Fraction(row["left"])) for row in rows)])
    said = "; ".join(f"{row['pairs']}: {rounded_down(Fraction(row['left']))} left" for row in rows)
    return chart(
        described=f"Of a budget of {unit} {readable(Fraction(budget))}, {said}.",
        legend={**legend([SPENT, *releases]), "type": "scroll", "right": 8},
        grid=margins(top=56, bottom=34),
        tooltip=tooltip("axis", axisPointer={"type": "shadow"}),
        xAxis=number_axis(unit, min=0, max=most * 1.04),
        yAxis=downwards(value_axis("", [row["pairs"] for row in rows])),
        series=stacked,
    )


def _part(name: str, amounts: Sequence[str], colour: str, pattern: int) -> Option:
    style: Option = {"color": colour, "borderColor": "#ffffff", "borderWidth": 1}
    if pattern > 1:
        # Names repeat colours where there are many: a pattern tells them apart.
        style["decal"] = {"symbol": _PATTERNS[pattern % len(_PATTERNS)], "symbolSize": 0.6}
    values = [float(Fraction(amount)) for amount in amounts]
    return {"type": "bar", "name": name, "stack": "budget", "data": values, "itemStyle": style, "barMaxWidth": 30}


def _limit(limit: float, budget: str) -> Option:
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": BAD, "width": 2, "type": "solid"},
        # The first class is at the top, so a line begins there.
        "label": {
            "position": "start",
            "formatter": f"budget {readable(Fraction(budget))}",
            "color": INK,
            "fontSize": LABEL_SIZE,
        },
        "data": [{"xAxis": limit}],
    }


# A picture of what known facts do to releases: their error as a multiple of what it would be without the facts.

_NOISE, _SHOWN = "the noise", "what is shown in the end"
_LIGHT = "#85b8dd"


def facts_chart(effects: Sequence[FactEffect]) -> Option | None:
    """Compare the errors with and without the facts; None where no release has both."""
    compared = [effect for effect in effects if _comparable(effect)]
    if not compared:
        return None
    noise = [_times(effect.without, effect.given.error) for effect in compared]
    shown = [_times(effect.without, effect.given.final) for effect in compared]
    names = [effect.release for effect in compared]
    said = "; ".join(f"{name}: {times:.2g} times" for name, times in zip(names, noise, strict=True))
    return chart(
        described=f"The error of each release with the facts, as a multiple of that without: {said}.",
        series=[
            _bars(_NOISE, noise, POLICY, 16, markLine=mark_lines([1], {"show": False}, color=INK, type="dashed")),
            _bars(_SHOWN, shown, _LIGHT, 16, itemStyle={"color": _LIGHT, "borderColor": INK, "borderWidth": 1}),
        ],
        xAxis=number_axis("times the error without the facts", min=0, minInterval=0.5),
        yAxis=downwards(value_axis("", names)),
        legend=legend([_NOISE, _SHOWN]),
        tooltip=tooltip("axis", axisPointer={"type": "shadow"}),
        grid=margins(top=44, bottom=40),
    )


def _comparable(effect: FactEffect) -> bool:
    """Say whether the errors compare; a release that states its error pays in epsilon instead."""
    before, after = effect.without, effect.given
    if not before.error or after.error is None:
        return False
    return after.exact or before.amount == after.amount


def _times(without: Outlook, error: float | None) -> float:
    return round((error or 0) / (without.error or 1), 3)
