"""The interface of queries, and of the linear forms that they become on a domain.

A query is linear: each record adds something to each output, and it looks at some attributes only. Bound to a domain
it is a :class:`LinearForm` on the cells of those attributes. All arithmetic is on whole numbers: an output is a whole
number of ``unit``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import (
    CHOICE_FORM,
    Cell,
    Domain,
    Subset,
    choice_from_file,
    choice_to_file,
    left,
    quoted,
    read_box,
)
from blowfish_privacy.errors import DomainError, QueryError, RefusalError, brief, brief_name, nearest
from blowfish_privacy.graphs.graph import MOST_PAIRS, Edge, SecretGraph
from blowfish_privacy.support.file_forms import Names, Several, kind_of, register
from blowfish_privacy.support.limits import GROUPS

# Which records a release is about, and the groups it is made for.
#
# Every query takes both: ``Mean("wage").where(sex="Female").by("region")``. What is asked is then the query of the
# records that the condition selects, once for each group.

SELECTION_FORM = {
    "where": Several(dict, CHOICE_FORM, "attributes", "where: {age: [17, 25], sex: Female}", least=1),
    "by": Names,
}
"""What every query may say beside what it asks."""


@dataclass(frozen=True)
class Selection:
    """A condition on the records, and attributes whose values make groups of them; both may be empty."""

    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    by: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it looks at."""
        return tuple(dict.fromkeys([*self.where, *self.by]))

    def __bool__(self) -> bool:
        return bool(self.where or self.by)

    def box(self, domain: Domain) -> dict[str, Subset]:
        """Return the condition as positions."""
        return read_box(domain, self.where, what="where", error=QueryError) if self.where else {}

    def is_everything(self, domain: Domain) -> bool:
        """Say whether all records are selected, and make one group."""
        return not self.by and not self.box(domain)

    def groups(self, domain: Domain) -> Iterator[Cell]:
        """Go through the groups: positions of the attributes they are made by. Without any, all records are one."""
        box = self.box(domain)
        return product(*(left(domain, box, name) for name in self.by))

    def to_file(self) -> dict[str, Any]:
        """Write ``{where: {..}, by: [..]}``, without what is empty."""
        written: dict[str, Any] = {}
        if self.where:
            written["where"] = {name: choice_to_file(chosen) for name, chosen in self.where.items()}
        return {**written, "by": list(self.by)} if self.by else written

    @classmethod
    def from_file(cls, entry: Mapping[str, Any], domain: Domain) -> Selection:
        """Read what :meth:`to_file` writes beside a query."""
        chosen = entry.get("where", {}).items()
        where = {name: choice_from_file(domain[name], v) if domain.resolves(name) else v for name, v in chosen}
        by = entry.get("by", ())
        return cls(where, tuple(by) if isinstance(by, list | tuple) else (by,))

    def words(self, domain: Domain) -> str:
        """Say which records and which groups, worded to follow what is asked; nothing if all records are one."""
        named = domain.project(self.where) if self.where else domain
        chosen = self.box(named).items()
        conditions = [f"{quoted(name)} {domain[name].say_all(subset, _MOST_SHOWN)}" for name, subset in chosen]
        where = f", of the records with {' and '.join(conditions)}" if conditions else ""
        return where + (f", for each {' and '.join(map(quoted, self.by))}" if self.by else "")


ALL_RECORDS = Selection()
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Selected:
    """A query of some records, or of groups of them: what :meth:`Query.where` and :meth:`Query.by` return."""

    query: Query
    selection: Selection

    def where(self, condition: Mapping[str, Any] | None = None, /, **named: Any) -> Selected:
        """Select further: a record must satisfy this condition and those before it."""
        chosen = checked_condition(condition, named)
        twice = [name for name in chosen if name in self.selection.where]
        if twice:
            raise QueryError(f"there is a condition on {twice[0]} already.", hint="state it once.")
        return replace(self, selection=replace(self.selection, where={**self.selection.where, **chosen}))

    def weighted(self, weight: str) -> Selected:
        """Count every record that is selected as often as an attribute says."""
        return replace(self, query=self.query.weighted(weight))

    def by(self, *names: str) -> Selected:
        """Ask for each value of some attributes."""
        return replace(self, selection=replace(self.selection, by=checked_groups((*self.selection.by, *names))))


def checked_attribute(name: object) -> str:
    """Return the name of an attribute that something is asked about, or refuse it."""
    if not isinstance(name, str):
        raise QueryError(f"an attribute's name must be text, got {brief_name(name)}.")
    return name


