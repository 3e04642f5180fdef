"""Every code block of the documentation runs, and every link inside the project leads somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import click
import pytest

import blowfish_privacy as bp
from blowfish_lab.rooms import draw
from blowfish_privacy.cli.census import synthetic_census
from blowfish_privacy.cli.main import GROUPS, cli
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.results.pictures.secret_graph import CHOICES, draw_all, draw_secret_graph
from blowfish_privacy.support import yaml_text
from docs.pages import LANGUAGES, PAGES, ROOT, blocks, blocks_of, matches, run_console, run_page


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def people(tmp_path, monkeypatch):
    """The folder a reader works in: a table, and the policy file of the README."""
    (tmp_path / "people.csv").write_text("\n".join(synthetic_census(5000)) + "\n")
    (tmp_path / "people.yaml").write_text(blocks(ROOT / "README.md", "yaml")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_runs_or_is_output(page):
    assert {block.language for block in blocks_of(page)} <= LANGUAGES
    assert page.read_text().count("```") == 2 * len(blocks_of(page)), "a block is not closed, or not found"


RUNNABLE = [page for page in PAGES if blocks(page, "python") or blocks(page, "console")]


@pytest.mark.parametrize("page", [page for page in RUNNABLE if page.name != "README.md"], ids=name)
def test_pages_run_from_top_to_bottom(page, people):
    assert run_page(page, people)


def test_the_python_of_the_readme_runs(people):
    names: dict[str, object] = {}
    for body in blocks(ROOT / "README.md", "python"):
        exec(compile(body, "README.md", "exec"), names)


WITHOUT_EXTRAS = """
import sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "psycopg", "pyspark", "ortools"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
"""


def test_the_python_of_the_readme_needs_no_package_that_it_does_not_name(people):
    (body,) = blocks(ROOT / "README.md", "python")
    without, lines = re.subn(r"^.*pip install pandas$", "", body, flags=re.M)
    assert lines == 1
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS + without], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_commands_of_the_readme_run(people):
    (body,) = blocks(ROOT / "README.md", "console")
    assert body.count("$ blowfish") >= 7
    run_console(body)


def test_the_runner_sees_what_is_wrong(people, tmp_path):
    page = tmp_path / "page.md"
    for wrong in (
        "```python\n1 / 0\n```\n",
        "```python\nprint(3)\n```\n\n```text\n4\n```\n",
        "```console\n$ blowfish policy check nowhere.yaml\n```\n",
        "```console\n$ blowfish policy check people.yaml\npeople.yaml is not valid...\n```\n",
        "```console\n$ rm -r people.csv\n```\n",
    ):
        page.write_text(wrong)
        with pytest.raises((AssertionError, ZeroDivisionError)):
            run_page(page, tmp_path)
    page.write_text('```python title="a.py"\nprint(1)\n```\n\n```console\n$ python a.py\n1\n```\n')
    assert run_page(page, tmp_path) == 1
    assert matches("a ... c", "a  b\nc")
    assert not matches("a ... c", "a b c d")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=name)
def test_shell_blocks_name_targets_and_commands_that_exist(page):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for line in (line for body in blocks(page, "sh") for line in body.splitlines()):
        program, *arguments = shlex.split(line, comments=True) or ["#"]
        if program == "make":
            assert arguments[0] in targets, line
        elif program == "blowfish":
            _parse(cli, "blowfish", arguments)
        elif program in ("python", "python3"):
            scripts = [argument for argument in arguments if argument.endswith(".py")]
            assert all((ROOT / script).exists() for script in scripts), line
        else:
            assert program in ("#", "pip", "."), f"nobody checks {line}"


def _parse(command: click.Command, called: str, arguments: list[str]) -> None:
    """Parse a command line without running it."""
    context = command.make_context(called, arguments)
    if isinstance(command, click.Group) and context._protected_args:
        first, *rest = [*context._protected_args, *context.args]
        found = command.get_command(context, first)
        assert found is not None, arguments
        _parse(found, first, rest)


def test_numbers_in_the_readme_are_what_the_code_gives(people):
    policy = spec.load("people.yaml").policy
    plan = bp.Session("people.csv", policy, budget=1).plan(bp.Histogram("age", "sex"), epsilon="0.3")
    assert f"{plan.expected_error().rmse:.2f} persons in a cell" in (ROOT / "README.md").read_text()
    assert policy.distance({"age": 30}, {"age": 34}) == 1
    assert policy.distance({"age": 30}, {"age": 60}) == 6
    assert bp.sensitivity(bp.Sum("wage"), policy).value == 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=name)
def test_yaml_blocks_parse(page):
    for body in blocks(page, "yaml"):
        yaml_text.parse(body)


def test_the_secrets_of_the_policy_file_page_are_all_there_is():
    text = (ROOT / "docs/policy-file.md").read_text()
    for kind in (*spec.Secrets.kinds.values(), *Query.kinds.values(), *spec.Attribute.kinds.values()):
        assert re.search(rf"`[^`]*\b{kind.keyword}\b[^`]*`", text), f"{kind.keyword} is not documented"


def test_every_public_name_and_command_is_in_the_reference():
    pages = [page.read_text() for page in (ROOT / "docs/reference").glob("*.md")]
    for public in set(bp.__all__) - {"__version__"}:
        shown = (
            rf"^::: [\w.]+\.{public}$"
            if not public.endswith(("Error", "Warning"))
            else r"^::: blowfish_privacy\.errors$"
        )
        assert any(re.search(shown, text, re.M) for text in pages), f"{public} is not in the reference"
    for command, (_, summary) in GROUPS.items():
        assert any(f"| `blowfish {command}` | {summary} |" in text for text in pages), command


def test_every_kind_of_secrets_is_drawn_and_the_pictures_are_reproducible():
    for name, svg in draw_all().items():
        assert svg.encode() == (ROOT / "docs/pictures" / name).read_bytes(), (
            f"{name} is out of date: python -m blowfish_privacy.results.pictures.secret_graph docs/pictures"
        )
        assert f"pictures/{name}" in (ROOT / "docs/choose-a-policy.md").read_text()
    kinds = {type(secrets) for secrets in CHOICES.values()}
    # There is nothing to draw where no pair of values is secret.
    assert kinds == set(spec.Secrets.kinds.values()) - {bp.Public, bp.AddRemove}


def test_only_a_small_map_is_drawn():
    line = bp.Policy(bp.Domain(east=bp.Integer(1, 8)), secrets=bp.FullDomain())
    wide = bp.Policy(bp.Domain(east=bp.Integer(1, 80), north=bp.Integer(1, 80)), secrets=bp.FullDomain())
    for policy in (line, wide):
        with pytest.raises(bp.PolicyError, match="two attributes and at most 200 values"):
            draw_secret_graph(policy, (), {"east": 1})


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_file_of_the_known_facts_is_named_beside_its_proof():
    said = "".join((ROOT / f"docs/proofs/{page}.md").read_text() for page in ("known_facts", "policy_graph"))
    rooms = [ROOT / "src/blowfish_privacy/known_facts" / room for room in ("classes", "search", "theorems")]
    files = {file.name for room in rooms for file in room.glob("*.py")} - {"__init__.py"}
    assert {file for file in files if f"{file}`" not in said} == set()


def test_files_and_tests_that_pages_name_exist():
    for page in PAGES:
        for named in re.findall(r"`((?:tests|src|docs|benchmarks|examples)/[\w./-]+)`", page.read_text()):
            assert (ROOT / named).exists(), f"{page.name} names {named}"
        for named in re.findall(r"`(test_\w+)`", page.read_text()):
            assert any(f"def {named}(" in file.read_text() for file in (ROOT / "tests").rglob("*.py")), named


def test_the_picture_of_the_rooms_is_that_of_the_sources():
    assert draw(ROOT).encode() == (ROOT / "docs/pictures/rooms.svg").read_bytes(), "make map draws it anew"
    assert "pictures/rooms.svg" in (ROOT / "docs/contributors.md").read_text()


def test_the_way_from_a_file_to_a_release_can_be_read_in_one_sitting():
    page = (ROOT / "docs/contributors.md").read_text()
    files = re.findall(r"^\| \d+\. .*?\| `(src/[\w/]+\.py)` \|", page, re.MULTILINE)
    assert 0 < len(files) <= 8
    assert sum((ROOT / file).read_text().count("\n") for file in files) <= 900
