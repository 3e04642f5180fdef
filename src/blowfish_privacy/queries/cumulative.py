"""Cumulative histograms: how many records lie at or below each value of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain, quoted
from blowfish_privacy.errors import QueryError
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import CountingForm, Pattern, Query
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.file_forms import Form, Name


@dataclass(frozen=True)
class Cumulative(Query):
    """The cumulative histogram of an ordered attribute: ``Cumulative("capital_loss")``."""

    attribute: str
    attributes: tuple[str, ...] = field(init=False)

    keyword = "cumulative"
    file_form = Form({"cumulative": Name}, example="{cumulative: wage}")
    needs_records = True
    answer = "cumulative"
    result = "cumulative"
    error_of = "a cumulative count"
    changed = "the numbers of records at or below each value"
    counts_records = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", (checked_attribute(self.attribute),))

    def on(self, domain: Domain) -> CumulativeForm:
        """Bind to a domain; the attribute must be ordered."""
        projected = self.own_domain(domain)
        if not projected[self.attribute].ordered:
            raise QueryError(f"{self.attribute} is categorical, and categories have no order.", hint="use a histogram.")
        return CumulativeForm(projected)

    def says(self) -> str:
        """Say what the numbers count, and what they are good for."""
        return f"How many records are at or below each {quoted(self.attribute)}: its ranges, quantiles and shares"

    def labels(self, domain: Domain) -> list[str]:
        """Return the values as text."""
        attribute = domain[self.attribute]
        return attribute.texts()

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{cumulative: name}``."""
        return {"cumulative": self.attribute}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Cumulative:
        """Read ``{cumulative: name}``."""
        return cls(entry["cumulative"])


@dataclass(frozen=True)
class CumulativeForm(CountingForm):
    """A record at position x adds one to every output from x on."""

    domain: Domain
    pattern = Pattern.RANKS

    @property
    def outputs(self) -> int:
        """The number of values: there is one output for each."""
        return self.domain.size

    def column(self, x: Cell) -> Sequence[int]:
        """Return 0 for the outputs below the position and 1 from there on."""
        return [int(position >= x[0]) for position in range(self.domain.size)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        """Count the outputs between the two positions: each changes by one."""
        return Fraction(abs(x[0] - y[0]))

    def weight(self, x: Cell) -> Fraction:
        """Count the outputs from the position on: each changes by one."""
        return Fraction(self.domain.size - x[0])

    def net_change(self, net: Mapping[Cell, int]) -> int:
        """Sum, over the positions, how many records more or fewer lie at or below each."""
        total = height = before = 0
        for (position,), count in sorted(net.items()):
            total += abs(height) * (position - before)
            height, before = height + count, position
        return total

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Return the widest edge: the change is the difference of the ranks."""
        return graph.widest_edge(self.domain.names[0]), True

    def heaviest(self) -> Cell:
        """Return the lowest value, which every output counts."""
        return (0,)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Add up the counts from the lowest value on."""
        return np.cumsum(counts.reshape(-1))
