"""Categorical attributes: named values without an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, Attribute, Outside, Positions, Subset
from blowfish_privacy.errors import DataError, DomainError, brief, nearest
from blowfish_privacy.support.file_forms import Form, InSchema, Wanted, listed
from blowfish_privacy.support.text import worded

_LARGEST = 2**62
_WHOLE = {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST}
_CATEGORIES: TypeAlias = Annotated[
    list[str] | list[Annotated[int, Interval(ge=-_LARGEST, le=_LARGEST)]] | list[bool],
    Len(1),
    InSchema(
        {"anyOf": [listed(kind, least=1, unique=True) for kind in ({"type": "string"}, _WHOLE, {"type": "boolean"})]}
    ),
    Wanted(
        "a list of names: all text, all whole numbers or all truth values",
        "write categorical: [Female, Male], with quotes around a name that looks like a number.",
    ),
]


@dataclass(frozen=True)
class Categorical(Attribute):
    """A list of categories: all text, all whole numbers, or all booleans.

    >>> Categorical(["Female", "Male"]).size
    2
    """

    categories: Sequence[str | int | bool]
    _: KW_ONLY
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "categorical"
    file_form = Form(
        {"categorical": _CATEGORIES},
        {
            "outside": Annotated[Literal["error"], Wanted("left out, since categories cannot be clamped")],
            "missing": Annotated[str | int | bool, MISSING_WANTED],
        },
        example="{categorical: [Female, Male]}",
    )
    ordered = False
    column_type = "categories"

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise DomainError(f"categories must be a list, got {brief(self.categories)}.")
        if not self.categories:
            raise DomainError("a categorical attribute needs at least one category.")
        object.__setattr__(self, "categories", tuple(self.categories))
        kinds = {type(category) for category in self.categories}
        if len(kinds) != 1 or not kinds <= {str, int, bool}:
            raise DomainError(
                "categories must be all text, all whole numbers or all booleans, "
                f"got {', '.join(sorted(kind.__name__ for kind in kinds))}.",
                hint="put quotes around a category that looks like a number; use Binned for measurements.",
            )
        if len(self._lookup) != len(self.categories):
            twice = next(c for i, c in enumerate(self.categories) if self._lookup[c] != i)
            raise DomainError(f"the category {brief(twice)} is listed twice.")
        if kinds == {str} and not all(_encodable(category) for category in map(str, self.categories)):
            raise DomainError("a category is not valid text.", hint="it contains an unpaired surrogate.")
        if kinds == {int} and any(abs(int(category)) > _LARGEST for category in self.categories):
            raise DomainError("whole-number categories must lie within +-2^62.")
        self._check_rules()

    @cached_property
    def _lookup(self) -> dict[object, int]:
        return {category: position for position, category in enumerate(self.categories)}

    @property
    def kind(self) -> type:
        """The type of the values that a column holds, which all categories share."""
        return type(self.categories[0])

    @property
    def spelt(self) -> Mapping[Any, int]:
        """The values that a column may hold, with their positions."""
        return self._lookup

    @property
    def plain(self) -> str:
        return {str: "text", bool: "true or false", int: "plain whole numbers"}[self.kind]

    @property
    def size(self) -> int:
        return len(self.categories)

    def say(self, position: int) -> str:
        return worded(self.show(position))

    def position(self, value: object) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if type(plain) is not type(self.categories[0]) or plain not in self._lookup:
            raise DomainError(
                f"{brief(value)} is not a declared category.", hint=nearest(str(value), map(str, self.categories))
            )
        return self._lookup[plain]

    def value(self, position: int) -> str | int | bool:
        return self.categories[position]

    def gap(self, first: int, second: int) -> Fraction:
        raise DomainError("categories have no distance.", hint="use full, partition or edges for this attribute.")

    def subset(self, chosen: object) -> Subset:
        if isinstance(chosen, tuple):
            raise DomainError(
                "a pair is a range, and categories have no order.",
                hint="use a list for a set of categories.",
            )
        if isinstance(chosen, list | set | frozenset):
            return Subset.of(self.position(value) for value in chosen)
        return Subset.of([self.position(chosen)])

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind != "O":
            names, inverse = np.unique(column, return_inverse=True)
            return self._encode(names.astype(object))[inverse] if len(names) else np.zeros(0, dtype=np.int64)
        values: list[object] = column.tolist()
        if any(type(value) is not self.kind for value in values):
            raise DataError(f"the column must hold {self.kind.__name__} values, like its declared categories.")
        lookup = self.spelt
        return np.fromiter((lookup.get(value, -1) for value in values), dtype=np.int64, count=len(values))

    def to_file(self) -> dict[str, Any]:
        return {"categorical": list(self.categories), **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Categorical:
        return cls(body["categorical"], **cls._rules_from_file(body))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
