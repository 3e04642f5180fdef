"""A ledger as plain values for JSON. Amounts are exact, written as fractions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, islice
from math import inf, isinf
from operator import ge
from typing import Any, TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import DomainError
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.entry import read_amount, write_loss
from blowfish_privacy.ledger.pair_loss import OwnLoss, PairLoss, Record, any_pair_loss, pair_loss
from blowfish_privacy.ledger.verification import Report
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    IN_NAME_ONLY,
    Far,
    furthest,
    furthest_apart,
    furthest_together,
    name_only,
    pair_words,
)
from blowfish_privacy.privacy.loss import ALL, EVERY, PRESENCE, Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength, deltas, meanings_view, short
from blowfish_privacy.release import spec
from blowfish_privacy.release.losses import lost_on, one_by_one, rows_released
from blowfish_privacy.support.exact import rounded_up

# What several releases lose together between values some secret steps apart: said alike of plans and of a product.

_FEW_PAIRS = 200
"""Every pair of values is looked at where there are so few of them, counted once for each release."""

Pair: TypeAlias = tuple[Record, Record]


@dataclass(frozen=True)
class FarLoss:
    """Two values that are some secret steps apart, and what is lost between them."""

    pair: str
    hops: Hops
    lost: Strength | None
    """None where nothing protects them from each other."""
    worst: Strength
    """What the secret pair that lost the most has lost."""

    @property
    def exponent(self) -> float:
        """The logarithm of the factor."""
        return inf if self.lost is None else self.lost.exponent()

    @property
    def factor(self) -> str | None:
        """The factor that odds may have changed by, never less than it is."""
        return None if self.lost is None else self.lost.factor()

    @property
    def words(self) -> str:
        """Say how far apart the two are, and what that means."""
        apart = f"{self.pair} are {self.hops:,} secret steps apart"
        if self.lost is None:
            return f"{apart}, and some release protects them not at all."
        if self.exponent <= self.worst.exponent():
            return f"{apart}, and all the same protected no less than Strength says."
        return f"{apart} and protected less: a factor {self.factor}."


@dataclass(frozen=True, eq=False)
class FarLosses:
    """What releases of a ledger lose at most between values of its policy."""

    policy: Policy
    """The policy of the ledger: steps are those along its secret pairs."""
    balances: Loss
    """What they lose on each class of these pairs, in the measure of the ledger."""
    spent: Fraction
    """The most that one of them loses."""
    made: tuple[OwnLoss, ...] | None
    """What each release loses by itself; None where known facts tie records together, or a policy is not readable."""

    def some(self, most: int) -> Iterator[FarLoss]:
        """Go through values that are many steps apart: of each attribute, the first few of many, then of all."""
        yield from islice(self._of_attributes(least=2), most)
        yield from self._of_all()

    def in_name_only(self, after: str, heading: str = IN_NAME_ONLY) -> Iterator[str]:
        """Say which values are protected in name only, secret pairs too where one step loses as much."""
        presence = self._strength(self.balances.on(PRESENCE))
        every = (*self._of_attributes(least=1), *self._of_all())
        far = (Far(each.pair, each.hops, each.exponent, each.factor) for each in every)
        return name_only(self.policy, (presence.exponent(), presence.factor()), far, after, heading)

    def between_any(self, names: Collection[str], most: int = _FEW_PAIRS) -> tuple[PairLoss, ...]:
        """Bound what is lost between any two values that differ in some attributes; exactly where they are few."""
        made, measure = self.made or (), self.balances.measure
        bound = any_pair_loss(made, self.policy, measure, names)
        each = {tuple(amount for _, amount in lost.losses): lost for _, lost in self._on_each(names, most)}
        if max((lost.amount for lost in each.values()), default=inf) > bound.amount:
            return (bound,)
        # What costs most in rho need not mean the largest epsilon, so all are kept that no other is as bad as.
        return tuple(
            lost
            for amounts, lost in each.items()
            if not any(
                other != amounts and len(other) == len(amounts) and all(map(ge, other, amounts)) for other in each
            )
        )

    def _on_each(self, names: Collection[str], most: int) -> Iterator[tuple[Pair, PairLoss]]:
        """Go through all values that chains of secret pairs connect, unless there are too many."""
        made, domain = self.made or (), self.policy.domain.project(tuple(names))
        if domain.size * (domain.size - 1) // 2 * max(len(made), 1) > most:
            return
        records = [domain.record(cell) for cell in domain.cells()]
        for pair in combinations(records, 2):
            if self.policy.distance(*pair) < inf:
                yield pair, pair_loss(made, pair, self.balances.measure)

    def _of_attributes(self, least: int) -> Iterator[FarLoss]:
        ends = [(first, last) for _, first, last, hops in self.policy.ends if least <= hops < inf]
        for (domain, pair, hops), (first, last) in zip(furthest(self.policy, least=least), ends, strict=True):
            yield self._worst(pair, hops, domain, (domain.record(first), domain.record(last)))

    def _of_all(self) -> Iterator[FarLoss]:
        together, records = furthest_together(self.policy), furthest_apart(self.policy)
        if together is not None and records is not None:
            yield self._worst(*together, self.policy.domain.project(tuple(records[0])), records[:2])

    def _worst(self, pair: str, hops: Hops, domain: Domain, ends: Pair) -> FarLoss:
        """Bound what any two values of some attributes lose; name the ends, or those that lose more if they show."""
        # The balances bound every step.
        each = lost_on(self.policy, self.balances, domain)
        most = self.balances.measure.over(each.amount, int(hops))
        if len(domain.names) > 1 and (by_attributes := one_by_one(self.policy, self.balances)) is not None:
            most = min(most, by_attributes)
        if self.made is None:
            return self._apart(pair, hops, most)
        most = min(most, any_pair_loss(self.made, self.policy, self.balances.measure, domain.names).amount)
        try:
            every = [(one, lost.amount) for one, lost in self._on_each(domain.names, _FEW_PAIRS)]
            shown = [ends, *self._shown(domain.names)]
            at_ends, *others = [(one, pair_loss(self.made, one, self.balances.measure).amount) for one in shown]
        except DomainError:
            # Another policy's secrets may depend on attributes that these two values leave open.
            return self._apart(pair, hops, most)
        most = min(most, max(amount for _, amount in every)) if every else most
        worst, amount = max((at_ends, *others, *every), key=lambda found: found[1])
        if amount > at_ends[1]:
            one, other = (domain.cell(record) for record in worst)
            return self._apart(pair_words(domain, one, other), self.policy.distance(*worst), most)
        return self._apart(pair, hops, most)

    def _shown(self, names: Collection[str]) -> Iterator[Pair]:
        """Go through the values that single releases hide least, as their rows show."""
        for each in self.made or ():
            shown = each.by_rows.any_change(names) if each.by_rows else None
            pair = None if shown is None else shown.pair
            if pair is not None and {*names} <= {*pair[0]}:
                one, other = ({name: record[name] for name in names} for record in pair)
                if self.policy.distance(one, other) < inf:
                    yield one, other

    def _apart(self, pair: str, hops: Hops, amount: Fraction | float) -> FarLoss:
        lost = None if isinf(amount) else self._strength(Fraction(amount))
        return FarLoss(pair, hops, lost, self._strength(self.spent))

    def _strength(self, amount: Fraction) -> Strength:
        return Strength(self.balances.measure, amount)


_FEW = 2_000
"""Every pair of records is looked at where there are so few of them, counted once for each release."""


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """Show what was spent, under which policy, and what is left."""
    failed = failures(ledger)
    entries: list[dict[str, Any]] = []
    for entry in ledger.entries():
        own, asked = entry.requested
        losses = json.loads(write_loss(entry.loss))
        view = {
            "entry": entry.number,
            "time": entry.made,
            "release": entry.label,
            "mechanism": entry.mechanism,
            "policy": entry.policy.hash,
            own.name: str(asked),
            "charged": str(entry.charged),
            "loss": [{**pairs, "amount": str(read_amount(pairs["amount"]))} for pairs in losses],
            "rule": entry.rule,
            "failed": failed.get(entry.number),
        }
        entries.append(view)
    whole = None if ledger.measure is EPSILON else lost_on_whole_record(ledger)
    return {
        "budget": str(ledger.budget),
        "measure": ledger.measure.unit,
        **({} if ledger.measure is EPSILON else {"stated": ledger.terms.view}),
        **({"means": meanings_view(ledger.measure, ledger.budget)} if ledger.measure is RHO else {}),
        "remaining": str(ledger.remaining),
        "balances": {name: str(lost) for name, lost in ledger.balances.items()},
        **({} if whole is None else {"whole_record": {"steps": whole.steps, **_loss_view(*whole.lost)}}),
        "entries": entries,
    }


def lost_in_words(entry: Entry) -> str:
    """Say what an entry was charged to which secret pairs, where that is not all."""
    whole = {pairs.whole for pairs, _ in entry.loss} - {EVERY, ALL}
    if not whole:
        return "all" if entry.charged else ""
    lost = [
        (pairs.attribute or pairs.kind, entry.loss.on(pairs)) for pairs in sorted(whole, key=lambda each: each.order)
    ]
    partly = " (some values)" if any(pairs.within for pairs, _ in entry.loss) else ""
    alike = all(amount == entry.charged for _, amount in lost)
    return ", ".join(name if alike else f"{name} {entry.loss.measure.number(amount)}" for name, amount in lost) + partly


def failures(ledger: Ledger) -> dict[int, str]:
    """Say by the number of its entry when a release failed because the data contradicted stated facts."""
    return {failure.entry: failure.made for failure in ledger.failures()}


def asked_in_words(entry: Entry) -> str:
    """Say what an entry asked for, in its own measure."""
    own, amount = entry.requested
    return own.words(amount)


def lost_on_pair(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> PairLoss:
    """Say what was lost on two values so far: along chains of secret pairs, or by the rows that were handed out."""
    return ledger.pair_loss(first, second, partial(rows_released, ledger))


@dataclass(frozen=True)
class WholeRecord:
    """What was lost between any two records that chains of secret pairs connect, at most."""

    steps: int
    """How many secret pairs the longest of these chains has."""
    lost: tuple[PairLoss, ...]
    """A bound on all of them, or what each of them lost."""


def lost_on_whole_record(ledger: Ledger) -> WholeRecord | None:
    """Bound what was lost between any two records, as far as chains of secret pairs lead.

    None where no two values are further apart than a secret pair, and where the ledger's policy cannot be read back.
    """
    base = ledger.base
    policy = spec.loads(base.text).policy if base is not None and base.text else None
    if policy is None or policy.known or (furthest := furthest_apart(policy)) is None:
        return None
    far = FarLosses(policy, ledger.lost, ledger.spent, ledger.own_losses(partial(rows_released, ledger)))
    return WholeRecord(int(furthest[2]), far.between_any(policy.domain.names, most=_FEW))


def loss_view(ledger: Ledger, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show what was lost on two values so far; None where nothing protects them from each other."""
    return _loss_view(lost_on_pair(ledger, first, second))


