"""Every code block of the documentation runs, and every link inside the project leads somewhere."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys

import click
import pytest

import blowfish_privacy as bp
from blowfish_privacy.batch import plan_releases
from blowfish_privacy.cli.demo import make_census
from blowfish_privacy.cli.main import GROUPS, cli
from blowfish_privacy.engines import open_engine
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import PublicNumbers
from blowfish_privacy.support import yaml_text
from docs.pages import LANGUAGES, PAGES, PICTURE, ROOT, blocks, blocks_of, matches, prepare, run_page
from docs.rooms import draw
from docs.secret_graphs import CHOICES, draw_all, draw_secret_graph
from registries import forgotten


def name(page):
    return str(page.relative_to(ROOT))


README = ROOT / "README.md"
NAVIGATION = (ROOT / "mkdocs.yml").read_text()
GUIDES = [ROOT / "docs" / page for page in re.findall(r"\S+\.md", NAVIGATION.split("- Guides:")[1].split("\n  - ")[0])]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """The folder a reader works in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_runs_or_is_output(page):
    assert {block.language for block in blocks_of(page)} <= LANGUAGES
    assert page.read_text().count("```") == 2 * len(blocks_of(page)), "a block is not closed, or not found"


COLUMNS = {ROOT: 100}
"""Columns of code that fit: of the README in a browser, of pages as docs/theme makes room for them."""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name)
def test_no_line_of_code_is_cut_off(page):
    widest = COLUMNS.get(page.parent, 104)
    indented = re.findall(r"\n\n((?:    .+\n)+)", page.read_text()) if page.parent.name == "proofs" else []
    for body in (*indented, *(block.body for block in blocks_of(page))):
        for line in body.splitlines():
            assert len(line) <= widest, f"{len(line)} columns: {line}"


RUNNABLE = [page for page in PAGES if blocks(page, "python") or blocks(page, "console")]


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_pages_run_from_top_to_bottom(page, reader):
    prepare(page, reader)
    with forgotten():
        assert run_page(page, reader)
    if page in GUIDES:
        text = page.read_text()
        for shown in PICTURE.finditer(text):
            drawn = (reader / shown[1]).exists() or "drawn by `" in text[shown.end() : shown.end() + 250].lower()
            assert drawn, f"{page.name} does not say what draws {shown[1]}"


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_every_guide_shows_a_picture_of_its_result(page):
    assert PICTURE.search(page.read_text())


def test_the_readme_needs_nothing_but_what_it_makes():
    commands = "".join(blocks(README, "console"))
    assert commands.startswith("$ blowfish demo table people.csv")
    assert [block.file for block in blocks_of(README) if block.language == "yaml"] == ["people.yaml"]


def test_the_readme_opens_with_a_picture_and_two_commands():
    opening = README.read_text().split("\n## ")[0].splitlines()
    assert len(opening) <= 40
    assert next(line for line in opening[2:] if line.startswith("!["))
    assert [line.split("#")[0].strip() for line in blocks(README, "sh")[0].splitlines()] == ["make demo", "make test"]


WITHOUT_EXTRAS = """
import sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "psycopg", "pyspark", "ortools"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
"""


def test_the_first_python_needs_no_package_that_it_does_not_name(reader):
    page = ROOT / "docs/python.md"
    prepare(page, reader)
    body = "".join(blocks(page, "python"))
    without, lines = re.subn(r"^.*pip install pandas$", "", body, flags=re.M)
    assert lines == 1
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS + without], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_runner_sees_what_is_wrong(reader, tmp_path):
    prepare(ROOT / "docs/index.md", tmp_path)
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
    assert matches("errors: about 1,000 and ...", "errors:\nabout 1,019.5 and about 7")
    assert not matches("errors: about 1,000 and ...", "errors: about 1,021 and about 7")
    assert not matches("errors: 1,000", "errors: 1,001")


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


def _parse(command: click.Command, called: str, arguments: list[str], parent: click.Context | None = None) -> None:
    """Parse a command line without running it.

    A command keeps the option ``--help`` that its first context makes, and spells it as that context's parents say.
    """
    context = command.make_context(called, arguments, parent)
    if isinstance(command, click.Group) and context._protected_args:
        first, *rest = [*context._protected_args, *context.args]
        found = command.get_command(context, first)
        assert found is not None, arguments
        _parse(found, first, rest, context)


def test_the_errors_in_the_readme_are_those_that_the_demo_plans(tmp_path):
    loaded = spec.load(make_census(tmp_path))
    plans = plan_releases(loaded, PublicNumbers(loaded.policy, lambda: open_engine(tmp_path / "census.csv")))
    rows = [row for row in README.read_text().splitlines() if row.startswith("| ")][1:]
    for plan, row in zip(plans, rows, strict=False):
        _, _, error, beside, _ = row.split("|")
        expected, plain = plan.expected_error().rmse, plan.plain_error()
        if plain is None:
            assert expected == 0
            assert "exact: " in beside
            continue
        stated = error.split()[0]
        assert stated == f"{expected:.{len(stated.partition('.')[2])}f}", plan.name
        ratio = f"{plain.rmse / expected:.2g} times more accurate"
        assert beside.strip() == ("the same" if ratio == "1 times more accurate" else ratio), plan.name


def test_what_the_readme_says_of_the_other_common_definition():
    """Half the noise on a count at the same epsilon, and a changed record is two steps."""
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["Female", "Male"]))
    change, presence = (bp.Policy(domain, secrets=secrets) for secrets in (bp.FullDomain(), bp.AddRemove()))
    ours, theirs = (bp.sensitivity(bp.Histogram("age", "sex"), policy).value for policy in (change, presence))
    assert ours == 2 * theirs
    assert presence.distance({"age": 0, "sex": "Male"}, {"age": 3, "sex": "Female"}) == 2
    assert "half the noise on a count" in README.read_text()


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
        assert svg.encode() == (ROOT / "docs/pictures" / name).read_bytes(), f"{name} is out of date: make docs"
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
    files = {file.name for file in (ROOT / "src/blowfish_privacy/known_facts").glob("*.py")} - {"__init__.py"}
    assert len(files) > 5
    assert {file for file in files if f"{file}`" not in said} == set()


def test_every_file_with_a_place_in_the_paper_is_beside_it():
    page = (ROOT / "docs/contributors.md").read_text()
    package = ROOT / "src/blowfish_privacy"
    files = [file for room in ("graphs", "known_facts", "mechanisms") for file in (package / room).rglob("*.py")]
    files = [file.relative_to(package).as_posix() for file in files if file.name != "__init__.py"]
    assert [file for file in files if f"`{file}`" not in page] == []


def test_the_worked_examples_of_parts_are_short():
    page = (ROOT / "docs/contributors.md").read_text()
    examples = blocks(ROOT / "docs/contributors.md", "python")[1:]
    assert len(examples) == page.count("\n### A") == 4
    assert all(sum(map(bool, example.splitlines())) <= 40 for example in examples)


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
    way = re.findall(r"^\| \d+\. .*?\| `(src/[\w/]+\.py)` \| (.*?) \|", page, re.MULTILINE)
    assert 0 < len(way) <= 8
    lines = 0
    for file, named in way:
        parts = {part.name: part for part in ast.parse((ROOT / file).read_text()).body if hasattr(part, "name")}
        for name in re.findall(r"`(\w+)`", named):
            lines += parts[name].end_lineno - parts[name].lineno + 1
    assert 500 < lines <= 900
