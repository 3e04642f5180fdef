"""What public totals of parts of a grid say of its rectangles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.grid.rectangles import Corners
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.support.arrays import Floats

_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class KnownParts:
    """Where the parts of a partition lie that hold records: the smallest rectangle around each, and their numbers."""

    around: Corners
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, totals: Totals, shape: tuple[int, ...]) -> KnownParts:
        """Find the rectangles around the parts of a grid of this shape."""
        places = np.divmod(np.arange(len(totals.labels)), shape[1])
        around = np.empty((len(totals.counts), 4), dtype=np.int64)
        for axis, place in enumerate(places):
            low, high = np.full(len(around), len(place)), np.zeros(len(around), dtype=np.int64)
            np.minimum.at(low, totals.labels, place)
            np.maximum.at(high, totals.labels, place + 1)
            around[:, 2 * axis], around[:, 2 * axis + 1] = low, high
        held = totals.counts > 0
        return cls(around[held], totals.counts[held])

    def bounds(self, corners: Corners) -> Floats:
        """Return at least and at most how many records rectangles hold: of parts inside them, and of those they touch.

        A part that is no rectangle may count as touched although it is not; the bound holds all the same.
        """
        ends = np.zeros((2, len(corners)))
        top, bottom, left, right = corners.T[:, :, None]
        step = max(1, _AT_ONCE // max(len(corners), 1))
        for start in range(0, len(self.counts), step):
            first, last, west, east = self.around[start : start + step].T
            counts = self.counts[start : start + step].astype(np.float64)
            ends[0] += ((top <= first) & (bottom >= last) & (left <= west) & (right >= east)) @ counts
            ends[1] += ((top < last) & (bottom > first) & (left < east) & (right > west)) @ counts
        return ends


def known_bounds(parts: Iterable[KnownParts], corners: Corners) -> Floats:
    """Return what several partitions say together: the largest of the least numbers, the smallest of the most."""
    each = [part.bounds(corners) for part in parts]
    least = np.max([bounds[0] for bounds in each], axis=0, initial=0.0)
    most = np.min([bounds[1] for bounds in each], axis=0, initial=np.inf)
    return np.stack([np.broadcast_to(least, len(corners)), np.broadcast_to(most, len(corners))])
