"""How a policy file spells a choice of values of one attribute.

In Python a tuple is a range and a list is a set of values; a file only has lists. There, two values of an ordered
attribute stand for the range between them; ``{range: [a, b]}`` and ``{values: [..]}`` say explicitly which is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from annotated_types import Len

from blowfish_privacy.domain.attribute import Attribute
from blowfish_privacy.domain.binned import Bin
from blowfish_privacy.errors import SpecError
from blowfish_privacy.support.exact import exact, plain
from blowfish_privacy.support.file_forms import Wanted
from blowfish_privacy.support.file_values import Value

_VALUES: TypeAlias = Annotated[list[Value | Annotated[list[Value], Len(2, 2)]], Len(1)]
_SPELT: TypeAlias = (
    Annotated[dict[Literal["range"], Annotated[list[Value], Len(2, 2)]], Len(1)]
    | Annotated[dict[Literal["values"], _VALUES], Len(1)]
)
BLOCK_FORM: TypeAlias = _VALUES | _SPELT
"""Several values."""
CHOICE_FORM: TypeAlias = Annotated[
    Value | _VALUES | _SPELT,
    Wanted("a value, a list of values, {range: [a, b]} or {values: [..]}", "write {age: [17, 25], sex: Female}."),
]
"""One value or several."""


def choice_from_file(attribute: Attribute, written: Any) -> Any:
    """Read a choice: ``30``, ``[17, 25]``, ``[a, b, c]``, ``{range: [17, 25]}``, ``{values: [17, 25]}``."""
    if isinstance(written, Mapping):
        return tuple(written["range"]) if "range" in written else _values(written["values"])
    if not isinstance(written, list):
        return written
    two_ends = len(written) == 2 and not any(isinstance(part, list) for part in written)
    return tuple(written) if attribute.ordered and two_ends else _values(written)


def choice_to_file(chosen: Any) -> Any:
    """Write a choice such that :func:`choice_from_file` reads it back unchanged."""
    if isinstance(chosen, Bin | tuple):
        return {"range": _value_to_file(chosen)}
    if isinstance(chosen, list | set | frozenset | range):
        return {"values": [_value_to_file(part) for part in chosen]}
    return _value_to_file(chosen)


def _values(written: list[Any]) -> list[Any]:
    return [tuple(part) if isinstance(part, list) else part for part in written]


def _value_to_file(value: Any) -> Any:
    if isinstance(value, Bin):
        value = (value.low, value.high)
    if isinstance(value, tuple):
        return [_value_to_file(end) for end in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return value.isoformat()[:10]
    return plain(exact(value, "a value", error=SpecError)) if isinstance(value, Fraction | Decimal | float) else value
