"""The forms that a table may have: bars or steps, dots with intervals, lines, a population pyramid, a map.

Every count has an interval of its own: +- ``half`` of its place, nothing where it is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.pictures.figure import BLUE, ORANGE, plain_text, shorten_all
from blowfish_privacy.results.pictures.intervals import Interval, draw_intervals
from blowfish_privacy.results.pictures.map import draw_map, draw_squares
from blowfish_privacy.results.pictures.steps import draw_steps
from blowfish_privacy.results.pictures.ticks import label_numbers, label_values, without_sign

MOST_NAMED = 40
"""Rows of names that have room for their numbers."""
_MOST_BARS = 45
"""Bars that have room for an interval each; more have a band."""
_MOST_ROWS = 110
"""Rows of a pyramid that have room for an interval each."""
_LINE, _TURNED, _NUMBER, _LETTERS = 0.15, 0.2, 0.45, 10
"""The height of a label, the width of one that is turned and of a number, in inches; how many letters an inch has."""
_LINES = (("-", BLUE), ("--", "#B25400"), (":", "#00674B"), ("-.", "#7A3E9D"), ("-", "#444444"), ("--", "#C2185B"))

_SIDES: tuple[dict[str, Any], ...] = (
    {"ha": "right", "va": "top", "fontsize": 9, "color": BLUE, "fontweight": "bold"},
    {"ha": "left", "va": "top", "fontsize": 9, "color": "#9A6500", "fontweight": "bold"},
)

Values = npt.NDArray[Any]


def draw_bars(axes: Any, counts: Values, domain: Domain, half: Values, said: str) -> None:
    """Draw ordered values from left to right."""
    if len(counts) > _MOST_BARS:
        draw_steps(axes, counts, counts - half, counts + half)
    else:
        positions, noisy = np.arange(len(counts)), half > 0
        axes.bar(positions, counts, color=BLUE, alpha=0.75, width=0.9)
        look: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "capsize": 1.5, "elinewidth": 1.1}
        axes.errorbar(positions[noisy], counts[noisy], yerr=half[noisy], **look)
    axes.axhline(0, color="0.4", lw=0.8)
    axes.margins(x=0.01)
    _label_across(axes, domain)
    label_numbers(axes.yaxis, _quantity(half, said))
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)


def draw_dots(axes: Any, counts: Values, domain: Domain, half: Values, said: str) -> None:
    """Draw values without an order from top to bottom, where long names have room."""
    if len(counts) <= MOST_NAMED:
        ends = zip(counts, counts - half, counts + half, strict=True)
        rows = {name: [Interval(*each)] for name, each in zip(domain.attributes[0].texts(), ends, strict=True)}
        draw_intervals(axes, rows, _quantity(half, said), least=0.0)
        axes.set_ylabel(plain_text(domain.names[0]), fontsize=9)
        return
    style: dict[str, Any] = {"fmt": "o", "ms": 3, "color": BLUE, "ecolor": "0.55", "elinewidth": 1.2, "capsize": 0}
    axes.errorbar(counts, np.arange(len(counts)), xerr=half, **style)
    axes.axvline(0, color="0.4", lw=0.8)
    _label_upwards(axes, domain)
    axes.set_ylim(len(counts) - 0.4, -0.6)
    label_numbers(axes.xaxis, _quantity(half, said))
    axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)


def draw_lines(axes: Any, counts: Values, domain: Domain, half: Values, said: str) -> None:
    """Draw a line along the first attribute for each value of the second."""
    positions, labels = np.arange(domain.shape[0]), _labels(domain)
    for value, (style, colour) in zip(range(domain.shape[1]), _LINES, strict=False):
        line, reach = counts[:, value], half[:, value]
        axes.fill_between(positions, line - reach, line + reach, color=colour, alpha=0.15, lw=0)
        axes.plot(positions, line, ls=style, color=colour, lw=1.2, label=labels[value])
    axes.axhline(0, color="0.4", lw=0.8)
    axes.margins(x=0.01)
    _label_across(axes, domain.project(domain.names[:1]))
    label_numbers(axes.yaxis, _quantity(half, said))
    axes.legend(fontsize=8, frameon=False, ncols=2)


def draw_pyramid(axes: Any, counts: Values, domain: Domain, half: Values, said: str) -> None:
    """Draw the values of the first attribute upwards, those of the second to both sides."""
    from matplotlib.ticker import FuncFormatter

    positions, labels = np.arange(domain.shape[0]), _labels(domain)
    for value, (sign, colour, dark) in enumerate(((-1, BLUE, "#00304D"), (1, ORANGE, "#5C3D00"))):
        side = np.maximum(counts[:, value], 0)
        edges = np.arange(len(positions) + 1) - 0.5
        axes.stairs(sign * side, edges, orientation="horizontal", fill=True, color=colour, lw=0)
        axes.text(0.5 + 0.03 * sign, 0.985, labels[value], transform=axes.transAxes, **_SIDES[value])
        low, high = (sign * np.maximum(counts[:, value] + way * half[:, value], 0) for way in (-1, 1))
        _draw_reaches(axes, low, high, dark)
    # Panels that share an axis have room for the largest of all.
    shared = 0.0 if axes.get_autoscalex_on() else axes.get_xlim()[1]
    furthest = max(1.04 * float(np.max(counts + half, initial=0)), shared) or 1.0
    axes.set_xlim(-furthest, furthest)
    # The uppermost tenth is for the names of the sides.
    axes.set_ylim(-0.7, 1.1 * len(positions))
    # Intervals that reach zero on both sides are told apart.
    axes.axvline(0, color="white", lw=2.5)
    label_numbers(axes.xaxis, _quantity(half, said), most=8)
    axes.xaxis.set_major_formatter(FuncFormatter(without_sign))
    _label_upwards(axes, domain.project(domain.names[:1]))


def _draw_reaches(axes: Any, low: Values, high: Values, colour: str) -> None:
    """Draw the intervals of one side of a pyramid, as a band where they are many."""
    positions, noisy = np.arange(len(low)), low != high
    if noisy.any() and len(low) > _MOST_ROWS:
        edges = np.arange(len(low) + 1) - 0.5
        look: dict[str, Any] = {"fill": True, "color": colour, "alpha": 0.4, "lw": 0}
        axes.stairs(high, edges, baseline=low, orientation="horizontal", **look)
        return
    few = len(low) < _MOST_BARS
    axes.hlines(positions[noisy], low[noisy], high[noisy], color=colour, lw=1.1 if few else 0.7)
    if few:
        axes.plot(high[noisy], positions[noisy], "|", ms=5, color=colour)


def draw_colours(axes: Any, counts: Values, domain: Domain, half: Values, said: str) -> None:
    """Draw a map: of two ordered attributes the first to the right, else the shorter upwards; of more the first."""
    names = domain.names
    mapped = len(names) == 2 and all(each.ordered for each in domain.attributes)
    if mapped or (len(names) == 2 and domain.shape[0] > domain.shape[1]):
        counts, half, names = counts.T, half.T, names[::-1]
    table, reach = (each.reshape(len(each), -1) for each in (counts, half))
    if mapped:
        draw_squares(axes, table, said, half=reach)
    else:
        draw_map(axes, table, said, half=reach, rising=domain[names[0]].ordered)
    _label_upwards(axes, domain.project(names[:1]))
    _label_across(axes, domain.project(names[1:]))


def _labels(domain: Domain) -> list[str]:
    """Name the values of the second attribute."""
    name, texts = domain.names[1], domain.attributes[1].texts()
    return [plain_text(text) for text in shorten_all([f"{name} {text}" for text in texts], 30)]


def _quantity(half: Values, said: str) -> str:
    return f"{said}, with its 95 % interval" if half.any() else said


def _label_upwards(axes: Any, domain: Domain) -> None:
    """Label as many values as the height has room for."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    most = max(2, int(inches / _LINE))
    label_values(axes.yaxis, domain, most=min(most, 12) if domain.attributes[0].ordered else most)


def _label_across(axes: Any, domain: Domain) -> None:
    """Label as many values as the width has room for: names are turned where they would touch, numbers left out."""
    inches = axes.get_window_extent().width / axes.figure.dpi
    numbers = len(domain.shape) == 1 and domain.attributes[0].ordered
    most = max(2, int(inches / (_NUMBER if numbers else _TURNED)))
    label_values(axes.xaxis, domain, most=min(most, 16) if numbers else most, room=int(_LETTERS * inches))
