"""The address of a PostgreSQL server and connections to it, for the engine and for the ledger.

An address never holds a password: it would end up in policy files, shell histories and error reports. libpq finds it
in the environment (``PGPASSWORD``), the password file (``~/.pgpass``) or a service file (``?service=name``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from blowfish_privacy.errors import BlowfishError, DataError
from blowfish_privacy.support.limits import TEXT_CHARACTERS

if TYPE_CHECKING:
    from psycopg import Connection

_SCHEMES = ("postgresql://", "postgres://")
_CREDENTIALS = ("password", "sslpassword", "oauth_client_secret")
_CONNECTION = {
    "application_name": "blowfish-privacy",
    "connect_timeout": "10",
    # A server that is gone is noticed within about two minutes, however long a query may take.
    "keepalives_idle": "60",
    "keepalives_interval": "10",
    "keepalives_count": "6",
    "tcp_user_timeout": "120000",
}
_SESSION = {"standard_conforming_strings": "on", "client_encoding": "UTF8", "DateStyle": "ISO"}


# Linear in the length of the text: no part may run into another that takes the same characters.
_FOREIGN = re.compile(
    r"^\s|\s$|^\w[\w+.-]*://|^(jdbc|odbc|pg|postgres\w*):|password\s*=|://?[^/:]*:[^/@]*@", re.IGNORECASE
)


def is_address(text: str) -> bool:
    """Say whether a text is an address of PostgreSQL, well formed or not."""
    return text.casefold().startswith(_SCHEMES)


def check_length(text: str, error: type[BlowfishError]) -> None:
    """Refuse a path or an address that is too long, without quoting it."""
    if len(text) > TEXT_CHARACTERS:
        raise error(
            f"a path or an address has at most {TEXT_CHARACTERS:,} characters, got {len(text):,}.",
            hint="make a long query a view of the database, and name it as the table.",
        )


def refuse_address(text: str, error: type[BlowfishError]) -> None:
    """Refuse what is neither a path nor an address of ours, without quoting it: it may hold a password."""
    check_length(text, error)
    if _FOREIGN.search(text):
        raise error(
            "this is neither a path nor an address that can be opened.",
            hint="write a path without spaces around it, postgresql://user@host/database?..., or spark:PATH.",
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        broken = True
    else:
        broken = False
    if broken:
        raise error("a path must be valid text.", hint="remove the broken characters.")


@dataclass(frozen=True)
class Address:
    """How to reach a database: the settings for libpq, and the parameters that are ours."""

    settings: Mapping[str, str]
    options: Mapping[str, str]

    @classmethod
    def parse(cls, url: str, *, ours: Iterable[str], error: type[BlowfishError]) -> Address:
        """Read an address; nothing of it is quoted in an error, as it may hold a password."""
        check_length(url, error)
        base, options, rest = _split(url, tuple(ours), error)
        # Said where psycopg is not installed, too: it is the more urgent thing to mend.
        _refuse_credentials(_credentials(base, rest), error)
        psycopg = driver(error)
        try:
            settings = psycopg.conninfo.conninfo_to_dict("?".join(part for part in (base, rest) if part))
            problem = None
        except psycopg.Error:
            settings, problem = {}, "the PostgreSQL address is not valid."
        if problem is not None:
            raise error(problem, hint="write postgresql://user@host:5432/database?...")
        _refuse_credentials(settings, error)
        return cls({name: str(value) for name, value in settings.items()}, options)

    def connect(self, session: Mapping[str, str] | None = None, **options: Any) -> Connection[Any]:
        """Open a connection with some settings of the session; the first statement is not yet run."""
        psycopg = driver(DataError)
        connection = psycopg.connect(**{**_CONNECTION, **self.settings}, autocommit=True, **options)
        try:
            for name, value in {**_SESSION, **(session or {})}.items():
                connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        connection.autocommit = False
        return connection


def driver(error: type[BlowfishError]) -> Any:
    """Import psycopg, or say how to get it."""
    from importlib import import_module

    try:
        return import_module("psycopg")
    except ImportError:
        hint = "pip install 'psycopg[binary]'."
    raise error("PostgreSQL needs the psycopg package.", hint=hint)


def error_in_words(problem: Exception) -> tuple[str, str]:
    """Say what PostgreSQL reports, and what to do about it; its words are left out, as they may quote rows."""
    state = getattr(problem, "sqlstate", None)
    if state is not None:
        for length in (5, 2):
            if state[:length] in _STATES:
                return _STATES[state[:length]]
        return f"PostgreSQL refused the request ({type(problem).__name__})", "ask the database's administrator."
    said = str(problem).casefold()
    for words, answer in _SAID.items():
        if words in said:
            return answer
    return "the connection to PostgreSQL was lost", "try again; what was charged is not charged again."


_AWAY = ("the PostgreSQL server cannot be reached", "check host, port, and that the server runs; then try again.")
_DENIED = (
    "the PostgreSQL server refused the login",
    "check the user, and the password in ~/.pgpass, PGPASSWORD or the service file.",
)
_STATES = {
    "28": _DENIED,
    "3D000": ("the PostgreSQL server has no such database", "check the name after the last slash."),
    "42501": ("PostgreSQL does not permit this", "ask the owner to grant it."),
    "42P01": ("PostgreSQL has no such table", "check the spelling and the schema."),
    "57014": ("PostgreSQL cancelled the request, or it took too long", "raise it: &statement_timeout=2h."),
    "57P03": _AWAY,
    "57": ("the PostgreSQL server stopped or ended the connection", "try again; nothing is charged twice."),
    "53": ("the PostgreSQL server is short of memory, disk or connections", "try again later."),
    "55P03": ("others kept the rows locked for too long", "try again."),
    "25006": ("PostgreSQL refused to write in a read-only transaction", "a source of data must only select."),
    "42601": ("PostgreSQL could not parse the query", "test it with psql."),
}
_SAID = {
    "password authentication failed": _DENIED,
    "no password supplied": _DENIED,
    "authentication": _DENIED,
    "pg_hba": _DENIED,
    "role": _DENIED,
    "does not exist": ("the PostgreSQL server has no such database", "check the name after the last slash."),
    "service": ("the PostgreSQL service is not defined", "check ~/.pg_service.conf or PGSERVICEFILE."),
    "connection refused": _AWAY,
    "timeout": _AWAY,
    "translate host name": _AWAY,
    "no such file": _AWAY,
    "starting up": _AWAY,
    "shutting down": _AWAY,
}


def _split(url: str, ours: tuple[str, ...], error: type[BlowfishError]) -> tuple[str, dict[str, str], str]:
    base, _, query = url.partition("?")
    options: dict[str, str] = {}
    rest: list[str] = []
    for part in query.split("&") if query else []:
        name, _, value = part.partition("=")
        if name not in ours:
            rest.append(part)
        elif name in options:
            raise error(f"the PostgreSQL address has {name} twice.", hint="keep one; write & inside it as %26.")
        else:
            options[name] = unquote(value)
    return base, options, "&".join(rest)


def _credentials(base: str, query: str) -> list[str]:
    """Name the settings of an address that can be told without a driver: a password of the user, and parameters."""
    user, at, _ = base.partition("://")[2].partition("/")[0].rpartition("@")
    named = [unquote(part.partition("=")[0]) for part in query.split("&")]
    return [*named, "password"] if at and ":" in user else named


def _refuse_credentials(settings: Iterable[str], error: type[BlowfishError]) -> None:
    if any(name in _CREDENTIALS for name in settings):
        raise error(
            "the PostgreSQL address holds a password, which does not belong there.",
            hint="take it out; put it into ~/.pgpass, a service file (?service=name), or PGPASSWORD.",
        )
