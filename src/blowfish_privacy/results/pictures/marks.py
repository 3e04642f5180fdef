"""Points along a rising curve, with their intervals and what they are, written where the curve leaves room."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from blowfish_privacy.results.pictures.figure import plain_text

DARK = "#8A4B00"
_APART, _LETTER, _ASIDE = 11.0, 5.0, 8.0
"""The distance of two lines of text, the width of a letter and the distance of a text from its point, in points."""


class Point(NamedTuple):
    """A point of the curve: what is written beside it, where it is, and the ends of its interval."""

    text: str
    across: float
    up: float
    first: float
    last: float


def draw_marks(axes: Any, points: Sequence[Point]) -> None:
    """Draw points with their intervals; their texts stand below and above the curve, none over another."""
    for each in points:
        reach = [[each.across - each.first], [each.last - each.across]]
        axes.errorbar([each.across], [each.up], xerr=reach, fmt="D", ms=4, color=DARK)
    # A rising curve leaves room to the right below it, and to the left above it.
    low, high = axes.get_xlim()
    width = axes.get_window_extent().width / axes.figure.dpi * 72
    below: list[Point] = []
    above: list[Point] = []
    for each in sorted(points, key=lambda each: (each.across, each.up)):
        end = (each.across - low) / (high - low) * width + _ASIDE + _LETTER * len(each.text)
        (below if end <= width else above).append(each)
    _write(axes, below[::-1], side=1)
    _write(axes, above, side=-1)


def _write(axes: Any, points: Sequence[Point], side: int) -> None:
    """Write texts on one side of the curve, each at least a line further from it than the one before."""
    low, high = axes.get_ylim()
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    before = side * inf
    for each in points:
        point = (each.up - low) / (high - low) * height
        line = point - side * 9
        line = min(line, before - _APART) if side > 0 else max(line, before + _APART)
        before = line
        look: dict[str, Any] = {"fontsize": 8, "color": DARK, "ha": "left" if side > 0 else "right", "va": "center"}
        if abs(line - point) > _APART:
            look["arrowprops"] = {"arrowstyle": "-", "lw": 0.5, "color": DARK, "shrinkA": 0, "shrinkB": 3}
        axes.annotate(
            plain_text(each.text),
            (each.across, each.up),
            (side * _ASIDE, line - point),
            textcoords="offset points",
            **look,
        )
    if side < 0 and before + _APART > height:
        # Room above the curve, which ends at 1.
        axes.set_ylim(low, high + (before + _APART - height) / height * (high - low))
