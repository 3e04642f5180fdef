"""Intervals: whiskers over few values, a band over many. Tooltips say them with the value, so these stay silent."""

from __future__ import annotations

from blowfish_privacy.studio.charts.look import INK, Option
from blowfish_privacy.studio.charts.picture import rounded
from blowfish_privacy.support.arrays import Floats


def whiskers(low: Floats, high: Floats) -> Option:
    """Return a whisker with caps for each place of an axis, from ``low`` to ``high``.

    It is a box plot whose box is empty, which needs no code in the page.
    """
    middle = (low + high) / 2
    data = [
        [below, half, half, half, above]
        for below, half, above in zip(rounded(low), rounded(middle), rounded(high), strict=True)
    ]
    return {
        "type": "boxplot",
        "data": data,
        "boxWidth": [3, 9],
        "itemStyle": {"color": "transparent", "borderColor": INK, "borderWidth": 1.2},
        "silent": True,
        "z": 4,
        "tooltip": {"show": False},
    }


def band(name: str, low: Floats, high: Floats, colour: str, **more: object) -> list[Option]:
    """Return a band between two lines: an area on top of a line that is not drawn."""
    unseen = {"type": "line", "symbol": "none", "silent": True, "lineStyle": {"opacity": 0}, "stack": f"band {name}"}
    unseen |= {"stackStrategy": "all", "emphasis": {"disabled": True}, "tooltip": {"show": False}, **more}
    return [
        {**unseen, "data": rounded(low)},
        {**unseen, "data": rounded(high - low), "areaStyle": {"color": colour, "opacity": 0.18}},
    ]
