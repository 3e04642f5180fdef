"""How new values look in a policy file: small ones between brackets, the larger structure in lines of its own."""

from __future__ import annotations

import re
from typing import Any

from blowfish_privacy.support import yaml_text

WIDTH = 110
"""How long a line may become."""
_STRUCTURE = 2
"""Down to which level mappings of mappings are written in lines: a policy's domain and its secrets."""
_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9_ ]*[A-Za-z0-9_])?")
_RESERVED = frozenset({"true", "false", "null"})


def inline(value: Any, column: int = 0, used: int = 0) -> str:
    """Write a value between brackets, after ``used`` characters of a line that begins in some column.

    Where it is long, it has several lines, which begin four columns further in.
    """
    pieces = _pieces(value)
    lines, length = [pieces[0]], column + used + len(pieces[0])
    for piece in pieces[1:]:
        if length + 1 + len(piece) > WIDTH:
            lines.append(" " * (column + 4) + piece)
            length = len(lines[-1])
        else:
            lines[-1] += f" {piece}"
            length += 1 + len(piece)
    return "\n".join(lines)


def _pieces(value: Any) -> list[str]:
    """Write a value as texts between which a line may end."""
    if not isinstance(value, dict | list) or not value:
        return [_scalar(value)]
    if isinstance(value, list):
        entries = [_pieces(each) for each in value]
    else:
        entries = [[f"{_scalar(name)}: {first}", *rest] for name, (first, *rest) in _pairs(value)]
    pieces = [piece for *before, last in entries for piece in (*before, f"{last},")]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    pieces[0] = opening + pieces[0]
    pieces[-1] = pieces[-1].removesuffix(",") + closing
    return pieces


def _pairs(value: dict[Any, Any]) -> list[tuple[Any, list[str]]]:
    return [(name, _pieces(each)) for name, each in value.items()]


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.casefold() not in _RESERVED:
        return value
    return yaml_text.write_scalar(value)


def is_inline(value: Any, level: int, *, column: int, listed: bool = False) -> bool:
    """Decide whether a new value is written between brackets, at a level of nesting and a column."""
    if not isinstance(value, dict | list) or not value:
        return True
    if isinstance(value, list):
        return not any(isinstance(entry, dict) for entry in value)
    values = value.values()
    nested = any(isinstance(entry, dict) and entry for entry in values)
    if level == 0 or (nested and level <= _STRUCTURE and not listed):
        return False
    if nested and len(value) > 1 and not listed:
        return False
    simple = len(value) == 1 and not nested
    return simple or sum(len(piece) + 1 for piece in _pieces(value)) + column <= WIDTH


def entry(name: Any, value: Any, level: int, column: int) -> list[str]:
    """Write an entry of a mapping as lines, without the column of the mapping in front of them."""
    key = inline(name)
    if is_inline(value, level, column=column + len(key) + 2):
        return [f"{key}: {line}" if not at else line for at, line in _numbered(value, column, len(key) + 2)]
    return [f"{key}:", *(f"  {line}" for line in block(value, level, column + 2))]


def listed(value: Any, level: int, column: int) -> list[str]:
    """Write an entry of a list as lines, without the column of the list in front of them."""
    if is_inline(value, level, column=column + 2, listed=True):
        return [f"- {line}" if not at else line for at, line in _numbered(value, column, 2)]
    first, *rest = block(value, level, column + 2)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def block(value: Any, level: int, column: int) -> list[str]:
    """Write a collection in lines of its own, without its column in front of them."""
    if isinstance(value, list):
        return [line for each in value for line in listed(each, level + 1, column)]
    return [line for name, each in value.items() for line in entry(name, each, level + 1, column)]


def _numbered(value: Any, column: int, used: int) -> list[tuple[int, str]]:
    lines = inline(value, column, used).split("\n")
    return [(at, line if not at else line[column:]) for at, line in enumerate(lines)]
