"""PostgreSQL going away at the worst moments of a release."""

from __future__ import annotations

import subprocess
import time
import traceback
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import DataError
from faults.child import Release, interrupt, kill
from servers.postgres import PASSWORD
from servers.proxy import proxied

pytestmark = pytest.mark.servers
Server = Any
POLICY = bp.Policy(bp.Domain(x=bp.Integer(0, 2)), secrets=bp.FullDomain())
SLOW = "SELECT CAST(n % 3 AS integer) AS x FROM generate_series(1, 9) AS t(n), pg_sleep({}) AS s"


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, postgres_server: Server, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "a.ledger")
    return postgres_server.url(ledger=postgres_server.name("Ledger", plain=True))


def check(session: bp.Session, plan: Any) -> None:
    """After a failure: one charge; the same plan again: the same charge, and an answer."""
    assert (session.ledger.spent, len(session.ledger.entries())) == (Fraction(1, 2), 1)
    first = session.release(plan)
    assert session.release(plan).text == first.text
    report = session.ledger.verify()
    assert (report.problems, report.entries, report.documents, report.spent) == ((), 1, 1, Fraction(1, 2))


def fails(action: Any, match: str) -> None:
    with pytest.raises(DataError, match=match) as caught:
        action()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("back", ["in time", "later"])
def test_the_server_stops_between_charge_and_read(
    postgres_server: Server, tmp_path: Path, back: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, ledger = postgres_server.url(query=SLOW.format(0)), str(tmp_path / "a.ledger")
    session = bp.Session(data, POLICY, budget=1, ledger=ledger, create=True)
    plan, charge = session.plan(bp.Histogram("x"), epsilon="1/2"), session.ledger.charge

    def charge_and_stop(**asked: Any) -> Any:
        made = charge(**asked)
        postgres_server.stop()
        if back == "in time":
            postgres_server.start()
        return made

    monkeypatch.setattr(session.ledger, "charge", charge_and_stop)
    try:
        if back == "in time":
            session.release(plan)
        else:
            fails(lambda: session.release(plan), "cannot be reached")
    finally:
        monkeypatch.undo()
        if back == "later":
            postgres_server.start()
    check(session, plan)


def test_the_connection_is_cut_mid_scan(postgres_server: Server, ledger: str) -> None:
    with proxied(postgres_server.port) as proxy:
        url = postgres_server.url(query=SLOW.format(0.5)).replace(str(postgres_server.port), str(proxy.port))
        session = bp.Session(url, POLICY, budget=1, ledger=ledger, create=True)
        plan = session.plan(bp.Histogram("x"), epsilon="1/2")
        proxy.cut(b"STRING_AGG", "during")
        fails(lambda: session.release(plan), "connection to PostgreSQL was lost")
        assert proxy.cuts_left == 0
        check(session, plan)


@pytest.mark.parametrize("how", ["terminate", "cancel"])
def test_the_administrator_ends_the_scan(postgres_server: Server, ledger: str, how: str) -> None:
    data = postgres_server.url(query=SLOW.format(1))
    session = bp.Session(data, POLICY, budget=1, ledger=ledger, create=True)
    plan = session.plan(bp.Histogram("x"), epsilon="1/2")
    failed = Event()

    def end(connection: Any) -> None:
        # Again and again: a server forgets a cancellation that reaches it between two messages.
        while not failed.is_set():
            connection.execute(
                f"SELECT pg_{how}_backend(pid) FROM pg_stat_activity WHERE state = 'active' "
                "AND pid <> pg_backend_pid() AND query LIKE '%%STRING_AGG%%'".encode()
            )
            time.sleep(0.02)

    with postgres_server.connect(autocommit=True) as connection:
        administrator = Thread(target=end, args=[connection])
        administrator.start()
        try:
            fails(lambda: session.release(plan), "stopped or ended|cannot be reached|cancelled|lost")
        finally:
            failed.set()
            administrator.join()
    check(session, plan)


@pytest.mark.parametrize("blow", [interrupt, kill], ids=["interrupt", "kill"])
def test_the_client_is_stopped_mid_scan(postgres_server: Server, tmp_path: Path, blow: Any) -> None:
    release = Release(tmp_path, postgres_server.url(query=SLOW.format(3)))
    stopped: subprocess.CompletedProcess[str] = release.strike(blow)
    assert stopped.returncode == (130 if blow is interrupt else -9)
    assert "Traceback" not in stopped.stderr
    release.check_charged_once_and_nothing_out()
    if blow is interrupt:
        # The server was told to stop, too.
        with postgres_server.connect() as connection:
            left = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%STRING_AGG%' "
                "AND pid <> pg_backend_pid()"
            ).fetchone()
        assert left == (0,)
        release.check_nothing_left_behind()
    release.check_a_retry_is_not_charged()


def test_the_password_appears_nowhere(
    postgres_server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    ledger = postgres_server.url(ledger=postgres_server.name("Ledger", plain=True))
    for number, place in enumerate(("a.ledger", ledger)):
        folder = tmp_path / str(number)
        folder.mkdir()
        release = Release(folder, postgres_server.url(query=SLOW.format(0)), place)
        done = release.finish()
        assert done.returncode == 0, done.stderr
        release.write(postgres_server.url(table="absent"))
        failed = release.finish()
        assert failed.returncode == 5
        said = [done.stdout, done.stderr, failed.stdout, failed.stderr, caplog.text, postgres_server.log]
        said += [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
        said += [str(entry) + str(release.ledger().document(entry.key)) for entry in release.ledger().entries()]
        assert not [text for text in said if PASSWORD in text]
        # Neither is the address: a document says what was released, not where the data are.
        assert str(postgres_server.port) not in (folder / "out/numbers.release.json").read_text()
