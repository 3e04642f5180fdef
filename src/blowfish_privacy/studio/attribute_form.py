"""The declaration of an attribute as the fields of a form: texts in, plain values of a policy file out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, TypeAlias

from blowfish_privacy.domain.hierarchy import read_levels
from blowfish_privacy.errors import DomainError, brief

Kind: TypeAlias = Literal["integer", "decimal", "binned", "date", "categorical", "hierarchy"]
Values: TypeAlias = Literal["text", "numbers", "truth"]

KINDS: dict[Kind, str] = {
    "integer": "Whole numbers",
    "decimal": "Decimal numbers at equal steps",
    "binned": "Numbers in bins",
    "date": "Dates",
    "categorical": "Categories",
    "hierarchy": "A hierarchy, such as state and county",
}
VALUES: dict[Values, str] = {"text": "text", "numbers": "whole numbers", "truth": "true or false"}
STEPS = {"day": "days", "week": "weeks, from Monday", "month": "months"}
ROUNDS = {"error": "are an error", "nearest": "count as the nearest one", "down": "count as the next one below"}
"""What becomes of numbers between the steps."""
CLAMPED: tuple[Kind, ...] = ("integer", "decimal", "binned", "date")
"""Kinds whose values have an order, so that those outside have a nearest one."""
_BESIDE = {"decimal": {"step", "round"}, "date": {"step"}}
"""What a declaration of some kinds says besides what all of them may say."""
_MOST_BINS = 100_000


@dataclass(frozen=True)
class AttributeForm:
    """What somebody writes into the form; every field is text, as it is typed."""

    kind: Kind = "integer"
    low: str = ""
    high: str = ""
    step: str = ""
    round: str = "error"
    edges: str = ""
    categories: str = ""
    values: Values = "text"
    levels: str = ""
    file: str = ""
    clamp: bool = False
    missing: str = ""

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> AttributeForm | None:
        """Fill the form with a declaration of a policy file; None where the form has no fields for it."""
        kind = next((kind for kind in KINDS if kind in declared), None)
        if kind is None or declared.keys() - {kind, "outside", "missing"} - _BESIDE.get(kind, set()):
            return None
        shared: dict[str, Any] = {"kind": kind, "clamp": declared.get("outside") == "clamp"}
        missing = declared.get("missing", "error")
        shared["missing"] = "" if missing == "error" else _shown(missing)
        stated = declared[kind]
        if kind == "integer":
            return cls(low=str(stated[0]), high=str(stated[1]), **shared)
        if kind in ("decimal", "date"):
            rules = {"step": str(declared.get("step", "day")), "round": str(declared.get("round", "error"))}
            return cls(low=str(stated[0]), high=str(stated[1]), **rules, **shared)
        if kind == "binned":
            return cls(edges=", ".join(map(_shown, stated)), **shared)
        if kind == "categorical":
            return cls(categories="\n".join(map(_shown, stated)), values=_values(stated), **shared)
        if "file" in stated:
            return cls(file=stated["file"], **shared)
        return cls(levels=_lines(stated["levels"], stated["tree"]), **shared)

    def declaration(self) -> dict[str, Any]:
        """Return the declaration, or say which field is wrong."""
        read = {"integer": self._integer, "decimal": self._decimal, "binned": self._binned, "date": self._date}
        read |= {"categorical": self._categorical, "hierarchy": self._hierarchy}
        declared = read[self.kind]()
        if self.clamp and self.kind in CLAMPED:
            declared["outside"] = "clamp"
        if self.missing.strip():
            declared["missing"] = self._missing(self.missing.strip())
        return declared

    def _integer(self) -> dict[str, Any]:
        return {"integer": [_whole(self.low, "the smallest value"), _whole(self.high, "the largest value")]}

    def _decimal(self) -> dict[str, Any]:
        bounds = [_number(self.low, "the smallest value"), _number(self.high, "the largest value")]
        rounding = {} if self.round == "error" else {"round": self.round}
        return {"decimal": bounds, "step": _number(self.step, "the step"), **rounding}

    def _date(self) -> dict[str, Any]:
        return {"date": [self.low.strip(), self.high.strip()], "step": self.step if self.step in STEPS else "day"}

    def _binned(self) -> dict[str, Any]:
        edges = [each for each in re.split(r"[\s,;]+", self.edges) if each]
        if len(edges) < 2:
            raise DomainError("bins need at least two edges.", hint="write them with commas between: 0, 10, 20.")
        return {"binned": [_number(edge, "an edge") for edge in edges]}

    def _categorical(self) -> dict[str, Any]:
        names = split_names(self.categories)
        if not names:
            raise DomainError("there are no categories yet.", hint="write one in each line, or commas between them.")
        return {"categorical": [self._category(name) for name in names]}

    def _hierarchy(self) -> dict[str, Any]:
        if self.file.strip():
            return {"hierarchy": {"file": self.file.strip()}}
        levels, tree = read_levels(self.levels)
        return {"hierarchy": {"levels": levels, "tree": tree}}

    def _category(self, name: str) -> Any:
        if self.values == "numbers":
            return _whole(name, "a category")
        if self.values == "truth":
            return _truth(name)
        return name

    def _missing(self, text: str) -> Any:
        if self.kind == "integer":
            return _whole(text, "what missing values count as")
        if self.kind in ("decimal", "binned"):
            return _number(text, "what missing values count as")
        return self._category(text) if self.kind == "categorical" else text


def split_names(text: str) -> list[str]:
    """Split what was pasted into names: one for each line, or in a single line by commas."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parts = lines[0].split(",") if len(lines) == 1 else lines
    return [part.strip() for part in parts if part.strip()]


def equal_edges(low: str, high: str, width: str) -> str:
    """Write the edges of bins of one width."""
    first, last, step = (
        _number(text, name) for text, name in ((low, "the first edge"), (high, "the last edge"), (width, "the width"))
    )
    if step <= 0 or last <= first:
        raise DomainError("the last edge must be above the first, and the width above 0.")
    if (last - first) / step > _MOST_BINS:
        raise DomainError(f"that would be more than {_MOST_BINS:,} bins.", hint="choose a larger width.")
    edges = [first]
    while edges[-1] < last:
        edges.append(min(edges[-1] + step, last))
    return ", ".join(f"{Decimal(edge).normalize():f}" for edge in edges)


def _whole(text: str, what: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise DomainError(f"{what} must be a whole number, got {brief(text)}.") from None


def _number(text: str, what: str) -> int | Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise DomainError(f"{what} must be a number, got {brief(text)}.", hint="write decimals with a point.")
    return int(number) if re.fullmatch(r"[-+]?[0-9]+", text.strip()) else number


def _truth(text: str) -> bool:
    if text.casefold() not in ("true", "false"):
        raise DomainError(f"{brief(text)} is neither true nor false.")
    return text.casefold() == "true"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(categories: Sequence[Any]) -> Values:
    first = categories[0]
    return "truth" if isinstance(first, bool) else "numbers" if isinstance(first, int) else "text"


def _lines(levels: Sequence[str], tree: Any) -> str:
    return "\n".join([", ".join(levels), *(", ".join(path) for path in _paths(tree))])


def _paths(tree: Any) -> list[list[str]]:
    if isinstance(tree, Mapping):
        return [[_quoted(name), *below] for name, rest in tree.items() for below in _paths(rest)]
    return [[_quoted(name)] for name in tree]


def _quoted(name: Any) -> str:
    text = str(name)
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text
