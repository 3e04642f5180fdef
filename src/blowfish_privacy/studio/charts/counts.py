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
    shorten,
    spread,
    thinned,
    with_interval,
)

Floats = npt.NDArray[np.float64]
_MOST_BARS = 60
_MOST_LINES = 6


def counts_picture(
    title: str, domain: Domain, counts: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike
) -> Picture:
    """Draw the counts of the cells of a domain, with the bounds of their intervals."""
    values, below, above = (np.asarray(each, dtype=np.float64).reshape(domain.shape) for each in (counts, low, high))
    if len(domain.shape) == 1:
        return _along(title, domain, values, below, above)
    if len(domain.shape) == 2 and min(domain.shape) <= _MOST_LINES and max(domain.shape) > min(domain.shape):
        return _lines(title, domain, values, below, above)
    half = float(((above - below) / 2).max(initial=0))
    return heat_map(title, domain, values, half=half, said="" if half else "Exact counts, without noise.")


def _along(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> Picture:
    attribute, name = domain.attributes[0], domain.names[0]
    chosen = spread(len(values))
    texts, (values, low, high) = labels_of(attribute.texts(), chosen), (each[chosen] for each in (values, low, high))
    said = [f"{name} {text}: {with_interval(*bounds)}" for text, *bounds in zip(texts, values, low, high, strict=True)]
    note = sentences(_interval_words(low, high, len(values)), thinned(len(chosen), domain.size))
    described = f"{title}: counts by {name}."
    if len(values) > _MOST_BARS:
        series = _line_with_band("count", values, low, high, said, 0)
        axes = {"xAxis": value_axis(name, texts, boundaryGap=False), "yAxis": upwards(number_axis("count"))}
        return Picture(title, chart(described=described, tooltip=telling(), series=series, **axes, **_zoom()), note)
    data = [point(value, words) for value, words in zip(rounded(values), said, strict=True)]
    bars: Option = {"type": "bar", "name": "count", "data": data, "color": POLICY, "barMaxWidth": 64}
    bars |= {"itemStyle": {"opacity": 0.8}, "barCategoryGap": "30%"}
    series = [bars, *([whiskers(low, high)] if (high > low).any() else [])]
    labels = [shorten(text) for text in texts]
    if attribute.ordered:
        axes = {"xAxis": value_axis(name, labels), "yAxis": upwards(number_axis("count"))}
        return Picture(title, chart(described=described, tooltip=telling(), series=series, **axes), note)
    axes = {"yAxis": downwards(value_axis(name, labels)), "xAxis": number_axis("count")}
    option = chart(described=described, tooltip=telling(), series=series, **axes)
    return Picture(title, option, note, max(240, min(120 + 26 * len(values), 900)))


def _lines(title: str, domain: Domain, values: Floats, low: Floats, high: Floats) -> Picture:
    """Draw a line for each value of the shorter attribute, along the longer one."""
    along, across = (0, 1) if domain.shape[0] >= domain.shape[1] else (1, 0)
    if along == 1:
        values, low, high = values.T, low.T, high.T
    chosen = spread(domain.shape[along], 2000 // domain.shape[across])
    texts = labels_of(domain.attributes[along].texts(), chosen)
    names = [f"{domain.names[across]} {shorten(text)}" for text in domain.attributes[across].texts()]
    series: list[Option] = []
    for number, name in enumerate(names):
        line_values, below, above = (each[chosen, number] for each in (values, low, high))
        said = [
            f"{domain.names[along]} {text}, {name}: {with_interval(*bounds)}"
            for text, *bounds in zip(texts, line_values, below, above, strict=True)
        ]
        series += _line_with_band(name, line_values, below, above, said, number)
    option = chart(
        described=f"{title}: counts by {domain.names[along]}, a line for each {domain.names[across]}.",
        tooltip=telling(),
        legend=legend(names),
        grid=margins(top=64),
        xAxis=value_axis(domain.names[along], [shorten(text) for text in texts], boundaryGap=False),
        yAxis=upwards(number_axis("count")),
        series=series,
    )
    note = sentences(_interval_words(low, high, 0), thinned(len(chosen), domain.shape[along]))
    return Picture(title, option, note, 400)


def _line_with_band(
    name: str, values: Floats, low: Floats, high: Floats, said: Sequence[str], number: int
) -> list[Option]:
    data = [point(value, words) for value, words in zip(rounded(values), said, strict=True)]
    shown = line(name, data, number, showSymbol=False, symbol="circle")
    return [shown, *(band(name, low, high, SERIES[number % len(SERIES)]) if (high > low).any() else [])]


def _interval_words(low: Floats, high: Floats, bars: int) -> str:
    if not (high > low).any():
        return "Exact counts, without noise."
    drawn = "Whiskers show" if 0 < bars <= _MOST_BARS else "Bands show"
    return f"{drawn} the 95 % interval of each count."


def _zoom() -> Option:
    """Let a person look closer, with the wheel or with handles."""
    return {
        "dataZoom": [{"type": "inside"}, {"type": "slider", "height": 18, "bottom": 6, "showDetail": False}],
        "grid": margins(bottom=62),
    }
