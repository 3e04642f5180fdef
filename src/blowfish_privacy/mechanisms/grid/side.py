"""One side of a grid of products of hats: its least-squares weights, and what random ranges make of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.ordered.least_squares import Floats
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel


@dataclass(frozen=True)
class SideLevel:
    """The rows of one spacing: what they weigh in a random range, squared, added up and averaged over all ranges."""

    alone: float
    """The weights of the range."""
    both: float
    """The products with the weights of the total, times what a range takes of a correction of the total."""
    total: float
    """The weights of the total."""


@dataclass(frozen=True, eq=False)
class Side:
    """An attribute of some size with hats of some spacings."""

    pull: Floats
    """How much of a correction of the total each position takes: (A'A)^-1 1."""
    pulled: float
    """What a random range takes of it, squared, on average."""
    levels: tuple[SideLevel, ...]

    @classmethod
    def of(cls, size: int, spacings: tuple[int, ...]) -> Side:
        """Compute them once for every size and spacings."""
        return _side(size, spacings)


@lru_cache(maxsize=64)
def _side(size: int, spacings: tuple[int, ...]) -> Side:
    inverse = least_squares(size, spacings)
    pull = (inverse @ inverse.T).sum(axis=1)
    ends = np.cumsum([DifferenceLevel(g, Fraction(1)).rows(size) for g in spacings])[:-1]
    levels: list[SideLevel] = []
    for part in np.split(inverse, ends, axis=1):
        of_total = part.sum(axis=0)
        both = _mean_product(pull[:, None], (part @ of_total)[:, None])
        levels.append(SideLevel(_mean_product(part, part), both, float(of_total @ of_total)))
    return Side(pull, _mean_product(pull[:, None], pull[:, None]), tuple(levels))


def _mean_product(first: Floats, second: Floats) -> float:
    """Multiply what the columns of two tables add up to over a range; average over all ranges, add up the columns."""
    sums = [np.pad(np.cumsum(each, axis=0), ((1, 0), (0, 0))) for each in (first, second)]
    cuts = len(sums[0])
    total = cuts * float((sums[0] * sums[1]).sum()) - float((sums[0].sum(axis=0) * sums[1].sum(axis=0)).sum())
    return total / (cuts * (cuts - 1) / 2)


def whole_hats(size: int, spacing: int) -> npt.NDArray[np.int64]:
    """Return whole-number hats (times the spacing) along an attribute."""
    level = DifferenceLevel(spacing, Fraction(1))
    return np.rint(level.hats(size).toarray() * spacing).astype(np.int64)


def least_squares(size: int, spacings: tuple[int, ...]) -> Floats:
    """Return the matrix that turns rows into the least-squares estimate along an attribute."""
    rows = np.vstack([whole_hats(size, g) / g for g in spacings])
    return np.asarray(np.linalg.solve(rows.T @ rows, rows.T), dtype=np.float64)
