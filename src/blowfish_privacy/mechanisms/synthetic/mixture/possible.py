"""Records without impossible combinations: those that have one are drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture.mixture_records import Parts, given_columns, likely_components
from blowfish_privacy.mechanisms.synthetic.model import Zeros
from blowfish_privacy.support.arrays import Integers

ROUNDS = 60
_MOST_CHANGES = 100


def impossible_records(records: Integers, zeros: Sequence[Zeros]) -> NDArray[np.bool_]:
    """Say which records have an impossible combination."""
    found = np.zeros(len(records), dtype=bool)
    for each in zeros:
        found |= each.impossible[tuple(records[:, axis] for axis in each.axes)]
    return found


def only_possible(
    drawn: Integers, zeros: Sequence[Zeros], parts: Parts, generator: np.random.Generator, kept: Integers | None
) -> Integers:
    """Draw records with impossible combinations again from the mixture, which is to draw from what is possible of it.

    What is still impossible after many rounds takes the values of a possible record, one that is alike in the given
    columns; where there is none, single values are changed. Where the given columns exclude each other, it stays.
    """
    given = given_columns(kept)
    for _ in range(ROUNDS):
        wrong = np.flatnonzero(impossible_records(drawn, zeros))
        if not len(wrong):
            return drawn
        if kept is not None and given:
            components = likely_components(parts, kept[wrong], given, generator)
        else:
            components = generator.choice(len(parts.weights), len(wrong), p=parts.weights)
        for axis in range(len(parts.shape)):
            if axis not in given:
                drawn[wrong, axis] = parts.value(axis, components, generator)
    copied = _copied(drawn, impossible_records(drawn, zeros), given, generator)
    for place in np.flatnonzero(impossible_records(copied, zeros)):
        copied[place] = mended(copied[place], parts.shape, zeros, given, generator)
    return copied


def _copied(drawn: Integers, wrong: NDArray[np.bool_], given: list[int], generator: np.random.Generator) -> Integers:
    """Replace impossible records by possible ones that are alike in the given columns."""
    keys = np.unique(drawn[:, given], axis=0, return_inverse=True)[1].ravel() if given else np.zeros(len(drawn), int)
    right = np.flatnonzero(~wrong)
    right = right[np.argsort(keys[right], kind="stable")]
    for place in np.flatnonzero(wrong):
        first, last = np.searchsorted(keys[right], [keys[place], keys[place] + 1])
        if first < last:
            drawn[place] = drawn[right[generator.integers(first, last)]]
    return drawn


def mended(
    record: Integers, shape: Sequence[int], zeros: Sequence[Zeros], given: Sequence[int], generator: np.random.Generator
) -> Integers:
    """Change one value after the other that is not given, each to one with fewest impossible combinations."""
    for _ in range(_MOST_CHANGES):
        wrong = [each for each in zeros if each.impossible[tuple(record[axis] for axis in each.axes)]]
        free = sorted({axis for each in wrong for axis in each.axes if axis not in given})
        if not free:
            return record
        tried = [_changed(record, axis, shape[axis]) for axis in free]
        counts = [sum(each.impossible[tuple(some[:, axis] for axis in each.axes)] for each in zeros) for some in tried]
        least = min(int(np.min(count)) for count in counts)
        best = np.concatenate([some[count == least] for some, count in zip(tried, counts, strict=True)])
        record = best[generator.integers(len(best))]
    return record


def _changed(record: Integers, axis: int, size: int) -> Integers:
    """List the record with every value along an axis."""
    listed = np.repeat(record[None, :], size, axis=0)
    listed[:, axis] = np.arange(size)
    return listed
