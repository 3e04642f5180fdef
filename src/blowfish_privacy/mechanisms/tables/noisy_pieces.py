"""Adding noise to one table after the other, as many at a time as are drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np

from blowfish_privacy.noise import BitSource
from blowfish_privacy.support.arrays import Integers

_PIECE = 2**20
"""So many values are drawn at once."""


def noisy_pieces(
    noise: Callable[..., Integers], scales: Sequence[Fraction], tables: Iterable[Integers], source: BitSource
) -> Iterator[Integers]:
    """Add noise to tables, and hand them over end to end in pieces; a scale of 0 stands for none.

    Neighbours of one scale are drawn at once: a new scale takes milliseconds to prepare.
    """
    for scale, neighbours in groupby(zip(scales, tables, strict=True), key=lambda table: table[0]):
        for piece in _joined(table for _, table in neighbours):
            if scale:
                piece += noise(scale, len(piece), source=source)
            yield piece


def _joined(tables: Iterable[Integers]) -> Iterator[Integers]:
    held: list[Integers] = []
    size = 0
    for table in tables:
        held.append(table.reshape(-1))
        size += table.size
        if size >= _PIECE:
            yield np.concatenate(held)
            held, size = [], 0
    if held:
        yield np.concatenate(held)
