"""Pictures of clusters: the centres over the noisy density."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from blowfish_privacy.mechanisms import Points
from blowfish_privacy.mechanisms.clusters.centres import Clusters
from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.results.pictures.map import add_colour_bar, count_scale
from blowfish_privacy.results.pictures.ticks import label_numbers
from blowfish_privacy.support.arrays import Floats

_BINS = 64
_MOST_PANELS = 15
_CENTRE = "#B3261E"


def draw_pairs(names: Sequence[str], points: Points, clusters: Clusters) -> Any:
    """Draw one panel for each pair of attributes."""
    every = list(combinations(range(len(names)), 2)) or [(0, 0)]
    pairs = every[:_MOST_PANELS]
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure, grid = start_figure(max(5.2 * columns, 7), 4.2 * rows + 0.3, rows=rows, columns=columns, squeeze=False)
    panels = grid.reshape(-1)
    for panel, pair in zip(panels, pairs, strict=False):
        draw_pair(panel, names, points, clusters, pair)
    for panel in panels[len(pairs) :]:
        panel.set_axis_off()
    if len(pairs) < len(every):
        panels[0].set_title(f"the first {len(pairs)} of {len(every)} pairs of attributes", fontsize=9)
    return figure


def draw_pair(axes: Any, names: Sequence[str], points: Points, clusters: Clusters, pair: tuple[int, int]) -> None:
    """Draw the noisy density of two attributes, or of one given twice, and the numbered centres over it."""
    (first, second), weights = pair, points.weights
    if first == second:
        _draw_line(axes, names[first], points, clusters, first)
        return
    if len(points.places) > len(clusters.centers):
        (across, right), (up, high) = (_spread(points, axis) for axis in (first, second))
        density = np.maximum(high.T @ (right * weights[:, None]), 0)
        norm, scale = count_scale(density)
        shown = axes.pcolormesh(across, up, density, cmap="Blues", norm=norm, rasterized=True)
        add_colour_bar(axes, shown, f"estimated records in each square ({scale})")
    axes.margins(0.05)
    for number, (centre, size) in enumerate(zip(clusters.centers, clusters.sizes, strict=True)):
        share = size / max(float(clusters.sizes.max()), 1e-9)
        place = (centre[first], centre[second])
        axes.scatter(*place, s=110 + 330 * share, c=_CENTRE, edgecolors="white", linewidths=1.2, zorder=3)
        axes.annotate(str(number), place, ha="center", va="center", color="white", fontsize=8, zorder=4)
    label_numbers(axes.xaxis, names[first])
    label_numbers(axes.yaxis, names[second])
    sized = "numbered centres; larger: more records"
    axes.text(0.01, 0.99, sized, transform=axes.transAxes, va="top", fontsize=7, color="0.25")


def _draw_line(axes: Any, name: str, points: Points, clusters: Clusters, axis: int) -> None:
    edges, shares = _spread(points, axis)
    axes.stairs(points.weights @ shares, edges, fill=True, color="0.75")
    for number, centre in enumerate(clusters.centers[:, axis]):
        axes.axvline(centre, color=_CENTRE, lw=1.2)
        look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "color": _CENTRE, "fontsize": 9}
        axes.text(centre, 1.01, str(number), ha="center", **look)
    label_numbers(axes.xaxis, name)
    label_numbers(axes.yaxis, f"estimated records in each of {_BINS} strips")


def _spread(points: Points, axis: int) -> tuple[Floats, Floats]:
    """Cut an axis into bins and say which share of each point's cell lies in each, so that no gaps are drawn."""
    half = np.maximum(points.widths[:, axis], 1e-9) / 2
    low, high = points.places[:, axis] - half, points.places[:, axis] + half
    edges = np.linspace(low.min(), high.max(), _BINS + 1)
    below = np.clip((edges[None, :] - low[:, None]) / (high - low)[:, None], 0, 1)
    return edges, np.diff(below, axis=1)
