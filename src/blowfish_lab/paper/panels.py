"""Several panels of curves beside each other, with quartiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from blowfish_privacy.results.pictures.figure import plain_text, start_figure


@dataclass(frozen=True)
class Panel:
    """One panel: rows with ``epsilon``, a column for each curve, and perhaps its lower and upper quartile."""

    title: str
    rows: Sequence[Mapping[str, Any]]


def draw_panels(panels: Sequence[Panel], colours: Mapping[str, str], title: str, quantity: str, caption: str) -> Any:
    """Draw the panels on one logarithmic scale, with what the reader must know below them."""
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = start_figure(3.6 * columns + 2.4, 3.1 * lines + 1.1, lines, columns, sharex=True, sharey=True)
    grid = np.atleast_1d(axes).reshape(-1)
    for cell in grid[len(panels) :]:
        cell.set_axis_off()
    for cell in grid[max(0, len(panels) - columns) : len(panels)]:
        cell.tick_params(labelbottom=True)
        cell.set_xlabel("epsilon")
    for cell, panel in zip(grid, panels, strict=False):
        _draw(cell, panel, colours)
        cell.set_title(plain_text(panel.title), fontsize=10)
        cell.set_yscale("log")
    # What is published is not in every panel.
    drawn = {text: mark for cell in grid for mark, text in zip(*cell.get_legend_handles_labels(), strict=True)}
    shown = [name for name in colours if name in drawn]
    figure.legend([drawn[name] for name in shown], shown, fontsize=8, loc="outside right upper")
    figure.supxlabel(plain_text(fill(caption, 55 * columns)), fontsize=8, color="0.25")
    figure.supylabel(quantity)
    figure.suptitle(plain_text(fill(title, 38 * columns)), fontsize=11)
    return figure


def _draw(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    for name, colour in colours.items():
        drawn = [row for row in panel.rows if isinstance(row.get(name), int | float)]
        if not drawn:
            continue
        epsilons, values = [row["epsilon"] for row in drawn], [row[name] for row in drawn]
        method = name.removesuffix(", median")
        measured = f"{method}, lower quartile" in drawn[0]
        marker, style = ("." if measured else "*"), ("-" if measured and method == name else ":")
        axes.plot(epsilons, values, color=colour, marker=marker, ls=style, label=name)
        if measured and method == name:
            ends = [[row[f"{name}, {side} quartile"] for row in drawn] for side in ("lower", "upper")]
            axes.fill_between(epsilons, *ends, color=colour, alpha=0.15, lw=0)
