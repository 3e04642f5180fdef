"""The releases of a product, each in a line or two."""

from __future__ import annotations

from blowfish_privacy.domain import quoted
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.account import by_class
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass
from blowfish_privacy.release.verification import Product, Released
from blowfish_privacy.results import from_text
from blowfish_privacy.statements.card_exactness import error_words, remarks
from blowfish_privacy.statements.card_words import statistic, why_exact
from blowfish_privacy.statements.product_loss import pairs_named


def named(released: Released, product: Product) -> str:
    """Name a release; of several with one name also by the entry that paid for it."""
    several = sum(each.name == released.name for each in product.released) > 1
    return f"{quoted(released.name)} (entry {released.entry.number})" if several else quoted(released.name)


def release_words(released: Released, product: Product) -> str:
    """Say what a release is, how wrong, what it lost and when."""
    return f"{statistic(released.parts)} {_exactness(released, product)} {_cost(released, product)}"


def charge_words(entry: Entry) -> str:
    """Say what was charged where nothing was handed out."""
    asked = quoted(entry.description.partition(" [")[0])
    return f"Entry {entry.number}, {asked}: {loss_words(entry.loss)}. Nothing was handed out for it, and it counts."


def loss_words(loss: Loss) -> str:
    """Say what was lost on which secret pairs, of which records, and how much on each where that is not the same."""
    lost = {pairs: amount for pairs, amount in by_class(loss, None).items() if amount}
    if not lost:
        return "nothing lost"
    partly = {pairs for pairs in lost if _within(loss, pairs)}
    most, number = loss.measure.words(loss.largest), loss.measure.number
    every = _SOME if len(partly) == len(lost) else ""
    names = {pairs: f"{pairs_named(pairs)}{_SOME if pairs in partly and not every else ''}" for pairs in lost}
    if len({*map(number, lost.values())}) == 1:
        return f"{most} on {', '.join(names.values())}{every}"
    each = ", ".join(f"{names[pairs]} {number(amount)}" for pairs, amount in lost.items())
    return f"at most {most}{every}: {each}"


_SOME = " (of some records)"


def _within(loss: Loss, pairs: PairClass) -> bool:
    """Say whether what a class lost was lost on some of its pairs alone, wherever it was lost."""
    return all(other.within for other, _ in loss if other == EVERY or other.whole == pairs)


def _exactness(released: Released, product: Product) -> str:
    if not released.plan.amount:
        return f"Without noise: {why_exact(released.main)}."
    said = remarks(from_text(released.text, product.folder))
    return " ".join([f"Typical error {error_words(released.parts)}", *said])


def _cost(released: Released, product: Product) -> str:
    entry, own = released.entry, released.plan.certificate.loss
    charged = entry.loss
    if not charged.largest:
        return f"It lost nothing (entry {entry.number})."
    same = own.measure.words(own.largest) == charged.measure.words(charged.largest)
    counted = "" if same else f"{own.measure.words(own.largest)}, counted as "
    rule = "" if released.plan.policy.hash == product.policy.hash else f"; {entry.rule}"
    return f"It lost {counted}{loss_words(charged)} (entry {entry.number}{rule})."
