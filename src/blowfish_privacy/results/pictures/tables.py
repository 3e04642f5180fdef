"""One table as a picture that suits it, dots with intervals, a population pyramid or a heat map; many side by side.

Blue and orange, and the colours of heat maps, can be told apart by people who are colour-blind.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.pictures.counts import label_values, shorten
from blowfish_privacy.results.pictures.figure import plain_text, start_figure
from blowfish_privacy.support.exact import about

MOST_PANELS = 12
_BLUE, _ORANGE = "#0072B2", "#E69F00"
_MOST_WRITTEN = 80
"""Cells of a heat map that have room for their counts."""
_MOST_BARS = 45
"""Dots and bars that have room for an interval each; more have a band."""
_LINE, _TURNED, _NUMBER, _LETTERS = 0.15, 0.2, 0.45, 8
"""The height of a label, the width of one that is turned and of a number, in inches; how many letters an inch has."""

_SIDES: tuple[dict[str, Any], ...] = (
    {"ha": "right", "va": "top", "fontsize": 9, "color": _BLUE, "fontweight": "bold"},
    {"ha": "left", "va": "top", "fontsize": 9, "color": "#B37700", "fontweight": "bold"},
)

Values = npt.NDArray[Any]


def draw_table(axes: Any, counts: Values, domain: Domain, width: float, said: str | None = None) -> None:
    """Draw the counts of a table, each +- ``width``; ``said`` is what they are called where they have no interval."""
    said = "exact count" if said is None else said
    if len(domain.shape) == 1:
        _dots(axes, counts, domain, width, said)
    elif (pyramid := _pyramid_axes(domain)) is not None:
        along, across = pyramid
        turned = counts if along == 0 else counts.T
        _pyramid(axes, turned, domain.project([domain.names[along], domain.names[across]]), width, said)
    else:
        _heat_map(axes, counts, domain, width, said)


def start_panels(many: int) -> tuple[Any, list[Any]]:
    """Start a figure for several tables."""
    columns = min(many, 3 if many > 4 else 2)
    rows = ceil(many / columns)
    figure, grid = start_figure(5.2 * columns, 0.7 + 3.6 * rows, rows, columns, squeeze=False)
    panels = list(grid.reshape(-1))
    for unused in panels[many:]:
        unused.set_axis_off()
    return figure, panels[:many]


def fitting_height(domain: Domain) -> float:
    """Return how high a picture of a table must be for the names along its height, in inches."""
    upwards = 0 if len(domain.shape) != 2 or domain.shape[0] <= domain.shape[1] else 1
    named = 0 if domain.attributes[upwards].ordered else domain.shape[upwards]
    return min(max(5.0, 1.3 + 1.3 * _LINE * named), 20.0)


def _pyramid_axes(domain: Domain) -> tuple[int, int] | None:
    """Return which of two attributes goes up and which has two sides, if a population pyramid suits them."""
    if len(domain.shape) != 2:
        return None
    ordered = [attribute.ordered for attribute in domain.attributes]
    suited = ((0, 1), (1, 0))
    return next((way for way in suited if domain.shape[way[1]] == 2 and ordered[way[0]] > ordered[way[1]]), None)


def _quantity(width: float, said: str) -> str:
    return "count, with its 95 % interval" if width else said


def _label_upwards(axes: Any, domain: Domain) -> None:
    """Label as many values as the height has room for."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    label_values(axes.yaxis, domain, most=max(2, int(inches / _LINE)))
    axes.tick_params(axis="y", labelsize=8)


def _label_across(axes: Any, domain: Domain) -> None:
    """Label as many values as the width has room for: names are turned where they would touch, numbers left out."""
    inches = axes.get_window_extent().width / axes.figure.dpi
    numbers = len(domain.shape) == 1 and domain.attributes[0].ordered
    most = max(2, int(inches / (_NUMBER if numbers else _TURNED)))
    label_values(axes.xaxis, domain, most=most, room=int(_LETTERS * inches))
    axes.tick_params(axis="x", labelsize=8)


