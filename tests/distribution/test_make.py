"""Every make target that the documents name exists, and each of its commands starts.

Commands are taken from ``make -n`` and started with little to do; where they have no small job, they are imported.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "Makefile"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
NAMED = re.compile(r"`make ([a-z-]+)|^(?:# |\$ )?(?:[A-Z_]+=\S+ )?make ([a-z-]+)(?:  |$)", re.M)
SMALL = {
    "blowfish_lab.audit.black_box": "--mechanism laplace --cases 1 --mutants 1 --samples 10 --workers 1 --out {out}",
    "blowfish_lab.audit.known_facts": "--instances 20 --workers 1",
    "blowfish_lab.audit.odds": "--help",
    "spoilt_files": "--help",
    "benchmarks/run.py": "--quick --check --only ledger --out {out}",
    "benchmarks/scale.py": "--help",
    "benchmarks/synthetic.py": "--help",
}
"""What a program is asked to do here."""
MAY_FAIL = {"blowfish_lab.audit.black_box", "benchmarks/run.py"}
"""So few outputs catch no mutant, and so short a benchmark proves nothing: they must end and write what they found."""
TOOLS = {"ruff", "lint-imports", "pyright", "mkdocs"}


def named() -> set[str]:
    """Return the targets that the documents name."""
    return {first or second for page in DOCUMENTS for first, second in NAMED.findall(page.read_text())}


@cache
def commands(target: str) -> list[list[str]]:
    """Return the commands of a target, without those that set up an environment."""
    # Not as a part of the make that runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    told = subprocess.run(
        ["make", "-n", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    found: list[list[str]] = []
    for line in told.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|>;")
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set("&|>;"):
                command.append(word)
                continue
            found.append(command)
            command = []
    programs = [[*command] for command in found]
    for command in programs:
        while command and re.match("[A-Z_0-9]+=", command[0]):
            del command[0]
    setting_up = ("pip", "venv", "compileall")
    return [each for each in programs if each and not (each[1:2] == ["-m"] and each[2] in setting_up)]


def start(program: str, module: bool, tmp_path: Path) -> None:
    """Start a program with a small job, or import it."""
    if program in SMALL:
        arguments = shlex.split(SMALL[program].format(out=tmp_path / "out"))
        words = ["-m", program, *arguments] if module else [program, *arguments]
    else:
        name = program if module else Path(program).stem
        folder = "." if module else str(Path(program).parent)
        words = ["-c", f"import sys; sys.path.insert(0, {folder!r}); import {name}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    if program in MAY_FAIL:
        assert done.returncode in (0, 1), done.stderr
        assert (tmp_path / "out").is_dir()
    else:
        assert done.returncode == 0, done.stderr


def test_the_documents_name_targets_that_exist_and_help_names_all():
    assert named() <= TARGETS, named() - TARGETS
    assert len(named()) > 15
    listed = set(re.findall(r"^# make ([a-z-]+)", (ROOT / "Makefile").read_text(), re.M))
    assert TARGETS - listed <= {"help", "clean"}


@pytest.mark.parametrize("target", sorted(TARGETS - {"help", "clean"}))
def test_every_command_of_a_target_starts(target, tmp_path):
    assert commands(target)
    for program, *arguments in commands(target):
        name = Path(program).name
        if name.startswith("python"):
            module = arguments[0] == "-m"
            asked = arguments[1] if module else arguments[0]
            if asked == "pytest":
                paths = [word for word in arguments if word.startswith("tests")]
                assert all((ROOT / path).exists() for path in paths), paths
            else:
                start(asked, module, tmp_path)
        elif name == "blowfish":
            words = [word for word in arguments if not word.startswith("-")]
            subprocess.run(
                [Path(sys.executable).parent / "blowfish", *words, "--help"], check=True, capture_output=True
            )
        elif program.startswith("tests/"):
            assert os.access(ROOT / program, os.X_OK), program
            subprocess.run(["bash", "-n", ROOT / program], check=True)
        else:
            # A file that is written to, or what every system has.
            assert name in {*TOOLS, "touch", "echo", "cd", "sed", "rm"} or not arguments, program
