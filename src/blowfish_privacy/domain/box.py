"""Boxes: records whose values of some attributes lie in given sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from blowfish_privacy.domain.hierarchy import Level
from blowfish_privacy.domain.product import Domain
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import BlowfishError, DomainError, brief_name, nearest

Box: TypeAlias = Mapping[str, Subset]
"""The positions that a record must have to lie inside, by attribute; attributes that are not named do not matter."""


def read_box(domain: Domain, where: Mapping[str, Any], *, what: str, error: type[BlowfishError]) -> dict[str, Subset]:
    """Return a condition as positions; attributes of which every value is selected are dropped.

    A condition on a level of a hierarchy is one on the leaves below it.
    """
    box: dict[str, Subset] = {}
    for name, chosen in where.items():
        if not domain.resolves(name):
            raise error(f"{what} names an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))
        try:
            box = narrowed(domain, box, name, domain[name].subset(chosen))
        except DomainError as problem:
            raise error(f"{what}: {name}: {problem.message}", hint=problem.hint) from None
        if not len(box[domain.names[domain.axis(name)]]):
            raise error(f"{what} selects no value of {name}.", hint="leave it out.")
    return {name: subset for name, subset in box.items() if len(subset) < domain[name].size}


def narrowed(domain: Domain, box: Box, name: str, subset: Subset) -> dict[str, Subset]:
    """Keep the records inside a box whose values of an attribute, or of a level of one, lie in a set."""
    attribute, own = domain[name], domain.names[domain.axis(name)]
    leaves = attribute.leaves(subset) if isinstance(attribute, Level) and name != own else subset
    return {**box, own: leaves & box[own] if own in box else leaves}


def left(domain: Domain, box: Box, name: str) -> Subset:
    """Return the values of an attribute, or of a level of one, that records inside a box have."""
    own, view = domain.names[domain.axis(name)], domain.view(name)
    if own not in box:
        return Subset.span(0, domain[name].size)
    return box[own] if view is None else Subset.of(view[[*box[own]]].tolist())
