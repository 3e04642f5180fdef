"""Parquet files: one, or several that agree on the columns asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import escape
from typing import Any

from sqlglot import exp

from blowfish_privacy.engines.sources.in_memory_duckdb import InMemoryDuckDB
from blowfish_privacy.engines.sources.sources import Choice, Listing, Opened, StoredSource
from blowfish_privacy.errors import DataError


@dataclass(frozen=True)
class _Column:
    name: str
    form: tuple[str, ...]


class ParquetSource(StoredSource):
    """Parquet files that are read as one table."""

    label = "Parquet"

    def __init__(self, files: Sequence[str], memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB(files, memory_limit))
        self._files = files

    def listing(self) -> Listing:
        """List the top-level columns of the first file."""
        return Listing(_names(next(iter(self._schemas().values()))), _reader(self._files))

    def open(self, choose: Choice) -> Opened:
        """Choose columns, on which all the files must agree."""

        def chosen(names: Sequence[object]) -> Sequence[int]:
            indexes = choose(names)
            if len(self._files) > 1:
                self._check_agreement([str(names[index]) for index in indexes])
            return indexes

        return super().open(chosen)

    def _schemas(self) -> dict[str, tuple[_Column, ...]]:
        """The top-level columns of each file, as written: DuckDB renames those that differ only in case."""
        wanted = ("file_name", "name", "num_children", "type", "converted_type", "logical_type", "scale", "precision")
        listing = exp.select(*wanted).from_(_call("parquet_schema", self._files))
        elements_of: dict[str, list[tuple[Any, ...]]] = {}
        for file, *element in self.database.bind(listing).fetchall():
            elements_of.setdefault(str(file), []).append(tuple(element))
        return {file: _top_level(elements) for file, elements in elements_of.items()}

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


def _names(schema: Sequence[_Column]) -> list[str]:
    return [column.name for column in schema]


def _reader(files: Sequence[str]) -> exp.Table:
    # Folder names such as year=2020 are not columns: their types would be guessed.
    return _call("read_parquet", files, exp.EQ(this=exp.column("hive_partitioning"), expression=exp.false()))


def _call(function: str, files: Sequence[str], *options: exp.Expr) -> exp.Table:
    # Brackets and stars of a file's own name must not be taken for a pattern.
    paths = exp.array(*(exp.Literal.string(escape(file)) for file in files))
    return exp.Table(this=exp.Anonymous(this=function, expressions=[paths, *options]))


def _top_level(elements: Sequence[tuple[Any, ...]]) -> tuple[_Column, ...]:
    """Pick the root's children from the depth-first list of a file's elements."""
    columns: list[_Column] = []
    waiting = 0
    for name, children, *form in elements[1:]:
        if waiting == 0:
            columns.append(_Column(str(name), tuple(str(part) for part in form)))
        else:
            waiting -= 1
        waiting += int(children or 0)
    return tuple(columns)
