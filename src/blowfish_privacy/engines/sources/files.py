"""Files as sources: which kind of file a path is, and how DuckDB reads it."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from sqlglot import exp

from blowfish_privacy.engines.engine import UNPARSED, ColumnType
from blowfish_privacy.engines.sources.sources import (
    ATTACHED,
    Choice,
    InMemoryDuckDB,
    Listing,
    Opened,
    Source,
    StoredSource,
    check_width,
    shielded,
)
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.limits import HEADER_BYTES
from blowfish_privacy.support.postgresql import refuse_address

# A CSV file: the header is read here, every field arrives as text, and nothing is guessed from a sample.
#
# The first line names the columns. Fields are separated by a comma, or by a semicolon, tab or bar if the header
# has more fields that way; quoted by double quotes, doubled inside; encoded in UTF-8. What the text of a field
# may be is said in :mod:`blowfish_privacy.engines.sql.rows`.

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
        separator, names = self._header()
        return Listing(names, self._reader(separator, len(names)))

    def column_types(self, query: exp.Select) -> list[ColumnType]:
        return [UNPARSED] * len(query.expressions)

    def _header(self) -> tuple[str, list[str]]:
        def read() -> bytes:
            with open(self._path, "rb") as file:
                return file.read(HEADER_BYTES)

        beginning = shielded(read, "the CSV file")
        listed = ((separator, _fields(beginning, separator)) for separator in _SEPARATORS)
        separator, names = max(listed, key=lambda header: len(header[1]))
        if not names:
            raise DataError("the CSV file has no header.", hint="its first line must name the columns.")
        check_width(len(names))
        return separator, names

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


# Parquet files: one, or several that agree on the columns asked for.


class ParquetSource(StoredSource):
    """Parquet files that are read as one table."""

    label = "Parquet"

    def __init__(self, files: Sequence[str], memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB(files, memory_limit))
        self._files = files

    def listing(self) -> Listing:
        return Listing(_names(next(iter(self._schemas().values()))), _reader(self._files))

    def open(self, choose: Choice) -> Opened:
        def chosen(names: Sequence[object]) -> Sequence[int]:
            indexes = choose(names)
            if len(self._files) > 1:
                self._check_agreement([str(names[index]) for index in indexes])
            return indexes

        return super().open(chosen)

    def _schemas(self) -> dict[str, tuple[Any, ...]]:
        """The top-level columns of each file and their types, as written: DuckDB renames those that differ in case."""
        wanted = ("file_name", "name", "num_children", "type", "converted_type", "logical_type", "scale", "precision")
        listing = exp.select(*wanted).from_(_call("parquet_schema", self._files))
        elements_of: dict[str, list[tuple[Any, ...]]] = {}
        for file, *element in self.database.bind(listing).fetchall():
            elements_of.setdefault(str(file), []).append(tuple(element))
        schemas: dict[str, tuple[Any, ...]] = {}
        for file, elements in elements_of.items():
            # The root's children, from the depth-first list of a file's elements.
            columns, waiting = list[tuple[str, ...]](), 0
            for name, children, *form in elements[1:]:
                if waiting == 0:
                    columns.append((str(name), *map(str, form)))
                else:
                    waiting -= 1
                waiting += int(children or 0)
            schemas[file] = tuple(columns)
        return schemas

    def _check_agreement(self, names: Sequence[str]) -> None:
        """Refuse files that differ in the type of a column: DuckDB would convert to the type of the first one."""
        kinds = {schema: file for file, schema in self._schemas().items()}
        if len(kinds) == 1:
            return
        seen: dict[str, str] = {}
        for schema, file in kinds.items():
            types = self.database.bind(exp.select(exp.Star()).from_(_reader([file]))).types
            spelt = _names(schema)
            for name in names:
                if spelt.count(name) != 1:
                    raise DataError(
                        f"not every file has exactly one column {name!r}.", hint="give files of one kind only."
                    )
                kind = str(types[spelt.index(name)])
                if seen.setdefault(name, kind) != kind:
                    raise DataError(
                        f"the files differ in the type of the column {name!r}.",
                        hint="columns are never converted implicitly; write them with one type.",
                    )


def _names(schema: Sequence[Any]) -> list[str]:
    return [name for name, *_ in schema]


def _reader(files: Sequence[str]) -> exp.Table:
    # Folder names such as year=2020 are not columns: their types would be guessed.
    return _call("read_parquet", files, exp.EQ(this=exp.column("hive_partitioning"), expression=exp.false()))


def _call(function: str, files: Sequence[str], *options: exp.Expr) -> exp.Table:
    # Brackets and stars of a file's own name must not be taken for a pattern.
    paths = exp.array(*(exp.Literal.string(escape(file)) for file in files))
    return exp.Table(this=exp.Anonymous(this=function, expressions=[paths, *options]))


# A table in a DuckDB file.


class DatabaseSource(StoredSource):
    """A table or view in a DuckDB file, opened for reading only."""

    label = "a DuckDB file"

    def __init__(self, path: str, table: str | None, memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB(memory_limit=memory_limit, attach=path))
        self._table = table

    def listing(self) -> Listing:
        schema, name = self._choose()
        table = exp.table_(name, db=schema, catalog=ATTACHED, quoted=True)
        return Listing(self.database.bind(exp.select(exp.Star()).from_(table)).columns, table)

    def _choose(self) -> tuple[str, str]:
        listed = self.database.connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'data' AND NOT internal "
            "UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'data' AND NOT internal"
        ).fetchall()
        tables = sorted((str(schema), str(table)) for schema, table in listed)
        shown = ", ".join(table if schema == "main" else f"{schema}.{table}" for schema, table in tables[:12])
        hint = f"write path.duckdb::table with one of {shown}." if tables else None
        if self._table is None:
            if len(tables) == 1:
                return tables[0]
            raise DataError(f"the DuckDB file holds {len(tables)} tables.", hint=hint)
        named = [(s, t) for s, t in tables if self._table == f"{s}.{t}"]
        named = named or [(s, t) for s, t in tables if self._table == t]
        named = [(s, t) for s, t in named if s == "main"] or named
        if len(named) == 1:
            return named[0]
        raise DataError(f"the DuckDB file has {'several tables' if named else 'no table'} {self._table!r}.", hint=hint)


_DATABASES = (".duckdb", ".db")
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv")
_KINDS = "a .csv or .tsv file, a .parquet file, pattern or folder, or a .duckdb file"


def open_path(given: str, memory_limit: str | None) -> Source:
    """Open the file, files or table a path stands for; the file is not read yet."""
    refuse_address(given, DataError)
    path, _, table = given.rpartition("::")
    if path.endswith(_DATABASES):
        return DatabaseSource(_readable(path), table, memory_limit)
    if given.endswith(_DATABASES):
        return DatabaseSource(_readable(given), None, memory_limit)
    if os.path.isdir(given):
        # By common convention, files whose names begin with _ or . are not data.
        files = glob(os.path.join(escape(given), "*.parquet"))
        return _parquet(given, sorted(f for f in files if os.path.basename(f)[0] not in "_."), memory_limit)
    suffix = os.path.splitext(given)[1].lower()
    if suffix in _PARQUET:
        pattern = has_magic(given) and not os.path.exists(given)
        return _parquet(given, sorted(glob(given, recursive=True)) if pattern else [given], memory_limit)
    if suffix in _CSV:
        return CSVSource(_readable(given), memory_limit)
    if os.path.exists(given):
        raise DataError(f"{given!r} is not a known kind of file.", hint=f"data can be {_KINDS}.")
    raise DataError(f"there is no file {given!r}.", hint=f"data can be {_KINDS}.")


def _parquet(given: str, files: Sequence[str], memory_limit: str | None) -> Source:
    if not files:
        raise DataError(f"there are no Parquet files in {given!r}.", hint="they must end in .parquet.")
    return ParquetSource([_readable(file) for file in files], memory_limit)


def _readable(path: str) -> str:
    """Return the full path of a file that can be opened."""
    if os.path.isdir(path):
        raise DataError(f"{path!r} is a folder.", hint="only a folder of Parquet files can be read as a whole.")
    if not os.path.isfile(path):
        raise DataError(f"there is no file {path!r}.", hint=f"the current folder is {Path.cwd()}.")
    if not os.access(path, os.R_OK):
        raise DataError(f"no permission to read the file {path!r}.", hint="ask its owner for it.")
    return os.path.abspath(path)
