"""What is particular to PostgreSQL: its types, its names, its servers' moods."""

from __future__ import annotations

import socket
import traceback
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError
from servers.postgres import PASSWORD

pytestmark = pytest.mark.servers
Server = Any


def count(server: Server, query: str, attribute: Attribute, **options: str) -> list[int]:
    return open_engine(server.url(query=query, **options)).counts(Domain(x=attribute), [["x"]])[0].tolist()


def values(kind: str, *given: object) -> str:
    rows = ", ".join("(NULL)" if value is None else f"('{value}')" for value in given)
    return f"SELECT CAST(v AS {kind}) AS x FROM (VALUES {rows}) AS t(v)"


@pytest.mark.parametrize(("kind", "width"), [("smallint", 16), ("integer", 32), ("bigint", 64)])
def test_whole_numbers_of_every_width(postgres_server: Server, kind: str, width: int) -> None:
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    query = values(kind, low, 0, 1, 100, high)
    assert count(postgres_server, query, Integer(0, 2, outside="clamp")) == [2, 1, 2]
    assert count(postgres_server, query, Binned([-(2**130), low, 50, high, 2**130])) == [0, 3, 1, 1]
    for outside in (low, high):
        for attribute in (Integer(0, 2), Categorical([0, 2]), Binned([0, 1, 2])):
            with pytest.raises(DataError, match="outside"):
                count(postgres_server, values(kind, 0, outside), attribute)


@pytest.mark.parametrize("kind", ["numeric", "numeric(6, 2)"])
def test_exact_numbers_may_be_nan_and_are_never_rounded(postgres_server: Server, kind: str) -> None:
    clamp = Binned(["-0.5", "1/3", "0.34", 5], outside="clamp", missing=4)
    assert count(postgres_server, values(kind, "0.33", "0.34", "-9.99", "9999.99", None, "NaN"), clamp) == [2, 0, 4]
    with pytest.raises(DataError, match="missing"):
        count(postgres_server, values(kind, "NaN"), Binned([-(10**200), 10**200]))
    assert count(postgres_server, values(kind, 1, "2.00", 2), Integer(0, 2)) == [0, 1, 2]
    with pytest.raises(DataError, match="not plain whole numbers"):
        count(postgres_server, values(kind, 1, "1.5"), Integer(0, 2))


def test_numbers_without_a_precision_are_compared_exactly(postgres_server: Server) -> None:
    third = "0." + "3" * 700
    bins = Binned([0, "1/3", 1], outside="clamp")
    assert count(postgres_server, values("numeric", third, third[:-1] + "4", "1e-1000", "-1e-1000"), bins) == [3, 1]
    assert count(postgres_server, values("numeric", "Infinity", "-Infinity"), bins) == [1, 1]
    with pytest.raises(DataError, match="outside"):
        count(postgres_server, values("numeric", "Infinity"), Binned([0, 1]))


@pytest.mark.parametrize("kind", ["numeric", "numeric(12, 3)", "double precision", "real", "bigint", "smallint"])
def test_hundreds_of_bins(postgres_server: Server, kind: str) -> None:
    attribute = Binned([Fraction(3 * n, 7) for n in range(301)], outside="clamp")
    given = [Decimal(n * 7) / 8 for n in range(-9, 150)]
    given = [Decimal(int(n)) for n in given] if kind.endswith("int") else given
    wanted = [0] * attribute.size
    for value in given:
        wanted[min(max(sum(Fraction(value) >= edge for edge in attribute.bounds) - 1, 0), attribute.size - 1)] += 1
    assert count(postgres_server, values(kind, *given), attribute) == wanted


def test_floats(postgres_server: Server) -> None:
    assert count(postgres_server, values("double precision", 0.1, 0.3, np.nextafter(0.1, 0)), Binned([0, "0.1", 1])) \
        == [1, 2]  # fmt: skip
    clamp = Binned([0, 1, 2], outside="clamp", missing=0)
    for kind in ("real", "double precision"):
        assert count(postgres_server, values(kind, "inf", "-inf", "nan", None, "-0.0"), clamp) == [4, 1]


