"""``blowfish card``: a statement for publication, about one release or about all of a file or a ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.output import as_json, json_text, keep_others, read_document
from blowfish_privacy.cli.product_files import mention_foreign, write_missing
from blowfish_privacy.cli.products import mention_others, names_product, open_named
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError
from blowfish_privacy.release.verification import read_product
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import Card, card_view, is_card, is_card_view, markdown, page
from blowfish_privacy.statements.product import product_card, product_files, product_view, refuse_unsound
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task

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
    if output is not None:
        _check_output(output, release)
    wanted = "json" if as_json else form or _form(output)
    if names_product(release):
        made, view = _of_product(release, Path("." if output is None else output).parent, **options)
    else:
        made = _of_release(release, **options)
        view = card_view(made)
    text = f"{json_text(view)}\n" if wanted == "json" else page(made) if wanted == "html" else markdown(made)
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
    made = product_card(product, title=title or named.title, publisher=publisher, files=beside)
    return made, product_view(product, made, beside)


def _check_output(output: str, release: str) -> None:
    """Refuse to write over anything but a card."""
    if Path(output).resolve() == Path(release).resolve():
        raise SpecError("the card would write over the release.", hint="give another name after -o.")
    keep_others(output, "card", _holds_card)


def _holds_card(content: bytes) -> bool:
    """Say whether a file is a card made before, which a new one may replace."""
    try:
        text = content.decode()
        return is_card(text) or (text.startswith("{") and is_card_view(json.loads(text)))
    except (ValueError, RecursionError):
        return False
