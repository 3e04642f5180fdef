"""The typical error of an ordered estimate: simulated, since the isotonic step depends on the data.

Before a release the data are public synthetic shapes of the same number of records; after it, the released estimate
itself stands in for the truth (a parametric bootstrap). Neither touches private data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.constraints import Correction
from blowfish_privacy.mechanisms.error import in_short
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily
from blowfish_privacy.mechanisms.ordered.range_error import RangeError
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import Number

_DRAWS = 8
_MOST_WORK = 4_000_000
_DRAWS_BY_VALUE = 40
_TYPICAL_DRAWS = 8
"""For how many draws the typical error of all values counts in that of one value."""


def shapes(size: int, records: int) -> dict[str, npt.NDArray[np.int64]]:
    """Make public histograms of ``records`` records: even, falling off, a peak, and most at one value."""
    x = np.arange(size)
    densities = {
        "even": np.ones(size),
        "falling off": 1 / (1 + x),
        "a peak": np.exp(-0.5 * ((x - size / 3) / (size / 12 + 1)) ** 2),
        "most at one value": np.where(x == 0, 0.9, 0.1 / max(size - 1, 1)),
    }
    made: dict[str, npt.NDArray[np.int64]] = {}
    for name, density in densities.items():
        ends = np.rint(np.cumsum(density) / density.sum() * records).astype(np.int64)
        made[name] = np.diff(ends, prepend=0)
    return made


def typical_errors(mechanism: OrderedFamily, records: int) -> dict[str, float]:
    """Return the root mean squared error of a random range on each public shape, after the isotonic step."""
    return {
        name: sqrt(float(np.mean([over_all_ranges(e) for e in simulated(mechanism, counts, 2)])))
        for name, counts in shapes(mechanism.size, records).items()
    }


def simulated(
    mechanism: OrderedFamily, counts: npt.NDArray[np.int64], draws: int, totals: Correction | None = None
) -> list[Floats]:
    """Release a public histogram several times and return the errors at all cut points."""
    truth, records = np.cumsum(counts), int(counts.sum())
    stated = None if totals is None else totals.constraints.of_table(counts)
    errors: list[Floats] = []
    source = SimulationSource("ordered data")
    for _ in range(draws):
        estimate = mechanism.ordered_estimate(mechanism.measure(counts, source), records, totals, stated)
        errors.append(np.append(0.0, estimate - truth))
    return errors


def over_all_ranges(error: Floats) -> float:
    """Return the mean squared error over all ranges between cut points."""
    cuts = len(error)
    return float((cuts * error @ error - error.sum() ** 2) / (cuts * (cuts - 1) / 2))


@dataclass(frozen=True, eq=False)
class BootstrapError:
    """The estimated error of a finished release, and the error that is guaranteed."""

    mechanism: OrderedFamily
    counts: npt.NDArray[np.int64]
    """The released estimate, in whole records."""
    totals: Correction | None = None
    """Public totals that the estimate meets beside those of the mechanism."""
    of: str = "a random range"
    distribution: str = "that of the estimate, simulated on itself"
    unit: Fraction = Fraction(1)

    def __repr__(self) -> str:
        return in_short(self)

    @property
    def guaranteed(self) -> RangeError:
        """The error before the isotonic step, which holds whatever the data."""
        return self.mechanism.expected_error()

    @cached_property
    def _errors(self) -> list[Floats]:
        draws = max(2, min(_DRAWS, _MOST_WORK // self.mechanism.size))
        return simulated(self.mechanism, self.counts, draws, self.totals)

    @property
    def mse(self) -> float:
        """The estimated mean squared error of a random range."""
        return float(np.mean([over_all_ranges(error) for error in self._errors]))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error: the typical size of the error."""
        return sqrt(self.mse)

    @property
    def precision(self) -> float:
        """The relative standard error of the estimate itself."""
        values = [over_all_ranges(error) for error in self._errors]
        return float(np.std(values) / max(np.mean(values), 1e-12) / sqrt(len(values) - 1))

    def interval(self, level: Number = "0.95") -> float:
        """Return the interval of the guaranteed error, which holds whatever the data."""
        return self.guaranteed.interval(level)

    def by_width(self, widths: Sequence[int]) -> Floats:
        """Return the estimated root mean squared error of ranges of each width."""
        return np.sqrt([np.mean([np.mean((e[w:] - e[: len(e) - w]) ** 2) for e in self._errors]) for w in widths])

    def by_value(self) -> Floats:
        """Return the estimated root mean squared error of the number of records at or below each value.

        That is 0 where the number is public. Few draws tell little of one value, so what is typical of all is mixed in.
        """
        noisy = np.ones(self.mechanism.size, dtype=bool)
        noisy[[end - 1 for end in self.mechanism.public_ends()]] = False
        if self.totals is not None:
            noisy &= ~self.totals.constraints.known_ends()
        draws = max(2, min(_DRAWS_BY_VALUE, _MOST_WORK // self.mechanism.size))
        errors = simulated(self.mechanism, self.counts, draws, self.totals)
        squares = np.mean([error[1:] ** 2 for error in errors], axis=0)
        typical = float(squares[noisy].mean()) if noisy.any() else 0.0
        mixed = (draws * squares + _TYPICAL_DRAWS * typical) / (draws + _TYPICAL_DRAWS)
        return np.where(noisy, np.sqrt(mixed), 0.0)
