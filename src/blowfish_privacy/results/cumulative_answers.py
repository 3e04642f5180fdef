"""Quantiles and ranges: distributions of which some numbers were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from blowfish_privacy.domain import Bin, Binned, Numeric
from blowfish_privacy.queries import Quantiles, Ranges
from blowfish_privacy.results.cumulative import CumulativeResult
from blowfish_privacy.results.pictures.distribution import Mark
from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.results.pictures.intervals import Interval, draw_intervals
from blowfish_privacy.support.arrays import estimates
from blowfish_privacy.support.exact import show

_MOST_RANGES = 40
"""Ranges that have room in a picture."""


class QuantilesResult(CumulativeResult):
    """A cumulative histogram that shows some quantiles first."""

    kind = "quantiles"

    @property
    def header(self) -> list[str]:
        """The share, the value, and its interval."""
        return ["share", self.release.query.attributes[0], "low_95_in_100", "high_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each share asked for; without records there are no quantiles, and no rows."""
        shares = cast(Quantiles, self.release.query).shares
        for share, (_, place, first, last) in zip(shares, self.marks(), strict=False):
            yield [show(share), *map(self.attribute.show, (place, first, last))]

    def marks(self) -> Sequence[Mark]:
        """Return where the quantiles asked for lie, and the ends of their intervals, in positions."""
        _, low, high = self.shares()
        marks: list[Mark] = []
        for wanted in cast(Quantiles, self.release.query).shares if self.total else ():
            # The share at the quantile is known but for its interval: values at which it may be this one.
            places = (int(np.searchsorted(each, float(wanted) - 1e-9)) for each in (high, low))
            first, last = (min(each, self.attribute.size - 1) for each in places)
            place = self._quantile_position(wanted)
            marks.append((f"{show(wanted)}: {self.attribute.show(place)}", place, min(first, place), max(last, place)))
        return marks

    def intervals_shown(self) -> Sequence[Interval]:
        """Return the quantiles, where they are numbers."""
        shares = cast(Quantiles, self.release.query).shares
        return [
            Interval(
                _middle(self.attribute.value(place)),
                _end(self.attribute.value(first), 0),
                _end(self.attribute.value(last), 1),
                show(share),
            )
            for share, (_, place, first, last) in zip(shares, self.marks(), strict=False)
            if isinstance(self.attribute, Numeric | Binned)
        ]

    def asked(self) -> str:
        """Say in a few words what was asked."""
        return f"quantiles of {self.release.query.attributes[0]}"


class RangesResult(CumulativeResult):
    """A cumulative histogram that shows some ranges first."""

    kind = "ranges"

    @property
    def header(self) -> list[str]:
        """Both ends, the count, and its interval."""
        return ["from", "to", "count", "low_95_in_100", "high_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each range asked for."""
        for low, high in cast(Ranges, self.release.query).of:
            below, above = self.interval(low, high)
            shown = estimates(np.array([self.range(low, high), below, above]), (above - below) / 4)
            yield [str(low), str(high), *shown.tolist()]

    def intervals_shown(self) -> Sequence[Interval]:
        """Return the counts of the ranges."""
        return [Interval(count, below, above, f"{low} to {high}") for low, high, count, below, above in self.rows()]

    def _figure(self) -> Any:
        """Draw the ranges that were asked for, and the distribution beside them."""
        figure, (left, right) = start_figure(10.5, 4.2, columns=2)
        shown = self.intervals_shown()[:_MOST_RANGES]
        name = self.release.query.attributes[0]
        draw_intervals(left, {each.name: [each] for each in shown}, f"records with {name} in the range", least=0.0)
        self.draw(right)
        return figure

    def asked(self) -> str:
        """Say in a few words what was asked."""
        return f"ranges of {self.release.query.attributes[0]}"


def _middle(value: Any) -> float:
    return float((value.low + value.high) / 2) if isinstance(value, Bin) else float(value)


def _end(value: Any, side: int) -> float:
    return float((value.low, value.high)[side]) if isinstance(value, Bin) else float(value)
