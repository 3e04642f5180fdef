"""Where the rows come from: a source shows its engine just the columns that are asked for."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import escape
from threading import Event, Thread, current_thread, main_thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from sqlglot import exp

from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sql.expressions import DUCKDB, Dialect
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import BlowfishError, DataError
from blowfish_privacy.support.files import PrivateFolder
from blowfish_privacy.support.limits import COLUMNS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


# Making Ctrl-C stop calls into libraries that do not handle it themselves.

Result = TypeVar("Result")

_LISTEN = 0.2


def interruptible(action: Callable[[], Result], stop: Callable[[], object]) -> Result:
    """Run an action in a separate thread, so that Ctrl-C takes effect; ``stop`` then makes the action end.

    Python handles signals in the main thread only, and only between its own steps.
    """
    if current_thread() is not main_thread():
        return action()
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as failure:  # passed on below
            failures.append(failure)
        finally:
            done.set()

    # An event, not a join: a join that is interrupted takes the thread for finished.
    done = Event()
    Thread(target=run, daemon=True).start()
    try:
        while not done.wait(_LISTEN):
            pass
    except BaseException:
        # An action that has not begun yet would ignore a single request.
        stop()
        while not done.wait(_LISTEN):
            stop()
        raise
    if failures:
        raise failures[0]
    return results[0]


# Our in-memory DuckDB, which may read only the files it is given, and never the network.

DIALECT = "duckdb"
ATTACHED = "data"
"""The name a DuckDB file is attached under."""
_PATIENCE = 5.0


@dataclass(frozen=True)
class Running:
    """A query that runs when its rows are fetched, and that Ctrl-C stops."""

    connection: DuckDBPyConnection
    text: str

    def fetchnumpy(self) -> Any:
        """Run the query and return its columns."""
        return interruptible(lambda: self.connection.execute(self.text).fetchnumpy(), self.connection.interrupt)

    def fetchall(self) -> Any:
        """Run the query and return its rows."""
        return interruptible(lambda: self.connection.execute(self.text).fetchall(), self.connection.interrupt)


@dataclass(eq=False)
class InMemoryDuckDB:
    """A connection that is opened when first needed; ``paths`` and the file to attach are all it may read."""

    paths: Sequence[str] = ()
    memory_limit: str | None = None
    attach: str | None = None

    @cached_property
    def connection(self) -> DuckDBPyConnection:
        """The connection, closed with this object at the latest."""
        import duckdb

        # Spilled groups are private: the folder is the user's alone, and goes when the connection goes.
        folder = PrivateFolder()
        held: list[DuckDBPyConnection] = []
        self._discard = weakref.finalize(self, _discard, held, folder)
        settings: dict[str, Any] = {
            "temp_directory": folder.path,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        }
        if self.memory_limit is not None:
            settings["memory_limit"] = self.memory_limit
        connection = duckdb.connect(config=settings)
        held.append(connection)
        self._restrict(connection)
        return connection

    def bind(self, query: exp.Expr) -> DuckDBPyRelation:
        """Look up the columns of a query without running it."""
        return cast(Any, self.connection.sql(query.sql(DIALECT)))

    def run(self, query: exp.Expr) -> Running:
        """Prepare a query, which runs when its rows are fetched."""
        return Running(self.connection, query.sql(DIALECT, copy=False))

    def close(self) -> None:
        """Close the connection and remove what it spilled."""
        if self.__dict__.pop("connection", None) is not None:
            self._discard()

    def _restrict(self, connection: DuckDBPyConnection) -> None:
        if self.attach is not None:
            target = exp.alias_(exp.Literal.string(self.attach), ATTACHED, quoted=True)
            options = [exp.AttachOption(this=exp.var("READ_ONLY"))]
            connection.execute(exp.Attach(this=target, expressions=options).sql(DIALECT))
        # Files are named with their brackets and stars escaped, and permission is asked under that name.
        spelt = (name for path in self.paths for name in (path, escape(path)))
        allowed = exp.array(*(exp.Literal.string(name) for name in spelt))
        for setting, value in {
            "enable_progress_bar": exp.true(),
            "enable_progress_bar_print": exp.false(),
            "python_enable_replacements": exp.false(),
            "allowed_paths": allowed,
            "enable_external_access": exp.false(),
            "lock_configuration": exp.true(),
        }.items():
            assignment = exp.EQ(this=exp.column(setting), expression=value)
            connection.execute(exp.Set(expressions=[exp.SetItem(this=assignment)]).sql(DIALECT))


def _discard(held: Sequence[DuckDBPyConnection], folder: PrivateFolder) -> None:
    try:
        for connection in held:
            _close(connection)
    finally:
        folder.remove()


def _close(connection: DuckDBPyConnection) -> None:
    """Close a connection, which refuses while a query runs: one that nobody waits for any more is stopped."""
    deadline = monotonic() + _PATIENCE
    while monotonic() < deadline:
        try:
            return connection.close()
        except Exception:
            connection.interrupt()
            sleep(0.05)
    return None


# Errors of the libraries we call, whose messages may quote the data, turned into ours, which never do.

_HINTS = {
    "OutOfMemoryException": "free some memory, or point TMPDIR at a disk with more room.",
    "MemoryError": "free some memory, or ask for fewer attributes together.",
    "FileNotFoundError": "the file is not there any more: put it back, or name the place where it is now.",
    "OSError": "check the disk, and that TMPDIR can be written to.",
    "IOException": "the file may be damaged, still being written, or open for writing in another program.",
    "ResourceInUseException": "close the other connection to this file, or pass a relation of that connection.",
    "PermissionException": "a view that reads other files must be passed as a relation of your own connection.",
    "InvalidInputException": "a CSV file needs equal rows, closed quotes, one kind of line end, UTF-8 (not Latin-1).",
    "AnalysisException": "check that Spark finds the path or table, and that it may be read.",
    "Py4JError": "the Spark driver or its cluster is gone; start it and try again: nothing is charged twice.",
    "Py4JJavaError": "see the logs of the Spark cluster, which may quote the data, for what went wrong.",
    "PySparkException": "see the logs of the Spark cluster, which may quote the data, for what went wrong.",
    "ConnectionError": "the server or cluster is gone; start it and try again: nothing is charged twice.",
    # What Polars raises where it fails inside is no Exception.
    "PanicException": "check the table with Polars itself; convert odd columns, or pass an Arrow table.",
    "ModuleNotFoundError": "a package for tables is missing: pip install pandas pyarrow.",
}
_HINT = "check the source with the program that wrote it; what it said is left out, as it may quote the data."


def shielded(action: Callable[[], Result], what: str) -> Result:
    """Run an action; whatever goes wrong underneath is raised as our own error, without cause or context.

    The error is raised after the ``except`` block has ended, for otherwise Python would keep the original, with
    the private values in its message, as the new error's context.
    """
    try:
        return action()
    except BlowfishError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ not in _HINTS:
            raise
        # DuckDB reports Ctrl-C as an error of the query.
        interrupted = isinstance(error, RuntimeError) and "interrupted" in str(error).casefold()
        failure = _failure(error, what)
    raise KeyboardInterrupt if interrupted else failure


def _failure(error: BaseException, what: str) -> DataError:
    kind = type(error).__name__
    if isinstance(error, Exception) and any(each.__module__.startswith("psycopg") for each in type(error).__mro__):
        from blowfish_privacy.support.postgresql import error_in_words

        said, hint = error_in_words(error)
        return DataError(f"{what} could not be read: {said} ({kind}).", hint=hint)
    names = (kind.__name__ for kind in type(error).__mro__)
    hint = next((_HINTS[name] for name in names if name in _HINTS), _HINT)
    return DataError(f"{what} could not be read ({kind}).", hint=hint)


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

    def percentage(self) -> float | None:
        """Return how much of the running query is done; -1 when not known yet, None when it never will be."""
        return None

    def rest(self) -> None:  # noqa: B027  # most sources hold nothing between questions
        """Let go of what one question needed, such as a connection; called after each."""

    def close(self) -> None:
        """Let go of files and memory."""
        self.rest()


class DuckDBSource(Source):
    """A table that our in-memory DuckDB reads."""

    def __init__(self, database: InMemoryDuckDB) -> None:
        self.database = database

    def percentage(self) -> float:
        return self.database.connection.query_progress()

    def close(self) -> None:
        self.database.close()


@dataclass(frozen=True)
class Listing:
    """What a stored table looks like at this moment: its columns' names, and the table to select from."""

    names: Sequence[object]
    table: exp.Table


