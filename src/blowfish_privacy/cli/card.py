"""``blowfish card``: a one-page statement about a release, for publication."""

from __future__ import annotations

import os
from pathlib import Path

import click

from blowfish_privacy.cli.output import as_json, print_json, read_document
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import is_card, markdown, page
from blowfish_privacy.statements.card_registry import card_view
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@click.option("--format", "form", type=click.Choice(["md", "html"]), help="As -o ends, or Markdown.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where to write it, instead of the terminal.")
@click.option("--publisher", help="Who published the release, for the citation.")
@as_json
def card(release: str, form: str | None, output: str | None, publisher: str | None, as_json: bool) -> None:  # noqa: FBT001
    """State on one page what RELEASE protects, how strongly, what it does not, its error, and how to cite it.

    Everything comes from the document, which is checked first. --json gives the statement, and the fields of the
    public registry of differential privacy deployments that it can fill.
    """
    text = read_document(release)
    with task("Checking the document"):
        made = make_card(text, publisher=publisher, folder=Path(release).parent)
    if as_json:
        print_json(card_view(made))
        return
    if output is None:
        echo(page(made) if form == "html" else markdown(made), nl=False)
        return
    if Path(output).resolve() == Path(release).resolve():
        raise SpecError("the card would write over the release.", hint="give another name after -o.")
    if os.path.lexists(output) and not _holds_card(Path(output)):
        raise SpecError(
            f"{output} exists and is no card, so it is kept.", hint="give another name after -o, or move it away."
        )
    wanted = form or ("html" if Path(output).suffix.lower() in (".html", ".htm") else "md")
    write_atomically(output, (page(made) if wanted == "html" else markdown(made)).encode())
    echo(f"Wrote {output}.", err=True)


def _holds_card(path: Path) -> bool:
    """Say whether a file is a card made before, which a new one may replace."""
    try:
        with path.open("rb") as file:
            return path.is_file() and is_card(file.readline(1000).decode(errors="replace"))
    except OSError:
        return False
