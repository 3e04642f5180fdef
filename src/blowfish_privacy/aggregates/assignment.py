"""Public centres among which records are divided, in whole-number arithmetic on positions.

Each record goes to its nearest centre or, softly, is shared between all of them. Shares halve with every further
``halving`` of distance, and are linear in between: g(D) = 2^-m (1 - r / (2 halving)) for D = m halving + r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blowfish_privacy.errors import QueryError
from blowfish_privacy.support.arrays import Integers

_LARGEST = 2**62
_CHUNK = 2**15


@dataclass(frozen=True)
class Decay:
    """How the shares of a record decay with the distance of the centres, and how fine they are."""

    halving: int
    """The distance over which the share of a centre halves."""
    bits: int
    """A record has 2^bits shares."""

    def __post_init__(self) -> None:
        if any(type(each) is not int or each < 1 for each in (self.halving, self.bits)):
            raise QueryError("soft assignment needs a positive distance and number of bits.")

    @property
    def unit(self) -> int:
        """The number of shares of a record."""
        return 2**self.bits

    def fits(self, centres: int, records: int, reach: int) -> bool:
        """Say whether all arithmetic stays inside 64 bits."""
        largest = 2 * self.halving * self.unit
        return max(largest * self.unit, largest * centres, 2 * records * self.unit * reach) < _LARGEST


@dataclass(frozen=True)
class Assignment:
    """Centres among which records are divided, by distances in weighted positions."""

    centres: tuple[tuple[int, ...], ...]
    """Positions along every axis."""
    weights: tuple[int, ...]
    """The weight of a step along each axis; of its square, where each record goes to its nearest centre."""
    reaches: tuple[int, ...]
    """How far from its centre an offset counts in full, along each axis."""
    decay: Decay | None = None
    """How records are shared; None where each goes to its nearest centre."""

    def __post_init__(self) -> None:
        if not self.centres or any(len(centre) != len(self.weights) for centre in self.centres):
            raise QueryError("a centre needs a position along every axis.")
        if len(self.reaches) != len(self.weights) or min(*self.weights, *self.reaches) < 1:
            raise QueryError("an axis needs a positive weight and reach.")

    @property
    def unit(self) -> int:
        """The number of shares of a record."""
        return 1 if self.decay is None else self.decay.unit

    def sums(self, positions: Sequence[Integers], counts: Integers | None = None) -> Integers:
        """Return for each centre the number of its records and the sums of their clipped offsets, one row each.

        Both are in shares of a record where the assignment is soft.
        """
        many = len(positions[0])
        counts = np.ones(many, dtype=np.int64) if counts is None else counts
        sums = np.zeros((len(self.centres), 1 + len(self.weights)), dtype=np.int64)
        if self.decay is not None:
            for start in range(0, many, _CHUNK):
                part = slice(start, start + _CHUNK)
                self._share([column[part] for column in positions], counts[part], self.decay, sums)
            return sums
        best, label = np.full(many, np.iinfo(np.int64).max), np.zeros(many, dtype=np.int64)
        for number, centre in enumerate(self.centres):
            far = np.zeros(many, dtype=np.int64)
            for column, at, weight in zip(positions, centre, self.weights, strict=True):
                far += weight * (column - at) ** 2
            nearer = far < best
            best[nearer], label[nearer] = far[nearer], number
        np.add.at(sums[:, 0], label, counts)
        centres = np.array(self.centres, dtype=np.int64)
        for axis, (column, reach) in enumerate(zip(positions, self.reaches, strict=True)):
            offsets = np.clip(column - centres[label, axis], -reach, reach)
            np.add.at(sums[:, 1 + axis], label, offsets * counts)
        return sums

    def _share(self, positions: Sequence[Integers], counts: Integers, decay: Decay, sums: Integers) -> None:
        """Add what some records give each centre; the last one gets what rounding leaves over."""
        far = np.zeros((len(self.centres), len(counts)), dtype=np.int64)
        for axis, (column, weight) in enumerate(zip(positions, self.weights, strict=True)):
            for number, centre in enumerate(self.centres):
                far[number] += weight * np.abs(column - centre[axis])
        halvings, rest = np.divmod(far - far.min(axis=0) // decay.halving * decay.halving, decay.halving)
        near = halvings <= decay.bits
        parts = np.where(near, (2 * decay.halving - rest) << (decay.bits - np.where(near, halvings, 0)), 0)
        shares = decay.unit * parts // parts.sum(axis=0)
        shares[-1] = decay.unit - shares[:-1].sum(axis=0)
        shares *= counts
        sums[:, 0] += shares.sum(axis=1)
        for axis, (column, reach) in enumerate(zip(positions, self.reaches, strict=True)):
            for number, centre in enumerate(self.centres):
                sums[number, 1 + axis] += shares[number] @ np.clip(column - centre[axis], -reach, reach)
