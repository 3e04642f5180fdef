"""The loss at which the studio compares two values: a number of one's own, the whole budget, or that of a release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.errors import QueryError
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.statements.policy import lost_between
from blowfish_privacy.studio.workshop import Workshop
from blowfish_privacy.support.exact import rounded_up, stated_amount

OWN, BUDGET = "own", "budget"
_RELEASE = "release: "


@dataclass
class ChosenLoss:
    """What one tab compares values at."""

    workshop: Workshop
    which: str = BUDGET
    own: Fraction = Fraction(1, 2)

    def options(self) -> dict[str, str]:
        """Name what can be chosen; plans that are made say what their releases lose."""
        found: dict[str, str] = {}
        budget = None if self.workshop.file is None else self.workshop.file.budget
        if budget is not None and budget.measure in (EPSILON, RHO):
            found[BUDGET] = f"the whole budget ({Strength(budget.measure, budget.amount).words})"
        planning = self.workshop.planning
        for plan in [] if planning is None else planning.plans:
            if plan.amount:
                lost = f"{plan.certificate.loss.measure.name} {rounded_up(plan.amount)}"
                found[f"{_RELEASE}{plan.name}"] = f"the release {plan.name} ({lost})"
        return {**found, OWN: "an epsilon of my own"}

    @property
    def chosen(self) -> str:
        """What is chosen, as far as it still exists."""
        return self.which if self.which in self.options() else OWN

    def strength(self, names: frozenset[str]) -> Strength:
        """Return the loss on pairs that change these attributes."""
        chosen, file, planning = self.chosen, self.workshop.file, self.workshop.planning
        if chosen == BUDGET and file is not None and file.budget is not None:
            return Strength(file.budget.measure, file.budget.amount)
        for plan in [] if planning is None else planning.plans:
            # While the file has changed a plan may belong to another policy than the one that is shown.
            known = file is not None and all(name in plan.policy.domain for name in names)
            if chosen == f"{_RELEASE}{plan.name}" and known:
                return lost_between(plan, names)
        return Strength(EPSILON, self.own)

    def take(self, text: str) -> bool:
        """Take an epsilon that somebody wrote; say whether it is one."""
        if self.wrong(text) is not None:
            return False
        self.own = stated_amount(text, "epsilon", error=QueryError)
        return True

    @staticmethod
    def wrong(text: str) -> str | None:
        """Say what is wrong with an epsilon that somebody wrote."""
        try:
            stated_amount(text, "epsilon", error=QueryError)
        except QueryError as error:
            return error.message if "too " in error.message else "a number above 0"
        return None
