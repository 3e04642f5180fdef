"""The target that a release is calibrated to: what it may lose (epsilon, rho, or epsilon and delta), or its error.

Laplace noise loses epsilon and Gaussian noise rho. A target in rho allows for either: Gaussian noise at that rho, or
Laplace noise at the epsilon that costs the same. A target in (epsilon, delta) allows for Laplace noise at that epsilon,
or for Gaussian noise at the rho that implies it; a ledger that counts in rho is charged no more than that rho for
either. A target in epsilon alone means Laplace noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from blowfish_privacy.errors import BlowfishError, QueryError, brief
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure, checked_delta, rho_of
from blowfish_privacy.support.exact import Number, stated_amount

Noise: TypeAlias = Literal["laplace", "gaussian"]
NOISES: tuple[str, ...] = get_args(Noise)
_EXAMPLES = 'epsilon="0.1" or rho="0.005" to spend, error=25 to solve for it.'


@dataclass(frozen=True)
class Target:
    """What a release may lose, or how large its error may be, as the user stated it.

    ``amount`` may map the values of a public group to what each may spend.
    """

    unit: Measure
    """What the amount counts."""
    amount: Any = None
    delta: Fraction | None = None
    """By how much the probability of any result may exceed what epsilon allows."""
    error: Fraction | None = None
    """The root mean squared error to solve for, if no amount is stated."""
    noise: Noise | None = None
    ledger: Measure | None = None
    """How the ledger counts that will be charged, if there is one."""

    @classmethod
    def of(
        cls,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        noise: Any = None,
        ledger: Measure | None = None,
        problem: type[BlowfishError] = QueryError,
    ) -> Target:
        """Check what was stated: one of epsilon, rho and error; delta beside epsilon, or beside error."""
        stated = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("error", error)) if value is not None]
        if len(stated) != 1:
            raise problem("give one of epsilon, rho and error.", hint=_EXAMPLES)
        if noise is not None and noise not in NOISES:
            raise problem(f"noise is 'laplace' or 'gaussian', got {brief(noise)}.")
        if delta is not None:
            if rho is not None:
                raise problem("delta stands beside epsilon.", hint="rho says all by itself.")
            delta = checked_delta(delta, "delta", error=problem)
        counts_in_rho = noise == "gaussian" or (noise is None and ledger not in (None, EPSILON))
        concentrated = rho is not None or (error is not None and delta is None and counts_in_rho)
        if noise == "gaussian" and not concentrated and delta is None:
            raise problem("Gaussian noise loses rho, not epsilon.", hint="give rho, or delta beside epsilon.")
        amount = rho if rho is not None else epsilon
        if amount is not None and not isinstance(amount, Mapping):
            amount = stated_amount(amount, "rho" if rho is not None else "epsilon", error=problem)
        wanted = None if error is None else stated_amount(error, "error", error=problem)
        return cls(RHO if concentrated else EPSILON, amount, delta, wanted, noise, ledger)

    def of_group(self, amount: Any) -> Target:
        """Return what one group may spend."""
        name = "rho" if self.unit is RHO else "epsilon"
        return replace(self, amount=None if amount is None else stated_amount(amount, name, error=QueryError))

    def choices(self, amount: Fraction) -> dict[Measure, Fraction]:
        """Return what may be lost in each measure: any one of them, not all together."""
        if self.unit is RHO:
            choices = {RHO: amount, EPSILON: _pure(amount, self.ledger)}
        elif self.delta is not None:
            rho = rho_of(amount, self.delta)
            # A ledger that counts in rho is charged the same for either; another one allows epsilon itself.
            same = self.ledger in (None, EPSILON)
            choices = {EPSILON: amount if same else min(amount, _pure(rho, self.ledger)), RHO: rho}
        else:
            choices = {EPSILON: amount}
        if self.noise is not None:
            choices.pop(EPSILON if self.noise == "gaussian" else RHO, None)
        if self.ledger is EPSILON and (self.unit is RHO or EPSILON not in choices):
            # Refuses, unless Laplace noise was asked for.
            _ = EPSILON.converted(choices.get(RHO, Fraction(0)), RHO)
        if self.ledger is EPSILON:
            choices.pop(RHO, None)
        return {measure: lost for measure, lost in choices.items() if lost > 0}

    @property
    def certain(self) -> tuple[Measure, Fraction] | None:
        """What will be lost, if that is known before planning: the measure, and how much.

        A release with a target in rho may lose less, where no mechanism with Gaussian noise answers: never more.
        """
        if self.amount is None or isinstance(self.amount, Mapping) or self.delta is not None:
            return None
        if self.noise == "laplace":
            return EPSILON, self.choices(self.amount)[EPSILON]
        return self.unit, self.amount

    @property
    def charged(self) -> Fraction:
        """What a ledger will have charged for what is certain, under its own policy."""
        measure, amount = self.certain or (EPSILON, Fraction(0))
        return amount if self.ledger is None else self.ledger.converted(amount, measure)


def _pure(rho: Fraction, ledger: Measure | None) -> Fraction:
    """Return the largest epsilon that costs a ledger no more than rho does."""
    return (RHO if ledger in (None, EPSILON) else ledger).pure(rho)


# What may be said about a release beside its query, for type checkers and editors.

Amount: TypeAlias = Number | Mapping[Any, Number]
"""What may be lost; in a release by a public attribute, possibly by its values."""


class Options(TypedDict, total=False):
    """The options of ``Session.plan`` and ``Session.release``; a mechanism asked for by name is one more."""

    epsilon: Amount | None
    rho: Amount | None
    delta: Number | None
    error: Number | None
    noise: Noise | None
    name: str
    key: str | None
    new: bool
