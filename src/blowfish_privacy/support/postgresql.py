"""The address of a PostgreSQL server and connections to it, for the engine and for the ledger.

An address never holds a password: it would end up in policy files, shell histories and error reports. libpq finds it
in the environment (``PGPASSWORD``), the password file (``~/.pgpass``) or a service file (``?service=name``).

Passwords are never sent as clear text, and connections to other machines are encrypted, unless the user's own settings
say otherwise. Somebody else may have written a policy file: a server that one names hears nothing before the user has
confirmed it once (``blowfish trust``), and the file may set nothing that decides how the user logs in.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from blowfish_privacy.errors import BlowfishError, DataError, SpecError, UnconfirmedServerError, brief
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
_OF_FILES = (
    "host", "port", "user", "dbname", "service", "sslmode", "sslnegotiation", "application_name",
    "connect_timeout", "client_encoding", "options", "target_session_attrs", "load_balance_hosts", "tcp_user_timeout",
    "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
)  # fmt: skip
"""What a policy file may set; what decides how to log in, or names files, is for the user."""
_ENCRYPTED = ("require", "verify-ca", "verify-full")
_LIBPQ = 16
"""The first libpq that can refuse to send a password as clear text."""
_SESSION = {"standard_conforming_strings": "on", "client_encoding": "UTF8", "DateStyle": "ISO"}


# Linear in the length of the text: no part may run into another that takes the same characters.
_FOREIGN = re.compile(
    r"^\s|\s$|^\w[\w+.-]*://|^(jdbc|odbc|pg|postgres\w*):|password\s*=|://?[^/:]*:[^/@]*@", re.IGNORECASE
)


_PASSWORD = re.compile(r"(password|secret)\s*=|:/[^@:]*:[^@]*@", re.IGNORECASE)


def may_hold_password(text: str) -> bool:
    """Say whether a text looks like an address, of any kind, with a password in it."""
    return _PASSWORD.search(unquote(text)) is not None


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
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise error("a path must be valid text.", hint="remove the broken characters.")


class NamedByFile(str):
    """An address that a policy file names, not the user: its server has to be confirmed."""

    __slots__ = ()


@dataclass(frozen=True)
class Address:
    """How to reach a database: the settings for libpq, and the parameters that are ours."""

    settings: Mapping[str, str]
    options: Mapping[str, str]
    by_file: bool = False
    """Whether a policy file names it."""

    @classmethod
    def parse(cls, url: str, *, ours: Iterable[str], error: type[BlowfishError]) -> Address:
        """Read an address; nothing of it is quoted in an error, as it may hold a password."""
        check_length(url, error)
        base, options, rest = _split(url, tuple(ours), error)
        # Said where psycopg is not installed, too: it is the more urgent thing to mend.
        _refuse_credentials(_credentials(base, rest), error)
        psycopg = driver(error)
        settings: dict[str, Any] | None = None
        with suppress(psycopg.Error):
            settings = psycopg.conninfo.conninfo_to_dict("?".join(part for part in (base, rest) if part))
        if settings is None:
            raise error("the PostgreSQL address is not valid.", hint="write postgresql://user@host:5432/database?...")
        _refuse_credentials(settings, error)
        by_file = isinstance(url, NamedByFile)
        foreign = sorted(settings.keys() - set(_OF_FILES)) if by_file else []
        if foreign:
            raise error(
                f"an address in a policy file must not set {foreign[0]}.",
                hint="it is for you to set: in the environment, or in a service file (?service=name).",
            )
        return cls({name: str(value) for name, value in settings.items()}, options, by_file)

    @property
    def servers(self) -> list[str]:
        """The servers that the address itself names; none where it leaves that to the user's own settings."""
        if not self.settings.keys() & {"host", "port"}:
            return []
        places = _places(_resolved(self.settings))
        return [f"{f'[{host}]' if ':' in host else host or 'socket'}:{port or _PORT}" for host, port in places]

    def connect(self, session: Mapping[str, str] | None = None, **options: Any) -> Connection[Any]:
        """Open a connection with some settings of the session; the first statement is not yet run."""
        psycopg = driver(DataError)
        connection = psycopg.connect(**{**_CONNECTION, **self._guarded()}, autocommit=True, **options)
        try:
            for name, value in {**_SESSION, **(session or {})}.items():
                connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        connection.autocommit = False
        return connection

    def _guarded(self) -> dict[str, str]:
        """Return settings under which no password is sent as clear text, nor anything to a server that nobody knows."""
        if driver(DataError).pq.version() < _LIBPQ * 10_000:
            raise DataError(
                f"the libpq installed here may send passwords as clear text; {_LIBPQ} is the first that need not.",
                hint="pip install 'psycopg[binary]', which has a newer one.",
            )
        resolved, guarded = _resolved(self.settings), dict(self.settings)
        far = any(not _is_here(host) for host, _ in _places(resolved))
        if self.by_file:
            refuse_unconfirmed(self.servers)
            self._refuse_weaker(far=far)
        if not resolved.get("require_auth"):
            guarded["require_auth"] = "!password"
        if far and resolved.get("sslmode") == "prefer":
            guarded["sslmode"] = "require"
        return guarded

    def _refuse_weaker(self, *, far: bool) -> None:
        """Refuse to encrypt less because a file says so than the user's own settings would."""
        stated = self.settings.get("sslmode")
        default = _resolved({name: value for name, value in self.settings.items() if name != "sslmode"}).get("sslmode")
        least = "require" if far and default == "prefer" else default
        if stated is not None and _strength(stated) < _strength(least):
            raise DataError(
                f"the address in the file says sslmode={stated}, which protects less than {least}.",
                hint="take it out of the file; if you want it all the same, set PGSSLMODE yourself.",
            )


