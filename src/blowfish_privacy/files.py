"""Writing files so that they are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from blowfish_privacy.errors import DataError


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a file beside its place, make it durable, and move it there in one step."""
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
    raise DataError(f"{target} cannot be written: {reason}.", hint="nothing was lost: the release is in the ledger.")
