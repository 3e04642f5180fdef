"""What the page in the browser draws, as plain values, and what Python answers about a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.release import spec
from blowfish_privacy.results.pictures.figure import svg
from blowfish_privacy.statements.facts import facts_view
from blowfish_privacy.statements.policy import graph_view, reach
from blowfish_privacy.studio.charts.plans import (
    balances,
    by_amount,
    by_part,
    by_size,
    error_bars,
    facts_chart,
    graph_chart,
    steps_chart,
)
from blowfish_privacy.studio.charts.results import pictures_of
from blowfish_privacy.studio.planning import Planning
from documents.fixed import stable, stable_picture

_WRITES = ("csv", "draw", "figure", "parquet", "pdf", "plot", "png", "save", "svg", "to_", "error_figure", "kinds")
_MOST = 2_000


def policy_pictures(path: str) -> Iterator[tuple[str, str]]:
    """Draw the secrets of each attribute, as the page does, and what known facts do to releases."""
    file = spec.load_in_part(path)
    policy, drawn = file.policy, dict[str, Any]()
    for name in policy.domain.names:
        try:
            view, last = graph_view(policy, name), policy.domain[name].size - 1
        except bp.BlowfishError as error:
            drawn[name] = str(error)
        else:
            # Where each dot is, is layout: a circle of them is computed with sines.
            drawn[name] = [
                view.sentence,
                graph_chart(view, 0, min(1, last)),
                steps_chart(reach(policy, name, 0), name, last),
            ]
    yield "studio secrets", plain(drawn)
    if policy.known:
        effects = facts_view(policy, file.releases)
        said = [[each.release, each.words] for each in effects.together]
        yield "studio facts", plain([said, facts_chart(effects.together)])


def plan_pictures(path: str) -> Iterator[tuple[str, str]]:
    """Draw the errors of all plans, and what they take from the budget."""
    file = spec.load_in_part(path)
    planning, drawn = Planning.of(file, Path()), dict[str, Any]()
    for outcome in planning.outcomes:
        if outcome.said is None:
            drawn[outcome.name] = str(outcome.problem)
            continue
        said = outcome.said
        # How many amounts are tried depends on how long planning took.
        said.seconds = 1.0
        drawn[outcome.name] = {
            "accuracy": [said.accuracy, error_bars(said.accuracy)],
            "by size": said.by_size and [said.by_size, by_size(said.by_size)],
            "by part": said.by_part and [said.by_part, by_part(said.by_part)],
            "by amount": said.by_amount and [said.by_amount, by_amount(said.by_amount)],
        }
    names = [outcome.name for outcome in planning.outcomes]
    rows = planning.shares(names)
    if isinstance(rows, list):
        drawn["budget"] = [rows, balances(rows, names, "1", "epsilon")]
    yield "studio plans", plain(drawn)


def result_views(document: str) -> Iterator[tuple[str, str]]:
    """Draw a result as the page does, draw its errors, and ask it all that needs no argument."""
    result = bp.load(document)
    yield "studio", _tried(lambda: plain([asdict(each) for each in pictures_of(result)]))
    if hasattr(result, "error_figure"):
        yield "error svg", _tried(lambda: stable_picture(svg(result.error_figure()).decode()))
    yield "python", plain(answers(result))


def _tried(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except bp.BlowfishError as error:
        return f"{type(error).__name__}: {error.message}"


def answers(result: Any) -> Any:
    """Ask a result, or each of its groups, all that it says without an argument."""
    if isinstance(result, Mapping) and not hasattr(result, "values_shown"):
        groups = {str(key): answers(each) for key, each in result.items() if hasattr(each, "statement")}
        if groups:
            return groups
    said: dict[str, Any] = {"repr": repr(result)}
    for name in dir(result):
        if not name.startswith(("_", *_WRITES)):
            answer = _answer(result, name)
            if answer is not None:
                said[name] = answer
    return said


def _answer(result: Any, name: str) -> Any:
    try:
        value = getattr(result, name)
        if callable(value):
            if any(each.default is Parameter.empty for each in signature(value).parameters.values()):
                return None
            value = value()
        return simple(value)
    except bp.BlowfishError as error:
        return f"{type(error).__name__}: {error.message}"


def simple(value: Any) -> Any:
    """Turn an answer into plain values; None for what is no answer but an object of the library."""
    if isinstance(value, np.ndarray):
        return simple(value.tolist())
    if isinstance(value, Fraction | np.generic):
        return str(value)
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): simple(each) for key, each in islice(value.items(), _MOST)}
    if hasattr(value, "csv"):
        return value.csv().decode()
    if hasattr(value, "rmse"):
        return {"of": value.of, "rmse": value.rmse, "interval": value.interval("0.95")}
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [simple(each) for each in islice(iter(value), _MOST)]
    return None


def plain(value: Any) -> str:
    """Write plain values as JSON, one to a line, in the order that they have."""
    return stable(json.dumps(value, indent=1, ensure_ascii=False, default=str))
