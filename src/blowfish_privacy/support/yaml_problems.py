"""What is wrong with a text that is not YAML, in words for somebody who has never heard of its grammar."""

from __future__ import annotations

import re
from typing import Any

import yaml

_EXAMPLES = "see the examples folder for a file that works."
_SECTIONS = (
    "keys of one section begin in the same column, under one another; what belongs to a key is indented further."
)


def problem_in_words(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str, int | None]:
    """Say what is wrong, what to do, and in which line."""
    mark = error.problem_mark
    if mark is None:
        return f"{error.problem or 'not valid YAML'}.", _EXAMPLES, None
    lines = text.splitlines() or [""]
    line = lines[mark.line] if mark.line < len(lines) else ""
    said, hint, found = _said(error, lines, line, mark)
    where = f"line {mark.line + 1}, column {mark.column + 1}" if found is mark else f"line {found.line + 1}"
    return f"{where}: {said}.", hint, found.line + 1


def _said(error: yaml.MarkedYAMLError, lines: list[str], line: str, mark: Any) -> tuple[str, str, Any]:
    problem, opened = error.problem or "", error.context_mark or mark
    following = line[mark.column : mark.column + 1]
    if "tab character" in problem or (following == "\t" and not line[: mark.column].strip()):
        return "a tab is used for indentation", "replace every tab by spaces: YAML allows for nothing else.", mark
    if "escape" in problem:
        return (
            "a backslash inside double quotation marks begins a special character",
            "put the text into single quotation marks, or write a path with / in place of the backslash.",
            mark,
        )
    if "cannot start any token" in problem:
        return f"a value cannot begin with {following}", "put the value into quotation marks.", mark
    if "quoted scalar" in (error.context or ""):
        return "a quotation mark is opened here and never closed", "close it with the same mark.", opened
    if "flow" in (error.context or ""):
        bracket = lines[opened.line][opened.column : opened.column + 1] if opened.line < len(lines) else ""
        return (
            f"the bracket {bracket} is opened here, and is not closed or lacks a comma between two parts",
            "every { needs its }, every [ its ], and parts are separated by commas.",
            opened,
        )
    if "mapping values" in problem:
        return _misplaced_colon(lines, mark)
    return _unexpected(problem, line, mark)


def _unexpected(problem: str, line: str, mark: Any) -> tuple[str, str, Any]:
    """Say what stands where the parser expected something else, or what our own reader refused."""
    following, before = line[mark.column : mark.column + 1], line[: mark.column].rstrip()[-1:]
    if "expected" not in problem:
        hints = {"duplicate": "keep one of them.", "anchors": "write the value out.", "tags": "write the value alone."}
        return problem or "not valid YAML", hints.get(problem.partition(" ")[0], _EXAMPLES), mark
    if following and following in "]}":
        return f"the bracket {following} is closed here and was not opened", "remove it, or open it before.", mark
    if before and before in "'\"":
        hint = "put the other kind of quotation marks around a text that has one kind in it."
        return "the text goes on after its closing quotation mark", hint, mark
    return "the indentation does not fit that of the lines above", _SECTIONS, mark


def _misplaced_colon(lines: list[str], mark: Any) -> tuple[str, str, Any]:
    glued = re.compile(r"\s*(- )?[\w-]+:[^\s:/]")
    above = [number for number in range(max(mark.line - 1, 0), mark.line + 1) if number < len(lines)]
    if any(glued.match(lines[number]) for number in above):
        return "a space is missing after a colon, here or in the line above", "write key: value.", mark
    if mark.line and not lines[mark.line][: mark.column].strip(" ").count(":"):
        return "the indentation does not fit that of the lines above", _SECTIONS, mark
    return "there is a second colon in one value", "put a text that has a colon in it into quotation marks.", mark
