"""Records without impossible combinations: those that have one are drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture_records import Parts, given_columns, likely_components
from blowfish_privacy.mechanisms.synthetic.model import Integers, Zeros

ROUNDS = 60


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
    columns; where there is none, even these columns may exclude each other, it stays.
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
    return _copied(drawn, impossible_records(drawn, zeros), given, generator)


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
