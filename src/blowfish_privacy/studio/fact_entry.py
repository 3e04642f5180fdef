"""Known facts, the number of records and the rows of a person, as a form enters them into a file's plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, TypeAlias

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.errors import SpecError
from blowfish_privacy.studio.secret_choice import written
from blowfish_privacy.support.exact import exact

Body: TypeAlias = dict[str, Any]

MOST_FIELDS = 12
"""Counts of a table beyond which they are written into one field, not one for each."""
_DEFAULTS = {"size": "known", "rows_per_person": 1, "compensation": "anywhere"}


def with_fact(body: Body, fact: Mapping[str, Any]) -> Body:
    """Add a fact at the end."""
    changed = deepcopy(body)
    policy = changed["policy"]
    policy["known"] = [*(policy.get("known") or []), dict(fact)]
    return changed


def without_fact(body: Body, number: int) -> Body:
    """Take a fact away; without any, the file does not speak of them."""
    changed = deepcopy(body)
    policy = changed["policy"]
    policy["known"] = [fact for at, fact in enumerate(policy["known"]) if at != number]
    if not policy["known"]:
        del policy["known"]
    return changed


def with_option(body: Body, name: str, value: Any) -> Body:
    """State the size, the rows of a person or the compensation; what is the default is left out."""
    changed = deepcopy(body)
    policy = changed["policy"]
    if value == _DEFAULTS[name]:
        policy.pop(name, None)
    else:
        policy[name] = value
    return changed


def option_of(body: Body, name: str) -> Any:
    """Return the size, the rows of a person or the compensation."""
    return body["policy"].get(name, _DEFAULTS[name])


def cell_names(domain: Domain, names: Sequence[str], most: int = MOST_FIELDS) -> list[str]:
    """Name the first counts of a table, in the order in which a file lists them."""
    table = domain.project(names)
    return [", ".join(map(str, table.record(cell).values())) for cell in islice(table.cells(), most)]


def table_fact(domain: Domain, names: Sequence[str], counts: Sequence[str] | None) -> Body:
    """Write a table that everybody knows, with its counts or, if these are None, without."""
    if not names:
        raise SpecError("the table has no attribute.", hint="choose one or more.")
    fact: Body = {"marginal": list(names)}
    if counts is None:
        return fact
    wanted = domain.project(names).size
    if len(counts) != wanted:
        raise SpecError(f"the table has {wanted:,} counts, got {len(counts):,}.", hint="0 counts too.")
    return {**fact, "counts": [whole(count, "a count") for count in counts]}


def count_fact(domain: Domain, conditions: Mapping[str, Any], equals: str) -> Body:
    """Write a count that everybody knows: of the records with these values, and how many if that is stated."""
    chosen = {name: _choice(domain[name], given) for name, given in conditions.items() if given not in (None, "", [])}
    if not chosen:
        raise SpecError("the count has no condition.", hint="say which records are counted.")
    stated = equals.strip()
    return {"count": chosen, **({"equals": whole(stated, "the count")} if stated else {})}


def split_counts(text: str) -> list[str]:
    """Cut a pasted column of counts into its numbers."""
    return [part for part in re.split(r"[\s,;]+", text) if part]


def whole(text: object, what: str) -> int:
    """Read a whole number that is not negative."""
    said = str(text).strip()
    if not said.isascii() or not said.isdigit():
        raise SpecError(f"{what} must be a whole number.", hint="write it without separators, as in 16192.")
    return int(said)


def _choice(attribute: Attribute, given: Any) -> Any:
    """Read a condition: values from a list, or a number or a range of an ordered attribute as text."""
    if not attribute.ordered:
        return given[0] if len(given) == 1 else list(given)
    ends = [end for end in re.split(r"\s+to\s+|\s*\.\.\s*", str(given).strip()) if end]
    numbers = [written(exact(end, "a value", error=SpecError)) for end in ends]
    if len(numbers) > 2:
        raise SpecError("a range has two ends.", hint="write 17 to 25.")
    return numbers[0] if len(numbers) == 1 else numbers
