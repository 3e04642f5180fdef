"""Writing files so that they are whole or not there."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from blowfish_privacy.errors import DataError
from blowfish_privacy.temporary import unfinished

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


def write_csv(
    path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, hint: str | None = None
) -> None:
    """Write a table as CSV."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(header)
    writer.writerows(rows)
    write_atomically(path, buffer.getvalue().encode(), hint=hint)


def write_atomically(path: str | Path, content: bytes, *, hint: str | None = None) -> None:
    """Write a file beside its place, make it durable, and move it there in one step. Its mode follows the umask."""
    if not isinstance(path, str | os.PathLike):
        raise DataError("the path of a file to write is not valid.")
    target = Path(path)
    part = str(target.parent / f".{target.name}.{token_hex(4)}.part")
    try:
        with unfinished(part):
            with open(part, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    raise DataError(f"{target} cannot be written: {reason}.", hint=hint)
