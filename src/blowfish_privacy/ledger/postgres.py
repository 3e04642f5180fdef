"""A ledger in a schema of a PostgreSQL database, for a team on many hosts.

``postgresql://user@host/database?ledger=census``: the name is that of the schema. Every operation opens a
connection for one transaction. If the connection is lost, even during a commit, the operation is repeated on a new one:
it waits for the old transaction to end, and finds out by the key what that one did.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from blowfish_privacy.errors import LedgerError, brief
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.ledger import Clock, Ledger, check_same_budget, system_clock, write_time
from blowfish_privacy.ledger.policy_cache import PolicyLoader
from blowfish_privacy.ledger.postgres_making import check_durable, inspect, make, quoted
from blowfish_privacy.ledger.postgres_schema import DEFAULT_NAME, grants
from blowfish_privacy.ledger.postgres_store import PostgresStore
from blowfish_privacy.ledger.store import Store
from blowfish_privacy.privacy.measure import Budget, BudgetLike
from blowfish_privacy.support.postgresql import Address, driver, error_in_words

if TYPE_CHECKING:
    from psycopg import Connection

Result = TypeVar("Result")
TIMEOUT = 60.0
"""Seconds to wait for other writers."""

_NAME = re.compile(r"(?!pg_)[A-Za-z_][A-Za-z0-9_-]{0,62}")
_ATTEMPTS = 7
_FIRST_PAUSE = 0.1
_TRANSIENT = ("40001", "40P01", "08", "57P")
"""Serialisation failures, deadlocks, connections lost, a server that stops or starts."""
_SAME_KEY = "repeat with the same key: what was charged is not charged again."


class PostgresLedger(Ledger):
    """A ledger in PostgreSQL; make it with :meth:`create`, open it with :meth:`open`."""

    def __init__(
        self,
        address: Address,
        terms: Budget,
        *,
        load_policy: PolicyLoader | None,
        timeout: float,
        clock: Clock | None,
    ) -> None:
        super().__init__(terms=terms, load_policy=load_policy, clock=clock)
        self._address, self._timeout = address, timeout

    @classmethod
    def create(
        cls,
        url: str,
        *,
        budget: BudgetLike,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> PostgresLedger:
        """Make a ledger and open it; the options are those of :meth:`open`."""
        address, name = _parsed(url)
        terms = Budget.read(budget, error=LedgerError)
        with _wording_errors(), _transaction(address, timeout) as connection:
            check_durable(connection)
            make(connection, name, Account.opening(terms, write_time((clock or system_clock)())))
        return cls.open(url, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        budget: BudgetLike | None = None,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> PostgresLedger:
        """Open an existing ledger; see :meth:`SqliteLedger.open`."""
        address, name = _parsed(url)
        terms = None if budget is None else Budget.read(budget, error=LedgerError)
        with _wording_errors(), _transaction(address, timeout) as connection:
            check_durable(connection)
            account = inspect(connection, name)
        check_same_budget(f"the ledger {name!r}", account.terms, terms)
        return cls(address, account.terms, load_policy=load_policy, timeout=timeout, clock=clock)

    def __repr__(self) -> str:
        return f"PostgresLedger({self.name!r}, budget={self.terms.words})"

    @property
    def name(self) -> str:
        """The schema's name."""
        return self._address.options.get("ledger", DEFAULT_NAME)

    def admit(self, role: str) -> None:
        """Let a role of the database spend and read. It can neither change nor remove a row."""
        if role.strip().casefold() in ("public", "") or not role.isprintable():
            raise LedgerError("a ledger is opened to a role, not to everybody.", hint="name one role.")
        with _wording_errors(), _transaction(self._address, self._timeout) as connection:
            for statement in grants(quoted(self.name), quoted(role)):
                connection.execute(statement.encode())

    @contextmanager
    def _reading(self) -> Generator[Store]:
        with (
            _wording_errors(),
            closing(_connect(self._address, self._timeout, isolation="repeatable read")) as connection,
        ):
            yield self._store(connection)

    @contextmanager
    def _writing(self) -> Generator[Store]:
        with _transaction(self._address, self._timeout) as connection:
            check_durable(connection)
            store = self._store(connection)
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
                    if not _transient(error):
                        raise
                time.sleep(_FIRST_PAUSE * 2**attempt)
            return super()._write(action)

    def _store(self, connection: Connection[Any]) -> PostgresStore:
        connection.execute(f"SET LOCAL search_path = {quoted(self.name)}, pg_catalog".encode())
        return PostgresStore(connection)


def _parsed(url: str) -> tuple[Address, str]:
    """Split the address of a ledger into that of the database and the ledger's name."""
    address = Address.parse(url, ours=("ledger",), error=LedgerError)
    name = address.options.get("ledger", DEFAULT_NAME)
    if not _NAME.fullmatch(name):
        raise LedgerError(f"a ledger cannot be named {brief(name)}.", hint="use up to 63 letters, digits, _ and -.")
    driver(LedgerError)
    return address, name


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


def _transient(error: Exception) -> bool:
    state = getattr(error, "sqlstate", None)
    # Without a state the error comes from the connection, not from the server.
    return state is None or state.startswith(_TRANSIENT)


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
