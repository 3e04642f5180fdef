"""A distribution: the records at or below each value, and the ranges and quantiles asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Binned
from blowfish_privacy.results import CumulativeResult
from blowfish_privacy.studio.charts.intervals import band
from blowfish_privacy.studio.charts.look import (
    INK,
    POLICY,
    Option,
    chart,
    line,
    margins,
    number_axis,
    point,
    telling,
    upwards,
    value_axis,
)
from blowfish_privacy.studio.charts.numbers import Shown, dots
from blowfish_privacy.studio.charts.picture import (
    Picture,
    labels_of,
    number,
    rounded,
    sentences,
    shorten_all,
    spread,
    thinned,
    with_interval,
)

_MOST_DOTS = 30
_MOST_BOUNDS = 400
"""Values whose bounds are worked out; more would take longer than a person waits."""
_NOISY = "The band is the 95 % interval of each count, which is estimated by simulation."


def distribution_picture(result: CumulativeResult, marks: Sequence[tuple[str, Any]] = ()) -> Picture:
    """Draw the share of records at or below each value with its interval; ``marks`` are shares and their values."""
    name, size = result.release.query.attributes[0], result.attribute.size
    chosen = spread(size, _MOST_BOUNDS)
    texts = labels_of(result.attribute.texts(), chosen)
    counts, total = result.cumulative[chosen], result.total or 1
    # By position: a first value that is cut by the bounds of its attribute cannot begin a range.
    low, high = result.bounds_between(np.zeros_like(chosen), chosen + 1)
    said = _NOISY if result.certificate.amount else "Exact counts, without noise."
    data = [
        point(share, f"{name} up to {text}: {with_interval(*of)} records, {number(share)} %")
        for share, text, *of in zip(rounded(100 * counts / total), texts, counts, low, high, strict=True)
    ]
    few = len(texts) <= _MOST_DOTS
    step = "middle" if few else "end"
    shown = line("share", data, showSymbol=few, symbol="circle", step=step, **_marks(result, marks, chosen, texts))
    option = chart(
        described=f"{result.title()}: the share of records at or below each {name}.",
        tooltip=telling(),
        grid=margins(top=60 if marks else 40, bottom=62),
        dataZoom=[{"type": "inside"}, {"type": "slider", "height": 18, "bottom": 6, "showDetail": False}],
        xAxis=value_axis(name, shorten_all(texts), boundaryGap=few),
        # Marks are labelled right above the line, so the name goes higher.
        yAxis={**upwards(number_axis("% of records at or below", min=0, max=100)), "nameGap": 32 if marks else 12},
        series=[shown, *band("share", 100 * low / total, 100 * high / total, POLICY, step=step)],
    )
    return Picture("At or below each value", option, sentences(said, thinned(len(chosen), size)), 400)


def ranges_picture(result: CumulativeResult) -> Picture:
    """Draw the ranges that were asked for, each with its interval."""
    name = result.release.query.attributes[0]
    rows = [Shown(f"{low} to {high}", count, below, above) for low, high, count, below, above in result.rows()]
    said = "Intervals are estimated: they hold about 95 of 100 ranges of such a width."
    return dots("Ranges asked for", rows, f"records with {name} in the range", said)


def _marks(
    result: CumulativeResult, marks: Sequence[tuple[str, Any]], chosen: npt.NDArray[np.int64], texts: Sequence[str]
) -> Option:
    """Mark quantiles by lines that are labelled with their share and value."""
    if not marks:
        return {}
    lines: list[Option] = []
    for share, value in marks:
        position = result.attribute.position(value if not isinstance(result.attribute, Binned) else value.low)
        nearest = int(np.searchsorted(chosen, position))
        words = f"{share}: {result.attribute.show(position)}"
        lines.append({"xAxis": texts[min(nearest, len(texts) - 1)], "label": {"formatter": words}})
    style = {"color": INK, "type": "dashed", "width": 1}
    return {"markLine": {"symbol": "none", "silent": True, "data": lines, "lineStyle": style, "label": {"color": INK}}}
