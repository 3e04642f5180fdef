"""Records as columns of values: what a position is shown as."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.results.parquet import Column, typed
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.files import csv_pieces


def shown_values(domain: Domain) -> list[Column]:
    """Return for each attribute what a record shows at each position: a value as the data have it.

    Of a bin, which stands for all numbers in it, that is the middle.
    """
    return [typed([each.example(position) for position in range(each.size)]) for each in domain.attributes]


def columns_of_records(domain: Domain, positions: Integers) -> dict[str, Column]:
    """Turn positions, one row for each record, into a column of values for each attribute."""
    shown = shown_values(domain)
    return {
        name: values[positions[:, axis]] for axis, (name, values) in enumerate(zip(domain.names, shown, strict=True))
    }


def rows_of_records(domain: Domain, positions: Integers) -> Iterator[list[Any]]:
    """Go through records row by row."""
    shown = [values.tolist() for values in shown_values(domain)]
    for record in positions:
        yield [values[position] for values, position in zip(shown, record.tolist(), strict=True)]


def csv_of_records(domain: Domain, positions: Integers) -> Iterator[bytes]:
    """Write records as CSV, some rows at a time."""
    shown: list[Sequence[Any]] = [values.tolist() for values in shown_values(domain)]
    return csv_pieces(domain.names, shown, positions)


def counted(positions: Integers, axes: Sequence[int], shape: Sequence[int]) -> Integers:
    """Count the records of every cell of the table of some attributes."""
    sizes = [shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(positions[:, axis] for axis in axes), tuple(sizes))
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.int64)
