"""One table as a picture that suits it: bars, dots with intervals, a population pyramid or a map; many side by side."""

from __future__ import annotations

from itertools import combinations
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Categorical, Domain
from blowfish_privacy.results.pictures.figure import plain_text, shorten_all, start_figure
from blowfish_privacy.results.pictures.map import share_colours
from blowfish_privacy.results.pictures.table_forms import (
    MOST_NAMED,
    draw_bars,
    draw_colours,
    draw_dots,
    draw_lines,
    draw_pyramid,
)

MOST_PANELS = 12
_NAMED = 4 * MOST_NAMED
"""Names that have room in columns."""
_MOST_LINES, _FEWEST_ALONG = 3, 8
_LINE = 0.15
"""The height of a label, in inches."""

Values = npt.NDArray[Any]


def table_figure(counts: Values, domain: Domain, half: npt.ArrayLike, said: str | None = None) -> Any:
    """Draw a table by itself; with a panel for each value of some attributes where that is easier to read."""
    half = np.broadcast_to(half, counts.shape)
    if len(domain.shape) == 1 and not domain.attributes[0].ordered and MOST_NAMED < domain.size <= _NAMED:
        return _columns(counts, domain, half, said)
    across = _panelled(domain)
    if not across:
        figure, axes = start_figure(8, fitting_height(domain))
        draw_table(axes, counts, domain, half, said)
        return figure
    along = [name for name in domain.names if name not in across]
    parts, inner = domain.project(across), domain.project(along)
    figure, panels = start_panels(parts.size, sharex=True, sharey=True)
    ordered, halves = (
        np.moveaxis(each, domain.axes(across), range(len(across))).reshape(parts.size, *inner.shape)
        for each in (counts, half)
    )
    for axes, title, *drawn in zip(panels, _titles(parts), ordered, halves, strict=True):
        draw_table(axes, drawn[0], inner, drawn[1], said)
        axes.set_title(plain_text(title), fontsize=9)
        axes.label_outer()
    share_colours(panels)
    return figure


def _titles(parts: Domain) -> list[str]:
    """Name each combination of values."""
    every = (zip(parts.names, parts.attributes, parts.unflat(place), strict=True) for place in range(parts.size))
    return shorten_all([", ".join(f"{name} {each.show(at)}" for name, each, at in values) for values in every], 50)


def _columns(counts: Values, domain: Domain, half: Values, said: str | None) -> Any:
    """Draw many names in columns that read from the top, on the same scale."""
    columns = ceil(domain.size / MOST_NAMED)
    rows = ceil(domain.size / columns)
    figure, panels = start_figure(4 * columns, 1.2 + 1.2 * _LINE * rows, 1, columns, sharex=True, squeeze=False)
    for first, axes in zip(range(0, domain.size, rows), panels[0], strict=True):
        last = min(first + rows, domain.size)
        part = Domain({domain.names[0]: Categorical(domain.attributes[0].texts()[first:last])})
        draw_table(axes, counts[first:last], part, half[first:last], said)
        axes.set_ylim(rows - 0.4, -0.6)
    return figure


def draw_table(axes: Any, counts: Values, domain: Domain, half: npt.ArrayLike, said: str | None = None) -> None:
    """Draw the counts of a table, each +- ``half``, or its own; ``said`` is what they are called."""
    half = np.broadcast_to(half, counts.shape)
    said = said or ("count" if half.any() else "exact count")
    if len(domain.shape) == 1 and domain.attributes[0].ordered:
        draw_bars(axes, counts, domain, half, said)
    elif len(domain.shape) == 1:
        draw_dots(axes, counts, domain, half, said)
    elif (pyramid := _pyramid_axes(domain)) is not None:
        draw_pyramid(axes, *_turned(counts, half, domain, pyramid), said)
    elif (lines := _line_axes(domain)) is not None:
        draw_lines(axes, *_turned(counts, half, domain, lines), said)
    else:
        draw_colours(axes, counts, domain, half, said)


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


def _turned(counts: Values, half: Values, domain: Domain, axes: tuple[int, int]) -> tuple[Values, Domain, Values]:
    turned = domain.project([domain.names[axis] for axis in axes])
    return counts.transpose(axes), turned, half.transpose(axes)
