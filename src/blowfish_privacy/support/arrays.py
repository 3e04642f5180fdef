"""Matrices with few entries: arrays while they are small, SciPy's sparse arrays beyond.

Both kinds take ``@``, ``*`` by a row or a column, slices and ``.T``. Small ones are as fast as arrays, and need no
SciPy: importing it takes longer than planning most releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray

from blowfish_privacy.errors import SpecError

SMALL = 1 << 17
"""The largest number of places of a matrix that is held as an array."""
FEW = 128
"""The largest number of equations that are solved without SciPy."""
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = Any
"""An array of floats or a ``csr_array``, whose declared types do not know each other."""
Entries: TypeAlias = tuple[Integers, Integers, Floats]
"""Rows, columns and values."""


def is_small(shape: tuple[int, ...]) -> bool:
    """Say whether a matrix of some shape is held as an array."""
    height, width = shape
    return height * width <= SMALL


def matrix(values: ArrayLike, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Matrix:
    """Return the matrix with these entries; those at the same place are added up."""
    if is_small(shape):
        places = rows * shape[1] + columns
        return np.bincount(places, np.asarray(values), shape[0] * shape[1]).reshape(shape)
    # Here and below, SciPy is imported where arrays end.
    from scipy.sparse import csr_array

    return csr_array((values, (rows, columns)), shape=shape)


def compact(given: Matrix) -> Matrix:
    """Hold an array that is not small as a sparse one."""
    if not isinstance(given, np.ndarray) or is_small(given.shape):
        return given
    from scipy.sparse import csr_array

    return csr_array(given)


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Put matrices of the same number of columns below each other."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.vstack(parts)
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([csr_array(part) for part in parts]))


def blocks(parts: Sequence[Matrix]) -> Matrix:
    """Put matrices along the diagonal of one, with zeros beside them."""
    starts = np.cumsum([[0, 0], *(part.shape for part in parts)], axis=0)
    listed = [entries(part) for part in parts]
    rows, columns, values = (np.concatenate(each) for each in zip(*listed, strict=True))
    shifts = np.repeat(starts[:-1], [len(each) for _, _, each in listed], axis=0)
    height, width = starts[-1].tolist()
    return matrix(values, rows + shifts[:, 0], columns + shifts[:, 1], (height, width))


def diagonal(main: Floats, beside: float = 0.0) -> Matrix:
    """Return the matrix with these numbers on its diagonal, and one number beside it, above and below."""
    places = np.arange(len(main))
    before, after = places[:-1], places[1:]
    values = np.concatenate([main, np.full(2 * len(before), beside)])
    rows, columns = np.concatenate([places, before, after]), np.concatenate([places, after, before])
    return matrix(values, rows, columns, (len(main), len(main)))


def turned(given: Matrix) -> Matrix:
    """Exchange rows and columns, ready for products."""
    return np.ascontiguousarray(given.T) if isinstance(given, np.ndarray) else given.T.tocsr()


def dense(given: Any) -> Floats:
    """Return all places of a matrix, or of a row of its largest or smallest entries."""
    return given if isinstance(given, np.ndarray) else given.toarray()


def entries(given: Matrix) -> Entries:
    """List the entries that are not zero, row by row."""
    if isinstance(given, np.ndarray):
        rows, columns = np.nonzero(given)
        return rows, columns, given[rows, columns]
    held: Any = given.copy()
    held.sum_duplicates()
    held.eliminate_zeros()
    held = held.tocoo()
    return held.row.astype(np.int64), held.col.astype(np.int64), held.data


def at(given: Matrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    """Read places of a matrix."""
    return dense(given[rows, columns]).reshape(-1)


def times(given: Matrix, columns: Floats) -> Floats:
    """Multiply a matrix by columns, each to the same bits alone and among others."""
    return column_by_column(given.__matmul__, columns) if isinstance(given, np.ndarray) else given @ columns


def column_by_column(work: Callable[[Floats], Floats], columns: Floats) -> Floats:
    """Do the same with each column, or with the only one: products of arrays may round differently together."""
    if columns.ndim == 1:
        return work(columns)
    return np.stack([work(column) for column in np.ascontiguousarray(columns.T)], axis=1)


def solver(system: Floats) -> Callable[[Floats], Floats]:
    """Return what solves the equations of a positive definite matrix, for one right side or columns of them."""
    try:
        return _solver(system)
    except np.linalg.LinAlgError:
        pass
    raise SpecError("the scales of the noise are too far apart for an estimate.", hint="the document may be damaged.")


def _solver(system: Floats) -> Callable[[Floats], Floats]:
    if len(system) > FEW:
        from scipy.linalg import cho_factor, cho_solve

        return partial(cho_solve, cho_factor(system))
    half = np.linalg.inv(np.linalg.cholesky(system))
    return lambda right: half.T @ (half @ right)


# A table held by columns: gone through row by row, or written as text in bulk.

_LARGEST = 2.0**46
"""Above this, in units of the last digit kept, multiplying is too coarse to tell which way a number is rounded."""

_MOST_DECIMALS = 15
_EXACT = 10
"""The significant digits of numbers without error that are not whole, such as means."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of texts: the different ones, and which of them each row shows."""

    texts: Sequence[str]
    positions: Integers

    @classmethod
    def of_all(cls, texts: Sequence[str]) -> Labels:
        """Show each text once, in order."""
        return cls(texts, np.arange(len(texts)))


