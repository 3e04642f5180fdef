"""The files of all releases of a ledger in a folder: checked against the ledger, and written where they are missing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from blowfish_privacy.cli.release_files import ReleaseFiles
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.release import document, reading
from blowfish_privacy.release.verification import Product, Released
from blowfish_privacy.results import from_text
from blowfish_privacy.results.files import DOCUMENT, FilesBeside, content_of, documents_in, files_beside, stem_of


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not there, in which nothing would be found wrong."""
    if not folder.is_dir():
        raise SpecError(
            f"there is no folder {folder}, so no file in it can be checked.",
            hint="name the folder that the releases were written to with --out.",
        )


@dataclass(frozen=True)
class FolderCheck:
    """How the documents in a folder compare with those that a ledger handed out."""

    problems: tuple[str, ...]
    """Documents that are not the ledger's, or not whole, or under the name of another."""
    notes: tuple[str, ...]
    """Documents under a name that is no release's."""
    missing: tuple[str, ...]
    """The names of documents that are not there."""

    @classmethod
    def of(cls, entries: Iterable[Entry], released: Sequence[Released], folder: Path) -> FolderCheck:
        """Go through the documents in a folder, with all charges and all releases of the ledger."""
        charges = {entry.key: entry.number for entry in entries}
        texts, found = {each.text.encode(): each for each in released}, set[int]()
        problems, notes = list[str](), list[str]()
        for path in documents_in(folder):
            content = content_of(path)
            own = None if content is None else texts.get(content)
            if own is None:
                problems.append(f"{path} {_foreign(path, content, charges, released)}")
                continue
            found.add(own.entry.number)
            said = f"{path} is the document of {own.name!r} (entry {own.entry.number}), under"
            other = next((each for each in released if each.is_called(stem_of(path))), own)
            if other is not own and not own.is_called(stem_of(path)):
                problems.append(f"{said} the name of another release, {other.name!r}.")
            elif not own.is_called(stem_of(path)):
                notes.append(f"{said} another name.")
        missing = (_document(each, released) for each in released if each.entry.number not in found)
        return cls(tuple(problems), tuple(notes), tuple(missing))


def _document(released: Released, others: Sequence[Released]) -> str:
    """Name the document of a release; of several with one name also by the entry that paid for it."""
    several = sum(each.file_name == released.file_name for each in others) > 1
    return f"{released.file_name}.{DOCUMENT}{f' (entry {released.entry.number})' if several else ''}"


def _foreign(path: Path, content: bytes | None, charges: Mapping[str, int], released: Sequence[Released]) -> str:
    """Say what a document is that the ledger did not hand out."""
    if content is None:
        return "is a link, or no file that can be read, so it was not checked."
    key = _sealed_key(content)
    if key is not None and key in charges:
        return f"is not what the ledger handed out for entry {charges[key]}."
    if key is not None:
        return "was released from another ledger: what it lost is not counted here."
    if any(each.is_called(stem_of(path)) for each in released):
        return "was changed, or is damaged: it is not what the ledger handed out."
    return "is no release document, or a damaged one."


def _sealed_key(content: bytes) -> str | None:
    """Return the key of the charge that a document names; None if it is no document as it was written."""
    try:
        body = reading.parse(content.decode())
        return str(body["ledger"]["key"]) if body.get("sha256") == document.seal(body) else None
    except (BlowfishError, *reading.DAMAGE):
        return None


def write_missing(product: Product, folder: Path) -> None:
    """Write the files of the releases that are not in a folder, from what the ledger holds; it costs nothing."""
    reserved = [each.name for each in product.released]
    for each in product.released:
        made = from_text(each.text, product.folder)
        beside = files_beside(made, folder, partial(product.may_be_called, each))
        if beside.own:
            files = ReleaseFiles(folder, stem_of(beside.own[0]), earlier=each.text)
        else:
            otherwise = "move that file away, or have the page written into another folder."
            files = ReleaseFiles.checked(folder, each.file_name, each.text, reserved=reserved, otherwise=otherwise)
        missing = [str(path) for path in files.holding(made) if not os.path.lexists(path)]
        if missing:
            files.write(made)
            echo(f"Wrote {', '.join(missing)}.", err=True)


def mention_foreign(beside: Mapping[int, FilesBeside], folder: Path) -> None:
    """Say which files are not offered, though they have the name of a release."""
    foreign = [str(folder / path.name) for files in beside.values() for path in files.foreign]
    if foreign:
        them = "it is" if len(foreign) == 1 else "they are"
        echo(
            f"Kept, but not offered for download, since {them} not what was released: {', '.join(foreign)}. "
            "Once moved away, --files writes what was.",
            err=True,
        )
