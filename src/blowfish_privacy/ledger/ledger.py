"""What a ledger is, whatever it is stored in.

A ledger holds a budget, entries (charges), documents (what was handed out for a charge) and failures (charges whose
data contradicted what their policy states). A kind of storage supplies transactions
(:class:`~blowfish_privacy.ledger.store.Store`); all rules are in this file, so that they hold for every kind.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.ledger.account import Account, in_words, lost
from blowfish_privacy.ledger.composition import PolicyCache, PolicyLoader, Price, Quote
from blowfish_privacy.ledger.entry import Document, Entry, Failure, StoredPolicy, asked_detail, sha256
from blowfish_privacy.ledger.pair_loss import OwnLoss, PairLoss, RowsOf, own_losses, pair_loss
from blowfish_privacy.ledger.store import Store
from blowfish_privacy.ledger.verification import (
    DocumentReader,
    Report,
    Rows,
    price_problems,
    proof_problems,
    verify_rows,
)
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import stated_facts
from blowfish_privacy.privacy.loss import EVERY, Loss
from blowfish_privacy.privacy.measure import Budget, BudgetLike, Measure

# Checking what a caller asks a ledger for, before anything is looked up.

_LONGEST_KEY = 500


def storable(value: str, what: str) -> str:
    """Accept a text that every kind of storage gives back byte for byte."""
    try:
        if isinstance(value, str) and b"\0" not in value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise LedgerError(f"{what} must be text that can be stored.", hint="leave out NUL and unpaired surrogates.")


# Looking up charges in a ledger, and checking what may still be done with them.


def existing_charge(store: Store, wanted: Entry) -> Entry | None:
    """Find the charge with this key; refuse one that was made for something else."""
    entry = store.entry(wanted.key)
    if entry is not None and not entry.repeats(wanted):
        raise LedgerError(
            f"the key {wanted.key!r} was used for a different release: entry {entry.number}, {entry.label!r}, "
            f"{entry.loss.measure.words(entry.epsilon)}.",
            hint="a retry must ask for exactly the same; a new release needs a new key.",
        )
    return entry


def paid(entry: Entry, wanted: Entry, price: Price, measure: Measure) -> Entry:
    """Accept a charge that was made before, if it paid the full price."""
    due = price.charged(wanted.loss, measure)
    if entry.charged < due.largest or not entry.loss.covers(due):
        raise LedgerError(
            f"entry {entry.number} has this release's key, but paid {measure.brief(entry.charged)} and not what this "
            f"release costs: {measure.brief(due.largest)}.",
            hint="run 'blowfish ledger verify'; a release with a new key is charged anew.",
        )
    return entry


def charge_of(store: Store, key: str) -> Entry:
    """Find the charge with this key; a document or failure cannot be recorded without one."""
    entry = store.entry(key)
    if entry is None:
        raise LedgerError("there is no charge with this key.", hint="charge first, then record.")
    return entry


def intact(document: Document) -> str:
    """Return the text of a document, unless it was changed after it was handed out."""
    if sha256(document.text) != document.sha256:
        raise LedgerError(
            f"the document stored for entry {document.entry} was changed after it was handed out.",
            hint="run 'blowfish ledger verify'.",
        )
    return document.text


# The state of a ledger that decides the price of a release: its policy, what failed, what was handed out.

MOST_FAILED_POLICIES = 3
"""Policies whose stated facts the data may contradict before others with stated facts are refused."""

_NOTHING_HANDED_OUT = (
    "But no charge of this ledger has a document, and documents are stored before anything is handed out: if no "
    "release from it is still running, you may start a new ledger, and never use this one again."
)


@dataclass(frozen=True)
class Snapshot:
    """Taken in one transaction, so that no lock is held while a price is worked out, which may take seconds."""

    base: StoredPolicy | None
    failed: frozenset[str]
    documents: int

    @classmethod
    def of(cls, store: Store) -> Snapshot:
        """Take a snapshot within a transaction."""
        account = store.account()
        return cls(store.base(), store.failed_policies() if account.failures else frozenset(), account.documents)

    def price(self, policies: PolicyCache, policy: Policy) -> Price:
        """Say what a release under a policy costs; a refusal says what to do where nothing was handed out."""
        others = len(self.failed - {policy.hash})
        if others >= MOST_FAILED_POLICIES and stated_facts(policy):
            # Otherwise somebody could find out exact counts by stating one after another.
            raise RefusalError(
                f"the data contradicted the stated facts of {others} other policies. That check is exact, so it tells "
                "about the data, and how often it may be tried with new facts is limited.",
                hint="the data's custodian can correct the facts with 'blowfish data check', and start a new ledger; "
                "or leave out the stated counts.",
            )
        try:
            return policies.price(self.base, policy)
        except RefusalError as error:
            if self.documents:
                raise
            hint = " ".join([*([error.hint] if error.hint else []), _NOTHING_HANDED_OUT])
            raise RefusalError(error.message, hint=hint) from None


Result = TypeVar("Result")
Clock: TypeAlias = Callable[[], datetime]
TIMEOUT = 60.0
"""Seconds to wait for other writers."""
MISSING = (
    "if there was one, find it: a new one would not know what was spent. A ledger is made deliberately: "
    "blowfish ledger create FILE.yaml, or in Python create=True with a budget."
)
"""What to do about a ledger that is missing."""
EXISTS = "open an existing ledger without create; a new one needs a new name."
"""What to do about one that exists already."""


class Ledger(ABC):
    """A budget, what was spent of it under which policy, and what was handed out.

    The first charge fixes the policy that the budget belongs to, unless its release fails on the facts of that policy.
    Safe to use from several threads and processes.
    """

    values_folder: Path | None = None
    """Where values are kept that are too many for a document; None if there is no such place."""
    prove: DocumentReader | None = None
    """Works out what a document proves; :meth:`verify` then compares every document with its charge."""

    def __init__(
        self, place: Any, terms: Budget, *, load_policy: PolicyLoader | None, timeout: float, clock: Clock | None
    ) -> None:
        self.terms = terms
        """The budget with its measure, as it was stated when the ledger was made."""
        self._place, self._timeout = place, timeout
        self._policies = PolicyCache(load_policy)
        self._clock = clock or system_clock

    @classmethod
    def create(
        cls,
        where: str | os.PathLike[str],
        *,
        budget: BudgetLike,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> Self:
        """Make a ledger and open it; the options are those of :meth:`open`."""
        place, terms = cls._located(where), Budget.read(budget, error=LedgerError)
        cls._make(place, Account.opening(terms, write_time((clock or system_clock)())), timeout)
        return cls.open(where, load_policy=load_policy, timeout=timeout, clock=clock)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        *,
        budget: BudgetLike | None = None,
        load_policy: PolicyLoader | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> Self:
        """Open an existing ledger; ``budget``, if given, must be the one it was made with.

        ``load_policy`` reads policies back from the texts given with charges; pair losses and charges under other
        policies than the first need it. Waiting for other writers ends after ``timeout`` seconds.
        """
        place = cls._located(where)
        terms = None if budget is None else Budget.read(budget, error=LedgerError)
        account = cls._inspect(place, timeout)
        ledger = cls(place, account.terms, load_policy=load_policy, timeout=timeout, clock=clock)
        check_same_budget(ledger.label, account.terms, terms)
        return ledger

    @classmethod
    @abstractmethod
    def _located(cls, where: str | os.PathLike[str]) -> Any:
        """Find out where a path or an address leads, before anything is opened."""

    @classmethod
    @abstractmethod
    def _make(cls, place: Any, account: Account, timeout: float) -> None:
        """Make a ledger where there is none."""

    @classmethod
    @abstractmethod
    def _inspect(cls, place: Any, timeout: float) -> Account:
        """Read the account, once it is certain that this is a ledger of ours."""

    @property
    def budget(self) -> Fraction:
        """The amount of the budget, in its measure: the most that any secret pair may lose."""
        return self.terms.amount

    @property
    def measure(self) -> Measure:
        """What all amounts are counted in."""
        return self.terms.measure

    @property
    @abstractmethod
    def name(self) -> str:
        """What the ledger is called where it is kept."""

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, budget={self.terms.words})"

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Store]:
        """Open a transaction that sees one state of the rows."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Store]:
        """Open a transaction that excludes other writers; its end makes it durable, an exception undoes it."""

    def _write(self, action: Callable[[Store], Result]) -> Result:
        """Run an action in a new transaction. The action itself must check whether it was already done."""
        with self._writing() as store:
            return action(store)

    @property
    def lost(self) -> Loss:
        """What was lost on each class of secret pairs, in each region, by all entries together."""
        with self._reading() as store:
            return lost(store.balances(), store.account().measure)

    @property
    def balances(self) -> Mapping[str, Fraction]:
        """The most that a secret pair has lost, for each class of the ledger's policy.

        Classes are named by the attribute that their pairs change; "all" are pairs that may change several at once, and
        "presence" is whether a person is in the table.
        """
        with self._reading() as store:
            base, loss = store.base(), lost(store.balances(), store.account().measure)
        return in_words(loss, self._policies.readable(base))

    @property
    def spent(self) -> Fraction:
        """The part of the budget that is spent: the most that any secret pair has lost."""
        with self._reading() as store:
            return store.account().spent

    @property
    def remaining(self) -> Fraction:
        """The part of the budget that is left."""
        with self._reading() as store:
            return store.account().remaining

    @property
    def base(self) -> StoredPolicy | None:
        """The policy that the budget belongs to; None before the first charge."""
        with self._reading() as store:
            return store.base()

    def entries(self) -> tuple[Entry, ...]:
        """Return all charges, in order."""
        with self._reading() as store:
            return tuple(store.entries())

    def failures(self) -> tuple[Failure, ...]:
        """Return the charges whose data contradicted what their policy states, in order."""
        with self._reading() as store:
            return tuple(store.failures())

    def price(self, policy: Policy) -> Price:
        """Say what a release under a policy costs for each epsilon, or refuse; nothing is charged."""
        self._policies.add(policy)
        with self._reading() as store:
            snapshot = Snapshot.of(store)
        return snapshot.price(self._policies, policy)

    def quote(self, losses: Loss | Iterable[Loss], policy: Policy) -> Quote:
        """Say what one or several releases under a policy would be charged, and what that would leave."""
        self._policies.add(policy)
        with self._reading() as store:
            snapshot, account, balances = Snapshot.of(store), store.account(), tuple(store.balances())
        price = snapshot.price(self._policies, policy)
        requested = [losses] if isinstance(losses, Loss) else losses
        return Quote.of(price, requested, lost(balances, account.measure), account)

    def charge(
        self,
        *,
        loss: Loss,
        policy: Policy,
        key: str,
        description: str,
        mechanism: str,
        content: str = "",
        policy_text: str = "",
    ) -> Entry:
        """Charge a release; when this returns, the charge is durable.

        A loss in another measure than the budget's is converted, once its price is known; where that is impossible it
        is refused.
        A second charge with the same key, policy, loss, description and content returns the first one and costs
        nothing. ``content`` distinguishes releases that are described in the same words; ``policy_text`` is what
        ``load_policy`` can read the policy back from.
        """
        if not storable(key, "the key") or len(key) > _LONGEST_KEY:
            raise LedgerError(f"the key must have 1 to {_LONGEST_KEY} characters.")
        # A loss may be empty, since what a policy makes public costs nothing.
        if not isinstance(loss, Loss) or not all(type(amount) is Fraction and amount > 0 for _, amount in loss.amounts):
            raise LedgerError(
                "a charge needs a loss, whose amounts are positive fractions.", hint="a certificate has one."
            )
        if any(pairs.kind == "every" and pairs.within for pairs, _ in loss.amounts):
            raise LedgerError("what is lost on every class is lost wherever its pairs lie: it has no region.")
        # The loss is in the release's own measure here, and all other amounts in that of the ledger.
        wanted = Entry(
            number=0,
            key=key,
            made="",
            policy=StoredPolicy.of(policy, storable(policy_text, "the policy's text")),
            epsilon=self.measure.converted(loss.largest, loss.measure),
            charged=Fraction(0),
            rule="",
            description=storable(description, "the description"),
            content=storable(content, "the content"),
            mechanism=storable(mechanism, "the mechanism"),
            detail="{}" if loss.measure == self.measure else asked_detail(loss),
            loss=loss,
        )
        self._policies.add(policy)
        with self._reading() as store:
            existing, snapshot = existing_charge(store, wanted), Snapshot.of(store)
            if existing is not None and store.document(existing.number) is not None:
                # Nothing more will be read under it.
                return existing
        # Finding the price may take seconds: not while others wait to write.
        price = snapshot.price(self._policies, policy)
        if existing is not None:
            return paid(existing, wanted, price, self.measure)
        return self._write(lambda store: existing_charge(store, wanted) or self._append(store, wanted, policy))

    def record(self, key: str, document_text: str) -> str:
        """Store the document of a charge and return what may be handed out: the document stored first, always."""
        storable(document_text, "the document")

        def add(store: Store) -> str:
            entry = charge_of(store, key)
            stored = store.document(entry.number)
            if stored is not None:
                return intact(stored)
            base = store.base() if store.failure(entry.number) is not None else None
            if base is not None and base.hash != entry.policy.hash:
                # It was set aside, and the budget now belongs to another policy.
                raise RefusalError(
                    f"entry {entry.number} failed, and the budget has since been spent under another policy.",
                    hint="release under the ledger's policy. Nothing was handed out.",
                )
            before = store.account()
            new = before.chained(Document(0, entry.number, self._now(), document_text, sha256(document_text)))
            store.append(new, before=before, after=before.after(new))
            return document_text

        return self._write(add)

    def fail(self, key: str) -> None:
        """Record that the data contradict the facts that the policy of a charge states.

        The charge stays spent. Until it has a document it is set aside: the budget belongs to the policy of the first
        charge that is not. With known facts only equal policies add up, so no other charge was priced by it.
        """

        def add(store: Store) -> None:
            entry = charge_of(store, key)
            if not self._policies.policy(entry.policy).known:
                raise LedgerError("only a release under a policy with known facts can fail on them.")
            if store.failure(entry.number) is not None:
                return
            before = store.account()
            new = before.chained(Failure(0, entry.number, self._now()))
            store.append(new, before=before, after=before.after(new))

        self._write(add)

    def document(self, key: str) -> str | None:
        """Return the document stored for a charge, byte for byte; None when there is none."""
        with self._reading() as store:
            entry = store.entry(key)
            stored = None if entry is None else store.document(entry.number)
        return None if stored is None else intact(stored)

    def loss(self, x: Mapping[str, object], y: Mapping[str, object]) -> Fraction | float:
        """Add up what was lost so far on a pair of values: on each step between them, what its class lost there.

        Attributes not named are equal. ``math.inf`` when some release left the pair unprotected.
        """
        return self.pair_loss(x, y).amount

    def pair_loss(self, x: Mapping[str, object], y: Mapping[str, object], by_rows: RowsOf | None = None) -> PairLoss:
        """Say the same release by release; ``by_rows`` may know a smaller loss of one from what it handed out."""
        return pair_loss(self.own_losses(by_rows), (x, y), self.measure)

    def own_losses(self, by_rows: RowsOf | None = None) -> tuple[OwnLoss, ...]:
        """Say what each release lost on the secret pairs of its own policy; refuse where facts are known."""
        with self._reading() as store:
            base, entries = store.base(), tuple(store.entries())
        return tuple(own_losses(self._policies, base, entries, by_rows))

    def verify(self) -> Report:
        """Recompute the balance, all hashes and, where policies can be read back, all prices from the rows.

        Where documents can be read too, what each proves is compared with what was charged for it.
        """
        rows, report = self.examine()
        policies = PolicyCache(self._policies.load_policy)
        if report.ok and self.prove is not None and policies.load_policy is not None:
            report = replace(report, problems=tuple(proof_problems(rows, policies, self.prove)))
        return report

    def examine(self) -> tuple[Rows, Report]:
        """Return all rows as they are at one moment, with their verification."""
        with self._reading() as store:
            damage, rows = store.damage(), Rows.of(store)
        report = verify_rows(rows)
        if not damage and report.ok:
            # A new cache, so that policies are read back from what is stored, not from this process's memory.
            report = replace(report, problems=tuple(price_problems(rows, PolicyCache(self._policies.load_policy))))
        return rows, replace(report, problems=(*damage, *report.problems))

    def policy(self, stored: StoredPolicy) -> Policy:
        """Read back a policy that is stored with an entry."""
        return self._policies.policy(stored)

    def _append(self, store: Store, wanted: Entry, policy: Policy) -> Entry:
        price, before = Snapshot.of(store).price(self._policies, policy), store.account()
        balances = tuple(
            store.balances({EVERY, *(pairs.whole for pairs, _ in price.charged(wanted.loss, self.measure))})
        )
        quote = Quote.of(price, [wanted.loss], lost(balances, before.measure), before)
        quote.check()
        new = replace(wanted, made=self._now(), loss=quote.charged, charged=quote.charged.largest, rule=quote.rule)
        new = before.chained(new)
        store.append(new, before=before, after=before.after(new, quote.largest), balances=balances)
        if store.entry(new.key) != new:
            raise LedgerError("the charge cannot be read back as it was written.", hint="run 'blowfish ledger verify'.")
        return new

    def _now(self) -> str:
        return write_time(self._clock())


def check_same_budget(name: str, actual: Budget, stated: Budget | None) -> None:
    """Refuse to open a ledger whose budget is not what a caller believes."""
    if stated is not None and not actual.same(stated):
        raise LedgerError(
            f"{name} has a budget of {actual.words}, not of {stated.words}.",
            hint="a budget is fixed when its ledger is made: leave it out, or state the same.",
        )


def system_clock() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


def write_time(time: datetime) -> str:
    """Write a time in UTC."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
