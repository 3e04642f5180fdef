"""The pictures of a result in the page: from the same description that its figure is drawn from, for ECharts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import combinations
from math import ceil, comb

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.results import GroupsResult, NumberResult, Result
from blowfish_privacy.results.pictures.distribution import DistributionDrawing
from blowfish_privacy.results.pictures.figure import Drawing
from blowfish_privacy.results.pictures.intervals import AnswersDrawing, IntervalsDrawing
from blowfish_privacy.results.pictures.map import Bounds, ClustersDrawing, MapDrawing, sums_of_neighbours
from blowfish_privacy.results.pictures.tables import MOST_PANELS, CountsDrawing
from blowfish_privacy.results.synthetic import DOUBTFUL, ModelledDrawing, QualityDrawing
from blowfish_privacy.studio.charts.look import (
    BAD,
    GOOD,
    HEAT,
    INK,
    MOST_POINTS,
    MUTED,
    PLAIN,
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
    mark_lines,
    meaningful,
    number,
    number_axis,
    point,
    points,
    rounded,
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
from blowfish_privacy.support.arrays import Floats, Integers


def pictures_of(result: Result | GroupsResult) -> Sequence[TitledChart]:
    """Draw a result, or the groups of one; none where its values are too many for a document, or it draws itself."""
    if not isinstance(result, GroupsResult):
        drawings = () if result.kept is not None else result.drawings()
        return [picture for each in drawings for picture in charts_of(each)]
    every = list(result.values())
    # Numbers of all groups are one picture; other results are drawn group by group, the first few of many.
    if all(isinstance(each, NumberResult) for each in every):
        return charts_of(result.drawing())
    drawn = [replace(picture, title=each.title()) for each in every[:MOST_PANELS] for picture in pictures_of(each)[:1]]
    if len(every) > len(drawn) and drawn:
        drawn[-1] = drawn[-1].noted(f"The first {len(drawn)} of {len(every):,} groups are shown.")
    return drawn


@singledispatch
def charts_of(drawing: Drawing) -> Sequence[TitledChart]:  # noqa: ARG001  # registered functions use it
    """Draw nothing of a kind that is defined elsewhere: its own figure is among the files."""
    return []


# Heat maps: two attributes side by side, more of them joined, with a legend of a few steps that says what is much.
#
# Steps grow like squares: most tables have few large cells and many small ones, which an even scale would paint alike.

_MOST_WRITTEN = 80
_NARROW = {"itemGap": 4, "itemWidth": 9, "textStyle": {"fontSize": 9}}
_WIDE = {"itemGap": 12, "itemWidth": 18, "textStyle": {"fontSize": 11}}


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
    widest = float(np.asarray(half).max(initial=0)) if rows * columns == 1 else 0.0
    upto = "" if np.allclose(half, widest) else "up to "
    interval = f"The 95 % interval of a count is {upto}± {number(widest)}." if widest else ""
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


def _corners(rows: tuple[int, int], columns: tuple[int, int], *, turned: bool) -> Integers:
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

    def round_end(value: float) -> float:
        shift = 10.0 ** (np.floor(np.log10(value)) - (1 if value >= 10 else 0))
        return float(f"{np.rint(value / shift) * shift:.6g}")

    ends = {round_end(most * (step / len(HEAT)) ** 2) for step in range(1, len(HEAT))} if most > 0 else {1.0}
    kept = sorted(ends)
    return [0.0, *kept, max(kept[-1] * 1.5, most)]


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


_EXACT = "Exact counts, without noise."
_MOST_BARS = 60
_MOST_LINES = 6
_MOST_GROUPED = 120


@charts_of.register
def _(drawing: CountsDrawing) -> Sequence[TitledChart]:
    """Draw counts in the form that suits their domain."""
    domain, shape = drawing.domain, drawing.domain.shape
    values = np.asarray(drawing.counts, dtype=np.float64)
    bounds = values - drawing.half, values + drawing.half
    if len(shape) == 1:
        picture = _along(drawing, values, *bounds)
    elif (
        len(shape) == 2
        and min(shape) <= _MOST_LINES
        and max(shape) > min(shape)
        and (domain.attributes[int(np.argmax(shape))].ordered or values.size <= _MOST_GROUPED)
    ):
        picture = _side_by_side(drawing, values, *bounds)
    else:
        said = "" if drawing.half.any() else _EXACT
        picture = heat_map(drawing.title, domain, values, half=drawing.half, said=said)
    return [picture.noted(drawing.note)]


def _along(drawing: CountsDrawing, values: Floats, low: Floats, high: Floats) -> TitledChart:
    title, quantity, domain = drawing.title, drawing.quantity, drawing.domain
    attribute, name = domain.attributes[0], domain.names[0]
    chosen = spread(len(values))
    texts, (values, low, high) = labels_of(attribute.texts(), chosen), (each[chosen] for each in (values, low, high))
    said = _said([f"{name} {text}" for text in texts], values, low, high)
    lines = attribute.ordered and len(values) > _MOST_BARS
    note = sentences(_interval_words(low, high, bars=not lines), thinned(len(chosen), domain.size))
    described = f"{title}: counts by {name}."
    if lines:
        series = _line_with_band("count", values, low, high, said, 0)
        axes = {"xAxis": value_axis(name, texts, boundaryGap=False), "yAxis": upwards(number_axis(quantity))}
        return TitledChart(title, chart(described=described, tooltip=telling(), series=series, **axes, **zoom()), note)
    bars: Option = {"type": "bar", "name": "count", "data": points(values, said), "color": POLICY, "barMaxWidth": 64}
    bars |= {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "30%"}
    series = [bars, *whiskers(low, high)]
    labels = shorten_all(texts)
    if attribute.ordered or len(values) > _MOST_BARS:
        axes = {"xAxis": value_axis(name, labels), "yAxis": upwards(number_axis(quantity))}
        axes |= zoom() if len(values) > _MOST_BARS else {}
        return TitledChart(title, chart(described=described, tooltip=telling(), series=series, **axes), note)
    axes = {"yAxis": downwards(value_axis(name, labels)), "xAxis": number_axis(quantity)}
    option = chart(described=described, tooltip=telling(), series=series, **axes)
    return TitledChart(title, option, note, max(240, min(120 + 26 * len(values), 900)))


def _side_by_side(drawing: CountsDrawing, values: Floats, low: Floats, high: Floats) -> TitledChart:
    """Draw a line for each value of the shorter attribute, along the longer one; bars where that has no order."""
    title, domain = drawing.title, drawing.domain
    along, across = (0, 1) if domain.shape[0] >= domain.shape[1] else (1, 0)
    if along == 1:
        values, low, high = values.T, low.T, high.T
    chosen = spread(domain.shape[along], 2000 // domain.shape[across])
    texts = labels_of(domain.attributes[along].texts(), chosen)
    names = [f"{domain.names[across]} {text}" for text in shorten_all(domain.attributes[across].texts())]
    ordered, series, over = domain.attributes[along].ordered, list[Option](), list[Option]()
    for index, name in enumerate(names):
        line_values, below, above = (each[chosen, index] for each in (values, low, high))
        said = _said([f"{domain.names[along]} {text}, {name}" for text in texts], line_values, below, above)
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
        yAxis=upwards(number_axis(drawing.quantity)),
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


def _said(texts: Sequence[str], values: Floats, low: Floats, high: Floats) -> list[str]:
    """Say numbers with their intervals, each after what it is of."""
    return [f"{text}: {with_interval(*each)}" for text, *each in zip(texts, values, low, high, strict=True)]


def _interval_words(low: Floats, high: Floats, *, bars: bool) -> str:
    if not (high > low).any():
        return _EXACT
    drawn = "Whiskers show" if bars else "Bands show"
    return f"{drawn} the 95 % interval of each count."


# Single numbers and numbers by group: dots with their intervals, one below the other.

_MOST_NUMBERS = 200


@charts_of.register
def _(drawing: IntervalsDrawing) -> Sequence[TitledChart]:
    """Draw the first number of each row, one below the other."""
    title, names, numbers = drawing.title, list(drawing.rows), [first for first, *_ in drawing.rows.values()]
    positions = spread(len(numbers), _MOST_NUMBERS)
    chosen = [numbers[position] for position in positions]
    # A number that is alone has the name of the picture.
    labels = [names[position] or title for position in positions]
    values, low, high = (np.array([getattr(each, end) for each in chosen]) for end in ("value", "low", "high"))
    said = _said(labels, values, low, high)
    shown = {"type": "scatter", "data": points(values, said), "symbolSize": 11, "color": POLICY, "z": 5}
    option = chart(
        described=f"{title}: {drawing.quantity}, with intervals.",
        tooltip=telling(),
        grid=margins(top=16),
        xAxis=number_axis(drawing.quantity, scale=True),
        yAxis=downwards(value_axis("", shorten_all(labels))),
        series=[shown, *whiskers(low, high)],
    )
    # One number is read, not measured off an axis.
    alone = f"{said[0]}." if len(said) == 1 else ""
    drawn = drawing.note if (high > low).any() else "Exact, without noise."
    note = sentences(alone, drawn, thinned(len(chosen), len(numbers), "numbers"))
    return [TitledChart(title, option, note, max(150, 80 + 30 * len(chosen)))]


# A distribution: the records at or below each value, and the ranges and quantiles asked for.

_MOST_DOTS = 30
_MOST_BOUNDS = 400
"""Values whose bounds are worked out; more would take longer than a person waits."""
_NOISY = "The band is the 95 % interval of each count, which is estimated by simulation."


@charts_of.register
def _(drawing: DistributionDrawing) -> Sequence[TitledChart]:
    """Draw the share of records at or below each value with its interval, and mark the quantiles asked for."""
    name, size, total, marks = drawing.domain.names[0], drawing.domain.size, drawing.total, drawing.marks
    chosen = spread(size, _MOST_BOUNDS)
    texts = labels_of(drawing.domain.attributes[0].texts(), chosen)
    counts, (low, high) = drawing.below[chosen], drawing.bounds_below(chosen)
    shares = 100 * counts / total
    words = [
        f"{name} up to {text}: {with_interval(*of)} records, {number(share)} %"
        for share, text, *of in zip(rounded(shares), texts, counts, low, high, strict=True)
    ]
    few = len(texts) <= _MOST_DOTS
    look: Option = {"showSymbol": few, "symbol": "circle", "step": "middle" if few else "end"}
    if marks:
        nearest = [min(int(np.searchsorted(chosen, place)), len(texts) - 1) for _, place, *_ in marks]
        lines = [
            {"xAxis": texts[at], "label": {"formatter": text}} for at, (text, *_) in zip(nearest, marks, strict=True)
        ]
        look["markLine"] = mark_lines(lines, {"color": INK}, color=INK, type="dashed", width=1)
    option = chart(
        described=f"{drawing.title}: the share of records at or below each {name}.",
        tooltip=telling(),
        **zoom(top=60 if marks else 40),
        xAxis=value_axis(name, shorten_all(texts), boundaryGap=few),
        # Marks are labelled right above the line, so the name goes higher.
        yAxis={**upwards(number_axis("% of records at or below", min=0, max=100)), "nameGap": 32 if marks else 12},
        series=[
            line("share", points(shares, words), **look),
            *band("share", 100 * low / total, 100 * high / total, POLICY, step=look["step"]),
        ],
    )
    said = _NOISY if (high > low).any() else _EXACT
    return [TitledChart("At or below each value", option, sentences(said, thinned(len(chosen), size)), 400)]


# Clusters: the centres over an estimate of where the records lie.

_MOST_PAIRS, _SQUARES, _BARS = 6, 40, 48


@charts_of.register
def _(drawing: ClustersDrawing) -> Sequence[TitledChart]:
    """Draw a picture for each pair of attributes, the first few of many; for one attribute, bars."""
    if len(drawing.names) == 1:
        return [_along_one(drawing)]
    pairs = list(combinations(range(len(drawing.names)), 2))
    left_out = "" if len(pairs) <= _MOST_PAIRS else f"The first {_MOST_PAIRS} of {len(pairs)} pairs are shown."
    return [_pair(drawing, *pair, left_out) for pair in pairs[:_MOST_PAIRS]]


def _pair(drawing: ClustersDrawing, first: int, second: int, left_out: str) -> TitledChart:
    across, up = drawing.names[first], drawing.names[second]
    option = chart(
        described=f"{drawing.title}: centres of clusters by {across} and {up}, larger where there are more records.",
        tooltip=telling("item"),
        grid=margins(top=32),
        xAxis=number_axis(across, scale=True),
        yAxis=upwards(number_axis(up, scale=True)),
        series=[_places(drawing, first, second), _centres(drawing, first, second)],
    )
    said = "Numbered dots are centres, as large as their clusters. Grey dots are an estimate of where the records lie."
    return TitledChart(f"{across} and {up}", option, sentences(said, left_out), 460)


def _places(drawing: ClustersDrawing, first: int, second: int) -> Option:
    """Draw where the records are estimated to lie: a dot for each square of a grid, as large as what is in it."""
    points = drawing.points
    shown: Option = {"type": "scatter", "color": MUTED, "silent": True, "itemStyle": {"opacity": 0.35}}
    if len(points.places) <= len(drawing.clusters.centers):
        return {**shown, "data": []}
    across, up = points.places[:, first], points.places[:, second]
    counts, *edges = np.histogram2d(across, up, bins=_SQUARES, weights=points.weights)
    middles = [(each[:-1] + each[1:]) / 2 for each in edges]
    most = float(counts.max(initial=0)) or 1.0
    data = [
        {
            "value": rounded([middles[0][column], middles[1][row]]),
            "symbolSize": round(16 * float(count / most) ** 0.5, 2),
        }
        for (column, row), count in np.ndenumerate(counts)
        if count > most / 400
    ]
    return {**shown, "data": data}


def _centres(drawing: ClustersDrawing, first: int, second: int) -> Option:
    centres, sizes = drawing.clusters.centers, drawing.clusters.sizes
    most = float(sizes.max(initial=0)) or 1.0
    data: list[Option] = []
    for cluster, (centre, size) in enumerate(zip(centres, sizes, strict=True)):
        where = ", ".join(f"{name} {number(at)}" for name, at in zip(drawing.names, centre.tolist(), strict=True))
        look = {"symbolSize": 22 + 20 * float(max(size, 0) / most) ** 0.5, "name": str(cluster)}
        said = f"Cluster {cluster}: about {number(size)} records\n{where}"
        data.append(point(rounded(centre[[first, second]]), said, **look))
    label = {"show": True, "formatter": "{b}", "color": "#ffffff", "fontWeight": "bold"}
    return {
        "type": "scatter",
        "data": data,
        "color": PLAIN,
        "label": label,
        "z": 5,
        "itemStyle": {"borderColor": "#ffffff", "opacity": 1},
    }


def _along_one(drawing: ClustersDrawing) -> TitledChart:
    name, points = drawing.names[0], drawing.points
    counts, edges = np.histogram(points.places[:, 0], bins=_BARS, weights=points.weights)
    middles = (edges[:-1] + edges[1:]) / 2
    data = [
        point([middle, count], f"around {name} {number(middle)}: about {number(count)} records")
        for middle, count in zip(rounded(middles), rounded(counts), strict=True)
    ]
    centres = [
        {"xAxis": float(centre), "label": {"formatter": str(cluster)}}
        for cluster, (centre,) in enumerate(drawing.clusters.centers)
    ]
    lines = mark_lines(centres, {"color": INK}, color=PLAIN, width=2)
    bars = {"type": "bar", "data": data, "color": POLICY, "barWidth": "90%", "itemStyle": {"opacity": 0.5}}
    option = chart(
        described=f"{drawing.title}: where the records lie along {name}, and the centres.",
        tooltip=telling(),
        xAxis=number_axis(name, scale=True),
        yAxis=upwards(number_axis("estimated records")),
        series=[{**bars, "markLine": lines}],
    )
    return TitledChart(name, option, "Lines are the centres of the clusters, by number.")


# Synthetic records: how well the model behind them holds what was measured.

_MOST_COUNTS, _MOST_NAMES = 120, 40
_FITS = [
    {"lte": 1, "label": "within the noise", "color": "#d8ebdf"},
    {"gt": 1, "lte": DOUBTFUL, "label": f"up to {number(DOUBTFUL)} times", "color": "#f4e3c1"},
    {"gt": DOUBTFUL, "label": "more: doubtful", "color": "#f0bdb8"},
]
_BELOW = {"orient": "horizontal", "bottom": 0, "left": "center", "textStyle": {"fontSize": 11}}


@charts_of.register
def _(drawing: QualityDrawing) -> Sequence[TitledChart]:
    quality = drawing.quality
    names = quality.names[:_MOST_NAMES]
    axis = {name: at for at, name in enumerate(names)}
    data = [
        point(
            [axis[across], axis[down], round(min(fit.misfit, 1e6), 2)],
            f"{' by '.join(fit.names)}: {number(fit.misfit)} times the noise",
        )
        for down, across, fit in quality.cells()
        if down in axis and across in axis
    ]
    labels = shorten_all(names, 20)
    option = chart(
        described="How far the model is from what was measured, for all pairs of attributes.",
        tooltip=telling("item"),
        grid=margins(top=16, bottom=64),
        xAxis=value_axis("", labels, axisLabel={"rotate": 35, "color": INK, "interval": 0}, position="bottom"),
        yAxis=downwards(value_axis("", labels)),
        visualMap={"type": "piecewise", "dimension": 2, "pieces": _FITS, "outOfRange": {"color": BAD}, **_BELOW},
        series=[{"type": "heatmap", "data": data, "label": {"show": len(names) <= 14, "formatter": "{@[2]}"}}],
    )
    measured, pairs = len(quality.pairs), comb(len(quality.names), 2)
    said = "Numbers compare the model with what was measured, in standard deviations of the noise."
    counted = f"{measured:,} of {pairs:,} pairs were measured; the others are empty."
    note = sentences(said, counted, thinned(len(names), len(quality.names), "attributes"))
    return [TitledChart("How well the model holds what was measured", option, note, max(320, 150 + 26 * len(names)))]


@charts_of.register
def _(drawing: ModelledDrawing) -> Sequence[TitledChart]:
    """Draw one attribute: measured with its interval, and what the model makes of it."""
    domain = drawing.domain
    name, chosen = domain.names[0], spread(domain.size, _MOST_COUNTS)
    texts = labels_of(domain.attributes[0].texts(), chosen)
    modelled, measured = drawing.modelled[chosen], drawing.measured.counts[chosen]
    said = [
        f"{name} {text}\nmodel: {number(each)}\nmeasured: {number(seen)}"
        for each, text, seen in zip(rounded(modelled), texts, measured, strict=True)
    ]
    dots: Option = {"type": "scatter", "name": "measured", "data": rounded(measured), "symbolSize": 7, "color": GOOD}
    option = chart(
        described=f"{name}: counts as measured with noise, and of the model.",
        tooltip=telling(),
        legend=legend(["model", "measured"]),
        xAxis=value_axis(name, shorten_all(texts)),
        yAxis=upwards(number_axis("")),
        series=[
            {
                "type": "bar",
                "name": "model",
                "data": points(modelled, said),
                "color": POLICY,
                "itemStyle": {"opacity": 0.55},
            },
            {**dots, "symbol": "diamond", "z": 5},
            *whiskers(measured - drawing.width, measured + drawing.width),
        ],
    )
    return [TitledChart(name, option, thinned(len(chosen), domain.size), 300)]


@charts_of.register
def _(drawing: MapDrawing) -> Sequence[TitledChart]:
    if drawing.bounds is None:
        return [heat_map(drawing.title, drawing.domain, drawing.counts, said=_EXACT)]
    said = "Estimated counts; each square says its 95 % interval, which is estimated by simulation."
    return [heat_map(drawing.title, drawing.domain, drawing.counts, bounds=drawing.bounds, said=said)]


@charts_of.register
def _(drawing: AnswersDrawing) -> Sequence[TitledChart]:
    chosen = spread(len(drawing.values))
    values, low, high = (each[chosen] for each in (drawing.values, drawing.low, drawing.high))
    texts, noisy = labels_of(drawing.labels, chosen), bool((high > low).any())
    said = _said(texts, values, low, high)
    option = chart(
        described=f"{drawing.title}: answers about {drawing.about}.",
        tooltip=telling(),
        xAxis=value_axis(drawing.about, shorten_all(texts)),
        yAxis=upwards(number_axis("answer")),
        series=[
            line("answer", points(values, said), showSymbol=len(values) <= 60, symbol="circle", step="middle"),
            *(band("answer", low, high, POLICY, step="middle") if noisy else []),
        ],
    )
    note = "The band is the 95 % interval of each answer." if noisy else "Exact, without noise."
    return [TitledChart(drawing.title, option, sentences(note, thinned(len(chosen), len(drawing.values))))]
