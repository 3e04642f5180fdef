"""How well a model holds what was measured: a map of all pairs of attributes, and single attributes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.mechanisms.synthetic.model import Known, Model
from blowfish_privacy.results.pictures.figure import BLUE, plain_text, shorten, shorten_all, start_figure
from blowfish_privacy.results.pictures.ticks import label_numbers, label_values
from blowfish_privacy.results.quality import DOUBTFUL, Quality

MOST_PANELS = 8
_ACROSS = 2
_MOST_NAMES = 40
"""Attributes along a map whose names have room."""
_MOST_WRITTEN = 15
"""Attributes of a map that has room for numbers."""
_MOST_BARS = 45
_UNMEASURED = "0.88"


def draw_quality(quality: Quality, domain: Domain, singles: Sequence[Known], model: Model) -> Any:
    """Draw all pairs, and the single attributes beside them, the first few if there are many."""
    shown = list(singles)[:MOST_PANELS]
    rows = max(ceil(len(shown) / _ACROSS), 2)
    # Names of the map's attributes need room beside and below it.
    figure, grid = start_figure(14, 0.8 + 2.2 * rows, rows, 1 + _ACROSS, width_ratios=[1.6, 1, 1], squeeze=False)
    for axes in grid[:, 0]:
        axes.remove()
    draw_pairs(figure.add_subplot(grid[0, 0].get_gridspec()[:, 0]), quality)
    panels = list(grid[:, 1:].reshape(-1))
    for unused in panels[len(shown) :]:
        unused.set_axis_off()
    for axes, measured in zip(panels, shown, strict=False):
        draw_single(axes, domain.project([domain.names[measured.axes[0]]]), measured, model)
    return figure


def draw_pairs(axes: Any, quality: Quality) -> None:
    """Draw how far the model is from what was measured, in units of the noise; grey is what was not measured."""
    from matplotlib.colors import Normalize

    names = quality.names
    axis = {name: number for number, name in enumerate(names)}
    misfits = np.full((len(names), len(names)), np.nan)
    for name, fit in quality.attributes.items():
        misfits[axis[name], axis[name]] = fit.misfit
    for (first, second), fit in quality.pairs.items():
        misfits[axis[first], axis[second]] = misfits[axis[second], axis[first]] = fit.misfit
    norm = Normalize(0, 2 * DOUBTFUL)
    image = axes.imshow(np.ma.masked_invalid(np.minimum(misfits, 1e9)), cmap="cividis", norm=norm)
    axes.set_facecolor(_UNMEASURED)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.5, extend="max")
    bar.set_label("difference of model and measurement,\nin standard deviations of the noise", size=8)
    labels = [plain_text(name) for name in shorten_all(names, 20)]
    step = ceil(len(names) / _MOST_NAMES)
    axes.set_xticks(range(0, len(names), step), labels[::step], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(0, len(names), step), labels[::step])
    axes.tick_params(labelsize=8)
    if len(names) <= _MOST_WRITTEN:
        for (row, column), misfit in np.ndenumerate(misfits):
            if not np.isnan(misfit):
                colour = "black" if misfit > DOUBTFUL else "white"
                axes.text(column, row, f"{misfit:.1f}", ha="center", va="center", fontsize=7, color=colour)
    measured, pairs = len(quality.pairs), len(names) * (len(names) - 1) // 2
    axes.set_title(f"{measured:,} of {pairs:,} pairs measured (the others are grey)", fontsize=9)


def draw_single(axes: Any, domain: Domain, measured: Known, model: Model) -> None:
    """Draw the counts of one attribute: as measured, with twice the noise's standard deviation, and of the model."""
    expected, positions = model.table(measured.axes), np.arange(domain.size)
    width = 2 * sqrt(measured.variance)
    axes.bar(positions, expected, width=1.0 if domain.size > _MOST_BARS else 0.8, color=BLUE, alpha=0.45, lw=0)
    if domain.size > _MOST_BARS:
        band = (measured.counts - width, measured.counts + width)
        axes.fill_between(positions, *band, color="0.2", alpha=0.2, lw=0)
        axes.plot(positions, measured.counts, ".", ms=2, color="0.2")
    else:
        axes.errorbar(positions, measured.counts, yerr=width or None, fmt="o", ms=2.5, color="0.2", elinewidth=1)
    axes.axhline(0, color="0.6", lw=0.8)
    label_values(axes.xaxis, domain, most=8, room=24)
    label_numbers(axes.yaxis, "count", most=4)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("")
    axes.set_title(plain_text(f"{shorten(domain.names[0], 30)}: model (bars), measured (dots)"), fontsize=8)
