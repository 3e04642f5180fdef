"""What a card says is protected, and how strongly."""

from __future__ import annotations

from collections.abc import Iterator

from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import hidden, neighbouring, presence_only
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength, meaning_words
from blowfish_privacy.release.losses import FarApart, attributes_seen, far_apart
from blowfish_privacy.release.reading import Release
from blowfish_privacy.statements.card_layout import Item
from blowfish_privacy.statements.card_words import FURTHER_UNDER_FACTS, few, odds, others, unit, why_exact


def lost(release: Release) -> Strength:
    """Return how strongly a release protects."""
    return Strength(release.certificate.loss.measure, release.certificate.amount)


def protected(release: Release) -> Iterator[Item]:
    """Say whose values are protected, which of them, and how strongly."""
    policy, strength = release.policy, lost(release)
    words = policy.words(attributes_seen(release))
    yield Item("Privacy unit", unit(policy))
    for sentence in [*few([str(rule) for rule in words.protected]), *words.added]:
        yield Item("Protected", sentence)
    if not words.sentences:
        yield Item("Protected", "Nothing: the policy has no secret values.")
    elif strength.amount:
        yield Item("Protected", hidden(policy, "Strength"))
    if not strength.amount:
        yield Item("Strength", f"None: this answer has no noise, since {why_exact(release)}.")
        return
    yield Item("Strength", strength_words(policy, strength))
    if strength.measure is RHO:
        meant = " or ".join(meaning_words(strength.measure, strength.amount))
        yield Item("Strength", f"As (epsilon, delta), for the probabilities of all outputs: {meant}.")
    yield from (Item("Further apart", sentence) for sentence in _further(release))
    if strength.grade:
        large = f"{strength.words[0].upper()}{strength.words[1:]}"
        yield Item(
            "Warning",
            f"{large} is large: one release may change odds {strength.factor()} times, which protects "
            f"{strength.grade}.",
        )


def less_than_full_domain(policy: Policy, strength: Strength) -> Item:
    """Say what differential privacy would hold to the same factor, and this policy does not."""
    bounded = "bounded " if policy.size == "unknown" else ""
    held = "presence" if presence_only(policy) else "its secret pairs"
    return Item(
        f"Less than {bounded}differential privacy",
        f"With the same {strength.measure.unit} it would hold all values of a person to the factor "
        f"{strength.factor()}; this policy holds only {held} to it.",
    )


def strength_words(policy: Policy, strength: Strength) -> str:
    """Say by how much outputs, or odds, may differ."""
    if policy.known:
        likely = f"No output is more than {strength.factor()} times as likely on one table as on another"
        return f"{likely} {neighbouring(policy)}{strength.but}."
    how = " (e to the epsilon)" if strength.measure is EPSILON else f"{strength.but}"
    return (
        f"The odds {odds(policy)} change by at most a factor {strength.factor()}{how}, even for somebody who knows "
        f"{others(policy)}."
    )


def _further(release: Release) -> Iterator[str]:
    alone, together = far_apart(release)
    one_step = lost(release).exponent()
    yield from few([said for each in alone if (said := _apart(each, one_step))])
    if together is not None and (said := _apart(together, one_step)):
        yield said
    if not release.policy.steps_add_up:
        yield FURTHER_UNDER_FACTS


def _apart(values: FarApart, one_step: float) -> str:
    """Say how much less values are protected that are many steps apart; nothing where it is no less than Strength."""
    apart = f"{values.pair} are {values.hops:,} secret steps apart"
    if values.most is not None and values.most <= values.strength.amount:
        return f"{apart} and, by the numbers that were measured, protected no less."
    return f"{apart} and protected less: a factor {values.factor}." if values.exponent > one_step else ""
