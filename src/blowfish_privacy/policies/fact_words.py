"""What known facts do to the noise, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from warnings import catch_warnings, simplefilter

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.known_facts.changes import LargestChange, span_of
from blowfish_privacy.known_facts.fact_model import fact_model
from blowfish_privacy.known_facts.facts import KnownFact, KnownMarginal, crosses
from blowfish_privacy.known_facts.theorems import under_facts
from blowfish_privacy.policies.policy import Policy
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import some_edge
from blowfish_privacy.support.exact import show

_SHOWN = 5
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
    for fact in policy.known[:_SHOWN]:
        yield _alone(policy, fact, plain)
    if len(policy.known) > _SHOWN:
        yield f"And {len(policy.known) - _SHOWN:,} more facts."
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
    said = f"Knowing {fact.words(policy.domain)}"
    with catch_warnings():
        simplefilter("ignore", BlowfishWarning)
        single = replace(policy, known=(fact,), size=policy.size if policy.records is None else policy.records)
    if not crosses(single):
        return f"{said} costs nothing: no secret pair changes it."
    largest = _table(single)
    if largest is None or not largest.together:
        left = 0 if largest is None else largest.value
        return f"{said} leaves nobody a way to change it: the full table's sensitivity is {left}."
    if not largest.value:
        return f"{said} {_nothing_left(single)}"
    restricted = fact.attributes if isinstance(fact, KnownMarginal) else fact.box(policy.domain)
    changed = " or ".join(quoted(name) for name in restricted if policy.graph.changes(name))
    balanced = f"{said} forces a change of one person's {changed} to be balanced by other people's"
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
            " If fewer or coarser counts are public in truth, list only those; queries of few attributes may pay less."
        )
    these = "Together these facts are" if len(policy.known) > 1 else "That is"
    yield (
        f"{these} {weight}: records that must move together change the full table by "
        f"{_at_most(largest)}{times}, and its noise grows by as much.{advice}"
    )


def _determined(policy: Policy) -> bool:
    """Say whether the counts of all values follow from the known ones."""
    model = fact_model(policy, policy.domain.names)
    return model.incidence.nullity == 0 and not any(
        span_of(HistogramForm(policy.domain), model.classes).diameters[model.live_classes]
    )


def _nothing_left(policy: Policy) -> str:
    if _determined(policy):
        return "discloses the whole table by itself: nothing is left that could be protected."
    return "leaves no secret pair that changes the full table while this count holds."


def _table(policy: Policy) -> LargestChange | None:
    return under_facts(HistogramForm(policy.domain), policy)


def _at_most(largest: LargestChange | None) -> str:
    return "" if largest is None or largest.exact else "at most "
