"""How wrong a release will be: beside plain differential privacy, by size, by table, and for other amounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

from blowfish_privacy.studio.charts.look import (
    INK,
    LABEL_SIZE,
    PLAIN,
    POLICY,
    Option,
    chart,
    downwards,
    legend,
    line,
    log_axis,
    margins,
    number_axis,
    upwards,
    value_axis,
)
from blowfish_privacy.support.exact import about

OURS = "this policy"
USUAL = "plain differential privacy"


def error_bars(accuracy: Mapping[str, Any]) -> Option:
    """Show the typical error as a bar, above that of plain differential privacy."""
    found = [(OURS, accuracy["rmse"], POLICY)]
    if accuracy["plain"] is not None:
        found.append((USUAL, accuracy["plain"], PLAIN))
    said = ", ".join(f"{about(error)} under {name}" for name, error, _ in found)
    bars = [
        {"value": error, "itemStyle": {"color": colour}, "label": {"formatter": about(error)}}
        for _, error, colour in found
    ]
    series = {"type": "bar", "data": bars, "barMaxWidth": 26, "label": _beside(), "name": "typical error"}
    return chart(
        described=f"Typical error of {accuracy['of']}: {said}.",
        grid=margins(left=118, top=4, bottom=4, right=64, containLabel=False),
        tooltip={"show": False},
        xAxis={**number_axis(min=0), "show": False},
        yAxis=_names([name.replace(" privacy", "\nprivacy") for name, _, _ in found]),
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


def _names(labels: Sequence[str]) -> Option:
    axis = downwards(value_axis("", labels))
    return {**axis, "axisTick": {"show": False}, "axisLabel": {**axis["axisLabel"], "lineHeight": 15}}


def _decades(values: Sequence[float]) -> Option:
    """Return the powers of ten that values lie between."""
    if not values:
        return {}
    return {"min": 10.0 ** floor(log10(min(values))), "max": 10.0 ** ceil(log10(max(values)))}


def _bars(name: str, values: Sequence[float], colour: str) -> Option:
    return {"type": "bar", "name": name, "data": list(values), "color": colour, "barMaxWidth": 14}


def _beside() -> Option:
    return {"show": True, "position": "right", "color": INK, "fontSize": LABEL_SIZE}
