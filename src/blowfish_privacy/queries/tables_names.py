"""How a table of a set names its attributes, some of them as ranges: ``[sex, {attribute: age, as: ranges}]``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Len

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, brief, brief_kind
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.file_forms import listed

_AS_RANGES = {
    "type": "object",
    "properties": {"attribute": {"type": "string"}, "as": {"const": "ranges"}},
    "required": ["attribute", "as"],
    "additionalProperties": False,
}
NAMES_SCHEMA = listed({"anyOf": [{"type": "string"}, _AS_RANGES]}, least=1, unique=True)
NAMES_FORM: TypeAlias = Annotated[list[str | dict[Literal["attribute", "as"], str]], Len(1)]

_EXAMPLE = '{"attribute": "age", "as": "ranges"}'


def read_names(names: object) -> tuple[tuple[str, ...], frozenset[str]]:
    """Read the attributes of a table, and which of them are asked for as ranges."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise QueryError(f"a table is a list of attributes, got {brief_kind(names)}.", hint='Tables([["age", "sex"]]).')
    read = [_name(entry) for entry in names]
    checked = tuple(name for name, _ in read)
    if len(set(checked)) < len(checked):
        raise QueryError(f"a table names an attribute twice: {', '.join(checked)}.", hint="name each once.")
    return checked, frozenset(name for name, marked in read if marked)


def _name(entry: Any) -> tuple[str, bool]:
    """Read an attribute, and whether it is asked for as ranges."""
    if not isinstance(entry, Mapping):
        return checked_attribute(entry), False
    if set(entry) != {"attribute", "as"} or entry["as"] != "ranges":
        raise QueryError(f"an attribute is named, or asked for as ranges; got {brief(entry)}.", hint=f"{_EXAMPLE}.")
    return checked_attribute(entry["attribute"]), True


def written_names(names: Sequence[str], ranges: Collection[str]) -> list[Any]:
    """Write what :func:`read_names` reads."""
    return [{"attribute": name, "as": "ranges"} if name in ranges else name for name in names]


def checked_range(domain: Domain, name: str) -> str:
    """Return an attribute that is asked for as ranges, or refuse it: its values must have an order."""
    if name not in domain or not domain[name].ordered:
        raise QueryError(
            f"{brief(name)} cannot be asked for as ranges: its values have no order.", hint="name it like the others."
        )
    return name
