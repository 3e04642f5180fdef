"""Checking a ledger against itself: every hash, every sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import TypeAlias

from blowfish_privacy.errors import BlowfishError, LedgerError
from blowfish_privacy.ledger.account import Account, Balance, lost, summed
from blowfish_privacy.ledger.composition import SAME_POLICY, PolicyCache, Quote
from blowfish_privacy.ledger.entry import Document, Entry, Failure, Row, StoredPolicy, sha256
from blowfish_privacy.ledger.store import Store
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, classes_met
from blowfish_privacy.privacy.measure import EPSILON, Approximate
from blowfish_privacy.support.exact import show


@dataclass(frozen=True)
class Report:
    """The outcome of a verification. The amounts are recomputed from the rows."""

    problems: tuple[str, ...]
    entries: int
    documents: int
    budget: Fraction
    spent: Fraction
    lost: Loss
    """What was lost on each class of secret pairs."""

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


@dataclass(frozen=True)
class Rows:
    """All rows of a ledger, copied in one transaction, so that others may write while they are checked."""

    account: Account
    balances: tuple[Balance, ...] = ()
    base: StoredPolicy | None = None
    entries: tuple[Entry, ...] = ()
    documents: tuple[Document, ...] = ()
    failures: tuple[Failure, ...] = ()
    unreadable: str = ""
    """What is wrong with a row that cannot even be read."""

    @classmethod
    def of(cls, store: Store) -> Rows:
        """Copy all rows within a transaction; a row that cannot be read is reported, not raised."""
        account = store.account()
        try:
            balances = tuple(store.balances())
            rows = tuple(store.entries()), tuple(store.documents()), tuple(store.failures())
        except LedgerError as error:
            return cls(account, unreadable=error.message)
        return cls(account, balances, store.base(), *rows)


@dataclass(frozen=True)
class Proof:
    """What a document proves, worked out from it alone."""

    policy: Policy
    loss: Loss
    paid_by: object
    """The charge that it says paid for it: its key and its number."""

    def problems(self, entry: Entry, cost: Loss) -> Iterator[str]:
        """Compare it with the charge that it is stored with, and with what it costs the ledger."""
        if self.paid_by != {"key": entry.key, "entry": entry.number}:
            yield "the document says that another charge paid for it."
        if self.policy.hash != entry.policy.hash:
            yield "the document has another policy than its charge."
        if not entry.loss.covers(cost):
            yield "the document proves a larger loss than was charged for it."


DocumentReader: TypeAlias = Callable[[str], Proof]
"""Works out what a document proves."""


def proof_problems(rows: Rows, policies: PolicyCache, prove: DocumentReader) -> Iterator[str]:
    """Find documents that prove a larger loss than was charged for them, as far as policies can be read back."""
    entries = {entry.number: entry for entry in rows.entries}
    for document in rows.documents:
        entry = entries[document.entry]
        try:
            proof = prove(document.text)
            cost = policies.price(rows.base, proof.policy).charged(proof.loss, rows.account.measure)
            problems = [*proof.problems(entry, cost)]
        except BlowfishError as error:
            problems = [error.message]
        yield from (f"entry {entry.number}: {problem}" for problem in problems)


def verify_rows(rows: Rows) -> Report:
    """Recompute the balance and all hashes from the rows.

    Times are not compared: clocks may go backwards, and the order of the rows is that of their numbers.
    """
    account = rows.account
    if rows.unreadable:
        nothing = Loss.of({}, account.measure)
        return Report((rows.unreadable,), account.entries, account.documents, account.budget, account.spent, nothing)
    balances = summed(rows.entries)
    loss = lost(balances, account.measure)
    spent = loss.largest if loss.largest == account.spent else _spent_in_turn(rows)
    first = Account.first_link(account.budget, account.created, account.measure)
    numbers = {entry.number for entry in rows.entries}
    problems = [
        *_chain_problems("entry", rows.entries, first, account.entries, account.entries_head),
        *(problem for entry in rows.entries for problem in _entry_problems(entry, account)),
        *_chain_problems("document", rows.documents, first, account.documents, account.documents_head),
        *(
            f"the document of entry {document.entry} was changed: its hash does not match."
            for document in rows.documents
            if sha256(document.text) != document.sha256
        ),
        *_stray("document", rows.documents, numbers),
        *_chain_problems("failure", rows.failures, first, account.failures, account.failures_head),
        *_stray("failure", rows.failures, numbers),
    ]
    problems += _balance_problems(balances, rows.balances)
    # Exactly: what does not add up may differ in any digit.
    if spent != account.spent:
        problems.append(f"the entries add up to {show(spent)}, but the balance says {show(account.spent)} is spent.")
    if spent > account.budget:
        problems.append(f"{show(spent)} is spent, more than the budget of {show(account.budget)}.")
    measure = account.measure
    if isinstance(measure, Approximate) and measure.epsilon_of(account.budget) > measure.epsilon:
        problems.append(f"rho {show(account.budget)} does not keep the promise of the budget, {account.terms.words}.")
    return Report(tuple(problems), len(rows.entries), len(rows.documents), account.budget, spent, loss)


def _spent_in_turn(rows: Rows) -> Fraction:
    """Charge the entries once more, one after the other: where regions are too many to search, bounds depend on it."""
    account, sums = replace(rows.account, spent=Fraction(0)), dict[PairClass, dict[PairClass, Fraction]]()
    for entry in rows.entries:
        touched = [sums.get(whole, {}) for whole in {EVERY, *(pairs.whole for pairs, _ in entry.loss)}]
        before = Loss.of({pairs: amount for known in touched for pairs, amount in known.items()}, account.measure)
        quote = Quote(SAME_POLICY, entry.loss, before, account.terms, account.spent, entry.rule)
        account = replace(account, spent=quote.largest)
        for pairs, amount in entry.loss:
            known = sums.setdefault(pairs.whole, {})
            known[pairs] = known.get(pairs, Fraction(0)) + amount
    return account.spent


def _balance_problems(summed: Sequence[Balance], stored: Sequence[Balance]) -> Iterator[str]:
    computed, recorded = ({balance.pairs: balance for balance in balances} for balances in (summed, stored))
    for pairs in sorted({*computed, *recorded}, key=lambda pairs: pairs.order):
        if computed.get(pairs) != recorded.get(pairs):
            amounts = (show(each[pairs].amount) if pairs in each else "nothing" for each in (computed, recorded))
            where = " in a region" if pairs.within else ""
            yield "the balance of {}{} is {} by the entries, and {} is stored.".format(pairs.words, where, *amounts)


def price_problems(rows: Rows, policies: PolicyCache) -> Iterator[str]:
    """Find entries that paid less than they cost, as far as policies can be read back."""
    base, set_aside = rows.base, {row.entry for row in rows.failures} - {row.entry for row in rows.documents}
    for entry in rows.entries:
        if base is None or entry.number in set_aside or not (base.text and entry.policy.text and policies.load_policy):
            continue
        try:
            policy = policies.policy(entry.policy)
            price, classes = policies.price(base, policy), {EVERY, *classes_met(policy, policy.domain.names)}
        except BlowfishError as error:
            yield f"entry {entry.number}: {error.message}"
        else:
            if entry.charged < entry.due(price.factor):
                steps = f"{price.factor} times" if entry.loss.measure is EPSILON else f"over {price.factor} steps"
                yield f"entry {entry.number} was charged less than its price, {steps} its epsilon."
            if not {pairs.whole for pairs, _ in entry.loss} <= classes:
                yield f"entry {entry.number} was charged to secret pairs that its policy does not have."
            domain, regions = policy.domain, [subset for pairs, _ in entry.loss for subset in pairs.within]
            if not all(name in domain.names and subset.last < domain[name].size for name, subset in regions):
                yield f"entry {entry.number} was charged to a region that is not in the domain of its policy."


def _chain_problems(what: str, rows: Sequence[Row], first: str, expected: int, head: str) -> Iterator[str]:
    previous = first
    for number, row in zip(count(1), rows, strict=False):
        if row.number != number:
            yield f"{what} {number} is missing or renumbered: row {row.number} is in its position."
        if row.link(previous) != row.chain:
            yield f"{what} {row.number} was changed, or a row before it: its hash does not match."
        previous = row.chain
    if len(rows) != expected:
        yield f"there are {len(rows)} rows of kind {what}, but the balance counts {expected}."
    if previous != head:
        yield f"the last {what} is not the one in the balance: rows at the end are missing or were added."


def _entry_problems(entry: Entry, account: Account) -> Iterator[str]:
    if entry.loss.measure != account.measure:
        yield f"entry {entry.number} counts in {entry.loss.measure.name}, and the budget does not."
    if sha256(entry.policy.canonical) != entry.policy.hash:
        yield f"the policy stored with entry {entry.number} does not have the hash it claims."
    if entry.charged != entry.loss.largest:
        yield f"entry {entry.number} was not charged the largest loss it states."
    if entry.charged < entry.epsilon:
        yield f"entry {entry.number} was charged less than its {entry.loss.measure.unit}."
    try:
        right = entry.due(1) == entry.epsilon
    except BlowfishError as error:
        yield f"entry {entry.number}: {error.message}"
    else:
        if not right:
            yield f"entry {entry.number} does not count what was asked for."


def _stray(what: str, rows: Sequence[Document | Failure], entries: Set[int]) -> Iterator[str]:
    for row in rows:
        if row.entry not in entries:
            yield f"{what} {row.number} belongs to entry {row.entry}, which does not exist."
