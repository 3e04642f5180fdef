"""A picture: a chart with its title, and what must be said about it; and how much of many values is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np
import numpy.typing as npt

from blowfish_privacy.results.pictures.figure import shorten_all as cut_all
from blowfish_privacy.studio.charts.look import MOST_POINTS, Option

_LONGEST = 28


@dataclass(frozen=True)
class Picture:
    """A chart with a title."""

    title: str
    option: Option
    note: str = ""
    """What a reader should know: what is drawn, and what was left out."""
    height: int = 360
    """In pixels."""


def spread(size: int, most: int = MOST_POINTS) -> npt.NDArray[np.int64]:
    """Choose evenly spaced positions, the first and the last among them, where there are more than fit."""
    if size <= most:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, most).astype(np.int64))


def thinned(shown: int, size: int, what: str = "values") -> str:
    """Say how many are shown, where it is not all."""
    return "" if shown >= size else f"{shown:,} of {size:,} {what} are shown, evenly spaced; the files have all."


def sentences(*parts: str) -> str:
    """Join what is said, leaving out what is not."""
    return " ".join(part for part in parts if part)


def shorten_all(texts: Sequence[str], most: int = _LONGEST) -> list[str]:
    """Cut labels that are too long for an axis, so that those which differ still do."""
    return cut_all(texts, most)


def number(value: float) -> str:
    """Write a number to read: whole where it is large, with a few digits where it is small."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"


def with_interval(value: float, low: float, high: float) -> str:
    """Write a number with its interval, if it has one, to as many digits as the interval leaves."""
    shown, below, above = (meaningful(each, high - low) for each in (value, low, high))
    return shown if low == high else f"{shown} (95 % interval {below} to {above})"


def meaningful(value: float, width: float) -> str:
    """Write a number to as many digits as the width of its interval leaves; all of an exact one."""
    if not width:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
    # Of large numbers, down to the second digit of the error, which is about a quarter of the width.
    finest, coarsest = (1 - floor(log10(each)) for each in (width, width / 4))
    places = max(finest, min(coarsest, 0))
    return f"{round(float(value), places) + 0.0:,.{min(max(places, 0), 9)}f}"


def rounded(values: npt.ArrayLike) -> list[float]:
    """Round numbers to what a picture can show, so that a page stays small."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64).tolist()]


def labels_of(texts: Sequence[str], chosen: npt.NDArray[np.int64]) -> list[str]:
    """Return the labels of some positions."""
    return [texts[int(position)] for position in chosen]
