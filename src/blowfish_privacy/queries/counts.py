"""Counts of records: histograms, grids, clusters, and what is at or below each value of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Len

from blowfish_privacy.domain import Binned, Cell, Domain, Numeric, choice_to_file, quoted
from blowfish_privacy.errors import QueryError, brief, located
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import (
    CountingForm,
    OfAttribute,
    Pattern,
    Query,
    checked_attribute,
    named,
    some_edge,
)
from blowfish_privacy.support.exact import exact, plain, show
from blowfish_privacy.support.file_forms import EXACT_SCHEMA, Exact, Form, InSchema, Name, Names, Value, Wanted, listed


@dataclass(frozen=True, init=False)
class Histogram(Query):
    """The count of every combination of values of some attributes: ``Histogram("age", "sex")``."""

    attributes: tuple[str, ...]

    keyword = "histogram"
    file_form = Form({"histogram": Names}, {"weight": Name}, example="{histogram: [age, sex]}")
    result = "histogram"
    error_of = "a cell"
    changed = "the counts"
    counts_records = True
    adds_up = True

    def __init__(self, *attributes: str) -> None:
        if not attributes:
            raise QueryError("a histogram needs at least one attribute.", hint='Histogram("age", "sex").')
        object.__setattr__(self, "attributes", tuple(checked_attribute(name) for name in attributes))
        if len(set(attributes)) < len(attributes):
            raise QueryError(f"a histogram names an attribute twice: {', '.join(attributes)}.")

    def on(self, domain: Domain) -> HistogramForm:
        return HistogramForm(self.own_domain(domain))

    def says(self) -> str:
        return f"How many records have each {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {"histogram": list(self.attributes)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Histogram:
        named = entry["histogram"]
        return cls(*(named if isinstance(named, list) else [named]))


@dataclass(frozen=True)
class HistogramForm(CountingForm):
    """The identity: a record adds one to its own cell."""

    domain: Domain
    pattern = Pattern.CELLS

    @property
    def outputs(self) -> int:
        return self.domain.size

    def column(self, x: Cell) -> Sequence[int]:
        flat = self.domain.flat(x)
        return [int(number == flat) for number in range(self.domain.size)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        return Fraction(2 if x != y else 0)

    def weight(self, x: Cell) -> Fraction:
        return Fraction(1)

    def net_change(self, net: Mapping[Cell, int]) -> int:
        return sum(abs(count) for count in net.values())

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        return some_edge(graph), True

    def heaviest(self) -> Cell:
        return (0,) * len(self.domain.names)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return counts.reshape(-1)


# Range grids: the counts of all rectangles over two ordered attributes.

_TWO_NAMES: TypeAlias = Annotated[
    list[str],
    Len(2, 2),
    InSchema({**listed({"type": "string"}, least=2, unique=True), "maxItems": 2}),
    Wanted("a list of two attributes", "write range_grid: [lat, lon]."),
]


@dataclass(frozen=True)
class RangeGrid(Query):
    """The counts of a grid, released so that rectangles are answered well: ``RangeGrid("lat", "lon")``."""

    first: str
    second: str
    attributes: tuple[str, ...] = field(init=False)

    keyword = "range_grid"
    file_form = Form({"range_grid": _TWO_NAMES}, example="{range_grid: [lat, lon]}")
    needs_records = True
    answer = "grid"
    result = "grid"
    changed = "the counts"
    counts_records = True

    def __post_init__(self) -> None:
        named = (checked_attribute(self.first), checked_attribute(self.second))
        if self.first == self.second:
            raise QueryError("a grid needs two different attributes.")
        object.__setattr__(self, "attributes", named)

    def on(self, domain: Domain) -> HistogramForm:
        projected = self.own_domain(domain)
        for name in projected:
            if not projected[name].ordered:
                raise QueryError(f"{name} is categorical, and categories have no order.", hint="use a histogram.")
        return HistogramForm(projected)

    def says(self) -> str:
        return f"How many records fall into rectangles of {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {"range_grid": list(self.attributes)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> RangeGrid:
        return cls(*entry["range_grid"])


# K-means: cluster centres over ordered attributes.


@dataclass(frozen=True, init=False)
class KMeans(Query):
    """The centres of ``k`` clusters of records: ``KMeans(["blue", "green", "red"], k=4)``.

    The release is a noisy synopsis of where the records lie; centres, for this k or any other, are computed from it
    afterwards at no further cost.
    """

    attributes: tuple[str, ...]
    k: int

    keyword = "kmeans"
    file_form = Form(
        {"kmeans": Names, "k": Annotated[int, Ge(1), Wanted("a whole number from 1 up")]},
        example="{kmeans: [lat, lon], k: 4}",
    )
    needs_records = True
    answer = "clusters"
    result = "clusters"
    changed = "the counts"
    counts_records = True
    instead_of_parts = "leave the condition out; for a public attribute, open a session on the records of each value."

    def __init__(self, attributes: Sequence[str], k: int) -> None:
        named = [attributes] if isinstance(attributes, str) else attributes
        if not isinstance(named, Sequence) or not named:
            raise QueryError(f"k-means needs a list of attributes, got {brief(attributes)}.", hint='["lat", "lon"].')
        object.__setattr__(self, "attributes", tuple(checked_attribute(name) for name in named))
        if len(set(self.attributes)) < len(self.attributes):
            raise QueryError(f"k-means names an attribute twice: {', '.join(self.attributes)}.")
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise QueryError(f"k must be a whole number of at least 1, got {brief(k)}.")
        object.__setattr__(self, "k", int(k))

    def on(self, domain: Domain) -> HistogramForm:
        projected = self.own_domain(domain)
        for name in projected:
            if not isinstance(projected[name], Numeric | Binned):
                kind = "has no numbers, so it has" if projected[name].ordered else "is categorical, and categories have"
                raise QueryError(f"{name} {kind} no mean.", hint="leave it out.")
        if self.k > projected.size:
            raise QueryError(f"there cannot be {self.k:,} clusters of only {projected.size:,} values.")
        return HistogramForm(projected)

    def says(self) -> str:
        centres = f"centres of {self.k} clusters" if self.k > 1 else "centre"
        return f"The {centres} of {named(self.attributes)}"

    def amount(self, domain: Domain) -> str:
        return f"{self.k} centre{'s' if self.k > 1 else ''}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {"kmeans": list(self.attributes), "k": self.k}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> KMeans:
        return cls(entry["kmeans"], entry["k"])


def clusters_asked(query: Query) -> int:
    """Return the number of clusters that a query asks for; 1 if it is not a k-means query."""
    return query.k if isinstance(query, KMeans) else 1


# Cumulative histograms: how many records lie at or below each value of an ordered attribute.


@dataclass(frozen=True)
class Cumulative(OfAttribute):
    """The cumulative histogram of an ordered attribute: ``Cumulative("capital_loss")``."""

    keyword = "cumulative"
    file_form = Form({"cumulative": Name}, example="{cumulative: wage}")
    needs_records = True
    answer = "cumulative"
    result = "cumulative"
    error_of = "a cumulative count"
    changed = "the numbers of records at or below each value"
    counts_records = True

    def on(self, domain: Domain) -> CumulativeForm:
        projected = self.own_domain(domain)
        if not projected[self.attribute].ordered:
            raise QueryError(f"{self.attribute} is categorical, and categories have no order.", hint="use a histogram.")
        return CumulativeForm(projected)

    def says(self) -> str:
        return f"How many records are at or below each {quoted(self.attribute)}: its ranges, quantiles and shares"

    def labels(self, domain: Domain) -> list[str]:
        return domain[self.attribute].texts()


@dataclass(frozen=True)
class CumulativeForm(CountingForm):
    """A record at position x adds one to every output from x on."""

    domain: Domain
    pattern = Pattern.RANKS

    @property
    def outputs(self) -> int:
        return self.domain.size

    def column(self, x: Cell) -> Sequence[int]:
        return [int(position >= x[0]) for position in range(self.domain.size)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        return Fraction(abs(x[0] - y[0]))

    def weight(self, x: Cell) -> Fraction:
        return Fraction(self.domain.size - x[0])

    def net_change(self, net: Mapping[Cell, int]) -> int:
        total = height = before = 0
        for (position,), count in sorted(net.items()):
            total += abs(height) * (position - before)
            height, before = height + count, position
        return total

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        return graph.widest_edge(self.domain.names[0]), True

    def heaviest(self) -> Cell:
        return (0,)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return np.cumsum(counts.reshape(-1))


# Quantiles of an ordered attribute, answered from its cumulative histogram.

_SHARE: TypeAlias = Annotated[Exact, InSchema({**EXACT_SCHEMA, "minimum": 0, "maximum": 1})]


@dataclass(frozen=True)
class Quantiles(Cumulative):
    """The values below which some shares of the records lie: ``Quantiles("wage", [0.1, 0.5, 0.9])``.

    The release is the whole cumulative histogram; these shares are only what is shown first.
    """

    at: Sequence[Any] = ("0.25", "0.5", "0.75")

    keyword = "quantiles"
    file_form = Form(
        {"quantiles": Name},
        {
            "at": Annotated[
                list[_SHARE], Len(1), Wanted("a list of numbers from 0 to 1", "write at: [0.25, 0.5, 0.75].")
            ]
        },
        example="{quantiles: wage, at: [0.25, 0.5]}",
    )
    result = "quantiles"
    of_some = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.at, str) or not isinstance(self.at, Sequence) or not self.at:
            raise QueryError(f"quantiles need a list of shares, got {brief(self.at)}.", hint="[0.25, 0.5, 0.75].")
        shares = tuple(exact(share, "a quantile", error=QueryError) for share in self.at)
        if not all(0 <= share <= 1 for share in shares):
            raise QueryError("a quantile must lie between 0 and 1.", hint="0.5 is the median.")
        object.__setattr__(self, "at", shares)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares as exact numbers."""
        return tuple(map(Fraction, self.at))

    def says(self) -> str:
        shares = ", ".join(show(share) for share in self.shares)
        many = "quantiles" if len(self.shares) > 1 else "quantile"
        name = quoted(self.attribute)
        return f"The {many} {shares} of {name}, from how many records are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {**super().to_file(domain), "at": [plain(share) for share in self.shares]}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Query:
        return cls(entry["quantiles"], entry["at"]) if "at" in entry else super().from_file(entry)