def test_text_is_compared_byte_for_byte_whatever_its_collation(postgres_server: Server) -> None:
    postgres_server.execute(
        "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    query = "SELECT v COLLATE caseless AS x FROM (VALUES ('a'), ('A'), ('A')) AS t(v)"
    assert count(postgres_server, query, Categorical(["a", "A"])) == [1, 2]
    with pytest.raises(DataError, match="outside"):
        count(postgres_server, query, Categorical(["a"]))


def test_kinds_of_text(postgres_server: Server) -> None:
    postgres_server.execute("CREATE TYPE mood AS ENUM ('sad', 'it''s ok')", "CREATE DOMAIN word AS varchar(9)")
    for kind in ("text", "varchar(20)", "char(20)", "name", "mood", "word"):
        assert count(postgres_server, values(kind, "sad", "it''s ok", "sad"), Categorical(["it's ok", "sad"])) == [1, 2]
    assert count(postgres_server, values("char(5)", "a", "b"), Categorical(["a", "b"])) == [1, 1]
    with pytest.raises(DataError, match="outside"):
        count(postgres_server, values("varchar(5)", "a "), Categorical(["a"]))


@pytest.mark.parametrize(
    ("kind", "value", "attribute"),
    [
        ("date", "2020-01-01", Integer(0, 2)), ("text", "1", Integer(0, 2)), ("boolean", "true", Integer(0, 2)),
        ("bigint", "1", Categorical(["1"])), ("jsonb", '"a"', Categorical(["a"])), ("money", "1", Binned([0, 2])),
        ("bytea", "a", Categorical(["a"])), ("integer", "1", Categorical([True])),
        ("text", "true", Categorical([True])),
        ("integer[]", "{1}", Integer(0, 2)), ("oid", "1", Integer(0, 2)), ("interval", "1 s", Binned([0, 2])),
    ],
)  # fmt: skip
def test_other_types_are_refused_without_a_read(
    postgres_server: Server, kind: str, value: str, attribute: Attribute
) -> None:
    engine = open_engine(postgres_server.url(query=values(kind, value)))
    with pytest.raises(DataError, match=r"column 'x' must hold .* of another type"):
        engine.counts(Domain(x=attribute), [["x"]])
    assert engine.reads == 0
    assert not engine.check(Domain(x=attribute)).columns[0].type_fits


def test_tables_of_every_kind_are_found_by_name(postgres_server: Server) -> None:
    postgres_server.execute(
        'CREATE SCHEMA "o\'dd.s"',
        'CREATE TABLE "o\'dd.s"."T.x" AS SELECT 1 AS x',
        "CREATE TABLE parts (x integer) PARTITION BY LIST (x)",
        "CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0)",
        "CREATE TABLE parts_1 PARTITION OF parts DEFAULT",
        "INSERT INTO parts VALUES (0), (1), (1), (2)",
        "CREATE VIEW seen AS SELECT * FROM parts WHERE x < 2",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM parts WHERE x > 1",
        "CREATE SCHEMA hidden",
        "CREATE TABLE hidden.parts AS SELECT 0 AS x",
        "CREATE TABLE hidden.alone AS SELECT 0 AS x",
    )

    def counted(table: str) -> list[int]:
        engine = open_engine(postgres_server.url(table=table))
        return engine.counts(Domain(x=Integer(0, 2)), [["x"]])[0].tolist()

    assert counted("o'dd.s.T.x") == [0, 1, 0]
    assert counted("parts") == counted("public.parts") == [1, 2, 1]
    assert counted("seen") == [1, 2, 0]
    assert counted("kept") == [0, 0, 1]
    assert counted("hidden.parts") == [1, 0, 0]
    for wrong in ("Parts", "alone", "absent", "parts; DROP TABLE parts", "", 'public."parts"', "pg_catalog"):
        with pytest.raises(DataError, match="has no table"):
            counted(wrong)


def test_a_query_can_neither_end_our_statement_nor_write(postgres_server: Server) -> None:
    postgres_server.execute(
        "CREATE TABLE victim AS SELECT 1 AS x",
        "CREATE FUNCTION writes() RETURNS integer LANGUAGE sql AS 'DELETE FROM victim RETURNING x'",
    )
    for query in (
        "SELECT 1 AS x; DROP TABLE victim",
        "SELECT 1 AS x) AS a; DROP TABLE victim; --",
        "SELECT 1 AS x) UNION (SELECT 2",
        "SELECT 1 AS x /*",
        "SELECT 1 AS x --",
        "DELETE FROM victim RETURNING x",
        "WITH gone AS (DELETE FROM victim RETURNING x) SELECT * FROM gone",
        "SELECT writes() AS x",
        "DROP TABLE victim",
        "TRUNCATE victim",
        "COPY victim TO PROGRAM 'true'",
        "SELECT 'open AS x",
        "",
    ):
        if query == "SELECT 1 AS x --":
            assert count(postgres_server, query, Integer(0, 2)) == [0, 1, 0]
            continue
        with pytest.raises(DataError):
            count(postgres_server, query, Integer(0, 2))
    assert count(postgres_server, "SELECT x FROM victim", Integer(0, 2)) == [0, 1, 0]


def test_functions_of_others_are_not_called_on_a_table(postgres_server: Server) -> None:
    postgres_server.execute(
        "CREATE FUNCTION public.width_bucket(bigint, bigint[]) RETURNS integer LANGUAGE sql AS 'SELECT 0'",
        "CREATE FUNCTION public.int8send(integer) RETURNS bytea LANGUAGE sql AS 'SELECT ''''::bytea'",
        "CREATE TABLE numbers AS SELECT CAST(99 AS bigint) AS x",
    )
    try:
        found = open_engine(postgres_server.url(table="numbers")).counts(Domain(x=Binned(list(range(101)))), [["x"]])[0]
        assert found[99] == 1
    finally:
        postgres_server.execute(
            "DROP FUNCTION public.width_bucket(bigint, bigint[])", "DROP FUNCTION public.int8send(integer)"
        )


def test_more_cells_than_one_packet_holds(postgres_server: Server) -> None:
    query = "SELECT CAST(n * 3 AS integer) AS x FROM generate_series(0, 199999) AS t(n)"
    found = open_engine(postgres_server.url(query=query)).counts(Domain(x=Integer(0, 699_999)), [["x"]])[0]
    assert np.flatnonzero(found).tolist() == list(range(0, 600_000, 3))
    assert found.max() == 1


def test_a_query_that_takes_too_long_is_stopped(postgres_server: Server) -> None:
    with pytest.raises(DataError, match="took too long"):
        count(postgres_server, "SELECT 1 AS x FROM pg_sleep(30)", Integer(0, 2), statement_timeout="100ms")
    with postgres_server.connect() as connection:
        (left,) = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' "
                                     "AND pid <> pg_backend_pid() AND state = 'active'").fetchone()  # fmt: skip
    assert left == 0


