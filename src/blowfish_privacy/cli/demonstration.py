"""What the demonstrations share: a folder of their own, titles, and lines of text."""

from __future__ import annotations

import textwrap
from pathlib import Path

from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError


def new_folder(out: str) -> Path:
    """Make a folder that was not there before: ``out``, or ``out-2``, ``out-3``, ..."""
    for number in range(1, 1000):
        folder = Path(out if number == 1 else f"{out}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise SpecError(f"the folder {folder} cannot be made: {error.strerror}.", hint="use --out.") from None
        return folder
    raise SpecError(f"{out} and its numbered successors all exist.", hint="use --out.")


def title(text: str) -> None:
    """Begin a part of the demonstration."""
    echo(f"\n{text}", bold=True, fg="cyan")


def say(text: str) -> None:
    """Print a paragraph, indented and folded."""
    echo(textwrap.fill(text, 110, initial_indent="  ", subsequent_indent="  ", replace_whitespace=False))
