"""The files of a release, written over nothing but what an earlier run of the same release wrote."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from blowfish_privacy import results
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.asked import asked_to_file, split
from blowfish_privacy.release.spec import PlannedRelease
from blowfish_privacy.results.parquet import written_from
from blowfish_privacy.results.pictures.figure import drawn_from
from blowfish_privacy.support.files import IN_THE_LEDGER

AnyResult: TypeAlias = results.Result | results.GroupsResult

PARQUET = "parquet"


@dataclass(frozen=True)
class ReleaseFiles:
    """Where a release's document, table and picture go, and the document that an earlier run left there."""

    document: Path
    table: Path
    picture: Path
    earlier: str | None = None
    parquet: Path | None = None
    """Where the table goes as Parquet, if that is wanted."""

    @classmethod
    def checked(
        cls, folder: Path, planned: PlannedRelease, policy: Policy, extra: Collection[str] = ()
    ) -> ReleaseFiles:
        """Name the files in a folder; refuse to write over files that this release did not write.

        A document is the release's own if it is whole and has its name, query and policy; a table if it is what the
        document there gives; a picture or a table in Parquet if it says that it was made from that document.
        ``extra`` may have ``parquet``.
        """
        document, table, picture = (folder / f"{planned.name}.{ending}" for ending in ("release.json", "csv", "png"))
        parquet = folder / f"{planned.name}.parquet" if PARQUET in extra else None
        made = _release(document, planned, policy)
        if made is None:
            files = cls(document, table, picture, None, parquet)
            for path in files.paths:
                if os.path.lexists(path):
                    raise _refusal(planned.name, path)
            return files
        if os.path.lexists(table) and (_values(made, folder) or _content(table) != made.csv()):
            raise _refusal(planned.name, table)
        if os.path.lexists(picture) and not drawn_from(made.text, _content(picture) or b""):
            raise _refusal(planned.name, picture)
        if parquet is not None and os.path.lexists(parquet) and not written_from(made.text, _content(parquet) or b""):
            raise _refusal(planned.name, parquet)
        return cls(document, table, picture, made.text, parquet)

    @property
    def paths(self) -> list[Path]:
        """The document, the table and the picture, and the table as Parquet."""
        return [self.document, self.table, self.picture, *([] if self.parquet is None else [self.parquet])]

    def holding(self, result: AnyResult) -> list[Path]:
        """The files that are written of a result: where the values have a file of their own, no table or picture."""
        values = _values(result, self.document.parent)
        return [self.document, values] if values else self.paths

    def write(self, result: AnyResult) -> None:
        """Write what is not there yet; what an interruption leaves belongs together, so that it can be written over."""
        if self.earlier is None:
            self._check_still_free()
        if result.text != self.earlier:
            for path in self.paths[1:]:
                path.unlink(missing_ok=True)
            result.save(self.document)
        if _values(result, self.document.parent):
            return
        if not self.table.exists():
            result.to_csv(self.table)
        if not self.picture.exists():
            result.plot(self.picture)
        if self.parquet is not None and not self.parquet.exists():
            result.to_parquet(self.parquet)

    def _check_still_free(self) -> None:
        for path in self.paths:
            if os.path.lexists(path):
                hint = f"{IN_THE_LEDGER} Run the command again with --out FOLDER."
                raise SpecError(f"{path} appeared while the data were read, and is kept.", hint=hint)


def _values(result: AnyResult, folder: Path) -> Path | None:
    kept = result.kept if isinstance(result, results.Result) else None
    return None if kept is None else folder / kept.file


def _release(document: Path, planned: PlannedRelease, policy: Policy) -> AnyResult | None:
    if _content(document) is None:
        return None
    try:
        made = results.load(document)
    except BlowfishError:
        return None
    release = made.release if isinstance(made, results.Result) else next(iter(made.values())).release
    asked = (planned.name, policy.hash, asked_to_file(*split(planned.query), policy.domain))
    written = (release.name, release.policy.hash, release.plan().asked())
    return made if written == asked else None


def _content(path: Path) -> bytes | None:
    """Read a file; what is no file, or a link to one, is not ours."""
    try:
        return None if path.is_symlink() or not path.is_file() else path.read_bytes()
    except OSError:
        return None


def _refusal(name: str, path: Path) -> SpecError:
    return SpecError(
        f"the release {name!r} would write over {path}, which is not its own earlier output. Nothing was spent.",
        hint="move that file away, rename the release, or use --out FOLDER.",
    )
