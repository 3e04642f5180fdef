"""Counts along one attribute, two, or more, and axes that are labelled with values."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.pictures.figure import plain_text

_MOST_BARS = 60
_MOST_LABELS = 11
_MOST_LINES = 6
_ROOM = 70
"""How many letters fit side by side below a picture."""


def draw_counts(axes: Any, counts: Any, domain: Domain, width: float) -> None:
    """Draw bars for one attribute, lines where one of two is short, colours otherwise; each count +- ``width``."""
    if len(domain.shape) == 1:
        _bars(axes, counts, domain, width)
    elif len(domain.shape) == 2 and min(domain.shape) <= _MOST_LINES:
        _lines(axes, counts, domain, width)
    else:
        draw_map(axes, counts, domain, "noisy count" if width else "exact count")


def draw_map(axes: Any, counts: Any, domain: Domain, quantity: str) -> None:
    """Draw counts in colours: the first attribute upwards, all others to the right."""
    flat = counts.reshape(domain.shape[0], -1)
    image = axes.imshow(flat, aspect="auto", origin="lower", cmap="viridis", interpolation="nearest")
    axes.figure.colorbar(image, ax=axes, label=quantity)
    label_values(axes.yaxis, domain.project(domain.names[:1]))
    label_values(axes.xaxis, domain.project(domain.names[1:]))


def label_values(axis: Any, domain: Domain, *, most: int = _MOST_LABELS, room: int = _ROOM) -> None:
    """Label some of the positions along an axis by the values that they stand for, and the axis by its attributes."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    positions = range(0, domain.size, next(step for step in steps if domain.size <= most * step))
    labels = [
        shorten(", ".join(a.show(p) for a, p in zip(domain.attributes, domain.unflat(position), strict=True)), 24)
        for position in positions
    ]
    crowded = axis.axis_name == "x" and sum(map(len, labels)) > room
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks(list(positions), [plain_text(label) for label in labels], **turned)
    axis.set_label_text(plain_text(" x ".join(domain.names)))


def shorten(text: str, most: int) -> str:
    """Cut a text to at most so many letters, the last of them an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _quantity(width: float) -> str:
    return "count, with its 95 % interval" if width else "exact count"


def _bars(axes: Any, counts: Any, domain: Domain, width: float) -> None:
    positions = np.arange(len(counts))
    if len(counts) <= _MOST_BARS:
        axes.bar(positions, counts, yerr=width or None, capsize=2, color="tab:blue", alpha=0.8, ecolor="0.3")
    else:
        axes.fill_between(positions, counts - width, counts + width, alpha=0.25)
        axes.plot(positions, counts, lw=0.8)
    axes.axhline(0, color="0.6", lw=0.8)
    label_values(axes.xaxis, domain)
    axes.set_ylabel(_quantity(width))


def _lines(axes: Any, counts: Any, domain: Domain, width: float) -> None:
    """Draw a line for each value of the shorter attribute, along the longer one."""
    turned = counts if domain.shape[0] >= domain.shape[1] else counts.T
    along, across = (0, 1) if domain.shape[0] >= domain.shape[1] else (1, 0)
    positions = range(domain.shape[along])
    for value in range(domain.shape[across]):
        label = plain_text(f"{domain.names[across]} {domain.attributes[across].show(value)}")
        line = turned[:, value]
        axes.fill_between(positions, line - width, line + width, alpha=0.15)
        axes.plot(positions, line, label=label, marker=".", lw=1)
    axes.axhline(0, color="0.6", lw=0.8)
    label_values(axes.xaxis, domain.project([domain.names[along]]))
    axes.set_ylabel(_quantity(width))
    axes.legend()
