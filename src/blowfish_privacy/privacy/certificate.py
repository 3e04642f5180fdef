"""What a mechanism can prove about itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.graphs import FullDomain
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity
from blowfish_privacy.support.exact import rounded_up


@dataclass(frozen=True)
class Certificate:
    """The privacy loss, derived again from the noise scales a mechanism holds and the worst change they must hide."""

    loss: Loss
    """The loss on every class of secret pairs."""
    policy_hash: str
    mechanism: str
    scales: tuple[Fraction, ...]
    """The noise scales, in units of the outputs; one for all outputs where there is one."""
    sensitivity: Sensitivity
    proof: str
    differential_privacy: bool
    """Whether the policy is full domain without known facts, so that this is (bounded) differential privacy."""

    def __repr__(self) -> str:
        return f"<Certificate of {self.mechanism}: {self.statement}>"

    @property
    def amount(self) -> Fraction:
        """The largest loss on any secret pair, in the measure of the loss."""
        return self.loss.largest

    @property
    def epsilon(self) -> Fraction | None:
        """The largest loss, where it is counted in epsilon."""
        return self.amount if self.loss.measure is EPSILON else None

    @property
    def rho(self) -> Fraction | None:
        """The largest loss, where it is counted in rho."""
        return self.amount if self.loss.measure is RHO else None

    @property
    def statement(self) -> str:
        """The guarantee in one line; its amount has four digits, and is never less than what is lost."""
        if self.amount == 0:
            left = "no secret pair that remains possible changes this answer"
            return f"0-loss under Blowfish policy {self.policy_hash[:12]}: {left}"
        bounded = " (which is bounded differential privacy)" if self.differential_privacy else ""
        if self.loss.measure is RHO:
            bounded = " (which is bounded zero-concentrated differential privacy)" if self.differential_privacy else ""
            return f"(rho {rounded_up(self.amount)}, {self.policy_hash[:12]})-zero-concentrated Blowfish{bounded}"
        return f"({rounded_up(self.amount)}, {self.policy_hash[:12]})-Blowfish{bounded}"


def is_differential_privacy(policy: Policy) -> bool:
    """Say whether a policy asks for (bounded) differential privacy, and nothing less."""
    full = FullDomain().on(policy.domain).canonical()
    return policy.graph.canonical() == full and not policy.known
