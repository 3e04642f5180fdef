"""Values that are protected in name only: so much is lost on the steps between them that they are told apart anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import ceil, exp, floor, log
from typing import TYPE_CHECKING, TypeAlias

from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.policies.distances import furthest, furthest_together

if TYPE_CHECKING:
    from blowfish_privacy.policies.policy import Policy

MOST_TIMES = 1_000
"""The factor by which odds may change before values, although connected by steps, count as protected in name only."""
IN_NAME_ONLY = "In name only: "
_MOST_DIGITS, _MOST_POWER = 6, 1000

Exponent: TypeAlias = Callable[[Hops], float]
"""Bounds the logarithm of the change of odds between values so many steps apart."""


def is_name_only(exponent: float) -> bool:
    """Say whether a promise that odds change by no more than e^exponent promises anything."""
    return exponent > log(MOST_TIMES)


def name_only(pairs: Iterable[tuple[str, Hops, float, str]], after: str) -> Iterator[str]:
    """Word which of these pairs are protected in name only: their steps, the exponent, and the factor in words."""
    for pair, hops, exponent, factor in pairs:
        if is_name_only(exponent):
            apart = "a secret pair, but" if hops == 1 else f"{hops:,} steps apart, so"
            yield (
                f"{IN_NAME_ONLY}{pair[0].lower()}{pair[1:]} are {apart} the odds between them may change by a factor "
                f"up to {factor} after {after}."
            )


def presence_in_name_only(policy: Policy, exponent: float, factor: str, after: str) -> Iterator[str]:
    """Say where whether a person is in the table is secret in name only, by the exponent of what is lost on that."""
    if policy.size == "unknown" and is_name_only(exponent):
        yield (
            f"{IN_NAME_ONLY}whether a person is in the table is secret, but the odds of it may change by a factor "
            f"up to {factor} after {after}."
        )


def promised_in_name_only(
    policy: Policy, exponent: Exponent = float, after: str = "a loss of epsilon 1"
) -> tuple[str, ...]:
    """Say which values a loss leaves protected in name only, because of its size or of the steps between them."""
    together = furthest_together(policy)
    far = [(pair, hops) for _, pair, hops in furthest(policy, least=1)] + ([] if together is None else [together])
    pairs = ((pair, hops, exponent(hops), times(exponent(hops))) for pair, hops in far)
    return (*presence_in_name_only(policy, exponent(1), times(exponent(1)), after), *name_only(pairs, after))


def times(exponent: float) -> str:
    """Write the factor e^exponent for a reader, never less than it is."""
    power = floor(exponent / log(10))
    if power >= _MOST_POWER:
        return f"more than 10^{_MOST_POWER}"
    if power < _MOST_DIGITS:
        value = exp(exponent)
        return f"{ceil(100 * value) / 100:.2f}" if value < 10 else f"{ceil(value):,}"
    tenths = ceil(10 * 10 ** (exponent / log(10) - power))
    power, tenths = (power, tenths) if tenths < 100 else (power + 1, 10)
    return f"10^{power}" if tenths == 10 else f"{tenths / 10:g} x 10^{power}"
