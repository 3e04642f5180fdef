"""Pictures of clusters: the centres over the noisy density."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blowfish_privacy.plots import plain_text, save_figure, start_figure

if TYPE_CHECKING:
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
    figure.text(0.995, 0.005, result.statement, ha="right", va="bottom", fontsize=7, color="0.4")
    save_figure(figure, path)


def draw_clusters(result: ClustersResult, axes: Any) -> None:
    """Draw the first two attributes."""
    draw_pair(result, axes, 0, min(1, len(result.domain.names) - 1))


def draw_pair(result: ClustersResult, axes: Any, first: int, second: int) -> None:
    """Draw the noisy density of two attributes, or of one, and the centres over it."""
    names, places, weights = result.domain.names, result.points.places, result.points.weights
    sizes = 30 + 300 * result.sizes / max(float(result.sizes.max()), 1e-9)
    if first == second:
        axes.hist(places[:, first], bins=_BINS, weights=weights, color="0.75")
        for centre in result.centers[:, first]:
            axes.axvline(centre, color="tab:red")
        axes.set_xlabel(plain_text(names[first]))
        axes.set_ylabel("estimated records")
        return
    if len(places) > len(result.centers):
        bins = _bins(result, first, second)
        shown = axes.hist2d(places[:, first], places[:, second], bins=bins, weights=weights, cmap="Blues")
        axes.figure.colorbar(shown[3], ax=axes, label="estimated records")
    axes.margins(0.05)
    axes.scatter(result.centers[:, first], result.centers[:, second], s=sizes, c="tab:red", edgecolors="white")
    for number, centre in enumerate(result.centers):
        axes.annotate(str(number), (centre[first], centre[second]), xytext=(6, 6), textcoords="offset points")
    axes.set_xlabel(plain_text(names[first]))
    axes.set_ylabel(plain_text(names[second]))


def _bins(result: ClustersResult, *axes: int) -> list[int]:
    """Draw no finer than the points are, or the picture shows gaps between them."""
    return [min(_BINS, max(1, len(np.unique(result.points.places[:, axis])))) for axis in axes]
