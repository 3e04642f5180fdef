"""The files of a release beside each other in a folder, and which of them were made from its document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.release import document, reading
from blowfish_privacy.results.groups import GroupsResult
from blowfish_privacy.results.pictures.figure import ENDINGS, drawn_from
from blowfish_privacy.results.result import Result, written_from

AnyResult: TypeAlias = Result | GroupsResult

DOCUMENT = "release.json"
PARQUET = "parquet"


@dataclass(frozen=True)
class FileKind:
    """A kind of file that is made from a release."""

    write: Callable[[AnyResult, Path], Any]
    belongs: Callable[[AnyResult, bytes], bool]
    """Says whether the content of a file was made from a release."""


KINDS = {
    "csv": FileKind(lambda made, path: made.to_csv(path), lambda made, content: content == made.csv()),
    **dict.fromkeys(
        ENDINGS, FileKind(lambda made, path: made.plot(path), lambda made, content: drawn_from(made.text, content))
    ),
    PARQUET: FileKind(lambda made, path: made.to_parquet(path), lambda made, content: written_from(made.text, content)),
}
"""By their ending."""


def values_file(made: AnyResult) -> str | None:
    """Return the name of the file that holds the values, where they are too many for the document."""
    kept = made.kept if isinstance(made, Result) else None
    return None if kept is None else kept.file


def documents_in(folder: Path) -> Iterator[Path]:
    """Go through the files of a folder that are called like release documents."""
    try:
        yield from sorted(path for path in folder.glob(f"*.{DOCUMENT}") if not path.name.startswith("."))
    except OSError:
        return


@dataclass(frozen=True)
class FilesBeside:
    """What a folder holds under the name of a release whose document is there; nothing if it is not."""

    own: tuple[Path, ...] = ()
    """The document, byte for byte, and what was made from it."""
    foreign: tuple[Path, ...] = ()
    """What somebody changed, or made from something else."""


def files_beside(made: AnyResult, folder: Path, may_be_called: Callable[[str], bool] = lambda _: True) -> FilesBeside:
    """Find the document of a release in a folder, and the files beside it; some names may be those of others."""
    text = made.text.encode()
    documents = [path for path in documents_in(folder) if may_be_called(stem_of(path)) and content_of(path) == text]
    if not documents:
        return FilesBeside()
    # Of several copies, that under the name of the release.
    document = min(documents, key=lambda path: stem_of(path) != made.name)
    values = values_file(made)
    if values is not None:
        return FilesBeside((document, *([folder / values] if (folder / values).is_file() else [])))
    own, foreign = [document], list[Path]()
    for ending, kind in KINDS.items():
        path = folder / f"{stem_of(document)}.{ending}"
        if os.path.lexists(path):
            content = content_of(path)
            (own if content is not None and kind.belongs(made, content) else foreign).append(path)
    return FilesBeside(tuple(own), tuple(foreign))


def stem_of(document: Path) -> str:
    """Return what a document and the files beside it are called, without their endings."""
    return document.name.removesuffix(f".{DOCUMENT}")


def is_release(path: Path) -> bool:
    """Say whether a file is a release document, as it was written."""
    content = content_of(path)
    try:
        body = None if content is None else reading.parse(content.decode())
        return body is not None and body.get("sha256") == document.seal(body)
    except (BlowfishError, ValueError):
        return False


def content_of(path: Path) -> bytes | None:
    """Read a file; what is no file, or a link to one, is not ours."""
    try:
        return None if path.is_symlink() or not path.is_file() else path.read_bytes()
    except OSError:
        return None
