"""Counts along one attribute or several: bars with whiskers, lines with bands, or a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.pictures.map import sums_of_neighbours
from blowfish_privacy.studio.charts.look import (
    HEAT,
    MOST_POINTS,
    POLICY,
    SERIES,
    Option,
    TitledChart,
    band,
    chart,
    downwards,
    labels_of,
    legend,
    line,
    margins,
    meaningful,
    number,
    number_axis,
    point,
    points,
    sentences,
    shorten_all,
    spread,
    telling,
    thinned,
    upwards,
    value_axis,
    whisker_series,
    whiskers,
    with_interval,
    zoom,
)
from blowfish_privacy.support.arrays import Floats

# Heat maps: two attributes side by side, more of them joined, with a legend of a few steps that says what is much.
#
# Steps grow like squares: most tables have few large cells and many small ones, which an even scale would paint alike.

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
) -> TitledChart:
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
    interval = _widest_interval(np.asarray(half)) if rows * columns == 1 else ""
    below = "Estimates below zero are drawn as zero." if (table < 0).any() else ""
    cells = sums_of_neighbours(table, rows, columns)
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
    return TitledChart(
        title, option, sentences(said, interval, below, merged), max(300, min(140 + 22 * len(down), 620))
    )


def _widest_interval(half: Floats) -> str:
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


def _labels(domain: Domain, step: int, size: int) -> list[str]:
    def show(position: int) -> str:
        return ", ".join(each.show(at) for each, at in zip(domain.attributes, domain.unflat(position), strict=True))

    if step == 1:
        return [show(position) for position in range(size)]
    return [f"{show(first)} .. {show(min(first + step, size) - 1)}" for first in range(0, size, step)]


_MOST_BARS = 60
_MOST_LINES = 6
_MOST_GROUPED = 120


def counts_picture(
    title: str, domain: Domain, counts: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike
) -> TitledChart:
    """Draw the counts of the cells of a domain, with the bounds of their intervals."""
    values, below, above = (np.asarray(each, dtype=np.float64).reshape(domain.shape) for each in (counts, low, high))
    if len(domain.shape) == 1:
        return _along(title, domain, values, below, above)
    if len(domain.shape) == 2 and min(domain.shape) <= _MOST_LINES and max(domain.shape) > min(domain.shape):
        along = domain.attributes[0 if domain.shape[0] >= domain.shape[1] else 1]
        if along.ordered or values.size <= _MOST_GROUPED:
            return _side_by_side(title, domain, values, below, above)
    half = (above - below) / 2
    return heat_map(title, domain, values, half=half, said="" if half.any() else "Exact counts, without noise.")


def _along(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> TitledChart:
    attribute, name = domain.attributes[0], domain.names[0]
    chosen = spread(len(values))
    texts, (values, low, high) = labels_of(attribute.texts(), chosen), (each[chosen] for each in (values, low, high))
    said = [f"{name} {text}: {with_interval(*bounds)}" for text, *bounds in zip(texts, values, low, high, strict=True)]
    lines = attribute.ordered and len(values) > _MOST_BARS
    note = sentences(_interval_words(low, high, bars=not lines), thinned(len(chosen), domain.size))
    described = f"{title}: counts by {name}."
    if lines:
        series = _line_with_band("count", values, low, high, said, 0)
        axes = {"xAxis": value_axis(name, texts, boundaryGap=False), "yAxis": upwards(number_axis("count"))}
        return TitledChart(title, chart(described=described, tooltip=telling(), series=series, **axes, **zoom()), note)
    bars: Option = {"type": "bar", "name": "count", "data": points(values, said), "color": POLICY, "barMaxWidth": 64}
    bars |= {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "30%"}
    series = [bars, *whiskers(low, high)]
    labels = shorten_all(texts)
    if attribute.ordered or len(values) > _MOST_BARS:
        axes = {"xAxis": value_axis(name, labels), "yAxis": upwards(number_axis("count"))}
        axes |= zoom() if len(values) > _MOST_BARS else {}
        return TitledChart(title, chart(described=described, tooltip=telling(), series=series, **axes), note)
    axes = {"yAxis": downwards(value_axis(name, labels)), "xAxis": number_axis("count")}
    option = chart(described=described, tooltip=telling(), series=series, **axes)
    return TitledChart(title, option, note, max(240, min(120 + 26 * len(values), 900)))


def _side_by_side(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> TitledChart:
    """Draw a line for each value of the shorter attribute, along the longer one; bars where that has no order."""
    along, across = (0, 1) if domain.shape[0] >= domain.shape[1] else (1, 0)
    if along == 1:
        values, low, high = values.T, low.T, high.T
    chosen = spread(domain.shape[along], 2000 // domain.shape[across])
    texts = labels_of(domain.attributes[along].texts(), chosen)
    names = [f"{domain.names[across]} {text}" for text in shorten_all(domain.attributes[across].texts())]
    ordered, series, over = domain.attributes[along].ordered, list[Option](), list[Option]()
    for index, name in enumerate(names):
        line_values, below, above = (each[chosen, index] for each in (values, low, high))
        said = [
            f"{domain.names[along]} {text}, {name}: {with_interval(*bounds)}"
            for text, *bounds in zip(texts, line_values, below, above, strict=True)
        ]
        if ordered:
            series += _line_with_band(name, line_values, below, above, said, index)
        else:
            series.append(_grouped_bars(name, line_values, said, index, len(names)))
            over += [whisker_series(below, above)] if (high > low).any() else []
    drawn = "a line" if ordered else "bars"
    option = chart(
        described=f"{title}: counts by {domain.names[along]}, {drawn} for each {domain.names[across]}.",
        tooltip=telling(),
        legend=legend(names),
        grid=margins(top=64),
        xAxis=value_axis(domain.names[along], shorten_all(texts), boundaryGap=not ordered),
        yAxis=upwards(number_axis("count")),
        series=[*series, *over],
    )
    note = sentences(_interval_words(low, high, bars=not ordered), thinned(len(chosen), domain.shape[along]))
    return TitledChart(title, option, note, 400)


def _line_with_band(
    name: str, values: Floats, low: Floats, high: Floats, said: Sequence[str], number: int
) -> list[Option]:
    shown = line(name, points(values, said), number, showSymbol=False, symbol="circle")
    return [shown, *(band(name, low, high, SERIES[number % len(SERIES)]) if (high > low).any() else [])]


def _grouped_bars(name: str, values: Floats, said: Sequence[str], number: int, many: int) -> Option:
    """Return one of several series of bars, each below the whisker that the page puts over the same series."""
    # Box plots leave three tenths of a share between them, bars a part of their own width: this makes both the same.
    gap = 30 / (1 - 0.3 * (many - 1) / many)
    shown: Option = {"type": "bar", "name": name, "data": points(values, said), "color": SERIES[number % len(SERIES)]}
    return shown | {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "20%", "barGap": f"{gap:.4g}%"}


def _interval_words(low: Floats, high: Floats, *, bars: bool) -> str:
    if not (high > low).any():
        return "Exact counts, without noise."
    drawn = "Whiskers show" if bars else "Bands show"
    return f"{drawn} the 95 % interval of each count."
