"""Facts about the data that everybody knows, and whether several of them can be true together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import prod
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain import (
    CHOICE_FORM,
    Box,
    Domain,
    Subset,
    choice_from_file,
    choice_to_file,
    quoted,
    read_box,
    worded,
)
from blowfish_privacy.errors import PolicyError, RefusalError, brief, brief_name, located, nearest
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.support.file_forms import Form, InSchema, Names, OneOf, Several, Wanted, kind_of, register
from blowfish_privacy.support.limits import MARGINAL_CELLS, RECORDS

# How a fact that everybody knows is spelt in a policy file.
#
# A fact of one's own is a :class:`KnownCount` or a :class:`KnownMarginal` with a keyword and a form of its own.

_MOST_SHOWN = 6
COUNT_FORM: TypeAlias = Annotated[int, Interval(ge=0, le=RECORDS)]


class Fact(ABC):
    """A part of a policy file about the number of records."""

    keyword: ClassVar[str]
    """How the fact is spelt: ``{marginal: [sex]}``."""
    file_form: ClassVar[Any]
    """The form of that spelling, further keys included; unless stated, anything may follow the keyword."""
    kinds: ClassVar[dict[str, type[Fact]]] = {}
    """Every kind of fact that is defined, by its keyword."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a kind of fact known by its keyword."""
        super().__init_subclass__(**options)
        register(Fact.kinds, cls)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @abstractmethod
    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write the fact as it stands in a policy file for a domain."""

    @classmethod
    @abstractmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> Fact:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, body: Mapping[str, Any], domain: Domain) -> Fact:
        """Read a fact of whatever kind a policy file names."""
        return kind_of(Fact.kinds, body).from_file(body, domain)


FACT_FORM = OneOf("KnownFact", Fact.kinds, "a known fact", "{marginal: [sex]}, or {count: {age: [17, 25]}}")


# The number of records that satisfy a condition, assumed to be known to everybody.


@dataclass(frozen=True)
class CountedBox:
    """The number of records inside a box; None if everybody knows it but the policy does not state it."""

    box: Box
    count: int | None


class KnownCount(Fact):
    """The number of records that satisfy a condition: ``KnownCount(where={"age": (17, 25), "sex": "F"}, count=1234)``.

    A pair is an inclusive range, a list a set of values. The count may be omitted: the noise depends mainly on
    *what* is known.
    """

    keyword = "count"
    file_form = Form(
        {"count": Several(dict, CHOICE_FORM, "attributes", "count: {age: [17, 25], sex: Female}", least=1)},
        {"equals": Annotated[COUNT_FORM | None, Wanted("a whole number from 0 to 2^53")]},
        example="{count: {age: [17, 25]}, equals: 1234}",
    )

    def __init__(self, where: Mapping[str, Any], count: int | None = None) -> None:
        if not isinstance(where, Mapping) or not where:
            raise PolicyError(f"a known count needs a condition, got {brief(where)}.", hint="where={'age': (17, 25)}.")
        self.where: dict[str, Any] = deepcopy(dict(where))
        self.count: int | None = None if count is None else checked_count(count)

    def __repr__(self) -> str:
        return f"KnownCount(where={self.where!r}, count={self.count})"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the condition names."""
        return tuple(self.where)

    def box(self, domain: Domain) -> dict[str, Subset]:
        """Return the condition as positions; attributes of which every value is selected are dropped."""
        for name in self.where:
            if name not in domain and domain.resolves(name):
                raise PolicyError(
                    f"a known count names a level: {name}.", hint="list the values of the attribute that lie below it."
                )
        return read_box(domain, self.where, what="a known count", error=PolicyError)

    def counted(self, domain: Domain) -> Iterator[CountedBox]:
        """Yield the single box and its count."""
        yield CountedBox(self.box(domain), self.count)

    def words(self, domain: Domain, *, whole: bool = False) -> str:
        """Put the fact into words; long lists of values are cut short unless the ``whole`` is asked for."""
        choices = [f"{quoted(name)} {_show_choice(domain, name, self.where[name], whole=whole)}" for name in self.where]
        stated = "" if self.count is None else f" ({self.count:,})"
        return f"how many records have {' and '.join(choices)}{stated}"

    def canonical(self, domain: Domain) -> Any:
        """Return the selected positions and the count as plain JSON values."""
        selected: dict[str, Any] = {}
        for name, subset in sorted(self.box(domain).items(), key=lambda item: item[0]):
            attribute = domain[name]
            if attribute.ordered:
                selected[name] = [list(run) for run in subset.runs]
            else:
                selected[name] = sorted(repr(attribute.value(position)) for position in subset)
        return {"count": selected, "equals": self.count}

    def to_file(self, domain: Domain) -> dict[str, Any]:
        written: dict[str, Any] = {"count": {name: choice_to_file(chosen) for name, chosen in self.where.items()}}
        return written if self.count is None else {**written, "equals": self.count}

    @classmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> KnownCount:
        where = {n: choice_from_file(domain[n], v) if n in domain else v for n, v in body["count"].items()}
        return cls(where, body.get("equals"))


