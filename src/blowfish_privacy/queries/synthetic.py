"""Synthetic records: a made-up table that resembles the data in the tables that shall be accurate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod
from typing import Annotated, Any, TypeAlias

import numpy as np
from annotated_types import Interval, Len

from blowfish_privacy.domain import CHOICE_FORM, Domain, Subset, choice_from_file, choice_to_file, read_box
from blowfish_privacy.errors import QueryError, brief, brief_name, nearest
from blowfish_privacy.queries.query import Query, checked_attribute, named
from blowfish_privacy.queries.tables import Block, TablesForm
from blowfish_privacy.support.file_forms import Form, InSchema, Names, Several, Wanted, listed
from blowfish_privacy.support.limits import (
    IMPOSSIBLE_CELLS,
    IMPOSSIBLE_COMBINATIONS,
    SYNTHETIC_ATTRIBUTES,
    SYNTHETIC_VALUES,
    WORKLOAD_TABLES,
)

# Combinations of values that no record has, such as married children: written like conditions on records.

Condition: TypeAlias = Mapping[str, Any]
"""The values of some attributes that never meet: a choice for each, as in ``where``."""

_IMPOSSIBLE_EXAMPLE = 'impossible=[{"age": (0, 14), "status": ["married"]}].'


@dataclass(frozen=True)
class TwoValues:
    """Two values in a list of a file: a range of an ordered attribute, else two categories. The domain decides."""

    written: list[Any]


def checked_impossible(impossible: object) -> tuple[Condition, ...]:
    """Return the conditions, or refuse them."""
    if impossible is None:
        return ()
    if isinstance(impossible, str | Mapping) or not isinstance(impossible, Sequence) or not impossible:
        raise QueryError(
            f"impossible combinations are a list of conditions, got {brief(impossible)}.", hint=_IMPOSSIBLE_EXAMPLE
        )
    if len(impossible) > IMPOSSIBLE_COMBINATIONS:
        raise QueryError(
            f"at most {IMPOSSIBLE_COMBINATIONS:,} combinations may be impossible, got {len(impossible):,}.",
            hint="name several values at once.",
        )
    for condition in impossible:
        if not isinstance(condition, Mapping) or len(condition) < 2:
            raise QueryError(
                f"an impossible combination is a condition on at least two attributes, got {brief(condition)}.",
                hint=_IMPOSSIBLE_EXAMPLE,
            )
    return tuple({checked_attribute(name): chosen for name, chosen in each.items()} for each in impossible)


def _from_file(chosen: Any) -> Any:
    """Read a choice of a file; what two values in a list mean is left to the domain."""
    if isinstance(chosen, Mapping):
        kind, values = next(iter(chosen.items()))
        return tuple(values) if kind == "range" else [tuple(v) if isinstance(v, list) else v for v in values]
    if not isinstance(chosen, list):
        return chosen
    if len(chosen) == 2 and not any(isinstance(part, list) for part in chosen):
        return TwoValues(chosen)
    return [tuple(part) if isinstance(part, list) else part for part in chosen]


def _read(condition: Condition, own: Domain) -> dict[str, Any]:
    """Say what two values in a list mean; names that the domain does not have are left to the next check."""
    read = dict(condition)
    for name, chosen in condition.items():
        if isinstance(chosen, TwoValues):
            read[name] = choice_from_file(own[name], chosen.written) if own.resolves(name) else chosen.written
    return read


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


Workload: TypeAlias = int | tuple[tuple[str, ...], ...]
"""All tables of so many attributes, or these."""

MOST_WAYS = 4
"""The most attributes of a table that is to be accurate."""
_USUAL_WAYS = 3

_EXAMPLE = "{synthetic: [age, sex, region]}"
_NAMES_SCHEMA = listed({"type": "string"}, least=1, unique=True)
_ATTRIBUTES: TypeAlias = Annotated[
    Annotated[list[str], Len(2), InSchema(listed({"type": "string"}, least=2, unique=True))],
    Wanted("a list of at least two attributes", f"write {_EXAMPLE}."),
]
_WORKLOAD: TypeAlias = Annotated[
    Annotated[
        Annotated[int, Interval(ge=1, le=MOST_WAYS)] | Annotated[list[Annotated[list[str], Len(1, MOST_WAYS)]], Len(1)],
        InSchema(
            {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": MOST_WAYS},
                    listed({**_NAMES_SCHEMA, "maxItems": MOST_WAYS}, least=1),
                ]
            }
        ),
    ],
    Wanted(
        f"a whole number from 1 to {MOST_WAYS}, or a list of tables of 1 to {MOST_WAYS} attributes",
        "write workload: 2, or workload: [[age, sex], [age, region]].",
    ),
]
_CONDITION_EXAMPLE = "impossible: [{age: [0, 14], status: married}]"
_CONDITION = Several(dict, CHOICE_FORM, "attributes", _CONDITION_EXAMPLE, least=2)
_IMPOSSIBLE = Several(list, _CONDITION, "conditions", _CONDITION_EXAMPLE, least=1, most=IMPOSSIBLE_COMBINATIONS)

_CAUTIONS = {
    "Not people": "The records are made up from noisy tables. None stands for a person; one that looks like somebody "
    "does so by chance.",
    "Good for": "Trying things out: programs, models, questions that nobody thought of before. Counts of many records "
    "in tables of few attributes are close to those of the data.",
    "Not good for": "Rare combinations: what few people have may be missing here, and what nobody has may be here. "
    "Figures that a decision rests on: have those tables released themselves, with their errors.",
}
_KEPT = "the values are those of the data, row by row in another order; what stands beside them is made up."


@dataclass(frozen=True, init=False)
class Synthetic(Query):
    """Made-up records of some attributes, for questions that nobody asked yet: ``Synthetic(["age", "sex", "region"])``.

    ``workload`` says which tables shall be accurate: all of so many attributes (three, unless stated), or a list of
    them. ``impossible`` names combinations that no record has, ``[{"age": (0, 14), "status": ["married"]}]``; ``keep``
    names public attributes whose values the records keep as they are, row by row.
    """

    attributes: tuple[str, ...]
    workload: Workload
    # Conditions hold lists, which have no hash; queries that differ in them alone may share theirs.
    impossible: tuple[Condition, ...] = field(hash=False)
    keep: tuple[str, ...]

    keyword = "synthetic"
    file_form = Form(
        {"synthetic": _ATTRIBUTES},
        {"workload": _WORKLOAD, "impossible": _IMPOSSIBLE, "keep": Names},
        example=_EXAMPLE,
    )
    needs_records = True
    answer = "records"
    result = "synthetic"
    error_of = "a cell"
    changed = "the counts"
    counts_records = True
    instead_of_parts = "leave the condition out, and choose among the synthetic records afterwards."

    def __init__(
        self,
        attributes: Sequence[str],
        workload: int | Sequence[Sequence[str]] | None = None,
        *,
        impossible: Sequence[Mapping[str, Any]] | None = None,
        keep: Sequence[str] | None = None,
    ) -> None:
        object.__setattr__(self, "attributes", _checked_attributes(attributes))
        object.__setattr__(self, "workload", _checked_workload(workload, self.attributes))
        object.__setattr__(self, "impossible", checked_impossible(impossible))
        object.__setattr__(self, "keep", _checked_keep(keep, self.attributes))

    def on(self, domain: Domain) -> TablesForm:
        own = self.own_domain(domain)
        for name, size in zip(own.names, own.shape, strict=True):
            if size == 1:
                raise QueryError(f"{name} has one value only, which all records have.", hint="leave it out.")
            if size > SYNTHETIC_VALUES:
                raise QueryError(
                    f"{name} has {size:,} values; an attribute of synthetic records has at most {SYNTHETIC_VALUES:,}.",
                    hint="declare coarser ones, such as bins, or ask for a level of a hierarchy.",
                )
        self.boxes(domain)
        return TablesForm(own, tuple(Block((axis,)) for axis in range(len(own.names))))

    def tables(self) -> tuple[tuple[int, ...], ...]:
        """List the tables that shall be accurate: the numbers of their attributes among those of the query."""
        if isinstance(self.workload, int):
            return tuple(combinations(range(len(self.attributes)), self.workload))
        axes = {name: axis for axis, name in enumerate(self.attributes)}
        return tuple(tuple(sorted(axes[name] for name in names)) for names in self.workload)

    def kept(self) -> tuple[int, ...]:
        """List the attributes that are kept row by row, by their numbers."""
        return tuple(sorted(self.attributes.index(name) for name in self.keep))

    def boxes(self, domain: Domain) -> tuple[dict[int, Subset], ...]:
        """Return the impossible combinations: for some attributes, by their numbers, the positions that never meet."""
        own = self.own_domain(domain)
        boxes = tuple(_box(condition, own) for condition in self.impossible)
        groups: dict[tuple[int, ...], list[dict[int, Subset]]] = {}
        for box in boxes:
            groups.setdefault(tuple(sorted(box)), []).append(box)
        for axes, group in groups.items():
            if impossible_cells(axes, group, own.shape).all():
                raise QueryError("every combination of values is impossible.", hint="leave some possible.")
        return boxes

    def says(self) -> str:
        return f"Synthetic records of {named(self.attributes)}"

    @property
    def noun(self) -> str:
        return "synthetic records"

    def cautions(self) -> Mapping[str, str]:
        return _CAUTIONS if not self.keep else {**_CAUTIONS, "Kept as they are": f"{named(self.keep)}: {_KEPT}"}

    def amount(self, domain: Domain) -> str:
        return f"a table of made-up records with {len(self.attributes)} columns"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        tables = self.workload if isinstance(self.workload, int) else [list(names) for names in self.workload]
        written: dict[str, Any] = {"synthetic": list(self.attributes), "workload": tables}
        if self.impossible:
            own = self.own_domain(domain)
            read = (_read(condition, own) for condition in self.impossible)
            written["impossible"] = [{name: choice_to_file(v) for name, v in each.items()} for each in read]
        return {**written, "keep": list(self.keep)} if self.keep else written

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Synthetic:
        keep = entry.get("keep")
        return cls(
            entry["synthetic"],
            entry.get("workload"),
            impossible=[{name: _from_file(chosen) for name, chosen in each.items()} for each in entry["impossible"]]
            if "impossible" in entry
            else None,
            keep=[keep] if isinstance(keep, str) else keep,
        )


def _checked_attributes(attributes: object) -> tuple[str, ...]:
    """Return the attributes of the records, or refuse them."""
    if isinstance(attributes, str) or not isinstance(attributes, Sequence) or not attributes:
        raise QueryError(
            f"synthetic records need a list of attributes, got {brief(attributes)}.",
            hint='Synthetic(["age", "sex", "region"]).',
        )
    names = tuple(checked_attribute(name) for name in attributes)
    if len(names) == 1:
        raise QueryError(
            f"synthetic records have at least two attributes, got {brief(names[0])} alone.",
            hint="the counts of one attribute are a histogram.",
        )
    if len(set(names)) < len(names):
        raise QueryError(f"synthetic records name an attribute twice: {brief(', '.join(names))}.")
    if len(names) > SYNTHETIC_ATTRIBUTES:
        raise QueryError(
            f"synthetic records have at most {SYNTHETIC_ATTRIBUTES:,} attributes, got {len(names):,}.",
            hint="leave out those that are not needed together.",
        )
    return names


def _checked_workload(workload: object, attributes: tuple[str, ...]) -> Workload:
    """Return the tables that shall be accurate, or refuse them; unless stated, as large ones as are usual."""
    most = min(MOST_WAYS, len(attributes))
    if workload is None:
        ways = range(min(_USUAL_WAYS, most), 0, -1)
        return next(number for number in ways if comb(len(attributes), number) <= WORKLOAD_TABLES)
    if isinstance(workload, int) and not isinstance(workload, bool):
        if not 1 <= workload <= most:
            raise QueryError(f"a workload is of 1 to {most} attributes, got {brief(workload)}.", hint="workload=2.")
        _check_many(comb(len(attributes), workload))
        return workload
    if isinstance(workload, str) or not isinstance(workload, Sequence):
        raise QueryError(
            f"a workload is a whole number or a list of tables, got {brief(workload)}.",
            hint='workload=2, or workload=[["age", "sex"]].',
        )
    if not workload:
        raise QueryError("the workload is empty.", hint="leave it out, or name the tables that shall be accurate.")
    _check_many(len(workload))
    tables = tuple(_checked_table(names, attributes) for names in workload)
    seen: set[frozenset[str]] = set()
    for names in tables:
        if frozenset(names) in seen:
            raise QueryError(f"the workload has the table of {named(names)} twice.", hint="leave one out.")
        seen.add(frozenset(names))
    return tables


def _check_many(tables: int) -> None:
    if tables > WORKLOAD_TABLES:
        raise QueryError(
            f"a workload has at most {WORKLOAD_TABLES:,} tables, got {tables:,}.",
            hint="ask for smaller tables, or list those that matter.",
        )


def _checked_table(names: object, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes of one table of a workload, or refuse them."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not 1 <= len(names) <= MOST_WAYS:
        raise QueryError(
            f"a table of a workload is a list of 1 to {MOST_WAYS} attributes, got {brief(names)}.",
            hint='workload=[["age", "sex"]].',
        )
    checked = tuple(_among(name, attributes, "the workload") for name in [*map(checked_attribute, names)])
    if len(set(checked)) < len(checked):
        raise QueryError(f"a table of the workload names an attribute twice: {brief(', '.join(checked))}.")
    return checked


def _checked_keep(keep: object, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes that are kept row by row, or refuse them."""
    if keep is None:
        return ()
    if isinstance(keep, str) or not isinstance(keep, Sequence):
        raise QueryError(f"keep is a list of attributes, got {brief(keep)}.", hint='keep=["sex"].')
    names = tuple(_among(name, attributes, "keep") for name in keep)
    if len(set(names)) < len(names):
        raise QueryError(f"keep names an attribute twice: {brief(', '.join(names))}.")
    if len(names) == len(attributes):
        raise QueryError("all attributes would be kept, and nothing made up.", hint="they are public: publish them.")
    return names


def _among(name: object, attributes: tuple[str, ...], what: str) -> str:
    if name not in attributes:
        raise QueryError(
            f"{what} names {brief_name(name)}, which the records do not have.", hint=nearest(str(name), attributes)
        )
    return str(name)
