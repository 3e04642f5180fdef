"""A policy file may name a server that somebody set up to learn what a login sends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.batch import Batch
from blowfish_privacy.cli.main import run
from blowfish_privacy.engines import located, open_engine
from blowfish_privacy.errors import BlowfishError, DataError, SpecError, UnconfirmedServerError
from blowfish_privacy.ledger import open_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.studio.planning import Planning
from blowfish_privacy.support import postgresql
from blowfish_privacy.support.postgresql import Address, NamedByFile, confirm, is_confirmed
from servers.greedy import Greedy

psycopg: Any = pytest.importorskip("psycopg")
PASSWORD = "CANARY-4e1f"


@pytest.fixture
def greedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Greedy]:
    for name in list(os.environ):
        if name.startswith("PG") or name == "BLOWFISH_TRUSTED_SERVERS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    server = Greedy()
    yield server
    server.close()


def file_at(server: Greedy, folder: Path) -> Path:
    address = f"postgresql://somebody@127.0.0.1:{server.port}/db"
    path = folder / "people.yaml"
    path.write_text(
        f"version: 1\ndata: {address}?table=people\nledger: {address}?ledger=l\nbudget: 1\n"
        "policy: {domain: {age: {integer: [0, 9]}}, secrets: full}\n"
        "releases: [{name: old, mean: age, epsilon: 0.1}]\n"
    )
    return path


def test_a_server_that_a_file_names_hears_nothing_before_it_is_confirmed(
    greedy: Greedy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_at(greedy, tmp_path)
    server = f"127.0.0.1:{greedy.port}"
    for command in ("plan", "release", "data check", "ledger create", "card", "verify"):
        assert run([*command.split(), str(path), *(["--yes"] if command == "release" else [])]) == 5
        said = capsys.readouterr().err
        assert f"names the server {server}, which you have not confirmed" in said
        assert f"blowfish trust {server}" in said
    with pytest.raises(UnconfirmedServerError):
        Batch.open(path)
    file = spec.load(path)
    with pytest.raises(UnconfirmedServerError):
        Planning.of(file, tmp_path)
    # Without a ledger, the number of records is what the data are asked for.
    path.write_text(path.read_text().replace("ledger:", "# "))
    assert run(["plan", str(path)]) == 5
    assert greedy.heard == []


def test_once_it_is_confirmed_it_is_asked_and_gets_no_password(
    greedy: Greedy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_at(greedy, tmp_path)
    assert run(["trust", f"127.0.0.1:{greedy.port}"]) == 0
    assert (tmp_path / "config/blowfish-privacy/servers").stat().st_mode & 0o777 == 0o600
    assert run(["release", str(path), "--yes"]) == 5
    assert "refused the login" in capsys.readouterr().err
    assert b"somebody" in b"".join(greedy.heard)
    assert PASSWORD.encode() not in b"".join(greedy.heard)


def test_an_address_of_the_users_own_is_asked_and_gets_no_password(
    greedy: Greedy, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"postgresql://somebody@127.0.0.1:{greedy.port}/db"
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 9)), secrets=bp.FullDomain())
    with pytest.raises(DataError, match="refused the login"):
        open_engine(f"{address}?table=people").counts(policy.domain, [["age"]])
    with pytest.raises(BlowfishError, match="refused the login"):
        open_ledger(f"{address}?ledger=l")
    assert b"somebody" in b"".join(greedy.heard)
    assert PASSWORD.encode() not in b"".join(greedy.heard)
    # The user's own settings may want it all the same: so the server does hear what it is told.
    monkeypatch.setenv("PGREQUIREAUTH", "password")
    with pytest.raises(DataError):
        open_engine(f"{address}?table=people").counts(policy.domain, [["age"]])
    assert PASSWORD.encode() in b"".join(greedy.heard)


def settings_used(address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    used: dict[str, str] = {}

    def connect(**settings: str) -> None:
        used.update(settings)
        raise psycopg.OperationalError("seen")

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(psycopg.OperationalError):
        Address.parse(address, ours=("table",), error=DataError).connect()
    return used


@pytest.mark.usefixtures("greedy")
def test_other_machines_are_asked_over_tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def mode(address: str) -> str | None:
        return settings_used(address, monkeypatch).get("sslmode")

    assert mode("postgresql://db.example/x") == mode("postgresql://10.0.0.1/x") == "require"
    assert mode("postgresql://localhost,db.example/x?sslmode=prefer") == "require"
    assert mode("postgresql://db.example/x?sslmode=verify-full") == "verify-full"
    assert mode("postgresql://db.example/x?sslmode=disable") == "disable"
    for near in ("localhost", "127.0.0.1", "127.1.2.3", "[::1]", "%2Ftmp"):
        assert mode(f"postgresql://{near}/x") is None
    (tmp_path / "services").write_text("[far]\nhost=db.example\n[plain]\nhost=db.example\nsslmode=disable\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert mode("postgresql:///x?service=far") == "require"
    assert mode("postgresql:///x?service=plain") is None
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert mode("postgresql://db.example/x") is None


@pytest.mark.usefixtures("greedy")
def test_a_file_decides_nothing_about_the_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def used(query: str, host: str = "db.example") -> dict[str, str]:
        return settings_used(NamedByFile(f"postgresql://{host}/x?{query}"), monkeypatch)

    confirm("db.example")
    assert used("")["require_auth"] == "!password"
    foreign = ("require_auth=password", "passfile=/tmp/x", "hostaddr=10.0.0.9", "sslkeylogfile=/tmp/x")
    for query in (*foreign, "sslrootcert=/tmp/x", "channel_binding=disable", "oauth_issuer=https://x"):
        with pytest.raises(DataError, match=f"must not set {query.partition('=')[0]}"):
            used(query)
    for mode in ("disable", "allow", "prefer"):
        with pytest.raises(DataError, match=f"sslmode={mode}, which protects less than require"):
            used(f"sslmode={mode}")
    assert used("sslmode=verify-full")["sslmode"] == "verify-full"
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    with pytest.raises(DataError, match="protects less than verify-full"):
        used("sslmode=require")
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert used("sslmode=disable")["sslmode"] == "disable"
    for host in ("db.example:5433", "db.example,elsewhere", ":5433", "%2Ftmp%2Fx", "[::1]"):
        with pytest.raises(UnconfirmedServerError):
            used("", host)
    # Where the file leaves the server to the user's own settings, there is nothing to confirm.
    (tmp_path / "services").write_text("[own]\nhost=db.other\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert used("service=own", "")["service"] == "own"
    with pytest.raises(UnconfirmedServerError, match="elsewhere:5432"):
        used("service=own&host=elsewhere", "")


@pytest.mark.usefixtures("greedy")
def test_an_old_libpq_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg.pq, "version", lambda: 150018)
    with pytest.raises(DataError, match="may send passwords as clear text"):
        Address.parse("postgresql://localhost/x", ours=(), error=DataError).connect()


@pytest.mark.usefixtures("greedy")
def test_servers_are_confirmed_by_name_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    confirm("db.example")
    confirm("other:5433")
    assert is_confirmed("db.example:5432")
    assert is_confirmed("other:5433")
    assert not is_confirmed("other:5432")
    assert not is_confirmed("db.example.evil:5432")
    assert not is_confirmed("")
    for wrong in ("", "a b", "a\nb", "postgresql://db.example/x", "me:secret@db.example"):
        with pytest.raises(SpecError, match="not the name of a server"):
            confirm(wrong)
    monkeypatch.setenv("BLOWFISH_TRUSTED_SERVERS", "third, fourth:1 fifth")
    assert all(map(is_confirmed, ("third:5432", "fourth:1", "fifth:5432")))
    assert not is_confirmed("fourth:5432")


@pytest.mark.usefixtures("greedy")
def test_what_spark_reads_from_another_machine_is_confirmed_too() -> None:
    with pytest.raises(UnconfirmedServerError, match="names the server namenode:8020"):
        open_engine(located("spark:hdfs://namenode:8020/people", "."))
    assert postgresql.named_servers("spark:file:///people") == postgresql.named_servers("spark:?table=people") == []
