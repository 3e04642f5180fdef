"""Looking at tables: each look is paid for before it is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from blowfish_privacy.errors import PolicyError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Measurement, combined
from blowfish_privacy.mechanisms.synthetic.steps.accountant import Accountant
from blowfish_privacy.mechanisms.synthetic.steps.allocation import MOST_SCALE, allocated
from blowfish_privacy.mechanisms.synthetic.steps.costs import Costs
from blowfish_privacy.mechanisms.synthetic.steps.transcript import Look, Step
from blowfish_privacy.noise import BitSource
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.support.arrays import Integers


@dataclass(frozen=True, eq=False)
class Looks:
    """The exact counts, what is known of them so far, and what that has cost."""

    costs: Costs
    limits: Mapping[PairClass, Fraction]
    counts: Mapping[Axes, Integers]
    """The exact counts of all tables that may be looked at, axes ascending."""
    source: BitSource
    steps: list[Step] = field(default_factory=list[Step])
    known: dict[Axes, Known] = field(default_factory=dict[Axes, Known])

    @cached_property
    def accountant(self) -> Accountant:
        """What every class has lost, and may still lose."""
        return Accountant(self.limits)

    def look(self, axes: Axes, scale: Fraction) -> None:
        """Measure a table, once its cost is counted; without noise only where it tells no secrets."""
        counts = self.counts[axes]
        if scale:
            self.accountant.charge(self.costs.of_look(axes, scale))
            counts = counts + self.costs.tariff.law.draw(scale, counts.size, source=self.source).reshape(counts.shape)
        elif self.costs.weights(axes):
            raise PolicyError(NO_NOISE)
        self.steps.append(Look(axes, scale, counts))
        told = Measurement(axes, counts, self.costs.tariff.variance(scale))
        earlier = self.known.get(axes)
        self.known[axes] = combined([told])[axes] if earlier is None else earlier.with_another(told)

    def share(self, tables: Sequence[Axes], importance: Sequence[float], share: Fraction) -> None:
        """Measure several tables with a share of every limit, what matters most with least noise."""
        room = {pairs: min(share * limit, self.accountant.room[pairs]) for pairs, limit in self.limits.items()}
        weights = [self.costs.weights(axes) for axes in tables]
        for axes, scale in zip(tables, allocated(weights, importance, room, self.costs.tariff.power), strict=True):
            if scale < MOST_SCALE:
                self.look(axes, scale)
