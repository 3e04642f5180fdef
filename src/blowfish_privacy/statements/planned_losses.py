"""What plans would lose on values far apart, beside what their ledger has lost already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.ledger.pair_loss import OwnLoss, as_charged
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.release.losses import rows_planned, rows_released
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.statements.far_losses import FarLosses


def in_name_only(plans: Sequence[Plan], quote: Quote | None, ledger: Ledger | None = None) -> list[str]:
    """Say which values are protected in name only after these releases, and all that the ledger holds already.

    ``quote`` is what the ledger, or one that is not made yet, says to those that are not paid for.
    """
    if ledger is None or quote is None:
        return [*_without_ledger(plans, quote).in_name_only("these releases")]
    entries, base = ledger.entries(), ledger.base
    paid = {entry.key for entry in entries}
    due = [as_charged(_own(plan), ledger.quote(_own(plan).loss, plan.policy)) for plan in plans if plan.key not in paid]
    policy = plans[0].policy if base is None else ledger.policy(base)
    far = FarLosses(policy, quote.after, quote.largest, made_by(ledger, due))
    return [*far.in_name_only("these releases and those before" if entries else "these releases")]


def made_by(ledger: Ledger, due: Sequence[OwnLoss] = ()) -> tuple[OwnLoss, ...] | None:
    """Say what each release of a ledger lost by itself, and what those due will; None where that is not defined."""
    try:
        made = (*ledger.own_losses(partial(rows_released, ledger)), *due)
    except (LedgerError, RefusalError):
        return None
    return None if any(each.policy.known for each in made) else made


def _without_ledger(plans: Sequence[Plan], quote: Quote | None) -> FarLosses:
    own = tuple(_own(plan) for plan in plans)
    pure = all(each.loss.measure is EPSILON for each in own)
    measure = quote.terms.measure if quote is not None else EPSILON if pure else RHO
    lost = Loss.total((each.loss.measured_in(measure, each.policy.rows_per_person) for each in own), measure)
    known = any(each.policy.known for each in own)
    return FarLosses(plans[0].policy, lost, lost.largest, None if known else own)


def _own(plan: Plan) -> OwnLoss:
    return OwnLoss(plan.policy, plan.certificate.loss, rows_planned(plan))
