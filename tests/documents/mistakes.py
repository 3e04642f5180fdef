"""The words of errors: policy files spoilt in every place, one at a time, and texts that are no policy files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

import blowfish_privacy as bp
from blowfish_privacy.release import spec
from documents.fixed import fixed, folder_of_its_own, stable
from documents.journeys import FILES
from documents.people import write_tables

_ODD: list[Any] = [None, True, -1, 0, 10**13, 0.1, float("nan"), "", "x", "1/0", [], [None], [[]], {}, {"x": 1}]
_PLACES = 40
"""The most places of one part of a file that are spoilt; a long list is the same in all places."""

TEXTS = {
    "empty": "",
    "only a remark": "# nothing yet\n",
    "no mapping": "- 1\n",
    "one word": "policy\n",
    "no version": "policy: {domain: {a: {integer: [0, 1]}}, secrets: full}\n",
    "another version": "version: 7\npolicy: {domain: {a: {integer: [0, 1]}}, secrets: full}\n",
    "no space": "version:1\npolicy: {}\n",
    "tab": "version: 1\n\tpolicy: {}\n",
    "twice": "version: 1\nversion: 1\n",
    "quotation mark": "version: 1\ndata: 'people.csv\n",
    "bracket": "version: 1\npolicy: {domain: {a: {integer: [0, 1}}}\n",
    "another bracket": "version: 1\npolicy: {domain: {a: {integer: [0, 1]}}}}\n",
    "colons": "version: 1\ndata: a: b\n",
    "backslash": 'version: 1\ndata: "C:\\people.csv"\n',
    "at": "version: 1\ndata: @people\n",
    "anchor": "version: 1\npolicy: &all {domain: {}}\n",
    "tag": "version: 1\npolicy: !!python/object:os.system {}\n",
    "indentation": "version: 1\npolicy:\n  domain: {}\n   secrets: full\n",
    "two documents": "version: 1\n---\nversion: 1\n",
    "table": "age,sex\n17,Male\n",
    "deep": "version: 1\npolicy: " + "[" * 200 + "]" * 200 + "\n",
}


def texts() -> Iterator[tuple[str, str]]:
    """Read what is no policy file."""
    for name, text in TEXTS.items():
        yield name, _read(text)


def mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Spoil a policy file in every place in every way, and collect what is said, part by part of the file."""
    body = yaml.safe_load((FILES / f"{name}.yaml").read_text())
    with folder_of_its_own() as folder, fixed(name):
        write_tables(folder)
        parts: dict[str, list[str]] = {}
        for path in _paths(body):
            part = ".".join(str(each) for each in path[:3] if not isinstance(each, int))
            said = parts.setdefault(part, [])
            if len(said) < _PLACES * (len(_ODD) + 4):
                said += [f"{path} {how}: {_read(text)}" for how, text in _spoilt(body, path)]
        yield from ((part, "\n".join(said)) for part, said in parts.items())


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(min(len(value), 4)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from _paths(value[key], (*path, key))


def _spoilt(body: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Write a file with one place changed: left out, renamed, repeated, wrapped, or replaced by something odd."""
    *before, last = path

    def changed(change: Any) -> str:
        copy = deepcopy(body)
        holder = copy
        for key in before:
            holder = holder[key]
        change(holder)
        return json.dumps(copy, default=str, indent=1)

    yield "left out", changed(lambda holder: holder.pop(last))
    if isinstance(last, str):
        yield "misspelt", changed(lambda holder: holder.update({f"{last[:-1]}": holder.pop(last)}))
    else:
        yield "repeated", changed(lambda holder: holder.append(holder[last]))
    yield "wrapped", changed(lambda holder: holder.__setitem__(last, [holder[last]]))
    for odd in _ODD:
        yield f"= {odd!r}", changed(lambda holder, odd=odd: holder.__setitem__(last, odd))


def _read(text: str) -> str:
    try:
        spec.loads(text, Path())
    except bp.BlowfishError as error:
        line = getattr(error, "line", None)
        return stable(f"{type(error).__name__} {error.exit_code} line {line}: {error.message} Hint: {error.hint}")
    return "fine"