def refuse_unconfirmed(servers: Iterable[str]) -> None:
    """Refuse servers that a file names and the user has not confirmed."""
    for server in servers:
        if not is_confirmed(server):
            raise UnconfirmedServerError(
                f"the file names the server {server}, which you have not confirmed. Nothing was sent to it.",
                hint=f"if you know this server: blowfish trust {shlex.quote(server)}",
            )


def named_servers(named: str) -> list[str]:
    """Return the servers that data or a ledger in a policy file lie on, as far as the file names them."""
    if is_address(named):
        return Address.parse(named, ours=("table", "query", "statement_timeout", "ledger"), error=DataError).servers
    server = urlsplit(named.partition(":")[2]).netloc
    return [server] if server else []


def is_confirmed(server: str) -> bool:
    """Say whether the user has confirmed a server once, or the environment does (``BLOWFISH_TRUSTED_SERVERS``)."""
    try:
        kept = _confirmed_file().read_text(encoding="utf-8")
    except (OSError, ValueError):
        kept = ""
    known = {*kept.split("\n"), *re.split(r"[\s,]+", os.environ.get("BLOWFISH_TRUSTED_SERVERS", ""))}
    return bool(known & {server, server.removesuffix(f":{_PORT}")} - {""})


def confirm(server: str) -> None:
    """Remember for this user that policy files may name a server."""
    if not server or not server.isprintable() or re.search(r"[\s,@]|//", server):
        raise SpecError(f"{brief(server)} is not the name of a server.", hint="write HOST or HOST:PORT.")
    place = _confirmed_file()
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{server}\n")
        return
    except OSError as error:
        reason = error.strerror
    raise SpecError(f"{place} cannot be written: {reason}.", hint=f"set BLOWFISH_TRUSTED_SERVERS={shlex.quote(server)}")


_PORT = "5432"


def _confirmed_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or os.path.expanduser("~/.config")
    return Path(home) / "blowfish-privacy" / "servers"


def _resolved(settings: Mapping[str, str]) -> dict[str, str]:
    """Return what libpq makes of settings: with the service file, the environment and its defaults. Nothing is sent."""
    psycopg = driver(DataError)
    # libpq looks all of it up before it finds that this is no way to bind channels.
    asked = psycopg.conninfo.make_conninfo(**{**settings, "channel_binding": "none-such"})
    attempt = psycopg.pq.PGconn.connect_start(asked.encode())
    try:
        return {each.keyword.decode(): each.val.decode() for each in attempt.info if each.val is not None}
    finally:
        attempt.finish()


def _places(settings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the hosts and ports that a connection may go to; a folder or nothing is a socket of this machine."""
    hosts = (settings.get("hostaddr") or settings.get("host") or "").split(",")
    ports = (settings.get("port") or _PORT).split(",")
    return list(zip(hosts, ports if len(ports) == len(hosts) else ports * len(hosts), strict=False))


def _is_here(host: str) -> bool:
    try:
        return not host or host.startswith(("/", "@")) or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _strength(mode: str | None) -> int:
    return _ENCRYPTED.index(mode) + 1 if mode in _ENCRYPTED else 0


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
    """Name the settings of an address that can be read without a driver: a password of the user, and parameters."""
    user, at, _ = base.partition("://")[2].partition("/")[0].rpartition("@")
    named = [unquote(part.partition("=")[0]) for part in query.split("&")]
    return [*named, "password"] if at and ":" in user else named


def _refuse_credentials(settings: Iterable[str], error: type[BlowfishError]) -> None:
    if any(name in _CREDENTIALS for name in settings):
        raise error(
            "the PostgreSQL address holds a password, which does not belong there.",
            hint="take it out; put it into ~/.pgpass, a service file (?service=name), or PGPASSWORD.",
        )
