"""A CSV file: the header is read here, every field arrives as text, and nothing is guessed from a sample.

The first line names the columns. Fields are separated by a comma, or by a semicolon, tab or bar if the header
has more fields that way; quoted by double quotes, doubled inside; encoded in UTF-8. What the text of a field
may be is said in :mod:`blowfish_privacy.engines.sql.text`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from glob import escape

from sqlglot import exp

from blowfish_privacy.engines.sources.in_memory_duckdb import InMemoryDuckDB
from blowfish_privacy.engines.sources.sources import Listing, StoredSource, check_width
from blowfish_privacy.engines.sql.columns import UNPARSED, ColumnType
from blowfish_privacy.engines.sql.faults import shielded
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.limits import HEADER_BYTES

_SEPARATORS = (",", ";", "\t", "|")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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
        beginning = shielded(self._beginning, "the CSV file")
        listed = ((separator, _fields(beginning, separator)) for separator in _SEPARATORS)
        separator, names = max(listed, key=lambda header: len(header[1]))
        if not names:
            raise DataError("the CSV file has no header.", hint="its first line must name the columns.")
        check_width(len(names))
        return separator, names

    def _beginning(self) -> bytes:
        with open(self._path, "rb") as file:
            return file.read(HEADER_BYTES)

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


def _fields(beginning: bytes, separator: str) -> list[str]:
    try:
        return next(csv.reader(_lines(beginning), delimiter=separator, strict=True), [])
    except csv.Error:
        return []


def _lines(beginning: bytes) -> Iterator[str]:
    """Decode line by line, as far as the header goes: no row may decide whether the file is refused uncharged."""
    encoding = "utf-8-sig"
    for found in _LINE.finditer(beginning):
        line = found[0]
        if line.startswith(_UTF_16) or b"\0" in line:
            raise _not_utf_8("looks like UTF-16")
        if found.end() == HEADER_BYTES:
            raise DataError(
                f"the first line of the CSV file does not end within {HEADER_BYTES:,} bytes.",
                hint="it must name the columns; check its quotation marks and the ends of lines.",
            )
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise _not_utf_8("is perhaps Latin-1, as spreadsheets write it")
        encoding = "utf-8"
        yield text


def _not_utf_8(guess: str) -> DataError:
    return DataError(
        f"the first line of the CSV file is not encoded in UTF-8; it {guess}.",
        hint='convert the file: iconv -f LATIN1 -t UTF-8 old.csv > new.csv (or -f UTF-16); a spreadsheet calls it "CSV '
        'UTF-8".',
    )
