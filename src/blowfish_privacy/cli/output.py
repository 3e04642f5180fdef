"""What the commands share: options, tables, warnings, loading a file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.errors import BlowfishWarning, LedgerError, SpecError
from blowfish_privacy.ledger import Ledger, open_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.support.postgresql import is_address
from blowfish_privacy.support.text import printable

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
file_argument = click.argument("file", type=click.Path(dir_okay=False))


def print_json(value: Any) -> None:
    """Print a result for a program."""
    echo(json_text(value))


def json_text(value: Any) -> str:
    """Write a result for a program: every character beyond ASCII is escaped, so that any terminal can show it."""
    return json.dumps(value, indent=2)


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


def load_in_part(file: str) -> spec.PolicyFile:
    """Load a policy file in which some releases may be wrong, showing warnings as sentences."""
    with warnings_in_words():
        return spec.load_in_part(file)


def open_by_name(where: str) -> Ledger:
    """Open the ledger at a path or an address of PostgreSQL, showing warnings as sentences."""
    if not is_address(where) and not Path(where).exists():
        raise LedgerError(f"there is no ledger {where}.", hint="give the path that 'ledger:' names in the policy file.")
    from blowfish_privacy.release.verification import proof_of
    from blowfish_privacy.session import load_policy

    with warnings_in_words():
        ledger = open_ledger(where, load_policy=load_policy)
    ledger.prove = proof_of
    return ledger


def read_document(path: str) -> str:
    """Read the text of a release document."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None)
        hint = None if why else "give a release document: name.release.json."
        raise SpecError(f"{path} cannot be read: {why or 'not text'}.", hint=hint) from None


def keep_others(path: str | Path, what: str, is_own: Callable[[bytes], bool], option: str = "-o") -> None:
    """Refuse to write over a file that is not an earlier one of the same kind, which ``what`` names."""
    place = Path(path)
    try:
        free = not os.path.lexists(place) or (place.is_file() and is_own(place.read_bytes()))
    except OSError:
        free = False
    if not free:
        raise SpecError(
            f"{path} exists and is no {what}, so it is kept.",
            hint=f"give another name after {option}, or move it away.",
        )


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose columns line up, numbers to the right; lines are as long as they need to be."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(str(cell)).replace("\n", r"\n") for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, name in enumerate(header):
        numeric = all(row[column][:1] in "0123456789-" for row in cells if row[column])
        table.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True)
    for row in cells:
        # As Text, brackets in a name are no markup.
        table.add_row(*map(Text, row))
    console = Console(width=_ANY_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    first, *others = (line.rstrip() for line in captured.get().removesuffix("\n").split("\n"))
    echo(first, bold=True)
    for line in others:
        echo(line)


_ANY_WIDTH = 1_000_000
