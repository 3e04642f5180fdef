"""Budgets: how much may be lost in all, in which measure, and how that was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from blowfish_privacy.errors import BlowfishError, SpecError, brief, brief_name, nearest
from blowfish_privacy.privacy.conversion import epsilon_of
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate, Measure
from blowfish_privacy.support.exact import Number, exact, plain, readable, rounded_down, rounded_up, show, stated_amount

LARGEST_DELTA = Fraction(1, 100)
"""Deltas above this are refused: with that probability a release may reveal anything."""
DELTAS = tuple(Fraction(1, 10**digits) for digits in (6, 9, 12))
"""The deltas at which it is said what a rho means."""


@dataclass(frozen=True)
class Budget:
    """What a ledger promises: no secret pair loses more than the amount in all releases together."""

    measure: Measure
    amount: Fraction

    @classmethod
    def read(cls, value: object, what: str = "the budget", *, error: type[BlowfishError] = SpecError) -> Budget:
        """Read what a user writes: ``1.0``, ``{"rho": 0.05}``, ``{"epsilon": 1, "delta": "1e-9"}``, or a budget."""
        if isinstance(value, Budget):
            return value
        if not isinstance(value, Mapping):
            return cls(EPSILON, stated_amount(value, what, error=error))
        stated: dict[Any, object] = dict(value)
        _check_keys(stated, what, error)
        if "rho" in stated:
            return cls(RHO, stated_amount(stated["rho"], f"rho of {what}", error=error))
        epsilon = stated_amount(stated["epsilon"], f"epsilon of {what}", error=error)
        return cls.approximate(epsilon, checked_delta(stated["delta"], f"delta of {what}", error=error), error=error)

    @classmethod
    def approximate(cls, epsilon: Fraction, delta: Fraction, *, error: type[BlowfishError] = SpecError) -> Budget:
        """Make the budget of an epsilon and a delta: the rho that keeps this promise."""
        measure = Approximate.of(epsilon, delta)
        if not measure.allowed:
            raise error(f"an epsilon of {brief(epsilon)} at delta {short(delta)} is too small for any release.")
        return cls(measure, measure.allowed)

    @property
    def words(self) -> str:
        """Say it the way it was stated: "1", "rho 0.05", "epsilon 1 at delta 1e-9"."""
        if isinstance(self.measure, Approximate):
            return f"epsilon {readable(self.measure.epsilon)} at delta {short(self.measure.delta)}"
        shown = readable(self.amount)
        return shown if self.measure is EPSILON else f"{self.measure.unit} {shown}"

    @property
    def named(self) -> str:
        """Say it with the name of its measure: "epsilon 1"."""
        return f"{EPSILON.name} {self.words}" if self.measure is EPSILON else self.words

    @property
    def kept(self) -> str:
        """Say it with the amount that it is kept by, where that is not the same."""
        approximate = isinstance(self.measure, Approximate)
        return f"{self.words} ({self.measure.left(self.amount)})" if approximate else self.words

    def left(self, remaining: Fraction) -> str:
        """Say what may still be asked for."""
        if self.measure is EPSILON:
            return "ask for a smaller epsilon."
        pure = rounded_down(self.measure.pure(remaining))
        return f"what is left is enough for {self.measure.left(remaining)}, or for a pure epsilon of {pure}."

    @property
    def written(self) -> Any:
        """Write it as a policy file does."""
        if isinstance(self.measure, Approximate):
            return {"epsilon": plain(self.measure.epsilon), "delta": short(self.measure.delta)}
        return plain(self.amount) if self.measure is EPSILON else {self.measure.name: plain(self.amount)}

    @property
    def view(self) -> Any:
        """Show it as plain values for JSON, exactly; a text alone is one of epsilon."""
        if isinstance(self.measure, Approximate):
            return {"epsilon": str(self.measure.epsilon), "delta": str(self.measure.delta)}
        return str(self.amount) if self.measure is EPSILON else {self.measure.name: str(self.amount)}

    def same(self, other: Budget) -> bool:
        """Say whether another states the same; the order that a promise is kept by may differ between versions."""
        return self.written == other.written


BudgetLike: TypeAlias = Budget | Number | Mapping[str, Number]
"""What a caller may give as a budget."""


def deltas(measure: Measure) -> tuple[Fraction, ...]:
    """Say at which deltas amounts are explained; at none where they are epsilons themselves."""
    if isinstance(measure, Approximate):
        return (measure.delta,)
    return () if measure is EPSILON else DELTAS


def meanings(measure: Measure, amount: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Say which epsilon an amount means at which delta; nothing where it is an epsilon itself."""
    for delta in deltas(measure):
        at_its_order = isinstance(measure, Approximate)
        yield measure.epsilon_of(amount) if at_its_order else epsilon_of(amount, delta), delta


def meanings_view(measure: Measure, amount: Fraction) -> list[dict[str, str]]:
    """Show the same as plain values for JSON."""
    return [{"epsilon": str(epsilon), "delta": str(delta)} for epsilon, delta in meanings(measure, amount)]


def meaning_words(measure: Measure, amount: Fraction) -> Iterator[str]:
    """Say the same in words."""
    for epsilon, delta in meanings(measure, amount):
        yield f"epsilon {rounded_up(epsilon)} at delta {short(delta)}"


def checked_delta(value: object, what: str, *, error: type[BlowfishError]) -> Fraction:
    """Accept a delta that is small enough to promise something."""
    delta = exact(value, what, error=error)
    if not 0 < delta < 1:
        alone = " A budget that nothing may fail is its epsilon alone, as in 1.0." if delta == 0 else ""
        raise error(
            f"{what} must be a probability above 0 and below 1, got {show(delta)}.", hint=f"write it like 1e-9.{alone}"
        )
    if delta > LARGEST_DELTA:
        raise error(
            f"{what} must be at most {show(LARGEST_DELTA)}, got {show(delta)}: any result may be so much "
            "likelier than epsilon allows, so it should be far below one in the number of records.",
            hint="write it like 1e-9.",
        )
    return delta


def short(number: Fraction) -> str:
    """Write a small number with its power of ten where that is exact: 1e-9."""
    digits, _, power = f"{float(number):.6e}".partition("e")
    text = f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return text if Fraction(text) == number and int(power) < -3 else show(number)


def _check_keys(stated: Mapping[Any, object], what: str, error: type[BlowfishError]) -> None:
    forms = "write 1.0, {rho: 0.05} or {epsilon: 1, delta: 1e-9}."
    known = ("rho", "epsilon", "delta")
    for key in stated:
        if key not in known:
            raise error(f"{what} has an unknown key {brief_name(key)}.", hint=nearest(str(key), known))
    if "rho" in stated and len(stated) > 1:
        raise error(f"{what} states rho beside epsilon or delta: it is one or the other.", hint=forms)
    if "rho" not in stated and set(stated) != {"epsilon", "delta"}:
        missing = "delta" if "epsilon" in stated else "epsilon" if "delta" in stated else "rho, or epsilon and delta"
        raise error(f"{what} lacks {missing}.", hint=forms)
