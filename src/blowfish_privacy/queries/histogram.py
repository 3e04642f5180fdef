"""Histograms: how many records have each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import CountingForm, Pattern, Query, named, some_edge
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.file_forms import Form, Name, Names


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
        """Bind to a domain."""
        return HistogramForm(self.own_domain(domain))

    def weighted(self, weight: str) -> Query:
        """Add up the weights of the records in every cell: ``Histogram("age", "sex").weighted("w")``."""
        from blowfish_privacy.queries.weights import WeightedHistogram

        return WeightedHistogram(self, weight)

    def says(self) -> str:
        """Say what is counted."""
        return f"How many records have each {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{histogram: [..]}``."""
        return {"histogram": list(self.attributes)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Histogram:
        """Read ``{histogram: [..]}``."""
        named = entry["histogram"]
        return cls(*(named if isinstance(named, list) else [named]))


@dataclass(frozen=True)
class HistogramForm(CountingForm):
    """The identity: a record adds one to its own cell."""

    domain: Domain
    pattern = Pattern.CELLS

    @property
    def outputs(self) -> int:
        """The number of cells: there is one output for each."""
        return self.domain.size

    def column(self, x: Cell) -> Sequence[int]:
        """Return 1 for the record's own cell and 0 elsewhere."""
        flat = self.domain.flat(x)
        return [int(number == flat) for number in range(self.domain.size)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Return 2: one cell loses a record and another gains it."""
        return Fraction(2 if x != y else 0)

    def weight(self, x: Cell) -> Fraction:
        """Return 1: one cell gains or loses a record."""
        return Fraction(1)

    def net_change(self, net: Mapping[Cell, int]) -> int:
        """Sum what the cells gain and lose."""
        return sum(abs(count) for count in net.values())

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Return any edge: all change the counts equally."""
        return some_edge(graph), True

    def heaviest(self) -> Cell:
        """Return any cell: all weigh the same."""
        return self.domain.unflat(0)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the counts as they are."""
        return counts.reshape(-1)
