"""How far known counts determine the counts of the classes: the rank of the facts.

Phi is the 0/1 matrix of known counts by classes, with a row of ones on top for the public number of records. Its
*nullity* is the number of classes minus its rank; at nullity 0 every class's count follows from the known counts. A
count that covers a single class settles that class, which can then be removed from all others: peeling. What remains
is eliminated modulo a prime. The rank found there is never larger than the true one, so a nullity of 0 is certain; for
nullity 1 a kernel vector is reconstructed in whole numbers and checked exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd, isqrt, lcm
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_array


PRIME = 2_147_483_629
"""Below 2^31, so that products fit 63 bits."""
_MOST_WORK = 3_000_000_000


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which known count (row) counts which class (column); the row of ones is implied."""

    rows: int
    columns: int
    members: tuple[Integers, ...]
    """The classes that each row counts."""

    @classmethod
    def of(cls, rows: int, columns: int, pairs: Sequence[tuple[Integers, Integers]]) -> Incidence:
        """Build it from pairs of row and column, which may contain duplicates."""
        if not pairs:
            return cls(rows, columns, ())
        keys = np.unique(np.concatenate([row * columns + column for row, column in pairs]))
        split = np.searchsorted(keys // columns, np.arange(1, rows))
        return cls(rows, columns, tuple(np.split(keys % columns, split)))

    def without(self, dead: npt.NDArray[np.bool_]) -> Incidence:
        """Remove classes that must be empty, and renumber the others."""
        number = np.cumsum(~dead) - 1
        return Incidence(self.rows, int((~dead).sum()), tuple(number[m[~dead[m]]] for m in self.members))

    @cached_property
    def matrix(self) -> csr_array:
        """The rows as a sparse matrix, with the row of ones first."""
        from scipy.sparse import csr_array

        everybody = np.arange(self.columns)
        indices = np.concatenate([everybody, *self.members])
        lengths = np.cumsum([0, self.columns, *map(len, self.members)])
        return csr_array((np.ones(len(indices), dtype=np.int64), indices, lengths), shape=(self.rows + 1, self.columns))

    @cached_property
    def settled(self) -> npt.NDArray[np.bool_]:
        """Which classes peeling settles: every kernel vector is zero there."""
        matrix = self.matrix
        done = np.zeros(self.columns, dtype=bool)
        while not done.all():
            left = matrix @ (~done).astype(np.int64)
            single = matrix[left == 1]
            if not single.shape[0]:
                break
            hit = np.asarray(single.sum(axis=0)).reshape(-1) > 0
            fresh = hit & ~done
            if not fresh.any():
                break
            done |= fresh
        return done

    @cached_property
    def core(self) -> Integers:
        """What peeling leaves: the distinct rows, restricted to the classes that are not settled."""
        rest = self.matrix[:, np.flatnonzero(~self.settled)]
        dense = rest.toarray() if rest.shape[0] * rest.shape[1] <= 50_000_000 else np.zeros((0, rest.shape[1]))
        return np.unique(dense.astype(np.int64), axis=0)

    @cached_property
    def core_size(self) -> tuple[int, int]:
        """The number of rows, before duplicates are removed, and of columns of the core."""
        return self.rows + 1, int((~self.settled).sum())

    @cached_property
    def _reduced(self) -> tuple[Integers, list[int]] | None:
        rows, columns = self.core.shape
        if not columns:
            return np.zeros((0, 0), dtype=np.int64), []
        if not rows or rows * min(rows, columns) * columns > _MOST_WORK:
            return None
        return reduced(self.core)

    @property
    def nullity(self) -> int | None:
        """The nullity: never too small, and exact if 0 or 1; None if there are too many facts to compute it."""
        echelon = self._reduced
        if echelon is None:
            return None
        columns = self.core_size[1]
        left = columns - len(echelon[1])
        return left if left != 1 or self.kernel is not None else None

    @cached_property
    def kernel(self) -> Integers | None:
        """The primitive kernel vector over all classes if the nullity is 1, unique up to sign; None otherwise."""
        echelon = self._reduced
        columns = self.core_size[1]
        if echelon is None or columns - len(echelon[1]) != 1:
            return None
        table, pivots = echelon
        (free,) = set(range(columns)) - set(pivots)
        residues = np.zeros(columns, dtype=np.int64)
        residues[free] = 1
        for row, pivot in enumerate(pivots):
            residues[pivot] = -table[row, free] % PRIME
        fractions = [_fraction(int(residue)) for residue in residues]
        if any(each is None for each in fractions):
            return None
        exact = [each for each in fractions if each is not None]
        scale = lcm(*(low for _, low in exact))
        whole = [high * (scale // low) for high, low in exact]
        common = gcd(*whole)
        vector = np.zeros(self.columns, dtype=np.int64)
        vector[~self.settled] = [number // common for number in whole]
        return vector if not (self.matrix @ vector).any() else None


def reduced(matrix: Integers) -> tuple[Integers, list[int]]:
    """Return the reduced row echelon form modulo the prime and its pivot columns."""
    table = matrix % PRIME
    pivots: list[int] = []
    for column in range(table.shape[1]):
        row = len(pivots)
        if row == table.shape[0]:
            break
        candidates = np.flatnonzero(table[row:, column])
        if not len(candidates):
            continue
        other = row + int(candidates[0])
        if other != row:
            table[[row, other]] = table[[other, row]]
        table[row] = table[row] * pow(int(table[row, column]), -1, PRIME) % PRIME
        touched = np.flatnonzero(table[:, column])
        touched = touched[touched != row]
        table[touched] = (table[touched] - table[touched, column][:, None] * table[row]) % PRIME
        pivots.append(column)
    return table, pivots


def _fraction(residue: int) -> tuple[int, int] | None:
    """Find a fraction with a small numerator and denominator that has this residue modulo the prime."""
    bound = isqrt(PRIME // 2)
    before, remainder, low_before, low = PRIME, residue, 0, 1
    while remainder > bound:
        quotient = before // remainder
        before, remainder, low_before, low = remainder, before - quotient * remainder, low, low_before - quotient * low
    if not low or abs(low) > bound:
        return None
    return (remainder, low) if low > 0 else (-remainder, -low)