def checked_count(value: Any) -> int:
    """Return a stated count as an int, or refuse it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= int(value) <= RECORDS:
        raise PolicyError(f"a known count must be a whole number from 0 to 2^53, got {brief(value)}.")
    return int(value)


def _show_choice(domain: Domain, name: str, chosen: Any, *, whole: bool) -> str:
    if isinstance(chosen, tuple):
        return f"from {chosen[0]} to {chosen[1]}"
    attribute = domain[name]
    if isinstance(chosen, list | set | frozenset | range):
        subset = attribute.subset(chosen)
        if whole or not attribute.ordered:
            return attribute.say_all(subset, len(subset) if whole else _MOST_SHOWN)
        shown = [*map(attribute.say, islice(subset, _MOST_SHOWN + 1))]
        return " or ".join(shown[:_MOST_SHOWN]) + (" or .." if len(shown) > _MOST_SHOWN else "")
    return str(chosen) if attribute.ordered else worded(str(chosen))


# The number of records for every combination of values of some attributes, assumed to be known to everybody.

_NESTED = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": RECORDS}, {"type": "array"}]}
_COUNTS: TypeAlias = Annotated[
    Annotated[list[COUNT_FORM | list[Any]], Len(1), InSchema({"type": "array", "items": _NESTED, "minItems": 1})]
    | Annotated[dict[Any, COUNT_FORM], Len(1)]
    | None,
    Wanted("whole numbers from 0 to 2^53, in the order declared or by value", "write counts: [16192, 32650]."),
]


class KnownMarginal(Fact):
    """The number of records for every combination of values of some attributes: ``KnownMarginal("sex", counts=..)``.

    ``counts`` is a mapping from value (or tuple of values) to count, or a list in the domain's order, nested for
    several attributes. It may be omitted.
    """

    keyword = "marginal"
    file_form = Form(
        {"marginal": Names},
        {"counts": _COUNTS},
        example="{marginal: [sex], counts: [16192, 32650]}",
    )

    def __init__(self, *attributes: str, counts: Any = None) -> None:
        if not attributes or not all(isinstance(name, str) for name in attributes):
            raise PolicyError(f"a known marginal needs the names of its attributes, got {brief(attributes)}.")
        if len(set(attributes)) < len(attributes):
            raise PolicyError(f"a known marginal names an attribute twice: {', '.join(attributes)}.")
        self.attributes: tuple[str, ...] = tuple(attributes)
        # A pandas Series, such as value_counts() gives, says which count is whose; an array is in the declared order.
        listed = counts.to_dict() if hasattr(counts, "to_dict") else counts
        self.given: Any = listed.tolist() if hasattr(listed, "tolist") else deepcopy(listed)

    def __repr__(self) -> str:
        return f"KnownMarginal({', '.join(map(repr, self.attributes))}, counts={self.given!r})"

    def projected(self, domain: Domain) -> Domain:
        """Return the domain of the marginal's attributes."""
        for name in self.attributes:
            if name not in domain:
                raise PolicyError(
                    f"a known marginal names an unknown attribute {brief_name(name)}.", hint=nearest(name, domain)
                )
        marginal = domain.project(self.attributes)
        if marginal.size > MARGINAL_CELLS:
            names = ", ".join(self.attributes)
            raise PolicyError(
                f"the marginal of {names} has {marginal.size:,} cells; at most {MARGINAL_CELLS:,} are supported.",
                hint="declare coarser values, for example bins.",
            )
        return marginal

    def counts(self, domain: Domain) -> tuple[int, ...] | None:
        """Return the counts, one for each cell of the marginal in the domain's order; None if they are not stated."""
        marginal = self.projected(domain)
        if self.given is None:
            return None
        if isinstance(self.given, Mapping):
            return _from_mapping(marginal, self.given)
        flat = _flatten(self.given, marginal.shape)
        if flat is None:
            shape = " x ".join(map(str, marginal.shape))
            raise PolicyError(f"the counts of the marginal of {', '.join(self.attributes)} must be a list of {shape}.")
        return tuple(checked_count(count) for count in flat)

    def summed(self, domain: Domain, names: Sequence[str]) -> npt.NDArray[np.object_] | None:
        """Sum the stated counts over the attributes that are not named; the others come in the order of the names."""
        counts = self.counts(domain)
        if counts is None:
            return None
        table = np.array(counts, dtype=object).reshape(self.projected(domain).shape)
        kept = [name for name in self.attributes if name in names]
        sums = table.sum(axis=tuple(axis for axis, name in enumerate(self.attributes) if name not in names))
        return sums.transpose([kept.index(name) for name in names])

    def counted(self, domain: Domain) -> Iterator[CountedBox]:
        """Yield every cell as a box with its count."""
        marginal = self.projected(domain)
        counts = self.counts(domain)
        for number, cell in enumerate(marginal.cells()):
            positions = zip(marginal.names, cell, strict=True)
            box = {name: Subset.of([position]) for name, position in positions if marginal[name].size > 1}
            yield CountedBox(box, None if counts is None else counts[number])

    def words(self, domain: Domain, *, whole: bool = False) -> str:
        """Put the fact into words, with its counts if they are few; the ``whole`` of it says where the others are."""
        counts = self.counts(domain)
        marginal = self.projected(domain)
        stated = ""
        if counts is not None and len(counts) <= 6:
            cells = (f"{marginal.say(cell)}: {count:,}" for cell, count in zip(marginal.cells(), counts, strict=True))
            stated = f" ({', '.join(cells)})"
        elif counts is not None and whole:
            stated = f" ({len(counts):,} counts, in the document)"
        return f"how many records have each {' and '.join(map(quoted, self.attributes))}{stated}"

    def canonical(self, domain: Domain) -> Any:
        """Return the counts by value, so that the order of attributes and categories does not matter."""
        alphabetical = domain.project(sorted(self.attributes))
        counts = self.counts(domain)
        if counts is None:
            return {"marginal": list(alphabetical.names), "counts": None}
        marginal = self.projected(domain)
        by_cell = {
            tuple(repr(marginal.record(cell)[name]) for name in alphabetical.names): count
            for cell, count in zip(marginal.cells(), counts, strict=True)
        }
        return {
            "marginal": list(alphabetical.names),
            "counts": [[*cell, count] for cell, count in sorted(by_cell.items())],
        }

    def to_file(self, domain: Domain) -> dict[str, Any]:
        counts = self.counts(domain)
        return {"marginal": list(self.attributes), **({} if counts is None else {"counts": list(counts)})}

    @classmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> KnownMarginal:
        names = body["marginal"] if isinstance(body["marginal"], list) else [body["marginal"]]
        return cls(*names, counts=body.get("counts"))


