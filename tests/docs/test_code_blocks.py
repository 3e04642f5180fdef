"""Every code block of the documentation runs, and every link inside the project leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blowfish_privacy import spec, yaml_text
from blowfish_privacy.cli.demo import synthetic_census
from blowfish_privacy.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [body for kind, body in BLOCK.findall(page.read_text()) if kind == language]


@pytest.fixture
def people(tmp_path, monkeypatch):
    """The folder a reader of the README works in: a table, and the policy file it shows."""
    (tmp_path / "people.csv").write_text("\n".join(synthetic_census(5000)) + "\n")
    (tmp_path / "people.yaml").write_text(blocks(ROOT / "README.md", "yaml")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run_from_top_to_bottom(page, people):
    names: dict[str, object] = {}
    for body in blocks(page, "python"):
        exec(compile(body, str(page), "exec"), names)


def test_the_commands_of_the_readme_run(people):
    lines = [line for body in blocks(ROOT / "README.md", "console") for line in body.splitlines()]
    commands = [line.removeprefix("$ blowfish ").partition("#")[0].split() for line in lines if line.startswith("$ ")]
    assert len(commands) >= 6
    for command in commands:
        assert run([*command, *(["--yes"] if command[0] == "release" else [])]) == 0


def test_numbers_in_the_readme_are_what_the_code_gives(people):
    import blowfish_privacy as bp

    policy = spec.load("people.yaml").policy
    plan = bp.Session("people.csv", policy, budget=1).plan(bp.Histogram("age", "sex"), epsilon="0.3")
    assert f"{plan.expected_error().rmse:.2f} persons in a cell" in (ROOT / "README.md").read_text()
    assert policy.distance({"age": 30}, {"age": 34}) == 1
    assert policy.distance({"age": 30}, {"age": 60}) == 6
    assert bp.sensitivity(bp.Sum("wage"), policy).value == 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda page: page.name)
def test_yaml_blocks_parse(page):
    for body in blocks(page, "yaml"):
        yaml_text.parse(body)


def test_the_secrets_of_the_policy_file_page_are_all_there_is():
    text = (ROOT / "docs/policy-file.md").read_text()
    for kind in (*spec.Secrets.__subclasses__(), *spec.QUERIES, *spec.ATTRIBUTES.values()):
        assert re.search(rf"`[^`]*\b{kind.keyword}\b[^`]*`", text), f"{kind.keyword} is not documented"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_and_tests_that_pages_name_exist():
    for page in PAGES:
        for name in re.findall(r"`((?:tests|src|docs|benchmarks|examples)/[\w./-]+)`", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name} names {name}"
        for name in re.findall(r"`(test_\w+)`", page.read_text()):
            assert any(f"def {name}(" in file.read_text() for file in (ROOT / "tests").rglob("*.py")), name
