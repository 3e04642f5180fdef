"""Cumulative histograms: how many records lie at or below each value of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain import Cell, Domain, choice_to_file, quoted
from blowfish_privacy.errors import DomainError, QueryError, brief
from blowfish_privacy.graphs.graph import Edge, SecretGraph
from blowfish_privacy.queries.query import CountingForm, OfAttribute, Pattern, Query
from blowfish_privacy.support.exact import exact, plain, show
from blowfish_privacy.support.file_forms import EXACT_SCHEMA, Exact, Form, InSchema, Name, Value, Wanted


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
            try:
                domain[self.attribute].subset(ends)
            except DomainError as error:
                raise QueryError(f"{self.attribute}: {error.message}", hint=error.hint) from None
        return form

    def says(self) -> str:
        name = quoted(self.attribute)
        return f"How many records fall into ranges of {name}, from how many are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        return {**super().to_file(domain), "of": [choice_to_file(ends)["range"] for ends in self.of]}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Ranges:
        return cls(entry["ranges"], entry["of"])
