"""Pictures of clusters: the centres over the noisy density."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blowfish_privacy.results.pictures import plain_text, save_figure, start_figure, state

if TYPE_CHECKING:
    from blowfish_privacy.mechanisms.clusters.synopsis import Floats, Points
    from blowfish_privacy.results.clusters import ClustersResult

_BINS = 64
_MOST_PANELS = 15


def plot_clusters(result: ClustersResult, path: str | Path) -> None:
    """Draw one panel for each pair of attributes and save them as PNG."""
    every = list(combinations(range(len(result.domain.names)), 2)) or [(0, 0)]
    pairs = every[:_MOST_PANELS]
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure, axes = start_figure(5 * columns + 1, 4 * rows + 0.5, rows=rows, columns=columns)
    panels = np.atleast_1d(axes).reshape(-1)
    for panel, pair in zip(panels, pairs, strict=False):
        draw_pair(result, panel, *pair)
    for panel in panels[len(pairs) :]:
        panel.set_axis_off()
    left_out = f" (the first {len(pairs)} of {len(every)} pairs of attributes)" if len(pairs) < len(every) else ""
    figure.suptitle(plain_text(result.title() + left_out))
    state(figure, result)
    save_figure(figure, path, document=result.text)


def draw_clusters(result: ClustersResult, axes: Any) -> None:
    """Draw the first two attributes."""
    draw_pair(result, axes, 0, min(1, len(result.domain.names) - 1))


def draw_pair(result: ClustersResult, axes: Any, first: int, second: int) -> None:
    """Draw the noisy density of two attributes, or of one, and the centres over it."""
    names, places, weights = result.domain.names, result.points.places, result.points.weights
    sizes = 30 + 300 * result.sizes / max(float(result.sizes.max()), 1e-9)
    if first == second:
        edges, shares = _spread(result.points, first)
        axes.stairs(weights @ shares, edges, fill=True, color="0.75")
        for centre in result.centers[:, first]:
            axes.axvline(centre, color="tab:red")
        axes.set_xlabel(plain_text(names[first]))
        axes.set_ylabel("estimated records")
        return
    if len(places) > len(result.centers):
        (across, right), (up, high) = (_spread(result.points, axis) for axis in (first, second))
        shown = axes.pcolormesh(across, up, high.T @ (right * weights[:, None]), cmap="Blues")
        axes.figure.colorbar(shown, ax=axes, label="estimated records")
    axes.margins(0.05)
    axes.scatter(result.centers[:, first], result.centers[:, second], s=sizes, c="tab:red", edgecolors="white")
    for number, centre in enumerate(result.centers):
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