Column = Labels | npt.NDArray[Any]


class Columns(Iterator[list[Any]]):
    """The rows of a table whose columns are known as wholes."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns

    @cached_property
    def _rows(self) -> Iterator[tuple[Any, ...]]:
        return zip(*map(_cells, self.columns), strict=True)

    def __next__(self) -> list[Any]:
        return list(next(self._rows))

    def texts(self, write: Callable[[str], str]) -> Iterator[list[str]]:
        """Write every column as text, with ``write`` for cells that are texts; equal neighbours are written once."""
        for each in self.columns:
            if isinstance(each, Labels):
                # What is all letters and digits needs no care, and is most of it.
                plain = all(map(str.isalnum, each.texts))
                written = np.array(each.texts if plain else [write(text) for text in each.texts], dtype=object)
                yield written[each.positions].tolist()
            else:
                yield _in_runs(each)


def _cells(column: Column) -> list[Any]:
    return [column.texts[at] for at in column.positions.tolist()] if isinstance(column, Labels) else column.tolist()


def _in_runs(numbers: npt.NDArray[Any]) -> list[str]:
    # The sign of a zero is written, and zeros of either sign are equal.
    signed = np.signbit(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), dtype=np.bool_)
    changes = (numbers[1:] != numbers[:-1]) | (signed[1:] != signed[:-1])
    starts = np.flatnonzero(np.append(True, changes)) if len(numbers) else np.zeros(0, dtype=np.int64)
    written = np.array([*map(repr, numbers[starts].tolist())], dtype=object)
    return np.repeat(written, np.diff(starts, append=len(numbers))).tolist()


def rounded_column(numbers: Floats, digits: int) -> Floats:
    """Round as ``round`` does, to the nearest decimal of the exact value, but a whole column at once."""
    scaled = numbers * 10.0**digits
    made = np.rint(scaled) / 10.0**digits
    # Near the middle between two decimals the product's own rounding may decide; few numbers are that near.
    near = np.abs(scaled - np.floor(scaled) - 0.5) <= np.maximum(np.abs(scaled), 1) * 2.0**-48
    doubtful = np.flatnonzero(near | ~(np.abs(scaled) < _LARGEST))
    made[doubtful] = [round(number, digits) for number in numbers[doubtful].tolist()]
    return made


def estimates(numbers: npt.NDArray[Any], errors: npt.ArrayLike) -> npt.NDArray[Any]:
    """Round estimates to a hundredth of their smallest error or a little finer, beyond which digits tell nothing.

    Digits before the point are kept, since an error may be stated for more than one of them: whole numbers stay as they
    are. What has no error keeps ten significant digits, or six decimals if these are more. Sums of what is rounded
    agree up to that rounding.
    """
    if numbers.dtype.kind != "f":
        return numbers
    least = _least(errors)
    if least < np.inf:
        return rounded_column(numbers, min(max(2 - floor(log10(least)), 0), _MOST_DECIMALS))
    largest = float(np.max(np.abs(numbers), where=np.isfinite(numbers), initial=0))
    digits = _EXACT - 1 - floor(log10(largest)) if largest else 0
    return rounded_column(numbers, min(max(digits, 6), _MOST_DECIMALS))


def single_estimates(numbers: npt.NDArray[Any], errors: npt.ArrayLike) -> npt.NDArray[Any]:
    """Round like :func:`estimates`, but before the point too: each of them has the error that is given for it."""
    least = _least(errors)
    digits = 0 if least == np.inf else 2 - floor(log10(least))
    if digits >= 0:
        return estimates(numbers, errors)
    rounded = np.array([round(number, digits) for number in numbers.tolist()], dtype=numbers.dtype)
    return np.where(np.asarray(errors) > 0, rounded, numbers)


def _least(errors: npt.ArrayLike) -> float:
    """Return the smallest error of those that have one; infinite if none has."""
    given = np.asarray(errors, dtype=np.float64)
    return float(np.min(given, where=given > 0, initial=np.inf))


def standard_errors(errors: npt.ArrayLike) -> Floats:
    """Round errors to four significant digits."""
    given = np.asarray(errors, dtype=np.float64)
    shown = np.abs(given[given != 0])
    finer = 10.0 ** np.maximum(3 - np.floor(np.log10(shown)), 0)
    coarser = 10.0 ** np.maximum(np.floor(np.log10(shown)) - 3, 0)
    made = given.copy()
    # A power of ten that is whole is exact, so that the quotient is the double nearest to the decimal.
    made[given != 0] = np.rint(shown * finer / coarser) * coarser / finer
    return made
