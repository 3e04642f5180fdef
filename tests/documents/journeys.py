"""A policy file's whole journey: all that the command line, Python and the page say and draw of it."""

from __future__ import annotations

import gc
import io
import re
import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from threading import get_ident

import yaml

from blowfish_privacy.cli.main import run
from documents import shown
from documents.fixed import HERE, fixed, folder_of_its_own, hide, stable, stable_picture
from documents.people import write_tables

FILES = Path(__file__).parent / "files"
_PAIR = re.compile(r"^# pair: (.*)$", re.MULTILINE)
_DIFFER = re.compile(r"^# processors differ: (.*)$", re.MULTILINE)


def journey(name: str) -> Iterator[tuple[str, str]]:
    """Go the way of one file: check, explain, plan, release, look at the ledger, verify, state, draw."""
    text = (FILES / f"{name}.yaml").read_text()
    if "all" not in _DIFFER.findall(text):
        yield from _way(name, text)
        return
    for view, said in _way(name, text):
        yield f"{view}{HERE}", said


def _way(name: str, text: str) -> Iterator[tuple[str, str]]:
    releases = [each["name"] for each in yaml.safe_load(text).get("releases", [])]
    differing = ", ".join(_DIFFER.findall(text)).split(", ")
    with folder_of_its_own() as folder:
        write_tables(folder)
        (folder / "p.yaml").write_text(text)
        yield from _before(name, text)
        with fixed(name):
            yield from shown.policy_pictures("p.yaml")
            yield from shown.plan_pictures("p.yaml")
        yield "ledger create", command(name, "ledger create p.yaml")
        for each in releases:
            said = command(name, f"release p.yaml --yes --svg --only {shlex.quote(each)}")
            if said.code:
                yield f"{each}: release", said
            else:
                yield from _release(name, each, here=HERE if each in differing else "")
        yield from _after(name, text)


def _before(name: str, text: str) -> Iterator[tuple[str, str]]:
    yield "policy check", command(name, "policy check p.yaml --picture facts.svg")
    if Path("facts.svg").exists():
        yield "policy check picture", stable_picture(Path("facts.svg").read_text())
    yield "policy check json", command(name, "policy check p.yaml --picture - --json")
    yield "policy explain", command(name, "policy explain p.yaml")
    yield "policy explain json", command(name, "policy explain p.yaml --json")
    for number, pair in enumerate(_PAIR.findall(text), 1):
        yield f"policy explain pair {number}", command(name, f"policy explain p.yaml --pair {pair}")
        yield f"policy explain pair {number} json", command(name, f"policy explain p.yaml --json --pair {pair}")
    yield "data check", command(name, "data check p.yaml")
    yield "data check json", command(name, "data check p.yaml --json")
    yield "plan", command(name, "plan p.yaml --explain")
    yield "plan json", command(name, "plan p.yaml --json")


def _release(name: str, release: str, *, here: str) -> Iterator[tuple[str, str]]:
    """Look at a release; ``here`` ends the names of views that its values shape, where processors differ in them."""
    file = Path(f"{release}.release.json")
    hide(file.read_text(), release)
    document, text = shlex.quote(file.name), stable(file.read_text())
    yield f"{release}: document{here}", text
    for ending, form in (("csv", stable), ("svg", stable_picture)):
        if Path(f"{release}.{ending}").exists():
            yield f"{release}: {ending}{here}", form(Path(f"{release}.{ending}").read_text())
    yield f"{release}: verify", command(name, f"verify {document}") + command(name, f"verify {document} --json")
    for form in ("--format md", "--format html", "--json"):
        yield f"{release}: card {form.split()[-1].strip('-')}", command(name, f"card {document} {form}")
    if '"query": {"synthetic"' in text:
        yield f"{release}: data compare{here}", command(name, f"data compare p.yaml {document}")
        yield f"{release}: data compare json{here}", command(name, f"data compare p.yaml {document} --json")
    with fixed(f"{name} {release} shown"):
        yield from ((f"{release}: {view}{here}", text) for view, text in shown.result_views(file.name))


def _after(name: str, text: str) -> Iterator[tuple[str, str]]:
    yield "release again", command(name, "release p.yaml --yes")
    yield "release again json", command(name, "release p.yaml --yes --json")
    yield "plan again", command(name, "plan p.yaml")
    yield "ledger show", command(name, "ledger show p.ledger --picture balances.svg")
    if Path("balances.svg").exists():
        yield "ledger show picture", stable_picture(Path("balances.svg").read_text())
    yield "ledger show json", command(name, "ledger show p.ledger --json")
    for number, pair in enumerate(_PAIR.findall(text), 1):
        yield f"ledger show pair {number}", command(name, f"ledger show p.ledger --pair {pair}")
        yield f"ledger show pair {number} json", command(name, f"ledger show p.ledger --json --pair {pair}")
    yield "ledger verify", command(name, "ledger verify p.ledger") + command(name, "ledger verify p.ledger --json")
    yield "verify", command(name, "verify p.yaml")
    yield "verify json", command(name, "verify p.yaml --json")
    for form in ("--format md", "--format html", "--json"):
        yield f"card {form.split()[-1].strip('-')}", command(name, f"card p.yaml {form}")


class Said(str):
    """What a command printed, and its exit code."""

    code: int


class _Printed(io.StringIO):
    """What this thread prints: others, left by earlier tests of the process, may print at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = get_ident()

    def write(self, text: str) -> int:
        return super().write(text) if get_ident() == self._thread else len(text)


@contextmanager
def _nothing_collected() -> Generator[None]:
    """Let nothing that earlier tests left be collected now: it might print that it was never closed."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def command(name: str, line: str) -> Said:
    """Run a command with bits of its own, and return what it prints on both streams, and its exit code."""
    out, err = _Printed(), _Printed()
    with fixed(f"{name} {line}"), _nothing_collected(), redirect_stdout(out), redirect_stderr(err):
        code = run(shlex.split(line))
    said = Said(stable(f"$ blowfish {line}\n{out.getvalue()}---\n{err.getvalue()}---\n{code}\n"))
    said.code = code
    return said
