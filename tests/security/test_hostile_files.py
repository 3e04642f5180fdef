"""A policy file written by an enemy: no string of it becomes SQL, a path elsewhere, an object or a flood."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError, BlowfishWarning, DataError, SpecError
from blowfish_privacy.ledger import SqliteLedger, create_ledger, open_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.csv_tables import csv_table
from blowfish_privacy.support.postgresql import may_hold_password
from blowfish_privacy.support.text import printable

HOSTILE = [
    'x"; DROP TABLE victim; --',
    "x'; DROP TABLE victim; --",
    "x`; DROP TABLE victim; --",
    "'); DROP TABLE victim; --",
    '"), (SELECT * FROM victim) AS "a',
    "\\'; DROP TABLE victim; --",
    "' OR '1'='1",
    "x' UNION SELECT 1, 2 --",
    "/* */ -- #",
    "$$; DROP TABLE victim; $$",
    "$body$",
    "%s %(x)s %%",
    "{x} {{x}} ${x} #{x}",
    "${env:HOME} ${spark.app.name}",
    "? :x @x $1",
    "COLUMNS(*)",
    "*",
    "read_csv('/etc/passwd')",
    "a.b.c",
    "é😀 ñ",
    "c0",
    "source",
]


def victim_lives(path: Path) -> bool:
    with duckdb.connect(str(path)) as connection:
        return connection.execute("SELECT count(*) FROM victim").fetchone() == (1,)


def as_duckdb(table: pa.Table, folder: Path, hostile: str) -> str:
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    name = '"' + hostile.replace('"', '""') + '"'
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given; CREATE TABLE victim AS SELECT 1 AS x")
    return f"{path}::{hostile}"


def as_parquet(table: pa.Table, folder: Path, hostile: str) -> str:
    path = folder / (hostile.replace("/", "") + ".parquet")
    pq.write_table(table, path)
    return str(path)


def hostile_file(hostile: str, data: str, ledger: str) -> str:
    """A policy file with the string wherever one may stand."""
    declared = {hostile: {"categorical": [hostile, "plain"], "missing": hostile}}
    return yaml_text.write({
        "version": 1, "data": data, "ledger": ledger, "budget": 1,
        "policy": {"domain": declared, "secrets": {"per_attribute": {hostile: "full"}}},
        "releases": [{"name": "r", "histogram": [hostile], "epsilon": "0.5"}],
    })  # fmt: skip


def table(hostile: str) -> pa.Table:
    return pa.Table.from_arrays([pa.array([hostile, "plain", hostile, None])], names=[hostile])


def check(hostile: str, data: str, folder: Path) -> None:
    loaded = spec.loads(hostile_file(hostile, data, str(folder / "a.ledger")))
    engine = open_engine(data)
    assert engine.counts(loaded.policy.domain, [[hostile]])[0].tolist() == [3, 1]
    assert engine.check(loaded.policy.domain).columns[0].missing == 1
    with pytest.raises(DataError):
        open_engine(data).counts(bp.Domain({hostile: bp.Categorical(["other"])}), [[hostile]])
    file = folder / "hostile.yaml"
    file.write_text(hostile_file(hostile, data, "a.ledger"))
    assert run(["ledger", "create", str(file)]) == 0
    assert run(["release", str(file), "--yes", "--out", str(folder / "out")]) == 0
    assert run(["ledger", "verify", str(folder / "a.ledger")]) == 0
    assert run(["verify", str(folder / "out/r.release.json")]) == 0


@pytest.mark.parametrize("make", [as_duckdb, as_parquet])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_string_becomes_sql(tmp_path: Path, hostile: str, make: Callable[[pa.Table, Path, str], str]) -> None:
    if hostile == "victim":
        pytest.skip("the victim itself")
    data = make(table(hostile), tmp_path, hostile)
    check(hostile, data, tmp_path)
    if make is as_duckdb:
        assert victim_lives(tmp_path / "t.duckdb")


@pytest.mark.servers
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_string_becomes_sql_in_postgres(postgres_server: Any, tmp_path: Path, hostile: str) -> None:
    quoted = '"' + hostile.replace('"', '""') + '"'
    postgres_server.execute(
        "DROP TABLE IF EXISTS victim", "CREATE TABLE victim AS SELECT 1 AS x",
        f"CREATE TABLE {quoted} ({quoted} text)",
    )  # fmt: skip
    try:
        with postgres_server.connect() as connection:
            insertion = f"INSERT INTO {quoted} VALUES (".replace("%", "%%") + "%s)"
            for value in table(hostile).column(0).to_pylist():
                connection.execute(insertion.encode(), (value,))
        check(hostile, postgres_server.url(table=hostile), tmp_path)
        with postgres_server.connect() as connection:
            assert connection.execute("SELECT count(*) FROM victim").fetchone() == (1,)
    finally:
        postgres_server.execute(f"DROP TABLE {quoted}")


@pytest.mark.servers
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_string_becomes_sql_in_spark(spark: Any, tmp_path: Path, hostile: str) -> None:
    data = as_parquet(table(hostile), tmp_path, "t")
    loaded = spec.loads(hostile_file(hostile, data, "a.ledger"))
    assert open_engine(f"spark:{data}").counts(loaded.policy.domain, [[hostile]])[0].tolist() == [3, 1]


@pytest.mark.parametrize(
    "data",
    [
        "https://example.org/t.csv", "s3://bucket/t.parquet", "http://127.0.0.1/t.parquet", "file:///etc/passwd",
        "/etc/passwd", "../../../../etc/passwd", "/dev/zero", "/proc/self/environ", "t.duckdb::t; DROP TABLE t",
        "postgresql://user:CANARY-secret@127.0.0.1/d?table=t", "postgres://u@h/d?table=t&password=CANARY-secret",
        "POSTGRESQL://u:CANARY-secret@h/d", "a\0.csv", "", ".", "|ls", "$(ls).csv", "t.csv\n",
    ],
)  # fmt: skip
def test_data_that_are_no_table_are_refused_before_any_charge(
    tmp_path: Path, data: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.yaml"
    body = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}
    whole = {"version": 1, "data": data, "ledger": "a.ledger", "budget": 1, "policy": body}
    file.write_text(json.dumps({**whole, "releases": [{"name": "r", "histogram": ["x"], "epsilon": 0.5}]}))
    ledger = SqliteLedger.create(tmp_path / "a.ledger", budget=Fraction(1))
    assert run(["release", str(file), "--yes", "--out", str(tmp_path / "out")]) in (2, 5)
    said = "".join(capfd.readouterr())
    assert "CANARY" not in said
    assert "Traceback" not in said
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    "name",
    ["../r", "..", ".", "/etc/r", "a/b", "a\\b", "a\0b", "~/r", ".hidden", "", " r", "a\nb", "x" * 300, "C:r", "-r"],
)
def test_a_release_cannot_be_written_elsewhere(name: str) -> None:
    body = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}
    file = {"version": 1, "policy": body, "releases": [{"name": name, "histogram": ["x"], "epsilon": 0.5}]}
    with pytest.raises(SpecError, match=r"releases\[0\]|not valid YAML|line"):
        spec.loads(json.dumps(file))


def test_a_link_in_the_place_of_a_release_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    body = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}
    whole = {"version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1, "policy": body}
    (tmp_path / "p.yaml").write_text(
        json.dumps({**whole, "releases": [{"name": "r", "histogram": ["x"], "epsilon": 0.5}]})
    )
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out").mkdir()
    for ending in ("release.json", "csv", "png"):
        (tmp_path / "out" / f"r.{ending}").symlink_to(tmp_path / "precious")
    assert run(["ledger", "create", str(tmp_path / "p.yaml")]) == 0
    assert run(["release", str(tmp_path / "p.yaml"), "--yes", "--out", str(tmp_path / "out")]) == 2
    assert (tmp_path / "precious").read_text() == "precious"
    assert not SqliteLedger.open(tmp_path / "a.ledger", budget=None).entries()


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        "a: &a {b: 1}\nc: {<<: *a}",
        "!!python/object/apply:os.system ['touch CANARY']",
        "a: !!python/name:os.system",
        "a: !!binary aGk=",
        "a: !!set {b}",
        "!include /etc/passwd",
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "a: " + "9" * 100_000,
        "a: 1e999999999999",
        "? " * 50_000,
        "a: |\n" + " x\n" * 2_000_000,
        "\x00",
        "\ufeff%YAML 1.1\n---\na: 1\n---\nb: 2",
        "a: 'x" * 1000,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_bombs_and_tags_are_refused_at_once(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    with pytest.raises(SpecError):
        spec.loads(text)
    assert time.process_time() - start < 20
    assert not list(tmp_path.iterdir())


def test_a_domain_of_any_size_is_no_flood() -> None:
    huge = {f"x{n}": {"integer": [0, 10**18]} for n in range(60)}
    loaded = spec.loads(json.dumps({"version": 1, "policy": {"domain": huge, "secrets": "attributes"}}))
    data = pa.table({f"x{n}": [1] for n in range(60)})
    session = bp.Session(data, loaded.policy, budget=1)
    with pytest.raises(BlowfishError, match="too"):
        session.release(bp.Histogram(*loaded.policy.domain.names), epsilon=1)
    with pytest.raises(BlowfishError, match="too"):
        open_engine(data).counts(loaded.policy.domain, [loaded.policy.domain.names])
    assert session.remaining == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions of other systems")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o666])
def test_a_ledger_that_others_can_open_is_noticed(tmp_path: Path, mode: int) -> None:
    policy = bp.Policy(bp.Domain(x=bp.Integer(0, 2)), secrets=bp.FullDomain())
    path = tmp_path / "a.ledger"
    bp.Session(bp.Counts([1, 2, 3]), policy, budget=1, ledger=path, create=True)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(mode)
    with pytest.warns(BlowfishWarning, match="open to other users"):
        bp.Session(bp.Counts([1, 2, 3]), policy, budget=1, ledger=path)
    path.chmod(0o600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.Session(bp.Counts([1, 2, 3]), policy, budget=1, ledger=path)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://u:S3CRET@h/d", "jdbc:postgresql://h/d?password=S3CRET", "host=h password=S3CRET",
        "pg://u:S3CRET@h/d", "postgresql:/u:S3CRET@h/d", " postgresql://u:S3CRET@h/d", "s3://KEY:S3CRET@b/x.parquet",
        "https://u:S3CRET@h/x.csv", "\ud800.csv",
    ],
)  # fmt: skip
def test_addresses_that_nearly_fit_are_not_quoted(address: str) -> None:
    for opener in (open_engine, open_ledger, lambda where: create_ledger(where, budget=Fraction(1))):
        with pytest.raises(BlowfishError) as caught:
            opener(address)
        assert "S3CRET" not in str(caught.value)
        assert caught.value.__cause__ is None


ADDRESS = "postgresql://u:S3CRET@127.0.0.1:1/d?ledger=x"


@pytest.mark.parametrize(
    "arguments",
    [
        [ADDRESS], ["verify", ADDRESS, ADDRESS], ["plan", ADDRESS], ["ledger", "show", ADDRESS, ADDRESS],
        ["ledger", "create", "a.ledger", "--budget", ADDRESS], ["reproduce", ADDRESS], ["studio", f"--port={ADDRESS}"],
        ["reproduce", "--data", ADDRESS], ["card", "--title", "a", "host=h password=S3CRET"],
        ["plan", "jdbc:postgresql://h/d?pass%77ord=S3CRET"], ["plan", "s3://KEY:S3CRET@b/x"],
    ],
)  # fmt: skip
def test_no_usage_error_repeats_a_password(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert "S3CRET" not in out + err
    assert "password" in err


@pytest.mark.parametrize("text", ["postgresql://user@host:5432/d?ledger=x", "A: mail a@b.org", "C:/data/a.csv", "--x"])
def test_other_arguments_are_no_passwords(text: str) -> None:
    assert not may_hold_password(text)


# Names and categories written by an enemy, on their way to terminals, pages and spreadsheets.


TITLE = "\x1b]0;owned\x07"

ENEMIES = [TITLE, "\x1b[2J\x1b[8m", "\x9b31m", "\x08\x08\x7f", "\u202eevil\u2066", "a\rError: b", "\u2028c"]


def attribute(hostile: str) -> str:
    """Names of attributes must be printable; categories are whatever the data hold."""
    return hostile if hostile.isprintable() else "g"


def project(folder: Path, hostile: str) -> Path:
    """A folder with a table and a policy file that say the string wherever they may."""
    name = attribute(hostile)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name, "n"], [hostile, 1], ["plain", 0], [hostile, 2]])
    whole = {
        "version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1,
        "policy": {
            "domain": {name: {"categorical": [hostile, "plain"], "missing": hostile}, "n": {"integer": [0, 2]}},
            "secrets": {"per_attribute": {name: "public", "n": "full"}},
            "known": [{"count": {name: hostile}, "equals": 2}],
        },
        "releases": [
            {"name": "r", "histogram": [name, "n"], "epsilon": "0.5"},
            {"name": "s", "histogram": [name], "epsilon": "0.25"},
        ],
    }  # fmt: skip
    file = folder / "p.yaml"
    file.write_text(yaml_text.write(whole), encoding="utf-8")
    assert run(["ledger", "create", str(file)]) == 0
    return file


def commands(file: Path, hostile: str) -> list[list[str]]:
    out = file.parent / "out"
    name = attribute(hostile)
    pair = [json.dumps({name: hostile}), json.dumps({name: "plain"})]
    wrong = [json.dumps({name: f"{hostile}x"}), json.dumps({f"{hostile}x": "plain"})]
    return [
        ["policy", "check", str(file)],
        ["policy", "explain", str(file)],
        ["policy", "explain", str(file), "--pair", *pair],
        ["policy", "explain", str(file), "--pair", *wrong],
        ["policy", "explain", str(file), "--json"],
        ["data", "check", str(file)],
        ["plan", str(file), "--explain"],
        ["release", str(file), "--yes", "--out", str(out)],
        ["ledger", "show", str(file.parent / "a.ledger")],
        ["verify", str(out / "r.release.json")],
        *(["card", str(out / f"{name}.release.json"), *form] for name in "rs" for form in ([], ["--format", "html"])),
        ["card", str(out / "r.release.json"), "--json"],
    ]


@pytest.mark.parametrize("hostile", ENEMIES, ids=ascii)
def test_no_name_commands_a_terminal(tmp_path: Path, hostile: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path, hostile)
    for arguments in commands(file, hostile):
        code = run(arguments)
        said = "".join(capfd.readouterr())
        assert code in (0, 2), (arguments, said)
        commanding = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"\n"}
        assert not commanding, (arguments, said)


@pytest.mark.parametrize("ending", ["md", "html"])
def test_no_name_is_more_than_text_on_a_card(tmp_path: Path, ending: str) -> None:
    hostile = f"<script>alert(1)</script>{TITLE}"
    file = project(tmp_path, hostile)
    assert run(["release", str(file), "--yes", "--out", str(tmp_path)]) == 0
    card = tmp_path / f"card.{ending}"
    assert run(["card", str(tmp_path / "r.release.json"), "-o", str(card)]) == 0
    text = card.read_text()
    assert "<script" not in text
    assert not {c for c in text if unicodedata.category(c) == "Cc"} - {"\n"}


def test_escapes_tell_which_character_it_was() -> None:
    assert printable("\x1b[31mred\u202e\n\ud800 Ünï “x”") == "\\x1b[31mred\\u202e\n\\ud800 Ünï “x”"


def blowfish(
    folder: Path, *arguments: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "blowfish_privacy.cli", *arguments], cwd=folder, env={**os.environ, **environment},
        stdout=stdout, stderr=stderr, check=False, encoding="latin-1",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_that_lacks_characters_shows_what_it_can(tmp_path: Path, encoding: str) -> None:
    file = project(tmp_path, "Żółć “x” 一")
    some = ("--pair", "plan", "release", "html")
    for arguments in [each for each in commands(file, "Żółć “x” 一") if set(some) & set(each)]:
        done = blowfish(tmp_path, *arguments, PYTHONIOENCODING=encoding)
        assert done.returncode in (0, 2), done.stderr
        assert "Traceback" not in done.stderr
        if "--json" in arguments:
            json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_an_output_that_is_full_is_an_error_of_ours(tmp_path: Path) -> None:
    file = project(tmp_path, "x")
    release = ["release", str(file), "--yes"]
    for arguments in [["--help"], ["plan", str(file)], release, ["verify", "r.release.json"]]:
        with open("/dev/full", "w") as full:
            done = blowfish(tmp_path, *arguments, stdout=full)
        assert done.stderr.splitlines()[-2] == "Error: the output cannot be written: No space left on device."
        assert done.returncode == 5
        assert "Traceback" not in done.stderr
    assert (tmp_path / "r.csv").exists()
    with open("/dev/full", "w") as full:
        assert blowfish(tmp_path, "verify", "r.release.json", stdout=full, stderr=full).returncode == 5


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "'quoted", "''"]

PLAIN = ["-3", "+4", "-0.5", "1e-9", "-1.5e+3", "a=b", "", "it's", "[-5, 0)"]


def test_no_cell_is_a_formula_and_every_text_comes_back() -> None:
    rows: list[list[Any]] = [[text, -3, -0.5, None] for text in [*FORMULAS, *PLAIN]]
    table = csv_table(["=header", "n", "x", ""], rows).decode()
    header, *read = csv.reader(io.StringIO(table, newline=""))
    assert header[0] == "'=header"
    assert [row[0] for row in read] == [*(f"'{text}" for text in FORMULAS), *PLAIN]
    assert {tuple(row[1:]) for row in read} == {("-3", "-0.5", "")}
    assert [row[0].removeprefix("'") for row in read] == [*FORMULAS, *PLAIN]


def test_tables_of_results_hold_no_formulas(tmp_path: Path) -> None:
    domain = bp.Domain({"=name": bp.Categorical(FORMULAS), "n": bp.Integer(-1, 1)})
    session = bp.Session(bp.Counts([[1, 2, 3]] * len(FORMULAS)), bp.Policy(domain, secrets=bp.FullDomain()), budget=9)
    released = session.release(bp.Histogram("=name", "n"), epsilon=1)
    released.to_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[0] == "'=name"
    assert {row[0].removeprefix("'") for row in rows} == set(FORMULAS)
    assert {row[1] for row in rows} == {"-1", "0", "1"}
    assert list(released.to_frame()["=name"].unique()) == FORMULAS
