"""What the commands share: options, tables, warnings, loading a file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.errors import BlowfishWarning, SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.support.printable import printable

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
file_argument = click.argument("file", type=click.Path(dir_okay=False))


def print_json(value: Any) -> None:
    """Print a result for a program: every character beyond ASCII is escaped, so that any terminal can show it."""
    echo(json.dumps(value, indent=2))


@contextmanager
def warnings_in_words() -> Generator[None]:
    """Show our warnings as sentences, without the line of code that they come from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BlowfishWarning)
        yield
    for warning in caught:
        warn(str(warning.message))


def load_file(file: str) -> spec.PolicyFile:
    """Load a policy file, showing warnings as sentences."""
    with warnings_in_words():
        return spec.load(file)


def read_document(path: str) -> str:
    """Read the text of a release document."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SpecError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not text'}.") from None


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose columns line up; numbers to the right."""
    shown = [[printable(str(cell)).replace("\n", r"\n") for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in [list(header), *shown]) for place in range(len(header))]
    numeric = [all(row[place][:1] in "0123456789-" for row in shown if row[place]) for place in range(len(header))]
    for index, row in enumerate([list(header), *shown]):
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        line = "  ".join(cells).rstrip()
        echo(line, bold=True) if index == 0 else echo(line)
