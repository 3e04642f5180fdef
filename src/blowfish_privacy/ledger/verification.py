"""Checking a ledger against itself: every hash, every sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.exact import show
from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.entry import Document, Entry, sha256
from blowfish_privacy.ledger.store import Store


@dataclass(frozen=True)
class Report:
    """What a verification found. The amounts are recomputed from the rows."""

    problems: tuple[str, ...]
    entries: int
    documents: int
    budget: Fraction
    spent: Fraction

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_rows(store: Store) -> Report:
    """Recompute the balance and all hashes from the rows.

    Times are not compared: clocks may go backwards, and the order of the rows is that of their numbers.
    """
    account = store.account()
    try:
        entries, documents = list(store.entries()), list(store.documents())
    except LedgerError as error:
        return Report((error.message,), account.entries, account.documents, account.budget, account.spent)
    spent = sum((entry.charged for entry in entries), Fraction(0))
    first = Account.first_link(account.budget, account.created)
    problems = [
        *_chain_problems("entry", entries, first, account.entries, account.entries_head),
        *(problem for entry in entries for problem in _entry_problems(entry)),
        *_chain_problems("document", documents, first, account.documents, account.documents_head),
        *_document_problems(documents, {entry.number for entry in entries}),
    ]
    if spent != account.spent:
        problems.append(f"the entries add up to {show(spent)}, but the balance says {show(account.spent)} is spent.")
    if spent > account.budget:
        problems.append(f"{show(spent)} is spent, more than the budget of {show(account.budget)}.")
    return Report(tuple(problems), len(entries), len(documents), account.budget, spent)


def _chain_problems(
    what: str, rows: list[Entry] | list[Document], first: str, expected: int, head: str
) -> Iterator[str]:
    previous = first
    for number, row in zip(count(1), rows, strict=False):
        if row.number != number:
            yield f"{what} {number} is missing or renumbered: {row.number} stands in its place."
        if row.link(previous) != row.chain:
            yield f"{what} {row.number} was changed, or what came before it: its hash does not fit."
        previous = row.chain
    if len(rows) != expected:
        yield f"there are {len(rows)} rows of kind {what}, but the balance counts {expected}."
    if previous != head:
        yield f"the last {what} is not the one that the balance knows: rows at the end are missing or were added."


def _entry_problems(entry: Entry) -> Iterator[str]:
    if sha256(entry.policy.canonical) != entry.policy.hash:
        yield f"the policy stored with entry {entry.number} does not have the hash it claims."
    if entry.charged < entry.epsilon:
        yield f"entry {entry.number} charged less than its epsilon."


def _document_problems(documents: list[Document], entries: set[int]) -> Iterator[str]:
    for document in documents:
        if sha256(document.text) != document.sha256:
            yield f"the document of entry {document.entry} was changed: its hash does not fit."
        if document.entry not in entries:
            yield f"document {document.number} belongs to entry {document.entry}, which does not exist."
