"""A noisy cumulative histogram: every range, quantile and share from one release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Bin, Binned, Domain, Numeric, Spaced
from blowfish_privacy.errors import DomainError, QueryError, RefusalError
from blowfish_privacy.mechanisms import OrderedFamily
from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.intervals import BootstrapError, RangeIntervals
from blowfish_privacy.queries import Quantiles, Ranges
from blowfish_privacy.results.pictures.distribution import Density, DistributionDrawing, Mark, density
from blowfish_privacy.results.pictures.errors import draw_error_by_width
from blowfish_privacy.results.pictures.figure import Drawing, ending_of, picture, start_figure
from blowfish_privacy.results.pictures.intervals import IntervalsDrawing, LabelledInterval
from blowfish_privacy.results.result import Result, checked_share
from blowfish_privacy.support.arrays import Columns, Floats, Integers, Labels, estimates, standard_errors
from blowfish_privacy.support.exact import Number, show
from blowfish_privacy.support.files import write_atomically

# The ends of many ranges at once, as positions of an ordered attribute.


def range_starts(attribute: Attribute, starts: npt.ArrayLike) -> Integers:
    """Turn the first values of ranges into positions, or edges of bins into cut points."""
    if isinstance(attribute, Spaced):
        return _placed(attribute, starts, attribute.range_starts, attribute.range_start)
    return _placed(attribute, starts, None, attribute.position)


def range_ends(attribute: Attribute, ends: npt.ArrayLike) -> Integers:
    """Turn the last values of ranges into positions, or edges of bins into cut points."""
    if isinstance(attribute, Spaced):
        return _placed(attribute, ends, attribute.range_ends, attribute.range_end)
    return _placed(attribute, ends, None, attribute.position)


def _placed(
    attribute: Attribute,
    ends: npt.ArrayLike,
    at_once: Callable[[npt.NDArray[Any]], Integers | None] | None,
    position: Callable[[object], int],
) -> Integers:
    """Look up an array at once where that is possible, else each value, and only once where they can be sorted."""
    try:
        given = np.asarray(ends)
    except ValueError:
        given = np.array([None])
    if given.size == 0:
        return np.zeros(given.shape, dtype=np.int64)
    if isinstance(attribute, Binned):
        if given.dtype.kind not in "iuf":
            raise QueryError("the ends of ranges of bins must be numbers.")
        edges = np.array([float(edge) for edge in attribute.bounds])
        if (given < edges[0]).any() or (given > edges[-1]).any():
            raise QueryError("a range ends outside the declared values.")
        positions = np.searchsorted(edges, given)
        if (edges[positions] != given).any():
            raise QueryError("ranges of bins go from edge to edge.")
        return positions.astype(np.int64)
    if at_once is not None and (placed := at_once(given)) is not None:
        return placed
    # Python has no dates as fine as numpy's, and would be given plain numbers.
    listed = (given.astype("datetime64[D]") if given.dtype.kind == "M" else given).reshape(-1)
    known, inverse = (listed, ...) if given.dtype.kind == "O" else np.unique(listed, return_inverse=True)
    try:
        places = [position(end) for end in known.tolist()]
    except DomainError as error:
        raise QueryError(error.message, hint=error.hint) from None
    return np.array(places, dtype=np.int64)[inverse].reshape(given.shape)


class CumulativeResult(Result):
    """The estimated number of records at or below each value.

    Answers come from the ordered estimate, which never decreases and ends at the total where that is public;
    :attr:`linear` is the unbiased one before that step. Where the number of records is secret, shares are of the
    estimated one.
    """

    kind = "cumulative"
    _shows = OrderedFamily

    @property
    def _mechanism(self) -> OrderedFamily:
        return cast("OrderedFamily", self.release.mechanism)

    @property
    def attribute(self) -> Attribute:
        """The attribute along which records are counted."""
        return self.release.policy.domain[self.release.query.attributes[0]]

    @cached_property
    def linear(self) -> Floats:
        """The unbiased estimate, which may decrease here and there; it meets every public total."""
        return self._of_selected(self._mechanism.meeting(self._measured, self._totals))

    @cached_property
    def _measured(self) -> Floats:
        return self._mechanism.estimate(self.release.noisy, self.release.records)

    @cached_property
    def _totals(self) -> Correction | None:
        """Public totals that the mechanism's own estimate does not meet."""
        constraints = self.release.constraints
        missed = None if constraints is None else self._mechanism.with_ends(constraints, self._measured)
        return None if missed is None else Correction(missed, self._mechanism.spread)

    @cached_property
    def cumulative(self) -> Floats:
        """The number of records at or below each value; never decreases, from 0 to the total."""
        estimate = self._mechanism.shown_estimate(self.release.noisy, self.release.records, self._totals)
        return self._of_selected(estimate)

    def _of_selected(self, estimate: Floats) -> Floats:
        """Leave out values that a condition does not select; where the total is public, it says so already."""
        chosen = self.release.population.box.get(self.release.query.attributes[0])
        if chosen is None or self.release.records is not None:
            return estimate
        counts = np.diff(estimate, prepend=0.0)
        return np.cumsum(np.where([position in chosen for position in range(self.attribute.size)], counts, 0.0))

    @property
    def values(self) -> Floats:
        return self.cumulative

    @cached_property
    def _cuts(self) -> Floats:
        return np.concatenate([[0.0], self.cumulative])

    def range(self, low: Any, high: Any) -> float:
        """Count the records from one value to another, both included (for bins: from one edge to another)."""
        chosen = self.attribute.subset((low, high))
        return float(self._cuts[chosen.last + 1] - self._cuts[chosen.first])

    def ranges(self, lows: npt.ArrayLike, highs: npt.ArrayLike) -> Floats:
        """Count the records of many ranges at once."""
        first, last = self._between(lows, highs)
        return self._cuts[last] - self._cuts[first]

    def interval(self, low: Any, high: Any, level: Number = "0.95") -> tuple[float, float]:
        """Return bounds for the number of records from one value to another, around what :meth:`range` says.

        They are learned by releasing an estimate like this one many times, for the width and the place of the range;
        of ranges of about this width, the share ``level`` is to lie within theirs. That is estimated, not guaranteed.
        """
        chosen = self.attribute.subset((low, high))
        lower, upper = self._intervals.of(np.array([[chosen.first, chosen.last + 1]]), level)
        return float(lower[0]), float(upper[0])

    def intervals(self, lows: npt.ArrayLike, highs: npt.ArrayLike, level: Number = "0.95") -> tuple[Floats, Floats]:
        """Return bounds for many ranges at once: all lower ones, and all upper ones."""
        first, last = self._between(lows, highs)
        lower, upper = self._intervals.of(np.stack([first, last], axis=-1).reshape(-1, 2), level)
        return lower.reshape(first.shape), upper.reshape(first.shape)

    @cached_property
    def _intervals(self) -> RangeIntervals:
        return RangeIntervals(self._mechanism, self._cuts, self.release.records, self._totals, self._of_selected)

    def _between(self, lows: npt.ArrayLike, highs: npt.ArrayLike) -> tuple[Integers, Integers]:
        """Turn the ends of ranges into the cut points before and after them."""
        first, last = range_starts(self.attribute, lows), range_ends(self.attribute, highs)
        whole = 0 if isinstance(self.attribute, Binned) else 1
        if first.shape != last.shape or (first > last - 1 + whole).any():
            raise QueryError("ranges need as many upper as lower ends, none below its lower one.")
        return first, last + whole

    def cdf(self, value: Any) -> float:
        """Return the share of records at or below a value (for bins: below the upper edge of its bin)."""
        return float(self.cumulative[self.attribute.position(value)] / self._total)

    def quantile(self, share: Any) -> Any:
        """Return the smallest value that at least this share of the records does not exceed."""
        return self.attribute.value(self._quantile_position(share))

    def _quantile_position(self, share: Any) -> int:
        position = int(np.searchsorted(self.cumulative, checked_share(share) * self._total - 1e-9))
        return min(position, self.attribute.size - 1)

    def quantiles(self, shares: Sequence[Any]) -> list[Any]:
        """Return several quantiles."""
        return [self.quantile(share) for share in shares]

    @property
    def total(self) -> float:
        """The number of records: exact where it is public, else as estimated, and then at least 1."""
        return float(max(self.cumulative[-1], 1)) if self.release.records is None else self.release.records

    @property
    def _total(self) -> float:
        if not self.total:
            raise RefusalError("there are no records, so there are no shares of them.")
        return self.total

    @property
    def counts(self) -> Floats:
        """The estimated count of each value."""
        return np.diff(self._cuts)

    def error(self) -> BootstrapError:
        return self._bootstrap

    @cached_property
    def _bootstrap(self) -> BootstrapError:
        counts = np.diff(np.rint(self._cuts).astype(np.int64))
        return BootstrapError(self._mechanism, counts, self._mechanism.expected_error(), self._totals)

    def error_by_width(self, widths: Sequence[int] | None = None) -> dict[int, tuple[float, float]]:
        """Return, for ranges of each width, the estimated root mean squared error and the guaranteed one."""
        size = self.attribute.size
        # From one value to all, in steps of about two.
        chosen = [*(2**power for power in range((size - 1).bit_length())), size] if widths is None else list(widths)
        guaranteed = self.error().guaranteed.by_width(chosen).tolist()
        return dict(zip(chosen, zip(self.error().by_width(chosen).tolist(), guaranteed, strict=True), strict=True))

    def error_figure(self) -> Any:
        """Draw the error by range width: estimated, guaranteed, and under plain differential privacy."""
        made, by_width = self.release, self.error_by_width()
        widths = list(by_width)
        curves = {
            "this release, estimated": [estimated for estimated, _ in by_width.values()],
            "this policy, guaranteed": [guaranteed for _, guaranteed in by_width.values()],
        }
        plain: Any = made.plan().plain_error()
        if plain is not None:
            curves["plain differential privacy, guaranteed"] = plain.by_width(widths)
        return draw_error_by_width(f"{self.title()}: how wrong a range is, by its width", curves, widths)

    def plot_error(self, path: str | Path) -> None:
        """Write :meth:`error_figure`: as PNG, SVG or PDF, as the path ends."""
        write_atomically(path, picture(self.error_figure(), ending_of(path)))

    def _remarks(self) -> list[str]:
        return [
            "Tables, pictures, ranges and quantiles never decrease and meet every public total. They are nearer to the "
            "truth than the unbiased estimate (“linear”), and biased."
        ]

    @property
    def header(self) -> list[str]:
        return [self.release.query.attributes[0], "cumulative", "typical_error", "share", "count"]

    def rows(self) -> Iterator[list[Any]]:
        below = self.cumulative
        return Columns(
            Labels.of_all(self.attribute.texts()),
            estimates(below, self.stated_error),
            standard_errors(self.error().by_value()),
            estimates(below / (self.total or 1), self.stated_error / (self.total or 1)),
            estimates(self.counts, self.stated_error),
        )

    def shares(self) -> tuple[Floats, Floats, Floats]:
        """Return the share of records at or below each value, and the ends of its 95 % interval."""
        return self._distribution.shares

    def density(self) -> Density:
        """Return the records at each value, averaged over bins that are as narrow as the noise permits; free."""
        return density(self._domain, self._cuts, self.error().by_width, self.bounds_between)

    def bounds_between(self, first: Integers, last: Integers) -> tuple[Floats, Floats]:
        """Return the ends of the 95 % intervals of ranges between cut points; what is exact has none."""
        if not self.release.certificate.amount:
            exactly = self._cuts[last] - self._cuts[first]
            return exactly, exactly
        return self._intervals.of(np.stack([first, last], axis=1), "0.95")

    @property
    def _domain(self) -> Domain:
        return self.release.query.own_domain(self.release.policy.domain)

    @cached_property
    def _distribution(self) -> DistributionDrawing:
        total = self.total or 1
        return DistributionDrawing(
            self._domain, self.cumulative, total, self.bounds_between, self.density, self.title()
        )

    def drawings(self) -> Sequence[Drawing]:
        return [replace(self._distribution, marks=self.marks())]

    def draw(self, axes: Any) -> None:
        self.drawings()[-1].draw(axes)

    def marks(self) -> Sequence[Mark]:
        """Return what is marked along the distribution, which leaves no room to enlarge its middle."""
        return ()

    def asked(self) -> str:
        return f"distribution of {self.release.query.attributes[0]}"


