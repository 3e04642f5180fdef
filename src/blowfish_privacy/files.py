"""Writing files so that they are whole or not there."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from blowfish_privacy.errors import DataError

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
    """Write a file beside its place, make it durable, and move it there in one step."""
    if not isinstance(path, str | os.PathLike):
        raise DataError("the path of a file to write is not valid.")
    target = Path(path)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    if temporary is not None:
        Path(temporary).unlink(missing_ok=True)
    raise DataError(f"{target} cannot be written: {reason}.", hint=hint)
