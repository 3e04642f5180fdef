"""Single numbers and numbers by group: dots with their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.studio.charts.intervals import whiskers
from blowfish_privacy.studio.charts.look import (
    POLICY,
    chart,
    downwards,
    margins,
    number_axis,
    point,
    telling,
    value_axis,
)
from blowfish_privacy.studio.charts.picture import (
    Picture,
    rounded,
    sentences,
    shorten_all,
    spread,
    thinned,
    with_interval,
)

_MOST_DOTS = 200


@dataclass(frozen=True)
class Shown:
    """A number with a name and an interval."""

    name: str
    value: float
    low: float
    high: float


def dots(
    title: str, numbers: Sequence[Shown], quantity: str, said: str = "Whiskers show the 95 % interval."
) -> Picture:
    """Draw numbers below each other; ``quantity`` names what they are."""
    chosen = [numbers[int(position)] for position in spread(len(numbers), _MOST_DOTS)]
    values, low, high = (np.array([getattr(each, end) for each in chosen]) for end in ("value", "low", "high"))
    exact = not (high > low).any()
    data = [
        point(value, f"{each.name}: {with_interval(each.value, each.low, each.high)}")
        for value, each in zip(rounded(values), chosen, strict=True)
    ]
    shown = {"type": "scatter", "data": data, "symbolSize": 11, "color": POLICY, "z": 5}
    option = chart(
        described=f"{title}: {quantity}, with intervals.",
        tooltip=telling(),
        grid=margins(top=16),
        xAxis=number_axis(quantity, scale=True),
        yAxis=downwards(value_axis("", shorten_all([each.name for each in chosen]))),
        series=[shown, *([] if exact else [whiskers(low, high)])],
    )
    # One number is read, not measured off an axis.
    alone = f"{chosen[0].name}: {with_interval(values[0], low[0], high[0])}." if len(chosen) == 1 else ""
    note = sentences(alone, "Exact, without noise." if exact else said, thinned(len(chosen), len(numbers), "numbers"))
    return Picture(title, option, note, max(150, 80 + 30 * len(chosen)))
