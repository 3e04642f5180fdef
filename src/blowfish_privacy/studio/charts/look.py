"""One look for all charts: colours, sizes, axes, and a description for those who cannot see them.

Every chart is a plain dict of ECharts options, made by :func:`chart`. Colours have a contrast of at least 4.5 to 1 on
white, and no chart tells two things apart by colour alone: lines differ in their dashes too, bars have names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.results.pictures import figure
from blowfish_privacy.support.arrays import Floats, Integers

Option: TypeAlias = dict[str, Any]

POLICY = "#1a5f9e"
"""What this policy gives."""
PLAIN = "#b3541e"
"""What plain differential privacy gives."""
MUTED = "#6b7280"
GOOD = "#1b7f4b"
WARN = "#9a5b00"
BAD = "#b3261e"
INK = "#1f2937"
RULE = "#d1d5db"
"""Axes and the lines between parts."""
FAINT = "#eef0f3"
"""The lines of a grid."""
SERIES = (POLICY, PLAIN, GOOD, "#6d3fa0", WARN, MUTED)
"""Colours of lines side by side, in this order."""
DASHES = ("solid", "dashed", "dotted", "solid", "dashed", "dotted")
HEAT = ("#f3f7fb", "#c6dbef", "#85b8dd", "#4a90c4", "#1a5f9e", "#0c2f52")
"""From little to much; dark is much."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
LABEL_SIZE, NAME_SIZE = 12, 12
_MOST_LABELS = 16
MOST_POINTS = 2000
"""The most points that one chart shows; more are thinned, and it is said."""
_JOINER = "\N{WORD JOINER}"
_OF_OBJECTS = re.compile(
    r"(?<!\w)(?:__proto__|__(?:define|lookup)[GS]etter__|constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable"
    r"|toLocaleString|toString|valueOf)(?!\w)"
)
_SAY = "found => [found].flat().map(each => each.data && each.data.said).filter(Boolean).join('<br>')"
"""The one function in any chart: the texts of the points under the pointer, as :func:`point` wrote them."""


def chart(*, described: str, **parts: Any) -> Option:
    """Put a chart together; ``described`` is what a screen reader says, ``parts`` are ECharts options."""
    return {
        "aria": {"enabled": True, "label": {"description": described}},
        "animationDuration": 250,
        "animationDurationUpdate": 250,
        "textStyle": {"fontFamily": FONT, "fontSize": LABEL_SIZE, "color": INK},
        "color": list(SERIES),
        "grid": margins(),
        "tooltip": tooltip(),
        **_drawable(parts),
    }


def plain(text: str) -> str:
    """Return a text as it was before it was drawn."""
    return text.replace(_JOINER, "")


def _drawable(part: Any) -> Any:
    """Hide a character in names that every object of JavaScript has.

    ECharts looks up the widths of texts in a plain object; for ``__proto__`` it would change all objects of the page.
    """
    if isinstance(part, dict):
        return {key: each if str(key).startswith(":") else _drawable(each) for key, each in part.items()}
    if isinstance(part, list | tuple):
        return [_drawable(each) for each in part]
    return _OF_OBJECTS.sub(lambda name: _JOINER.join(name[0]), part) if isinstance(part, str) else part


def margins(**sides: Any) -> Option:
    """Leave room around a chart for the names of its axes; labels are inside."""
    return {"left": 12, "right": 20, "top": 40, "bottom": 34, "containLabel": True, **sides}


def tooltip(trigger: str = "axis", **more: Any) -> Option:
    """Show numbers where the pointer is; kept inside the chart, so that a narrow window does not cut them."""
    return {
        "trigger": trigger,
        "confine": True,
        "axisPointer": {"type": "shadow" if trigger == "item" else "line"},
        "textStyle": {"fontSize": LABEL_SIZE, "color": INK},
        "borderColor": RULE,
        **more,
    }


def telling(trigger: str = "axis") -> Option:
    """Return a tooltip that says what :func:`point` wrote into the points under the pointer, and nothing else."""
    return tooltip(trigger, **{":formatter": _SAY})


def point(value: Any, said: str, **more: Any) -> Option:
    """Return a point with the text that a tooltip shows; names in it may be anything, and are not read as HTML."""
    return {"value": value, "said": escape(said).replace("\n", "<br>"), **more}


def points(values: npt.ArrayLike, said: Iterable[str]) -> list[Option]:
    """Return a point for each number, with its text."""
    return [point(value, words) for value, words in zip(rounded(values), said, strict=True)]


def mark_lines(places: Sequence[Any], label: Option, **style: Any) -> Option:
    """Mark places along the horizontal axis by lines, each a number or what ECharts knows of a line."""
    data = [place if isinstance(place, dict) else {"xAxis": place} for place in places]
    return {"symbol": "none", "silent": True, "data": data, "lineStyle": style, "label": label}


def zoom(**sides: Any) -> Option:
    """Let a person look closer, with the wheel or with handles, which need room below."""
    handles = {"type": "slider", "height": 18, "bottom": 6, "showDetail": False}
    return {"dataZoom": [{"type": "inside"}, handles], "grid": margins(bottom=62, **sides)}


def legend(names: Sequence[str]) -> Option:
    """Name lines at the top; each can be switched off."""
    return {
        "data": list(names),
        "top": 4,
        "left": 8,
        "itemWidth": 24,
        "textStyle": {"fontSize": LABEL_SIZE, "color": INK},
    }


