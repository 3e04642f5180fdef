"""What plans would lose on values far apart, beside what their ledger has lost already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from blowfish_privacy.ledger import Ledger
from blowfish_privacy.ledger.pair_loss import OwnLoss, PairLoss, as_charged, pair_loss
from blowfish_privacy.ledger.quote import Quote
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.release.loss_by_rows import planned_loss_by_rows
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.statements.far_losses import FarLosses
from blowfish_privacy.statements.ledger import lost_on_pair


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
    far = FarLosses(policy, quote.after, quote.largest, partial(lost_on_pair, ledger, due=due))
    return [*far.in_name_only("these releases and those before" if entries else "these releases")]


def _without_ledger(plans: Sequence[Plan], quote: Quote | None) -> FarLosses:
    own = [_own(plan) for plan in plans]
    pure = all(each.loss.measure is EPSILON for each in own)
    measure = quote.terms.measure if quote is not None else EPSILON if pure else RHO
    lost = Loss.total((each.loss.measured_in(measure) for each in own), measure)

    def on_pair(first: Mapping[str, object], second: Mapping[str, object]) -> PairLoss:
        return pair_loss(own, (first, second), measure)

    return FarLosses(plans[0].policy, lost, lost.largest, on_pair)


def _own(plan: Plan) -> OwnLoss:
    return OwnLoss(plan.policy, plan.certificate.loss, partial(planned_loss_by_rows, plan))
