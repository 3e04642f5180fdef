"""A CSV file: the header is read here, every field arrives as text, and nothing is guessed from a sample.

The first line names the columns. Fields are separated by a comma, or by a semicolon, tab or bar if the header
has more fields that way; quoted by double quotes, doubled inside; encoded in UTF-8. What the text of a field
may be is said in :mod:`blowfish_privacy.engines.sql.text`.
"""

from __future__ import annotations

import csv
from glob import escape

from sqlglot import exp

from blowfish_privacy.engines.sources.in_memory_duckdb import InMemoryDuckDB
from blowfish_privacy.engines.sources.sources import Listing, StoredSource
from blowfish_privacy.engines.sql.columns import UNPARSED, ColumnType
from blowfish_privacy.engines.sql.faults import shielded
from blowfish_privacy.errors import DataError

_SEPARATORS = (",", ";", "\t", "|")


class CSVSource(StoredSource):
    """One CSV file."""

    label = "CSV"

    def __init__(self, path: str, memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB([path], memory_limit))
        self._path = path

    def listing(self) -> Listing:
        """Take the fields of the first line for names, and every column for text."""
        separator, names = self._header()
        return Listing(names, self._reader(separator, len(names)))

    def column_types(self, query: exp.Select) -> list[ColumnType]:
        """Leave it to the declaration what the text stands for."""
        return [UNPARSED] * len(query.expressions)

    def _header(self) -> tuple[str, list[str]]:
        def read() -> list[tuple[str, list[str]]]:
            return [(separator, self._fields(separator)) for separator in _SEPARATORS]

        separator, names = max(shielded(read, "the first line of the CSV file"), key=lambda header: len(header[1]))
        if not names:
            raise DataError("the CSV file has no header.", hint="its first line must name the columns.")
        return separator, names

    def _fields(self, separator: str) -> list[str]:
        with open(self._path, encoding="utf-8-sig", newline="") as file:
            try:
                return next(csv.reader(file, delimiter=separator, strict=True), [])
            except csv.Error:
                return []

    def _reader(self, separator: str, width: int) -> exp.Table:
        columns = [
            exp.PropertyEQ(this=exp.Literal.string(f"a{index}"), expression=exp.Literal.string("VARCHAR"))
            for index in range(width)
        ]
        options: dict[str, exp.Expr] = {
            "auto_detect": exp.false(),
            "header": exp.true(),
            "delim": exp.Literal.string(separator),
            "quote": exp.Literal.string('"'),
            "escape": exp.Literal.string('"'),
            "nullstr": exp.Literal.string(""),
            "allow_quoted_nulls": exp.false(),
            "columns": exp.Struct(expressions=columns),
        }
        settings = [exp.EQ(this=exp.column(name), expression=value) for name, value in options.items()]
        file = exp.array(exp.Literal.string(escape(self._path)))
        return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[file, *settings]))