def number_axis(name: str = "", **more: Any) -> Option:
    """Return an axis of numbers with round ticks, which need not begin at zero."""
    return _axis("value", name, splitLine={"lineStyle": {"color": FAINT}}, **more)


def log_axis(name: str = "", **more: Any) -> Option:
    """Return an axis of powers of ten."""
    return _axis("log", name, logBase=10, splitLine={"lineStyle": {"color": FAINT}}, **more)


def value_axis(name: str, labels: Sequence[str], **more: Any) -> Option:
    """Return an axis with a place for each value of an attribute; of many whole numbers the round ones are labelled."""
    made = _axis("category", name, data=list(labels), axisTick={"alignWithLabel": True}, **more)
    step = _round_step(labels)
    if step > 1:
        # A label is round by its value, not by its place: ages from 17 up are labelled 20, 30, 40.
        made["axisLabel"] |= {":interval": f"(place, label) => Number(label) % {step} === 0"}
        made["axisTick"] |= {":interval": f"(place, label) => Number(label) % {step} === 0"}
    return made


def upwards(axis: Option) -> Option:
    """Stand an axis upright: its name is above it, and reads from left to right."""
    return {**axis, "nameLocation": "end", "nameGap": 12, "nameTextStyle": {**axis["nameTextStyle"], "align": "left"}}


def downwards(axis: Option) -> Option:
    """Stand an axis upright with its first value at the top, as in a list."""
    name = {**axis["nameTextStyle"], "align": "left"}
    label = {**axis["axisLabel"], "width": 170, "overflow": "truncate"}
    placed = {"inverse": True, "nameLocation": "start", "nameGap": 12, "nameTextStyle": name}
    return {**axis, **placed, "axisLabel": label}


def line(name: str, points: Sequence[Any], number: int = 0, **more: Any) -> Option:
    """Return a line; its colour and dashes come from its number."""
    at = number % len(SERIES)
    style = {"width": 2, "type": DASHES[at], "color": SERIES[at]}
    shown = {"type": "line", "name": name, "data": list(points), "symbol": "none", "color": SERIES[at]}
    return {**shown, "lineStyle": style, **more}


def _round_step(labels: Sequence[str]) -> int:
    """Return the distance of round whole numbers that leaves about a dozen of the labels; 1 where they are none."""
    if len(labels) <= _MOST_LABELS or not all(label.lstrip("-").isdecimal() for label in (labels[0], labels[-1])):
        return 1
    if int(labels[-1]) - int(labels[0]) != len(labels) - 1:
        return 1
    return next(step for step in figure.round_steps() if len(labels) <= _MOST_LABELS * step)


def _axis(kind: str, name: str, **more: Any) -> Option:
    return {
        "type": kind,
        "name": name,
        "nameLocation": "middle",
        "nameGap": 30,
        "nameTextStyle": {"fontSize": NAME_SIZE, "color": INK},
        "axisLabel": {"fontSize": LABEL_SIZE, "color": INK, "hideOverlap": True},
        "axisLine": {"lineStyle": {"color": RULE}},
        **more,
    }


# A picture: a chart with its title, and what must be said about it; and how much of many values is shown.

_LONGEST = 28


@dataclass(frozen=True)
class TitledChart:
    """A chart with a title."""

    title: str
    option: Option
    note: str = ""
    """What a reader should know: what is drawn, and what was left out."""
    height: int = 360
    """In pixels."""

    def noted(self, more: str) -> TitledChart:
        """Return it with another sentence in its note."""
        return replace(self, note=sentences(self.note, more))


def spread(size: int, most: int = MOST_POINTS) -> Integers:
    """Choose evenly spaced positions, the first and the last among them, where there are more than fit."""
    if size <= most:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, most).astype(np.int64))


def thinned(shown: int, size: int, what: str = "values") -> str:
    """Say how many are shown, where it is not all."""
    return "" if shown >= size else f"{shown:,} of {size:,} {what} are shown, evenly spaced; the files have all."


def sentences(*parts: str) -> str:
    """Join what is said, leaving out what is not."""
    return " ".join(part for part in parts if part)


def shorten_all(texts: Sequence[str], most: int = _LONGEST) -> list[str]:
    """Cut labels that are too long for an axis, so that those which differ still do."""
    return figure.shorten_all(texts, most)


def number(value: float) -> str:
    """Write a number to read: whole where it is large, with a few digits where it is small."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"


with_interval = partial(figure.with_interval, decimals=2)
"""Writes a number with its interval where the pointer is: there is room for one more decimal than on paper."""
meaningful = partial(figure.deserved, decimals=2)


def rounded(values: npt.ArrayLike) -> list[float]:
    """Round numbers to what a picture can show, so that a page stays small."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64).tolist()]


def labels_of(texts: Sequence[str], chosen: Integers) -> list[str]:
    """Return the labels of some positions."""
    return [texts[int(position)] for position in chosen]


# Intervals: whiskers over few values, a band over many. Tooltips say them with the value, so these stay silent.


def whiskers(low: Floats, high: Floats) -> list[Option]:
    """Return a whisker for each place of an axis, from ``low`` to ``high``; none where all is exact."""
    return [whisker_series(low, high)] if (high > low).any() else []


def whisker_series(low: Floats, high: Floats) -> Option:
    """Return whiskers with caps: a box plot whose box is empty, which needs no code in the page."""
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
