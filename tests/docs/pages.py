"""The pages of the documentation, and how a reader would run what they show."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.cli.demo import synthetic_census
from blowfish_privacy.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)?(?P<options>[^\n]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S
)
PICTURE = re.compile(r"!\[[^\]]*\]\((?:docs/)?pictures/([\w-]+\.(?:svg|png))\)")
LANGUAGES = {"python", "console", "yaml", "sh", "text", "csv"}
"""`text` is output; everything else runs or is written to a file."""


@dataclass(frozen=True)
class Block:
    language: str
    file: str | None
    body: str
    follows: bool
    """Whether nothing but blank space stands between this block and the one before."""


def blocks_of(page: Path) -> list[Block]:
    text, end, found = page.read_text(), -1, []
    for match in BLOCK.finditer(text):
        title = re.search(r'title="([^"]+)"', match["options"])
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["body"].splitlines(keepends=True))
        follows = end >= 0 and not text[end : match.start()].strip()
        found.append(Block(match["language"] or "", title and title[1], body, follows))
        end = match.end()
    return found


def blocks(page: Path, language: str) -> list[str]:
    return [block.body for block in blocks_of(page) if block.language == language]


def prepare(page: Path, folder: Path) -> None:
    """Fill the folder that a reader works in: a table and the policy file of the README, or nothing."""
    if "$ blowfish demo table people.csv" in page.read_text():
        return
    (folder / "people.csv").write_text("\n".join(synthetic_census(5000)) + "\n")
    (folder / "people.yaml").write_text(blocks(ROOT / "README.md", "yaml")[0])


def run_page(page: Path, folder: Path) -> int:
    """Run a page from top to bottom, in a folder; return the number of blocks that ran."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed, ran = "", 0
    for block in blocks_of(page):
        if block.file is not None:
            (folder / block.file).write_text(block.body)
        elif block.language == "python":
            printed = _captured(lambda body=block.body: exec(compile(body, str(page), "exec"), names))
            ran += 1
        elif block.language == "console":
            printed, ran = run_console(block.body), ran + 1
        elif block.language == "text" and block.follows:
            assert matches(block.body, printed), f"{page.name} shows\n{block.body}\nbut this came out:\n{printed}"
    return ran


def run_console(body: str) -> str:
    """Run the lines that begin with a prompt; what is shown between them must come out, with ... for anything."""
    parts = re.split(r"^\$ ", body, flags=re.M)
    assert not parts[0].strip(), "a console block begins with a prompt"
    everything = ""
    for part in parts[1:]:
        line, _, shown = part.partition("\n")
        printed = run_command(line)
        assert not shown.strip() or matches(shown, printed), f"$ {line}\nshows\n{shown}\nbut this came out:\n{printed}"
        everything += printed
    return everything


def run_command(line: str) -> str:
    program, *arguments = shlex.split(line, comments=True)
    if program == "python":
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
        return done.stdout
    if program in ("head", "cat", "ls"):
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    assert program == "blowfish", f"nobody knows how to run {program}"

    def command():
        assert run(arguments) == 0, f"{line} failed"

    return _captured(command)


class _Reader(io.TextIOBase):
    """Answers every question with yes, so that question and answer are seen."""

    def __init__(self, screen: io.StringIO, asked: io.StringIO) -> None:
        self._screen, self._asked = screen, asked

    def readline(self, _: int = -1) -> str:
        question = self._asked.getvalue().splitlines()[-1]
        self._screen.write(f"{question} y\n")
        return "y\n"


def _captured(do) -> str:
    """Return what a command prints, and the questions it asks; a reader says yes to them."""
    out, messages = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, _Reader(out, messages)
    try:
        with redirect_stdout(out), redirect_stderr(messages):
            do()
    finally:
        sys.stdin = before
    return out.getvalue()


LEEWAY = 0.02
"""How far a number after `about` may be off: what a search finds can depend on how a machine rounds."""
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def matches(shown: str, printed: str) -> bool:
    """Compare what a page shows with what came out.

    Blanks count as one, `...` stands for anything, and `about 370` for a number nearby.
    """
    parts = re.split(rf"(?<=\babout ){NUMBER}", " ".join(shown.split()))
    pattern = NUMBER.join(r".*?".join(map(re.escape, part.split("..."))) for part in parts[::2])
    found = re.fullmatch(pattern, " ".join(printed.split()), re.S)
    return found is not None and all(
        abs(_number(came) / _number(given) - 1) <= LEEWAY
        for given, came in zip(parts[1::2], found.groups(), strict=True)
    )


def _number(text: str) -> float:
    return float(text.replace(",", ""))
