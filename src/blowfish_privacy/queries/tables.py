"""Sets of tables: the counts of several combinations of attributes at once, which agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Annotated, Any, Literal, Self, TypeAlias

from annotated_types import Ge, Len

from blowfish_privacy.domain import AT, Domain, Hierarchy
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.queries.query import Query, named
from blowfish_privacy.queries.tables_form import Block, TablesForm, View
from blowfish_privacy.queries.tables_names import NAMES_FORM, NAMES_SCHEMA, checked_range, read_names, written_names
from blowfish_privacy.support.exact import positive
from blowfish_privacy.support.file_forms import EXACT_SCHEMA, Form, Published, Wanted, listed

MOST_CELLS = 10_000_000
"""The largest table of a set."""
MOST_TABLES = 200_000
_MOST_TIMES, _FARTHEST = 1_000_000, 10**100

Objective: TypeAlias = Literal["worst", "mean"] | tuple[float, ...]
"""What is to be small: the error of the worst table, or the mean over all cells, or a sum with a weight per table."""

_EXAMPLE = "{tables: [[sex, race], [age, sex]]}"
_WAYS = "{tables: {ways: 2, of: [age, sex, race]}}"
_SCHEMA = {
    "anyOf": [
        listed(NAMES_SCHEMA, least=1),
        {
            "type": "object",
            "properties": {"ways": {"type": "integer", "minimum": 1}, "of": NAMES_SCHEMA},
            "required": ["ways", "of"],
            "additionalProperties": False,
        },
    ]
}
_TABLES: TypeAlias = Annotated[
    Annotated[
        Annotated[list[NAMES_FORM], Len(1)] | dict[Literal["ways", "of"], Annotated[int, Ge(1)] | NAMES_FORM],
        Published(_SCHEMA),
    ],
    Wanted("a list of lists of attributes, or {ways: 2, of: [..]}", f"write {_EXAMPLE}, or {_WAYS}."),
]
_OBJECTIVE: TypeAlias = Annotated[
    Annotated[
        Literal["worst", "mean"] | Annotated[list[int | float | str], Len(1)],
        Published({"anyOf": [{"enum": ["worst", "mean"]}, listed(EXACT_SCHEMA, least=1)]}),
    ],
    Wanted("worst, mean, or a list with a weight for each table"),
]


@dataclass(frozen=True, init=False)
class Tables(Query):
    """The counts of several sets of attributes, in one release: ``Tables([["sex", "race"], ["age", "sex"]])``.

    All tables agree: whatever two of them have in common, totals included, is the same in both. ``objective`` says
    what is to be small: ``"worst"``, the error of the worst table, ``"mean"``, the mean squared error of all cells, or
    a list with a weight for each table. An ordered attribute may be asked for as ranges, ``{"attribute": "age", "as":
    "ranges"}``: then sums over neighbouring values are to be accurate, in all tables that it is in.
    """

    tables: tuple[tuple[str, ...], ...]
    objective: Objective
    attributes: tuple[str, ...]
    ways: int | None
    """If the tables are all of so many of the attributes, how many; then this is how files write it."""
    ranges: frozenset[str]
    """Attributes of which ranges are asked for."""

    keyword = "tables"
    file_form = Form({"tables": _TABLES}, {"objective": _OBJECTIVE}, example=_EXAMPLE)
    answer = "tables"
    result = "tables"
    error_of = "a cell"
    changed = "the counts"
    counts_records = True

    def __init__(
        self,
        tables: Sequence[Sequence[str | Mapping[str, str]]],
        *,
        objective: Literal["worst", "mean"] | Sequence[Any] = "worst",
    ) -> None:
        if isinstance(tables, str) or not isinstance(tables, Sequence) or not tables:
            raise QueryError(f"a list of tables is needed, got {brief(tables)}.", hint='Tables([["age", "sex"]]).')
        read = [read_names(names) for names in tables]
        self._set(
            [names for names, _ in read], objective, None, frozenset(name for _, marked in read for name in marked)
        )

    def _set(self, tables: Sequence[tuple[str, ...]], objective: Any, ways: int | None, ranges: frozenset[str]) -> None:
        if len(tables) > MOST_TABLES:
            raise QueryError(f"a set has at most {MOST_TABLES:,} tables, got {len(tables):,}.")
        seen: set[frozenset[str]] = set()
        for names in tables:
            if frozenset(names) in seen:
                raise QueryError(f"the table of {named(names)} is asked for twice.", hint="leave one out.")
            seen.add(frozenset(names))
        object.__setattr__(self, "tables", tuple(tables))
        object.__setattr__(self, "attributes", _attributes(tables))
        object.__setattr__(self, "objective", _checked_objective(objective, len(tables)))
        object.__setattr__(self, "ways", ways)
        object.__setattr__(self, "ranges", ranges)

    @classmethod
    def of_ways(cls, ways: int, of: Sequence[str | Mapping[str, str]], *, objective: Any = "worst") -> Self:
        """Ask for the tables of every choice of so many of some attributes: ``Tables.of_ways(2, ["a", "b", "c"])``."""
        names, ranges = read_names(of)
        if not isinstance(ways, int) or isinstance(ways, bool) or not 1 <= ways <= len(names):
            raise QueryError(f"ways must be a whole number from 1 to {len(names)}, got {brief(ways)}.")
        if comb(len(names), ways) > MOST_TABLES:
            raise QueryError(f"a set has at most {MOST_TABLES:,} tables, got {comb(len(names), ways):,}.")
        made = cls.__new__(cls)
        made._set(list(combinations(names, ways)), objective, ways, ranges)
        # Combinations begin with the first names in turn, so the attributes are in the order given.
        return made

    def on(self, domain: Domain) -> TablesForm:
        """Bind to a domain."""
        own = self.own_domain(domain)
        axes = {name: axis for axis, name in enumerate(own.names)}
        views: list[View] = []
        for name in dict.fromkeys([*(name for names in self.tables for name in names), *_levels(own)]):
            if name not in axes:
                axes[name] = len(own.names) + len(views)
                views.append(_view(own, name))
        sizes, attributes = {name: own[name].size for name in axes}, {name: own.axis(name) for name in axes}
        for names in self.tables:
            if len({attributes[name] for name in names}) < len(names):
                own.axes(names)
            cells = prod([sizes[name] for name in names])
            if cells > MOST_CELLS:
                raise QueryError(
                    f"the table of {named(names)} would have {cells:,} cells; the most is {MOST_CELLS:,}.",
                    hint="leave an attribute out, or declare coarser ones.",
                )
        blocks = tuple(Block(tuple(axes[name] for name in names)) for names in self.tables)
        return TablesForm(own, blocks, tuple(views), frozenset(axes[checked_range(own, name)] for name in self.ranges))

    def says(self) -> str:
        """Say what is counted."""
        if len(self.tables) == 1:
            return f"How many records have each {named(self.tables[0])}"
        return f"{len(self.tables):,} tables of counts that agree, of {named(self.attributes)}"

    def amount(self, domain: Domain) -> str:
        """Say how many tables and cells there are."""
        many = f"{len(self.tables):,} tables of" if len(self.tables) > 1 else "a table of"
        return f"{many} {self.on(domain).outputs:,} cells"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{tables: [[..], ..]}``, or ``{tables: {ways: .., of: [..]}}``."""
        tables = [written_names(names, self.ranges) for names in self.tables]
        written: dict[str, Any] = {"tables": tables}
        if self.ways is not None:
            written = {"tables": {"ways": self.ways, "of": written_names(self.attributes, self.ranges)}}
        if self.objective == "worst":
            return written
        return {**written, "objective": self.objective if self.objective == "mean" else list(self.objective)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Tables:
        """Read what :meth:`to_file` writes."""
        tables, objective = entry["tables"], entry.get("objective", "worst")
        if not isinstance(tables, Mapping):
            return cls(tables, objective=objective)
        if set(tables) != {"ways", "of"} or not isinstance(tables["ways"], int):
            raise QueryError("tables of several ways need both ways and of.", hint=f"write {_WAYS}.")
        return cls.of_ways(tables["ways"], tables["of"], objective=objective)


def _attributes(tables: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """List the attributes that tables look at, each once: on the one level that is named, or else all its values."""
    named: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for names in tables for name in names):
        named.setdefault(name.rpartition(AT)[0] or name, set()).add(name)
    return tuple(next(iter(names)) if len(names) == 1 else attribute for attribute, names in named.items())


def _levels(own: Domain) -> list[str]:
    """List the coarser levels of the hierarchies among some attributes: their tables are free."""
    trees = [(name, own[name]) for name in own]
    return [f"{name}{AT}{level}" for name, tree in trees if isinstance(tree, Hierarchy) for level in tree.levels[:-1]]


def _view(own: Domain, name: str) -> View:
    """Look at an attribute on a level."""
    if not own.resolves(name):
        raise QueryError(f"{brief(name)} cannot be told from a level of another attribute.", hint="rename it.")
    positions = own.view(name)
    if positions is None:
        raise QueryError(f"there is no attribute {brief(name)}.")
    return View(name, own.axis(name), positions)


def _checked_objective(objective: Any, tables: int) -> Objective:
    if isinstance(objective, str) and objective in ("worst", "mean"):
        return objective
    if isinstance(objective, str) or not isinstance(objective, Sequence):
        raise QueryError(f"objective must be worst, mean or a list of weights, got {brief(objective)}.")
    if len(objective) != tables:
        raise QueryError(f"there are {tables:,} tables, but {len(objective):,} weights.", hint="give one for each.")
    weights = [positive(weight, "the weight of a table", error=QueryError) for weight in objective]
    if max(weights) > _MOST_TIMES * min(weights) or not 1 / _FARTHEST < min(weights) <= max(weights) < _FARTHEST:
        raise QueryError(
            f"the weights of tables are too large, too small, or differ by more than a factor of {_MOST_TIMES:,}.",
            hint="write them around 1, and leave out what hardly counts.",
        )
    return tuple(float(weight) for weight in weights)
