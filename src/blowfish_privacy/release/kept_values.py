"""Noisy values that are too many for a document: they are kept in a file of their own, which the document names.

The file is a NumPy array of 64-bit whole numbers (``.npy``). The document states its hash, and the file is named after
that. Beside a ledger in a file there is a folder for such files, whose name ends in ``.values``. A file is complete and
durable before its document is recorded, but waits under another name (``.pending``) until it is: the record decides
which of several is handed out, :func:`settle` gives that one its name and removes the others, and a crash in between
is mended when the release is asked for again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.support.files import make_durable, unfinished

MOST_IN_DOCUMENT = 5_000_000
"""Above so many values, a mechanism that draws them in pieces has them kept in a file."""

_TYPE = "<i8"
_CHUNK = 2**22


@dataclass(frozen=True)
class KeptValues:
    """What a document states of values that are kept in a file."""

    sha256: str
    number: int

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"values-{self.sha256[:32]}.npy"

    def to_document(self) -> dict[str, Any]:
        """Write what the document states."""
        return {"file": self.file, "sha256": self.sha256, "number": self.number}

    @classmethod
    def from_document(cls, stated: Any) -> Self:
        """Read what :meth:`to_document` writes; the name of the file follows from the hash."""
        made = cls(str(stated["sha256"]), int(stated["number"]))
        if stated != made.to_document():
            raise SpecError("the document is damaged: what it states of its values has the wrong form.")
        return made

    def read(self, folder: Path | None) -> npt.NDArray[np.int64]:
        """Map the file's values into memory, once it is certain that they are those of the document."""
        hint = f"keep {self.file} in the folder of the document."
        if folder is None:
            raise SpecError("the values are in a file beside the document.", hint="load the release from its file.")
        try:
            if _hash(folder / self.file) != self.sha256:
                raise SpecError(f"{self.file} was changed after it was written: its hash does not match.")
            values = np.asarray(np.load(folder / self.file, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError):
            raise SpecError(f"the file of the values, {self.file}, cannot be read.", hint=hint) from None
        if values.shape != (self.number,) or values.dtype != np.dtype(_TYPE):
            raise SpecError(f"{self.file} does not hold the values that the document states.", hint=hint)
        return values

    def copy(self, source: Path, target: Path) -> None:
        """Copy the file into another folder, completely or not at all."""
        if (target / self.file).exists() and _hash(target / self.file) == self.sha256:
            return
        part = target / f".{self.file}.{token_hex(4)}.part"
        try:
            with unfinished(str(part)):
                shutil.copyfile(source / self.file, part)
                make_durable(part)
                os.replace(part, target / self.file)
            return
        except OSError as error:
            reason = error.strerror
        raise DataError(f"{target / self.file} cannot be written: {reason}.")


Noisy: TypeAlias = npt.NDArray[np.int64] | KeptValues
"""Noisy values, or where they are kept."""


def check_room(folder: Path, number: int) -> None:
    """Refuse values for which the disk has no room."""
    needed, free = 8 * number, shutil.disk_usage(folder.parent).free
    if needed > free:
        raise DataError(
            f"the values need {needed / 1e9:.1f} GB beside the ledger, where {free / 1e9:.1f} GB are free.",
            hint="make room, or keep the ledger on another disk. Nothing was charged.",
        )


def keep(folder: Path, key: str, number: int, pieces: Iterable[npt.NDArray[np.int64]]) -> KeptValues:
    """Write values piece by piece; the file waits until its document is recorded under the key of the release."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        part = folder / f".{token_hex(8)}.part"
        with unfinished(str(part)):
            kept = _write(part, number, pieces)
            os.replace(part, folder / _pending(kept.file, key))
        make_durable(folder)
        return kept
    except OSError as error:
        reason = error.strerror
    raise DataError(f"the values cannot be written beside the ledger: {reason}.", hint="check the disk's free space.")


def settle(folder: Path, key: str, kept: KeptValues) -> None:
    """Give the file of a recorded document its name, and remove those that were not recorded under its key."""
    for path in folder.glob(_pending("*", key)):
        if path.name == _pending(kept.file, key):
            os.replace(path, folder / kept.file)
            make_durable(folder)
        else:
            path.unlink(missing_ok=True)


def _write(path: Path, number: int, pieces: Iterable[npt.NDArray[np.int64]]) -> KeptValues:
    digest, written = hashlib.sha256(), 0
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": _TYPE, "fortran_order": False, "shape": (number,)})
        file.seek(0)
        digest.update(file.read())
        for piece in pieces:
            content = piece.astype(_TYPE, copy=False).tobytes()
            file.write(content)
            digest.update(content)
            written += len(piece)
        file.flush()
        os.fsync(file.fileno())
    if written != number:
        raise DataError("the mechanism drew a different number of values than it stated.")
    return KeptValues(digest.hexdigest(), number)


def _pending(file: str, key: str) -> str:
    return f".{file}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.pending"


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while content := file.read(_CHUNK):
            digest.update(content)
    return digest.hexdigest()
