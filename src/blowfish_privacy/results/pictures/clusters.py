"""Pictures of clusters: the centres over the noisy density."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from blowfish_privacy.mechanisms import Points
from blowfish_privacy.mechanisms.clusters.centres import Clusters
from blowfish_privacy.mechanisms.clusters.synopsis import Floats
from blowfish_privacy.results.pictures.figure import plain_text, start_figure

_BINS = 64
_MOST_PANELS = 15


def draw_pairs(title: str, names: Sequence[str], points: Points, clusters: Clusters) -> Any:
    """Draw one panel for each pair of attributes."""
    every = list(combinations(range(len(names)), 2)) or [(0, 0)]
    pairs = every[:_MOST_PANELS]
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure, axes = start_figure(5 * columns + 1, 4 * rows + 0.5, rows=rows, columns=columns)
    panels = np.atleast_1d(axes).reshape(-1)
    for panel, pair in zip(panels, pairs, strict=False):
        draw_pair(panel, names, points, clusters, pair)
    for panel in panels[len(pairs) :]:
        panel.set_axis_off()
    left_out = f" (the first {len(pairs)} of {len(every)} pairs of attributes)" if len(pairs) < len(every) else ""
    figure.suptitle(plain_text(title + left_out))
    return figure


def draw_pair(axes: Any, names: Sequence[str], points: Points, clusters: Clusters, pair: tuple[int, int]) -> None:
    """Draw the noisy density of two attributes, or of one given twice, and the centres over it."""
    (first, second), weights, centers = pair, points.weights, clusters.centers
    sizes = 30 + 300 * clusters.sizes / max(float(clusters.sizes.max()), 1e-9)
    if first == second:
        edges, shares = _spread(points, first)
        axes.stairs(weights @ shares, edges, fill=True, color="0.75")
        for centre in centers[:, first]:
            axes.axvline(centre, color="tab:red")
        axes.set_xlabel(plain_text(names[first]))
        axes.set_ylabel("estimated records")
        return
    if len(points.places) > len(centers):
        (across, right), (up, high) = (_spread(points, axis) for axis in (first, second))
        shown = axes.pcolormesh(across, up, high.T @ (right * weights[:, None]), cmap="Blues")
        axes.figure.colorbar(shown, ax=axes, label="estimated records")
    axes.margins(0.05)
    axes.scatter(centers[:, first], centers[:, second], s=sizes, c="tab:red", edgecolors="white")
    for number, centre in enumerate(centers):
        axes.annotate(str(number), (centre[first], centre[second]), xytext=(6, 6), textcoords="offset points")
    axes.set_xlabel(plain_text(names[first]))
    axes.set_ylabel(plain_text(names[second]))


def _spread(points: Points, axis: int) -> tuple[Floats, Floats]:
    """Cut an axis into bins and say which share of each point's cell lies in each, so that no gaps are drawn."""
    half = np.maximum(points.widths[:, axis], 1e-9) / 2
    low, high = points.places[:, axis] - half, points.places[:, axis] + half
    edges = np.linspace(low.min(), high.max(), _BINS + 1)
    below = np.clip((edges[None, :] - low[:, None]) / (high - low)[:, None], 0, 1)
    return edges, np.diff(below, axis=1)
