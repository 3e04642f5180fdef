"""A PostgreSQL server of our own on the loopback interface, for as long as the tests run."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

from servers.ports import free_port

psycopg: Any = pytest.importorskip("psycopg")

PASSWORD = "CANARY-password-5d1e"
DATABASE = "postgres"
_TYPES = {
    pa.int64(): "bigint", pa.string(): "text", pa.bool_(): "boolean", pa.float64(): "double precision",
    pa.float32(): "real", pa.date32(): "date", pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}  # fmt: skip


def binaries() -> Path:
    """Find the server's programs; Debian keeps them outside the search path."""
    places = sorted(glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    found = shutil.which("initdb") or (places[-1] if places else None)
    if found is None:
        raise RuntimeError("PostgreSQL's server is not installed: make test-engines installs it")
    return Path(os.path.realpath(found)).parent


class PostgresServer:
    """One server; stopped and started by its process id."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="blowfish-postgres-"))
        self.port = free_port()
        self._names = 0
        # PostgreSQL refuses to run as the superuser.
        self._user = next((u for u in ("postgres", "nobody") if _exists(u)), None) if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ["-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(
            [str(binaries() / "initdb"), "-D", "data", *options],
            cwd=self.folder, user=self._user, check=True, capture_output=True,
        )  # fmt: skip
        secret.unlink()
        self.start()

    def start(self) -> None:
        log = (self.folder.parent / f"{self.folder.name}.log").open("ab")
        settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}", f"port={self.port}"]
        self._process = subprocess.Popen(
            [str(binaries() / "postgres"), "-D", "data", *(part for s in settings for part in ("-c", s))],
            cwd=self.folder, user=self._user, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT disconnects everybody and stops; SIGQUIT stops as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder.parent / f"{self.folder.name}.log").unlink(missing_ok=True)

    @property
    def log(self) -> str:
        return (self.folder.parent / f"{self.folder.name}.log").read_text(errors="replace")

    def connect(self, user: str = "owner", **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=user,
            password=PASSWORD,
            dbname=DATABASE,
            connect_timeout=5,
            **options,
        )

    def execute(self, *statements: str, user: str = "owner") -> None:
        with self.connect(user, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def url(self, user: str = "owner", **parameters: str) -> str:
        """An address without the password, which the environment holds."""
        written = "&".join(f"{name}={quote(value, safe=' ')}" for name, value in parameters.items())
        return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}" + (f"?{written}" if written else "")

    def name(self, prefix: str, *, plain: bool = False) -> str:
        self._names += 1
        if plain:
            return f"{prefix}-{self._names}"
        return f'{prefix} "{self._names}" \''

    def load(self, table: pa.Table) -> str:
        """Store an Arrow table and return its name."""
        name = self.name("a table")
        columns = ", ".join(f"{quoted(each.name)} {_type(each.type)}" for each in table.schema)
        with self.connect() as connection:
            connection.execute(f"CREATE TABLE {quoted(name)} ({columns})".encode())
            with connection.cursor().copy(f"COPY {quoted(name)} FROM STDIN".encode()) as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        return name


def _type(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _TYPES[kind]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
