"""From tables that agree and are almost nowhere negative to tables that agree and are nowhere negative.

For any number of attributes. Alternating projections aim a little inside, at a hundredth of even tables, and so end
after finitely many rounds; if they take too long, as much of the even tables is mixed in as is needed, or we give up
where that would be much. Both ways keep agreement, exact components, and the cells that exact tables tell to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables.agreement import Agreement, contained
from blowfish_privacy.mechanisms.tables.components import Axes, Floats, subsets
from blowfish_privacy.support.progress import task

_ROUNDS = 300
_MOST_MIXED = 0.01
_NOTHING = 1e-12
_AIM = 0.01
_RELAXATION = 1.8
"""Going further than the projection halves the rounds; below 2 it still comes nearer every time."""


def moved_inside(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count."""
    even = _even(tables, agreement)
    possible = [table > 0 for table in even]
    nearest = _Nearest(agreement, agreement.exact_sums(tables), possible)
    with task("Moving tables to zero and above") as report:
        moved = nearest(tables, tolerance=0.0)
        for done in range(_ROUNDS):
            if max(_share(table, each) for table, each in zip(moved, even, strict=True)) < _NOTHING:
                break
            aims = nearest([np.maximum(table, _AIM * each) for table, each in zip(moved, even, strict=True)])
            moved = [table + _RELAXATION * (aim - table) for table, aim in zip(moved, aims, strict=True)]
            if report:
                report(done / _ROUNDS)
    moved = nearest(moved, tolerance=0.0)
    share = max(_share(table, each) for table, each in zip(moved, even, strict=True))
    if share > _MOST_MIXED:
        raise RefusalError(
            "no tables without negative counts were found that agree and are near.",
            hint="public tables leave too little room; use the unbiased ones, or ask for tables of two attributes.",
        )
    mixed = ((1 - share) * table + share * each for table, each in zip(moved, even, strict=True))
    return [np.where(where, np.maximum(table, 0), 0.0) for table, where in zip(mixed, possible, strict=True)]


def _share(table: Floats, even: Floats) -> float:
    """Return how much of an even table it takes to lift all counts to zero."""
    below = np.maximum(-table, 0)
    return float(np.divide(below, below + even, out=np.zeros(table.shape), where=even > 0).max())


def _even(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Spread the exact tables, or the number of records, evenly over everything that is secret."""
    sums = contained(tables, agreement.tables)
    spread: list[Floats] = []
    for axes in agreement.tables:
        public = max((part for part in subsets(axes) if part in agreement.exact), key=len, default=())
        known = np.maximum(np.rint(sums[public]) if public in agreement.exact else sums[public], 0)
        shape = [agreement.sizes[axis] if axis in public else 1 for axis in axes]
        secret = prod(agreement.sizes[axis] for axis in axes if axis not in public)
        spread.append(np.broadcast_to(known.reshape(shape) / secret, [agreement.sizes[axis] for axis in axes]))
    return spread


class _Nearest:
    """The projection on tables that agree, have the exact sums, and are zero where nobody can be.

    The zeros are met by conjugate gradients on what is taken from the impossible cells, which start from what was taken
    the last time.
    """

    def __init__(
        self, agreement: Agreement, exact: dict[Axes, Floats], possible: Sequence[npt.NDArray[np.bool_]]
    ) -> None:
        self._agreement, self._exact = agreement, exact
        self._nothing = {component: np.zeros(sums.shape) for component, sums in exact.items()}
        self._impossible = [~where for where in possible]
        self._taken = np.zeros(sum(int(where.sum()) for where in self._impossible))

    def __call__(self, tables: Sequence[Floats], tolerance: float = 1e-2) -> list[Floats]:
        agreed = self._agreement.nearest(tables, self._exact)
        if not len(self._taken):
            return agreed
        wanted = self._gathered(agreed)
        left = wanted - self._gathered(self._response(self._taken))
        direction, size = left.copy(), float(left @ left)
        # In vain to ask for more than floats can tell of the tables as they are.
        scale = max(sqrt(each) * float(np.abs(table).max()) for each, table in self._weighed(tables))
        enough = max(tolerance**2 * float(wanted @ wanted), (1e-14 * scale) ** 2)
        for _ in range(100):
            if size <= enough:
                break
            response = self._gathered(self._response(direction))
            step = size / float(direction @ response)
            self._taken, left = self._taken + step * direction, left - step * response
            size, before = float(left @ left), size
            direction = left + size / before * direction
        taken = self._response(self._taken)
        return [table - each for table, each in zip(agreed, taken, strict=True)]

    def _gathered(self, tables: Sequence[Floats]) -> Floats:
        cells = zip(self._weighed(tables), self._impossible, strict=True)
        return np.concatenate([sqrt(precision) * table[where] for (precision, table), where in cells])

    def _weighed(self, tables: Sequence[Floats]) -> Iterator[tuple[float, Floats]]:
        return zip(self._agreement.precisions, tables, strict=True)

    def _response(self, taken: Floats) -> list[Floats]:
        """Return what it changes in tables that agree to take amounts, by precision, from the impossible cells."""
        changes, start = [np.zeros(where.shape) for where in self._impossible], 0
        for change, where, precision in zip(changes, self._impossible, self._agreement.precisions, strict=True):
            stop = start + int(where.sum())
            change[where] = taken[start:stop] / sqrt(precision)
            start = stop
        return self._agreement.nearest(changes, self._nothing)
