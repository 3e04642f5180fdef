"""Every name, file, option and command that a page sets in code exists."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click

from blowfish_privacy.cli.main import cli
from docs.pages import BLOCK, PAGES, ROOT

FOREIGN = {
    "os.urandom": "Python's",
    "spark.driver.maxResultSize": "Spark's",
    "labels_": "scikit-learn's, which our estimator does not have",
    "inertia_": "scikit-learn's, which our estimator does not have",
    "cp": "the shell's",
    ".vscode/settings.json": "an editor's",
    "ages-2.csv": "named by a rule: a second release of ages",
    "ages-2.release.json": "named by a rule: a second release of ages",
    "wages-2.csv": "named by a rule: a second release of wages",
    "wages-2.release.json": "named by a rule: a second release of wages",
    "medcost_4096.npy": "data of a publication, named by a rule",
}
"""What is not ours, or follows a rule, and why it may be named."""
SOURCES = ("src", "tests", "benchmarks", "examples")
FILE = re.compile(r"[\w.-]*(?:/[\w.-]+)*/?")
ENDING = re.compile(r"(?:\.(?:py|md|ya?ml|toml|json|svg|png|css|npy|tsv|csv|html)|/)$")
NAME = r"[A-Za-z_]\w*"
CHAIN = re.compile(rf"{NAME}(?:\.{NAME})*")
MATHEMATICS = re.compile(r"[A-Za-z]_\w+")
"""A symbol with an index, as in proofs: F_k."""


def inline(page: Path) -> list[str]:
    """Return what a page sets in code, but for blocks."""
    text = re.sub(r"^(?: {4}.*\n)+", "", BLOCK.sub("", page.read_text()), flags=re.M)
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]


@cache
def defined(file: Path) -> frozenset[str]:
    """Return the names that a file defines or imports, and the words it holds as texts: keys, columns, keywords."""
    names = {file.stem}
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names |= {name.rpartition(".")[2], other or ""}
            case ast.Constant(value=str(text)) if re.fullmatch(r"\S+", text):
                names |= set(re.findall(NAME, text))
            case _:
                pass
    return frozenset(names)


@cache
def known() -> frozenset[str]:
    """Return every name that is defined in the project or in a block of a page."""
    files = [file for folder in SOURCES for file in (ROOT / folder).rglob("*.py") if file != Path(__file__)]
    shown = [match["body"] for page in PAGES for match in BLOCK.finditer(page.read_text())]
    names = frozenset[str]().union(*map(defined, files))
    return names | {name for body in shown for name in re.findall(NAME, body)}


@cache
def files() -> frozenset[str]:
    """Return the paths of all files and folders of the project, from each of their folders on."""
    paths = [path for folder in (*SOURCES, "docs") for path in (ROOT / folder).rglob("*")]
    parts = [path.relative_to(ROOT).parts for path in [*paths, *ROOT.iterdir()] if "__pycache__" not in path.parts]
    return frozenset("/".join(part[start:]) for part in parts for start in range(len(part)))


def wrong(span: str) -> str | None:
    """Say what does not exist of what stands in code."""
    program, *arguments = _words(span)
    if program in ("blowfish", "make", "python", "python3") and arguments:
        return _wrong_command(program, arguments)
    if span in FOREIGN:
        return None
    if FILE.fullmatch(span) and ENDING.search(span):
        name = span.rstrip("/").rpartition("/")[2]
        return None if span.rstrip("/") in files() or name in _files_of_readers() else f"no file {span}"
    if span.startswith("--"):
        return None if program in _options() else f"no option {program}"
    return _wrong_name(span)


def _words(span: str) -> list[str]:
    try:
        return shlex.split(span) or [""]
    except ValueError:
        return [""]


def _wrong_command(program: str, arguments: list[str]) -> str | None:
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
        return next((f"no target {word}" for word in arguments if "=" not in word and word not in targets), None)
    if program == "blowfish":
        command: click.Command = cli
        # Capitals stand for what a reader fills in.
        while isinstance(command, click.Group) and arguments and arguments[0].islower() and arguments[0][0] != "-":
            found = command.get_command(click.Context(command), arguments[0])
            if found is None:
                return f"no command {arguments[0]}"
            command, arguments = found, arguments[1:]
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        return next((f"no option {word}" for word in arguments if word.startswith("--") and word not in options), None)
    if arguments[0] == "-m":
        found = find_spec(arguments[1])
        if found is None or found.origin is None:
            return f"no module {arguments[1]}"
        script, rest = Path(found.origin), arguments[2:]
    else:
        script, rest = ROOT / arguments[0], arguments[1:]
    if not script.is_file():
        return f"no file {arguments[0]}"
    return next(
        (f"no option {word}" for word in rest if word.startswith("--") and f'"{word}"' not in script.read_text()), None
    )


@cache
def _options() -> frozenset[str]:
    texts = [file.read_text() for folder in SOURCES for file in (ROOT / folder).rglob("*.py") if file != Path(__file__)]
    return frozenset(option for text in texts for option in re.findall(r'"(--[\w-]+)"', text)) | _named_by_argument(cli)


def _named_by_argument(command: click.Command) -> frozenset[str]:
    found = frozenset(option for parameter in command.params for option in parameter.opts)
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            found |= frozenset() if inner is None else _named_by_argument(inner)
    return found


@cache
def _files_of_readers() -> frozenset[str]:
    """Return the files that commands and blocks write or read."""
    return frozenset(name for name in re.findall(r"[\w-]+(?:\.\w+)*", " ".join(_texts())))


def _texts() -> list[str]:
    sources = [
        file.read_text() for folder in SOURCES for file in (ROOT / folder).rglob("*.py") if file != Path(__file__)
    ]
    return [*sources, *(match["body"] for page in PAGES for match in BLOCK.finditer(page.read_text()))]


def _wrong_name(span: str) -> str | None:
    """Check names that can be nothing but names of code; words, texts and formulas are left alone."""
    code = re.sub(r"\"[^\"]*\"|'[^']*'", "", span)
    for chain in CHAIN.findall(code):
        if chain in FOREIGN or not re.search("[A-Za-z]", chain):
            continue
        parts = chain.split(".")
        alone = re.fullmatch(rf"{re.escape(chain)}(?:\([^()]*\))?", code) is not None
        for part in parts:
            certain = "_" in part.strip("_") or part[0] == "_" or re.search(r"[a-z][A-Z]", part) or len(parts) > 1
            if (certain or alone) and not MATHEMATICS.fullmatch(part) and part not in known():
                return f"no name {part}"
    return None


LISTED = re.compile(r"`((?:[\w.]+/)*\w+\.py)`\s+\(((?:`[^`]+`(?:,\s+|\s+and\s+)?)+)\)")
"""A file, with names that are said to be in it."""


def test_what_stands_in_code_exists():
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    assert [(page.name, span, found) for page in pages for span in inline(page) if (found := wrong(span))] == []


def test_names_are_in_the_file_that_they_are_said_to_be_in():
    checked = 0
    for page in PAGES:
        for path, names in LISTED.findall(page.read_text()):
            candidates = [file for folder in SOURCES for file in (ROOT / folder).rglob(Path(path).name)]
            inside = [defined(file) for file in candidates if file.as_posix().endswith(f"/{path}")]
            for name in re.findall(r"`([^`]+)`", names):
                last = name.partition("(")[0].rpartition(".")[2]
                assert any(last in each for each in inside), f"{page.name}: {name} is not in {path}"
                checked += 1
    assert checked


def test_what_does_not_exist_is_found():
    for span in (
        "check_nothing_of_it",
        "Histogram.nowhere_to_be",
        "NothingLikeIt",
        "privacy/nowhere_at_all.py",
        "nowhere_of_all/",
        "--never-an-option",
        "blowfish never",
        "blowfish plan --never",
        "make never",
        "python benchmarks/never.py",
        "python benchmarks/run.py --never",
        "python -m blowfish_lab.never",
    ):
        assert wrong(span), span
    for span in (
        "a word",
        "F_k <= U",
        "q_S",
        '"2020-03"',
        "blowfish plan FILE --explain",
        "make audit FILES=3",
        "labels_",
    ):
        assert wrong(span) is None, span
