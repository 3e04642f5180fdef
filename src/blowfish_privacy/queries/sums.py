"""Sums and means of an attribute of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, Numeric, quoted
from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import LinearForm, Pattern, Query, checked_attribute
from blowfish_privacy.support.file_forms import Form, Name


@dataclass(frozen=True)
class Sum(Query):
    """The sum of an attribute over all records: ``Sum("hours")``."""

    attribute: str
    attributes: tuple[str, ...] = field(init=False)

    keyword = "sum"
    file_form = Form({"sum": Name}, {"weight": Name}, example="{sum: hours}")
    result = "number"
    error_of = "the sum"
    changed = "the sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", (checked_attribute(self.attribute),))

    def on(self, domain: Domain) -> SumForm:
        projected = self.own_domain(domain)
        attribute = projected[self.attribute]
        if not isinstance(attribute, Numeric):
            raise QueryError(f"{self.attribute} does not have numbers to add up.", hint=attribute.instead_of_sums)
        return SumForm(projected, attribute, attribute.unit)

    def weighted(self, weight: str) -> Query:
        from blowfish_privacy.queries.weights import WeightedSum

        return WeightedSum(self, weight)

    @property
    def measured_in(self) -> str:
        return f"units of {self.attribute}"

    def says(self) -> str:
        return f"The {self.keyword} of {quoted(self.attribute)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {self.keyword: self.attribute}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Sum:
        return cls(entry[cls.keyword])


@dataclass(frozen=True)
class Mean(Sum):
    """The mean of an attribute: its sum divided by the number of records, public or, where that is secret, noisy."""

    keyword = "mean"
    file_form = Form({"mean": Name}, {"weight": Name}, example="{mean: hours}")
    needs_records = True
    error_of = "the mean"
    divided = True
    of_some = True

    def weighted(self, weight: str) -> Query:
        from blowfish_privacy.queries.weights import WeightedMean

        return WeightedMean(self, weight)


@dataclass(frozen=True)
class SumForm(LinearForm):
    """A record adds its value to the one output."""

    domain: Domain
    attribute: Numeric
    unit: Fraction
    pattern = Pattern.LINE

    @property
    def outputs(self) -> int:
        return 1

    def column(self, x: Cell) -> Sequence[int]:
        return [int(self.attribute.number(x[0]) / self.unit)]

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        return graph.widest_edge(self.domain.names[0]), True

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        edge, is_worst = self.worst_edge(graph)
        return edge, Fraction(0) if edge is None else self.change(*edge) ** 2, is_worst

    def largest_squared_weight(self) -> Fraction:
        return self.weight(self.heaviest()) ** 2

    def heaviest(self) -> Cell:
        return max(((0,), (self.domain.size - 1,)), key=self.weight)

    def weight(self, x: Cell) -> Fraction:
        return abs(self.attribute.number(x[0]))

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        low, step = int(self.attribute.lowest / self.unit), int(self.attribute.spacing / self.unit)
        filled = np.flatnonzero(counts.reshape(-1))
        total = sum((low + step * int(position)) * int(counts.reshape(-1)[position]) for position in filled)
        return np.array([total], dtype=object)
