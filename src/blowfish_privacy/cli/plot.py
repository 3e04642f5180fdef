"""``blowfish plot``: a release as a picture to print."""

from __future__ import annotations

from pathlib import Path

import click

from blowfish_privacy.cli.output import keep_others
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError
from blowfish_privacy.results import Result, load
from blowfish_privacy.results.pictures.figure import drawn_from, ending_of


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where to draw it: .png, .svg or .pdf.")
def plot(release: str, output: str | None) -> None:
    """Draw the document RELEASE, with its intervals; costs nothing. Without -o, as PNG beside it.

    The same document gives the same bytes. SVG looks the same on every machine, PDF has text that can be searched.
    """
    made, place = load(release), Path(release)
    path = (
        Path(output) if output else place.with_name(f"{place.name.removesuffix('.json').removesuffix('.release')}.png")
    )
    ending_of(path)
    if isinstance(made, Result) and made.kept is not None:
        raise SpecError(f"{made.name!r} has too many values for a picture.", hint="they are in the file beside it.")
    keep_others(path, "picture of this release", lambda content: drawn_from(made.text, content))
    made.plot(path)
    echo(f"Wrote {path}.", err=True)
