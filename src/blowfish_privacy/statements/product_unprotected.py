"""What the releases of a product do not protect: by their policies, by known facts, and where they are exact."""

from __future__ import annotations

from collections.abc import Iterator

from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import unprotected
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.privacy.measure import Strength
from blowfish_privacy.release.verification import Product, Released
from blowfish_privacy.statements.card_exactness import (
    BEYOND_NOISE,
    NO_FACTS,
    WEAKER,
    known_facts,
    records_known,
    shown_exactly,
)
from blowfish_privacy.statements.card_layout import Item
from blowfish_privacy.statements.card_strength import less_than_full_domain
from blowfish_privacy.statements.card_words import disclosed, name_only, why_exact
from blowfish_privacy.statements.notices import not_hidden
from blowfish_privacy.statements.product_loss import ProductLoss
from blowfish_privacy.statements.product_releases import named


def unprotected_in(loss: ProductLoss) -> Iterator[Item]:
    """List what no noise of these releases hides; nothing is left out."""
    product = loss.product
    policies = _policies(product)
    for each in product.released:
        yield from _exact(each, named(each, product))
    said = (sentence for policy in policies for sentence in unprotected(policy))
    yield from (Item("Unprotected", sentence) for sentence in dict.fromkeys(said))
    yield from (Item("In name only", sentence) for sentence in name_only(loss.in_name_only()))
    if any(disclosed(part) for each in product.released for part in each.parts):
        from blowfish_privacy.policies.fact_words import what_facts_disclose

        everything = (what_facts_disclose(policy) for policy in policies)
        yield from (Item("Unprotected", words) for words in dict.fromkeys(everything) if words is not None)
    yield from (Item("Exact or assumed known", quantity) for quantity in dict.fromkeys(_quantities(product, policies)))
    if any(policy.known and policy.compensation == "secret-moves" for policy in policies):
        yield Item("Weaker than usual", WEAKER)
    policy = product.policy
    if product.spent and not policy.known and not is_differential_privacy(policy):
        yield less_than_full_domain(policy, Strength(product.measure, product.spent))
    yield Item("Beyond any noise", BEYOND_NOISE)


def _policies(product: Product) -> list[Policy]:
    """Return the ledger's policy and those of the releases, each once."""
    policies = [product.policy, *(each.plan.policy for each in product.released)]
    return [*{policy.hash: policy for policy in policies}.values()]


def _exact(each: Released, called: str) -> Iterator[Item]:
    """Say of one release that it has no noise, or which of its groups."""
    if not each.plan.amount:
        yield Item("No noise", f"{called}: {why_exact(each.main)}, so it is as it is.")
        return
    yield from (Item("Note", f"{called}: {notice}") for notice in not_hidden(each.parts))


def _quantities(product: Product, policies: list[Policy]) -> Iterator[str]:
    for each in product.released:
        public = records_known(each.body, each.main)
        if each.main.policy.size == "unknown" != product.policy.size:
            # Secret in this release, and public by the ledger's policy.
            public = None
        if public is not None and not each.main.selection.where:
            yield public
        elif public is not None:
            yield f"In {named(each, product)}: {public[0].lower()}{public[1:]}"
        yield from (f"In {named(each, product)}, exactly: {shown}." for shown in shown_exactly(each.parts))
    facts = [fact for policy in policies for fact in known_facts(policy)]
    yield from facts or [NO_FACTS]
