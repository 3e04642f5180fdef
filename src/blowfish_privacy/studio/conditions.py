"""Choices of values, as a person types them and as a file writes them: ``25 to 54``, ``North, South``, ``Female``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from blowfish_privacy.domain import Attribute
from blowfish_privacy.studio.amounts import written
from blowfish_privacy.support import yaml_text

_TO = " to "


def condition_text(chosen: Any, attribute: Attribute | None) -> str:
    """Write a choice of values for a field of a form."""
    if isinstance(chosen, Mapping):
        return _range_text(chosen["range"]) if "range" in chosen else _list_text(chosen["values"])
    if not isinstance(chosen, list):
        return _text(chosen)
    plain = not any(isinstance(part, list) for part in chosen)
    if len(chosen) == 2 and plain and attribute is not None and attribute.ordered:
        return _range_text(chosen)
    return _list_text(chosen)


def read_condition(text: str, attribute: Attribute) -> Any:
    """Read a choice of values as a file writes it: one, a range of an ordered attribute, or several."""
    whole = text.strip()
    if not attribute.ordered and whole in _spelt(attribute):
        # A value may hold a comma itself.
        return _spelt(attribute)[whole]
    parts = [_part(part, attribute) for part in whole.split(",") if part.strip()]
    if len(parts) == 1:
        return parts[0]
    two_values = len(parts) == 2 and attribute.ordered and not any(isinstance(part, list) for part in parts)
    return {"values": parts} if two_values else parts


def ranges_text(ranges: Sequence[Sequence[Any]]) -> str:
    """Write ranges for a field of a form."""
    return ", ".join(map(_range_text, ranges))


def numbers_text(numbers: Sequence[Any]) -> str:
    """Write a list of numbers for a field of a form."""
    return ", ".join(map(_text, numbers))


def read_list(text: str) -> list[Any]:
    """Read a list of numbers or names, separated by commas."""
    return [_value(part) for part in text.split(",") if part.strip()]


def tables_text(tables: Sequence[Sequence[str]]) -> str:
    """Write tables for a field of a form: one in each line."""
    return "\n".join(", ".join(names) for names in tables)


def read_tables(text: str) -> list[list[str]]:
    """Read tables: one in each line, its attributes separated by commas."""
    lines = ([name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines())
    return [names for names in lines if names]


def _part(text: str, attribute: Attribute) -> Any:
    if attribute.ordered:
        ends = text.split(_TO) if _TO in text else [text]
        return [_value(end) for end in ends] if len(ends) == 2 else _value(text)
    return _spelt(attribute).get(text.strip(), text.strip())


def _spelt(attribute: Attribute) -> dict[str, Any]:
    """Return the values of an attribute without an order, by their spelling."""
    return {attribute.show(position): attribute.value(position) for position in range(min(attribute.size, 10_000))}


def _value(text: str) -> Any:
    """Read a number or a text as a file does."""
    return yaml_text.parse(text.strip()) if text.strip().lstrip("+-")[:1].isdigit() else text.strip()


def _range_text(ends: Sequence[Any]) -> str:
    return _TO.join(map(_text, ends))


def _list_text(values: Sequence[Any]) -> str:
    return ", ".join(_range_text(value) if isinstance(value, list) else _text(value) for value in values)


def _text(value: Any) -> str:
    return (
        written(value) if isinstance(value, Decimal) else str(value).lower() if isinstance(value, bool) else str(value)
    )
