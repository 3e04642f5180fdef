"""What is particular to a ledger in PostgreSQL: lost connections, roles, and the rules the server itself keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import BlowfishWarning, LedgerError
from blowfish_privacy.ledger import OverBudgetError, SqliteLedger
from blowfish_privacy.ledger import postgres as module
from blowfish_privacy.ledger.postgres import PostgresLedger
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, changing
from servers.postgres import PASSWORD, psycopg
from servers.proxy import proxied
from unit.ledger.samples import load, request

pytestmark = pytest.mark.servers
Server = Any
TESTS = Path(__file__).parents[2]


@pytest.fixture
def url(postgres_server: Server) -> str:
    return postgres_server.url(ledger=postgres_server.name("Ledger", plain=True))


def opened(url: str, budget: int | None = 1) -> PostgresLedger:
    if budget is None:
        return PostgresLedger.open(url, load_policy=load)
    try:
        return PostgresLedger.create(url, budget=Fraction(budget), load_policy=load)
    except LedgerError as error:
        if "already exists" not in error.message:
            raise
    return PostgresLedger.open(url, budget=Fraction(budget), load_policy=load)


def schema(url: str) -> str:
    return f'"{url.rpartition("=")[2]}"'


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_connection_lost_around_the_commit(postgres_server: Server, url: str, moment: Any, times: int) -> None:
    direct = opened(url)
    with proxied(postgres_server.port) as proxy:
        far = opened(url.replace(str(postgres_server.port), str(proxy.port)))
        proxy.cut(b"COMMIT", moment, times)
        entry = far.charge(**request("a", "1/3"))
        assert proxy.cuts_left == 0
        # Committed at the first attempt or at a later one: charged once, and the number is the stored one.
        assert direct.entries() == (entry,)
        assert direct.spent == Fraction(1, 3)
        proxy.cut(b"COMMIT", moment, times)
        assert far.record("a", "first noise") == "first noise"
        proxy.cut(b"COMMIT", moment, times)
        assert far.record("a", "second noise") == "first noise"
    assert direct.document("a") == "first noise"
    report = direct.verify()
    assert (report.ok, report.entries, report.documents) == (True, 1, 1)


def test_a_connection_that_stays_lost(postgres_server: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.001)
    direct = opened(url)
    with proxied(postgres_server.port) as proxy:
        far = opened(url.replace(str(postgres_server.port), str(proxy.port)))
        proxy.cut(b"COMMIT", "before", 100)
        with pytest.raises(LedgerError, match="connection to PostgreSQL was lost") as caught:
            far.charge(**request("a", "1/3"))
        assert "same key" in str(caught.value)
        assert direct.spent == 0
        proxy.cut(b"COMMIT", "after", 100)
        with pytest.raises(LedgerError, match="connection to PostgreSQL was lost"):
            far.charge(**request("b", "1/3"))
    assert direct.charge(**request("b", "1/3")).number == 1
    assert direct.spent == Fraction(1, 3)


def test_serialisation_failures_are_tried_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.001)
    ledger, failures = opened(url), [psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected]
    append = module.PostgresStore.append

    def failing(self: Any, *given: Any, **named: Any) -> None:
        append(self, *given, **named)
        if failures:
            raise failures.pop()

    monkeypatch.setattr(module.PostgresStore, "append", failing)
    entry = ledger.charge(**request("a", "1/3"))
    assert not failures
    assert ledger.entries() == (entry,)
    assert ledger.verify().ok


def test_other_failures_are_not_tried_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, tried = opened(url), []

    def failing(self: Any, *given: Any, **named: Any) -> None:
        tried.append(1)
        raise psycopg.errors.DiskFull

    monkeypatch.setattr(module.PostgresStore, "append", failing)
    with pytest.raises(LedgerError, match="short of memory, disk"):
        ledger.charge(**request("a"))
    assert len(tried) == 1


def test_a_server_that_stops_and_starts(postgres_server: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.001)
    ledger = opened(url)
    ledger.charge(**request("a", "1/3"))
    postgres_server.stop()
    try:
        for use in (
            lambda: ledger.charge(**request("a", "1/3")),
            lambda: ledger.record("a", "noise"),
            lambda: opened(url),
        ):
            with pytest.raises(LedgerError, match="cannot be reached"):
                use()
    finally:
        postgres_server.start()
    ledger.charge(**request("a", "1/3"))
    assert ledger.record("a", "noise") == "noise"
    assert (ledger.spent, ledger.verify().ok) == (Fraction(1, 3), True)


SPEND = """
import sys
from fractions import Fraction
from unit.ledger.samples import load, request
from blowfish_privacy.errors import BudgetError
from blowfish_privacy.ledger import open_ledger

