"""Adding up what steps cost, where each may depend on what the ones before it returned."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from blowfish_privacy.errors import PolicyError
from blowfish_privacy.mechanisms.synthetic.steps.tariff import Changes
from blowfish_privacy.privacy.loss import PairClass


class Accountant:
    """Keeps, exactly, what every class of secret pairs has lost; no step may bring one above its limit.

    Steps may be chosen by what earlier ones returned: as long as their losses add up to at most the limit whatever is
    returned, all of them together lose at most the limit [feldman2021, for rho; by the chain rule for epsilon].
    """

    def __init__(self, limits: Mapping[PairClass, Fraction]) -> None:
        self.limits = dict(limits)
        self.room = dict(limits)

    def charge(self, costs: Changes) -> None:
        """Count a step, before it is taken."""
        short = [pairs for pairs, cost in costs.items() if cost > self.room.get(pairs, 0)]
        if short:
            raise PolicyError(f"this step would lose more on {short[0].words} than it may.")
        for pairs, cost in costs.items():
            self.room[pairs] -= cost

    def affords(self, costs: Changes) -> bool:
        """Say whether a step stays within all limits."""
        return all(cost <= self.room.get(pairs, 0) for pairs, cost in costs.items())
