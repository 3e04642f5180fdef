"""YAML without its surprises.

Plain ``yes``, ``no``, ``on`` and ``off`` stay text (NO is a country), so do ``010`` and ``12:30``; decimals are exact,
a duplicate key is an error, and anchors, aliases and tags are refused, so a small file stays small. Values are built
from the parser's events as they come, so that a file over one of the limits is refused where it passes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NoReturn

import yaml

from blowfish_privacy.errors import SpecError, brief
from blowfish_privacy.support.limits import FILE_CHARACTERS, FILE_LEVELS, FILE_VALUES, TEXT_CHARACTERS

# What is wrong with a text that is not YAML, in words for somebody who has never heard of its grammar.

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


_LONGEST_NUMBER = 1_200

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{word: word.casefold() == "true" for word in ("true", "True", "false", "False")},
}
_NUMERIC = frozenset("-+.0123456789")

# The parser written in C, where PyYAML was built with it, is some twenty times as fast.
Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(text: str) -> Any:
    """Read YAML text into plain values, or say where it is wrong."""
    if not isinstance(text, str):
        raise SpecError("the text of a policy file is needed.")
    if len(text) > FILE_CHARACTERS:
        raise SpecError(f"the file has more than {FILE_CHARACTERS:,} characters.", hint=_SMALLER)
    try:
        return _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        problem, hint, line = problem_in_words(error, text)
    except (yaml.YAMLError, UnicodeEncodeError):
        problem, hint, line = "the file is not valid YAML.", "see the examples folder for a file that works.", None
    raise SpecError(problem, hint=hint, line=line)


_SMALLER = "list fewer values: ranges, widths and bins say the same in few words."


def line_of(text: str, path: Sequence[Any]) -> int:
    """Find the line of a value by the keys and numbers that lead to it; if it is missing, of what should hold it."""
    parser = Parser(text)
    parser.get_event()
    parser.get_event()
    event = mark = parser.get_event()
    for step in path:
        if isinstance(event, yaml.MappingStartEvent):
            while not isinstance(key := parser.get_event(), yaml.MappingEndEvent) and scalar(key) != step:
                _skip(parser, parser.get_event())
            if isinstance(key, yaml.MappingEndEvent):
                break
            mark = key
        elif isinstance(event, yaml.SequenceStartEvent) and isinstance(step, int):
            for _ in range(step):
                _skip(parser, parser.get_event())
        else:
            break
        event = parser.get_event()
        mark = mark if isinstance(step, str) else event
    return mark.start_mark.line + 1


def _skip(parser: Any, event: Any) -> None:
    level = 0
    while True:
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level <= 0:
            return
        event = parser.get_event()


class _Reader:
    """Builds values from the events of a parser."""

    def __init__(self, text: str) -> None:
        self._parser = Parser(text)
        self._values = 0

    def document(self) -> Any:
        """Read the one document of a text; None where it is empty."""
        self._parser.get_event()
        if self._parser.check_event(yaml.StreamEndEvent):
            return None
        self._parser.get_event()
        built = self._value(self._parser.get_event(), 0)
        self._parser.get_event()
        if not self._parser.check_event(yaml.StreamEndEvent):
            _refuse(self._parser.get_event(), "a policy file is a single document")
        return built

    def _value(self, event: Any, level: int) -> Any:
        self._values += 1
        if self._values > FILE_VALUES or level > FILE_LEVELS:
            many = f"more than {FILE_VALUES:,} values" if self._values > FILE_VALUES else ""
            raise SpecError(
                f"{_position(event.start_mark)}: the file has {many or f'more than {FILE_LEVELS} levels of nesting'}.",
                hint=_SMALLER if many else "see the examples folder for a file that works.",
                line=event.start_mark.line + 1,
            )
        if event.anchor is not None:
            _refuse(event, "anchors and aliases are not allowed")
        if event.tag is not None:
            _refuse(event, "tags are not allowed")
        if isinstance(event, yaml.ScalarEvent):
            return scalar(event)
        return self._sequence(level) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(level)

    def _sequence(self, level: int) -> list[Any]:
        built: list[Any] = []
        while not isinstance(event := self._parser.get_event(), yaml.SequenceEndEvent):
            built.append(self._value(event, level + 1))
        return built

    def _mapping(self, level: int) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        name, value = None, None
        while not isinstance(event := self._parser.get_event(), yaml.MappingEndEvent):
            before, key = (name, value), self._value(event, level + 1)
            if not isinstance(event, yaml.ScalarEvent) or not isinstance(key, str | int | bool):
                _refuse(event, "a key must be plain text")
            if key in built:
                _refuse(event, f"duplicate key {brief(key)}")
            following = self._parser.get_event()
            if _is_plain(following) and not following.value and _is_plain(event) and event.value.isdecimal():
                _check_decimal_point(event, *before)
            name, value = key, self._value(following, level + 1)
            built[name] = value
        return built


def _is_plain(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0]


def scalar(event: yaml.ScalarEvent) -> Any:
    """Return the plain value that a scalar of a text stands for."""
    text: str = event.value
    if len(text) > TEXT_CHARACTERS:
        _refuse(event, f"a text has {len(text):,} characters, and {TEXT_CHARACTERS:,} is the most")
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC or not _DECIMAL.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        _refuse(event, f"a number has {len(text):,} digits, and {_LONGEST_NUMBER:,} is the most")
    return int(text) if _INTEGER.fullmatch(text) else Decimal(text)


def _check_decimal_point(event: yaml.ScalarEvent, name: object, value: object) -> None:
    """Refuse ``{epsilon: 0,4}``, which YAML takes for epsilon 0 and a key 4 without a value."""
    if type(value) is int:
        raise SpecError(
            f"{_position(event.start_mark)}: {brief(name)}: {brief(value)},{brief(event.value)} is not a number: "
            "the comma ends it.",
            hint="write decimals with a point, as in 0.4, and thousands without a mark, as in 1000.",
            line=event.start_mark.line + 1,
        )


def _position(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _refuse(event: Any, problem: str) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


class _Dumper(yaml.SafeDumper):
    """Quotes text that :func:`parse` would otherwise read as something else."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


