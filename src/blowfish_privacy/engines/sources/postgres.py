"""A table, a view or a query in PostgreSQL: it is read in transactions that only read.

The server counts; only where more tables are asked for than it groups by at once, the different rows are fetched, as
positions of the attributes asked for, and counted here.

``postgresql://user@host/database?table=schema.table`` or ``...?query=SELECT ...`` (``%`` and ``&`` written ``%25`` and
``%26``). Further parameters: ``statement_timeout`` (default one hour, as PostgreSQL writes it: ``2h``), and whatever
libpq knows, such as ``service`` and ``sslmode``; in a policy file only what does not decide how the user logs in.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.engines.engine import NUMERIC, ColumnType
from blowfish_privacy.engines.sources.sources import Choice, Opened, Source, numbered
from blowfish_privacy.engines.sql.expressions import POSTGRES
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.postgresql import Address, driver

if TYPE_CHECKING:
    from psycopg import Connection

_PARAMETERS = ("table", "query", "statement_timeout")
_TIMEOUT = "1h"
_PACKED = 18
"""Groups are sent in packets of 2^18 neighbouring cells: a few megabytes each."""

_TYPES = {
    16: ColumnType("boolean"),
    20: ColumnType.signed(64),
    21: ColumnType.signed(16),
    23: ColumnType.signed(32),
    19: ColumnType("text"),
    25: ColumnType("text"),
    700: ColumnType("float"),
    701: ColumnType("float"),
    1042: ColumnType("text"),
    1043: ColumnType("text"),
    1082: ColumnType("date"),
    1114: ColumnType("timestamp"),
    1184: ColumnType("instant"),
    1700: NUMERIC,
}
_SPELT_OUT = (19, 1042)
"""``name`` and ``char(n)`` compare by rules of their own; as text, without the padding, they do not."""


def open_postgres(url: str) -> PostgresSource:
    """Read an address that names a table or a query; nothing is connected yet."""
    address = Address.parse(url, ours=_PARAMETERS, error=DataError)
    if ("table" in address.options) == ("query" in address.options):
        raise DataError(
            "a PostgreSQL address must name either a table or a query.",
            hint="postgresql://user@host/database?table=schema.table",
        )
    return PostgresSource(address)


@dataclass(frozen=True)
class _PostgresColumn:
    name: str
    type: ColumnType
    spelt_out: bool


class PostgresSource(Source):
    """A table or a query on a server; each question has a connection and a transaction of its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Connection[Any] | None = None
        self.label = "a table" if "table" in address.options else "a query"

    def open(self, choose: Choice) -> Opened:
        connection = self._begin()
        table, columns = self._relation(connection)
        indexes = choose([column.name for column in columns])
        chosen = numbered(table, len(columns), indexes)
        for index, selected in zip(indexes, chosen.expressions, strict=True):
            if columns[index].spelt_out:
                selected.set("this", exp.cast(selected.this, "TEXT"))

        def ask(query: exp.Select) -> _Answer:
            return _Answer(connection, query.with_(exp.to_identifier(SOURCE, quoted=True), as_=chosen, copy=False))

        return Opened([columns[index].type for index in indexes], ask, POSTGRES)

    def rest(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        psycopg = driver(DataError)
        with suppress(psycopg.Error, OSError):
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                connection.cancel_safe(timeout=5.0)
        with suppress(psycopg.Error, OSError):
            connection.close()

    def _begin(self) -> Connection[Any]:
        self.rest()
        psycopg = driver(DataError)
        timeout = self._address.options.get("statement_timeout", _TIMEOUT)
        connection = self._connection = self._address.connect({"statement_timeout": timeout})
        # A client that dies takes its query along, where the server can tell.
        connection.execute(
            "SELECT pg_catalog.set_config(name, '10000', false) FROM pg_catalog.pg_settings "
            "WHERE name = 'client_connection_check_interval'"
        )
        connection.rollback()
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection

    def _relation(self, connection: Connection[Any]) -> tuple[exp.Table, Sequence[_PostgresColumn]]:
        query = self._address.options.get("query")
        if query is not None:
            text = query.strip().removesuffix(";")
            # Parsed on its own first, a query can neither end our statement nor run into it.
            columns = _describe(connection, text.encode())
            _refuse_namesakes(connection)
            return exp.Table(this=exp.Var(this=f"(\n{text}\n)")), columns
        schema, name = self._find(connection, self._address.options["table"])
        # From here on nothing but PostgreSQL's own functions and operators is found by a bare name.
        connection.execute("SET LOCAL search_path = pg_catalog")
        table = exp.table_(name, db=schema, quoted=True)
        return table, _describe(connection, _text(exp.select(exp.Star()).from_(table.copy())))

    def _find(self, connection: Connection[Any], table: str) -> tuple[str, str]:
        tables = connection.execute(
            "SELECT n.nspname, c.relname, n.nspname || '.' || c.relname = %(table)s FROM pg_catalog.pg_class AS c "
            "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') "
            "AND (n.nspname || '.' || c.relname = %(table)s "
            "OR c.relname = %(table)s AND pg_catalog.pg_table_is_visible(c.oid))",
            {"table": table},
        ).fetchall()
        named = [row for row in tables if row[2]] or tables
        if len(named) == 1:
            return str(named[0][0]), str(named[0][1])
        raise DataError(
            f"the PostgreSQL database has {'several tables' if named else 'no table'} {table!r} visible to this user.",
            hint="write ?table=schema.table; names must match exactly, capitals included.",
        )


class _Answer:
    """A query, run when its rows are fetched."""

    def __init__(self, connection: Connection[Any], query: exp.Select) -> None:
        self._connection, self._query = connection, query

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Run the query and return its rows."""
        return self._connection.execute(_text(self._query), binary=True).fetchall()

    def fetchnumpy(self) -> dict[str, npt.NDArray[np.int64]]:
        """Run a query of whole numbers, the first of which numbers the rows, and return its columns.

        The server packs neighbouring rows into one string of eight bytes a number, so that ten million of them are
        a few dozen rows to fetch and 160 megabytes to hold.
        """
        names = [column.alias_or_name for column in self._query.expressions]
        numbers = [exp.cast(exp.column(name, quoted=True), "BIGINT") for name in names]
        packed = exp.Anonymous(this="int8send", expressions=[numbers[0]])
        for each in numbers[1:]:
            packed = exp.DPipe(this=packed, expression=exp.Anonymous(this="int8send", expressions=[each]))
        empty = exp.cast(exp.Literal.string(""), "VARBINARY")
        packet = exp.BitwiseRightShift(this=numbers[0].copy(), expression=exp.Literal.number(_PACKED))
        rows = self._query.subquery(exp.to_identifier("answer", quoted=True), copy=False)
        strings = exp.select(exp.Anonymous(this="string_agg", expressions=[packed, empty])).from_(rows, copy=False)
        text = _text(strings.group_by(packet, copy=False))
        with self._connection.cursor(binary=True) as cursor:
            parts = [np.frombuffer(part, dtype=">i8") for (part,) in cursor.stream(text)]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype=">i8")
        table = flat.reshape(-1, len(names))
        return {name: table[:, index].astype(np.int64) for index, name in enumerate(names)}


def _text(query: exp.Expr) -> bytes:
    return query.sql(POSTGRES.name, copy=False).encode()


def _refuse_namesakes(connection: Connection[Any]) -> None:
    """Refuse a search path on which others' functions or operators could stand in for those that count.

    A query needs its own search path. What takes PostgreSQL's own types under one of its own names might be preferred.
    """
    namesake = connection.execute(
        "SELECT FROM pg_catalog.pg_proc AS f WHERE f.pronamespace = ANY(SELECT n.oid FROM pg_catalog.pg_namespace AS n "
        "WHERE n.nspname = ANY(pg_catalog.current_schemas(true)) AND n.nspname <> 'pg_catalog') "
        "AND EXISTS (SELECT FROM pg_catalog.pg_proc AS g WHERE g.proname = f.proname AND g.pronamespace = 11) "
        "AND NOT EXISTS (SELECT FROM pg_catalog.unnest(f.proargtypes) AS a (type) JOIN pg_catalog.pg_type AS t "
        "ON t.oid = a.type WHERE t.typnamespace <> 11) "
        "UNION ALL SELECT FROM pg_catalog.pg_operator AS o JOIN pg_catalog.pg_namespace AS n ON n.oid = o.oprnamespace "
        "LEFT JOIN pg_catalog.pg_type AS l ON l.oid = o.oprleft JOIN pg_catalog.pg_type AS r ON r.oid = o.oprright "
        "WHERE n.nspname = ANY(pg_catalog.current_schemas(true)) AND n.nspname <> 'pg_catalog' "
        "AND coalesce(l.typnamespace, 11) = 11 AND r.typnamespace = 11 "
        "AND EXISTS (SELECT FROM pg_catalog.pg_operator AS p WHERE p.oprname = o.oprname AND p.oprnamespace = 11) "
        "LIMIT 1"
    ).fetchone()
    if namesake is not None:
        raise DataError(
            "a schema on the query's search path has a function or operator with the name of one of PostgreSQL's own.",
            hint="make a view and read it with ?table=schema.view, or take the schema off the role's search_path.",
        )


def _describe(connection: Connection[Any], text: bytes) -> list[_PostgresColumn]:
    """Let the server parse one statement, and say the names and types of its columns; no row is read."""
    psycopg = driver(DataError)
    # The first statement begins the transaction.
    connection.execute("SELECT 1")
    prepared = connection.pgconn.prepare(b"", text)
    if prepared.status != psycopg.pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(prepared)
    described = connection.execute(b"SELECT * FROM (\n" + text + b"\n) AS described LIMIT 0").description
    listed = [(column.name, column.type_code) for column in described or ()]
    unknown = [oid for _, oid in listed if oid not in _TYPES]
    listed_enums = connection.execute(
        "SELECT oid::bigint FROM pg_catalog.pg_type WHERE typtype = 'e' AND oid = ANY(%s::bigint[]::oid[])", (unknown,)
    )
    enums = {int(oid) for (oid,) in listed_enums}
    types = {**_TYPES, **dict.fromkeys(enums, ColumnType("text"))}
    return [
        _PostgresColumn(name, types.get(oid, ColumnType("other")), oid in enums or oid in _SPELT_OUT)
        for name, oid in listed
    ]
