"""What belongs to no policy file: the help of all commands, the schema, and what commands say of wrong arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from blowfish_privacy.cli.main import cli
from blowfish_privacy.release import spec
from documents.fixed import folder_of_its_own, stable
from documents.journeys import command

_WRONG = {
    "no command": "relase",
    "no file": "plan nothing.yaml",
    "no ledger": "ledger show nothing.ledger",
    "no document": "verify nothing.release.json",
    "no pair": """policy explain nothing.yaml --pair 1 2""",
    "no option": "plan --epsilon 1 x.yaml",
    "no picture": "plot nothing.release.json",
    "a card of nothing": "card nothing.ledger",
    "no figure": "reproduce 99",
}


def helps() -> Iterator[tuple[str, str]]:
    """Ask every command what it does."""
    with folder_of_its_own():
        for words in _commands(cli, ()):
            yield " ".join(["blowfish", *words]), command("help", " ".join([*words, "--help"]))
        for name, line in _WRONG.items():
            yield name, command("wrong", line)


def schema() -> Iterator[tuple[str, str]]:
    """Write the schema of the policy file, part by part."""
    made = spec.schema()
    for name, part in {**made, **made.get("$defs", {})}.items():
        if name != "$defs":
            yield name, stable(json.dumps(part, indent=1))


def _commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from _commands(group.get_command(context, name), (*words, name))
