"""Boxes: records whose values of some attributes lie in given sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from blowfish_privacy.domain.product import Domain
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import BlowfishError, DomainError, brief, nearest

Box: TypeAlias = Mapping[str, Subset]
"""The positions that a record must have to lie inside, by attribute; attributes that are not named do not matter."""


def read_box(domain: Domain, where: Mapping[str, Any], *, what: str, error: type[BlowfishError]) -> dict[str, Subset]:
    """Return a condition as positions; attributes of which every value is selected are dropped."""
    box: dict[str, Subset] = {}
    for name, chosen in where.items():
        if name not in domain:
            raise error(f"{what} names an unknown attribute {brief(name)}.", hint=nearest(str(name), domain))
        try:
            box[name] = domain[name].subset(chosen)
        except DomainError as problem:
            raise error(f"{what}: {name}: {problem.message}", hint=problem.hint) from None
        if not len(box[name]):
            raise error(f"{what} selects no value of {name}.", hint="leave it out.")
    return {name: subset for name, subset in box.items() if len(subset) < domain[name].size}
