"""Matrices with few entries: arrays while they are small, SciPy's sparse arrays beyond.

Both kinds take ``@``, ``*`` by a row or a column, slices and ``.T``. Small ones are as fast as arrays, and need no
SciPy: importing it takes longer than planning most releases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
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
        from functools import partial

        from scipy.linalg import cho_factor, cho_solve

        return partial(cho_solve, cho_factor(system))
    half = np.linalg.inv(np.linalg.cholesky(system))
    return lambda right: half.T @ (half @ right)
