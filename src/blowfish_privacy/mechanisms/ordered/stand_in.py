"""A made-up truth whose releases look like one that was made: what an error is simulated on.

An estimate that never decreases is a staircase where noise hides the shape. Taken for the truth it is too sparse:
ordering removes more noise from a staircase than from a slope. So steps are spread over the values beside them as far
as simulated releases of the result are as uneven as the estimate is. Records are then drawn from that density: real
counts are no smoother than chance makes them, and a mechanism that smooths would otherwise seem to be exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator

from blowfish_privacy.support.arrays import Floats

_SPREAD = (0.0, 0.5, 1.0)
"""How far steps are spread in the simulations between which is interpolated."""
_SEED = 20
"""Everybody draws the same stand-in from the same release."""
_DRAWS = 4
_LONG = 50_000
"""From so many values on, one simulated release says enough of how uneven releases are."""


def spread_evenly(cuts: Floats, known: npt.NDArray[np.int64]) -> Floats:
    """Spread every step of a staircase over the values up to the middles of the gaps beside it.

    ``cuts`` are the numbers of records below each cut point; those at the ``known`` ones are kept.
    """
    steps = np.flatnonzero(np.diff(cuts) > 0)
    if len(steps) < 2:
        return cuts
    middles = (steps[1:] + steps[:-1] + 1) / 2
    places = np.concatenate([middles, known])
    heights = np.concatenate([cuts[steps[1:]], cuts[known]])
    order = np.lexsort((heights, places))
    return np.interp(np.arange(len(cuts)), places[order], heights[order])


def stand_in(cuts: Floats, even: Floats, release: Callable[[npt.NDArray[np.int64]], Floats]) -> npt.NDArray[np.int64]:
    """Mix an estimate with its spread version so that ``release`` of the whole counts is as uneven as the estimate.

    ``release`` makes a simulated release of a histogram and returns its estimate at the cut points.
    """
    wanted, draws, dice = _evenness(cuts), range(_DRAWS if len(cuts) < _LONG else 1), Generator(PCG64(_SEED))
    if not wanted:
        return np.zeros(len(cuts) - 1, dtype=np.int64)
    mixed = [(1 - share) * cuts + share * even for share in _SPREAD]
    seen = [np.mean([_evenness(release(_drawn(each, dice))) for _ in draws]) for each in mixed]
    share = float(np.interp(wanted, np.maximum.accumulate(seen), _SPREAD))
    return _drawn((1 - share) * cuts + share * even, dice)


def _evenness(cuts: Floats) -> float:
    """Add up the roots of the counts: of as many records, the more evenly they are spread the larger."""
    return float(np.sqrt(np.maximum(np.diff(cuts), 0)).sum())


def _drawn(cuts: Floats, dice: Generator) -> npt.NDArray[np.int64]:
    """Draw as many records as there are from the density between the cut points."""
    weights = np.maximum(np.diff(cuts), 0.0)
    return dice.multinomial(max(round(cuts[-1]), 1), weights / weights.sum())
