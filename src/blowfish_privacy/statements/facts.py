"""What known facts do to each release of a file: what they cost, what they give back, and what they make impossible.

Each release is planned with all facts, without each of them and without any. Nothing is read that a plan would not
ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isclose
from warnings import catch_warnings, simplefilter

from blowfish_privacy.errors import BlowfishError, BlowfishWarning
from blowfish_privacy.known_facts.facts import KnownFact
from blowfish_privacy.policies.policy import Policy
from blowfish_privacy.release.explain import error_left
from blowfish_privacy.release.plan import PublicNumbers, make_plan
from blowfish_privacy.release.spec import PlannedRelease
from blowfish_privacy.statements.ledger import lost_on
from blowfish_privacy.support.exact import about

MOST_ALONE = 8
"""Of more facts than these, what each does by itself is not worked out."""


@dataclass(frozen=True)
class Outlook:
    """What a release costs and how wrong it will be under some facts, or why it is refused."""

    lost: str = ""
    amount: Fraction | None = None
    error: float | None = None
    shown: float | None = None
    """The error of what is shown, which meets every public total; None where that is the same."""
    refusal: str | None = None
    hint: str | None = None
    lost_on: str = ""
    """The secret pairs whose balance it draws on."""

    @property
    def exact(self) -> bool:
        """Whether it is published without noise."""
        return self.error == 0

    @property
    def final(self) -> float | None:
        """The error of what is shown in the end."""
        return self.error if self.shown is None else self.shown


@dataclass(frozen=True)
class FactEffect:
    """One release without some facts and with them."""

    release: str
    without: Outlook
    given: Outlook

    @property
    def times(self) -> float | None:
        """How many times larger the noise's error becomes; None where the two do not compare."""
        before, after = self.without.error, self.given.error
        return None if not before or after is None else after / before

    @property
    def words(self) -> str:
        """Say what the facts do to the release; why one is refused, its outlook says."""
        before, after = self.without, self.given
        if after.refusal is not None:
            return "becomes impossible" if before.refusal is None else "impossible either way"
        if before.refusal is not None:
            return "becomes possible"
        if after.exact:
            return (
                "without noise either way" if before.exact else "published without noise: nothing secret is left in it"
            )
        changed = f", and draws on the balance of {after.lost_on} instead of {before.lost_on or 'none'}"
        return self._cost + (changed if after.lost_on != before.lost_on else "") + self._back

    @property
    def _cost(self) -> str:
        before, after = self.without, self.given
        if before.exact:
            return f"typical error {about(after.error or 0)} instead of none"
        if not isclose(self.times or 1, 1, rel_tol=0.005):
            instead = f"{about(after.error or 0)} instead of {about(before.error or 0)}"
            return f"typical error {instead} ({about(self.times or 1)} times)"
        # A release that states its error pays in epsilon instead.
        if after.amount != before.amount:
            return f"{after.lost} instead of {before.lost}"
        return "costs nothing" if after.lost_on == before.lost_on else "as accurate as before"

    @property
    def _back(self) -> str:
        before, after = self.without.final, self.given.final
        if self.given.shown is None or not before or after is None or self.given.shown == self.without.shown:
            return ""
        if isclose(self.given.shown, self.given.error or 0, rel_tol=0.005):
            return "; what is shown will meet the stated numbers exactly"
        return f"; what is shown will meet the stated numbers exactly, which leaves {about(after)}"


@dataclass(frozen=True)
class FactsView:
    """All known facts of a policy: what each does to each release, and what they do together."""

    facts: tuple[tuple[FactEffect, ...], ...]
    """What each fact adds to what the others do; nothing where there are very many."""
    together: tuple[FactEffect, ...]


def facts_view(policy: Policy, releases: Sequence[PlannedRelease], numbers: PublicNumbers | None = None) -> FactsView:
    """Plan every release with and without the facts; ``numbers`` asks for public numbers of records where needed."""
    given = [_outlook(release, policy, numbers) for release in releases]

    def effects(others: Sequence[KnownFact]) -> tuple[FactEffect, ...]:
        """Compare with a policy that knows other facts; the number of records stays as public as it was."""
        with catch_warnings():
            simplefilter("ignore", BlowfishWarning)
            size = policy.size if policy.records is None else policy.records
            without = replace(policy, known=tuple(others), size=size)
        pairs = zip(releases, given, strict=True)
        return tuple(FactEffect(each.name, _outlook(each, without, numbers), after) for each, after in pairs)

    known = policy.known
    alone = tuple(
        effects([*known[:number], *known[number + 1 :]]) if len(known) <= MOST_ALONE else ()
        for number in range(len(known))
    )
    return FactsView(alone, effects(()) if known else ())


def _outlook(release: PlannedRelease, policy: Policy, numbers: PublicNumbers | None) -> Outlook:
    try:
        plan = make_plan(
            release.query,
            policy,
            target=release.target,
            mechanism=release.mechanism,
            records=policy.records if numbers is None else numbers.records(release.query),
            sizes=None if numbers is None else numbers.sizes(release.query),
            name=release.name,
        )
        return Outlook(
            f"{plan.certificate.loss.measure.name} {about(float(plan.amount))}",
            plan.amount,
            plan.expected_error().rmse,
            error_left(plan),
            lost_on=lost_on(plan.certificate.loss, plan.policy) if plan.amount else "",
        )
    except BlowfishError as error:
        return Outlook(refusal=error.message, hint=error.hint)
