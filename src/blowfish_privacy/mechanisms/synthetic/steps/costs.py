"""What measuring a table, or choosing one, costs each class of secret pairs under a policy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from blowfish_privacy.domain import Domain
from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.mechanisms.synthetic.steps.tariff import Changes, Tariff
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass, classes_met, one_attribute_at_a_time
from blowfish_privacy.privacy.sensitivity import sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries.counts import HistogramForm


@dataclass(frozen=True, eq=False)
class Costs:
    """Derives, from the policy, what tables of some attributes cost."""

    policy: Policy
    domain: Domain
    """The attributes of the records."""
    tariff: Tariff
    _told: dict[Axes, Changes] = field(default_factory=dict[Axes, Changes])
    _moved: dict[Axes, Changes] = field(default_factory=dict[Axes, Changes])

    @cached_property
    def classes(self) -> tuple[PairClass, ...]:
        """The classes of pairs that the attributes tell apart."""
        return classes_met(self.policy, self.domain.names)

    @cached_property
    def _one_at_a_time(self) -> bool:
        return one_attribute_at_a_time(self.policy)

    def weights(self, axes: Axes) -> Changes:
        """Say what noise of scale 1 on a table costs; classes that the table does not tell are left out."""
        if axes not in self._told:
            self._told[axes] = self._over(axes, self.weights) or self.tariff.weights(self._form(axes), self.policy)
        return self._told[axes]

    def changes(self, axes: Axes) -> Changes:
        """Say by how much the counts of a table change, added up over its cells."""
        if axes not in self._moved:
            self._moved[axes] = self._over(axes, self.changes) or self._changes(axes)
        return self._moved[axes]

    def _over(self, axes: Axes, single: Callable[[Axes], Changes]) -> dict[PairClass, Fraction]:
        """Put the table of several attributes together from those of one, where a pair changes one attribute only.

        Such a pair takes a record from one cell of a table to another just if it does so in the table of the attribute
        that it changes; somebody who comes or goes changes one cell of any table.
        """
        if len(axes) < 2 or not self._one_at_a_time:
            return {}
        return {pairs: change for axis in axes for pairs, change in single((axis,)).items()}

    def _changes(self, axes: Axes) -> dict[PairClass, Fraction]:
        form = self._form(axes)
        changes = sensitivity_by_class(form, self.policy, sensitivity_of(form, self.policy).value)
        return {pairs: change for pairs, change in changes.items() if change}

    def _form(self, axes: Axes) -> HistogramForm:
        names = self.domain.names
        return HistogramForm(self.domain.project([names[axis] for axis in axes]))

    def of_look(self, axes: Axes, scale: Fraction) -> Changes:
        """Say what noise of a scale on a table costs."""
        return {pairs: weight / scale for pairs, weight in self.weights(axes).items()}

    def of_choice(self, coefficient: Fraction, tables: Collection[Axes]) -> dict[PairClass, Fraction]:
        """Say what a choice among packings of tables costs: no packing has two tables that tell the same class.

        Scores are sums of absolute differences, so that one changes by at most as much as the counts of its table do;
        its weight changes by that factor, and the sum of all weights by that factor the other way.
        """
        reaches = self.largest(tables)
        return {pairs: self.tariff.of_choice(2 * coefficient * reach) for pairs, reach in reaches.items()}

    def largest(self, tables: Collection[Axes]) -> dict[PairClass, Fraction]:
        """Return the largest change of any of several tables, for each class that one of them tells."""
        found: dict[PairClass, Fraction] = {}
        for axes in tables:
            for pairs, change in self.changes(axes).items():
                found[pairs] = max(change, found.get(pairs, Fraction(0)))
        return found

    def covered(self, pairs: PairClass, other: Costs, tables: Collection[Axes]) -> PairClass | None:
        """Find a class of another policy on which all tables cost at least as much as they do on a class of this."""
        return next((each for each in other.classes if self._within(pairs, other, each, tables)), None)

    def _within(self, pairs: PairClass, other: Costs, each: PairClass, tables: Collection[Axes]) -> bool:
        return all(
            _at_most(self.weights(axes), pairs, other.weights(axes), each)
            and _at_most(self.changes(axes), pairs, other.changes(axes), each)
            for axes in tables
        )


def _at_most(
    mine: Mapping[PairClass, Fraction], pairs: PairClass, theirs: Mapping[PairClass, Fraction], each: PairClass
) -> bool:
    return mine.get(pairs, Fraction(0)) <= theirs.get(each, Fraction(0))
