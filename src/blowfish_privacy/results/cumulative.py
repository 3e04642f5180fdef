"""A noisy cumulative histogram: every range, quantile and share from one release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Binned
from blowfish_privacy.errors import QueryError, RefusalError
from blowfish_privacy.mechanisms import OrderedFamily
from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.ordered.range_intervals import RangeIntervals
from blowfish_privacy.mechanisms.ordered.typical import BootstrapError
from blowfish_privacy.queries import Quantiles, Ranges
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results.pictures.counts import label_values
from blowfish_privacy.results.pictures.errors import draw_error_by_width
from blowfish_privacy.results.pictures.figure import png
from blowfish_privacy.results.result import Result
from blowfish_privacy.support.columns import Columns, Labels, rounded_column
from blowfish_privacy.support.exact import Number, exact, show
from blowfish_privacy.support.files import write_atomically


class CumulativeResult(Result):
    """The estimated number of records at or below each value.

    Answers come from the ordered estimate, which never decreases and ends at the total where that is public;
    :attr:`linear` is the unbiased one before that step. Where the number of records is secret, shares are of the
    estimated one.
    """

    kind = "cumulative"

    @classmethod
    def reads(cls, release: Release) -> bool:
        """Mechanisms for ordered data estimate the whole cumulative histogram."""
        return isinstance(release.mechanism, OrderedFamily)

    @property
    def _mechanism(self) -> OrderedFamily:
        mechanism = self.release.mechanism
        if not isinstance(mechanism, OrderedFamily):
            raise RefusalError(f"{mechanism.name} releases are not estimated as a whole.")
        return mechanism

    @property
    def attribute(self) -> Attribute:
        """The attribute along which records are counted."""
        return self.release.policy.domain[self.release.query.attributes[0]]

    @cached_property
    def linear(self) -> npt.NDArray[np.float64]:
        """The unbiased estimate, which may decrease here and there; it meets every public total."""
        return self._of_selected(self._mechanism.meeting(self._measured, self._totals))

    @cached_property
    def _measured(self) -> npt.NDArray[np.float64]:
        return self._mechanism.estimate(self.release.noisy, self.release.records)

    @cached_property
    def _totals(self) -> Correction | None:
        """Public totals that the mechanism's own estimate does not meet."""
        constraints = self.release.constraints
        missed = None if constraints is None else self._mechanism.with_ends(constraints, self._measured)
        return None if missed is None else Correction(missed, self._mechanism.spread)

    @cached_property
    def cumulative(self) -> npt.NDArray[np.float64]:
        """The number of records at or below each value; never decreases, from 0 to the total."""
        estimate = self._mechanism.ordered_estimate(self.release.noisy, self.release.records, self._totals)
        return self._of_selected(estimate)

    def _of_selected(self, estimate: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Leave out values that a condition does not select; where the total is public, it says so already."""
        chosen = self.release.population.box.get(self.release.query.attributes[0])
        if chosen is None or self.release.records is not None:
            return estimate
        counts = np.diff(estimate, prepend=0.0)
        return np.cumsum(np.where([position in chosen for position in range(self.attribute.size)], counts, 0.0))

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The estimated number of records at or below each value, in the order of the values."""
        return self.cumulative

    @cached_property
    def _cuts(self) -> npt.NDArray[np.float64]:
        return np.concatenate([[0.0], self.cumulative])

    def range(self, low: Any, high: Any) -> float:
        """Count the records from one value to another, both included (for bins: from one edge to another)."""
        chosen = self.attribute.subset((low, high))
        return float(self._cuts[chosen.last + 1] - self._cuts[chosen.first])

    def ranges(self, lows: npt.ArrayLike, highs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Count the records of many ranges at once."""
        first, last = self._between(lows, highs)
        return self._cuts[last] - self._cuts[first]

    def interval(self, low: Any, high: Any, level: Number = "0.95") -> tuple[float, float]:
        """Return bounds for the number of records from one value to another, around what :meth:`range` says.

        They are learned by releasing an estimate like this one many times, for the width and the place of the range;
        of ranges of about this width, the share ``level`` is to lie within theirs. That is estimated, not guaranteed.
        """
        chosen = self.attribute.subset((low, high))
        lower, upper = self._intervals.of(np.array([chosen.first]), np.array([chosen.last + 1]), level)
        return float(lower[0]), float(upper[0])

    def intervals(
        self, lows: npt.ArrayLike, highs: npt.ArrayLike, level: Number = "0.95"
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return bounds for many ranges at once: all lower ones, and all upper ones."""
        first, last = self._between(lows, highs)
        lower, upper = self._intervals.of(first.reshape(-1), last.reshape(-1), level)
        return lower.reshape(first.shape), upper.reshape(first.shape)

    @cached_property
    def _intervals(self) -> RangeIntervals:
        return RangeIntervals(self._mechanism, self._cuts, self.release.records, self._totals, self._of_selected)

    def _between(
        self, lows: npt.ArrayLike, highs: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Turn the ends of ranges into the cut points before and after them."""
        first, last = self._places(lows), self._places(highs)
        whole = 0 if isinstance(self.attribute, Binned) else 1
        if first.shape != last.shape or (first > last - 1 + whole).any():
            raise QueryError("ranges need as many upper as lower ends, none below its lower one.")
        return first, last + whole

    def _places(self, ends: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Turn values into positions, or edges of bins into cut points."""
        try:
            given = np.asarray(ends)
        except ValueError:
            given = np.array([None])
        if given.size == 0:
            return np.zeros(given.shape, dtype=np.int64)
        binned = isinstance(self.attribute, Binned)
        if given.dtype.kind not in ("iuf" if binned else "iu"):
            raise QueryError("the ends of ranges must be numbers; whole ones, unless the attribute has bins.")
        edges = [float(edge) for edge in self.attribute.bounds] if isinstance(self.attribute, Binned) else None
        known = np.array(edges or [self.attribute.value(0), self.attribute.value(self.attribute.size - 1)])
        if (given < known[0]).any() or (given > known[-1]).any():
            raise QueryError("a range ends outside the declared values.")
        if edges is None:
            return given.astype(np.int64) - int(known[0])
        positions = np.searchsorted(known, given)
        if (known[positions] != given).any():
            raise QueryError("ranges of bins go from edge to edge.")
        return positions.astype(np.int64)

    def cdf(self, value: Any) -> float:
        """Return the share of records at or below a value (for bins: below the upper edge of its bin)."""
        return float(self.cumulative[self.attribute.position(value)] / self._total)

    def quantile(self, share: Any) -> Any:
        """Return the smallest value that at least this share of the records does not exceed."""
        wanted = exact(share, "a quantile", error=QueryError)
        if not 0 <= wanted <= 1:
            raise QueryError(f"a quantile lies between 0 and 1, got {share!r}.", hint="0.5 is the median.")
        position = int(np.searchsorted(self.cumulative, float(wanted) * self._total - 1e-9))
        return self.attribute.value(min(position, self.attribute.size - 1))

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

    def counts(self) -> npt.NDArray[np.float64]:
        """Return the estimated count of each value."""
        return np.diff(self._cuts)

    def error(self) -> BootstrapError:
        """Estimate the error by releasing this release's own estimate again; ``.guaranteed`` holds for any data."""
        return self._bootstrap

    @cached_property
    def _bootstrap(self) -> BootstrapError:
        return BootstrapError(self._mechanism, np.diff(np.rint(self._cuts).astype(np.int64)), self._totals)

    def error_by_width(self, widths: Sequence[int] | None = None) -> dict[int, tuple[float, float]]:
        """Return, for ranges of each width, the estimated root mean squared error and the guaranteed one."""
        chosen = default_widths(self.attribute.size) if widths is None else list(widths)
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
        """Write :meth:`error_figure` as PNG."""
        write_atomically(path, png(self.error_figure()))

    def remarks(self) -> list[str]:
        """Say that the ordered estimate is biased."""
        if not self.release.certificate.amount:
            return []
        return [
            "Tables, pictures, ranges and quantiles never decrease and meet every public total. They are nearer to the "
            "truth than the unbiased estimate (“linear”), and biased."
        ]

    @property
    def header(self) -> list[str]:
        """The value, how many records do not exceed it, how wrong that is, their share, and the value's own count."""
        return [self.release.query.attributes[0], "cumulative", "typical_error", "share", "count"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each value."""
        below = self.cumulative
        return Columns(
            Labels.of_all(self.attribute.texts()),
            rounded_column(below, 3),
            self.error().by_value(),
            rounded_column(below / (self.total or 1), 6),
            rounded_column(self.counts(), 3),
        )

    def draw(self, axes: Any) -> None:
        """Draw the distribution with a band of twice the typical error at each value."""
        total, positions = self.total or 1, np.arange(self.attribute.size)
        share, band = self.cumulative / total, 2 * self.error().by_value() / total
        axes.fill_between(positions, np.clip(share - band, 0, 1), np.clip(share + band, 0, 1), alpha=0.25, step="post")
        axes.step(positions, share, where="post")
        label_values(axes.xaxis, self.release.query.own_domain(self.release.policy.domain))
        axes.set_ylabel("share of records at or below\n(band: twice the typical error)")
        # Where most records share the lowest value the rest would otherwise be a flat line.
        axes.set_ylim(-0.02 if share[0] < 0.5 else share[0] - 0.05 * (1 - share[0]) - band[0], 1.01)


class QuantilesResult(CumulativeResult):
    """A cumulative histogram that shows some quantiles first."""

    kind = "quantiles"

    @property
    def header(self) -> list[str]:
        """The share and the value."""
        return ["share", self.release.query.attributes[0]]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each share asked for; without records there are no quantiles, and no rows."""
        for share in cast(Quantiles, self.release.query).shares if self.total else ():
            yield [show(share), str(self.quantile(share))]


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
            bounds = (round(end, 3) for end in self.interval(low, high))
            yield [str(low), str(high), round(self.range(low, high), 3), *bounds]


def default_widths(size: int) -> list[int]:
    """Return widths from one value to all, in steps of about two."""
    widths = {size}
    width = 1
    while width < size:
        widths.add(width)
        width *= 2
    return sorted(widths)
