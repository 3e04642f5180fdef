"""A table in a DuckDB file."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from blowfish_privacy.engines.sources.in_memory_duckdb import ATTACHED, InMemoryDuckDB
from blowfish_privacy.engines.sources.sources import Listing, StoredSource
from blowfish_privacy.errors import DataError


class DatabaseSource(StoredSource):
    """A table or view in a DuckDB file, opened for reading only."""

    label = "a DuckDB file"

    def __init__(self, path: str, table: str | None, memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB(memory_limit=memory_limit, attach=path))
        self._table = table

    def listing(self) -> Listing:
        """Look up the table or view that was named, or the only one."""
        schema, name = self._choose(self._tables())
        table = exp.table_(name, db=schema, catalog=ATTACHED, quoted=True)
        return Listing(self.database.bind(exp.select(exp.Star()).from_(table)).columns, table)

    def _tables(self) -> list[tuple[str, str]]:
        listed = self.database.connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'data' AND NOT internal "
            "UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'data' AND NOT internal"
        ).fetchall()
        return sorted((str(schema), str(table)) for schema, table in listed)

    def _choose(self, tables: Sequence[tuple[str, str]]) -> tuple[str, str]:
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