# Quantiles and ranges: distributions of which some numbers were asked for.


class QuantilesResult(CumulativeResult):
    """A cumulative histogram that shows some quantiles first."""

    kind = "quantiles"

    @property
    def header(self) -> list[str]:
        return ["share", self.release.query.attributes[0], "low_95_in_100", "high_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        shares = cast(Quantiles, self.release.query).shares
        for share, (_, place, first, last) in zip(shares, self.marks(), strict=False):
            yield [show(share), *map(self.attribute.show, (place, first, last))]

    def marks(self) -> Sequence[Mark]:
        _, low, high = self.shares()
        marks: list[Mark] = []
        for wanted in cast(Quantiles, self.release.query).shares if self.total else ():
            # The share at the quantile is known but for its interval: values at which it may be this one.
            places = (int(np.searchsorted(each, float(wanted) - 1e-9)) for each in (high, low))
            first, last = (min(each, self.attribute.size - 1) for each in places)
            place = self._quantile_position(wanted)
            text = f"{show(wanted)}: {self.attribute.show(place)}"
            marks.append(Mark(text, place, min(first, place), max(last, place)))
        return marks

    def intervals_shown(self) -> Sequence[LabelledInterval]:
        shares = cast(Quantiles, self.release.query).shares
        return [
            LabelledInterval(
                _middle(self.attribute.value(place)),
                _end(self.attribute.value(first), 0),
                _end(self.attribute.value(last), 1),
                show(share),
            )
            for share, (_, place, first, last) in zip(shares, self.marks(), strict=False)
            if isinstance(self.attribute, Numeric | Binned)
        ]

    def asked(self) -> str:
        return f"quantiles of {self.release.query.attributes[0]}"


class RangesResult(CumulativeResult):
    """A cumulative histogram that shows some ranges first."""

    kind = "ranges"

    @property
    def header(self) -> list[str]:
        return ["from", "to", "count", "low_95_in_100", "high_95_in_100"]

    def rows(self) -> Iterator[list[Any]]:
        for low, high in cast(Ranges, self.release.query).of:
            below, above = self.interval(low, high)
            shown = estimates(np.array([self.range(low, high), below, above]), (above - below) / 4)
            yield [str(low), str(high), *shown.tolist()]

    def intervals_shown(self) -> Sequence[LabelledInterval]:
        return [
            LabelledInterval(count, below, above, f"{low} to {high}") for low, high, count, below, above in self.rows()
        ]

    def drawings(self) -> Sequence[Drawing]:
        rows = {each.name: [each] for each in self.intervals_shown()}
        quantity = f"records with {self.release.query.attributes[0]} in the range"
        note = "Intervals are estimated: they hold about 95 of 100 ranges of such a width."
        return [IntervalsDrawing(rows, quantity, "Ranges asked for", 0.0, note), self._distribution]

    def _figure(self) -> Any:
        figure, panels = start_figure(10.5, 4.2, columns=2)
        for axes, drawing in zip(panels, self.drawings(), strict=True):
            drawing.draw(axes)
        return figure

    def asked(self) -> str:
        return f"ranges of {self.release.query.attributes[0]}"


def _middle(value: Any) -> float:
    return float((value.low + value.high) / 2) if isinstance(value, Bin) else float(value)


def _end(value: Any, side: int) -> float:
    return float((value.low, value.high)[side]) if isinstance(value, Bin) else float(value)
