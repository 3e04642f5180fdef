"""A policy as plain values for JSON: its size, what it leaves unprotected, how much common queries can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, groupby, pairwise
from math import ceil, exp, isclose, isinf
from typing import Any

from blowfish_privacy.domain import Domain, Numeric, quoted
from blowfish_privacy.errors import BlowfishError, PolicyError
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import (
    PairPromise,
    furthest,
    furthest_together,
    is_unprotected,
    pair_promise,
    unprotected_after,
)
from blowfish_privacy.policies.explain import promise_words, unprotected, with_facts
from blowfish_privacy.privacy.measure import EPSILON, Approximate, Budget, Strength
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries.counts import Cumulative, Histogram
from blowfish_privacy.queries.linear import Sum
from blowfish_privacy.queries.query import Query
from blowfish_privacy.release.losses import lost_on
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.support.exact import about, show
from blowfish_privacy.support.text import count_of

# The queries that people ask first: a policy is judged by what it does to them.


def overview(domain: Domain) -> list[tuple[str, Query]]:
    """Return, with titles, the whole table and the histogram, cumulative histogram and sum of each attribute."""
    queries: list[tuple[str, Query]] = [("histogram of all attributes", Histogram(*domain.names))]
    for name in domain:
        queries.append((f"histogram of {name}", Histogram(name)))
        if domain[name].ordered:
            queries.append((f"cumulative histogram of {name}", Cumulative(name)))
        if isinstance(domain[name], Numeric):
            queries.append((f"sum of {name}", Sum(name)))
    return queries


def policy_view(policy: Policy, budget: Budget | None = None) -> dict[str, Any]:
    """Show a policy that was read without an error."""
    return {
        "valid": True,
        "hash": policy.hash,
        "cells": policy.domain.size,
        "attributes": {name: policy.domain[name].size for name in policy.domain},
        "connected": policy.connected,
        "unprotected": list(unprotected(policy)),
        "in_name_only": list(unprotected_after_budget(policy, budget)),
        "known_facts": [fact.words(policy.domain) for fact in policy.known],
        "records": policy.records,
        "sensitivities": [_sensitivity(title, query, policy) for title, query in overview(policy.domain)],
    }


def unprotected_after_budget(policy: Policy, budget: Budget | None) -> tuple[str, ...]:
    """Say which values are effectively unprotected once all of a budget is spent; of none, after epsilon 1."""
    if budget is None:
        return unprotected_after(policy)
    lost = Strength(budget.measure, budget.amount)
    if isinstance(budget.measure, Approximate):
        lost = Strength(EPSILON, budget.measure.epsilon)
    return unprotected_after(policy, lost.exponent, f"all of the budget ({budget.named})")


def pair_view(policy: Policy, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Show how many secret steps two values are apart; None where no chain of secret pairs joins them."""
    hops = policy.distance(first, second)
    steps = None if isinf(hops) else hops
    return {"first": first, "second": second, "protected": steps is not None, "steps": steps}


def _sensitivity(title: str, query: Query, policy: Policy) -> dict[str, Any]:
    """Derive the sensitivity of a query; None, with the reason, where that is refused."""
    try:
        value = sensitivity(query, policy).value
    except BlowfishError as error:
        return {"query": title, "sensitivity": None, "note": error.message}
    free = "follows from the known facts" if policy.known else "published exactly, without noise"
    return {"query": title, "sensitivity": show(value), "note": "" if value else free}


# The secret graph of one attribute as plain values for a picture: values, pairs, groups, and how far steps reach.
#
# Everything is asked of the graph itself, value by value; of an attribute with many values some are shown, and the view
# says so. Where other attributes decide which pairs are secret (``policy.graph.homogeneous`` is False) there is no
# graph of one attribute, and nothing to show.

MOST_VALUES = 24
"""Of an attribute with more values, so many around a chosen one are shown."""
_MOST_GROUPED = 20_000
_MOST_ASKED = 1_000
"""Of an attribute with more values, some are asked for their steps, and the places where these change are searched."""
_MOST_BANDS = 12
"""How many bands are shown on each side of a value."""
_MOST_POINTS = 120


@dataclass(frozen=True)
class GraphValue:
    """A value of an attribute, and the number of the group that chains of secret pairs connect it with."""

    position: int
    text: str
    group: int


