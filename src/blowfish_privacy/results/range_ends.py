"""The ends of many ranges at once, as positions of an ordered attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Binned, Spaced
from blowfish_privacy.errors import DomainError, QueryError


def range_starts(attribute: Attribute, starts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Turn the first values of ranges into positions, or edges of bins into cut points."""
    if isinstance(attribute, Spaced):
        return _placed(attribute, starts, attribute.range_starts, attribute.range_start)
    return _placed(attribute, starts, _one_by_one, attribute.position)


def range_ends(attribute: Attribute, ends: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Turn the last values of ranges into positions, or edges of bins into cut points."""
    if isinstance(attribute, Spaced):
        return _placed(attribute, ends, attribute.range_ends, attribute.range_end)
    return _placed(attribute, ends, _one_by_one, attribute.position)


def _one_by_one(_values: npt.NDArray[Any]) -> None:
    """Leave an array to a look-up of each value."""


def _placed(
    attribute: Attribute,
    ends: npt.ArrayLike,
    at_once: Callable[[npt.NDArray[Any]], npt.NDArray[np.int64] | None],
    position: Callable[[object], int],
) -> npt.NDArray[np.int64]:
    try:
        given = np.asarray(ends)
    except ValueError:
        given = np.array([None])
    if given.size == 0:
        return np.zeros(given.shape, dtype=np.int64)
    if isinstance(attribute, Binned):
        return _edges_at(attribute, given)
    placed = at_once(given)
    return _values_at(position, given) if placed is None else placed


def _edges_at(attribute: Binned, given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if given.dtype.kind not in "iuf":
        raise QueryError("the ends of ranges of bins must be numbers.")
    edges = np.array([float(edge) for edge in attribute.bounds])
    if (given < edges[0]).any() or (given > edges[-1]).any():
        raise QueryError("a range ends outside the declared values.")
    positions = np.searchsorted(edges, given)
    if (edges[positions] != given).any():
        raise QueryError("ranges of bins go from edge to edge.")
    return positions.astype(np.int64)


def _values_at(position: Callable[[object], int], given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Look up every value, each only once where they can be sorted."""
    # Python has no dates as fine as numpy's, and would be given plain numbers.
    listed = (given.astype("datetime64[D]") if given.dtype.kind == "M" else given).reshape(-1)
    known, inverse = (listed, ...) if given.dtype.kind == "O" else np.unique(listed, return_inverse=True)
    try:
        places = [position(end) for end in known.tolist()]
    except DomainError as error:
        raise QueryError(error.message, hint=error.hint) from None
    return np.array(places, dtype=np.int64)[inverse].reshape(given.shape)
