"""Numbers with their intervals: dots below each other with their values beside them, or steps in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    Drawing,
    add_grid,
    deserved,
    label_numbers,
    label_values,
    plain_text,
    shorten_all,
    start_figure,
    with_interval,
)
from blowfish_privacy.support.arrays import Floats

MOST_ROWS, _MOST_IN_A_PANEL = 60, 40
"""Rows that have room in a figure that is as high as they need, and in a panel beside others."""
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


@dataclass(frozen=True, eq=False)
class IntervalsDrawing(Drawing):
    """Numbers below each other, the first rows of many: a dot with its interval for each, and the number beside it."""

    rows: Rows
    quantity: str
    """What the numbers are."""
    title: str = ""
    least: float | None = None
    """A number that the axis must reach, as zero for counts."""
    note: str = "Whiskers show the 95 % interval."

    def draw(self, axes: Any) -> None:
        self._draw(axes, _MOST_IN_A_PANEL, self.quantity)

    def figure(self) -> Any:
        many, noisy = (
            next(iter(self.rows.values())),
            any(each.low < each.high for row in self.rows.values() for each in row),
        )
        shown = min(len(self.rows), MOST_ROWS)
        figure, axes = start_figure(8, 1.3 + 0.26 * max(shown, 2) + (0.3 if len(many) > 1 else 0))
        self._draw(axes, MOST_ROWS, f"{self.quantity}, with 95 % interval" if noisy else f"{self.quantity}, exact")
        return figure

    def _draw(self, axes: Any, most: int, words: str) -> None:
        rows = dict(list(self.rows.items())[:most])
        places = np.arange(len(rows))
        for number, column in enumerate(zip(*rows.values(), strict=True)):
            values, low, high = (np.array([getattr(each, end) for each in column]) for end in ("value", "low", "high"))
            look = {"fmt": _SHAPES[number], "ms": 4.5, "color": _SHADES[number], "elinewidth": 1.4, "capsize": 2.5}
            label = plain_text(column[0].name) or None
            axes.errorbar(
                values, places, xerr=np.maximum([values - low, high - values], 0), label=label, zorder=2, **look
            )
        for place, row in enumerate(rows.values()):
            if len(row) > 1:
                axes.plot([each.value for each in row], [place] * len(row), color="0.75", lw=1, zorder=1)
            _write(axes, place, row, alone=len(rows) == 1)
        axes.set_yticks(places, [plain_text(name) for name in shorten_all([*rows], _LONGEST)])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        _reach(axes, [end for row in rows.values() for each in row for end in (each.low, each.high)], self.least)
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


@dataclass(frozen=True, eq=False)
class AnswersDrawing(Drawing):
    """Answers in a row, as steps, each with its interval."""

    values: Floats
    low: Floats
    high: Floats
    labels: Sequence[str]
    about: str
    """The attributes that they are about."""
    domain: Domain | None
    """The values that they are for; none where they only have numbers."""
    title: str

    def draw(self, axes: Any) -> None:
        draw_steps(axes, self.values, self.low, self.high)
        along = self.domain
        if along is None or along.size != len(self.values):
            along = Domain(answer=Integer(0, len(self.values) - 1))
        label_values(axes.xaxis, along)
        axes.set_xlabel(plain_text(self.about if self.domain else f"number of the answer about {self.about}"))
        noisy = bool((self.high > self.low).any())
        label_numbers(axes.yaxis, "answer, with its 95 % interval" if noisy else "exact answer")


def draw_steps(axes: Any, values: Floats, low: Floats, high: Floats) -> None:
    """Draw a step for each position, the first and the last as wide as the others."""
    edges = np.arange(len(values) + 1) - 0.5
    if (high > low).any():
        axes.stairs(high, edges, baseline=low, fill=True, color=BLUE, alpha=0.3, lw=0)
    axes.stairs(values, edges, baseline=None, color=BLUE, lw=1)
