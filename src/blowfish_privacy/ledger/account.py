"""The account of a ledger: its budget, what is spent of it, the balance of each class, and the error for too much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from blowfish_privacy.errors import BudgetError
from blowfish_privacy.ledger.entry import Entry, Row, RowKind, chained, write_amount
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import ALL, EVERY, Loss, PairClass, classes_met
from blowfish_privacy.privacy.measure import Budget, Measure


@dataclass(frozen=True)
class Account:
    """The budget and what is spent of it: a summary of the rows, which are the authority."""

    measure: Measure
    budget: Fraction
    created: str
    spent: Fraction
    """The most that any secret pair has lost."""
    entries: int
    entries_head: str
    documents: int
    documents_head: str
    failures: int
    failures_head: str

    @classmethod
    def opening(cls, terms: Budget, created: str) -> Account:
        """Open an account. All chains start at the budget, so that a changed budget shows too."""
        head = cls.first_link(terms.amount, created, terms.measure)
        return cls(terms.measure, terms.amount, created, Fraction(0), 0, head, 0, head, 0, head)

    @staticmethod
    def first_link(budget: Fraction, created: str, measure: Measure) -> str:
        """Compute the hash that all chains start from."""
        return chained("", write_amount(budget), created, measure.name)

    @property
    def terms(self) -> Budget:
        """The budget with its measure, as it was stated."""
        return Budget(self.measure, self.budget)

    @property
    def remaining(self) -> Fraction:
        """The part of the budget that is left."""
        return self.budget - self.spent

    def chained(self, row: RowKind) -> RowKind:
        """Return a new row with its number and its hash."""
        numbered = replace(row, number=getattr(self, row.table) + 1)
        return replace(numbered, chain=numbered.link(getattr(self, f"{row.table}_head")))

    def after(self, row: Row, spent: Fraction | None = None) -> Account:
        """Return the account once a row is added, with the most that a secret pair has then lost if that changes."""
        counted = {row.table: getattr(self, row.table) + 1, f"{row.table}_head": row.chain}
        return replace(self, spent=self.spent if spent is None else spent, **counted)


class OverBudgetError(BudgetError):
    """A charge asks for more than is left."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.requested = self.remaining = Fraction(0)
        self.shortage = message
        """What is asked for, what is left, and how much that is too much."""

    @classmethod
    def of(
        cls, pairs: PairClass, requested: Fraction, remaining: Fraction, *, budget: Budget, what: str
    ) -> OverBudgetError:
        """Make the error for a charge to a class that exceeds what is left of its budget, and keep both amounts."""
        brief = budget.measure.brief
        if pairs.kind in ("all", "every"):
            left = f"of the budget of {budget.kept} only {budget.measure.left(remaining)} is left"
            said = f"{what} {brief(requested)}, but {left}"
        else:
            lost = f"{pairs.words} have lost {brief(budget.amount - remaining)} of the budget of {budget.kept}"
            said = f"{lost}, and {what} {brief(requested)} on them"
        shortage = f"{said}: {brief(requested - remaining)} too much."
        error = cls(
            f"{shortage} Nothing was charged, and no value was read.",
            hint=budget.left(remaining) if remaining > 0 else "the budget is used up.",
        )
        error.requested, error.remaining, error.shortage = requested, remaining, shortage
        return error

    @property
    def difference(self) -> Fraction:
        """By how much the request is too large."""
        return self.requested - self.remaining

    def within(self, where: str, line: int | None = None) -> OverBudgetError:
        error = type(self)(f"{where}: {self.message}", hint=self.hint)
        error.line = self.line if line is None else line
        error.requested, error.remaining, error.shortage = self.requested, self.remaining, self.shortage
        return error


# Balances: what each class of secret pairs has lost in all, a summary of the entries, which are the truth.


@dataclass(frozen=True)
class Balance:
    """What the entries charged to one class, in one region, add up to."""

    pairs: PairClass
    amount: Fraction
    entry: int
    """The number of the last of these entries."""


def summed(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """Work out all balances from the entries."""
    sums: dict[PairClass, Balance] = {}
    for entry in entries:
        for pairs, amount in entry.loss:
            so_far = sums[pairs].amount if pairs in sums else Fraction(0)
            sums[pairs] = Balance(pairs, so_far + amount, entry.number)
    return tuple(sums[pairs] for pairs in sorted(sums, key=lambda pairs: pairs.order))


def lost(balances: Iterable[Balance], measure: Measure) -> Loss:
    """Return what is lost on each class."""
    return Loss.of({balance.pairs: balance.amount for balance in balances}, measure)


def by_class(loss: Loss, policy: Policy | None) -> dict[PairClass, Fraction]:
    """Say for each class of a policy the most that one of its pairs has lost.

    Classes of other policies are listed if they have lost something; so are all, if the policy cannot be read back.
    """
    own = () if policy is None else classes_met(policy, policy.domain.names)
    others = sorted({pairs.whole for pairs, _ in loss} - {*own, EVERY}, key=lambda pairs: pairs.order)
    classes = (*own, *others) or ((ALL,) if loss.on(EVERY) else ())
    return {pairs: loss.on(pairs) for pairs in classes}


def in_words(loss: Loss, policy: Policy | None) -> dict[str, Fraction]:
    """Say the same, classes by the attribute that their pairs change."""
    lost = by_class(loss, policy)
    attributes = {pairs.attribute for pairs in lost}
    kinds = {pairs: f"({pairs.kind})" if pairs.kind in attributes else pairs.kind for pairs in lost}
    return {pairs.attribute or kinds[pairs]: amount for pairs, amount in lost.items()}
