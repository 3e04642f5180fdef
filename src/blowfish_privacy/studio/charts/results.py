"""The pictures of a result, whatever kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from blowfish_privacy.results import (
    ClustersResult,
    CumulativeResult,
    GridResult,
    GroupsResult,
    HistogramResult,
    NumberResult,
    QuantilesResult,
    RangesResult,
    Result,
    SyntheticResult,
    TablesResult,
    VectorResult,
)
from blowfish_privacy.results.result import as_float
from blowfish_privacy.studio.charts.clusters import cluster_pictures
from blowfish_privacy.studio.charts.counts import counts_picture
from blowfish_privacy.studio.charts.distribution import distribution_picture, ranges_picture
from blowfish_privacy.studio.charts.heat import heat_map
from blowfish_privacy.studio.charts.intervals import band
from blowfish_privacy.studio.charts.look import POLICY, chart, line, number_axis, point, telling, upwards, value_axis
from blowfish_privacy.studio.charts.numbers import Shown, dots
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
from blowfish_privacy.studio.charts.synthetic import synthetic_pictures

MOST_PICTURES = 12


def pictures_of(result: Result | GroupsResult) -> Sequence[Picture]:
    """Draw a result, or the groups of one; none where its values are too many for a document, or it is not known."""
    if isinstance(result, GroupsResult):
        return _groups(result)
    return [] if result.kept is not None else _pictures(result)


def _groups(groups: GroupsResult) -> Sequence[Picture]:
    """Draw numbers of all groups in one picture; other results group by group, the first few of many."""
    every = list(groups.values())
    if all(isinstance(each, NumberResult) for each in every):
        names = [", ".join(str(value) for value in each.release.group.values()) for each in every]
        shown = [_shown(name, each) for name, each in zip(names, every, strict=True)]
        return [dots(f"By {' and '.join(groups.by)}", shown, _asked(every[0]))]
    drawn = [_titled(picture, each) for each in every[:MOST_PICTURES] for picture in pictures_of(each)[:1]]
    if len(every) > len(drawn) and drawn:
        note = sentences(drawn[-1].note, f"The first {len(drawn)} of {len(every):,} groups are shown.")
        drawn[-1] = Picture(drawn[-1].title, drawn[-1].option, note, drawn[-1].height)
    return drawn


def _titled(picture: Picture, result: Result) -> Picture:
    return Picture(result.title(), picture.option, picture.note, picture.height)


@singledispatch
def _pictures(result: Result) -> Sequence[Picture]:  # noqa: ARG001  # registered functions use it
    """Draw nothing of a kind that is defined elsewhere: its own figure is among the files."""
    return []


@_pictures.register
def _(result: HistogramResult) -> Sequence[Picture]:
    return [counts_picture(result.title(), result.domain, as_float(result.counts), *result.interval())]


@_pictures.register
def _(result: TablesResult) -> Sequence[Picture]:
    tables = [result[names] for names in result.tables[:MOST_PICTURES]]
    drawn = [
        counts_picture(" by ".join(table.names), table.domain, table.values, *table.interval()) for table in tables
    ]
    if len(result) > len(drawn):
        last = drawn[-1]
        note = sentences(last.note, f"The first {len(drawn)} of {len(result):,} tables are shown; the files have all.")
        drawn[-1] = Picture(last.title, last.option, note, last.height)
    return drawn


@_pictures.register
def _(result: CumulativeResult) -> Sequence[Picture]:
    return [distribution_picture(result)]


@_pictures.register
def _(result: QuantilesResult) -> Sequence[Picture]:
    marks = [(share, result.quantile(share)) for share, *_ in result.rows()]
    return [distribution_picture(result, marks)]


@_pictures.register
def _(result: RangesResult) -> Sequence[Picture]:
    return [ranges_picture(result), distribution_picture(result)]


@_pictures.register
def _(result: GridResult) -> Sequence[Picture]:
    if not result.certificate.amount:
        return [heat_map(result.title(), result.domain, result.counts, said="Exact counts, without noise.")]
    said = "Estimated counts; each square says its 95 % interval, which is estimated by simulation."
    return [heat_map(result.title(), result.domain, result.counts, bounds=result.intervals, said=said)]


@_pictures.register
def _(result: NumberResult) -> Sequence[Picture]:
    return [dots(result.title(), [_shown(result.name, result)], _asked(result))]


@_pictures.register
def _(result: ClustersResult) -> Sequence[Picture]:
    return cluster_pictures(result)


@_pictures.register
def _(result: SyntheticResult) -> Sequence[Picture]:
    return synthetic_pictures(result)


@_pictures.register
def _(result: VectorResult) -> Sequence[Picture]:
    chosen = spread(len(result.values))
    values, low, high = (each[chosen] for each in (as_float(result.values), *result.interval()))
    texts, noisy = labels_of(result.labels(), chosen), bool((high > low).any())
    data = [
        point(value, f"{text}: {with_interval(*each)}")
        for value, text, *each in zip(rounded(values), texts, values, low, high, strict=True)
    ]
    option = chart(
        described=f"{result.title()}: answers about {', '.join(result.release.query.attributes)}.",
        tooltip=telling(),
        xAxis=value_axis(", ".join(result.release.query.attributes), shorten_all(texts)),
        yAxis=upwards(number_axis("answer")),
        series=[
            line("answer", data, showSymbol=len(values) <= 60, symbol="circle", step="middle"),
            *(band("answer", low, high, POLICY, step="middle") if noisy else []),
        ],
    )
    note = "The band is the 95 % interval of each answer." if noisy else "Exact, without noise."
    return [Picture(result.title(), option, sentences(note, thinned(len(chosen), len(result.values))))]


def _shown(name: str, result: Result) -> Shown:
    value, half = float(np.asarray(result.values).reshape(-1)[0]), result.error().interval("0.95")
    return Shown(name, value, value - half, value + half)


def _asked(result: Result) -> str:
    query = result.release.query
    return f"{query.keyword} of {query.subject}"
