"""All releases of a policy file or of a ledger, as commands take them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.terminal import (
    as_json,
    echo,
    json_text,
    keep_others,
    load_in_part,
    open_by_name,
    print_json,
    print_problems,
    read_document,
)
from blowfish_privacy.errors import BlowfishError, LedgerError, SpecError
from blowfish_privacy.ledger import Entry, Ledger, Report
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release import document, reading, verification
from blowfish_privacy.release.spec import PolicyFile, ledger_location
from blowfish_privacy.release.verification import Product, Released, VerifiedRelease, examine_product, read_product
from blowfish_privacy.results import Result, from_text, load
from blowfish_privacy.results.files import (
    DOCUMENT,
    FilesBeside,
    ReleaseFiles,
    content_of,
    documents_in,
    files_beside,
    stem_of,
)
from blowfish_privacy.results.pictures.figure import drawn_from, ending_of
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import Card, card_view, is_card, is_card_view, markdown, page
from blowfish_privacy.statements.ledger import counted
from blowfish_privacy.statements.product import (
    loss_words,
    product_card,
    product_files,
    product_verification_view,
    product_view,
    refuse_unsound,
)
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.postgresql import is_address
from blowfish_privacy.support.progress import task

_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, eq=False)
class NamedLedger:
    """A ledger, what it is called, and the policy file that named it, if one did."""

    ledger: Ledger
    title: str
    file: PolicyFile | None = None


def names_product(argument: str) -> bool:
    """Say whether an argument names a policy file or a ledger, rather than the document of one release."""
    path = Path(argument)
    return is_address(argument) or path.suffix.lower() in (".yaml", ".yml", ".ledger") or _is_sqlite(path)


def open_named(argument: str) -> NamedLedger:
    """Open the ledger that an argument names, or the one that a policy file names."""
    if is_address(argument) or Path(argument).suffix.lower() not in (".yaml", ".yml"):
        ledger = open_by_name(argument)
        return NamedLedger(ledger, ledger.name.removesuffix(".ledger"))
    loaded = load_in_part(argument)
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
    # An address that a file names stays one: its server has to be confirmed.
    ledger = open_by_name(str(location) if isinstance(location, Path) else location)
    return NamedLedger(ledger, Path(argument).stem, loaded)


def mention_others(file: PolicyFile | None, released: Sequence[Released]) -> None:
    """Say which releases of the file are not made yet, and that others of the ledger are counted."""
    if file is None:
        return
    released_keys = [(each.name, each.plan.policy.hash, each.plan.asked()) for each in released]
    policy = file.policy
    stated = {
        each.name: (each.name, policy.hash, asked_to_file(*split(each.query), policy.domain)) for each in file.releases
    }
    waiting = [name for name, release in stated.items() if release not in released_keys]
    if waiting:
        echo(f"Not released yet, so not in this: {', '.join(waiting)}.", err=True)
    # What the file asks was perhaps released several times, with other losses: the file has one of these.
    others = len(released_keys) - (len(stated) - len(waiting))
    if others:
        many = "one more release" if others == 1 else f"{others:,} more releases"
        echo(f"The ledger holds {many} than the file as it is now; all of them count.", err=True)


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False


# The files of all releases of a ledger in a folder: checked against the ledger, and written where they are missing.


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
        texts, present = {each.text.encode(): each for each in released}, set[int]()
        problems, notes = list[str](), list[str]()
        for path in documents_in(folder):
            content = content_of(path)
            release = None if content is None else texts.get(content)
            if release is None:
                problems.append(f"{path} {_foreign(path, content, charges, released)}")
                continue
            present.add(release.entry.number)
            start = f"{path} is the document of {release.name!r} (entry {release.entry.number}), under"
            other = next((each for each in released if each.is_called(stem_of(path))), release)
            if other is not release and not release.is_called(stem_of(path)):
                problems.append(f"{start} the name of another release, {other.name!r}.")
            elif not release.is_called(stem_of(path)):
                notes.append(f"{start} another name.")
        missing = (_document(each, released) for each in released if each.entry.number not in present)
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
        result = from_text(each.text, product.folder)
        beside = files_beside(result, folder, partial(product.may_be_called, each))
        if beside.own:
            files = ReleaseFiles(folder, stem_of(beside.own[0]), earlier=each.text)
        else:
            otherwise = "move that file away, or have the page written into another folder."
            files = ReleaseFiles.checked(folder, each.file_name, each.text, reserved=reserved, otherwise=otherwise)
        missing = [str(path) for path in files.holding(result) if not os.path.lexists(path)]
        if missing:
            files.write(result)
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


# ``blowfish card``: a statement for publication, about one release or about all of a file or a ledger.

_FORMS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@click.option("--format", "form", type=click.Choice(["md", "html"]), help="As -o ends, else Markdown.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where to write it, instead of the terminal.")
@click.option("--publisher", help="Who published the release, for the citation.")
@click.option("--title", help="What all releases together are called; by default as the file or the ledger.")
@click.option("--files", is_flag=True, help="Write the files of all releases that are not beside the page.")
@as_json
def card(release: str, form: str | None, output: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001
    """State what RELEASE protects, how strongly, what it does not, its error, and how to cite it.

    RELEASE is the document of one release; or a policy file, a ledger or its address, for all releases of the ledger
    together: what they lost in all, with their pictures and downloads. Everything comes from documents, which are
    checked first, and from the ledger's balances. --json, or a name after -o that ends so, gives the statement, and the
    fields of the public registry of differential privacy deployments that it can fill.
    """
    if output is not None and Path(output).resolve() == Path(release).resolve():
        raise SpecError("the card would write over the release.", hint="give another name after -o.")
    if output is not None:
        keep_others(output, "card", _holds_card)
    wanted = "json" if as_json else form or _form(output)
    if names_product(release):
        statement, view = _of_product(release, Path("." if output is None else output).parent, **options)
    else:
        statement = _of_release(release, **options)
        view = card_view(statement)
    text = f"{json_text(view)}\n" if wanted == "json" else page(statement) if wanted == "html" else markdown(statement)
    if output is None:
        echo(text, nl=False)
    else:
        write_atomically(output, text.encode())
        echo(f"Wrote {output}.", err=True)


def _form(output: str | None) -> str:
    """Say by the ending of a file what is written into it."""
    ending = ".md" if output is None else Path(output).suffix.lower()
    if ending not in _FORMS:
        raise SpecError(
            f"a card cannot be written as {ending or 'a file without an ending'}.",
            hint="use a name that ends in .html, .md or .json.",
        )
    return _FORMS[ending]


def _of_release(release: str, *, publisher: str | None, title: str | None, files: bool) -> Card:
    if title is not None or files:
        raise SpecError(
            "--title and --files are for all releases together.", hint="name the policy file, or the ledger."
        )
    text = read_document(release)
    with task("Checking the document"):
        return make_card(text, publisher=publisher, folder=Path(release).parent)


def _of_product(
    argument: str, folder: Path, *, publisher: str | None, title: str | None, files: bool
) -> tuple[Card, dict[str, Any]]:
    named = open_named(argument)
    product = read_product(named.ledger)
    mention_others(named.file, product.released)
    refuse_unsound(product)
    if files:
        write_missing(product, folder)
    beside = product_files(product, folder)
    mention_foreign(beside, folder)
    statement = product_card(product, title=title or named.title, publisher=publisher, files=beside)
    return statement, product_view(product, statement, beside)


def _holds_card(content: bytes) -> bool:
    """Say whether a file is a card made before, which a new one may replace."""
    try:
        text = content.decode()
        return is_card(text) or (text.startswith("{") and is_card_view(json.loads(text)))
    except (ValueError, RecursionError):
        return False


# ``blowfish verify``: check a release document, or all of a file or a ledger.

_UNSOUND = 2
_UNSOUND_LEDGER = 5


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@click.option("--out", type=click.Path(file_okay=False), default=".", help="The folder that releases were written to.")
@as_json
def verify(release: str, out: str, as_json: bool) -> int:  # noqa: FBT001
    """Check RELEASE: its schema, its hashes, and its certificate recomputed from the noise scales it states.

    RELEASE is a document; or a policy file, a ledger or its address: then the ledger and every document that it handed
    out are checked, that their losses add up to its balances, and that the documents in the folder are the same.
    """
    if names_product(release):
        return _verify_product(release, Path(out), as_json=as_json)
    text = read_document(release)
    examined = verification.examined(text, Path(release).parent)
    sound = isinstance(examined, VerifiedRelease)
    if as_json:
        print_json({"ok": sound, "problems": [] if sound else examined})
    elif sound:
        echo(f"{release} is sound: {examined.body['guarantee']['statement']}.")
        for notice in reading.notices_of(examined.parts):
            echo(f"Notice: {notice.as_published}")
    else:
        print_problems(examined)
    return 0 if sound else _UNSOUND


def _verify_product(argument: str, folder: Path, *, as_json: bool) -> int:
    if not folder.is_dir():
        raise SpecError(
            f"there is no folder {folder}, so no file in it can be checked.",
            hint="name the folder that the releases were written to with --out.",
        )
    named = open_named(argument)
    product = examine_product(named.ledger)
    released = product.released if isinstance(product, Product) else ()
    mention_others(named.file, released)
    beside = FolderCheck.of(_entries(named.ledger), released, folder)
    problems = [*product.problems, *beside.problems]
    if as_json:
        print_json(product_verification_view(product, beside.problems, beside.missing))
    elif problems:
        print_problems(problems)
    elif isinstance(product, Product):
        _say_sound(argument, product)
    else:
        _say_unused(argument, product)
    _mention_files(argument, beside, folder)
    return _UNSOUND_LEDGER if problems else 0


def _entries(ledger: Ledger) -> tuple[Entry, ...]:
    try:
        return ledger.entries()
    except LedgerError:
        # What cannot be read is among the problems of the ledger.
        return ()


def _mention_files(argument: str, beside: FolderCheck, folder: Path) -> None:
    for note in beside.notes:
        echo(f"Note: {note}", err=True)
    if beside.missing:
        page = shlex.quote(str(folder / "index.html"))
        echo(
            f"Not in the folder {folder}: {', '.join(beside.missing)}. They are in the ledger: blowfish card "
            f"{shlex.quote(argument)} --files -o {page} writes them; --out names another folder to check.",
            err=True,
        )


def _say_unused(argument: str, report: Report) -> None:
    if not report.entries:
        echo(f"{argument} is sound. Nothing was released from it yet.")
        return
    entries = "1 entry is" if report.entries == 1 else f"{report.entries:,} entries are"
    echo(f"{argument} is sound. Nothing was released from it: {entries} set aside, and spent all the same.")


def _say_sound(argument: str, product: Product) -> None:
    proved = "add up to the balances" if product.adds_up else "are covered by the balances"
    echo(f"{argument} is sound: {counted(product.report)}, whose losses {proved}.")
    for each in product.released:
        echo(f"  entry {each.entry.number}, {each.name}: {loss_words(each.entry.loss)}")
        for notice in reading.notices_of(each.parts):
            echo(f"    Notice: {notice.as_published}")
    for entry in product.unreleased:
        echo(f"  entry {entry.number}: {loss_words(entry.loss)}; nothing was handed out for it, and it counts")
    echo(f"In all: {loss_words(product.lost)}, of a budget of {product.terms.kept}.")


# ``blowfish plot``: a release as a picture to print.


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where to draw it: .png, .svg or .pdf.")
def plot(release: str, output: str | None) -> None:
    """Draw the document RELEASE, with its intervals; costs nothing. Without -o, as PNG beside it.

    The same document gives the same bytes. SVG looks the same on every machine, PDF has text that can be searched.
    """
    result, place = load(release), Path(release)
    path = (
        Path(output) if output else place.with_name(f"{place.name.removesuffix('.json').removesuffix('.release')}.png")
    )
    ending_of(path)
    if isinstance(result, Result) and result.kept is not None:
        raise SpecError(f"{result.name!r} has too many values for a picture.", hint="they are in the file beside it.")
    keep_others(path, "picture of this release", lambda content: drawn_from(result.text, content))
    result.plot(path)
    echo(f"Wrote {path}.", err=True)