def _loss_view(*lost: PairLoss) -> dict[str, Any]:
    """Show the same of the worst of several pairs."""
    most = max(each.amount for each in lost)
    if isinf(most):
        return {"loss": None}
    means = [{"epsilon": str(epsilon), "delta": str(delta)} for epsilon, delta in _means(lost)]
    return {"loss": str(most), **({"measure": lost[0].measure.unit, "means": means} if means else {})}


def loss_words(*lost: PairLoss) -> str:
    """Say what was lost on two values, or at most on any of several pairs."""
    most = max(each.amount for each in lost)
    if isinf(most):
        return "everything: nothing protects this pair"
    means = [f"epsilon {rounded_up(epsilon)} at delta {short(delta)}" for epsilon, delta in _means(lost)]
    said = lost[0].measure.words(Fraction(most))
    return f"{said}, which means {'; '.join(means)}" if means else said


def _means(lost: Sequence[PairLoss]) -> Iterator[tuple[Fraction, Fraction]]:
    for delta in deltas(lost[0].measure):
        yield max(Fraction(each.epsilon(delta)) for each in lost), delta


def verification_view(report: Report) -> dict[str, Any]:
    """Show whether the rows of a ledger add up, and what is wrong with them."""
    return {"ok": report.ok, "entries": report.entries, "spent": str(report.spent), "problems": list(report.problems)}


def counted(report: Report) -> str:
    """Say how many entries and documents a ledger has."""
    entries, documents = report.entries, report.documents
    return f"{entries} {'entry' if entries == 1 else 'entries'} and {documents} document{'' if documents == 1 else 's'}"


# The history of a ledger as rows to read: when what was released, what it cost and on which secret pairs.


@dataclass(frozen=True)
class HistoryRow:
    """One entry of a ledger."""

    number: int
    key: str
    made: str
    """The time in UTC, to the second."""
    release: str
    """What was released, as the ledger describes it."""
    charged: str
    lost_on: str
    failed: str | None
    """When the data contradicted the stated facts, if they did."""


def history(ledger: Ledger) -> tuple[HistoryRow, ...]:
    """Read the entries of a ledger, the newest first."""
    failed = {entry: made[:19].replace("T", " ") for entry, made in failures(ledger).items()}
    return tuple(
        HistoryRow(
            number=entry.number,
            key=entry.key,
            made=entry.made[:19].replace("T", " "),
            release=entry.description,
            charged=entry.loss.measure.words(entry.charged) if entry.charged else "nothing",
            lost_on=lost_in_words(entry),
            failed=failed.get(entry.number),
        )
        for entry in reversed(ledger.entries())
    )
