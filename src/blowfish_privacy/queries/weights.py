"""Weighted histograms, sums and means: a record stands for as many as its weight says.

``Histogram("age").weighted("w")``: the weight is an attribute of the domain, so its range and its step are declared,
and the policy says whether it is secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from blowfish_privacy.domain import Domain, Numeric, quoted
from blowfish_privacy.errors import QueryError
from blowfish_privacy.queries.histogram import Histogram
from blowfish_privacy.queries.numbers import Numbers
from blowfish_privacy.queries.query import Query, named
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.queries.sums import Mean, Sum
from blowfish_privacy.queries.weighted_forms import WeightedCells, WeightedValues
from blowfish_privacy.support.limits import WEIGHTED_CELLS


@dataclass(frozen=True, repr=False)
class Weighted(Query):
    """A query of some attributes, and the attribute that says how many a record stands for, which comes last."""

    plain: Query
    """The query without weights."""
    weight: str
    attributes: tuple[str, ...] = field(init=False)

    def __init_subclass__(cls, **options: Any) -> None:
        """Register nothing: in a file it goes by the keyword of the query without weights, which reads it."""

    def __post_init__(self) -> None:
        weight = checked_attribute(self.weight)
        if weight in self.plain.attributes:
            raise QueryError(f"{weight} cannot be asked about and be the weight.", hint="leave one of them out.")
        object.__setattr__(self, "attributes", (*self.plain.attributes, weight))

    def __repr__(self) -> str:
        return f"{self.plain!r}.weighted({self.weight!r})"

    @property
    def weighted_by(self) -> str:
        """The weight."""
        return self.weight

    def unweighted(self) -> Query:
        """Return the query without weights."""
        return self.plain

    @property
    def subject(self) -> str:
        """The attributes, and what they are weighted by."""
        return f"{self.plain.subject} weighted by {self.weight}"

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Query:
        """Read the query without weights, which reads its weight."""
        return Query.read(entry)

    def cells(self, domain: Domain) -> Domain:
        """Leave out the weight."""
        return self.plain.cells(domain)

    def cautions(self) -> Mapping[str, str]:
        """Say that records count for several, or for less than one."""
        said = f"Every record counts as often as its {quoted(self.weight)} says"
        return {**self.plain.cautions(), "Weights": f"{said}. The noise covers the largest weight that is declared."}

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``weight: name`` beside the query."""
        return {**self.plain.to_file(domain), "weight": self.weight}

    def weights(self, domain: Domain) -> Numbers:
        """Return the declared weights, or say why the attribute has none."""
        attribute = self.own_domain(domain)[self.weight]
        if not isinstance(attribute, Numeric):
            raise QueryError(
                f"{self.weight} does not have numbers to weight records with.",
                hint="declare it as {decimal: [0.5, 20], step: 0.1}, for example.",
            )
        weights = Numbers.of(attribute)
        if weights[0] < 0:
            raise QueryError(
                f"the weight {self.weight} may be below zero.", hint="declare a range of weights from 0 or above."
            )
        return weights

    def _weighed(self, domain: Domain) -> Domain:
        """Return the domain of the query's attributes, or refuse one with too many cells to count."""
        own = self.own_domain(domain)
        if own.size > WEIGHTED_CELLS:
            raise QueryError(
                f"a weighted query counts the records of every value and weight: {own.size:,} cells are too many.",
                hint=f"declare a coarser step of {self.weight}, or ask for fewer attributes "
                f"(at most {WEIGHTED_CELLS:,} cells).",
            )
        return own


@dataclass(frozen=True, repr=False)
class WeightedHistogram(Weighted):
    """The sum of the weights of the records in every cell: ``Histogram("age", "sex").weighted("w")``."""

    keyword = Histogram.keyword
    result = Histogram.result
    error_of = "a weighted cell"
    changed = "the weighted counts"

    def on(self, domain: Domain) -> WeightedCells:
        """Bind to a domain."""
        weights = self.weights(domain)
        return WeightedCells(domain=self._weighed(domain), unit=weights.unit, weights=weights)

    def says(self) -> str:
        """Say what is added up."""
        return f"The sum of {quoted(self.weight)} of the records with each {named(self.plain.attributes)}"

    @property
    def measured_in(self) -> str:
        """Sums of weights."""
        return f"sums of {self.weight}"


@dataclass(frozen=True, repr=False)
class WeightedSum(Weighted):
    """The sum of an attribute times the weight: ``Sum("wage").weighted("w")``."""

    plain: Sum

    keyword = Sum.keyword
    result = Sum.result
    error_of = "the weighted sum"
    changed = "the weighted sum"

    def on(self, domain: Domain) -> WeightedValues:
        """Bind to a domain; the attribute must have numbers."""
        values, weights = self._values(domain), self.weights(domain)
        unit = values.unit * weights.unit
        return WeightedValues(domain=self._weighed(domain), unit=unit, weights=weights, values=values)

    def _values(self, domain: Domain) -> Numbers:
        """Return the declared numbers of the attribute, which the query without weights checks."""
        return Numbers.of(self.plain.on(domain).attribute)

    def says(self) -> str:
        """Say what is added up."""
        return f"The sum of {quoted(self.plain.attribute)} times {quoted(self.weight)}"

    @property
    def measured_in(self) -> str:
        """Values times weights."""
        return f"units of {self.plain.attribute} times {self.weight}"


@dataclass(frozen=True, repr=False)
class WeightedMean(WeightedSum):
    """The weighted sum of an attribute divided by the sum of the weights: ``Mean("wage").weighted("w")``."""

    keyword = Mean.keyword
    result = Mean.result
    error_of = "the weighted mean"
    changed = "sum of weights and weighted sum of offsets together"
    divisor_measured = True
    of_some = True
    needs_records = True

    def on(self, domain: Domain) -> WeightedValues:
        """Bind to a domain: the weighted sum of offsets from the middle of the range, and the sum of the weights."""
        values, weights = self._values(domain), self.weights(domain)
        # Both outputs are whole multiples of half the unit of the values, which need not be a whole number itself.
        up, down = values.unit.as_integer_ratio()
        middle = Fraction(values[0] + values[values.size - 1], 2)
        return WeightedValues(
            domain=self._weighed(domain),
            unit=weights.unit / (2 * down),
            weights=weights,
            values=values,
            factors=(2 * up, 2 * down),
            origin=middle,
        )

    def says(self) -> str:
        """Say what is divided by what."""
        return f"The mean of {quoted(self.plain.attribute)}, weighted by {quoted(self.weight)}"

    def amount(self, domain: Domain) -> str:
        """Say that one number is released: two are measured, and divided."""
        return "one number"

    @property
    def measured_in(self) -> str:
        """Values."""
        return self.plain.measured_in
