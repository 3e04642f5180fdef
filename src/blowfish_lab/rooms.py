"""A picture of the library's rooms and what they import, read from the sources.

``python -m blowfish_lab.rooms PROJECT PICTURE`` draws it (``make map``). A line is left out where a chain of others says
the same: a room may use whatever it leads to.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TypeAlias

import networkx as nx

from blowfish_privacy.support.files import write_atomically

Rooms: TypeAlias = Mapping[str, tuple[int, set[str]]]
"""Each room's number of lines, and the rooms it imports."""

_PACKAGES = ("blowfish_privacy", "blowfish_lab")
_WIDTH, _HEIGHT, _GAP, _MARGIN = 150, 44, 34, 20


def layers(project: Path) -> list[list[str]]:
    """Return the rooms from top to bottom, as the contract on imports states them."""
    contract = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [[_short(name.strip()) for name in layer.split("|")] for layer in contract["layers"]]


def rooms(project: Path, names: Iterable[str]) -> Rooms:
    """Go through the sources of every room."""
    found: dict[str, tuple[int, set[str]]] = {name: (0, set()) for name in names}
    for package in _PACKAGES:
        for file in sorted((project / "src" / package).rglob("*.py")):
            module = ".".join(file.relative_to(project / "src").with_suffix("").parts)
            room, text = _room(module, found), file.read_text(encoding="utf-8")
            if room is not None:
                lines, imported = found[room]
                used = {_room(name, found) for name in _imports(ast.parse(text))} - {room, None}
                found[room] = lines + text.count("\n"), imported | {name for name in used if name is not None}
    return found


def draw(project: Path) -> str:
    """Draw the rooms of a project, one row for each layer."""
    rows = layers(project)
    found = rooms(project, [name for row in rows for name in row])
    graph = nx.DiGraph([(name, used) for name, (_, imported) in found.items() for used in imported])
    lines = sorted(nx.transitive_reduction(graph).edges)
    width = 3 * (_WIDTH + _GAP) + 2 * _MARGIN
    places = {
        name: (width / 2 + (column - (len(row) - 1) / 2) * (_WIDTH + _GAP), _MARGIN + level * (_HEIGHT + _GAP))
        for level, row in enumerate(rows)
        for column, name in enumerate(row)
    }
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _GAP) - _GAP
    boxes = (_box(name, places[name], found[name][0]) for name in places)
    parts = [*(_line(places[a], places[b]) for a, b in lines), *boxes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" role="img"><title>The rooms, and what they stand on</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _line(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x, y), (u, v) = above, below
    bend = 0 if v - y <= _HEIGHT + _GAP or x != u else _WIDTH / 2 + 18
    middle = f"{x + bend:g} {y + _HEIGHT:g} {u + bend:g} {v:g}" if bend else f"{x:g} {v:g} {u:g} {y + _HEIGHT:g}"
    return f'<path d="M{x:g} {y + _HEIGHT:g} C{middle} {u:g} {v:g}" fill="none" stroke="#7a8b99" stroke-width="1.5"/>'


def _box(name: str, place: tuple[float, float], lines: int) -> str:
    x, y = place
    return (
        f'<rect x="{x - _WIDTH / 2:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef6f3" '
        f'stroke="#1f9e89"/><text x="{x:g}" y="{y + 19:g}" text-anchor="middle" font-size="14">{escape(name)}</text>'
        f'<text x="{x:g}" y="{y + 35:g}" text-anchor="middle" font-size="11" fill="#555">{lines:,} lines</text>'
    )


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _short(module: str) -> str:
    return module.removeprefix(f"{_PACKAGES[0]}.")


def _room(module: str, names: Iterable[str]) -> str | None:
    short = f"{_short(module)}."
    return next((name for name in names if short.startswith(f"{name}.")), None)


if __name__ == "__main__":
    write_atomically(Path(sys.argv[2]), draw(Path(sys.argv[1])).encode())
