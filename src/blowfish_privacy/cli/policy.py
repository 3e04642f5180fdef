"""``blowfish policy``: check a policy file, and hear what it protects."""

from __future__ import annotations

import json
from math import isinf
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.output import as_json, file_argument, load_file, print_json, print_table
from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.errors import BlowfishError, RefusalError, SpecError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import explain_pair, unprotected
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.overview import overview
from blowfish_privacy.support.exact import show
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task


@click.group()
def policy() -> None:
    """Check a policy file, and hear what it protects."""


@policy.command()
@file_argument
@click.option("--picture", metavar="PNG", help="Where to draw the policy graph of known facts; - for nowhere.")
@as_json
def check(file: str, picture: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Say whether FILE is valid, how much common queries can change, and what is left unprotected.

    With known facts, the policy graph is drawn beside the file unless --picture says otherwise.
    """
    loaded = load_file(file).policy
    drawn = _draw(loaded, str(Path(file).with_suffix(".facts.png")) if picture is None else picture)
    left_out = unprotected(loaded)
    found: dict[str, Any] = {
        "valid": True,
        "hash": loaded.hash,
        "cells": loaded.domain.size,
        "attributes": {name: loaded.domain[name].size for name in loaded.domain},
        "connected": loaded.connected,
        "unprotected": list(left_out),
        "known_facts": [fact.words(loaded.domain) for fact in loaded.known],
        "records": loaded.records,
        "sensitivities": common_sensitivities(loaded),
        "picture": drawn,
    }
    if as_json:
        print_json(found)
        return
    echo(f"{file} is valid.")
    echo(f"  {found['cells']:,} cells: {' x '.join(f'{n} ({k:,})' for n, k in found['attributes'].items())}")
    echo(f"  policy hash {loaded.hash}")
    for fact in found["known_facts"]:
        echo(f"  public: {fact}")
    for sentence in left_out or ("every two values are joined by a chain of secret pairs",):
        echo(f"  {'NOT protected' if left_out else 'complete'}: {sentence}")
    echo("\nHow much one secret step can change common queries (the noise is that much over epsilon):")
    rows = [[row["query"], row["sensitivity"] or "refused", row["note"]] for row in found["sensitivities"]]
    print_table(["query", "sensitivity", ""], rows)
    if loaded.known:
        from blowfish_privacy.policies.fact_words import what_facts_do

        echo("\nWhat the known facts do:")
        for sentence in what_facts_do(loaded):
            echo(f"  - {sentence}")
    if drawn is not None:
        echo(f"\nThe policy graph is drawn in {drawn}.")


def _draw(loaded: Policy, path: str) -> str | None:
    if not loaded.known or path == "-":
        return None
    from blowfish_privacy.results.pictures.figure import png
    from blowfish_privacy.results.pictures.policy_graph import draw_policy_graph

    try:
        with task("Drawing the policy graph"):
            write_atomically(path, png(draw_policy_graph(loaded)))
    except RefusalError:
        warn("the policy graph is too large to draw.")
        return None
    return path


@policy.command()
@file_argument
@click.option("--pair", nargs=2, metavar="A B", help="""Two values as JSON: '{"age": 30}' '{"age": 60}'.""")
@as_json
def explain(file: str, pair: tuple[str, str] | None, as_json: bool) -> None:  # noqa: FBT001
    """Say in plain words what FILE protects, how strongly, and what it does not."""
    loaded = load_file(file).policy
    if pair is None:
        print_json({"explanation": loaded.explain()}) if as_json else echo(loaded.explain())
        return
    first, second = (record(text) for text in pair)
    hops = loaded.distance(first, second)
    if as_json:
        steps = None if isinf(hops) else hops
        print_json({"first": first, "second": second, "protected": steps is not None, "steps": steps})
    else:
        echo(explain_pair(loaded, first, second))


def common_sensitivities(loaded: Policy) -> list[dict[str, Any]]:
    """Derive the sensitivities of the queries people ask first."""
    return [_row(title, query, loaded) for title, query in overview(loaded.domain)]


def _row(title: str, query: Query, loaded: Policy) -> dict[str, Any]:
    try:
        value = sensitivity(query, loaded).value
    except BlowfishError as error:
        return {"query": title, "sensitivity": None, "note": error.message}
    free = "follows from the known facts" if loaded.known else "published exactly, without noise"
    return {"query": title, "sensitivity": show(value), "note": "" if value else free}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def record(text: str) -> dict[str, Any]:
    """Read a value given on the command line."""
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise SpecError(f"{text!r} is not a value.", hint="""write it as JSON: '{"age": 30}'.""")
    return found