@dataclass(frozen=True)
class GraphView:
    """Some values of an attribute, and the secret pairs between them, by position."""

    name: str
    size: int
    values: tuple[GraphValue, ...]
    pairs: tuple[tuple[int, int], ...]
    groups: int | None
    """Into how many groups all values fall; None if there are too many values to ask."""

    @property
    def sentence(self) -> str:
        """Say what the picture shows, for those who do not see it."""
        many, size = len(self.values), self.size
        shown = f"{many:,} of {size:,} values" if many < size else count_of(size, "value")
        pairs = count_of(len(self.pairs), "secret pair") if self.pairs else "no secret pair"
        if self.groups is None or self.groups == self.size:
            return f"{shown}, {pairs} between them."
        return f"{shown}, {pairs} between them, in {count_of(self.groups, 'group')}."


@dataclass(frozen=True)
class Band:
    """Consecutive values that are equally many steps away; ``steps`` is None where nothing protects them."""

    first: int
    last: int
    text: str
    steps: int | None


@dataclass(frozen=True)
class ReachPoint:
    """One value and its steps; ``steps`` is None where nothing protects it."""

    position: int
    text: str
    steps: int | None


@dataclass(frozen=True)
class Reach:
    """How far the values around one value are from it, in bands without gaps; those further away are left out."""

    text: str
    bands: tuple[Band, ...]
    """Each holds at both of its ends; of an attribute with many values not all between them were asked."""
    points: tuple[ReachPoint, ...]
    """Values of the bands, for a picture: all of them, or some of many."""

    def words(self) -> list[str]:
        """Say in one line for each number of steps which values are that far away; nearest first."""
        by_steps = sorted(self.bands, key=lambda band: (band.steps is None, band.steps or 0))
        lines: list[str] = []
        for steps, group in groupby(by_steps, key=lambda band: band.steps):
            values = " and ".join(band.text for band in group)
            if steps is None:
                lines.append(f"{values}: not protected from {self.text}")
            elif steps:
                lines.append(f"{values}: {count_of(steps, 'step')} from {self.text}")
        return lines


def graph_view(policy: Policy, name: str, focus: int = 0, also: int | None = None) -> GraphView:
    """Show the secret pairs between values of one attribute.

    Of many values those around the ``focus`` are shown, and one that is chosen ``also``.
    """
    attribute, graph = policy.domain[name], _alone(policy, name)
    shown = sorted({*_window(attribute.size, focus, MOST_VALUES), focus if also is None else also})
    numbers: dict[object, int] = {}
    values = [
        GraphValue(position, attribute.show(position), numbers.setdefault(graph.component((position,)), len(numbers)))
        for position in shown
    ]
    pairs = tuple((a, b) for a, b in combinations(shown, 2) if graph.adjacent((a,), (b,)))
    groups = 1 if graph.connected else None
    if groups is None and attribute.size <= _MOST_GROUPED:
        groups = len({graph.component((at,)) for at in range(attribute.size)})
    return GraphView(name, attribute.size, tuple(values), pairs, groups)


def reach(policy: Policy, name: str, focus: int) -> Reach:
    """Cut an ordered attribute into bands of values that are equally many steps from one value.

    Steps are those of the promise: known facts may leave fewer than the secret pairs do.
    """
    attribute = policy.domain[name]
    _alone(policy, name)
    before, size = policy.domain.axis(name), attribute.size
    after = len(policy.domain.names) - before - 1

    @cache
    def steps(position: int) -> int | None:
        """Count the steps from the focus, with all other attributes fixed; None where nothing protects it."""
        first, second = ((*(0,) * before, at, *(0,) * after) for at in (focus, position))
        hops = policy.apart(first, second)
        return None if isinf(hops) else int(hops)

    positions = range(size) if size <= _MOST_ASKED else sorted({*_window(size, focus, 200), *_spread(0, size, 200)})
    ends = _last_of_bands(steps, [at for at in positions if at >= focus])
    starts = _last_of_bands(steps, [at for at in reversed(positions) if at <= focus])
    bands: list[Band] = []
    cuts = sorted({*(end + 1 for end in ends), *starts})
    for first, last in ((a, b - 1) for a, b in pairwise(cuts)):
        text = attribute.show(first) if first == last else f"{attribute.show(first)} to {attribute.show(last)}"
        bands.append(Band(first, last, text, steps(first)))
    shown = sorted({focus, *_spread(cuts[0], cuts[-1], _MOST_POINTS)})
    points = tuple(ReachPoint(at, attribute.show(at), steps(at)) for at in shown)
    return Reach(attribute.show(focus), tuple(bands), points)


