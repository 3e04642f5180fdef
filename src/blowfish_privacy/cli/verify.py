"""``blowfish verify``: check a release document."""

from __future__ import annotations

from pathlib import Path

import click

from blowfish_privacy.cli.output import as_json, print_json, read_document
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.release import reading, verification


@click.command()
@click.argument("release", type=click.Path(dir_okay=False))
@as_json
def verify(release: str, as_json: bool) -> int:  # noqa: FBT001
    """Check RELEASE: its schema, its hashes, and its certificate recomputed from the noise scales it states."""
    text = read_document(release)
    problems = verification.problems(text, Path(release).parent)
    body = reading.parse(text)
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            echo(f"Problem: {problem}")
    else:
        echo(f"{release} is sound: {body['guarantee']['statement']}.")
        for notice in body["notices"]:
            echo(f"Notice: {notice}")
    return 2 if problems else 0
