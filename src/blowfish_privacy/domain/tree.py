"""Reading the tree of a hierarchy, from nested mappings and lists or from a CSV file of levels."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from blowfish_privacy.errors import DomainError, brief, brief_name
from blowfish_privacy.support.limits import FILE_CHARACTERS, HIERARCHY_LEAVES

Leaf: TypeAlias = str | int
TreePath: TypeAlias = tuple[Leaf, ...]


def check_levels(levels: object, reserved: str) -> tuple[str, ...]:
    """Return the names of levels, or refuse them."""
    if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
        raise DomainError(f"levels must be a list of names, got {brief(levels)}.", hint='["state", "county"].')
    for name in levels:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or reserved in name:
            raise DomainError(f"the name of a level must be text without {reserved!r}, got {brief_name(name)}.")
    if len(set(levels)) < len(levels):
        raise DomainError("two levels have the same name.")
    return tuple(levels)


def leaves(levels: Sequence[str], tree: object) -> tuple[TreePath, ...]:
    """Return the path to each leaf of nested mappings and lists, from left to right."""
    found: list[TreePath] = []
    parents: list[dict[Leaf, TreePath]] = [{} for _ in levels]
    for path in _walk(tree, len(levels), ()):
        _check_parents(path, parents, levels)
        found.append(path)
        if len(found) > HIERARCHY_LEAVES:
            raise DomainError(
                f"a hierarchy has at most {HIERARCHY_LEAVES:,} leaves.", hint="leave out the lowest level."
            )
    return tuple(found)


def _walk(tree: Any, depth: int, above: TreePath) -> Iterator[TreePath]:
    branches: Iterable[tuple[Any, Any]]
    if depth > 1 and isinstance(tree, Mapping):
        branches = tree.items()
    elif depth == 1 and isinstance(tree, list | tuple):
        branches = ((name, None) for name in tree)
    else:
        raise DomainError(
            f"{_said(above)} must be a {'mapping' if depth > 1 else 'list'}, got {brief(tree)}.",
            hint="every leaf is equally deep: a mapping for each level but the last, and lists of names there.",
        )
    if not tree:
        raise DomainError(f"{_said(above)} is empty.", hint="leave it out.")
    for name, below in branches:
        fitting = isinstance(name, str) or (depth == 1 and isinstance(name, int) and not isinstance(name, bool))
        if not fitting or (isinstance(name, str) and not name.strip()):
            raise DomainError(
                f"{_said(above)} has the name {brief_name(name)}, which is not text.",
                hint="names are not empty; put quotes around one that looks like a number.",
            )
        if depth > 1:
            yield from _walk(below, depth - 1, (*above, name))
        else:
            yield (*above, name)


def _said(above: TreePath) -> str:
    return f"the branch {' > '.join(map(brief, above))}" if above else "the tree"


def _check_parents(path: TreePath, parents: Sequence[dict[Leaf, TreePath]], levels: Sequence[str]) -> None:
    """Refuse a name that stands below two others."""
    for depth, (name, level) in enumerate(zip(path, levels, strict=True)):
        above = parents[depth].setdefault(name, path[:depth])
        if above != path[:depth]:
            raise DomainError(
                f"the {level} {brief(name)} is in two places: {_said(above)} and {_said(path[:depth])}.",
                hint="a name stands for one thing on its level; add what tells the two apart.",
            )


def nested(paths: Sequence[TreePath]) -> Any:
    """Return the tree with these paths, as nested mappings and lists."""
    if len(paths[0]) == 1:
        return [leaf for (leaf,) in paths]
    below: dict[Leaf, list[TreePath]] = {}
    for name, *rest in paths:
        below.setdefault(name, []).append(tuple(rest))
    return {name: nested(rest) for name, rest in below.items()}


def read_csv(path: str | PathLike[str]) -> tuple[list[str], Any]:
    """Read the levels and the tree from a CSV file: a column for each level, a row for each leaf."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            text = file.read(FILE_CHARACTERS + 1)
        rows = _rows(text)
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV in UTF-8"
        raise DomainError(f"the hierarchy in {brief(str(path))} cannot be read: {reason}.") from None
    if len(text) > FILE_CHARACTERS:
        raise DomainError(f"the file of a hierarchy has at most {FILE_CHARACTERS:,} characters.")
    return _tree(rows)


def read_levels(text: str) -> tuple[list[str], Any]:
    """Read the same from a text, whatever stands around a name: lines of levels as a person types or pastes them."""
    try:
        rows = _rows(text.replace("\t", ","))
    except csv.Error:
        raise DomainError("the lines of a hierarchy cannot be read.", hint="write names with commas between.") from None
    return _tree([[name.strip() for name in row] for row in rows if any(name.strip() for name in row)])


def _rows(text: str) -> list[list[str]]:
    return [row for row in csv.reader(StringIO(text, newline=""), strict=True) if row]


def _tree(rows: list[list[str]]) -> tuple[list[str], Any]:
    levels, *places = rows or [[]]
    if not places or not levels:
        raise DomainError(
            "the file of a hierarchy has no rows.", hint="its first line names the levels, and each other line a leaf."
        )
    uneven = next((number for number, row in enumerate(places, 1) if len(row) != len(levels)), None)
    if uneven is not None:
        raise DomainError(
            f"row {uneven} of the hierarchy has {len(places[uneven - 1])} names, and there are {len(levels)} levels.",
            hint="every leaf is equally deep; repeat a name where a level is missing.",
        )
    return levels, nested([tuple(row) for row in places])
