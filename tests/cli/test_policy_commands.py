from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blowfish_privacy.cli.main import run
from blowfish_privacy.cli.terminal import print_table

ROOT = Path(__file__).parents[2]

CENSUS = str(ROOT / "examples/census.yaml")


def test_check_says_what_is_unprotected(capsys):
    assert run(["policy", "check", CENSUS]) == 0
    out = capsys.readouterr().out
    assert "is valid" in out
    assert "NOT protected: “region”" in out
    assert run(["policy", "check", "--json", CENSUS]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is True
    assert found["cells"] == 74 * 2 * 4 * 201
    assert found["connected"] is False


def test_explain_and_pairs(capsys):
    assert run(["policy", "explain", CENSUS]) == 0
    assert "What is NOT protected" in capsys.readouterr().out
    assert run(["policy", "explain", CENSUS, "--pair", '{"age": 30}', '{"age": 60}']) == 0
    assert "6 steps apart" in capsys.readouterr().out
    assert run(["policy", "explain", CENSUS, "--json", "--pair", '{"region": "North"}', '{"region": "West"}']) == 0
    assert json.loads(capsys.readouterr().out) == {
        "first": {"region": "North"},
        "second": {"region": "West"},
        "protected": False,
        "steps": None,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["policy", "check", "none.yaml"], 2, "cannot be read"),
        (["policy", "explain", CENSUS, "--pair", "30", "60"], 2, "is not a value"),
        (["policy", "explain", CENSUS, "--pair", "{", "{"], 2, "is not a value"),
        (["policy", "explain", CENSUS, "--pair", '{"age": 5}', '{"age": 6}'], 2, "outside 17..90"),
        (["polcy"], 2, "did you mean 'policy'"),
        (["policy", "check"], 2, "Missing argument"),
    ],
)
def test_bad_usage(arguments, code, said, capsys):
    assert run(arguments) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_policy_that_contradicts_itself_exits_3(tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\npolicy: {domain: {a: {integer: [0, 1]}}, secrets: {threshold: 0}}")
    assert run(["policy", "check", str(file)]) == 3
    assert "above 0" in capsys.readouterr().err


def test_nothing_is_protected_is_a_warning(tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\npolicy: {domain: {a: {integer: [0, 1]}}, secrets: public}")
    assert run(["policy", "check", str(file)]) == 0
    assert "nothing is protected" in capsys.readouterr().err


TOKENS = [
    "full",
    "[",
    "]",
    "{",
    "}",
    ":",
    "-1",
    "1e9",
    "nan",
    "null",
    "'",
    '"',
    "&a",
    "*a",
    "!!set",
    "\n",
    "  ",
    "-",
    "0",
    "age",
]


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 40), st.one_of(st.sampled_from(TOKENS), st.text(max_size=8)))
    ),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files_never_show_a_traceback(edits, tmp_path):
    text = Path(CENSUS).read_text()
    for place, length, piece in edits:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    file = tmp_path / "mutant.yaml"
    file.write_text(text, encoding="utf-8", errors="replace", newline="")
    assert run(["policy", "check", str(file)]) in (0, 2, 3)
    assert run(["policy", "explain", str(file)]) in (0, 2, 3)


HEAVY = (
    "scipy",
    "sklearn",
    "ortools",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "duckdb",
    "sqlglot",
    "networkx",
    "hypothesis",
)


@pytest.mark.parametrize(
    ("arguments", "also_absent"),
    [
        (["--help"], ("numpy", "pydantic", "rich", "yaml")),
        (["policy", "--help"], ()),
        (["policy", "check", CENSUS], ()),
        (["policy", "explain", CENSUS], ()),
    ],
)
def test_commands_start_without_heavy_imports(arguments, also_absent):
    program = (
        "import sys; from blowfish_privacy.cli.main import run; code = run(sys.argv[1:]);"
        "print('loaded:', *sorted({name.partition('.')[0] for name in sys.modules})); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split()[1:])
    assert not loaded & {*HEAVY, *also_absent}


def test_columns_of_a_table_line_up_whatever_is_in_them(capsys):
    # A character of an East Asian script is two places wide; brackets and colons are no markup.
    print_table(
        ["name", "count", ""], [["[bold]賃金[/]", 7, ":smile:"], ["x", "-12", "a\nb\x1b"], ["y" * 300, "", "c"]]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"name{' ' * 296}  count"
    assert lines[1] == f"[bold]賃金[/]{' ' * 287}      7  :smile:"
    assert lines[2].startswith(f"x{' ' * 299}    -12  a\\nb")
    assert lines[3] == f"{'y' * 300}         c"


# Known facts at the command line: checked, explained, drawn, compared with the data.


FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 9]}
    sex: {categorical: [F, M]}
  secrets: attributes
  known:
    - marginal: [sex]
      counts: [3, 2]
releases:
  - {name: table, histogram: [age, sex], epsilon: 0.5}
  - {name: ages, cumulative: age, epsilon: 0.25}
