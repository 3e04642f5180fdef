"""Counts in colours: a map of two attributes, on a scale on which small counts and large ones are both told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.mechanisms import Points
from blowfish_privacy.mechanisms.clusters.centres import Clusters
from blowfish_privacy.results.pictures.figure import (
    Drawing,
    deserved,
    label_numbers,
    label_values,
    number,
    plain_text,
    round_numbers,
    round_steps,
    start_figure,
)
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import about

_MOST_WRITTEN = 80
"""Cells that have room for their counts."""
_MOST_COLUMNS = 12
_MOST_SQUARES, _FEWEST_SQUARES = 300, 8
"""Squares along an axis, where neighbouring cells are added up."""
_STEEP = 1000
"""How many times the median cell the largest may be for a square-root scale; a logarithmic one reaches further."""

Values = npt.NDArray[Any]
Bounds: TypeAlias = Callable[[Integers], tuple[Floats, Floats]]
"""Bounds the counts of rectangles: rows of inclusive positions, from and to along each of two attributes."""


@dataclass(frozen=True, eq=False)
class MapDrawing(Drawing):
    """Estimated counts of two ordered attributes, the first to the right."""

    domain: Domain
    counts: Floats
    bounds: Bounds | None
    """None where the counts are exact."""
    title: str

    def draw(self, axes: Any) -> None:
        draw_squares(axes, self.counts.T, "exact count" if self.bounds is None else "estimated count")
        label_values(axes.xaxis, self.domain.project(self.domain.names[:1]))
        label_values(axes.yaxis, self.domain.project(self.domain.names[1:]))


def draw_squares(axes: Any, counts: Values, said: str, *, half: npt.ArrayLike = 0.0) -> None:
    """Draw counts of two ordered attributes; squares of neighbours where noise hides single cells, or they are many."""
    squares, reach, side = added_up(counts, half)
    words = said if side == 1 else f"{said} in squares of {side:,} by {side:,}"
    draw_map(axes, squares, words, half=reach, side=side)
    axes.set_xlim(-0.5, counts.shape[1] - 0.5)
    axes.set_ylim(-0.5, counts.shape[0] - 0.5)


def draw_map(
    axes: Any, counts: Values, said: str, *, half: npt.ArrayLike = 0.0, rising: bool = True, side: int = 1
) -> None:
    """Draw a table of counts, its rows upwards if they rise, and a colour bar in counts; write few of them out.

    The interval of a count is +- ``half``, or its own. Where counts are not written, those that it does not tell from
    zero have the colour of zero, or the eye would find shapes in noise. ``side`` is how many positions a count covers.
    """
    written = counts.size <= _MOST_WRITTEN and counts.shape[1] <= _MOST_COLUMNS
    told = np.maximum(counts, 0) if written else np.where(counts > half, counts, 0)
    norm, scale = count_scale(told)
    right, top = (side * size - 0.5 for size in counts.shape[::-1])
    axes.imshow(
        told,
        aspect="auto",
        origin="lower" if rising else "upper",
        extent=(-0.5, right, -0.5, top) if rising else (-0.5, right, top, -0.5),
        cmap="viridis",
        norm=norm,
        interpolation="nearest",
    )
    below = ", 0 where below" if (counts < 0).any() else ""
    widest = float(np.max(half))
    most = "" if np.allclose(half, widest) else "up to "
    interval = f"95 % interval: {most}± {about(widest)}" if widest else ""
    dark = ", darkest: not told from 0" if interval and not written else ""
    add_colour_bar(axes, axes.get_images()[0], f"{said}{below} ({scale})", f"{interval}{dark}")
    axes.spines[:].set_visible(False)
    reach = np.broadcast_to(half, counts.shape)
    for (row, column), count in np.ndenumerate(counts) if written else ():
        place = (side * (column + 0.5) - 0.5, side * (row + 0.5) - 0.5)
        colour = _legible(norm, max(float(count), 0.0))
        said = deserved(float(count), max(2 * float(reach[row, column]), 1.0))
        axes.text(*place, said, ha="center", va="center", fontsize=7, color=colour)


def _legible(norm: Any, count: float) -> str:
    """Choose the colour of a number that is written over the colour of its count."""
    return "white" if norm(count) < 0.6 else "black"


def share_colours(panels: Sequence[Any]) -> None:
    """Give maps side by side one scale, so that a colour stands for the same count in all; if their squares do so."""
    maps = [(axes, image) for axes in panels for image in axes.get_images()]
    told = [np.asarray(image.get_array()) for _, image in maps]
    if len(maps) < 2 or len({each.shape for each in told}) > 1:
        return
    norm, scale = count_scale(np.stack(told))
    for (axes, image), counts in zip(maps, told, strict=True):
        _, before = count_scale(counts)
        words = image.colorbar.ax.get_ylabel().replace(before, scale)
        image.colorbar.remove()
        image.set_norm(norm)
        _add_bar(axes, image, words)
        for text, count in zip(axes.texts, counts.flat, strict=False):
            text.set_color(_legible(norm, float(count)))


def added_up(counts: Values, half: npt.ArrayLike) -> tuple[Values, Values, int]:
    """Add up squares of neighbouring cells, so many that half of the records are told from noise.

    Returns the squares, the halves of their intervals, and how many cells a side has. Of cells without noise, as many
    are added up as a picture needs to have room for them.
    """
    spread = np.broadcast_to(np.square(half), counts.shape)
    for side in round_steps():
        squares, reach = (sums_of_neighbours(each, side, side) for each in (counts, spread))
        reach = np.sqrt(reach)
        large = max(squares.shape) > _MOST_SQUARES
        # Among many cells, noise alone takes some past their interval.
        told = squares[squares > 2 * reach].sum() >= squares.sum() / 2
        if not large and (told or min(counts.shape) < 2 * _FEWEST_SQUARES * side):
            return squares, reach, side
    return counts, np.sqrt(spread), 1


def sums_of_neighbours(counts: Values, rows: int, columns: int) -> Values:
    """Add up so many neighbouring rows and columns of a table."""
    by_rows = np.add.reduceat(counts, np.arange(0, counts.shape[0], rows), axis=0)
    return np.add.reduceat(by_rows, np.arange(0, counts.shape[1], columns), axis=1)


def count_scale(counts: Values) -> tuple[Any, str]:
    """Return a scale from zero to the largest count, and what it is called.

    Most tables have few large cells and many small ones, which an even scale would paint in one colour.
    """
    from matplotlib.colors import AsinhNorm, PowerNorm

    largest = max(float(counts.max(initial=0)), 1.0)
    above = counts[counts > 0]
    middle = float(np.median(above)) if above.size else 1.0
    if largest > _STEEP * middle:
        return AsinhNorm(linear_width=max(middle, 1.0), vmin=0, vmax=largest), "logarithmic scale"
    return PowerNorm(0.5, vmin=0, vmax=largest), "square-root scale"


def add_colour_bar(axes: Any, image: Any, *words: str) -> None:
    """Put a bar beside a map that says which count a colour stands for, at round ones; ``words`` are lines."""
    _add_bar(axes, image, "\n".join(plain_text(line) for line in words if line))


def _add_bar(axes: Any, image: Any, words: str) -> None:
    ticks = round_numbers(float(image.norm.vmax), image.norm)
    bar = axes.figure.colorbar(image, ax=axes, ticks=ticks, pad=0.015, fraction=0.06)
    bar.ax.set_yticks(ticks, [number(tick) for tick in ticks])
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
    bar.set_label(words, size=8)


# Pictures of clusters: the centres over the noisy density.

_BINS = 64
_MOST_PANELS = 15
_CENTRE = "#B3261E"


@dataclass(frozen=True, eq=False)
class ClustersDrawing(Drawing):
    """The centres of clusters, numbered, over an estimate of where the records lie."""

    names: Sequence[str]
    """The attributes."""
    points: Points
    clusters: Clusters
    title: str

    def draw(self, axes: Any) -> None:
        """Draw the first two attributes, or the only one."""
        self._draw_pair(axes, (0, min(1, len(self.names) - 1)))

    def figure(self) -> Any:
        """Draw one panel for each pair of attributes."""
        every = list(combinations(range(len(self.names)), 2)) or [(0, 0)]
        pairs = every[:_MOST_PANELS]
        columns = min(3, len(pairs))
        rows = -(-len(pairs) // columns)
        figure, grid = start_figure(max(5.2 * columns, 7), 4.2 * rows + 0.3, rows=rows, columns=columns, squeeze=False)
        panels = grid.reshape(-1)
        for panel, pair in zip(panels, pairs, strict=False):
            self._draw_pair(panel, pair)
        for panel in panels[len(pairs) :]:
            panel.set_axis_off()
        if len(pairs) < len(every):
            panels[0].set_title(f"the first {len(pairs)} of {len(every)} pairs of attributes", fontsize=9)
        return figure

    def _draw_pair(self, axes: Any, pair: tuple[int, int]) -> None:
        """Draw the noisy density of two attributes, or of one given twice, and the numbered centres over it."""
        (first, second), weights, centres = pair, self.points.weights, self.clusters.centers
        if first == second:
            self._draw_line(axes, first)
            return
        if len(self.points.places) > len(centres):
            (across, right), (up, high) = (_spread(self.points, axis) for axis in pair)
            density = np.maximum(high.T @ (right * weights[:, None]), 0)
            norm, scale = count_scale(density)
            shown = axes.pcolormesh(across, up, density, cmap="Blues", norm=norm, rasterized=True)
            add_colour_bar(axes, shown, f"estimated records in each square ({scale})")
        axes.margins(0.05)
        for index, (centre, size) in enumerate(zip(centres, self.clusters.sizes, strict=True)):
            share = size / max(float(self.clusters.sizes.max()), 1e-9)
            place = (centre[first], centre[second])
            axes.scatter(*place, s=110 + 330 * share, c=_CENTRE, edgecolors="white", linewidths=1.2, zorder=3)
            axes.annotate(str(index), place, ha="center", va="center", color="white", fontsize=8, zorder=4)
        label_numbers(axes.xaxis, self.names[first])
        label_numbers(axes.yaxis, self.names[second])
        sized = "numbered centres; larger: more records"
        axes.text(0.01, 0.99, sized, transform=axes.transAxes, va="top", fontsize=7, color="0.25")

    def _draw_line(self, axes: Any, axis: int) -> None:
        edges, shares = _spread(self.points, axis)
        axes.stairs(self.points.weights @ shares, edges, fill=True, color="0.75")
        for index, centre in enumerate(self.clusters.centers[:, axis]):
            axes.axvline(centre, color=_CENTRE, lw=1.2)
            look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "color": _CENTRE, "fontsize": 9}
            axes.text(centre, 1.01, str(index), ha="center", **look)
        label_numbers(axes.xaxis, self.names[axis])
        label_numbers(axes.yaxis, f"estimated records in each of {_BINS} strips")


def _spread(points: Points, axis: int) -> tuple[Floats, Floats]:
    """Cut an axis into bins and say which share of each point's cell lies in each, so that no gaps are drawn."""
    half = np.maximum(points.widths[:, axis], 1e-9) / 2
    low, high = points.places[:, axis] - half, points.places[:, axis] + half
    edges = np.linspace(low.min(), high.max(), _BINS + 1)
    below = np.clip((edges[None, :] - low[:, None]) / (high - low)[:, None], 0, 1)
    return edges, np.diff(below, axis=1)
