"""All releases of a policy file or of a ledger, as commands take them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.cli.output import load_in_part, open_by_name
from blowfish_privacy.cli.release_files import ReleaseFiles
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import BlowfishError, LedgerError, SpecError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.queries.asked import asked_to_file, split
from blowfish_privacy.release import document, reading
from blowfish_privacy.release.planned_release import is_file_name
from blowfish_privacy.release.product import Product, read_product
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.results import from_text
from blowfish_privacy.results.files import DOCUMENT, content_of, documents_in, files_of
from blowfish_privacy.support.postgresql import is_address

_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, eq=False)
class NamedProduct:
    """A product, what it is called, and the policy file that named its ledger, if one did."""

    product: Product
    title: str
    file: PolicyFile | None = None


def names_product(argument: str) -> bool:
    """Say whether an argument names a policy file or a ledger, rather than the document of one release."""
    path = Path(argument)
    return is_address(argument) or path.suffix.lower() in (".yaml", ".yml", ".ledger") or _is_sqlite(path)


def open_product(argument: str) -> NamedProduct:
    """Read and check all releases of the ledger that an argument names, or of the ledger that a policy file names."""
    if is_address(argument) or Path(argument).suffix.lower() not in (".yaml", ".yml"):
        ledger = open_by_name(argument)
        return NamedProduct(read_product(ledger), ledger.name.removesuffix(".ledger"))
    loaded = load_in_part(argument)
    product = read_product(_ledger(argument, loaded))
    named = NamedProduct(product, Path(argument).stem, loaded)
    _mention_others(named)
    return named


def write_missing(product: Product, folder: Path) -> None:
    """Write the files of the releases that are not in a folder, from what the ledger holds; it costs nothing."""
    reserved = [each.name for each in product.released]
    for each in product.released:
        made = from_text(each.text, product.folder)
        if not files_of(made, folder):
            # Who released from Python may have chosen a name that no file can have.
            name = each.name if is_file_name(each.name) else f"entry {each.entry.number}"
            files = ReleaseFiles.checked(folder, name, each.text, reserved=reserved)
            files.write(made)
            echo(f"Wrote {', '.join(str(path) for path in files.holding(made))}.", err=True)


def file_problems(product: Product, folder: Path) -> Iterator[str]:
    """Say which documents in a folder are not what the ledger handed out."""
    texts = {each.text.encode() for each in product.released}
    entries = {each.entry.key: each.entry.number for each in product.released}
    names = {each.name for each in product.released}
    for path in documents_in(folder):
        content = content_of(path)
        if content is None or content in texts:
            continue
        key = _sealed_key(content)
        stem = path.name.removesuffix(f".{DOCUMENT}")
        if key is None and (stem in names or stem.rpartition("-")[0] in names):
            yield f"{path} was changed, or is damaged: it is not what the ledger handed out."
        elif key in entries:
            yield f"{path} is not what the ledger handed out for entry {entries[key]}."


def _sealed_key(content: bytes) -> str | None:
    """Return the key of the charge that a document names; None if it is no document as it was written."""
    try:
        body = reading.parse(content.decode())
        return str(body["ledger"]["key"]) if body.get("sha256") == document.seal(body) else None
    except (BlowfishError, *reading.DAMAGE):
        return None


def _ledger(argument: str, loaded: PolicyFile) -> Ledger:
    from blowfish_privacy.batch import ledger_location

    location = ledger_location(loaded, Path(argument).parent)
    if location is None:
        raise SpecError(
            "the file names no ledger, which holds its releases.", hint="add ledger: table.ledger, or name a release."
        )
    if isinstance(location, Path) and not os.path.lexists(location):
        raise LedgerError(
            f"there is no ledger {location.name} yet, so nothing was released.",
            hint=f"blowfish ledger create {argument} makes it, and blowfish release {argument} the releases.",
        )
    return open_by_name(str(location))


def _mention_others(named: NamedProduct) -> None:
    """Say which releases of the file are not made yet, and that others of the ledger are counted."""
    if named.file is None:
        return
    made = [(each.name, each.plan.policy.hash, each.plan.asked()) for each in named.product.released]
    policy = named.file.policy
    asked = {
        each.name: (each.name, policy.hash, asked_to_file(*split(each.query), policy.domain))
        for each in named.file.releases
    }
    waiting = [name for name, release in asked.items() if release not in made]
    if waiting:
        echo(f"Not released yet, so not in this: {', '.join(waiting)}.", err=True)
    # What the file asks was perhaps released several times, with other losses: the file has one of these.
    others = len(made) - (len(asked) - len(waiting))
    if others:
        many = "one more release" if others == 1 else f"{others:,} more releases"
        echo(f"The ledger holds {many} than the file as it is now; all of them count.", err=True)


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False
