"""What a card says is protected, and how strongly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.policies.distances import furthest, furthest_together
from blowfish_privacy.policies.explain import hidden, neighbouring
from blowfish_privacy.privacy.budget import meaning_words
from blowfish_privacy.privacy.classes import changing, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.privacy.strength import Strength
from blowfish_privacy.release.reading import Release
from blowfish_privacy.release.whole_record import along, whole_record
from blowfish_privacy.statements.card_layout import Item
from blowfish_privacy.statements.card_words import FURTHER_UNDER_FACTS, few, odds, others, unit, why_exact


def lost(release: Release) -> Strength:
    """Return how strongly a release protects."""
    return Strength(release.certificate.loss.measure, release.certificate.amount)


def protected(release: Release) -> Iterator[Item]:
    """Say whose values are protected, which of them, and how strongly."""
    policy, words, strength = release.policy, release.policy.words(), lost(release)
    yield Item("Privacy unit", unit(release))
    for sentence in [*few([str(rule) for rule in words.protected]), *words.added]:
        yield Item("Protected", sentence)
    if not words.sentences:
        yield Item("Protected", "Nothing: the policy has no secret values.")
    elif strength.amount:
        yield Item("Protected", hidden(policy, "Strength"))
    if not strength.amount:
        yield Item("Strength", f"None: this answer has no noise, since {why_exact(release)}.")
        return
    yield Item("Strength", _strength(release, strength))
    if strength.measure is RHO:
        meant = " or ".join(meaning_words(strength.measure, strength.amount))
        yield Item("Strength", f"As (epsilon, delta), for the probabilities of all outputs: {meant}.")
    yield from (Item("Further apart", sentence) for sentence in _further(release, strength))
    if strength.grade:
        large = f"{strength.words[0].upper()}{strength.words[1:]}"
        yield Item(
            "Warning",
            f"{large} is large: one release may change odds {strength.factor()} times, which protects "
            f"{strength.grade}.",
        )


def _strength(release: Release, strength: Strength) -> str:
    """Say by how much outputs, or odds, may differ."""
    if release.policy.known:
        between = neighbouring(release.policy)
        likely = f"No output is more than {strength.factor()} times as likely on one table as on another {between}"
        return f"{likely}{strength.but}."
    how = " (e to the epsilon)" if strength.measure is EPSILON else f"{strength.but}"
    return (
        f"The odds {odds(release)} change by at most a factor {strength.factor()}{how}, even for somebody who knows "
        f"{others(release)}."
    )


def _further(release: Release, strength: Strength) -> Iterator[str]:
    policy = release.policy
    together = furthest_together(policy)
    own = [(pair, hops, *_own(release, strength, domain)) for domain, pair, hops in furthest(policy)]
    # Nothing is said of attributes that the release tells nothing about.
    yield from few([_apart(*each) for each in own if each[2].amount])
    if together is not None:
        most = whole_record(release.mechanism, policy, release.selection) if strength.measure is RHO else None
        yield _apart(*together, strength, most)
    if not policy.steps_add_up:
        yield FURTHER_UNDER_FACTS


def _own(release: Release, strength: Strength, domain: Domain) -> tuple[Strength, Fraction | None]:
    """Return how strongly values of some attributes are protected, and by the rows that were measured; None if unknown.

    A release loses nothing on the values of an attribute that it does not look at.
    """
    policy, (name, *more) = release.policy, domain.names
    # Where records come and go, a chain may lead through a person who is not there.
    if more or policy.size == "unknown" or not one_attribute_at_a_time(policy):
        return strength, None
    lost = replace(strength, amount=release.certificate.loss.on(changing(name)))
    by_rows = along(release.mechanism, policy, release.selection, name) if lost.measure is RHO else None
    return lost, by_rows


def _apart(pair: str, hops: Hops, strength: Strength, most: Fraction | None) -> str:
    apart = f"{pair} are {hops:,} secret steps apart"
    if most is not None and most <= strength.amount:
        return f"{apart} and, by the numbers that were measured, protected no less."
    return f"{apart} and protected less: a factor {strength.factor(hops, most)}."
