import json
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
