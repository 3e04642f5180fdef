"""The files of a release: its document, table and pictures, beside each other in a folder, written over nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from glob import escape
from itertools import count
from pathlib import Path
from typing import TypeAlias

from blowfish_privacy import results
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.release import document, reading
from blowfish_privacy.results.groups import GroupsResult
from blowfish_privacy.results.pictures.figure import ENDINGS, drawn_from
from blowfish_privacy.results.result import Result, written_from
from blowfish_privacy.support.files import IN_THE_LEDGER

AnyResult: TypeAlias = Result | GroupsResult

DOCUMENT = "release.json"
BESIDE = ("csv", *ENDINGS, "parquet")
"""What may be made from a release and lie beside its document, by the ending of the file."""


def belongs(made: AnyResult, path: Path) -> bool:
    """Say whether a file was made from a release; where the values have a file of their own, none was."""
    content = content_of(path)
    if content is None or values_file(made) is not None:
        return False
    match path.suffix:
        case ".csv":
            return content == made.csv()
        case ".parquet":
            return written_from(made.text, content)
        case _:
            return drawn_from(made.text, content)


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
    for path in (folder / f"{stem_of(document)}.{ending}" for ending in BESIDE):
        if os.path.lexists(path):
            (own if belongs(made, path) else foreign).append(path)
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


ALWAYS = ("csv", "png")
"""The files that every release has beside its document, unless its values have a file of their own."""
EXTRA = ("parquet", "svg", "pdf")
"""What is written too if it is asked for."""


@dataclass(frozen=True)
class ReleaseFiles:
    """Where the files of a release go: under its name, or under the next number where another release has that."""

    folder: Path
    stem: str
    endings: tuple[str, ...] = ALWAYS
    earlier: str | None = None
    """The document, where it or files made from it are there already."""
    kept: Path | None = None
    """The document of another release that has the name, which is kept."""

    @classmethod
    def checked(
        cls,
        folder: Path,
        name: str,
        held: str | None,
        *,
        reserved: Collection[str] = (),
        extra: Collection[str] = (),
        otherwise: str = "move that file away, rename the release, or use --out FOLDER.",
    ) -> ReleaseFiles:
        """Find a place for a release before anything is spent; refuse a name that other files have.

        ``held`` is the document, if the ledger holds one: where it is written already, what lies beside it must have
        been made from it; where it is not but what was made from it is, it belongs there. Another release under the
        name, with another epsilon or query, say, or fresh noise, is kept, and this one becomes ``name-2``. ``reserved``
        are the names of all releases of the file, ``otherwise`` is what to do if a name cannot be had.
        """
        endings = (*ALWAYS, *extra)
        if held is not None:
            places = [cls(folder, stem, endings, held) for stem in _written(folder, name)]
            for files in places:
                if content_of(files.document) == held.encode():
                    files._check_own(name, otherwise)
                    return files
            for files in places:
                if files._left_alone(held):
                    return files
        first = cls(folder, name, endings)
        if first._taken is None:
            return first
        if not is_release(first.document):
            raise _refusal(name, first._taken, otherwise)
        taken = {each.casefold() for each in reserved}
        stems = (f"{name}-{number}" for number in count(2))
        others = (cls(folder, stem, endings, kept=first.document) for stem in stems if stem.casefold() not in taken)
        return next(files for files in others if files._taken is None)

    @property
    def document(self) -> Path:
        """The path of the document."""
        return self.path(DOCUMENT)

    @property
    def paths(self) -> list[Path]:
        """The document, the table and the picture, and what else is wanted."""
        return [self.document, *map(self.path, self.endings)]

    def path(self, ending: str) -> Path:
        """Return the path of one file."""
        return self.folder / f"{self.stem}.{ending}"

    def holding(self, result: AnyResult) -> list[Path]:
        """The files that are written of a result: where the values have a file of their own, no table or picture."""
        values = values_file(result)
        return [self.document, self.folder / values] if values else self.paths

    def write(self, result: AnyResult) -> None:
        """Write what is not there yet, the document first: whatever an interruption leaves can be completed."""
        values = values_file(result)
        if self.earlier is None and (taken := self._taken) is not None:
            hint = f"{IN_THE_LEDGER} Run the command again with --out FOLDER."
            raise SpecError(f"{taken} appeared while the data were read, and is kept.", hint=hint)
        if values or not os.path.lexists(self.document):
            result.save(self.document)
        if values:
            return
        writers = {"csv": result.to_csv, "parquet": result.to_parquet}
        for ending in self.endings:
            if not os.path.lexists(self.path(ending)):
                writers.get(ending, result.plot)(self.path(ending))

    @property
    def _taken(self) -> Path | None:
        """A file that is there already."""
        return next((path for path in self.paths if os.path.lexists(path)), None)

    def _check_own(self, name: str, otherwise: str) -> None:
        """Refuse files beside the document that were not made from it."""
        there = self._there
        made: AnyResult | None = results.load(self.document) if there else None
        for path in there:
            if made is None or not belongs(made, path):
                raise _refusal(name, path, otherwise)

    def _left_alone(self, held: str) -> bool:
        """Say whether a document is gone from its place, and all that is left there was made from it."""
        if os.path.lexists(self.document) or not self._there:
            return False
        try:
            made = results.from_text(held)
        except BlowfishError:
            # Its values have a file of their own, so nothing else was made from it.
            return False
        return all(belongs(made, path) for path in self._there)

    @property
    def _there(self) -> list[Path]:
        """The files, beside the document, that are there."""
        return [path for path in map(self.path, self.endings) if os.path.lexists(path)]


def _written(folder: Path, name: str) -> list[str]:
    """List the names under which a release may have been written."""
    endings = (f".{ending}" for ending in (DOCUMENT, *ALWAYS, *EXTRA))
    found = (path.name.removesuffix(ending) for ending in endings for path in folder.glob(f"{escape(name)}-*{ending}"))
    numbers = (stem[len(name) + 1 :] for stem in found)
    return [name, *(f"{name}-{number}" for number in sorted({each for each in numbers if each.isdecimal()}))]


def _refusal(name: str, path: Path, otherwise: str) -> SpecError:
    return SpecError(
        f"the release {name!r} would write over {path}, which is not its own earlier output. Nothing was spent.",
        hint=otherwise,
    )