def _from_mapping(marginal: Domain, given: Mapping[Any, Any]) -> tuple[int, ...]:
    counts: dict[int, int] = {}
    for key, count in given.items():
        values = key if isinstance(key, tuple) else (key,)
        if len(values) != len(marginal.names):
            raise PolicyError(f"{brief(key)} does not give a value for each of {', '.join(marginal.names)}.")
        with located("known marginal", PolicyError):
            cell = marginal.cell(dict(zip(marginal.names, values, strict=True)))
        if marginal.flat(cell) in counts:
            raise PolicyError(f"the known marginal gives two counts for {marginal.show(cell)}.")
        counts[marginal.flat(cell)] = checked_count(count)
    if len(counts) < marginal.size:
        stray = next(number for number in range(marginal.size) if number not in counts)
        raise PolicyError(
            f"the known marginal gives no count for {marginal.show(marginal.unflat(stray))}.",
            hint="give every count, 0 included.",
        )
    return tuple(counts[number] for number in range(marginal.size))


def _flatten(counts: Any, shape: Sequence[int]) -> list[Any] | None:
    if not isinstance(counts, list | tuple):
        return None
    if len(shape) == 1 or (len(counts) == prod(shape) and not any(isinstance(c, list | tuple) for c in counts)):
        return list(counts) if len(counts) == prod(shape) else None
    rows = [row for row in (_flatten(part, shape[1:]) for part in counts) if row is not None]
    return [count for row in rows for count in row] if len(rows) == len(counts) == shape[0] else None


