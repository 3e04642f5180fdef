"""Tables as CSV, safe to open in a spreadsheet, large ones some rows at a time."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.support.arrays import Columns

_FORMULAS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_ROWS = 50_000
"""Rows of a table that are turned into text at once."""


def csv_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Write a table as CSV. A text that a spreadsheet could take for a formula gets an apostrophe in front.

    So does a text that begins with an apostrophe: whoever takes one apostrophe off the front of every cell that has one
    gets every text back.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(map(_harmless, header))
    if isinstance(rows, Columns) and len(rows.columns) > 1:
        return b"".join([buffer.getvalue().encode(), *_bulk(rows)])
    writer.writerows([_harmless(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return buffer.getvalue().encode()


def _bulk(table: Columns) -> Iterator[bytes]:
    """Write the rows of a table, some at a time: the same bytes as row by row, several times as fast."""
    # An empty text is quoted only where it is alone in its row.
    columns = table.texts(lambda text: text and _cell(text))
    lines = map(",".join, zip(*columns, strict=True))
    while part := list(islice(lines, _ROWS)):
        yield ("\r\n".join(part) + "\r\n").encode()


def csv_pieces(
    header: Sequence[str], shown: Sequence[Sequence[Any]], positions: npt.NDArray[np.integer[Any]]
) -> Iterator[bytes]:
    """Write a table as CSV, some rows at a time: what each column may show, and which of it each row shows."""
    yield csv_table(header, ())
    texts = [np.array([_cell(cell) for cell in cells], dtype=object) for cells in shown]
    for start in range(0, len(positions), _ROWS):
        part = positions[start : start + _ROWS]
        columns = [cells[part[:, at]].tolist() for at, cells in enumerate(texts)]
        yield "".join(f"{','.join(row)}\r\n" for row in zip(*columns, strict=True)).encode()


def _cell(cell: Any) -> str:
    """Write one cell of a table as it stands in a CSV file."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow([_harmless(cell) if isinstance(cell, str) else cell])
    return buffer.getvalue().removesuffix("\r\n")


def _harmless(text: str) -> str:
    return f"'{text}" if text[:1] in _FORMULAS and not _NUMBER.fullmatch(text) else text
