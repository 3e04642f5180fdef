"""The files of a release beside each other in a folder, and which of them were made from its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.release import document, reading
from blowfish_privacy.results.groups import GroupsResult
from blowfish_privacy.results.parquet import written_from
from blowfish_privacy.results.pictures.figure import ENDINGS, drawn_from
from blowfish_privacy.results.result import Result

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


def files_of(made: AnyResult, folder: Path) -> list[Path]:
    """Find the document of a release in a folder, byte for byte, and what was made from it; empty if it is not there.

    A file beside it that somebody changed, or made from something else, is none of its files.
    """
    text = made.text.encode()
    found = next((path for path in documents_in(folder) if content_of(path) == text), None)
    if found is None:
        return []
    values = values_file(made)
    if values is not None:
        return [found, *([folder / values] if (folder / values).is_file() else [])]
    stem = found.name.removesuffix(DOCUMENT)
    paths = ((folder / f"{stem}{ending}", kind) for ending, kind in KINDS.items())
    contents = ((path, kind, content_of(path)) for path, kind in paths)
    return [found, *(path for path, kind, content in contents if content is not None and kind.belongs(made, content))]


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