KnownFact: TypeAlias = KnownCount | KnownMarginal


# What neighbouring tables are assumed to have in common: the part of a policy that the known-facts code works with.

Compensation: TypeAlias = Literal["anywhere", "secret-moves"]


class Assumptions(Protocol):
    """The part of a policy that decides which records move together."""

    @property
    def domain(self) -> Domain:
        """The values that a record can have."""
        ...

    @property
    def graph(self) -> SecretGraph:
        """The secret graph: which pairs of values are secret."""
        ...

    @property
    def known(self) -> Sequence[KnownFact]:
        """The facts about the data that everybody knows."""
        ...

    @property
    def compensation(self) -> Compensation:
        """How other records may move to keep the known facts true."""
        ...

    @property
    def records(self) -> int | None:
        """The number of records, if it is known."""
        ...


def fact_names(known: Sequence[KnownFact]) -> set[str]:
    """Collect the attributes that facts mention."""
    return {name for fact in known for name in fact.attributes}


def relevant_domain(policy: Assumptions, names: tuple[str, ...]) -> Domain:
    """Return the domain of some attributes and of those that a known fact looks at."""
    if any(name not in policy.domain for name in names):
        raise RefusalError(
            "with known facts, a level of a hierarchy is not available.", hint="ask for its lowest level, and add up."
        )
    kept = {*names} | fact_names(policy.known)
    return policy.domain.project([name for name in policy.domain if name in kept])


# Whether known facts contradict each other, or the number of records.
#
# Pairs of facts are compared first, because they give the clearest message. Then a linear program checks all stated
# counts together: is there any table, with fractional counts allowed, that satisfies them? Values that are counted by
# the same facts share one unknown. Facts that cut the domain into too many pieces for that are only compared in pairs.

_MOST_PAIRWISE = 200
_MOST_PIECES = 20_000


def check_facts(domain: Domain, known: Sequence[KnownFact], stated_size: int | None) -> int | None:
    """Refuse facts that contradict each other; return the number of records if it follows from them."""
    size = _total(domain, known, stated_size)
    for fact in known:
        for counted in [] if isinstance(fact, KnownMarginal) else fact.counted(domain):
            if size is not None and counted.count is not None and counted.count > size:
                raise contradiction(f"{fact.words(domain)} exceeds the number of records, {size:,}")
    if len(known) <= _MOST_PAIRWISE:
        for first, second in combinations(known, 2):
            match first, second:
                case KnownMarginal(), KnownMarginal():
                    _check_marginals(domain, first, second)
                case KnownCount(), KnownCount():
                    _check_counts(domain, first, second, size)
                case KnownMarginal(), KnownCount():
                    _check_mixed(domain, first, second)
                case KnownCount(), KnownMarginal():
                    _check_mixed(domain, second, first)
    if len(known) > 2 or len({type(fact) for fact in known}) > 1:
        _check_together(domain, known, size)
    return size


def _check_together(domain: Domain, known: Sequence[KnownFact], size: int | None) -> None:
    stated = [counted for fact in known for counted in fact.counted(domain) if counted.count is not None]
    if len(stated) < 3:
        return
    members = _pieces(domain, stated)
    if members is None:
        return
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    pieces, rows, columns = members
    rows, columns = [*rows, *([len(stated)] * pieces)], [*columns, *range(pieces)]
    counts = [float(counted.count or 0) for counted in stated] + [float(size or 0)]
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(stated) + 1, pieces))
    used = slice(None) if size is not None else slice(0, len(stated))
    solved = linprog(np.zeros(pieces), A_eq=table[used], b_eq=counts[used], bounds=(0, None), method="highs")
    if solved.status == 2:
        raise contradiction("no table satisfies all of them together")


