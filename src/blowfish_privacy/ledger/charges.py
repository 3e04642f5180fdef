"""Looking up charges in a ledger, and checking what may still be done with them."""

from __future__ import annotations

from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.ledger.composition import Price
from blowfish_privacy.ledger.entry import Document, Entry, sha256
from blowfish_privacy.ledger.store import Store
from blowfish_privacy.privacy.measure import Measure


def already_made(store: Store, wanted: Entry) -> Entry | None:
    """Find the charge with this key; refuse one that was made for something else."""
    made = store.entry(wanted.key)
    if made is not None and not made.repeats(wanted):
        raise LedgerError(
            f"the key {wanted.key!r} was used for a different release: entry {made.number}, {made.description!r}, "
            f"{made.loss.measure.words(made.epsilon)}.",
            hint="a retry must ask for exactly the same; a new release needs a new key.",
        )
    return made


def paid(made: Entry, wanted: Entry, price: Price, measure: Measure) -> Entry:
    """Accept a charge that was made before, if it paid the full price."""
    due = price.charged(wanted.loss, measure)
    if made.charged < due.largest or not made.loss.covers(due):
        raise LedgerError(
            f"entry {made.number} has this release's key, but paid {measure.brief(made.charged)} and not what this "
            f"release costs: {measure.brief(due.largest)}.",
            hint="run 'blowfish ledger verify'; a release with a new key is charged anew.",
        )
    return made


def charge_of(store: Store, key: str) -> Entry:
    """Find the charge with this key; a document or failure cannot be recorded without one."""
    entry = store.entry(key)
    if entry is None:
        raise LedgerError("there is no charge with this key.", hint="charge first, then record.")
    return entry


def check_not_replaced(store: Store, entry: Entry) -> None:
    """Refuse to hand out an entry that was set aside, if the budget now belongs to another policy."""
    base = store.base() if store.failure(entry.number) is not None else None
    if base is not None and base.hash != entry.policy.hash:
        raise RefusalError(
            f"entry {entry.number} failed, and the budget has since been spent under another policy.",
            hint="release under the ledger's policy. Nothing was handed out.",
        )


def intact(document: Document) -> str:
    """Return the text of a document, unless it was changed after it was handed out."""
    if sha256(document.text) != document.sha256:
        raise LedgerError(
            f"the document stored for entry {document.entry} was changed after it was handed out.",
            hint="run 'blowfish ledger verify'.",
        )
    return document.text
