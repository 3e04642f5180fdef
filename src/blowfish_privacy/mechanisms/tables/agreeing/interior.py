"""From tables that agree and are almost nowhere negative to tables that agree and are nowhere negative.

For any number of attributes. Alternating projections aim a little inside, at a hundredth of even tables, until little
is below zero. The rest is lifted by mixing in a little of other tables that agree: of records that lie where they are
missing or, if there are public tables to be kept, of even ones; we give up where that would be much. Both steps keep
agreement, exact components, and the cells that exact tables tell to be empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables.agreeing.agreement import Agreement
from blowfish_privacy.mechanisms.tables.agreeing.parts import Part
from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.progress import task

_ROUNDS = 300
_LITTLE, _MOST_MIXED = 1e-4, 0.01
_AIM = 0.01
_RELAXATION = 1.8
"""Going further than the projection halves the rounds; below 2 it still comes nearer every time."""


def moved_inside(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count."""
    even = _even(tables, agreement)
    possible = [table > 0 for table in even]
    nearest = _Nearest(agreement, agreement.exact_sums(tables), possible)
    without_public = not any(agreement.exact)
    with task("Moving tables to zero and above") as report:
        moved = nearest(tables, tolerance=0.0)
        for done in range(_ROUNDS):
            if (_missing(moved, even) if without_public else _share(moved, even)) < _LITTLE:
                break
            aims = nearest([np.maximum(table, _AIM * each) for table, each in zip(moved, even, strict=True)])
            moved = [table + _RELAXATION * (aim - table) for table, aim in zip(moved, aims, strict=True)]
            if report:
                report(done / _ROUNDS)
    moved = nearest(moved, tolerance=0.0)
    added = _made_up(moved, agreement, even) if without_public else even
    share = _share(moved, added)
    if share > _MOST_MIXED:
        raise RefusalError(
            "no tables without negative counts were found that agree and are near.",
            hint="use the unbiased tables, or ask for tables of two attributes at most.",
        )
    mixed = ((1 - share) * table + share * each for table, each in zip(moved, added, strict=True))
    return [np.where(where, np.maximum(table, 0), 0.0) for table, where in zip(mixed, possible, strict=True)]


def _missing(tables: Sequence[Floats], even: Sequence[Floats]) -> float:
    """Return how much is below zero in all tables together, as a share of the records."""
    return -sum(float(table[table < 0].sum()) for table in tables) / max(float(even[0].sum()), 1e-300)


def _share(tables: Sequence[Floats], added: Sequence[Floats]) -> float:
    """Return how much of other tables must be mixed in to lift all counts to zero."""
    most = 0.0
    for table, each in zip(tables, added, strict=True):
        below = np.maximum(-table, 0)
        most = max(most, float(np.divide(below, below + each, out=np.zeros(table.shape), where=each > 0).max()))
    return most


def _made_up(tables: Sequence[Floats], agreement: Agreement, even: Sequence[Floats]) -> Sequence[Floats]:
    """Return agreeing tables of as many records that lie where counts are below zero.

    What is missing in a cell of one table is added there, and evenly over all attributes that the table does not have.
    """
    below = [np.maximum(-table, 0) for table in tables]
    everything = sum(float(table.sum()) for table in below)
    if not everything:
        return even
    added: list[Floats] = []
    for axes, table in zip(agreement.tables, tables, strict=True):
        parts, lifted = {part.component: part for part in agreement.parts(axes)}, np.zeros(table.shape)
        for other, missing in zip(agreement.tables, below, strict=True):
            if missing.any():
                common = _finest((part for part in agreement.parts(other) if part.component in parts), agreement)
                lifted += parts[common.component].lifted(common.sums(missing))
        added.append(lifted * (float(even[0].sum()) / everything))
    return added


def _even(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Spread the exact tables, or the number of records, evenly over everything that is secret."""
    spread: list[Floats] = []
    for axes, table in zip(agreement.tables, tables, strict=True):
        public = [part for part in agreement.parts(axes) if part.component in agreement.exact]
        part = _finest(public or (part for part in agreement.parts(axes) if not part.component), agreement)
        sums = part.sums(table)
        known = np.maximum(np.rint(sums) if public else sums, 0)
        spread.append(np.broadcast_to(part.lifted(known), table.shape))
    return spread


def _finest(parts: Iterable[Part], agreement: Agreement) -> Part:
    """Return the part that contains all others."""
    return max(parts, key=lambda part: sum(len(agreement.nesting.chain(axis)) for axis in part.component))


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