# The median of an ordered attribute.


@dataclass(frozen=True)
class Median(Quantiles):
    """The value below which half of the records lie: ``Median("wage")``, which is ``Quantiles("wage", ["0.5"])``."""

    at: Any = field(init=False, default=("0.5",))

    keyword = "median"
    file_form = Form({"median": Name}, example="{median: wage}")

    def says(self) -> str:
        name = quoted(self.attribute)
        return f"The median of {name}, from how many records are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {"median": self.attribute}


# Counts of ranges of an ordered attribute, answered from its cumulative histogram.


@dataclass(frozen=True)
class Ranges(Cumulative):
    """The number of records in some ranges, both ends included: ``Ranges("wage", [(0, 20), (21, 50)])``.

    The release is the whole cumulative histogram; these ranges are only what is shown first.
    """

    of: Sequence[Any] = ()

    keyword = "ranges"
    file_form = Form(
        {
            "ranges": Name,
            "of": Annotated[
                list[Annotated[list[Value], Len(2, 2)]],
                Len(1),
                Wanted("a list of pairs", "write of: [[0, 20], [21, 50]]."),
            ],
        },
        example="{ranges: wage, of: [[0, 20], [21, 50]]}",
    )
    result = "ranges"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.of, str) or not isinstance(self.of, Sequence) or not self.of:
            raise QueryError(f"ranges need a list of pairs, got {brief(self.of)}.", hint="[(0, 20), (21, 50)].")
        for ends in self.of:
            if not isinstance(ends, list | tuple) or len(ends) != 2:
                raise QueryError(f"a range must have two ends, got {brief(ends)}.")
        object.__setattr__(self, "of", tuple((low, high) for low, high in self.of))

    def on(self, domain: Domain) -> CumulativeForm:
        form = super().on(domain)
        for ends in self.of:
            with located(self.attribute, QueryError):
                domain[self.attribute].subset(ends)
        return form

    def says(self) -> str:
        name = quoted(self.attribute)
        return f"How many records fall into ranges of {name}, from how many are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {**super().to_file(domain), "of": [choice_to_file(ends)["range"] for ends in self.of]}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Ranges:
        return cls(entry["ranges"], entry["of"])
