"""Text on its way to a terminal. Names and categories come from files that somebody else may have written."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import click

from blowfish_privacy.support.text import printable


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
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _say(label: str, style: dict[str, Any], text: str) -> None:
    click.echo(f"{click.style(label, **style)} {printable(text)}", err=True)
