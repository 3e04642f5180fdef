"""What must be said before a budget is spent: for what, how much, and what stays unprotected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.policies.explain import not_protected
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.statements.accuracy import error_words
from blowfish_privacy.statements.asked import asked_words
from blowfish_privacy.statements.budget import budget_rows, budget_words
from blowfish_privacy.statements.plan import plan_view
from blowfish_privacy.statements.planned_losses import in_name_only
from blowfish_privacy.statements.release import paid_by
from blowfish_privacy.support.exact import rounded_down


@dataclass(frozen=True)
class ConfirmedRelease:
    """One release that is about to be made."""

    name: str
    query: str
    cost: str
    """What it loses, on which secret pairs; nothing where the ledger holds it."""
    error: str
    notices: list[str]
    paid_before: str | None


@dataclass(frozen=True)
class Confirmation:
    """A question, and all that somebody should know who says yes."""

    question: str
    spends: bool
    """Whether anything is taken from the budget, or any value read."""
    releases: tuple[ConfirmedRelease, ...]
    spending: tuple[str, ...]
    """What they cost together, and what it means."""
    balances: tuple[tuple[str, ...], ...]
    """For each class of secret pairs: its name, what is spent, what these cost, what will be left."""
    unprotected: tuple[str, ...]
    """What the policy leaves unprotected, or protects in name only, in all of them."""


def confirmation(
    plans: Sequence[Plan], earlier: Mapping[str, Entry], quote: Quote, ledger: Ledger | None = None
) -> Confirmation:
    """Say what releasing plans of one policy will do; ``earlier`` are the entries that paid for some already."""
    policy, due = plans[0].policy, any(plan.key not in earlier for plan in plans)
    return Confirmation(
        question=_question(quote) if due else "Hand out what is paid for? It costs nothing more.",
        spends=due,
        releases=tuple(_release(plan, earlier.get(plan.key)) for plan in plans),
        spending=tuple(budget_words(quote)) if due else ("All of it was paid for before. Nothing is spent.",),
        balances=tuple(map(tuple, budget_rows(quote, policy))) if due else (),
        unprotected=not_protected(policy, in_name_only(plans, quote, ledger)),
    )


def _question(quote: Quote) -> str:
    measure = quote.terms.measure
    left = f"{measure.unit} {rounded_down(quote.budget - quote.largest)}"
    return f"Spend {measure.words(quote.cost)} (leaving {left}) and read the data?"


def _release(plan: Plan, earlier: Entry | None) -> ConfirmedRelease:
    view = plan_view(plan)
    loss = plan.certificate.loss.measure.words(plan.amount)
    cost = f"{loss} on {view['lost_on']}" if plan.amount else "nothing: it has no noise"
    return ConfirmedRelease(
        name=plan.name,
        query=asked_words(plan),
        cost=cost if earlier is None else "nothing more",
        error=error_words(plan),
        notices=plan.notices,
        paid_before=None if earlier is None else paid_by(earlier),
    )