"""

TABLE = "age,sex\n1,F\n2,F\n7,F\n8,M\n9,M\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "people.yaml").write_text(FILE)
    (tmp_path / "people.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blowfish(*arguments):
    return run(list(arguments))


def test_check_says_what_facts_cost_and_draws_them(folder, capsys):
    assert blowfish("policy", "check", "people.yaml") == 0
    said = capsys.readouterr().out
    assert "sensitivity 2 becomes 4" in said
    assert "histogram of sex" in said
    assert "follows from the known facts" in said
    assert (folder / "people.facts.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_can_go_elsewhere_or_nowhere(folder, capsys):
    assert blowfish("policy", "check", "people.yaml", "--picture", "-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["picture"] is None
    for _ in range(2):
        assert blowfish("policy", "check", "people.yaml", "--picture", "here.png", "--json") == 0
        assert json.loads(capsys.readouterr().out)["picture"] == "here.png"
    assert sorted(path.name for path in folder.glob("*.png")) == ["here.png"]
    (folder / "notes.png").write_text("mine")
    assert blowfish("policy", "check", "people.yaml", "--picture", "notes.png") == 2
    assert (folder / "notes.png").read_text() == "mine"


def test_explain_has_a_sentence_for_each_fact(folder, capsys):
    assert blowfish("policy", "explain", "people.yaml") == 0
    said = capsys.readouterr().out
    assert "forces a change of one person's “sex” to be balanced by other people's" in said
    assert "Together these facts" not in said


def test_releases_under_facts_are_certified_and_verify(folder, capsys):
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 0
    for name in ("table", "ages"):
        assert blowfish("verify", f"out/{name}.release.json") == 0
    document = json.loads((folder / "out/table.release.json").read_text())
    assert document["guarantee"]["sensitivity"] == "4"
    assert len(document["guarantee"]["witness"][0]) == 2
    assert "is bounded differential privacy" not in json.dumps(document)


def test_a_fact_that_the_data_contradict_stops_the_release_without_a_number(folder, capsys):
    (folder / "people.yaml").write_text(FILE.replace("[3, 2]", "[4, 1]"))
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 5
    said = capsys.readouterr()
    # Which of several facts is wrong would be an exact answer for each of them.
    assert "contradict a fact whose count the policy states" in said.err
    assert "“sex”" not in said.err
    for private in ("3", "2 "):
        assert private not in said.err.split("contradict")[1].replace("F: 4", "").replace("M: 1", "")
    assert list(folder.glob("out/*")) == []
    spent = sqlite3.connect(folder / "people.ledger").execute("select count(*) from entries").fetchone()[0]
    assert spent == 1


def test_the_custodian_can_compare_facts_and_data_before_spending(folder, capsys):
    assert blowfish("data", "check", "people.yaml") == 0
    (folder / "people.yaml").write_text(FILE.replace("[3, 2]", "[4, 1]"))
    assert blowfish("data", "check", "people.yaml") == 5
    assert "The data contradict a known fact: how many records have each “sex”" in capsys.readouterr().out
    assert blowfish("data", "check", "people.yaml", "--json") == 5
    assert json.loads(capsys.readouterr().out)["contradicted_facts"]
    assert not (folder / "people.ledger").exists()


def test_facts_that_disclose_everything_are_said_so_loudly(folder, capsys):
    pinned = FILE.replace("marginal: [sex]", "marginal: [age, sex]").replace("counts: [3, 2]", "")
    (folder / "people.yaml").write_text(pinned.replace("      \n", ""))
    assert blowfish("policy", "explain", "people.yaml") == 0
    assert "ALREADY DISCLOSE EVERYTHING" in capsys.readouterr().out


def test_commands_count_no_steps_through_values_that_nobody_has(folder, capsys):
    (folder / "line.yaml").write_text(
        "version: 1\npolicy:\n  domain:\n    v: {integer: [0, 2]}\n  secrets: {threshold: 1}\n"
        "  known:\n    - count: {v: 1}\n      equals: 0\n"
    )
    pair = ("--pair", '{"v": 0}', '{"v": 2}')
    assert blowfish("policy", "explain", "line.yaml", *pair, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["protected"], said["steps"]) == (False, None)
    assert blowfish("policy", "explain", "line.yaml", *pair) == 0
    assert "No promise is made for (“v” 0) and (“v” 2)" in capsys.readouterr().out
    assert blowfish("policy", "check", "line.yaml", "--picture", "-", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert not said["connected"]
    assert any("lead through values that nobody can have" in each for each in said["unprotected"])
    assert blowfish("policy", "check", "line.yaml", "--picture", "-") == 0
    assert "complete: every two values" not in capsys.readouterr().out


def test_a_fact_s_column_must_be_in_the_data_before_anything_is_charged(folder, capsys):
    (folder / "people.csv").write_text("age\n1\n2\n")
    (folder / "people.yaml").write_text(FILE.replace("  - {name: table, histogram: [age, sex], epsilon: 0.5}\n", ""))
    assert blowfish("ledger", "create", "people.yaml") == 0
    assert blowfish("release", "people.yaml", "--yes", "--out", "out") == 5
    assert "no column 'sex'" in capsys.readouterr().err
    assert sqlite3.connect(folder / "people.ledger").execute("select count(*) from entries").fetchone()[0] == 0
