"""The files of a release: its document, table and picture, written over nothing that is there already."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from glob import escape
from itertools import count
from pathlib import Path

from blowfish_privacy import results
from blowfish_privacy.errors import SpecError
from blowfish_privacy.results.files import DOCUMENT, KINDS, AnyResult, content_of, is_release, values_file
from blowfish_privacy.support.files import IN_THE_LEDGER

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
    """The document that is there already, which is that of the release."""
    kept: Path | None = None
    """The document of another release of the same name, which is kept."""

    @classmethod
    def checked(
        cls, folder: Path, name: str, held: str | None, *, reserved: Collection[str] = (), extra: Collection[str] = ()
    ) -> ReleaseFiles:
        """Find a place for a release before anything is spent; refuse a name that other files have.

        ``held`` is the document, if the ledger holds one: where it is written already, what lies beside it must have
        been made from it. Another release under the name, with another epsilon or query, say, or fresh noise, is kept,
        and this one becomes ``name-2``. ``reserved`` are the names of all releases of the file.
        """
        endings = (*ALWAYS, *extra)
        if held is not None:
            for stem in _written(folder, name):
                files = cls(folder, stem, endings, held)
                if content_of(files.document) == held.encode():
                    files._check_own(name)
                    return files
        first = cls(folder, name, endings)
        if first._taken is None:
            return first
        if not is_release(first.document):
            raise _refusal(name, first._taken)
        taken = {each.casefold() for each in reserved}
        stems = (f"{name}-{number}" for number in count(2))
        places = (cls(folder, stem, endings, kept=first.document) for stem in stems if stem.casefold() not in taken)
        return next(files for files in places if files._taken is None)

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
        if self.earlier is None:
            self._check_still_free()
        if self.earlier is None or values:
            result.save(self.document)
        if values:
            return
        for ending in self.endings:
            if not self.path(ending).exists():
                KINDS[ending].write(result, self.path(ending))

    @property
    def _taken(self) -> Path | None:
        """A file that is there already."""
        return next((path for path in self.paths if os.path.lexists(path)), None)

    def _check_own(self, name: str) -> None:
        """Refuse files beside the document that were not made from it."""
        there = [ending for ending in self.endings if os.path.lexists(self.path(ending))]
        made: AnyResult | None = results.load(self.document) if there else None
        for ending in there:
            content = content_of(self.path(ending))
            own = made is not None and content is not None and KINDS[ending].belongs(made, content)
            if not own or (made is not None and values_file(made)):
                raise _refusal(name, self.path(ending))

    def _check_still_free(self) -> None:
        taken = self._taken
        if taken is not None:
            hint = f"{IN_THE_LEDGER} Run the command again with --out FOLDER."
            raise SpecError(f"{taken} appeared while the data were read, and is kept.", hint=hint)


def _written(folder: Path, name: str) -> Iterator[str]:
    """Go through the names under which a release may have been written."""
    yield name
    for path in sorted(folder.glob(f"{escape(name)}-*.{DOCUMENT}")):
        stem = path.name.removesuffix(f".{DOCUMENT}")
        if stem[len(name) + 1 :].isdecimal():
            yield stem


def _refusal(name: str, path: Path) -> SpecError:
    return SpecError(
        f"the release {name!r} would write over {path}, which is not its own earlier output. Nothing was spent.",
        hint="move that file away, rename the release, or use --out FOLDER.",
    )
