"""Histograms: how many records have each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Len

from blowfish_privacy.domain import Binned, Cell, Domain, Numeric
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import CountingForm, Pattern, Query, checked_attribute, named, some_edge
from blowfish_privacy.support.file_forms import Form, InSchema, Name, Names, Wanted, listed


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
