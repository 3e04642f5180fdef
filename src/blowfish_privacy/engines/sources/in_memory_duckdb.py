"""Our in-memory DuckDB, which may read only the files it is given, and never the network."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import escape
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from blowfish_privacy.engines.sources.interrupts import interruptible
from blowfish_privacy.support.files import PrivateFolder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

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
