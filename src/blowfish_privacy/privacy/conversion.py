"""What a loss in rho means as (epsilon, delta), and the other way round, with every bound on the safe side.

A loss of rho bounds the Renyi divergence of every order a by rho a. Each order above 1 shows that probabilities grow by
at most a factor exp(epsilon) plus delta, where

    epsilon = a rho + (log(1 / delta) - log(a)) / (a - 1) + log(1 - 1 / a)        [canonne2020, Proposition 12].

The best order is searched for in floats, which does no harm since every order is valid; what it gives is worked out in
fractions, with logarithms enclosed from both sides, and rounded towards more loss.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, isqrt, log, log1p

from blowfish_privacy.support.exact import enclosed_log

_DIGITS = 6
"""How many digits results have."""
_LEAST, _MOST = -30.0, 60.0
"""Where the logarithm of the best order minus 1 is searched for."""
_THIRDS = 120


@lru_cache(maxsize=256)
def epsilon_of(rho: Fraction, delta: Fraction, pure: tuple[Fraction, ...] = ()) -> Fraction:
    """Return the smallest epsilon, rounded up, such that whatever loses at most rho is (epsilon, delta)-private.

    ``pure`` are what other releases lose in epsilon beside it: their divergence of order a is at most a times half its
    square, and never more than it.
    """
    if not rho and not any(pure):
        return Fraction(0)
    lost, unlikely, others = _float(rho), _log(delta), [_float(epsilon) for epsilon in pure]

    def cost(order: float) -> float:
        linear = sum(min(order * epsilon**2 / 2, epsilon) for epsilon in others)
        return order * lost + linear + _float_offset(order, unlikely)

    order = _order(cost)
    epsilon = epsilon_at(order, rho + sum(min(each**2 / 2, each / order) for each in pure), delta)
    return epsilon if rho else min(epsilon, round_up(sum(pure, Fraction(0))))


def epsilon_at(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, that follows from the divergence of one order alone: at most rho times it."""
    return round_up(max(order * rho + _offset(order, delta), Fraction(0)))


@lru_cache(maxsize=256)
def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which (epsilon, delta) leaves the largest rho; its inverse is a short decimal."""
    allowed, unlikely = _float(epsilon), _log(delta)
    return _order(lambda order: (_float_offset(order, unlikely) - allowed) / order)


@lru_cache(maxsize=256)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, such that whatever loses at most rho is (epsilon, delta)-private."""
    order = best_order(epsilon, delta)
    rho = round_down(max((epsilon - _offset(order, delta)) / order, Fraction(0)))
    # The order is valid; that of epsilon_of may differ in its last digit, and its result is rounded too.
    while epsilon_of(rho, delta) > epsilon:
        rho = round_down(rho * (1 - Fraction(1, 10**_DIGITS)))
    return rho


def pure_of(rho: Fraction) -> Fraction:
    """Return the largest epsilon, rounded down, with epsilon^2 / 2 at most rho: it never loses more than rho."""
    if rho <= 0:
        return Fraction(0)
    scale = 10 ** (2 * _DIGITS + max(0, -_magnitude(rho)))
    return round_down(Fraction(isqrt(int(2 * rho * scale**2)), scale))


def round_up(number: Fraction) -> Fraction:
    """Round a number of at least 0 up to a few digits."""
    unit = _unit(number)
    return -(-number // unit) * unit


def round_down(number: Fraction) -> Fraction:
    """Round a number of at least 0 down to a few digits."""
    unit = _unit(number)
    return number // unit * unit


def _offset(order: Fraction, delta: Fraction) -> Fraction:
    """Bound from above by how much epsilon exceeds the divergence of an order."""
    (_, improbable), (small, _), (_, shrunk) = map(enclosed_log, (1 / delta, order, 1 - 1 / order))
    return (improbable - small) / (order - 1) + shrunk


def _float_offset(order: float, log_delta: float) -> float:
    return (-log_delta - log(order)) / (order - 1) + log1p(-1 / order)


def _order(cost: Callable[[float], float]) -> Fraction:
    """Search for the order of least cost: it falls, then rises, so a third of the range can be left out each time."""
    low, high = _LEAST, _MOST
    for _ in range(_THIRDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if cost(1 + exp(left)) <= cost(1 + exp(right)) else (left, high)
    # Amounts are divided by orders: with an inverse of few digits they stay short decimals.
    return 1 / round_down(1 / (1 + Fraction(exp((low + high) / 2))))


def _unit(number: Fraction) -> Fraction:
    """Return the unit in the last of a number's leading digits."""
    return Fraction(10) ** (_magnitude(number) - _DIGITS + 1)


def _magnitude(number: Fraction) -> int:
    """Return the exponent of the power of ten of a number's first digit."""
    if number == 0:
        return 0
    exponent = len(str(number.numerator)) - len(str(number.denominator))
    return exponent if number >= Fraction(10) ** exponent else exponent - 1


def _log(number: Fraction) -> float:
    return log(number.numerator) - log(number.denominator)


def _float(number: Fraction) -> float:
    """Return a float near a number of any size."""
    return exp(min(max(_log(number), -700.0), 700.0)) if number else 0.0