_RESOLVED = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|false|True|False", [*"tTfF"]),
    "int": (_INTEGER.pattern, [*"-+0123456789"]),
    "float": (_DECIMAL.pattern, [*"-+0123456789."]),
}
for _tag, (_pattern, _first) in _RESOLVED.items():
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), _first)


def _number(dumper: yaml.SafeDumper, value: Decimal) -> yaml.Node:
    written = str(value)
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'int' if _INTEGER.fullmatch(written) else 'float'}", written)


_Dumper.add_representer(Decimal, _number)


def write(value: Any) -> str:
    """Write plain values as YAML that :func:`parse` reads back unchanged."""
    options: dict[str, Any] = {"Dumper": _Dumper, "sort_keys": False, "default_flow_style": None, "width": 110}
    readable = yaml.dump(value, allow_unicode=True, **options)
    # Some characters, such as the one for "next line", are read back as spaces unless they are escaped.
    return readable if parse(readable) == value else yaml.dump(value, allow_unicode=False, **options)


def write_scalar(value: Any) -> str:
    """Write a single value in one line, so that it can stand anywhere: between brackets, and as a key."""
    options: dict[str, Any] = {"Dumper": _Dumper, "default_flow_style": True, "width": 10 * TEXT_CHARACTERS}
    written = yaml.dump([value], allow_unicode=True, **options)
    if "\n" in written.rstrip("\n") or parse(written) != [value]:
        written = yaml.dump([value], allow_unicode=False, default_style='"', **options)
    return written.strip().removeprefix("[").removesuffix("]")