ledger = open_ledger(sys.argv[1], load_policy=load)
for number in range(99):
    key = f"{sys.argv[2]}-{number}"
    try:
        ledger.charge(**request(key, "1/24"))
    except BudgetError:
        break
    print(key, ledger.record(key, f"document of {key}"), flush=True)
"""


def test_spenders_on_many_hosts_some_of_them_killed(url: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    opened(url)
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPEND, url, str(n)], env=environment, stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    assert spenders[0].stdout is not None
    spenders[0].stdout.readline()
    for killed in spenders[:2]:
        killed.kill()
    said = [spender.communicate(timeout=60)[0] for spender in spenders]
    assert [spender.returncode for spender in spenders[2:]] == [0, 0]
    ledger = opened(url)
    report = ledger.verify()
    assert (report.problems, report.spent, ledger.remaining) == ((), 1, 0)
    for line in "".join(said).splitlines():
        key, document = line.split(" ", 1)
        assert ledger.document(key) == document


def test_of_many_hosts_one_makes_a_ledger(url: str) -> None:
    code = "import sys; from fractions import Fraction; from blowfish_privacy.ledger import create_ledger; " \
        "print(create_ledger(sys.argv[1], budget=Fraction(2)).spent)"  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    makers = [subprocess.Popen([sys.executable, "-c", code, url], **pipes) for _ in range(4)]
    said = [maker.communicate(timeout=60) for maker in makers]
    assert sorted(out for out, _ in said) == [b"", b"", b"", b"0\n"]
    assert sum(b"already exists" in error for _, error in said) == 3
    assert opened(url, 2).spent == 0


def test_a_role_that_is_admitted_can_spend_and_rewrite_nothing(postgres_server: Server, url: str) -> None:
    owner, name = opened(url), schema(url)
    postgres_server.execute(f"CREATE ROLE \"ana'lyst\" LOGIN PASSWORD '{PASSWORD}'")
    theirs = url.replace("owner@", "ana%27lyst@")
    with pytest.raises(LedgerError, match="does not permit"):
        opened(theirs, None)
    owner.admit("ana'lyst")
    analyst = opened(theirs, None)
    analyst.charge(**request("a", "1/3"))
    assert analyst.record("a", "noise") == "noise"
    assert owner.entries() == analyst.entries()
    assert owner.verify().ok
    for attempt in (
        f"UPDATE {name}.entries SET charged = '0/1'", f"DELETE FROM {name}.entries", f"TRUNCATE {name}.documents",
        f"UPDATE {name}.documents SET text = 'other'", f"UPDATE {name}.account SET budget = '9/1'",
        f"DELETE FROM {name}.account",
        f"INSERT INTO {name}.account VALUES (1, 'epsilon', '1/1', '', '0/1', 0, '', 0, '', 0, '')",
        f"UPDATE {name}.account SET spent = '0/1'", f"UPDATE {name}.account SET spent = '0/1', entries = entries + 1",
        f"UPDATE {name}.account SET entries = 0, entries_head = ''", f"DROP SCHEMA {name} CASCADE",
        f"UPDATE {name}.account SET spent = '2/3', entries = entries + 1, entries_head = 'x'",
        f"INSERT INTO {name}.entries SELECT 2, 'b', made, policy, epsilon, charged, rule, description, content, "
        f"mechanism, detail, 'x', measure, loss FROM {name}.entries", f"ALTER TABLE {name}.entries DISABLE TRIGGER ALL",
        f"SET session_replication_role = replica; DELETE FROM {name}.entries",
        f"INSERT INTO {name}.documents VALUES (2, 1, '', '', '', '')",
        f"INSERT INTO {name}.failures VALUES (1, 1, '', '')", f"UPDATE {name}.account SET failures = failures + 1",
        f"UPDATE {name}.account SET spent = '0/1', failures = failures + 1",
        f"INSERT INTO {name}.policies OVERRIDING SYSTEM VALUE SELECT -5, hash, 'x', 'forged' FROM {name}.policies",
        f"UPDATE {name}.account SET measure = 'rho'", f"UPDATE {name}.balances SET amount = '0/1'",
        f"UPDATE {name}.balances SET amount = '1/2', entry = 2", f"DELETE FROM {name}.balances",
        f"INSERT INTO {name}.balances VALUES ('all', '', '{{}}', '1/9', 1)", f"UPDATE {name}.balances SET kind = 'all'",
        f"UPDATE {name}.account SET spent = '2/6', entries = entries + 1, entries_head = 'x'",
    ):  # fmt: skip
        with pytest.raises(psycopg.Error):
            postgres_server.execute(attempt, user="ana'lyst")
    # A charge of nothing for an epsilon, and a sum that does not follow from the row, are refused at the commit.
    for charged, spent in (("0/1", "1/3"), ("1/3", "1/3"), ("1/3", "1/2"), ("1/1", "4/3")):
        forged = (
            f"UPDATE {name}.account SET spent = '{spent}', entries = 2, entries_head = 'x'; "
            f"INSERT INTO {name}.entries SELECT 2, 'b', made, policy, epsilon, '{charged}', rule, description, "
            f"content, mechanism, detail, 'x', measure, loss FROM {name}.entries"
        )
        with pytest.raises(psycopg.Error, match="no row explains|beyond the budget"):
            postgres_server.execute(forged, user="ana'lyst")
    assert owner.verify().ok
    assert owner.spent == Fraction(1, 3)
    # Policies that no entry refers to are nobody's.
    forged = f"INSERT INTO {name}.policies (hash, canonical, text) SELECT hash, 'x', text FROM {name}.policies"
    postgres_server.execute(forged, user="ana'lyst")
    owner.charge(**request("c", "1/6"))
    assert owner.verify().ok
    for role in ("public", "PUBLIC", "", "\ud800"):
        with pytest.raises(LedgerError, match="not to everybody"):
            owner.admit(role)


AGES = '{"pairs":"attribute","attribute":"age","within":{"sex":[[0,1]]},"amount":"1/3"}'
FORGED = {
    "a balance that does not move": ("1/3", "[%s]", ()),
    "a balance that moves by less": ("1/3", "[%s]", ("INSERT age 1/4",)),
    "a balance that no entry states": ("1/3", "[%s]", ("INSERT age 1/3", "INSERT sex 1/3")),
    "a balance that moves for an old entry": ("1/3", "[%s]", ("INSERT age 1/3", "UPDATE every 2/3 entry 1")),
    "a balance that becomes that of another class": ("1/3", "[%s]", ("UPDATE every 1/3 entry 2, kind = 'all'",)),
    "less spent than a balance": ("1/3", "[%s]", ("INSERT age 1/3",)),
    "a loss that is not what was charged": ("2/3", "[]", ()),
    "a loss of more than was charged": ("2/3", "[%s]", ("INSERT age 1/3",)),
    "a loss stated twice": ("2/3", "[%s,%s]", ("INSERT age 1/3",)),
    "no loss": ("2/3", "", ()),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_the_server_lets_balances_move_only_as_the_entry_says(postgres_server: Server, url: str, forgery: str) -> None:
    owner, name = opened(url), schema(url)
    owner.charge(**request("a", "1/3", "people"))
    spent, loss, moves = FORGED[forgery]
    statements = []
    for move in moves:
        verb, kind, amount, *rest = move.split(maxsplit=3)
        if verb == "INSERT":
            row = f"'attribute', '{kind}', '{{\"sex\":[[0,1]]}}', '{amount}', 2"
            statements.append(f"INSERT INTO {name}.balances VALUES ({row})")
        else:
            changes = rest[0].replace("entry ", "entry = ")
            statements.append(f"UPDATE {name}.balances SET amount = '{amount}', {changes} WHERE kind = '{kind}'")
    charged = "1/4" if "more than" in forgery else "1/3"
    entry = (
        f"INSERT INTO {name}.entries SELECT 2, 'b', made, policy, '1/4', '{charged}', rule, description, content, "
        f"mechanism, detail, 'x', measure, '{loss.replace('%s', AGES)}' FROM {name}.entries"
    )
    account = f"UPDATE {name}.account SET spent = '{spent}', entries = 2, entries_head = 'x'"
    with pytest.raises(psycopg.Error, match="explains|invalid input syntax for type json"):
        postgres_server.execute("; ".join([account, entry, *statements]))
    assert (owner.verify().problems, owner.spent) == ((), Fraction(1, 3))


def test_vectors_with_regions_are_kept_as_in_a_file(url: str, tmp_path: Path) -> None:
    ledgers = [opened(url), SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1), load_policy=load)]
    within = (("sex", Subset.of([0])),)
    losses = [
        {changing("age"): Fraction(1, 3), changing("sex"): Fraction(1, 7)},
        {PairClass("attribute", "age", within): Fraction(1, 3), EVERY: Fraction(1, 11)},
        {PairClass("attribute", "age", within): Fraction(1, 13), PairClass("presence", "", within): Fraction(1, 5)},
        {changing("age"): Fraction(1, 2)},
        {},
    ]
    for ledger in ledgers:
        for number, loss in enumerate(losses):
            asked = request(str(number), policy="people") | {"loss": Loss.of(loss)}
            assert ledger.quote(asked["loss"], asked["policy"]).fits == (number != 3)
            if number == 3:
                with pytest.raises(OverBudgetError, match="the secret pairs that change age have lost"):
                    ledger.charge(**asked)
            else:
                ledger.charge(**asked)
        assert ledger.spent == Fraction(2, 3) + Fraction(1, 11) + Fraction(1, 13)
        assert all("does not have" in problem for problem in ledger.verify().problems)
    assert (ledgers[0].lost, ledgers[0].balances) == (ledgers[1].lost, ledgers[1].balances)


def test_even_the_owner_changes_no_row_by_accident(postgres_server: Server, url: str) -> None:
    ledger, name = opened(url), schema(url)
    ledger.charge(**request("a", "1/3", "stated 1"))
    ledger.record("a", "noise")
    ledger.charge(**request("b", "0", "stated 1"))
    ledger.fail("b")
    for table in ("account", "policies", "entries", "documents", "failures", "balances"):
        for attempt in (f"DELETE FROM {name}.{table}", f"TRUNCATE {name}.{table} CASCADE"):
            with pytest.raises(psycopg.errors.RaiseException, match="only ever added"):
                postgres_server.execute(attempt)
    postgres_server.execute(
        f"ALTER TABLE {name}.entries DISABLE TRIGGER USER",
        f"UPDATE {name}.entries SET epsilon = '1/4', charged = '1/4'",
    )
    assert any("was changed" in problem for problem in ledger.verify().problems)


def test_a_ledger_of_another_format_is_refused(postgres_server: Server, url: str) -> None:
    opened(url)
    postgres_server.execute(f"COMMENT ON SCHEMA {schema(url)} IS 'a ledger of blowfish-privacy, format 2'")
    with pytest.raises(LedgerError, match="not a ledger of format 1, which this version reads"):
        opened(url, None)


def test_what_is_no_ledger(postgres_server: Server, url: str) -> None:
    with pytest.raises(LedgerError, match="there is no ledger 'Ledger-"):
        opened(url, None)
    postgres_server.execute("CREATE SCHEMA other")
    with pytest.raises(LedgerError, match="is not a ledger"):
        opened(postgres_server.url(ledger="other"), None)
    for name in ("", "pg_x", "a b", "a;b", 'a"b', "x$body$", "a" * 64, "é"):
        with pytest.raises(LedgerError, match="cannot be named"):
            opened(postgres_server.url(ledger=name))
    with pytest.raises(LedgerError, match="holds a password"):
        opened(url.replace("owner@", f"owner:{PASSWORD}@"))


def test_a_ledger_open_to_everybody_is_noticed(postgres_server: Server, url: str) -> None:
    opened(url)
    postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema(url)} TO PUBLIC")
    with pytest.warns(BlowfishWarning, match="open to every user"):
        opened(url)


def test_a_server_that_does_not_write_to_disk_is_refused(postgres_server: Server, url: str) -> None:
    ledger = opened(url)
    postgres_server.execute("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    try:
        _until(lambda: _setting(postgres_server, "fsync") == "off")
        with pytest.raises(LedgerError, match="fsync is off"):
            ledger.charge(**request("a"))
    finally:
        postgres_server.execute("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
        _until(lambda: _setting(postgres_server, "fsync") == "on")
    postgres_server.execute("ALTER ROLE owner SET synchronous_commit = off")
    try:
        with ledger._writing() as store:
            assert store._connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    finally:
        postgres_server.execute("ALTER ROLE owner RESET synchronous_commit")


def test_writers_wait_only_so_long(url: str) -> None:
    opened(url)
    impatient = PostgresLedger.open(url, load_policy=load, timeout=0.3)
    with opened(url)._writing(), pytest.raises(LedgerError, match="too long"):
        impatient.charge(**request("a"))
    impatient.charge(**request("a"))


def test_the_command_line_shows_verifies_and_admits(postgres_server: Server, url: str, capsys: Any) -> None:
    from blowfish_privacy.cli.main import run

    policy = bp.Policy(bp.Domain(x=bp.Integer(0, 2)), secrets=bp.FullDomain())
    assert run(["ledger", "create", url, "--budget", "1"]) == 0
    session = bp.Session(bp.Counts([1, 2, 3]), policy, budget=1, ledger=url)
    session.release(bp.Histogram("x"), epsilon="1/3")
    assert repr(session.ledger) == f"PostgresLedger({schema(url)[1:-1]!r}, budget=1)"
    assert run(["ledger", "verify", url]) == 0
    capsys.readouterr()
    assert run(["ledger", "show", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remaining"] == "2/3"
    postgres_server.execute("CREATE ROLE helper LOGIN")
    assert run(["ledger", "admit", url, "helper"]) == 0
    assert run(["ledger", "admit", url, "absent"]) == 5
    assert PASSWORD not in "".join(capsys.readouterr())


def _setting(server: Server, name: str) -> str:
    with server.connect() as connection:
        return str(connection.execute(f"SHOW {name}".encode()).fetchone()[0])


def _until(holds: Any) -> None:
    import time

    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
