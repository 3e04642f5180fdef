"""The forms of single values that occur in many parts of a policy file."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.support.file_forms import Published, Wanted


def listed(items: Mapping[str, Any], *, least: int = 0, unique: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a list."""
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = rf"^\s*[-+]?({_DIGITS}\s*/\s*{_DIGITS}|({_DIGITS}\.?|({_DIGITS})?\.{_DIGITS})([eE][-+]?{_DIGITS})?)\s*$"

EXACT_SCHEMA = {"type": ["number", "string"], "pattern": _NUMBER}
Exact: TypeAlias = Annotated[int | Decimal | float | str, Published(EXACT_SCHEMA)]
"""A number that is read exactly: 5, 0.5, "1/3"."""
Above0: TypeAlias = Annotated[int | Decimal | float | str, Published({**EXACT_SCHEMA, "exclusiveMinimum": 0})]
Positive: TypeAlias = Annotated[Above0, Wanted("a number above 0", "write it like 5, 0.5, '1/3' or '0.05'.")]
Value: TypeAlias = Annotated[int | Decimal | float | str | bool, Published({"type": ["number", "string", "boolean"]})]
"""A value of an attribute."""
Name: TypeAlias = Annotated[str, Wanted("the name of an attribute")]
Names: TypeAlias = Annotated[
    Annotated[list[str], Len(1), Published(listed({"type": "string"}, least=1, unique=True))] | str,
    Wanted("the name of an attribute, or a list of names"),
]
