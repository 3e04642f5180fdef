"""``blowfish verify``: check a release document, or all of a file or a ledger."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from blowfish_privacy.cli.output import as_json, print_json, read_document
from blowfish_privacy.cli.product_files import FolderCheck, check_folder
from blowfish_privacy.cli.products import mention_others, names_product, open_named
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import Entry, Ledger, Report
from blowfish_privacy.release import reading, verification
from blowfish_privacy.release.verification import Product, examine_product
from blowfish_privacy.statements.card import to_readers
from blowfish_privacy.statements.product import loss_words, product_verification_view

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
    problems = verification.problems(text, Path(release).parent)
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            echo(f"Problem: {problem}")
    else:
        body = reading.upgraded(reading.parse(text))
        echo(f"{release} is sound: {body['guarantee']['statement']}.")
        for notice in to_readers([reading.read(body, part, Path(release).parent) for part in reading.parts_of(body)]):
            echo(f"Notice: {notice}")
    return _UNSOUND if problems else 0


def _verify_product(argument: str, folder: Path, *, as_json: bool) -> int:
    check_folder(folder)
    named = open_named(argument)
    product = examine_product(named.ledger)
    released = product.released if isinstance(product, Product) else ()
    mention_others(named.file, released)
    beside = FolderCheck.of(_entries(named.ledger), released, folder)
    problems = [*product.problems, *beside.problems]
    if as_json:
        print_json(product_verification_view(product, beside.problems, beside.missing))
    elif problems:
        for problem in problems:
            echo(f"Problem: {problem}")
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
    entries = f"{product.report.entries} {'entry' if product.report.entries == 1 else 'entries'}"
    documents = f"{product.documents} document{'' if product.documents == 1 else 's'}"
    proved = "add up to the balances" if product.adds_up else "are covered by the balances"
    echo(f"{argument} is sound: {entries} and {documents}, whose losses {proved}.")
    for each in product.released:
        echo(f"  entry {each.entry.number}, {each.name}: {loss_words(each.entry.loss)}")
        for notice in to_readers(each.parts):
            echo(f"    Notice: {notice}")
    for entry in product.unreleased:
        echo(f"  entry {entry.number}: {loss_words(entry.loss)}; nothing was handed out for it, and it counts")
    echo(f"In all: {loss_words(product.lost)}, of a budget of {product.terms.kept}.")
