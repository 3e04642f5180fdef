"""The releases of a product, each in a line or two."""

from __future__ import annotations

from blowfish_privacy.domain import quoted
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.balance import by_class
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.release.product import Product, Released
from blowfish_privacy.statements.card_exactness import error_words
from blowfish_privacy.statements.card_words import what, why_exact
from blowfish_privacy.statements.product_loss import pairs_named


def named(released: Released, product: Product) -> str:
    """Name a release; of several with one name also by the entry that paid for it."""
    several = sum(each.name == released.name for each in product.released) > 1
    return f"{quoted(released.name)} (entry {released.entry.number})" if several else quoted(released.name)


def release_words(released: Released, product: Product) -> str:
    """Say what a release is, how wrong, what it lost and when."""
    return f"{statistic(released)} {_exactness(released)} {_cost(released, product)}"


def statistic(released: Released) -> str:
    """Say what was asked, and how many numbers that are."""
    main, many = released.main, numbers(released)
    return f"{what(main)}{main.selection.words(main.policy.domain)} ({many:,} number{'s' if many > 1 else ''})."


def numbers(released: Released) -> int:
    """Count the numbers of a release."""
    return sum(len(part.noisy) for part in released.parts)


def charge_words(entry: Entry) -> str:
    """Say what was charged where nothing was handed out."""
    asked = quoted(entry.description.partition(" [")[0])
    return f"Entry {entry.number}, {asked}: {loss_words(entry.loss)}. Nothing was handed out for it, and it counts."


def loss_words(loss: Loss) -> str:
    """Say what was lost on which secret pairs, and how much on each where that is not the same."""
    lost = {pairs: amount for pairs, amount in by_class(loss, None).items() if amount}
    if not lost:
        return "nothing lost"
    partly = " (of some records)" if any(pairs.within for pairs, _ in loss) else ""
    most, number = loss.measure.words(loss.largest), loss.measure.number
    if len({*lost.values()}) == 1:
        return f"{most} on {', '.join(map(pairs_named, lost))}{partly}"
    each = ", ".join(f"{pairs_named(pairs)} {number(amount)}" for pairs, amount in lost.items())
    return f"at most {most}{partly}: {each}"


def _exactness(released: Released) -> str:
    if not released.plan.amount:
        return f"Without noise: {why_exact(released.main)}."
    return f"Typical error {error_words(released.parts)}"


def _cost(released: Released, product: Product) -> str:
    entry, own = released.entry, released.plan.certificate.loss
    charged = entry.loss
    if not charged.largest:
        return f"It lost nothing (entry {entry.number})."
    same = own.measure.words(own.largest) == charged.measure.words(charged.largest)
    counted = "" if same else f"{own.measure.words(own.largest)}, counted as "
    rule = "" if released.plan.policy.hash == product.policy.hash else f"; {entry.rule}"
    return f"It lost {counted}{loss_words(charged)} (entry {entry.number}{rule})."
