"""Clusters: the centres over an estimate of where the records lie."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from blowfish_privacy.results import ClustersResult
from blowfish_privacy.studio.charts.look import (
    INK,
    MUTED,
    PLAIN,
    POLICY,
    Option,
    chart,
    margins,
    number_axis,
    point,
    telling,
    upwards,
)
from blowfish_privacy.studio.charts.picture import Picture, number, rounded, sentences

_MOST_PAIRS, _SQUARES, _BARS = 6, 40, 48


def cluster_pictures(result: ClustersResult) -> list[Picture]:
    """Draw a picture for each pair of attributes, the first few of many; for one attribute, bars."""
    names = result.domain.names
    if len(names) == 1:
        return [_single(result)]
    pairs = list(combinations(range(len(names)), 2))
    left_out = "" if len(pairs) <= _MOST_PAIRS else f"The first {_MOST_PAIRS} of {len(pairs)} pairs are shown."
    return [_pair(result, *pair, left_out) for pair in pairs[:_MOST_PAIRS]]


def _pair(result: ClustersResult, first: int, second: int, left_out: str) -> Picture:
    across, up = result.domain.names[first], result.domain.names[second]
    option = chart(
        described=f"{result.title()}: centres of clusters by {across} and {up}, larger where there are more records.",
        tooltip=telling("item"),
        grid=margins(top=32),
        xAxis=number_axis(across, scale=True),
        yAxis=upwards(number_axis(up, scale=True)),
        series=[_places(result, first, second), _centres(result, first, second)],
    )
    said = "Numbered dots are centres, as large as their clusters. Grey dots are an estimate of where the records lie."
    return Picture(f"{across} and {up}", option, sentences(said, left_out), 460)


def _places(result: ClustersResult, first: int, second: int) -> Option:
    """Draw where the records are estimated to lie: a dot for each square of a grid, as large as what is in it."""
    points = result.points
    shown: Option = {"type": "scatter", "color": MUTED, "silent": True, "itemStyle": {"opacity": 0.35}}
    if len(points.places) <= len(result.centers):
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


def _centres(result: ClustersResult, first: int, second: int) -> Option:
    names, most = result.domain.names, float(result.sizes.max(initial=0)) or 1.0
    data: list[Option] = []
    for cluster, (centre, size) in enumerate(zip(result.centers, result.sizes, strict=True)):
        where = ", ".join(f"{name} {number(at)}" for name, at in zip(names, centre.tolist(), strict=True))
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


def _single(result: ClustersResult) -> Picture:
    name, points = result.domain.names[0], result.points
    counts, edges = np.histogram(points.places[:, 0], bins=_BARS, weights=points.weights)
    middles = (edges[:-1] + edges[1:]) / 2
    data = [
        point([middle, count], f"around {name} {number(middle)}: about {number(count)} records")
        for middle, count in zip(rounded(middles), rounded(counts), strict=True)
    ]
    centres = [
        {"xAxis": float(centre), "label": {"formatter": str(cluster)}}
        for cluster, (centre,) in enumerate(result.centers)
    ]
    lines = {"symbol": "none", "silent": True, "data": centres, "lineStyle": {"color": PLAIN, "width": 2}}
    bars = {"type": "bar", "data": data, "color": POLICY, "barWidth": "90%", "itemStyle": {"opacity": 0.5}}
    option = chart(
        described=f"{result.title()}: where the records lie along {name}, and the centres.",
        tooltip=telling(),
        xAxis=number_axis(name, scale=True),
        yAxis=upwards(number_axis("estimated records")),
        series=[{**bars, "markLine": {**lines, "label": {"color": INK}}}],
    )
    return Picture(name, option, "Lines are the centres of the clusters, by number.")
