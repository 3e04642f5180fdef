"""Numbers with their intervals below each other: dots on one axis, and their values beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blowfish_privacy.results.pictures.figure import (
    BLUE,
    add_grid,
    deserved,
    label_numbers,
    plain_text,
    shorten_all,
    start_figure,
    with_interval,
)
from blowfish_privacy.support.arrays import Floats

MOST_ROWS = 60
MOST_IN_A_ROW = 5
"""Dots that have room in a row, each with its interval."""
_LONGEST = 34
_SHAPES = "oDs^v"
_SHADES = (BLUE, "#B25400", "#00674B", "#7A3E9D", "#444444")


@dataclass(frozen=True)
class LabelledInterval:
    """A number with its 95 % interval, and what it is called among those beside it."""

    value: float
    low: float
    high: float
    name: str = ""


Rows = Mapping[str, Sequence[LabelledInterval]]
"""What is drawn in each row, by its name; every row has the same number of dots."""


def interval_figure(rows: Rows, words: str) -> Any:
    """Draw one chart that is as high as its rows need; a single number in a strip."""
    shown = dict(list(rows.items())[:MOST_ROWS])
    many = next(iter(shown.values()))
    figure, axes = start_figure(8, 1.3 + 0.26 * max(len(shown), 2) + (0.3 if len(many) > 1 else 0))
    noisy = any(each.low < each.high for row in shown.values() for each in row)
    draw_intervals(axes, shown, f"{words}, with 95 % interval" if noisy else f"{words}, exact")
    return figure


def draw_intervals(axes: Any, rows: Rows, words: str, *, least: float | None = None) -> None:
    """Draw a dot with its interval for each number, the rows from top to bottom, and write the numbers beside them.

    ``least`` is a number that the axis must reach, as zero for counts.
    """
    places = np.arange(len(rows))
    for number, column in enumerate(zip(*rows.values(), strict=True)):
        values, low, high = (np.array([getattr(each, end) for each in column]) for end in ("value", "low", "high"))
        look = {"fmt": _SHAPES[number], "ms": 4.5, "color": _SHADES[number], "elinewidth": 1.4, "capsize": 2.5}
        label = plain_text(column[0].name) or None
        axes.errorbar(values, places, xerr=np.maximum([values - low, high - values], 0), label=label, zorder=2, **look)
    for place, row in enumerate(rows.values()):
        if len(row) > 1:
            axes.plot([each.value for each in row], [place] * len(row), color="0.75", lw=1, zorder=1)
        _write(axes, place, row, alone=len(rows) == 1)
    axes.set_yticks(places, [plain_text(name) for name in shorten_all([*rows], _LONGEST)])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _reach(axes, [end for row in rows.values() for each in row for end in (each.low, each.high)], least)
    label_numbers(axes.xaxis, words)
    add_grid(axes)
    columns = len(next(iter(rows.values())))
    if columns > 1:
        axes.legend(ncols=columns, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=8)


def _write(axes: Any, place: int, row: Sequence[LabelledInterval], *, alone: bool) -> None:
    """Write the numbers of a row beside it; one that is alone above its dot, with its interval."""
    if alone and len(row) == 1:
        (each,) = row
        said = with_interval(each.value, each.low, each.high)
        look = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 9}
        axes.annotate(said, (each.value, place), **look)
        return
    said = "   ".join(deserved(each.value, each.high - each.low) for each in row)
    axes.text(1.015, place, said, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def _reach(axes: Any, ends: Sequence[float], least: float | None) -> None:
    """Let the axis show all intervals, and those of the panels that it is shared with; a single one with room."""
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if least is not None:
        low, high = min(low, least), max(high, least)
    share = 0.7 if len(ends) == 2 and least is None else 0.06
    room = share * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - (0 if low == least else room), high + room
    if not axes.get_autoscalex_on():
        low, high = min(low, axes.get_xlim()[0]), max(high, axes.get_xlim()[1])
    axes.set_xlim(low, high)


# Numbers in a row as steps, each as wide as its value, with the band of their intervals.


def draw_steps(axes: Any, values: Floats, low: Floats, high: Floats) -> None:
    """Draw a step for each position, the first and the last as wide as the others."""
    edges = np.arange(len(values) + 1) - 0.5
    if (high > low).any():
        axes.stairs(high, edges, baseline=low, fill=True, color=BLUE, alpha=0.3, lw=0)
    axes.stairs(values, edges, baseline=None, color=BLUE, lw=1)