def test_a_scan_whose_share_is_unknown_is_still_seen_to_run(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    told: list[float | None] = []
    engine = open_engine(postgres_server.url(query="SELECT 1 AS x FROM pg_sleep(0.5)"))
    engine.counts(Domain(x=Integer(0, 2)), [["x"]], progress=told.append)
    assert told
    assert set(told) == {None}


def refused(action: Any, match: str) -> None:
    with pytest.raises(DataError, match=match) as caught:
        action()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.value.hint
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_addresses_that_do_not_work(postgres_server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    domain = Domain(x=Integer(0, 2))

    def prepare(url: str) -> Any:
        return lambda: open_engine(url).prepare(domain, ["x"])

    good = postgres_server.url(query="SELECT 1 AS x")
    prepare(good)()
    for password in (f"owner:{PASSWORD}@", f":{PASSWORD}@"):
        refused(prepare(good.replace("owner@", password)), "holds a password")
    refused(prepare(f"{good}&password={PASSWORD}"), "holds a password")
    refused(prepare(f"{good}&{PASSWORD}=1"), "not valid")
    refused(prepare(f"{good}&query=SELECT 2"), "twice")
    refused(prepare(postgres_server.url()), "either a table or a query")
    refused(prepare(postgres_server.url(table="t", query="SELECT 1")), "either a table or a query")
    refused(prepare(good.replace("/postgres?", "/absent?")), "no such database")
    refused(prepare(good.replace("owner@", "nobody-we-know@")), "refused the login")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refused(prepare(good.replace(str(postgres_server.port), str(unused.getsockname()[1]))), "cannot be reached")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    refused(prepare(good), "refused the login")
    monkeypatch.delenv("PGPASSWORD")
    refused(prepare(good), "refused the login")
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    prepare(good)()
    services = tmp_path / "services"
    services.write_text(f"[team]\nhost=127.0.0.1\nport={postgres_server.port}\nuser=owner\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    prepare("postgresql:///?service=team&query=SELECT 1 AS x")()
    refused(prepare("postgresql:///?service=other&query=SELECT 1 AS x"), "service is not defined")


def test_what_a_role_may_not_read(postgres_server: Server) -> None:
    postgres_server.execute(
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        "CREATE TABLE closed AS SELECT 987654321 AS x",
    )
    url = postgres_server.url(user="reader", table="closed")
    refused(lambda: open_engine(url).counts(Domain(x=Integer(0, 2)), [["x"]]), "does not permit")
    postgres_server.execute("GRANT SELECT (x) ON closed TO reader")
    with pytest.raises(DataError, match="outside"):
        open_engine(url).counts(Domain(x=Integer(0, 2)), [["x"]])


def test_errors_of_rows_are_replaced(postgres_server: Server) -> None:
    for query in ("SELECT CAST(v AS integer) AS x FROM (VALUES ('CANARY-7f3a')) AS t(v)", "SELECT 1 / (v - v) AS x "
                  "FROM (VALUES (987654321)) AS t(v)"):  # fmt: skip
        with pytest.raises(DataError) as caught:
            count(postgres_server, query, Integer(0, 2))
        said = "".join(traceback.format_exception(caught.value))
        assert "CANARY" not in said
        assert "987654321" not in said


@pytest.mark.parametrize(
    ("made", "dropped"),
    [
        (
            "FUNCTION {0}.width_bucket(bigint, bigint[]) RETURNS integer LANGUAGE sql AS 'SELECT 0'",
            "FUNCTION {0}.width_bucket(bigint, bigint[])",
        ),
        (
            "FUNCTION {0}.same(varchar, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'; "
            "CREATE OPERATOR {0}.= (LEFTARG = varchar, RIGHTARG = text, FUNCTION = {0}.same)",
            "FUNCTION {0}.same(varchar, text) CASCADE",
        ),
    ],
)
def test_namesakes_of_what_counts_are_refused(postgres_server: Server, made: str, dropped: str) -> None:
    postgres_server.execute(f"CREATE {made.format('public')}")
    try:
        with pytest.raises(DataError, match="search path"):
            count(postgres_server, values("bigint", 1, 2), Integer(0, 2))
    finally:
        postgres_server.execute(f"DROP {dropped.format('public')}")
    assert count(postgres_server, values("bigint", 1, 2), Integer(0, 2)) == [0, 1, 1]


def test_operators_of_other_types_are_nobodys_business(postgres_server: Server) -> None:
    postgres_server.execute(
        "CREATE TYPE public.pair AS (a integer, b integer)",
        "CREATE FUNCTION public.same(public.pair, public.pair) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR public.= (LEFTARG = public.pair, RIGHTARG = public.pair, FUNCTION = public.same)",
        "CREATE FUNCTION public.abs(public.pair) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    )
    try:
        assert count(postgres_server, values("bigint", 1, 2), Integer(0, 2)) == [0, 1, 1]
    finally:
        postgres_server.execute("DROP TYPE public.pair CASCADE")
