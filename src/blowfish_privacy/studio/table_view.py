"""What the studio knows of the table: its columns and their kinds; and, when the custodian asks, how it fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from blowfish_privacy.domain import Attribute
from blowfish_privacy.engines import Column, describe, open_engine
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.policies import Policy
from blowfish_privacy.release.checks import PolicyCheck, check_data
from blowfish_privacy.studio.attribute_form import AttributeForm
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.value_text import declared

Answer = TypeVar("Answer")
_FEW, _SHORT = 8, 60
"""How many categories are named, and how many characters their names may have."""


@dataclass(frozen=True)
class Row:
    """A column of the table, an attribute of the file, or both."""

    name: str
    holds: str
    """What the column holds, in words; that there is no such column, if so."""
    said: str
    """How it is declared, in words; empty if it is not."""
    column: Column | None = None
    fits: bool = True
    """Whether the column can hold what is declared."""


def columns_of(data: str) -> list[Column] | Problem:
    """Name the columns of a table, or say why not."""
    return _tried(lambda: describe(data))


def check_of(data: str, policy: Policy) -> PolicyCheck | Problem:
    """Count, for the custodian's eyes only, how the rows of a table fit a policy."""

    def check() -> PolicyCheck:
        engine = open_engine(data)
        try:
            return check_data(engine, policy)
        finally:
            engine.close()

    return _tried(check)


def rows_of(columns: list[Column] | None, attributes: Mapping[str, Attribute]) -> list[Row]:
    """List the columns in their order, and after them the attributes that no column has."""
    named = {column.name for column in columns or ()}
    rows = [_row(each, attributes.get(each.name)) for each in columns or ()]
    absent = "" if columns is None else "no such column in the table"
    return [*rows, *(Row(name, absent, _said(attributes[name])) for name in attributes if name not in named)]


def _row(column: Column, attribute: Attribute | None) -> Row:
    fits = attribute is None or column.fits(attribute)
    return Row(column.name, column.words, _said(attribute), column, fits)


def first_rows(rows: list[Row], most: int, wanted: str = "") -> list[Row]:
    """Choose what is shown of very many columns: those whose names hold some text, declared ones in any case."""
    found = [row for row in rows if wanted.strip().casefold() in row.name.casefold()]
    return [row for number, row in enumerate(found) if number < most or row.said]


def first_form(column: Column | None) -> AttributeForm:
    """Begin a declaration with what the kind of a column suggests; nothing of its values is looked at."""
    kind = column.kind if column else "unparsed"
    if kind in ("float", "decimal"):
        return AttributeForm("binned")
    if kind in ("date", "timestamp", "instant"):
        return AttributeForm("date", step="day")
    if kind == "boolean":
        return AttributeForm("categorical", categories="false\ntrue", values="truth")
    if kind in ("text", "enum"):
        return AttributeForm("categorical")
    return AttributeForm("integer")


def place_of(data: str | None, folder: Path) -> str:
    """Say where a table is, in full; nothing for an address, which says it by itself."""
    if data is None or "://" in data or data.startswith("spark:"):
        return ""
    return str((folder / data).absolute().parent)


def _said(attribute: Attribute | None) -> str:
    if attribute is None:
        return ""
    words = [_values(attribute)]
    if attribute.outside == "clamp":
        words.append("values outside count as the nearest")
    if attribute.missing_position is not None:
        words.append(f"missing ones count as {attribute.say(attribute.missing_position)}")
    return "; ".join(words)


def _values(attribute: Attribute) -> str:
    """Say what the values are, and which, if they are few."""
    words = declared(attribute)
    if attribute.ordered or attribute.size > _FEW:
        return words
    named = ", ".join(attribute.texts())
    return f"{words}: {named}" if len(named) <= _SHORT else words


def _tried(act: Callable[[], Answer]) -> Answer | Problem:
    try:
        return act()
    except BlowfishError as error:
        return Problem.of(error)
    except Exception as error:
        # What is not ours may quote a value of the data, so only its kind is said.
        return Problem(f"the table cannot be read ({type(error).__name__}).", "look at the file or the address.")
