"""A ledger in a schema of a PostgreSQL database, for a team on many hosts.

``postgresql://user@host/database?ledger=census``: the name is that of the schema. Every operation opens a
connection for one transaction. If the connection is lost, even during a commit, the operation is repeated on a new one:
it waits for the old transaction to end, and finds out by the key what that one did.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from blowfish_privacy.errors import BlowfishWarning, LedgerError, brief
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.ledger import EXISTS, MISSING, Ledger
from blowfish_privacy.ledger.store import FORMAT, MOVING, Store, tables
from blowfish_privacy.support.postgresql import Address, driver, error_in_words

if TYPE_CHECKING:
    from psycopg import Connection


# The tables of a ledger in PostgreSQL, and the rules that the server itself keeps.
#
# Whoever is admitted may read all, add rows, and move the balances on; the server lets nobody change or remove a row.
# It lets balances move only together with the entry that explains it, each by what the entry states, and what is spent
# only up, never below a balance. What regions have in common, and whether the hashes chain, is checked by ``verify``.

MARK = f"a ledger of blowfish-privacy, format {FORMAT}"
"""The comment that marks a schema as a ledger of ours."""

DEFAULT_NAME = "blowfish_ledger"

_AMOUNT = (
    "text CHECK (VALUE ~ '^(0|[1-9][0-9]*)/[1-9][0-9]*$' AND length(VALUE) < 2300 "
    "AND gcd(split_part(VALUE, '/', 1)::numeric, split_part(VALUE, '/', 2)::numeric) = 1)"
)


def statements(schema: str) -> Iterator[str]:
    """Make everything; ``schema`` is quoted already."""
    yield f"CREATE SCHEMA {schema}"
    yield f"CREATE DOMAIN {schema}.amount AS {_AMOUNT}"
    types = {"number": "bigint", "amount": f"{schema}.amount", "identity": "GENERATED ALWAYS AS IDENTITY"}
    for name, columns in tables(**types, schema=f"{schema}.").items():
        yield f"CREATE TABLE {schema}.{name} ({columns})"
    # A text may be too long to be indexed itself. Two texts that collide here are refused by the rules below.
    hashes = "hash, hashtextextended(canonical, 0), hashtextextended(text, 0)"
    yield f"CREATE UNIQUE INDEX policies_once ON {schema}.policies ({hashes})"
    yield f"CREATE UNIQUE INDEX balances_once ON {schema}.balances (kind, attribute, md5(within::jsonb::text))"
    yield f"CREATE INDEX balances_of_entry ON {schema}.balances (entry)"
    yield f"CREATE INDEX entries_of_policy ON {schema}.entries (policy, number)"
    triggers = {f"{name}() RETURNS trigger LANGUAGE plpgsql": f"BEGIN {body} END" for name, body in _FUNCTIONS.items()}
    for head, body in {**_ARITHMETIC, **triggers}.items():
        code = f"SET search_path = pg_catalog AS $body$ {body.replace('@', schema + '.')} $body$"
        yield f"CREATE FUNCTION {schema}.{head} {code}"
    yield f"CREATE TRIGGER moves BEFORE UPDATE ON {schema}.account FOR EACH ROW EXECUTE FUNCTION {schema}.moves()"
    # Tables only grow.
    for table, function in _CHECKS.items():
        verbs = "DELETE" if table in ("account", "balances") else "UPDATE OR DELETE"
        yield f"CREATE TRIGGER kept BEFORE {verbs} ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.kept()"
        yield f"CREATE TRIGGER whole BEFORE TRUNCATE ON {schema}.{table} EXECUTE FUNCTION {schema}.kept()"
        if function:
            event = {"account": "UPDATE", "balances": "INSERT OR UPDATE"}.get(table, "INSERT")
            yield (
                f"CREATE CONSTRAINT TRIGGER {function} AFTER {event} ON {schema}.{table} DEFERRABLE INITIALLY DEFERRED "
                f"FOR EACH ROW EXECUTE FUNCTION {schema}.{function}()"
            )
    yield f"COMMENT ON SCHEMA {schema} IS '{MARK}'"


_CHECKS = {
    "account": "explained",
    "policies": "",
    "entries": "entry_counted",
    "documents": "document_counted",
    "failures": "failure_counted",
    "balances": "balance_explained",
}
"""The function that looks at each change of a table when the transaction ends."""


def grants(schema: str, role: str) -> Iterator[str]:
    """Admit a role: it can spend and read, and nothing else; both names are quoted already."""
    yield f"GRANT USAGE ON SCHEMA {schema} TO {role}"
    yield f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
    yield f"GRANT INSERT (hash, canonical, text) ON {schema}.policies TO {role}"
    for table in ("entries", "documents", "failures", "balances"):
        yield f"GRANT INSERT ON {schema}.{table} TO {role}"
    yield f"GRANT UPDATE ({', '.join(MOVING)}) ON {schema}.account TO {role}"
    yield f"GRANT UPDATE (amount, entry) ON {schema}.balances TO {role}"


def _part(amount: str, number: int) -> str:
    """The numerator of an amount, or its denominator."""
    return f"split_part({amount}, '/', {number})::numeric"


_TOP_A, _BOTTOM_A, _TOP_B, _BOTTOM_B = _part("a", 1), _part("a", 2), _part("b", 1), _part("b", 2)
_ARITHMETIC = {
    "at_most(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE": f"""
        SELECT {_TOP_A} * {_BOTTOM_B} <= {_TOP_B} * {_BOTTOM_A}""",
    "added(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE": f"""
        WITH sum (top, bottom) AS (
            VALUES ({_TOP_A} * {_BOTTOM_B} + {_TOP_B} * {_BOTTOM_A}, {_BOTTOM_A} * {_BOTTOM_B}))
        SELECT div(top, gcd(top, bottom)) || '/' || div(bottom, gcd(top, bottom)) FROM sum""",  # noqa: S608  # numbers only
    "carried(number bigint, loss jsonb, charged text, spent text) RETURNS boolean LANGUAGE plpgsql": """
        DECLARE part jsonb; total text := '0/1'; every text; moved bigint; lost text;
        BEGIN
            FOR part IN SELECT jsonb_array_elements(loss) LOOP
                total := @added(total, part->>'amount');
                IF NOT @at_most(part->>'amount', charged) THEN RETURN false; END IF;
            END LOOP;
            SELECT count(*) INTO moved FROM @balances AS b WHERE b.entry = number;
            IF moved <> jsonb_array_length(loss) OR NOT @at_most(charged, total) THEN RETURN false; END IF;
            SELECT coalesce(max(b.amount), '0/1') INTO every FROM @balances AS b WHERE b.kind = 'every';
            FOR lost IN SELECT @added(b.amount, coalesce(w.amount, '0/1')) FROM @balances AS b
                LEFT JOIN @balances AS w ON (w.kind, w.attribute, w.within, b.within = '{}')
                    = (b.kind, b.attribute, '{}', false)
                WHERE b.kind <> 'every' AND EXISTS (SELECT FROM @balances AS m WHERE m.entry = number
                    AND (m.kind = 'every' OR (m.kind, m.attribute) = (b.kind, b.attribute)))
            LOOP
                IF NOT @at_most(@added(lost, every), spent) THEN RETURN false; END IF;
            END LOOP;
            RETURN @at_most(every, spent);
        END""",
}
"""Sums of amounts; and whether the balances carry what an entry states, and what is spent covers each of them."""


def _same(kind: str) -> str:
    return f"(NEW.{kind}, NEW.{kind}_head) = (OLD.{kind}, OLD.{kind}_head)"


_FUNCTIONS = {
    "kept": "RAISE EXCEPTION 'rows of a ledger are only ever added';",
    "moves": f"""
        IF (NEW.one, NEW.measure, NEW.budget, NEW.created)
            IS DISTINCT FROM (OLD.one, OLD.measure, OLD.budget, OLD.created) THEN
            RAISE EXCEPTION 'the budget of a ledger is fixed';
        END IF;
        IF NOT (
            NEW.entries = OLD.entries + 1 AND {_same("documents")} AND {_same("failures")}
                AND @at_most(OLD.spent, NEW.spent)
            OR NEW.spent = OLD.spent AND {_same("entries")} AND (
                NEW.documents = OLD.documents + 1 AND {_same("failures")}
                OR NEW.failures = OLD.failures + 1 AND {_same("documents")})
        ) OR NOT @at_most(NEW.spent, NEW.budget) THEN
            RAISE EXCEPTION 'the balance moves by one row at a time, and not beyond the budget';
        END IF;
        RETURN NEW;""",
    "explained": """
        IF NEW.entries > OLD.entries AND NOT EXISTS (
            SELECT FROM @entries AS e WHERE e.number = NEW.entries AND e.chain = NEW.entries_head
                AND @at_most(NEW.spent, @added(OLD.spent, e.charged)) AND @at_most(e.epsilon, e.charged)
                AND @carried(e.number, e.loss::jsonb, e.charged, NEW.spent)
        ) OR NEW.documents > OLD.documents AND NOT EXISTS (
            SELECT FROM @documents AS d WHERE d.number = NEW.documents AND d.chain = NEW.documents_head
        ) OR NEW.failures > OLD.failures AND NOT EXISTS (
            SELECT FROM @failures AS f WHERE f.number = NEW.failures AND f.chain = NEW.failures_head
        ) THEN
            RAISE EXCEPTION 'no row explains the balance';
        END IF;
        RETURN NULL;""",
    "balance_explained": """
        IF TG_OP = 'UPDATE' AND ((NEW.kind, NEW.attribute, NEW.within) IS DISTINCT FROM
            (OLD.kind, OLD.attribute, OLD.within) OR NEW.entry <= OLD.entry) OR NOT EXISTS (
            SELECT FROM @entries AS e CROSS JOIN LATERAL jsonb_array_elements(e.loss::jsonb) AS l(part)
            WHERE e.number = NEW.entry AND part->>'pairs' = NEW.kind
                AND coalesce(part->>'attribute', '') = NEW.attribute
                AND coalesce(part->'within', '{}') = NEW.within::jsonb
                AND NEW.amount = @added(CASE TG_OP WHEN 'UPDATE' THEN OLD.amount ELSE '0/1' END, part->>'amount')
        ) THEN
            RAISE EXCEPTION 'no entry explains the balance of a class';
        END IF;
        RETURN NULL;""",
    **{
        f"{kind}_counted": f"""
        IF NOT EXISTS (SELECT FROM @account AS a WHERE a.{column} >= NEW.number) THEN
            RAISE EXCEPTION 'the balance does not count this row';
        END IF;
        RETURN NULL;"""  # names of our own only
        for kind, column in (("entry", "entries"), ("document", "documents"), ("failure", "failures"))
    },
}


# A transaction on the tables of a ledger in PostgreSQL.


class PostgresStore(Store):
    """One transaction, in which bare names mean the ledger's tables; the connection's owner begins and ends it."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def hold(self) -> None:
        """Wait for other writers, and keep them waiting until the transaction ends."""
        self._connection.execute("SELECT FROM account FOR UPDATE")

    def _ask(self, query: str, values: tuple[str | int, ...] = ()) -> Any:
        return self._connection.execute(query.replace("?", "%s").encode(), values)

    def _ask_many(self, query: str, rows: Sequence[tuple[str | int, ...]]) -> int:
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            cursor.executemany(query.replace("?", "%s").encode(), rows)
            return cursor.rowcount

    def damage(self) -> list[str]:
        orphans = {
            "entries": "policy NOT IN (SELECT id FROM policies)",
            **dict.fromkeys(("documents", "balances", "failures"), "entry NOT IN (SELECT number FROM entries)"),
        }
        return [
            f"a row of the table {table} refers to a row that is missing."
            for table, missing in orphans.items()
            if self._ask(f"SELECT FROM {table} WHERE {missing}").fetchone() is not None
        ]


