"""A policy in plain words: what is protected, how strongly, what is not, and what is assumed to be public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.known_facts.facts import KnownFact, KnownMarginal, crosses
from blowfish_privacy.policies.distances import (
    PairPromise,
    furthest,
    furthest_together,
    is_unprotected,
    pair_promise,
    times,
    unprotected_after,
)
from blowfish_privacy.policies.policy import Policy
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import some_edge
from blowfish_privacy.support.exact import show

if TYPE_CHECKING:
    from blowfish_privacy.known_facts.changes import LargestChange

_NOTHING = "Nothing: the policy has no secret pairs."
COMPLETE = "Nothing is fully unprotected; values several steps apart are protected less."
BY_THE_FACTS = "Whatever the known facts disclose by themselves, and values between which they leave no way to move."
BY_CHAINS = (
    "Values several steps apart, where it is not proved that steps add up: with known facts a chain of secret pairs "
    "may lead through values that nobody can have, and a release may show exactly which of the two ends a person has."
)
EPSILONS = (0.1, 0.5, 1.0)


def explain_policy(policy: Policy, weak: Sequence[str] | None = None) -> str:
    """Explain a policy, section by section; ``weak`` says what is effectively unprotected, by default at epsilon 1."""
    words = policy.words()
    sections = [
        ("What is protected", [*words.sentences, hidden(policy, "epsilon")] if words.sentences else [_NOTHING]),
        ("How strongly", list(_strength(policy))),
        ("What is NOT protected", [*not_protected(policy, weak)]),
        ("What is assumed to be public", list(_public(policy))),
        *([("What the known facts do", [*what_facts_do(policy)])] if policy.known else []),
        ("Whose protection", list(_unit(policy))),
    ]
    return "\n\n".join(f"{title}\n" + "\n".join(f"  - {line}" for line in lines) for title, lines in sections)


def explain_pair(policy: Policy, first: Mapping[str, object], second: Mapping[str, object]) -> str:
    """Say how well one value is protected from another."""
    promise = pair_promise(policy, first, second)
    return promise_words(policy, promise, promise.pair)


def promise_words(policy: Policy, promise: PairPromise, pair: str) -> str:
    """Say what is promised about two values, which are called ``pair``."""
    if promise.promised == "same":
        return f"{pair} are the same value."
    if promise.promised == "unproved":
        return (
            f"No promise is made for {pair}, though secret pairs lead from the one to the other: by the known "
            "facts nobody can have one of them, or it is not proved that steps add up. A release may show exactly "
            "which of the two a person is."
        )
    if promise.promised == "nothing":
        return (
            f"{pair} are not protected from each other at all: no chain of secret pairs connects them, "
            "so a release may show exactly which of the two a person is."
        )
    if promise.promised == "tables":
        return f"{pair} are {promise.apart}. {with_facts(policy)}"
    whose = "The odds of an attacker who knows the facts" if policy.known else "An attacker's odds"
    weak = " At eps = 1 they are effectively unprotected." if is_unprotected(promise.hops) else ""
    return f"{pair} are {promise.apart}. {whose} between them change by at most {factors(promise.hops)}.{weak}"


def not_protected(policy: Policy, weak: Sequence[str] | None = None) -> tuple[str, ...]:
    """List what releases need not hide, and what is effectively unprotected; or else say that nothing is left out."""
    return (*unprotected(policy), *(unprotected_after(policy) if weak is None else weak)) or (COMPLETE,)


def unprotected(policy: Policy, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """List what releases under a policy need not hide; of some attributes alone, if they are named."""
    by_facts = (BY_THE_FACTS, *(() if policy.steps_add_up else (BY_CHAINS,))) if policy.known else ()
    return (*policy.words(names).unprotected, *by_facts)


def about_attribute(policy: Policy, name: str) -> tuple[str, ...]:
    """Say what a policy protects of one attribute by itself, or else that it does not."""
    words = policy.graph.project([name]).words()
    if policy.known:
        # The known facts may disclose a secret pair, which would make it a bad example.
        words = words.without_examples
    if policy.size != "unknown" or words.protected or policy.domain[name].size < 2:
        return words.sentences or words.unprotected
    return (
        f"{quoted(name)}: no two values are a secret pair. But whether a person is in the table at all is secret, so "
        "any two values are two steps apart, and releases do not show it exactly.",
    )


def hidden(policy: Policy, measure: str) -> str:
    """Say that what is secret is hidden exactly as strongly as a measure says."""
    if presence_only(policy):
        return f"Whether a person is in the table is hidden as strongly as {measure} says, no more."
    left = " that the known facts leave open" if policy.known else ""
    return f"A secret pair{left} is hidden as strongly as {measure} says, no more."


def presence_only(policy: Policy) -> bool:
    """Say whether the only secret about a person is whether they are in the table."""
    return policy.size == "unknown" and not policy.graph.has_edges


def neighbouring(policy: Policy) -> str:
    """Describe which tables must look alike if facts are known (docs/proofs/neighbours.md)."""
    how = ", each along a secret pair," if policy.compensation == "secret-moves" else ""
    return (
        f"in which a person moves along a secret pair and other people{how} move along so that the known facts stay "
        "true, and nobody moves who need not"
    )


def with_facts(policy: Policy, factor: str = "e^eps", but: str = "") -> str:
    """Say what is promised under known facts, and with which exception."""
    return (
        f"With known facts the promise is about tables that satisfy them: no output is more than {factor} times as "
        f"likely on one table as on another {neighbouring(policy)}{but}. Where the facts leave no such table, nothing "
        "protects the value."
    )


def factors(hops: Hops) -> str:
    """Write the largest change of the odds for a few values of epsilon."""
    power = "eps" if hops == 1 else f"({hops} eps)"
    return f"a factor e^{power}: " + ", ".join(f"{times(hops * eps)} at eps = {eps:g}" for eps in EPSILONS)


def _strength(policy: Policy) -> Iterator[str]:
    if not policy.graph.has_edges and policy.size != "unknown":
        yield "Not at all: releases are exact."
        return
    if policy.known:
        yield with_facts(policy)
    else:
        present = "that a person is in the table"
        between = present if presence_only(policy) else "between the two values of a secret pair"
        if policy.size == "unknown" and not presence_only(policy):
            between += f", and those {present},"
        yield (
            f"After a release with privacy loss eps, even for an attacker who knows every other record, the odds "
            f"{between} change by at most {factors(1)}."
        )
        yield (
            "Between values several steps apart the odds may change by that factor once for every step, "
            "so values far apart are told apart more easily."
        )
    if presence_only(policy):
        yield (
            "This is add-or-remove differential privacy. Bounded differential privacy of the same epsilon puts any two "
            "values one step apart, not two, and leaves the number of records public: the two epsilons do not compare."
        )
    for _, pair, hops in furthest(policy):
        yield f"{pair} are {hops} steps apart: {factors(hops)}."
    together = furthest_together(policy)
    if together is not None:
        yield f"{together[0]} are {together[1]} steps apart: {factors(together[1])}."


def _public(policy: Policy) -> Iterator[str]:
    size = policy.domain.size
    cells = "one combination" if size == 1 else f"{size:,} combinations" if size < 10**15 else "very many combinations"
    yield f"The declared values of {', '.join(map(quoted, policy.domain.names))} ({cells})."
    if policy.size == "unknown":
        yield "Not the number of records: whether a person is in the table at all is secret too."
    else:
        stated = "" if policy.records is None else f" ({policy.records:,})"
        yield f"The number of records{stated}."
    for fact in policy.known:
        words = fact.words(policy.domain)
        yield f"{words[0].upper()}{words[1:]}."
    if not policy.known:
        yield "No other counts: if some are public, list them under known, or the promise weakens."
    if crosses(policy) and policy.compensation == "anywhere":
        yield (
            "Because these counts are known, one person's change can force others to change with it; "
            "they may change to any value, and the noise must cover them all together."
        )
    if policy.known and policy.compensation == "secret-moves":
        yield (
            "Compensation is limited to secret moves: this protects only against attackers who already know each "
            "record up to values that are all secret pairs of each other. It is weaker than the default."
        )


def _unit(policy: Policy) -> Iterator[str]:
    rows = policy.rows_per_person
    yield (
        "Each person is protected by themselves. What ties people's values together beyond the facts listed here "
        "(a household, say) can reveal more than one person's share."
    )
    if rows == 1:
        yield "One row is one person; every person is protected as above."
    else:
        yield (
            f"A person may have up to {rows} rows, and all of them together are protected as above: "
            f"noise is {rows} times larger."
            + ("" if policy.size == "unknown" else " How many rows each person has is not protected.")
        )


# What known facts do to the noise.

_MOST_SHOWN = 5
_CHEAP = 3
"""Facts that make the noise at most this many times larger are called cheap."""
_EVERYTHING = (
    "THE KNOWN FACTS ALREADY DISCLOSE EVERYTHING: all counts of the full table follow from them, so there is nothing "
    "left to protect, and the table would be published without noise."
)
_NO_PAIR = (
    "NO SECRET PAIR IS LEFT that changes the full table while these counts hold: it would be published without noise."
)


def what_facts_do(policy: Policy) -> Iterator[str]:
    """Say what each known fact does to the noise of the full table, and what all of them do together."""
    plain = 2 if some_edge(policy.graph) is not None else 0
    for fact in policy.known[:_MOST_SHOWN]:
        yield _alone(policy, fact, plain)
    if len(policy.known) > _MOST_SHOWN:
        yield f"And {len(policy.known) - _MOST_SHOWN:,} more facts."
    yield from _together(policy, plain)


def refusal_of_facts(policy: Policy) -> RefusalError | None:
    """Return why no noise for the full table is known under all facts together; None if some is."""
    try:
        _table(policy)
    except RefusalError as refused:
        return refused
    return None


def what_facts_disclose(policy: Policy) -> str | None:
    """Say that the known facts leave nothing in the full table to protect; None if they do leave something."""
    try:
        largest = _table(policy)
    except RefusalError:
        return None
    if largest is None or largest.value:
        return None
    return _EVERYTHING if _determined(policy) else _NO_PAIR


def _alone(policy: Policy, fact: KnownFact, plain: int) -> str:
    knowing = f"Knowing {fact.words(policy.domain)}"
    with catch_warnings():
        simplefilter("ignore", BlowfishWarning)
        single = replace(policy, known=(fact,), size=policy.size if policy.records is None else policy.records)
    if not crosses(single):
        return f"{knowing} costs nothing: no secret pair changes it."
    largest = _table(single)
    if largest is None or not largest.together:
        left = 0 if largest is None else largest.value
        return f"{knowing} leaves nobody a way to change it: the full table's sensitivity is {left}."
    if not largest.value and _determined(single):
        return f"{knowing} discloses the whole table by itself: nothing is left that could be protected."
    if not largest.value:
        return f"{knowing} leaves no secret pair that changes the full table while this count holds."
    restricted = fact.attributes if isinstance(fact, KnownMarginal) else fact.box(policy.domain)
    changed = " or ".join(quoted(name) for name in restricted if policy.graph.changes(name))
    balanced = f"{knowing} forces a change of one person's {changed} to be balanced by other people's"
    return f"{balanced}: the full table's sensitivity {plain} becomes {_at_most(largest)}{largest.value:,}."


def _together(policy: Policy, plain: int) -> Iterator[str]:
    if not crosses(policy):
        yield "The known facts are free: no secret pair changes any of them, and noise is as without them."
        return
    try:
        largest = _table(policy)
    except RefusalError as refused:
        yield f"RUINOUS together: {refused.message} What to do: {refused.hint}"
        return
    value = plain if largest is None else largest.value
    if not value:
        yield _EVERYTHING if _determined(policy) else _NO_PAIR
        return
    if largest is None or not largest.together:
        yield f"The stated counts leave single moves only: the full table's sensitivity is {value}."
        return
    times = f"{show(value)} instead of {plain}" if plain else show(value)
    weight = "cheap" if value <= _CHEAP * plain else "expensive"
    advice = ""
    if weight == "expensive":
        advice = (
            " If fewer or coarser counts are in fact public, list only those; queries of few attributes may pay less."
        )
    these = "Together these facts are" if len(policy.known) > 1 else "That is"
    yield (
        f"{these} {weight}: records that must move together change the full table by "
        f"{_at_most(largest)}{times}, and its noise grows by as much.{advice}"
    )


def _determined(policy: Policy) -> bool:
    """Say whether the counts of all values follow from the known ones."""
    from blowfish_privacy.known_facts.changes import span_of
    from blowfish_privacy.known_facts.fact_model import fact_model

    model = fact_model(policy, policy.domain.names)
    return model.incidence.nullity == 0 and not any(
        span_of(HistogramForm(policy.domain), model.classes).diameters[model.live_classes]
    )


def _table(policy: Policy) -> LargestChange | None:
    """Find the largest change of the full table; the searches are loaded only where there are facts."""
    from blowfish_privacy.known_facts.theorems import under_facts

    return under_facts(HistogramForm(policy.domain), policy)


def _at_most(largest: LargestChange) -> str:
    return "" if largest.exact else "at most "
