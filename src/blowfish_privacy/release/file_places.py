"""Places in a policy file: the line, and the name that a user gave to the part that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from blowfish_privacy.errors import BlowfishError, brief

Path: TypeAlias = tuple[str | int, ...]
"""The keys and numbers that lead to a value of a file."""

_LISTS: Mapping[Path, str] = {("releases",): "release", ("policy", "known"): "known fact"}
"""Lists whose parts are called by their name, or by their number in words."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def dotted(path: Path) -> str:
    """Write a path: ``policy.domain.age``, ``rows[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def part_of(path: Path, body: Any) -> tuple[str, Path]:
    """Name the release or the known fact that a path lies in, if any, and return the rest of the path."""
    for holder, noun in _LISTS.items():
        following = path[len(holder) :]
        if path[: len(holder)] == holder and following and isinstance(following[0], int):
            return _named(noun, following[0], _value_at(body, (*holder, following[0], "name"))), following[1:]
    return "", path


def place(path: Path, body: Any) -> str:
    """Say where a path leads, as people call it: ``release 'ages': epsilon``, ``policy.domain``."""
    part, rest = part_of(path, body)
    return ": ".join(filter(None, (part, dotted(rest))))


def at_line(line: int | None) -> str:
    """Write a line, for the beginning of a message; nothing where there is none."""
    return "" if line is None else f"line {line}: "


def no_line(_path: Path) -> None:
    """Name no line: what is read is not the text of a file."""


def release_words(name: str) -> str:
    """Name a release in a sentence."""
    return f"release {brief(name)}"


def _named(noun: str, number: int, name: object) -> str:
    if isinstance(name, str) and name.strip():
        return f"{noun} {brief(name)}"
    return f"the {_ORDINALS[number]} {noun}" if number < len(_ORDINALS) else f"{noun} number {number + 1}"


def _value_at(body: Any, path: Path) -> object:
    for step in path:
        if isinstance(body, dict) and step in body:
            body = cast("dict[str | int, Any]", body)[step]
        elif isinstance(body, Sequence) and not isinstance(body, str) and isinstance(step, int) and step < len(body):
            body = body[step]
        else:
            return None
    return body


@dataclass(frozen=True)
class Locator:
    """Builds parts of a file, and puts the line and the path of a part in front of its errors."""

    line: Callable[[Path], int | None] = no_line
    body: Any = None

    def __call__(self, path: Path, build: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Build a part, and say in its errors where it stands."""
        try:
            return build(*arguments, **options)
        except BlowfishError as error:
            raise self.located(path, error) from None

    def located(self, path: Path, error: BlowfishError) -> BlowfishError:
        """Say in an error of a part where it stands."""
        line = self.line(path)
        return error.within(f"{at_line(line)}{place(path, self.body)}", line)

    def line_only(self, path: Path, build: Callable[..., Any], *arguments: Any) -> Any:
        """Build a part that names itself in its errors."""
        try:
            return build(*arguments)
        except BlowfishError as error:
            error.line = self.line(path)
            raise