def _last_of_bands(steps: Callable[[int], int | None], positions: list[int]) -> list[int]:
    """Walk away from the first of some positions; return where bands of equally many steps end, of the nearest few."""
    ends: list[int] = []
    for near, far in pairwise(positions):
        while steps(near) != steps(far) and len(ends) < _MOST_BANDS:
            same, last, beyond = steps(near), near, far
            while abs(beyond - last) > 1:
                middle = (last + beyond) // 2
                last, beyond = (middle, beyond) if steps(middle) == same else (last, middle)
            ends.append(last)
            near = last + (1 if far > near else -1)
        if len(ends) == _MOST_BANDS:
            return ends
    return [*ends, positions[-1]]


def _alone(policy: Policy, name: str) -> SecretGraph:
    if not policy.graph.homogeneous:
        raise PolicyError(
            f"which values of {name} are secret pairs depends on the other attributes.",
            hint="compare two whole records.",
        )
    return policy.graph.project([name])


def _window(size: int, focus: int, most: int) -> range:
    start = max(0, min(focus - most // 2, size - most))
    return range(start, min(size, start + most))


def _spread(start: int, stop: int, most: int) -> list[int]:
    return [*range(start, stop, max(1, (stop - start) // most)), stop - 1]


# What a release may teach somebody who hesitates between two values of a person.
#
# Somebody who thinks with probability p that a person has the first of two values has the odds p / (1 - p). A release
# multiplies them by at most e^(steps epsilon), and by at least one over it. Where a policy promises nothing about odds
# (:mod:`blowfish_privacy.policies.distances`), nothing is said of them here.

EVEN = Fraction(1, 2)
"""What somebody thinks who has no idea which of two values it is."""


@dataclass(frozen=True)
class Odds:
    """Two values of a person, and how far a release with some loss may lead somebody towards one of them."""

    policy: Policy
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    promise: PairPromise
    strength: Strength

    @property
    def steps(self) -> int | None:
        """The number of secret steps between the values; None where nothing is promised."""
        return int(self.promise.hops) if self.promise.promised in ("same", "odds", "tables") else None

    @property
    def bounded(self) -> bool:
        """Whether the odds between the two are promised to change by a bounded factor only."""
        return self.promise.promised in ("same", "odds")

    @property
    def exponent(self) -> float:
        """The logarithm of the factor; meaningful only where there is a promise."""
        return self.strength.exponent(self.steps or 0)

    @property
    def factor(self) -> str | None:
        """The factor of the promise, never less than it is; None where there is none."""
        return None if self.steps is None else self.strength.factor(self.steps)

    def most(self, prior: Fraction = EVEN) -> float | None:
        """Bound from above what becomes of a probability; None where nothing bounds it."""
        return _moved(prior, self.exponent) if self.bounded else None

    def least(self, prior: Fraction = EVEN) -> float | None:
        """Bound from below what becomes of a probability; None where nothing bounds it."""
        return _moved(prior, -self.exponent) if self.bounded else None

    @property
    def values(self) -> tuple[str, str]:
        """What the two are called; values of one attribute go without its name."""
        if len(self.first) > 1:
            return f"({self.promise.first})", f"({self.promise.second})"
        ((name, one),), ((_, other),) = self.first.items(), self.second.items()
        attribute = self.policy.domain[name]
        return attribute.say(attribute.position(one)), attribute.say(attribute.position(other))

    @property
    def sentence(self) -> str:
        """Say how far apart the two are and what a release may do to the odds between them."""
        promise, pair = self.promise, " and ".join(self.values)
        if promise.promised == "tables":
            return f"{pair} are {promise.apart}. {with_facts(self.policy, str(self.factor), self.strength.but)}"
        if promise.promised != "odds":
            return promise_words(self.policy, promise, pair)
        if not self.strength.amount:
            return f"{pair} are {promise.apart}. A release that loses nothing on them leaves the odds as they are."
        # With known facts the promise is not about somebody who knows all other records.
        whose = "for an attacker who knows the facts"
        if not self.policy.known:
            whose = "even for an attacker who knows every other record"
        weak = " They are effectively unprotected." if is_unprotected(self.exponent) else ""
        power = self.strength.words if self.steps == 1 else f"{self.steps} times epsilon"
        formula = f" (e to the {power})" if self.strength.measure is EPSILON else ""
        return (
            f"{pair} are {promise.apart}. After a loss of {self.strength.words}, the odds between them have changed "
            f"by at most a factor {self.factor}{formula}{self.strength.but}, {whose}.{weak}"
        )

    def guess(self, prior: Fraction = EVEN) -> str:
        """Say what becomes of somebody's guess, in hundredths."""
        most, least = self.most(prior), self.least(prior)
        if self.promise.promised == "same":
            return ""
        if self.promise.promised == "tables":
            return "How far a guess may move is not promised: with known facts the promise is about whole tables."
        if most is None or least is None:
            return "Somebody may become certain which of the two it is: nothing bounds it."
        one, other = self.values
        before = f"{percent_up(float(prior))} sure that it is {one} and not {other}"
        if prior == EVEN:
            before = f"at 50:50 between {one} and {other}"
        return (
            f"Someone {before} can become at most {percent_up(most)} sure that it is {one}, and stays at least "
            f"{percent_down(least)} sure{self.strength.but}."
        )


def odds_between(policy: Policy, first: Mapping[str, Any], second: Mapping[str, Any], strength: Strength) -> Odds:
    """Say what a loss means for two values; both may omit the same attributes, which are then equal."""
    return Odds(policy, first, second, pair_promise(policy, first, second), strength)


def lost_between(plan: Plan, names: frozenset[str]) -> Strength:
    """Bound what a planned release loses on the pairs that change these attributes."""
    return lost_on(plan.policy, plan.certificate.loss, plan.policy.domain.project(sorted(names)))


def percent_up(share: float) -> str:
    """Write a probability in hundredths, never less than it is; with more digits close to certainty."""
    shown, digits = _hundredths(share)
    return f"{shown:.{digits}f} %"


def percent_down(share: float) -> str:
    """Write a probability in hundredths, never more than it is."""
    shown, digits = _hundredths(1 - share)
    return f"{100 - shown:.{digits}f} %"


def _hundredths(share: float) -> tuple[float, int]:
    """Round a probability in hundredths up, to as many digits as keep it from certainty."""
    for digits in range(4):
        shown = ceil(share * 100 * 10**digits) / 10**digits
        if shown < 99.5 or (digits and shown < 100):
            return shown, digits
    return 100, 0


def _moved(prior: Fraction, exponent: float) -> float:
    """Multiply odds by e^exponent, without numbers that overflow."""
    share = float(prior)
    if exponent <= 0:
        times = exp(exponent)
        return share * times / (1 - share + share * times)
    times = exp(-exponent)
    return share / (share + (1 - share) * times)


# What a policy trades: the accuracy it gains over plain differential privacy, and the protection it gives up.

_AS_GOOD_AS_EQUAL = 0.005


def gained(plans: Sequence[Plan]) -> str:
    """Say in one sentence how many times more accurate each answer with noise is, and which gain nothing."""
    better: list[tuple[float, str]] = []
    same: list[str] = []
    for plan in plans:
        plain, error = plan.plain_error(), plan.expected_error().rmse
        if plain is not None and error:
            ratio = plain.rmse / error
            if ratio > 1 and not isclose(ratio, 1, rel_tol=_AS_GOOD_AS_EQUAL):
                better.append((ratio, quoted(plan.name)))
            else:
                same.append(quoted(plan.name))
    if not better:
        return "Gained: nothing in accuracy over plain differential privacy at the same epsilon."
    (most, first), *rest = sorted(better, reverse=True)
    gains = f"{first} is {about(most)} times more accurate than under plain differential privacy at the same epsilon"
    more = [f"{name} {about(ratio)} times" for ratio, name in rest]
    return f"Gained: {_listed([gains, *more])}{f'; nothing is gained for {_listed(same)}' if same else ''}."


def given_up(policy: Policy) -> str:
    """Say in one sentence what is protected less than under plain differential privacy, where all is one step apart."""
    far = [f"{pair} are {hops} steps apart" for _, pair, hops in furthest(policy)]
    together = furthest_together(policy)
    if together is not None:
        far.append(f"whole records up to {together[1]}")
    less = [f"values further apart are protected less, once per step ({', '.join(far)})"] if far else []
    not_at_all = [sentence.rstrip(".").split(". ")[0] for sentence in unprotected(policy)]
    return f"Given up: {'; '.join([*less, *not_at_all]) or 'nothing'}."


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