# The ledger.


def check_durable(connection: Connection[Any]) -> None:
    """Make sure that a commit is on disk when it is confirmed."""
    row = connection.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')").fetchone()
    if row is None:
        raise LedgerError("PostgreSQL returned no row.", hint="try again.")
    fsync, commit = row
    if fsync != "on":
        raise LedgerError(
            "this PostgreSQL server does not write to disk what it confirms (fsync is off).",
            hint="keep a ledger on a server with fsync = on.",
        )
    if commit in ("off", "local"):
        connection.execute("SET LOCAL synchronous_commit = on")


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


Result = TypeVar("Result")
_NAME = re.compile(r"(?!pg_)[A-Za-z_][A-Za-z0-9_-]{0,62}")
_ATTEMPTS = 7
_FIRST_PAUSE = 0.1
_TRANSIENT = ("40001", "40P01", "08", "57P")
"""Serialisation failures, deadlocks, connections lost, a server that stops or starts."""
_SAME_KEY = "repeat with the same key: what was charged is not charged again."


class PostgresLedger(Ledger):
    """A ledger in PostgreSQL; make it with :meth:`create`, open it with :meth:`open`."""

    @classmethod
    def _located(cls, where: Any) -> Address:
        """Split the address of a ledger into that of the database and the ledger's name."""
        address = Address.parse(where, ours=("ledger",), error=LedgerError)
        if not _NAME.fullmatch(name := _name(address)):
            raise LedgerError(f"a ledger cannot be named {brief(name)}.", hint="use up to 63 letters, digits, _ and -.")
        driver(LedgerError)
        return address

    @classmethod
    def _make(cls, place: Address, account: Account, timeout: float) -> None:
        """Make a ledger, unless its schema exists; others who make the same one wait, and then find that it does."""
        name = _name(place)
        with _wording_errors(), _transaction(place, timeout) as connection:
            check_durable(connection)
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", (name,))
            if connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (name,)).fetchone() is not None:
                raise LedgerError(f"the schema {name!r} already exists.", hint=EXISTS)
            for statement in statements(quoted(name)):
                connection.execute(statement.encode())
            _store(connection, name).open_account(account)

    @classmethod
    def _inspect(cls, place: Address, timeout: float) -> Account:
        name = _name(place)
        with _wording_errors(), _transaction(place, timeout) as connection:
            check_durable(connection)
            schema = connection.execute(
                "SELECT obj_description(oid, 'pg_namespace'), has_schema_privilege('public', oid, 'USAGE'), "
                "has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s",
                (name,),
            ).fetchone()
            if schema is None:
                raise LedgerError(f"there is no ledger {name!r} in the database.", hint=MISSING)
            mark, is_open, may_use = schema
            if mark != MARK:
                raise LedgerError(
                    f"the schema {name!r} is not a ledger of format {FORMAT}, which this version reads.",
                    hint="use the version of blowfish-privacy that made it, or a schema that nothing else uses: "
                    "?ledger=name.",
                )
            if not may_use:
                raise LedgerError(
                    f"PostgreSQL does not permit this user to use the ledger {name!r}.",
                    hint="its owner can run: blowfish ledger admit ADDRESS ROLE.",
                )
            if is_open:
                warnings.warn(
                    f"the ledger {name!r} is open to every user of the database. Hint: revoke what was granted to "
                    "PUBLIC.",
                    BlowfishWarning,
                    stacklevel=4,
                )
            return _store(connection, name).account()

    @property
    def name(self) -> str:
        return _name(self._place)

    @property
    def label(self) -> str:
        return f"the ledger {self.name!r}"

    def admit(self, role: str) -> None:
        """Let a role of the database spend and read. It can neither change nor remove a row."""
        if role.strip().casefold() in ("public", "") or not role.isprintable():
            raise LedgerError("a ledger is opened to a role, not to everybody.", hint="name one role.")
        with _wording_errors(), _transaction(self._place, self._timeout) as connection:
            for statement in grants(quoted(self.name), quoted(role)):
                connection.execute(statement.encode())

    @contextmanager
    def _reading(self) -> Generator[Store]:
        with (
            _wording_errors(),
            closing(_connect(self._place, self._timeout, isolation="repeatable read")) as connection,
        ):
            yield _store(connection, self.name)

    @contextmanager
    def _writing(self) -> Generator[Store]:
        with _transaction(self._place, self._timeout) as connection:
            check_durable(connection)
            store = _store(connection, self.name)
            # Under this lock each statement sees what the last writer left.
            store.hold()
            yield store

    def _write(self, action: Callable[[Store], Result]) -> Result:
        """Run an action, and run it again if the server may not have committed it."""
        psycopg = driver(LedgerError)
        with _wording_errors():
            for attempt in range(_ATTEMPTS - 1):
                try:
                    return super()._write(action)
                except psycopg.OperationalError as error:
                    # Without a state the error comes from the connection, not from the server.
                    if error.sqlstate is not None and not error.sqlstate.startswith(_TRANSIENT):
                        raise
                time.sleep(_FIRST_PAUSE * 2**attempt)
            return super()._write(action)


