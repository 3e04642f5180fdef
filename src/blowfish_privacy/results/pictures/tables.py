"""One table as a picture that suits it: bars, dots with intervals, a population pyramid or a map; many side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Categorical, Domain
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    ORANGE,
    Drawing,
    add_grid,
    label_numbers,
    label_values,
    plain_text,
    shorten_all,
    start_figure,
    without_sign,
)
from blowfish_privacy.results.pictures.intervals import IntervalsDrawing, LabelledInterval, draw_steps
from blowfish_privacy.results.pictures.map import draw_map, draw_squares, share_colours

MOST_PANELS = 12
MOST_NAMED = 40
"""Rows of names that have room for their numbers."""
_NAMED = 4 * MOST_NAMED
"""Names that have room in columns."""
_MOST_BARS = 45
"""Bars that have room for an interval each; more have a band."""
_MOST_ROWS = 110
"""Rows of a pyramid that have room for an interval each."""
_MOST_LINES, _FEWEST_ALONG = 3, 8
_LINE, _TURNED, _NUMBER, _LETTERS = 0.15, 0.2, 0.45, 10
"""The height of a label, the width of one that is turned and of a number, in inches; how many letters an inch has."""
_LINES = (("-", BLUE), ("--", "#B25400"), (":", "#00674B"), ("-.", "#7A3E9D"), ("-", "#444444"), ("--", "#C2185B"))

_SIDES: tuple[dict[str, Any], ...] = (
    {"ha": "right", "va": "top", "fontsize": 9, "color": BLUE, "fontweight": "bold"},
    {"ha": "left", "va": "top", "fontsize": 9, "color": "#9A6500", "fontweight": "bold"},
)

Values = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CountsDrawing(Drawing):
    """The counts of every combination of values of some attributes, drawn in the form that suits them."""

    domain: Domain
    counts: Values
    half: Values
    """Half the width of the interval of every count; nothing where it is exact."""
    title: str = ""
    quantity: str = "count"
    """What a number is."""
    exact: bool = False
    """Whether the numbers are the true ones."""
    note: str = ""
    """What was left out beside it."""

    def draw(self, axes: Any) -> None:
        if len(self.domain.shape) == 1 and self.domain.attributes[0].ordered:
            self._draw_bars(axes)
        elif len(self.domain.shape) == 1:
            self._draw_dots(axes)
        elif (pyramid := _pyramid_axes(self.domain)) is not None:
            self._transposed(pyramid)._draw_pyramid(axes)
        elif (lines := _line_axes(self.domain)) is not None:
            self._transposed(lines)._draw_lines(axes)
        else:
            self._draw_colours(axes)

    def figure(self) -> Any:
        """Draw the table by itself; with a panel for each value of some attributes where that is easier to read."""
        if (
            len(self.domain.shape) == 1
            and not self.domain.attributes[0].ordered
            and MOST_NAMED < self.domain.size <= _NAMED
        ):
            return self._columns()
        across = _panelled(self.domain)
        if not across:
            figure, axes = start_figure(8, fitting_height(self.domain))
            self.draw(axes)
            return figure
        along = [name for name in self.domain.names if name not in across]
        parts, inner = self.domain.project(across), self.domain.project(along)
        counts, halves = (
            np.moveaxis(each, self.domain.axes(across), range(len(across))).reshape(parts.size, *inner.shape)
            for each in (self.counts, self.half)
        )
        every = (zip(parts.names, parts.attributes, parts.unflat(place), strict=True) for place in range(parts.size))
        titles = [", ".join(f"{name} {each.show(at)}" for name, each, at in values) for values in every]
        drawn = zip(counts, halves, strict=True)
        return draw_panels(titles, [replace(self, domain=inner, counts=c, half=h).draw for c, h in drawn])

    def _columns(self) -> Any:
        """Draw many names in columns that read from the top, on the same scale."""
        size = self.domain.size
        columns = ceil(size / MOST_NAMED)
        rows = ceil(size / columns)
        figure, panels = start_figure(4 * columns, 1.2 + 1.2 * _LINE * rows, 1, columns, sharex=True, squeeze=False)
        for first, axes in zip(range(0, size, rows), panels[0], strict=True):
            shown = slice(first, min(first + rows, size))
            names = Domain({self.domain.names[0]: Categorical(self.domain.attributes[0].texts()[shown])})
            replace(self, domain=names, counts=self.counts[shown], half=self.half[shown]).draw(axes)
            axes.set_ylim(rows - 0.4, -0.6)
        return figure

    def _transposed(self, axes: tuple[int, int]) -> CountsDrawing:
        domain = self.domain.project([self.domain.names[axis] for axis in axes])
        return replace(self, domain=domain, counts=self.counts.transpose(axes), half=self.half.transpose(axes))

    @property
    def _named(self) -> str:
        return f"exact {self.quantity}" if self.exact else self.quantity

    @property
    def _words(self) -> str:
        return f"{self._named}, with its 95 % interval" if self.half.any() else self._named

    def _draw_bars(self, axes: Any) -> None:
        """Draw ordered values from left to right."""
        counts, half = self.counts, self.half
        if len(counts) > _MOST_BARS:
            draw_steps(axes, counts, counts - half, counts + half)
        else:
            positions, noisy = np.arange(len(counts)), half > 0
            axes.bar(positions, counts, color=BLUE, alpha=0.75, width=0.9)
            look: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "capsize": 1.5, "elinewidth": 1.1}
            axes.errorbar(positions[noisy], counts[noisy], yerr=half[noisy], **look)
        axes.axhline(0, color="0.4", lw=0.8)
        axes.margins(x=0.01)
        _label_across(axes, self.domain)
        label_numbers(axes.yaxis, self._words)
        add_grid(axes, "y")

    def _draw_dots(self, axes: Any) -> None:
        """Draw values without an order from top to bottom, where long names have room."""
        counts, half = self.counts, self.half
        if len(counts) <= MOST_NAMED:
            ends = zip(self.domain.attributes[0].texts(), counts, counts - half, counts + half, strict=True)
            rows = {name: [LabelledInterval(*each)] for name, *each in ends}
            IntervalsDrawing(rows, self._words, least=0.0).draw(axes)
            axes.set_ylabel(plain_text(self.domain.names[0]), fontsize=9)
            return
        style: dict[str, Any] = {"fmt": "o", "ms": 3, "color": BLUE, "ecolor": "0.55", "elinewidth": 1.2, "capsize": 0}
        axes.errorbar(counts, np.arange(len(counts)), xerr=half, **style)
        axes.axvline(0, color="0.4", lw=0.8)
        _label_upwards(axes, self.domain)
        axes.set_ylim(len(counts) - 0.4, -0.6)
        label_numbers(axes.xaxis, self._words)
        add_grid(axes, "x")

    def _draw_lines(self, axes: Any) -> None:
        """Draw a line along the first attribute for each value of the second."""
        positions, labels = np.arange(self.domain.shape[0]), self._side_names()
        for value, (style, colour) in zip(range(self.domain.shape[1]), _LINES, strict=False):
            line, reach = self.counts[:, value], self.half[:, value]
            axes.fill_between(positions, line - reach, line + reach, color=colour, alpha=0.15, lw=0)
            axes.plot(positions, line, ls=style, color=colour, lw=1.2, label=labels[value])
        axes.axhline(0, color="0.4", lw=0.8)
        axes.margins(x=0.01)
        _label_across(axes, self.domain.project(self.domain.names[:1]))
        label_numbers(axes.yaxis, self._words)
        axes.legend(fontsize=8, frameon=False, ncols=2)

    def _draw_pyramid(self, axes: Any) -> None:
        """Draw the values of the first attribute upwards, those of the second to both sides."""
        from matplotlib.ticker import FuncFormatter

        counts, half = self.counts, self.half
        positions, labels = np.arange(self.domain.shape[0]), self._side_names()
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
        label_numbers(axes.xaxis, self._words, most=8)
        axes.xaxis.set_major_formatter(FuncFormatter(without_sign))
        _label_upwards(axes, self.domain.project(self.domain.names[:1]))

    def _draw_colours(self, axes: Any) -> None:
        """Draw a map: of two ordered attributes the first to the right, else the shorter upwards; of more the first."""
        names, counts, half = self.domain.names, self.counts, self.half
        mapped = len(names) == 2 and all(each.ordered for each in self.domain.attributes)
        if mapped or (len(names) == 2 and self.domain.shape[0] > self.domain.shape[1]):
            counts, half, names = counts.T, half.T, names[::-1]
        table, reach = (each.reshape(len(each), -1) for each in (counts, half))
        if mapped:
            draw_squares(axes, table, self._named, half=reach)
        else:
            draw_map(axes, table, self._named, half=reach, rising=self.domain[names[0]].ordered)
        _label_upwards(axes, self.domain.project(names[:1]))
        _label_across(axes, self.domain.project(names[1:]))

    def _side_names(self) -> list[str]:
        """Name the values of the second attribute."""
        name, texts = self.domain.names[1], self.domain.attributes[1].texts()
        return [plain_text(text) for text in shorten_all([f"{name} {text}" for text in texts], 30)]


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


def draw_panels(titles: Sequence[str], draws: Sequence[Callable[[Any], None]]) -> Any:
    """Draw several tables side by side on the same axes, so that they can be compared."""
    figure, panels = start_panels(len(draws), sharex=True, sharey=True)
    for axes, title, draw in zip(panels, shorten_all(titles, 50), draws, strict=True):
        draw(axes)
        axes.set_title(plain_text(title), fontsize=9)
        axes.label_outer()
    share_colours(panels)
    return figure


def start_panels(many: int, **shared: Any) -> tuple[Any, list[Any]]:
    """Start a figure for several tables."""
    columns = min(many, 3 if many > 4 else 2)
    rows = ceil(many / columns)
    figure, grid = start_figure(5.2 * columns, 0.7 + 3.3 * rows, rows, columns, squeeze=False, **shared)
    panels = list(grid.reshape(-1))
    for unused in panels[many:]:
        unused.set_axis_off()
    return figure, panels[:many]


def fitting_height(domain: Domain) -> float:
    """Return how high a picture of a table must be for the names along its height, in inches."""
    upwards = 0 if len(domain.shape) != 2 or domain.shape[0] <= domain.shape[1] else 1
    named = 0 if domain.attributes[upwards].ordered else domain.shape[upwards]
    least = 1.7 if len(domain.shape) == 1 and named else 4.5
    return min(max(least, 1.3 + 1.5 * _LINE * named), 20.0)


def _panelled(domain: Domain) -> list[str]:
    """Name the attributes whose values have a panel each: those that leave a pyramid, or the most along the axes."""
    if len(domain.shape) == 2:
        lines = None if _pyramid_axes(domain) else _line_axes(domain, MOST_PANELS)
        return [] if lines is None or domain.shape[lines[1]] == 2 else [domain.names[lines[1]]]
    pairs = (domain.project(pair) for pair in combinations(domain.names, 2)) if len(domain.shape) > 2 else ()
    for pair in sorted(pairs, key=lambda pair: (_pyramid_axes(pair) is None, -pair.size)):
        others = [name for name in domain.names if name not in pair.names]
        if prod(domain[name].size for name in others) <= MOST_PANELS:
            return others
    return []


def _pyramid_axes(domain: Domain) -> tuple[int, int] | None:
    """Return which of two attributes goes up and which has two sides, if a population pyramid suits them."""
    if len(domain.shape) != 2:
        return None
    ordered = [attribute.ordered for attribute in domain.attributes]
    suited = ((0, 1), (1, 0))
    return next((way for way in suited if domain.shape[way[1]] == 2 and ordered[way[0]] > ordered[way[1]]), None)


def _line_axes(domain: Domain, most: int = _MOST_LINES) -> tuple[int, int] | None:
    """Return along which of two attributes there are lines, and which has one for each value, if lines suit them."""
    if len(domain.shape) != 2:
        return None
    ordered, shape = [attribute.ordered for attribute in domain.attributes], domain.shape
    for along, across in ((0, 1), (1, 0)):
        if ordered[along] > ordered[across] and shape[along] >= _FEWEST_ALONG and shape[across] <= most:
            return along, across
    return None
