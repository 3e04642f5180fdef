"""What a table looks like from outside: the names of its columns and the kinds of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from blowfish_privacy.domain import Attribute
from blowfish_privacy.engines.engine import open_engine
from blowfish_privacy.engines.sql.columns import ColumnType, Kind, accepts
from blowfish_privacy.errors import DataError

_WORDS: dict[Kind, str] = {
    "integer": "whole numbers",
    "decimal": "decimal numbers",
    "float": "floating-point numbers",
    "text": "text",
    "enum": "text from a list",
    "boolean": "true or false",
    "date": "dates",
    "timestamp": "times",
    "instant": "times with a time zone",
    "unparsed": "as declared",
    "null": "nothing",
    "other": "of a type that cannot be declared",
}
_NUMBER_OR_DATE = re.compile(r"[-+]?[0-9.,:/ -]*[0-9][0-9.,:/ eE%-]*")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, and what kind of values it holds."""

    name: str
    kind: Kind

    def fits(self, attribute: Attribute) -> bool:
        """Say whether the column can hold an attribute's values; in a file of text, only the values tell."""
        return accepts(attribute, ColumnType(self.kind))

    @property
    def words(self) -> str:
        """Say what it holds; a file of text holds what is declared."""
        return _WORDS[self.kind]


def describe(data: object) -> list[Column]:
    """Name the columns of data that an engine can open, and their kinds, without reading a row.

    Data without names of their own have no columns. Where a file of text lacks its first line of names, a row stands
    there instead: what looks like one is refused without being told.
    """
    engine = open_engine(data)
    try:
        listed = getattr(engine, "columns", None)
        if listed is None:
            raise DataError("these data have no named columns.", hint="declare the attributes in their order.")
        columns = [Column(name, kind) for name, kind in listed()]
    finally:
        engine.close()
    if any(column.kind == "unparsed" for column in columns):
        _check_header([column.name for column in columns])
    return columns


def _check_header(names: Sequence[str]) -> None:
    if all(name.strip() and not _NUMBER_OR_DATE.fullmatch(name) for name in names) and len({*names}) == len(names):
        return
    raise DataError(
        "the first line of the file does not look like names of columns.",
        hint="it must name every column, each differently and not by a number: add such a line.",
    )