def _store(connection: Connection[Any], name: str) -> PostgresStore:
    connection.execute(f"SET LOCAL search_path = {quoted(name)}, pg_catalog".encode())
    return PostgresStore(connection)


def _name(address: Address) -> str:
    return address.options.get("ledger", DEFAULT_NAME)


@contextmanager
def _transaction(address: Address, timeout: float) -> Generator[Connection[Any]]:
    """Open a connection for one transaction, which is committed at the end unless there is an error."""
    with closing(_connect(address, timeout)) as connection, connection:
        yield connection


def _connect(address: Address, timeout: float, isolation: str = "read committed") -> Connection[Any]:
    wait = f"{max(1, int(timeout * 1000))}ms"
    return address.connect(
        {
            "lock_timeout": wait,
            "statement_timeout": wait,
            # The lock of a host that has gone away is freed.
            "idle_in_transaction_session_timeout": "60s",
            "default_transaction_isolation": isolation,
            "default_transaction_read_only": "off",
        }
    )


@contextmanager
def _wording_errors() -> Generator[None]:
    """Turn PostgreSQL's errors into ours, without their traceback."""
    psycopg = driver(LedgerError)
    try:
        yield
    except psycopg.Error as error:
        said, hint = error_in_words(error)
        kind = type(error).__name__
        raise LedgerError(f"the ledger: {said} ({kind}).", hint=f"{hint} Then {_SAME_KEY}") from None
