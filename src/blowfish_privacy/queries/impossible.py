"""Combinations of values that no record has, such as married children: written like conditions on records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from blowfish_privacy.domain import Attribute, Domain, Subset, choice_from_file, choice_to_file, read_box
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.limits import IMPOSSIBLE_CELLS, IMPOSSIBLE_COMBINATIONS

Condition: TypeAlias = Mapping[str, Any]
"""The values of some attributes that never meet: a choice for each, as in ``where``."""

_EXAMPLE = 'impossible=[{"age": (0, 14), "status": ["married"]}].'


@dataclass(frozen=True)
class TwoValues:
    """Two values in a list of a file: a range of an ordered attribute, else two categories. The domain tells."""

    written: list[Any]

    def read(self, attribute: Attribute) -> Any:
        """Read them as values of an attribute."""
        return choice_from_file(attribute, self.written)


def checked_impossible(impossible: object) -> tuple[Condition, ...]:
    """Return the conditions, or refuse them."""
    if impossible is None:
        return ()
    if isinstance(impossible, str | Mapping) or not isinstance(impossible, Sequence) or not impossible:
        raise QueryError(f"impossible combinations are a list of conditions, got {brief(impossible)}.", hint=_EXAMPLE)
    if len(impossible) > IMPOSSIBLE_COMBINATIONS:
        raise QueryError(
            f"at most {IMPOSSIBLE_COMBINATIONS:,} combinations may be impossible, got {len(impossible):,}.",
            hint="name several values at once.",
        )
    for condition in impossible:
        if not isinstance(condition, Mapping) or len(condition) < 2:
            raise QueryError(
                f"an impossible combination is a condition on at least two attributes, got {brief(condition)}.",
                hint=_EXAMPLE,
            )
    return tuple({checked_attribute(name): chosen for name, chosen in each.items()} for each in impossible)


def conditions_from_file(written: Sequence[Mapping[str, Any]]) -> list[Condition]:
    """Read the conditions of a file; what two values in a list mean is left to the domain."""
    return [{name: _from_file(chosen) for name, chosen in condition.items()} for condition in written]


def _from_file(chosen: Any) -> Any:
    if isinstance(chosen, Mapping):
        kind, values = next(iter(chosen.items()))
        return tuple(values) if kind == "range" else [tuple(v) if isinstance(v, list) else v for v in values]
    if not isinstance(chosen, list):
        return chosen
    if len(chosen) == 2 and not any(isinstance(part, list) for part in chosen):
        return TwoValues(chosen)
    return [tuple(part) if isinstance(part, list) else part for part in chosen]


def conditions_to_file(conditions: Sequence[Condition], own: Domain) -> list[dict[str, Any]]:
    """Write conditions such that they mean the same whatever the domain."""
    return [
        {name: choice_to_file(chosen) for name, chosen in _read(condition, own).items()} for condition in conditions
    ]


def _read(condition: Condition, own: Domain) -> dict[str, Any]:
    """Say what two values in a list mean; names that the domain does not have are left to the next check."""
    return {
        name: chosen.read(own[name])
        if isinstance(chosen, TwoValues) and own.resolves(name)
        else chosen.written
        if isinstance(chosen, TwoValues)
        else chosen
        for name, chosen in condition.items()
    }


def boxes_of(conditions: Sequence[Condition], own: Domain) -> tuple[dict[int, Subset], ...]:
    """Return the positions that never meet, by the number of their attribute, or say why a condition does not fit."""
    made = tuple(_box(condition, own) for condition in conditions)
    groups: dict[tuple[int, ...], list[dict[int, Subset]]] = {}
    for box in made:
        groups.setdefault(tuple(sorted(box)), []).append(box)
    for axes, group in groups.items():
        if impossible_cells(axes, group, own.shape).all():
            raise QueryError("every combination of values is impossible.", hint="leave some possible.")
    return made


def _box(condition: Condition, own: Domain) -> dict[int, Subset]:
    box = read_box(own, _read(condition, own), what="impossible", error=QueryError)
    if len(box) < 2:
        raise QueryError(
            f"impossible: {brief(', '.join(condition))}: a combination leaves out values of at least two attributes.",
            hint="values that an attribute never has are left out of its declaration.",
        )
    cells = prod(own[name].size for name in box)
    if cells > IMPOSSIBLE_CELLS:
        raise QueryError(
            f"impossible: {brief(', '.join(box))}: {cells:,} cells; at most {IMPOSSIBLE_CELLS:,} are supported.",
            hint="name fewer attributes at once.",
        )
    return {own.axis(name): subset for name, subset in box.items()}


def impossible_cells(
    axes: Sequence[int], conditions: Sequence[Mapping[int, Subset]], shape: Sequence[int]
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the impossible cells of the table of some attributes; each condition must be on all of them."""
    marked = np.zeros([shape[axis] for axis in axes], dtype=bool)
    for condition in conditions:
        marked[np.ix_(*([*condition[axis]] for axis in axes))] = True
    return marked
