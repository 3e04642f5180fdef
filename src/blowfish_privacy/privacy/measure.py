"""How the loss on a secret pair is counted: in epsilon, or in rho.

Losses in epsilon bound the log-ratio of the probabilities of any output; losses in rho bound the Renyi divergence of
every order a by rho a (zero-concentrated, [bun2016]). Amounts of one measure add up from release to release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.support.exact import show


class Measure(ABC):
    """How the loss on a secret pair is counted."""

    name: str
    """What an amount is called, in words and in a ledger."""
    kinds: ClassVar[dict[str, Measure]] = {}
    """Every measure of one kind only, by its name."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a measure known by its name."""
        super().__init_subclass__(**options)
        name = vars(cls).get("name")
        if not isinstance(name, str):
            return
        if name in Measure.kinds:
            raise LedgerError(f"there is a measure {name!r} already: budgets would change their meaning.")
        Measure.kinds[name] = cls()

    @abstractmethod
    def over(self, amount: Fraction, steps: int) -> Fraction:
        """Bound the loss between two values several secret pairs apart, where each pair loses the amount."""

    def words(self, amount: Fraction) -> str:
        """Write an amount with the name of its measure."""
        return f"{self.name} {show(amount)}"


class Epsilon(Measure):
    """The largest log-ratio of the probabilities of any output [he2014, Definition 4.2]."""

    name = "epsilon"

    def over(self, amount: Fraction, steps: int) -> Fraction:
        """Log-ratios add up along a chain."""
        return amount * steps


class Rho(Measure):
    """The largest ratio of the Renyi divergence of any order to the order [bun2016, Definition 1.1]."""

    name = "rho"

    def over(self, amount: Fraction, steps: int) -> Fraction:
        """Divergences grow with the square of the length of a chain [bun2016, Proposition 1.9]."""
        return amount * steps**2


EPSILON = Measure.kinds[Epsilon.name]
RHO = Measure.kinds[Rho.name]
