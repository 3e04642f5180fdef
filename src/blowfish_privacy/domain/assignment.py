"""Public centres to which every record is assigned: the nearest, in whole-number arithmetic on positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Assignment:
    """Centres in positions, the weight of a squared step along each axis, and how far an offset counts."""

    centres: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    reaches: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.centres or any(len(centre) != len(self.weights) for centre in self.centres):
            raise QueryError("centres need a place along every axis.")
        if len(self.reaches) != len(self.weights) or min(*self.weights, *self.reaches) < 1:
            raise QueryError("an axis needs a positive weight and reach.")

    def sums(self, positions: Sequence[Integers], counts: Integers | None = None) -> Integers:
        """Return for each centre the number of its records and the sums of their clipped offsets, one row each."""
        many = len(positions[0])
        counts = np.ones(many, dtype=np.int64) if counts is None else counts
        best, label = np.full(many, np.iinfo(np.int64).max), np.zeros(many, dtype=np.int64)
        for number, centre in enumerate(self.centres):
            far = np.zeros(many, dtype=np.int64)
            for column, at, weight in zip(positions, centre, self.weights, strict=True):
                far += weight * (column - at) ** 2
            nearer = far < best
            best[nearer], label[nearer] = far[nearer], number
        found = np.zeros((len(self.centres), 1 + len(self.weights)), dtype=np.int64)
        np.add.at(found[:, 0], label, counts)
        places = np.array(self.centres, dtype=np.int64)
        for axis, (column, reach) in enumerate(zip(positions, self.reaches, strict=True)):
            offsets = np.clip(column - places[label, axis], -reach, reach)
            np.add.at(found[:, 1 + axis], label, offsets * counts)
        return found
