"""Where the rows come from: a source shows its engine just the columns that are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from sqlglot import exp

from blowfish_privacy.engines.sources.in_memory_duckdb import InMemoryDuckDB
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dialect import DUCKDB, Dialect
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.limits import COLUMNS

_SIGNED = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}
_UNSIGNED = {"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64, "uhugeint": 128}
_KINDS = {
    "float": "float",
    "double": "float",
    "enum": "enum",
    "boolean": "boolean",
    "null": "null",
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "timestamp"),
    **dict.fromkeys(("timestamp with time zone", "timestamptz_ns"), "instant"),
}


Choice: TypeAlias = Callable[[Sequence[object]], Sequence[int]]
"""Given the names of all columns, exactly as the data spell them, says the indexes of those wanted."""


class Answer(Protocol):
    """What a query gives, in the manner of DuckDB."""

    def fetchnumpy(self) -> Any:
        """Return the columns as arrays, by name."""
        ...

    def fetchall(self) -> Any:
        """Return the rows."""
        ...


@dataclass(frozen=True)
class Opened:
    """Some columns of a source, named c0, c1, ... in the order asked; a query knows them as :data:`SOURCE`."""

    types: Sequence[ColumnType]
    ask: Callable[[exp.Select], Answer]
    """Runs a query."""
    dialect: Dialect = DUCKDB


class Source(ABC):
    """One table of data, as its engine sees it."""

    label: str
    """The kind of source, for messages."""

    @abstractmethod
    def open(self, choose: Choice) -> Opened:
        """Open the columns that are chosen from the names of all; no row is read yet."""

    def types(self, choose: Choice) -> Sequence[ColumnType]:
        """Tell the types of the columns that are chosen, without looking at a row."""
        return self.open(choose).types

    def rows(self) -> int:
        """Count the rows."""
        counted = exp.select(exp.Count(this=exp.Star())).from_(exp.table_(SOURCE, quoted=True))
        return int(self.open(lambda names: [0]).ask(counted).fetchall()[0][0])

    @abstractmethod
    def percentage(self) -> float | None:
        """Return how much of the running query is done; -1 when not known yet, None when it never will be."""

    def rest(self) -> None:  # noqa: B027  # most sources hold nothing between questions
        """Let go of what one question needed, such as a connection; called after each."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and memory."""


@dataclass(frozen=True)
class Listing:
    """What a stored table looks like at this moment: its columns' names, and the table to select from."""

    names: Sequence[object]
    table: exp.Table


class StoredSource(Source):
    """A table that our in-memory DuckDB reads from files."""

    def __init__(self, database: InMemoryDuckDB) -> None:
        self.database = database

    @abstractmethod
    def listing(self) -> Listing:
        """Look up the table; its names are as the file spells them."""

    def column_types(self, query: exp.Select) -> list[ColumnType]:
        """Say what each column of a query holds."""
        return [column_type(each) for each in self.database.bind(query).types]

    def open(self, choose: Choice) -> Opened:
        """Choose columns by index: names may need quoting, differ only in case, or occur twice."""
        listing = self.listing()
        check_width(len(listing.names))
        chosen = numbered(listing.table, len(listing.names), choose(listing.names))

        def ask(query: exp.Select) -> Any:
            return self.database.run(query.with_(exp.to_identifier(SOURCE, quoted=True), as_=chosen, copy=False))

        return Opened(self.column_types(chosen), ask)

    def percentage(self) -> float:
        """Return what DuckDB reports of the running query."""
        return self.database.connection.query_progress()

    def close(self) -> None:
        """Close our DuckDB, and remove what it spilled."""
        self.database.close()


def check_width(columns: int) -> None:
    """Refuse a stored table of so many columns that opening it takes long."""
    if columns > COLUMNS:
        raise DataError(
            f"the data have {columns:,} columns; at most {COLUMNS:,} are supported.",
            hint="write the columns that are declared to a file of their own.",
        )


def numbered(table: exp.Table, width: int, indexes: Sequence[int]) -> exp.Select:
    """Choose columns of a table by index and name them c0, c1, ..."""
    everything = [exp.to_identifier(f"a{index}", quoted=True) for index in range(width)]
    alias = exp.TableAlias(this=exp.to_identifier("numbered", quoted=True), columns=everything)
    chosen = [exp.column(f"a{index}", quoted=True).as_(f"c{rank}", quoted=True) for rank, index in enumerate(indexes)]
    table.set("alias", alias)
    return exp.select(*chosen).from_(table, copy=False)


def column_type(given: Any) -> ColumnType:
    """Translate a type of DuckDB."""
    name = str(given.id)
    if name in _SIGNED:
        return ColumnType.integer(-(2 ** (_SIGNED[name] - 1)), 2 ** (_SIGNED[name] - 1) - 1)
    if name in _UNSIGNED:
        return ColumnType.integer(0, 2 ** _UNSIGNED[name] - 1)
    if name == "decimal":
        parts = dict(given.children)
        return ColumnType.decimal(int(parts["precision"]), int(parts["scale"]))
    if name == "varchar":
        # JSON is stored as text, but equal values may be written differently.
        return ColumnType("text" if str(given) == "VARCHAR" else "other")
    return ColumnType(cast(Any, _KINDS.get(name, "other")))
