"""Synthetic records: how well the model behind them holds what was measured."""

from __future__ import annotations

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.results import SyntheticResult
from blowfish_privacy.results.quality import DOUBTFUL, Fit, Quality
from blowfish_privacy.results.tables import Table
from blowfish_privacy.studio.charts.intervals import whiskers
from blowfish_privacy.studio.charts.look import (
    BAD,
    GOOD,
    INK,
    POLICY,
    Option,
    chart,
    downwards,
    legend,
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
    number,
    rounded,
    sentences,
    shorten_all,
    spread,
    thinned,
)

_MOST_SINGLES, _MOST_BARS, _MOST_NAMES = 8, 120, 40


def synthetic_pictures(result: SyntheticResult) -> list[Picture]:
    """Draw how well all pairs are held, then single attributes as measured and in the model."""
    singles = [table for table in result.tables() if len(table.names) == 1]
    first = list({table.names: table for table in singles}.values())[:_MOST_SINGLES]
    return [_pairs(result.quality()), *(_single(result, table) for table in first)]


def _pairs(quality: Quality) -> Picture:
    names = quality.names[:_MOST_NAMES]
    axis = {name: at for at, name in enumerate(names)}
    fits: list[tuple[int, int, Fit]] = [
        (axis[name], axis[name], fit) for name, fit in quality.attributes.items() if name in axis
    ]
    for (first, second), fit in quality.pairs.items():
        if first in axis and second in axis:
            fits += [(axis[first], axis[second], fit), (axis[second], axis[first], fit)]
    data = [
        point(
            [column, row, round(min(fit.misfit, 1e6), 2)],
            f"{' by '.join(fit.names)}: {number(fit.misfit)} times the noise",
        )
        for row, column, fit in fits
    ]
    labels = shorten_all(names, 20)
    option = chart(
        described="How far the model is from what was measured, for all pairs of attributes.",
        tooltip=telling("item"),
        grid=margins(top=16, bottom=64),
        xAxis=value_axis("", labels, axisLabel={"rotate": 35, "color": INK, "interval": 0}, position="bottom"),
        yAxis=downwards(value_axis("", labels)),
        visualMap=_scale(),
        series=[{"type": "heatmap", "data": data, "label": {"show": len(names) <= 14, "formatter": "{@[2]}"}}],
    )
    measured, pairs = len(quality.pairs), len(quality.names) * (len(quality.names) - 1) // 2
    said = "Numbers compare the model with what was measured, in standard deviations of the noise."
    counted = f"{measured:,} of {pairs:,} pairs were measured; the others are empty."
    note = sentences(said, counted, thinned(len(names), len(quality.names), "attributes"))
    return Picture("How well the model holds what was measured", option, note, max(320, 150 + 26 * len(names)))


def _scale() -> Option:
    pieces = [
        {"lte": 1, "label": "within the noise", "color": "#d8ebdf"},
        {"gt": 1, "lte": DOUBTFUL, "label": f"up to {number(DOUBTFUL)} times", "color": "#f4e3c1"},
        {"gt": DOUBTFUL, "label": "more: doubtful", "color": "#f0bdb8"},
    ]
    shown = {"orient": "horizontal", "bottom": 0, "left": "center", "textStyle": {"fontSize": 11}}
    return {"type": "piecewise", "dimension": 2, "pieces": pieces, "outOfRange": {"color": BAD}, **shown}


def _single(result: SyntheticResult, table: Table) -> Picture:
    """Draw one attribute: measured with its interval, and what the model makes of it."""
    domain: Domain = table.domain
    name, chosen = domain.names[0], spread(domain.size, _MOST_BARS)
    texts = labels_of(domain.attributes[0].texts(), chosen)
    low, high = (each[chosen] for each in table.interval())
    modelled, measured = result.model.table(table.axes)[chosen], table.values[chosen]
    bars = [
        point(each, f"{name} {text}\nmodel: {number(each)}\nmeasured: {number(seen)}")
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
            {"type": "bar", "name": "model", "data": bars, "color": POLICY, "itemStyle": {"opacity": 0.55}},
            {**dots, "symbol": "diamond", "z": 5},
            *([whiskers(low, high)] if np.any(high > low) else []),
        ],
    )
    return Picture(name, option, thinned(len(chosen), domain.size), 300)
