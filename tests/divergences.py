"""Renyi divergences of Gaussian noise, by adding up probabilities: nothing of the theory is used."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import isqrt

_DIGITS = 50
_DEVIATIONS = 18  # exp(-18^2 / 2) is 10^-70

TOLERANCE = Fraction(1, 10**35)
"""What rounding may have changed in a divergence."""


def renyi_divergence(rows: Iterable[tuple[int, Fraction]], order: Fraction) -> Fraction:
    """Return the divergence of an order between rows with discrete Gaussian noise and the same rows, changed.

    ``rows`` has for each row by how much it changes, and sigma^2 of its noise. Noise is independent, so the
    divergences of the rows add up.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        hidden = [_of_one_row(abs(change), variance, order) for change, variance in rows if change]
    return sum(map(Fraction, hidden), Fraction(0))


@lru_cache(maxsize=100_000)
def _of_one_row(change: int, sigma_squared: Fraction, order: Fraction) -> Decimal:
    """Add up ``P(z)^order Q(z)^(1 - order)``, where P and Q have their middles at 0 and at the change."""
    reach, rate, total = _weights(sigma_squared)
    exponent = Decimal(order.numerator) / order.denominator
    # The terms are largest somewhere between -(order - 1) times the change and 0.
    places = range(-reach - int(order + 1) * change, reach + change + 1)
    terms = ((-rate * (exponent * z * z + (1 - exponent) * (z - change) ** 2)).exp() for z in places)
    # P and Q have the same sum of weights, of which one power is left.
    return (sum(terms, Decimal(0)) / total).ln() / (exponent - 1)


@lru_cache(maxsize=1000)
def _weights(sigma_squared: Fraction) -> tuple[int, Decimal, Decimal]:
    """Return how far the weights ``exp(-rate z^2)`` reach, their rate, and what they add up to."""
    reach = _DEVIATIONS * (isqrt(int(sigma_squared)) + 1)
    rate = Decimal(sigma_squared.denominator) / (2 * sigma_squared.numerator)
    return reach, rate, sum(((-rate * z * z).exp() for z in range(-reach, reach + 1)), Decimal(0))
