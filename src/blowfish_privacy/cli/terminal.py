"""Text on its way to a terminal. Names and categories come from files that somebody else may have written."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import Any

import click

_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that make a terminal do something, or turn the direction of text, all but the end of a line."""


def printable(text: str) -> str:
    r"""Show control characters as escapes, such as ``\x1b``, so that no text can command a terminal."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print a text, in some style of :func:`click.style`."""
    shown = printable(text)
    click.echo(click.style(shown, **style) if style else shown, err=err, nl=nl)


def warn(text: str) -> None:
    """Say something that must not be overlooked, on standard error."""
    _say("Warning:", {"fg": "yellow", "bold": True}, text)


def say_error(message: str, hint: str | None = None) -> None:
    """Print what is wrong, and on a line of its own what to do."""
    # Whom no word reaches learns from the exit code.
    with suppress(OSError):
        _say("Error:", {"fg": "red", "bold": True}, message)
        if hint:
            _say("Hint:", {"fg": "yellow"}, f" {hint}")


def say_stopped() -> None:
    """Say that a command was stopped; the terminal may be gone."""
    with suppress(OSError):
        echo("Stopped.", err=True)


def close_output() -> None:
    """Give up standard output, which takes no more: what is still to be written goes nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _say(label: str, style: dict[str, Any], text: str) -> None:
    click.echo(f"{click.style(label, **style)} {printable(text)}", err=True)
