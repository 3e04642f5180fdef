"""The balance of a ledger, and the error for asking too much of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from blowfish_privacy.errors import BudgetError
from blowfish_privacy.ledger.amounts import write_amount
from blowfish_privacy.ledger.entry import Document, Entry, Failure, chained
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.privacy.measure import EPSILON, Budget, Measure


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
    def first_link(budget: Fraction, created: str, measure: Measure = EPSILON) -> str:
        """Compute the hash that all chains start from; for pure epsilon that of format 1."""
        return chained("", write_amount(budget), created, *(() if measure is EPSILON else (measure.name,)))

    @property
    def terms(self) -> Budget:
        """The budget with its measure, as it was stated."""
        return Budget(self.measure, self.budget)

    @property
    def remaining(self) -> Fraction:
        """The part of the budget that is left."""
        return self.budget - self.spent

    def after_entry(self, entry: Entry, spent: Fraction) -> Account:
        """Return the account once an entry is added, with the most that a secret pair has then lost."""
        return replace(self, spent=spent, entries=self.entries + 1, entries_head=entry.chain)

    def after_document(self, document: Document) -> Account:
        """Return the balance once a document is added."""
        return replace(self, documents=self.documents + 1, documents_head=document.chain)

    def after_failure(self, failure: Failure) -> Account:
        """Return the balance once a failure is added; what its entry cost stays spent."""
        return replace(self, failures=self.failures + 1, failures_head=failure.chain)


class OverBudgetError(BudgetError):
    """A charge asks for more than is left."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.requested = self.remaining = Fraction(0)

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
        error = cls(
            f"{said}: {brief(requested - remaining)} too much. Nothing was charged, and no value was read.",
            hint=budget.left(remaining) if remaining > 0 else "the budget is used up.",
        )
        error.requested, error.remaining = requested, remaining
        return error

    @property
    def difference(self) -> Fraction:
        """By how much the request is too large."""
        return self.requested - self.remaining

    def within(self, where: str, line: int | None = None) -> OverBudgetError:
        """Return the same error, with ``where`` in front of its message."""
        error = type(self)(f"{where}: {self.message}", hint=self.hint)
        error.line = self.line if line is None else line
        error.requested, error.remaining = self.requested, self.remaining
        return error
