"""The files of a release: its document, table and picture, written over nothing that is there already."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from glob import escape
from itertools import count
from pathlib import Path

from blowfish_privacy import results
from blowfish_privacy.errors import BlowfishError, SpecError
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
        if self.earlier is None:
            self._check_still_free()
        if values or not os.path.lexists(self.document):
            result.save(self.document)
        if values:
            return
        for ending in self.endings:
            if not os.path.lexists(self.path(ending)):
                KINDS[ending].write(result, self.path(ending))

    @property
    def _taken(self) -> Path | None:
        """A file that is there already."""
        return next((path for path in self.paths if os.path.lexists(path)), None)

    def _check_own(self, name: str, otherwise: str) -> None:
        """Refuse files beside the document that were not made from it."""
        there = self._there
        made: AnyResult | None = results.load(self.document) if there else None
        for ending in there:
            if made is None or not self._own(made, ending):
                raise _refusal(name, self.path(ending), otherwise)

    def _left_alone(self, held: str) -> bool:
        """Say whether a document is gone from its place, and all that is left there was made from it."""
        if os.path.lexists(self.document) or not self._there:
            return False
        try:
            made = results.from_text(held)
        except BlowfishError:
            # Its values have a file of their own, so nothing else was made from it.
            return False
        return all(self._own(made, ending) for ending in self._there)

    @property
    def _there(self) -> list[str]:
        """The endings of the files, beside the document, that are there."""
        return [ending for ending in self.endings if os.path.lexists(self.path(ending))]

    def _own(self, made: AnyResult, ending: str) -> bool:
        """Say whether a file was made from a release; where the values have a file of their own, none was."""
        content = content_of(self.path(ending))
        return content is not None and values_file(made) is None and KINDS[ending].belongs(made, content)

    def _check_still_free(self) -> None:
        taken = self._taken
        if taken is not None:
            hint = f"{IN_THE_LEDGER} Run the command again with --out FOLDER."
            raise SpecError(f"{taken} appeared while the data were read, and is kept.", hint=hint)


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
