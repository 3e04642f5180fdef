"""A picture of the library's rooms and what they import, read from the sources.

``python -m docs.rooms PROJECT PICTURE`` draws it (``make map``). Support and errors, which every room uses, are
left out, and so is a line where a chain of others says the same.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx

from blowfish_privacy.support.files import write_atomically

Rooms: TypeAlias = Mapping[str, set[str]]
"""The rooms that each room imports."""

_PACKAGES = ("blowfish_privacy", "blowfish_lab")
_EVERYWHERE = ("support", "errors", "version")
_WIDTH, _HEIGHT, _GAP = 140, 36, 24


def layers(project: Path) -> list[list[str]]:
    """Return the rooms from top to bottom, as the contract on imports states them."""
    contract = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [[_short(name.strip()) for name in layer.split("|")] for layer in contract["layers"]]


def rooms(project: Path, names: Iterable[str]) -> Rooms:
    """Go through the sources of every room."""
    imported: dict[str, set[str]] = {name: set() for name in names}
    for package in _PACKAGES:
        for file in sorted((project / "src" / package).rglob("*.py")):
            module = ".".join(file.relative_to(project / "src").with_suffix("").parts)
            room = _room(module, imported)
            if room is not None:
                used = {_room(name, imported) for name in _imports(ast.parse(file.read_text(encoding="utf-8")))}
                imported[room] |= {name for name in used if name is not None and name != room}
    return imported


def draw(project: Path) -> str:
    """Draw the rooms of a project, each above those that it imports."""
    imported = rooms(project, [name for row in layers(project) for name in row])
    shown = [name for name in imported if name not in _EVERYWHERE]
    lines = nx.transitive_reduction(nx.DiGraph([(name, used) for name in shown for used in imported[name] & {*shown}]))
    positions = _positions(lines, shown)
    columns, levels = (1 + max(position[axis] for position in positions.values()) for axis in (0, 1))
    width, height = columns * (_WIDTH + _GAP) + _GAP, levels * (_HEIGHT + 2 * _GAP)
    parts = [
        *(_line(positions[above], positions[below]) for above, below in sorted(lines.edges)),
        *(_box(name, positions[name]) for name in positions),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" role="img"><title>The rooms, and what they stand on</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _positions(lines: Any, shown: list[str]) -> dict[str, tuple[float, float]]:
    """Give each room a column and a level: below all that import it, near the middle of these."""
    levels: dict[str, int] = {}
    for name in nx.topological_sort(lines):
        levels[name] = max((levels[above] + 1 for above in lines.predecessors(name)), default=0)
    widest = max(list(levels.values()).count(level) for level in levels.values())
    positions: dict[str, tuple[float, float]] = {}
    for level in range(1 + max(levels.values())):
        row = [name for name in shown if levels[name] == level]
        row.sort(key=lambda name: _mean(positions[above][0] for above in lines.predecessors(name)))
        for at, name in enumerate(row):
            positions[name] = at + (widest - len(row)) / 2, level
    return positions


def _mean(numbers: Iterable[float]) -> float:
    listed = [*numbers]
    return sum(listed) / len(listed) if listed else 0.0


def _centre(position: tuple[float, float]) -> tuple[float, float]:
    return _GAP + _WIDTH / 2 + position[0] * (_WIDTH + _GAP), _GAP + position[1] * (_HEIGHT + 2 * _GAP)


def _line(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x, y), (u, v) = _centre(above), _centre(below)
    top, away = y + _HEIGHT, below[1] - above[1]
    # A line past other rows bends around the box in its way.
    side = (_WIDTH + _GAP) * 0.62 * (1 if u >= x else -1) if away > 1 and abs(u - x) < _WIDTH else 0
    control = f"{x + side:g} {top + 2 * _GAP:g} {u + side:g} {v - 2 * _GAP:g}"
    return f'<path d="M{x:g} {top:g} C{control} {u:g} {v:g}" fill="none" stroke="#7a8b99" stroke-width="1.5"/>'


def _box(name: str, position: tuple[float, float]) -> str:
    x, y = _centre(position)
    return (
        f'<rect x="{x - _WIDTH / 2:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef6f3" '
        f'stroke="#1f9e89"/><text x="{x:g}" y="{y + 23:g}" text-anchor="middle" font-size="14">{escape(name)}</text>'
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
