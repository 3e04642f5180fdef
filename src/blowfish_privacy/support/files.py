"""Writing files completely or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import DataError
from blowfish_privacy.support.columns import Columns
from blowfish_privacy.support.temporary import unfinished

_FORMULAS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'")
"""First characters of cells that a spreadsheet may run, and the apostrophe that prevents it."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_ROWS = 50_000
"""Rows of a table that are turned into text at once."""

IN_THE_LEDGER = "nothing was lost: the release is in the ledger."
"""What to say when the file of a release cannot be written."""


def make_folder(path: Path) -> None:
    """Make a folder, if it is not there, into which files can be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    raise DataError(f"nothing can be written into {path}: {reason}.", hint="choose another folder.")


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


def make_durable(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: str | Path, content: bytes | Iterable[bytes], *, hint: str | None = None) -> None:
    """Write a file under a temporary name, make it durable, and rename it in one step. Its mode follows the umask.

    What is large may be given in pieces.
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError("the path of a file to write is not valid.")
    target = Path(path)
    part = str(target.parent / f".{target.name}.{token_hex(4)}.part")
    try:
        with unfinished(part):
            with open(part, "xb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    raise DataError(f"{target} cannot be written: {reason}.", hint=hint)
