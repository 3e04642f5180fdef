"""Counts along one attribute or several: bars with whiskers, lines with bands, or a map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.studio.charts.heat import heat_map
from blowfish_privacy.studio.charts.intervals import band, whiskers
from blowfish_privacy.studio.charts.look import (
    POLICY,
    SERIES,
    Option,
    chart,
    downwards,
    legend,
    line,
    margins,
    number_axis,
    point,
    telling,
    upwards,
    value_axis,
)
from blowfish_privacy.studio.charts.picture import (
    Picture,
    labels_of,
    rounded,
    sentences,
    shorten_all,
    spread,
    thinned,
    with_interval,
)
from blowfish_privacy.support.arrays import Floats

_MOST_BARS = 60
_MOST_LINES = 6
_MOST_GROUPED = 120


def counts_picture(
    title: str, domain: Domain, counts: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike
) -> Picture:
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


def _along(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> Picture:
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
        return Picture(title, chart(described=described, tooltip=telling(), series=series, **axes, **_zoom()), note)
    data = [point(value, words) for value, words in zip(rounded(values), said, strict=True)]
    bars: Option = {"type": "bar", "name": "count", "data": data, "color": POLICY, "barMaxWidth": 64}
    bars |= {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "30%"}
    series = [bars, *([whiskers(low, high)] if (high > low).any() else [])]
    labels = shorten_all(texts)
    if attribute.ordered or len(values) > _MOST_BARS:
        axes = {"xAxis": value_axis(name, labels), "yAxis": upwards(number_axis("count"))}
        axes |= _zoom() if len(values) > _MOST_BARS else {}
        return Picture(title, chart(described=described, tooltip=telling(), series=series, **axes), note)
    axes = {"yAxis": downwards(value_axis(name, labels)), "xAxis": number_axis("count")}
    option = chart(described=described, tooltip=telling(), series=series, **axes)
    return Picture(title, option, note, max(240, min(120 + 26 * len(values), 900)))


def _side_by_side(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> Picture:
    """Draw a line for each value of the shorter attribute, along the longer one; bars where that has no order."""
    along, across = (0, 1) if domain.shape[0] >= domain.shape[1] else (1, 0)
    if along == 1:
        values, low, high = values.T, low.T, high.T
    chosen = spread(domain.shape[along], 2000 // domain.shape[across])
    texts = labels_of(domain.attributes[along].texts(), chosen)
    names = [f"{domain.names[across]} {text}" for text in shorten_all(domain.attributes[across].texts())]
    ordered, series, over = domain.attributes[along].ordered, list[Option](), list[Option]()
    for number, name in enumerate(names):
        line_values, below, above = (each[chosen, number] for each in (values, low, high))
        said = [
            f"{domain.names[along]} {text}, {name}: {with_interval(*bounds)}"
            for text, *bounds in zip(texts, line_values, below, above, strict=True)
        ]
        if ordered:
            series += _line_with_band(name, line_values, below, above, said, number)
        else:
            series.append(_grouped_bars(name, line_values, said, number, len(names)))
            over += [whiskers(below, above)] if (high > low).any() else []
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
    return Picture(title, option, note, 400)


def _line_with_band(
    name: str, values: Floats, low: Floats, high: Floats, said: Sequence[str], number: int
) -> list[Option]:
    data = [point(value, words) for value, words in zip(rounded(values), said, strict=True)]
    shown = line(name, data, number, showSymbol=False, symbol="circle")
    return [shown, *(band(name, low, high, SERIES[number % len(SERIES)]) if (high > low).any() else [])]


def _grouped_bars(name: str, values: Floats, said: Sequence[str], number: int, many: int) -> Option:
    """Return one of several series of bars, each below the whisker that the page puts over the same series."""
    data = [point(value, words) for value, words in zip(rounded(values), said, strict=True)]
    # Box plots leave three tenths of a share between them, bars a part of their own width: this makes both the same.
    gap = 30 / (1 - 0.3 * (many - 1) / many)
    shown: Option = {"type": "bar", "name": name, "data": data, "color": SERIES[number % len(SERIES)]}
    return shown | {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "20%", "barGap": f"{gap:.4g}%"}


def _interval_words(low: Floats, high: Floats, *, bars: bool) -> str:
    if not (high > low).any():
        return "Exact counts, without noise."
    drawn = "Whiskers show" if bars else "Bands show"
    return f"{drawn} the 95 % interval of each count."


def _zoom() -> Option:
    """Let a person look closer, with the wheel or with handles."""
    return {
        "dataZoom": [{"type": "inside"}, {"type": "slider", "height": 18, "bottom": 6, "showDetail": False}],
        "grid": margins(bottom=62),
    }
