"""What is spent, what planned releases would take and what is left, for each class of secret pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from blowfish_privacy.studio.charts.look import (
    BAD,
    INK,
    LABEL_SIZE,
    MUTED,
    RULE,
    SERIES,
    Option,
    chart,
    downwards,
    legend,
    margins,
    number_axis,
    tooltip,
    value_axis,
)
from blowfish_privacy.support.exact import readable, rounded_down

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
