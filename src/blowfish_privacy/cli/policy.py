"""``blowfish policy``: check a policy file, and hear what it protects."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.cli.terminal import (
    as_json,
    echo,
    file_argument,
    keep_others,
    load_file,
    print_json,
    print_table,
    warn,
)
from blowfish_privacy.errors import RefusalError, SpecError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import explain_pair, explain_policy, what_facts_do
from blowfish_privacy.statements.policy import pair_view, policy_view, unprotected_after_budget
from blowfish_privacy.support.exact import rounded_up
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task
from blowfish_privacy.support.text import read_object


@click.group()
def policy() -> None:
    """Check a policy file, and hear what it protects."""


@policy.command()
@file_argument
@click.option("--picture", metavar="FILE", help="Where to draw the policy graph of known facts; - for nowhere.")
@as_json
def check(file: str, picture: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Say whether FILE is valid, how much common queries can change, and what is left unprotected.

    With known facts, the policy graph is drawn beside the file unless --picture says otherwise.
    """
    opened = load_file(file)
    loaded = opened.policy
    drawn = _draw(loaded, Path(file), str(Path(file).with_suffix(".facts.png")) if picture is None else picture)
    view: dict[str, Any] = {**policy_view(loaded, opened.budget), "picture": drawn}
    if as_json:
        print_json(view)
        return
    echo(f"{file} is valid.")
    echo(f"  {view['cells']:,} cells: {' x '.join(f'{n} ({k:,})' for n, k in view['attributes'].items())}")
    echo(f"  policy hash {loaded.hash}")
    for fact in view["known_facts"]:
        echo(f"  public: {fact}")
    left_out = view["unprotected"]
    for sentence in left_out:
        echo(f"  NOT protected: {sentence}")
    for sentence in view["in_name_only"]:
        echo(f"  {sentence}")
    if not left_out and not view["in_name_only"]:
        echo("  complete: every two values are joined by a chain of secret pairs")
    echo("\nHow much one secret step can change common queries (the noise is that much over epsilon):")
    rows = [[row["query"], _bound(row["sensitivity"]), row["note"]] for row in view["sensitivities"]]
    print_table(["query", "sensitivity", ""], rows)
    if loaded.known:
        echo("\nWhat the known facts do:")
        for sentence in what_facts_do(loaded):
            echo(f"  - {sentence}")
    if drawn is not None:
        echo(f"\nThe policy graph is drawn in {drawn}.")


def _bound(sensitivity: str | None) -> str:
    return "refused" if sensitivity is None else rounded_up(Fraction(sensitivity))


def _draw(loaded: Policy, file: Path, path: str) -> str | None:
    if not loaded.known or path == "-":
        return None
    # A policy without known facts needs no library of graphs.
    from blowfish_privacy.results.pictures.figure import POLICY, drawn_from, ending_of, picture
    from blowfish_privacy.results.pictures.policy_graph import draw_policy_graph

    ending = ending_of(path)
    keep_others(path, "picture of this file's facts", partial(drawn_from, file.name, origin=POLICY), option="--picture")
    try:
        with task("Drawing the policy graph"):
            drawn = picture(draw_policy_graph(loaded), ending, document=file.name, origin=POLICY)
            write_atomically(path, drawn)
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
    opened = load_file(file)
    loaded = opened.policy
    if pair is None:
        explained = explain_policy(loaded, unprotected_after_budget(loaded, opened.budget))
        print_json({"explanation": explained}) if as_json else echo(explained)
        return
    first, second = (record(text) for text in pair)
    if as_json:
        print_json(pair_view(loaded, first, second))
    else:
        echo(explain_pair(loaded, first, second))


def record(text: str) -> dict[str, Any]:
    """Read a value given on the command line."""
    value = read_object(text)
    if value is None:
        raise SpecError(f"{text!r} is not a value.", hint="""write it as JSON: '{"age": 30}'.""")
    return value
