"""Heat maps: two attributes side by side, more of them joined, with a legend of a few steps that says what is much.

Steps grow like squares: most tables have few large cells and many small ones, which an even scale would paint alike.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.studio.charts.look import (
    HEAT,
    MOST_POINTS,
    Option,
    chart,
    downwards,
    margins,
    point,
    telling,
    upwards,
    value_axis,
)
from blowfish_privacy.studio.charts.picture import Picture, meaningful, number, sentences, shorten_all, with_interval
from blowfish_privacy.support.arrays import Floats

_MOST_WRITTEN = 80
_NARROW = {"itemGap": 4, "itemWidth": 9, "textStyle": {"fontSize": 9}}
_WIDE = {"itemGap": 12, "itemWidth": 18, "textStyle": {"fontSize": 11}}


Bounds: TypeAlias = Callable[[npt.NDArray[np.int64]], tuple[Floats, Floats]]
"""Bounds the counts of rectangles: rows of inclusive positions, from and to along each of two attributes."""


def heat_map(
    title: str,
    domain: Domain,
    counts: npt.NDArray[np.generic],
    *,
    half: npt.ArrayLike = 0.0,
    bounds: Bounds | None = None,
    said: str = "",
) -> Picture:
    """Draw counts in colours, the shorter of two attributes upright; of more, the first.

    Every count is within ``half``, or its own, in 95 of 100; where neighbours are added up, ``bounds`` bounds each sum.
    """
    names, table = domain.names, np.asarray(counts, dtype=np.float64)
    turned = len(names) == 2 and domain.shape[0] > domain.shape[1]
    if turned:
        names, table = names[::-1], table.T
    table = table.reshape(table.shape[0], -1)
    (rows, tall), (columns, wide) = _fitting(*table.shape)
    down = _labels(domain.project(names[:1]), rows, tall)
    across = _labels(domain.project(names[1:]), columns, wide)
    merged = "" if rows * columns == 1 else f"Each square adds up {rows:,} by {columns:,} neighbouring cells."
    interval = _interval_words(np.asarray(half)) if rows * columns == 1 else ""
    below = "Estimates below zero are drawn as zero." if (table < 0).any() else ""
    cells = _blocks(table, rows, columns)
    ends = bounds and bounds(_corners((rows, tall), (columns, wide), turned=turned))
    each = np.broadcast_to(2 * np.asarray(half), domain.shape)
    each = (each.T if turned else each).reshape(table.shape)
    if ends is not None:
        widths = (ends[1] - ends[0]).reshape(cells.shape)
    else:
        # A sum is at least as wrong as what was added up.
        widths = each if rows * columns == 1 else np.full(cells.shape, each.max())
    written = [meaningful(*pair) for pair in zip(cells.reshape(-1), widths.reshape(-1), strict=True)]
    texts = written if ends is None else [with_interval(*it) for it in zip(cells.reshape(-1), *ends, strict=True)]
    option = _option(title, cells, written, texts, (down, across), (names[0], " x ".join(names[1:])))
    if domain.project(names[:1]).attributes[0].ordered:
        # Names are a list, read from the top; numbers grow upwards, as in every other picture.
        option["yAxis"] |= upwards(option["yAxis"]) | {"inverse": False}
    return Picture(title, option, sentences(said, interval, below, merged), _height(len(down)))


def _interval_words(half: Floats) -> str:
    """State the interval of a count, the widest where they differ."""
    widest = float(half.max(initial=0))
    alike = "" if np.allclose(half, widest) else "up to "
    return f"The 95 % interval of a count is {alike}± {number(widest)}." if widest else ""


def _corners(rows: tuple[int, int], columns: tuple[int, int], *, turned: bool) -> npt.NDArray[np.int64]:
    """Return the rectangles that squares stand for, in the order of the attributes in the domain."""
    (tall, height), (wide, width) = rows, columns
    made = [
        (top, min(top + tall, height) - 1, left, min(left + wide, width) - 1)
        for top in range(0, height, tall)
        for left in range(0, width, wide)
    ]
    return np.array(made, dtype=np.int64)[:, [2, 3, 0, 1] if turned else [0, 1, 2, 3]]


def _option(
    title: str,
    cells: Floats,
    written: list[str],
    texts: list[str],
    labels: tuple[list[str], list[str]],
    names: tuple[str, str],
) -> Option:
    """Draw the squares, with what is written into them, and what is said where the pointer is."""
    down, across = labels
    steps = _steps(float(cells.max(initial=0)))
    shown = cells.size <= _MOST_WRITTEN and len(across) <= 14
    few = shown and len(across) <= 5
    data = [
        point(
            [column, row, float(f"{max(count, 0):.6g}"), written[row * len(across) + column] if count > 0 else "0"],
            f"{names[0]} {down[row]}, {names[1]} {across[column]}: {texts[row * len(across) + column]}",
            label={"color": "#ffffff" if count > steps[len(steps) // 2] else "#1f2937"},
        )
        for (row, column), count in np.ndenumerate(cells)
    ]
    series = {
        "type": "heatmap",
        "data": data,
        "label": {"show": shown, "fontSize": 11, "formatter": "{@[3]}"},
        # Where there is no room for all, some are written, none over another.
        "labelLayout": {"hideOverlap": True},
        "progressive": 0,
        "itemStyle": {"borderColor": "#ffffff", "borderWidth": 0.5 if cells.size <= 600 else 0},
    }
    return chart(
        described=f"{title}: a map of counts by {names[0]} and {names[1]}, darker where there are more.",
        tooltip=telling("item"),
        grid=margins(top=36, bottom=64),
        xAxis=value_axis(names[1], shorten_all(across)),
        yAxis=downwards(value_axis(names[0], shorten_all(down))),
        visualMap=_legend(steps),
        # Without the second, a chart that was narrow once, while its place opened, would keep small letters.
        media=[
            {"query": {"maxWidth": 460}, "option": {"visualMap": _NARROW, "series": [{"label": {"show": few}}]}},
            {"option": {"visualMap": _WIDE, "series": [{"label": {"show": shown}}]}},
        ],
        series=[series],
    )


def _legend(steps: list[float]) -> Option:
    """Name the steps in a row below the map."""
    pieces: list[Option] = [
        {"gte": low, "lt": high, "label": f"{number(low)} - {number(high)}", "color": colour}
        for low, high, colour in zip(steps[:-1], steps[1:], HEAT, strict=False)
    ]
    pieces[-1] = {"gte": steps[-2], "label": f"{number(steps[-2])} +", "color": pieces[-1]["color"]}
    shown = {"orient": "horizontal", "bottom": 0, "left": "center", "itemHeight": 12, **_WIDE}
    return {"type": "piecewise", "dimension": 2, "pieces": pieces, **shown}


def _steps(most: float) -> list[float]:
    """Cut from zero to the most into steps whose ends are round and grow like squares."""
    ends = {_round(most * (step / len(HEAT)) ** 2) for step in range(1, len(HEAT))}
    kept = sorted(end for end in ends if end > 0) or [1.0]
    return [0.0, *kept, max(kept[-1] * 1.5, most)]


def _round(value: float) -> float:
    if value <= 0:
        return 0.0
    digits = 1 if value >= 10 else 0
    shift = 10.0 ** (np.floor(np.log10(value)) - digits)
    return float(f"{np.rint(value / shift) * shift:.6g}")


def _fitting(tall: int, wide: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Say how many neighbours are added up each way so that the squares fit, and how many there are each way."""
    rows = columns = 1
    while ceil(tall / rows) * ceil(wide / columns) > MOST_POINTS:
        if tall / rows >= wide / columns:
            rows += 1
        else:
            columns += 1
    return (rows, tall), (columns, wide)


def _blocks(table: Floats, rows: int, columns: int) -> Floats:
    by_rows = np.add.reduceat(table, np.arange(0, table.shape[0], rows), axis=0)
    return np.add.reduceat(by_rows, np.arange(0, table.shape[1], columns), axis=1)


def _labels(domain: Domain, step: int, size: int) -> list[str]:
    def show(position: int) -> str:
        return ", ".join(each.show(at) for each, at in zip(domain.attributes, domain.unflat(position), strict=True))

    if step == 1:
        return [show(position) for position in range(size)]
    return [f"{show(first)} .. {show(min(first + step, size) - 1)}" for first in range(0, size, step)]


def _height(rows: int) -> int:
    return max(300, min(140 + 22 * rows, 620))
