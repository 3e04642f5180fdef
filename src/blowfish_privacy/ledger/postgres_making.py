"""Making a ledger in PostgreSQL, and opening an existing one."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.amounts import read_amount
from blowfish_privacy.ledger.hints import EXISTS, MISSING
from blowfish_privacy.ledger.postgres_schema import MARK, OLD_MARKS, VERSION, grants, migration, statements
from blowfish_privacy.ledger.postgres_store import PostgresStore

if TYPE_CHECKING:
    from psycopg import Connection

_ADMITTED = (
    "SELECT r.rolname FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = 'entries' "
    "AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner"
)
"""The roles that may spend."""


def check_durable(connection: Connection[Any]) -> None:
    """Make sure that a commit is on disk when it is confirmed."""
    fsync, commit = _one(connection.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')"))
    if fsync != "on":
        raise LedgerError(
            "this PostgreSQL server does not write to disk what it confirms (fsync is off).",
            hint="keep a ledger on a server with fsync = on.",
        )
    if commit in ("off", "local"):
        connection.execute("SET LOCAL synchronous_commit = on")


def make(connection: Connection[Any], name: str, account: Account) -> None:
    """Make a ledger, unless its schema exists; others who make the same one wait, and then find that it does."""
    _wait_for_makers(connection, name)
    if connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (name,)).fetchone() is not None:
        raise LedgerError(
            f"the schema {name!r} already exists.",
            hint=EXISTS,
        )
    for statement in statements(quoted(name)):
        connection.execute(statement.encode())
    connection.execute(f"SET LOCAL search_path = {quoted(name)}, pg_catalog".encode())
    PostgresStore(connection).open_account(account)


def inspect(connection: Connection[Any], name: str) -> Account:
    """Read the balance, once it is certain that the schema is one of our ledgers."""
    schema = connection.execute(
        "SELECT obj_description(oid, 'pg_namespace'), has_schema_privilege('public', oid, 'USAGE'), "
        "has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s",
        (name,),
    ).fetchone()
    if schema is None:
        raise LedgerError(
            f"there is no ledger {name!r} in the database.",
            hint=MISSING,
        )
    mark, is_open, may_use = schema
    if may_use and mark in OLD_MARKS:
        _migrate(connection, name)
    elif mark not in (MARK, *OLD_MARKS):
        raise LedgerError(
            f"the schema {name!r} is not a ledger, or was made by a different version.",
            hint="choose a schema that nothing else uses: ?ledger=name.",
        )
    if not may_use:
        raise LedgerError(
            f"PostgreSQL does not permit this user to use the ledger {name!r}.",
            hint="its owner can run: blowfish ledger admit ADDRESS ROLE.",
        )
    if is_open:
        warnings.warn(
            f"the ledger {name!r} is open to every user of the database. Hint: revoke what was granted to PUBLIC.",
            BlowfishWarning,
            stacklevel=4,
        )
    connection.execute(f"SET LOCAL search_path = {quoted(name)}, pg_catalog".encode())
    return PostgresStore(connection).account()


def _migrate(connection: Connection[Any], name: str) -> None:
    """Bring an old ledger to this version's format, in the transaction that is open; roles keep what they may do."""
    _wait_for_makers(connection, name)
    (mark, is_mine) = _one(
        connection.execute(
            "SELECT obj_description(oid, 'pg_namespace'), pg_has_role(nspowner, 'USAGE') FROM pg_namespace "
            "WHERE nspname = %s",
            (name,),
        )
    )
    if mark == MARK:
        return
    if not is_mine:
        raise LedgerError(
            f"the ledger {name!r} has an older format, and only its owner can bring it to format {VERSION}.",
            hint="its owner can run: blowfish ledger show ADDRESS.",
        )
    schema = quoted(name)
    connection.execute(f"SET LOCAL search_path = {schema}, pg_catalog".encode())
    budget, created = _one(connection.execute("SELECT budget, created FROM account FOR UPDATE"))
    head = Account.first_link(read_amount(budget), created)
    for statement in migration(schema, OLD_MARKS.index(mark) + 1, head):
        connection.execute(statement.encode())
    _summarise(connection)
    for (role,) in connection.execute(_ADMITTED, (name,)).fetchall():
        for statement in grants(schema, quoted(role)):
            connection.execute(statement.encode())


def _summarise(connection: Connection[Any]) -> None:
    """Work out the balances, which the ledger's own rules let nobody move without a new entry."""
    for turned in ("DISABLE", "ENABLE"):
        for table in ("account", "balances"):
            connection.execute(f"ALTER TABLE {table} {turned} TRIGGER USER".encode())
        if turned == "DISABLE":
            PostgresStore(connection).summarise()


def _wait_for_makers(connection: Connection[Any], name: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", (name,))


def _one(cursor: Any) -> Any:
    row = cursor.fetchone()
    if row is None:
        raise LedgerError("PostgreSQL returned no row.", hint="try again.")
    return row


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