def _pieces(domain: Domain, stated: Sequence[CountedBox]) -> tuple[int, list[int], list[int]] | None:
    """Cut the domain into pieces, and list which fact counts which piece; None if there are too many pieces."""
    names = sorted({name for counted in stated for name in counted.box})
    cuts: list[list[int]] = []
    pieces = 1
    for name in names:
        ends = {0, *(end for c in stated if name in c.box for run in c.box[name].runs for end in run)}
        cuts.append(sorted(end for end in ends if end < domain[name].size))
        pieces *= len(cuts[-1])
        if pieces > _MOST_PIECES or pieces * len(stated) > 50 * _MOST_PIECES:
            return None
    rows: list[int] = []
    columns: list[int] = []
    for piece, cell in enumerate(product(*cuts)):
        positions = dict(zip(names, cell, strict=True))
        for fact, counted in enumerate(stated):
            if all(positions[name] in subset for name, subset in counted.box.items()):
                rows.append(fact)
                columns.append(piece)
    return pieces, rows, columns


def inside(inner: Box, outer: Box) -> bool:
    """Say whether one box lies inside another."""
    return all(name in inner and inner[name] <= subset for name, subset in outer.items())


def disjoint(one: Box, other: Box) -> bool:
    """Say whether two boxes share no value."""
    return any(name in other and not len(subset & other[name]) for name, subset in one.items())


def contradiction(problem: str) -> PolicyError:
    """Build the error of facts that no table satisfies."""
    return PolicyError(f"known facts contradict each other: {problem}.", hint="check the counts in the policy.")


def _total(domain: Domain, known: Sequence[KnownFact], stated: int | None) -> int | None:
    totals = [] if stated is None else [(stated, "the stated size")]
    for fact in known:
        if isinstance(fact, KnownMarginal):
            counts = fact.counts(domain)
            if counts is not None:
                totals.append((sum(counts), f"the marginal of {', '.join(fact.attributes)}"))
        elif not fact.box(domain) and fact.count is not None:
            totals.append((fact.count, "a count of everybody"))
    for total, name in totals[1:]:
        if total != totals[0][0]:
            raise contradiction(f"{totals[0][1]} implies {totals[0][0]:,} records, but {name} implies {total:,}")
    return totals[0][0] if totals else None


def _check_marginals(domain: Domain, first: KnownMarginal, second: KnownMarginal) -> None:
    shared = [name for name in first.attributes if name in second.attributes]
    one, other = (fact.summed(domain, shared) if shared else None for fact in (first, second))
    if one is None or other is None:
        return
    for cell in map(tuple, np.argwhere(one != other).tolist()):
        where = domain.project(shared).show(cell)
        raise contradiction(f"two marginals disagree on {where}: {one[cell]:,} and {other[cell]:,}")


def _check_mixed(domain: Domain, marginal: KnownMarginal, fact: KnownCount) -> None:
    if marginal.given is None or fact.count is None:
        return
    box = fact.box(domain)
    least = most = 0
    for counted in marginal.counted(domain):
        if not disjoint(counted.box, box):
            most += counted.count or 0
            least += (counted.count or 0) if inside(counted.box, box) else 0
    if not least <= fact.count <= most:
        must = f"{least:,}" if least == most else f"between {least:,} and {most:,}"
        raise contradiction(f"{fact.words(domain)} must be {must} by the marginal of {', '.join(marginal.attributes)}")


def _check_counts(domain: Domain, first: KnownCount, second: KnownCount, size: int | None) -> None:
    if first.count is None or second.count is None:
        return
    one, other = first.box(domain), second.box(domain)
    pair = f"{first.words(domain)} and {second.words(domain)}"
    first_more = inside(one, other) and first.count > second.count
    if first_more or (inside(other, one) and second.count > first.count):
        raise contradiction(f"{pair}: one condition is part of the other but has the larger count")
    if size is not None and disjoint(one, other) and first.count + second.count > size:
        raise contradiction(f"{pair} have nobody in common but add up to more than the {size:,} records")
    if size is not None and _cover(domain, one, other) and first.count + second.count < size:
        raise contradiction(f"{pair} cover everybody but add up to fewer than the {size:,} records")


def _cover(domain: Domain, one: Box, other: Box) -> bool:
    """Say whether two boxes cover the domain: both must then cut the same single attribute."""
    if not one or not other:
        return True
    if len(one) != 1 or set(one) != set(other):
        return False
    (name,) = one
    return len(one[name]) + len(other[name]) - len(one[name] & other[name]) == domain[name].size


# Whether known facts make records move together; the searches are loaded only where there are facts.


def crosses(policy: Assumptions) -> bool:
    """Say whether a secret pair changes a known count, so that records have to move together."""
    if not policy.known:
        return False
    from blowfish_privacy.known_facts.fact_model import fact_model

    return fact_model(policy, ()).crossing.exists