def _dots(axes: Any, counts: Values, domain: Domain, width: float, said: str) -> None:
    """Draw ordered values from left to right, others from top to bottom, where long names have room."""
    positions, many = np.arange(len(counts)), len(counts)
    style: dict[str, Any] = {"fmt": "o", "ms": 3.5, "color": _BLUE, "ecolor": "0.55", "elinewidth": 1.2, "capsize": 0}
    if domain.attributes[0].ordered:
        if many > _MOST_BARS:
            axes.fill_between(positions, counts - width, counts + width, color=_BLUE, alpha=0.25, lw=0)
            axes.plot(positions, counts, "o", ms=2.5, color=_BLUE)
        else:
            axes.errorbar(positions, counts, yerr=width or None, **style)
        axes.axhline(0, color="0.6", lw=0.8)
        _label_across(axes, domain)
        axes.set_ylabel(_quantity(width, said))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="y", color="0.92")
    else:
        axes.errorbar(counts, positions, xerr=width or None, **style)
        axes.axvline(0, color="0.6", lw=0.8)
        _label_upwards(axes, domain)
        axes.set_ylim(many - 0.4, -0.6)
        axes.set_xlabel(_quantity(width, said))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)


def _pyramid(axes: Any, counts: Values, domain: Domain, width: float, said: str) -> None:
    """Draw the values of the first attribute upwards, those of the second to both sides."""
    positions = np.arange(domain.shape[0])
    names = domain.attributes[1]
    for value, (sign, colour) in enumerate(((-1, _BLUE), (1, _ORANGE))):
        side = np.maximum(counts[:, value], 0)
        axes.barh(positions, sign * side, height=1.0, color=colour, edgecolor="white", lw=0.3)
        label = plain_text(shorten(f"{domain.names[1]} {names.show(value)}", 30))
        axes.text(0.5 + 0.03 * sign, 0.985, label, transform=axes.transAxes, **_SIDES[value])
        low, high = np.maximum(side - width, 0), side + width
        if not width:
            continue
        if len(positions) > _MOST_BARS:
            axes.fill_betweenx(positions, sign * low, sign * high, color="0.2", alpha=0.25, lw=0)
        else:
            axes.hlines(positions, sign * low, sign * high, color="0.25", lw=0.9)
    furthest = 1.04 * (float(np.max(counts, initial=0)) + width) or 1.0
    axes.set_xlim(-furthest, furthest)
    # The uppermost tenth is for the names of the sides.
    axes.set_ylim(-0.7, 1.1 * len(positions))
    axes.axvline(0, color="white", lw=1)
    axes.xaxis.set_major_formatter(_without_sign)
    axes.set_xlabel(_quantity(width, said))
    _label_upwards(axes, domain.project(domain.names[:1]))


def _without_sign(value: float, _: int) -> str:
    return f"{abs(value):,.0f}"


def _heat_map(axes: Any, counts: Values, domain: Domain, width: float, said: str) -> None:
    """Draw counts in colours, the shorter of two attributes upwards; of more, the first upwards."""
    from matplotlib.colors import PowerNorm

    names = domain.names
    if len(names) == 2 and domain.shape[0] > domain.shape[1]:
        counts, names = counts.T, names[::-1]
    flat = counts.reshape(counts.shape[0], -1)
    # Most tables have few large cells and many small ones, which a linear scale would paint in one colour.
    norm = PowerNorm(0.5, vmin=0, vmax=max(float(flat.max()), 1.0))
    rising = domain[names[0]].ordered
    image = axes.imshow(
        np.maximum(flat, 0),
        aspect="auto",
        origin="lower" if rising else "upper",
        cmap="viridis",
        norm=norm,
        interpolation="nearest",
    )
    below = ", 0 where below" if (flat < 0).any() else ""
    said = f"count{below} (95 % interval: ± {about(width)})" if width else said
    axes.figure.colorbar(image, ax=axes).set_label(said, size=8)
    if flat.size <= _MOST_WRITTEN and flat.shape[1] <= 12:
        for (row, column), count in np.ndenumerate(flat):
            colour = "white" if norm(max(float(count), 0.0)) < 0.6 else "black"
            axes.text(column, row, f"{count:,.0f}", ha="center", va="center", fontsize=7, color=colour)
    _label_upwards(axes, domain.project(names[:1]))
    _label_across(axes, domain.project(names[1:]))
