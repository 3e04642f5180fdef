"""What a release may teach somebody who hesitates between two values of a person.

Somebody who thinks with probability p that a person has the first of two values has the odds p / (1 - p). A release
multiplies them by at most e^(steps epsilon), and by at least one over it. Where a policy promises nothing about odds
(:mod:`blowfish_privacy.policies.distances`), nothing is said of them here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp
from typing import Any

from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import PairPromise, is_name_only, pair_promise
from blowfish_privacy.policies.explain import explain_pair, neighbouring
from blowfish_privacy.privacy.measure import EPSILON, Strength
from blowfish_privacy.release.losses import lost_on
from blowfish_privacy.release.plan import Plan

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
        said, pair = self.promise, " and ".join(self.values)
        if said.promised == "tables":
            return f"{pair} are {said.apart}. {self._on_tables}"
        if said.promised != "odds":
            return explain_pair(self.policy, self.first, self.second).replace(said.pair, pair)
        if not self.strength.amount:
            return f"{pair} are {said.apart}. A release that loses nothing on them leaves the odds as they are."
        # With known facts the promise is not about somebody who knows all other records.
        whose = "for an attacker who knows the facts"
        if not self.policy.known:
            whose = "even for an attacker who knows every other record"
        weak = " They are protected in name only." if is_name_only(self.exponent) else ""
        return (
            f"{pair} are {said.apart}. After a loss of {self.strength.words}, the odds between them have changed "
            f"by at most a factor {self.factor}{self._formula}{self.strength.but}, {whose}.{weak}"
        )

    @property
    def _formula(self) -> str:
        if self.strength.measure is not EPSILON:
            return ""
        return f" (e to the {self.strength.words})" if self.steps == 1 else f" (e to the {self.steps} times epsilon)"

    @property
    def _on_tables(self) -> str:
        return (
            f"With known facts the promise is about tables that satisfy them: no output is more than {self.factor} "
            f"times as likely on one table as on another {neighbouring(self.policy)}{self.strength.but}. Where the "
            "facts leave no such table, nothing protects the value."
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
        return (
            f"Somebody who thinks it {percent_up(float(prior))} likely to be {one} and not {other} "
            f"will afterwards think so at most {percent_up(most)}, and at least "
            f"{percent_down(least)}{self.strength.but}."
        )


def odds_between(policy: Policy, first: Mapping[str, Any], second: Mapping[str, Any], strength: Strength) -> Odds:
    """Say what a loss means for two values; both may omit the same attributes, which are then equal."""
    return Odds(policy, first, second, pair_promise(policy, first, second), strength)


def lost_between(plan: Plan, names: frozenset[str]) -> Strength:
    """Bound what a planned release loses on the pairs that change these attributes."""
    return lost_on(plan.policy, plan.certificate.loss, plan.policy.domain.project(sorted(names)))


def odds_view(odds: Odds, prior: Fraction = EVEN) -> dict[str, Any]:
    """Show the odds as plain values; probabilities are rounded away from the prior."""
    most, least = odds.most(prior), odds.least(prior)
    return {
        "first": odds.promise.first,
        "second": odds.promise.second,
        "promised": odds.promise.promised,
        "steps": odds.steps,
        "factor": odds.factor,
        "prior": float(prior),
        "most": most,
        "least": least,
        "sentence": odds.sentence,
        "guess": odds.guess(prior),
    }


def percent_up(share: float) -> str:
    """Write a probability in hundredths, never less than it is; with more digits close to certainty."""
    for digits in range(4):
        shown = ceil(share * 100 * 10**digits) / 10**digits
        if shown < 99.5 or (digits and shown < 100):
            return f"{shown:.{digits}f} %"
    return "100 %"


def percent_down(share: float) -> str:
    """Write a probability in hundredths, never more than it is."""
    for digits in range(4):
        shown = ceil((1 - share) * 100 * 10**digits) / 10**digits
        if shown < 99.5 or (digits and shown < 100):
            return f"{100 - shown:.{digits}f} %"
    return "0 %"


def _moved(prior: Fraction, exponent: float) -> float:
    """Multiply odds by e^exponent, without numbers that overflow."""
    share = float(prior)
    if exponent <= 0:
        times = exp(exponent)
        return share * times / (1 - share + share * times)
    times = exp(-exponent)
    return share / (share + (1 - share) * times)