class StoredSource(DuckDBSource):
    """A table that our in-memory DuckDB reads from files."""

    @abstractmethod
    def listing(self) -> Listing:
        """Look up the table; its names are as the file spells them."""

    def column_types(self, query: exp.Select) -> list[ColumnType]:
        """Say what each column of a query holds."""
        return [column_type(each) for each in self.database.bind(query).types]

    def open(self, choose: Choice) -> Opened:
        listing = self.listing()
        check_width(len(listing.names))
        chosen = numbered(listing.table, len(listing.names), choose(listing.names))

        def ask(query: exp.Select) -> Any:
            return self.database.run(query.with_(exp.to_identifier(SOURCE, quoted=True), as_=chosen, copy=False))

        return Opened(self.column_types(chosen), ask)


def check_width(columns: int) -> None:
    """Refuse a stored table that has too many columns to open quickly."""
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
        return ColumnType.signed(_SIGNED[name])
    if name in _UNSIGNED:
        return ColumnType.integer(0, 2 ** _UNSIGNED[name] - 1)
    if name == "decimal":
        parts = dict(given.children)
        return ColumnType.decimal(int(parts["precision"]), int(parts["scale"]))
    if name == "varchar":
        # JSON is stored as text, but equal values may be written differently.
        return ColumnType("text" if str(given) == "VARCHAR" else "other")
    return ColumnType(cast(Any, _KINDS.get(name, "other")))