def checked_condition(condition: object, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a condition by attribute, or refuse it."""
    if condition is not None and not isinstance(condition, Mapping):
        raise QueryError(f"a condition maps attributes to values, got {brief(condition)}.", hint='where(sex="Female").')
    chosen = {**(condition or {}), **named}
    if not chosen:
        raise QueryError("a condition needs at least one attribute.", hint='where(sex="Female", age=(17, 25)).')
    return {checked_attribute(name): choice for name, choice in chosen.items()}


def checked_groups(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes of groups, or refuse them."""
    if len(names) == 1 and isinstance(names[0], list | tuple):
        names = tuple(names[0])
    if not names or not all(isinstance(name, str) for name in names):
        raise QueryError("groups need the names of attributes, at least one.", hint='by("region", "sex").')
    if len(set(names)) < len(names):
        raise QueryError("groups name an attribute twice.")
    return tuple(checked_attribute(name) for name in names)


LARGEST_ANSWER = 2**61
"""Noise is below 2^62 in size, so an exact answer below this cannot overflow 64 bits when it is added."""
WEIGHABLE = "weights are for histograms, sums and means."
MOST_NUMBERS = 5_000_000
"""The largest matrix that is written out."""


class Query(ABC):
    """A question about a table, not yet tied to a domain."""

    keyword: ClassVar[str]
    """How the query is spelt in a policy file: ``{name: ages, histogram: [age], epsilon: 0.1}``."""
    file_form: ClassVar[Any]
    """The form of that spelling, further keys included; unless stated, anything may follow the keyword."""

    needs_records: ClassVar[bool] = False
    """Whether a plan needs the number of records, to divide by it or to choose a strategy."""
    answer: ClassVar[str] = "numbers"
    """The kind of answer that is asked for; mechanisms say which kinds they give."""
    result: ClassVar[str] = "vector"
    """The kind of result that shows the answer."""
    error_of: ClassVar[str] = "an output"
    """What a single number is called in statements about its error."""
    changed: ClassVar[str] = "the answer"
    """What a change of a secret affects, in words."""
    counts_records: ClassVar[bool] = False
    """Whether every output is a number of records."""
    adds_up: ClassVar[bool] = False
    """Whether every record is counted in exactly one output."""
    divided: ClassVar[bool] = False
    """Whether the answer is divided by the number of records."""
    divisor_measured: ClassVar[bool] = False
    """Whether the answer is divided by a number that gets noise too, so that its error is not known beforehand."""
    of_some: ClassVar[bool] = False
    """Whether there is an answer only if there are records."""
    instead_of_parts: ClassVar[str | None] = None
    """What to do instead, if the query cannot be released for each part of a table."""

    kinds: ClassVar[dict[str, type[Query]]] = {}
    """All kinds of queries that are defined, by keyword."""

    attributes: tuple[str, ...]

    def __init_subclass__(cls, **options: Any) -> None:
        """Register the subclass under its keyword."""
        super().__init_subclass__(**options)
        register(Query.kinds, cls)

    def says(self) -> str:
        """Say what is asked, for a reader who does not know the query."""
        return f"The {self.keyword} of {named(self.attributes)}"

    @property
    def noun(self) -> str:
        """What the answer is called in a sentence: the histogram of .., the sum of ..."""
        return self.keyword

    @property
    def subject(self) -> str:
        """What it is asked about, in a sentence: the histogram of .."""
        return ", ".join(self.attributes)

    @property
    def measured_in(self) -> str:
        """What its answers and their errors are counted in; nothing where they may stand for anything."""
        return "records"

    def cautions(self) -> Mapping[str, str]:
        """Say, under headings, what whoever uses the answer must know; for cards and download pages."""
        return {}

    def amount(self, domain: Domain) -> str:
        """Say how many numbers are released."""
        outputs = self.on(domain).outputs
        return f"{outputs:,} numbers" if outputs > 1 else "one number"

    def labels(self, domain: Domain) -> list[str] | None:
        """Name the outputs; None if they have no names."""
        return None

    @abstractmethod
    def on(self, domain: Domain) -> LinearForm:
        """Bind to a domain, or say why the query does not fit."""

    @abstractmethod
    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write the query in the form of a policy file for a domain."""

    @classmethod
    @abstractmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Query:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Query:
        """Read a query of whatever kind a policy file names."""
        query: Query = kind_of(Query.kinds, entry).from_file(entry)
        return query.weighted(entry["weight"]) if "weight" in entry else query

    weighted_kinds: ClassVar[dict[type[Query], Callable[[Any, str], Query]]] = {}
    """What asks the same of weighted records, by the kind of query."""

    def weighted(self, weight: str) -> Query:
        """Count every record as often as an attribute says: ``Histogram("age").weighted("w")``."""
        for kind in type(self).__mro__:
            if kind in Query.weighted_kinds:
                return Query.weighted_kinds[kind](self, weight)
        raise QueryError(f"a {self.noun} cannot be weighted.", hint=WEIGHABLE)

    @property
    def weighted_by(self) -> str | None:
        """The attribute that says how many a record stands for; None where each stands for one."""
        return None

    def unweighted(self) -> Query:
        """Return the query in which each record stands for one."""
        return self

    def where(self, condition: Mapping[str, Any] | None = None, /, **named: Any) -> Selected:
        """Ask it of some records only: ``Histogram("age").where(sex="Female", wage=(0, 20))``."""
        return Selected(self, Selection(where=checked_condition(condition, named)))

    def by(self, *names: str) -> Selected:
        """Ask it for each value of some attributes: ``Mean("wage").by("region")``."""
        return Selected(self, Selection(by=checked_groups(names)))

    def cells(self, domain: Domain) -> Domain:
        """Return the domain that has a cell for each output of a histogram: all attributes but a weight."""
        return self.own_domain(domain)

    def own_domain(self, domain: Domain) -> Domain:
        """Return the domain of the query's attributes, or of levels of them."""
        try:
            domain.axes(self.attributes)
            return domain.project(self.attributes)
        except DomainError as error:
            raise QueryError(error.message, hint=error.hint) from None


@dataclass(frozen=True)
class OfAttribute(Query):
    """A query of one attribute, which a policy file names after the keyword."""

    attribute: str
    attributes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", (checked_attribute(self.attribute),))

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {self.keyword: self.attribute}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Query:
        return cls(entry[cls.keyword])


class Pattern(Enum):
    """How the outputs of a linear form depend on the cell, if there is more structure than the columns show."""

    CELLS = "every cell has an output of its own"
    RANKS = "outputs count the positions of one attribute up to the cell"
    LINE = "one output grows by as many units with every position of one attribute"
    ANY = "as the columns say"


class LinearForm(ABC):
    """A linear map on the cells of a domain: cell x adds the column W_x to the outputs."""

    domain: Domain
    unit: Fraction = Fraction(1)
    pattern: ClassVar[Pattern] = Pattern.ANY

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of outputs."""

    @abstractmethod
    def column(self, x: Cell) -> Sequence[int]:
        """Return what a record of value x adds to each output, in units."""

    @abstractmethod
    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Return an edge with the largest change, and whether it is known to be the largest."""

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Return an edge, a bound on the squared change along any, and whether that edge attains it."""
        size = self.domain.size
        if size * (size - 1) // 2 > MOST_PAIRS:
            raise QueryError(
                f"a query over {size:,} cells is too large to compare the squared changes of all secret pairs.",
                hint="ask for Laplace noise, or for fewer cells.",
            )
        worst = max(graph.edges(), key=lambda edge: self.squared_change(*edge), default=None)
        return worst, Fraction(0) if worst is None else self.squared_change(*worst), True

    @abstractmethod
    def heaviest(self) -> Cell:
        """Return a cell with the largest weight, for policies in which records are added and removed."""

    def largest_squared_weight(self) -> Fraction:
        """Bound the squared change of the outputs when any record is added or removed."""
        return max((self.squared_weight(cell) for cell in self.domain.cells()), default=Fraction(0))

    @abstractmethod
    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Compute the exact outputs, in units, from the counts of all cells."""

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return the total change of the outputs when a record moves: the L1 norm of W_x - W_y."""
        return self.unit * sum(abs(a - b) for a, b in zip(self.column(x), self.column(y), strict=True))

    def weight(self, x: Cell) -> Fraction:
        """Return the total change of the outputs when a record is added or removed: the L1 norm of W_x."""
        return self.unit * sum(abs(a) for a in self.column(x))

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        """Return the sum of the squared changes of the outputs when a record moves, in squares of what they count."""
        return self.unit**2 * sum((a - b) ** 2 for a, b in zip(self.column(x), self.column(y), strict=True))

    def squared_weight(self, x: Cell) -> Fraction:
        """Return the sum of the squared changes of the outputs when a record is added or removed."""
        return self.unit**2 * sum(a**2 for a in self.column(x))

    def net_change(self, net: Mapping[Cell, int]) -> int:
        """Return the total change of the outputs, in units, when the cells gain or lose these numbers of records."""
        outputs = [0] * self.outputs
        for cell, count in net.items():
            if count:
                outputs = [a + count * b for a, b in zip(outputs, self.column(cell), strict=True)]
        return sum(map(abs, outputs))

    def as_matrix(self) -> npt.NDArray[np.int64]:
        """Return all columns side by side, in units; refused if the matrix is too large."""
        if self.outputs * self.domain.size > MOST_NUMBERS:
            raise RefusalError(
                f"a query of {self.outputs:,} outputs over {self.domain.size:,} values is too large to write out.",
                hint="ask for fewer outputs, or query fewer values.",
            )
        return np.array([self.column(cell) for cell in self.domain.cells()], dtype=np.int64).T


class OrderedForm(LinearForm):
    """A linear form whose changes and weights are in the same order as their squares: what is largest is so in both."""

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        edge, is_worst = self.worst_edge(graph)
        return edge, Fraction(0) if edge is None else self.squared_change(*edge), is_worst

    def largest_squared_weight(self) -> Fraction:
        return self.squared_weight(self.heaviest())


class CountingForm(OrderedForm):
    """A linear form whose outputs each count a record once or not: squares of changes are the changes themselves."""

    def squared_change(self, x: Cell, y: Cell) -> Fraction:
        return self.change(x, y)

    def squared_weight(self, x: Cell) -> Fraction:
        return self.weight(x)


def named(attributes: Sequence[str]) -> str:
    """Write a list of attributes for use inside a sentence."""
    *others, last = map(quoted, attributes)
    return f"{', '.join(others)} and {last}" if others else last


def some_edge(graph: SecretGraph) -> Edge | None:
    """Return any edge of a graph; None if it has none."""
    return next((edge for name in graph.domain if (edge := graph.widest_edge(name)) is not None), None)


# What is asked: a query, of all records or of some, once or for each of several groups.

Asked: TypeAlias = Query | Selected


def split(asked: object) -> tuple[Query, Selection]:
    """Return the query, and of which records it is asked."""
    if isinstance(asked, Selected):
        return asked.query, asked.selection
    if isinstance(asked, Query):
        return asked, ALL_RECORDS
    raise QueryError(f"a query is needed, got {brief(asked)}.", hint='Histogram("age"), for example.')


def looked_at(asked: Asked) -> tuple[str, ...]:
    """Return the attributes that an answer depends on."""
    query, selection = split(asked)
    return tuple(dict.fromkeys([*selection.attributes, *query.attributes]))


def joined(query: Query, selection: Selection) -> Asked:
    """Return what :func:`split` takes apart."""
    return Selected(query, selection) if selection else query


def read_asked(entry: Mapping[str, Any], domain: Domain) -> Asked:
    """Read a query of a policy file, with its condition and its groups."""
    return joined(Query.read(entry), Selection.from_file(entry, domain))


def check_asked(query: Query, selection: Selection, domain: Domain) -> None:
    """Refuse what the domain does not have, groups by what the query itself looks at, and too many groups."""
    query.on(domain)
    box = selection.box(domain)
    if len(set(selection.by)) < len(selection.by):
        raise QueryError("groups name an attribute twice.")
    looked_at = domain.axes(query.attributes)
    for name in selection.by:
        if not domain.resolves(name):
            raise QueryError(f"by names an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))
        if domain.axis(name) in looked_at:
            raise QueryError(f"the query looks at {name}, which is the same within each group.")
    if selection and query.instead_of_parts is not None:
        raise QueryError(f"a {query.keyword} of some records only is not available.", hint=query.instead_of_parts)
    if len(set(map(domain.axis, selection.by))) < len(selection.by):
        raise QueryError("groups name two levels of one attribute.", hint="name the lower one.")
    many = prod(len(left(domain, box, name)) for name in selection.by)
    if many > GROUPS:
        raise QueryError(
            f"a release has at most {GROUPS:,} groups, got {many:,}.",
            hint="choose some with where, or declare coarser values.",
        )


def asked_to_file(query: Query, selection: Selection, domain: Domain) -> dict[str, Any]:
    """Write what :func:`read_asked` reads."""
    return {**query.to_file(domain), **selection.to_file()}
