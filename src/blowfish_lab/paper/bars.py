"""Bars of several columns for each of some examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np

from blowfish_privacy.results.pictures.figure import plain_text, start_figure


def draw_bars(
    labels: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    title: str,
    quantity: str,
    caption: str,
) -> Any:
    """Draw grouped bars; what is only a bound is hatched, what is no number is written."""
    figure, axes = start_figure(9, 1.8 + 0.8 * len(rows))
    positions, height = np.arange(len(rows)), 0.8 / len(columns)
    for offset, (name, colour) in enumerate(columns.items()):
        values = [row[name] for row in rows]
        widths = [length(value) for value in values]
        bars = axes.barh(positions + (offset - 1) * height, widths, height=height * 0.9, color=colour, label=name)
        for bar, value in zip(bars, values, strict=True):
            if isinstance(value, str):
                bar.set(facecolor="white", edgecolor=colour, hatch="////")
        axes.bar_label(bars, [str(value) for value in values], padding=3, fontsize=8)
    axes.set_yticks(positions, [plain_text(label) for label in labels], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel(quantity)
    figure.suptitle(plain_text(fill(title, 90)), fontsize=11)
    figure.supxlabel(plain_text(fill(caption, 120)), fontsize=8, color="0.25")
    axes.legend(fontsize=8)
    return figure


def length(value: object) -> float:
    """Return how long a bar is: the number, or the number that a value is at most; nothing for other words."""
    if isinstance(value, int | float):
        return value
    bound = str(value).removeprefix(AT_MOST)
    return float(bound) if str(value).startswith(AT_MOST) and bound.isdecimal() else 0.0


AT_MOST = "at most "
