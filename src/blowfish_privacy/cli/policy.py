"""``blowfish policy``: check a policy file, and hear what it protects."""

from __future__ import annotations

import json
import warnings
from math import isinf
from typing import Any

import click

from blowfish_privacy import spec
from blowfish_privacy.errors import BlowfishWarning, SpecError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import explain_pair


@click.group()
def policy() -> None:
    """Check a policy file, and hear what it protects."""


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
file_argument = click.argument("file", type=click.Path(dir_okay=False))


@policy.command()
@file_argument
@as_json
def check(file: str, as_json: bool) -> None:  # noqa: FBT001
    """Say whether FILE is valid, and what it leaves unprotected."""
    loaded = load_policy(file)
    words = loaded.graph.words()
    found: dict[str, Any] = {
        "valid": True,
        "hash": loaded.hash,
        "cells": loaded.domain.size,
        "attributes": {name: loaded.domain[name].size for name in loaded.domain},
        "connected": loaded.graph.connected,
        "unprotected": list(words.unprotected),
        "known_facts": [fact.words(loaded.domain) for fact in loaded.known],
        "records": loaded.records,
    }
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"{file} is valid.")
    click.echo(f"  {found['cells']:,} cells: {' x '.join(f'{n} ({k:,})' for n, k in found['attributes'].items())}")
    click.echo(f"  policy hash {loaded.hash}")
    for fact in found["known_facts"]:
        click.echo(f"  public: {fact}")
    for sentence in words.unprotected or ("every two values are joined by a chain of secret pairs",):
        click.echo(f"  {'NOT protected' if words.unprotected else 'complete'}: {sentence}")


@policy.command()
@file_argument
@click.option("--pair", nargs=2, metavar="A B", help="""Two values as JSON: '{"age": 30}' '{"age": 60}'.""")
@as_json
def explain(file: str, pair: tuple[str, str] | None, as_json: bool) -> None:  # noqa: FBT001
    """Say in plain words what FILE protects, how strongly, and what it does not."""
    loaded = load_policy(file)
    if pair is None:
        click.echo(json.dumps({"explanation": loaded.explain()}) if as_json else loaded.explain())
        return
    first, second = (_record(text) for text in pair)
    hops = loaded.distance(first, second)
    if as_json:
        steps = None if isinf(hops) else hops
        click.echo(json.dumps({"first": first, "second": second, "protected": steps is not None, "steps": steps}))
    else:
        click.echo(explain_pair(loaded, first, second))


def load_policy(file: str) -> Policy:
    """Load the policy of a file, showing warnings as sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BlowfishWarning)
        loaded = spec.load(file).policy
    for warning in caught:
        click.echo(f"{click.style('Warning:', fg='yellow')} {warning.message}", err=True)
    return loaded


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise SpecError(f"{text!r} is not a value.", hint="""write it as JSON: '{"age": 30}'.""")
    return record
