"""Amounts on a slider: round decimals at even distances of a logarithmic scale, written exactly into the file."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import log

_STEPS = tuple(map(Decimal, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
_RANGES = {"epsilon": (-3, 1), "rho": (-5, 1), "error": (-1, 6)}
"""Powers of ten between which a slider moves."""
_LEAST = Fraction(1, 10**300)


def amounts(key: str) -> list[Decimal]:
    """List the amounts that a slider stops at, from small to large."""
    least, most = _RANGES[key]
    found = [step.scaleb(power) for power in range(least, most) for step in _STEPS]
    # Written out and read again, so that a file has 10 and not 1E+1.
    return [Decimal(written(stop)) for stop in (*found, Decimal(1).scaleb(most))]


def nearest(amount: Fraction, stops: Sequence[Decimal]) -> int:
    """Return the number of the stop that is nearest to an amount, by their ratio."""
    wanted = log(min(max(amount, _LEAST), 1 / _LEAST))
    return min(range(len(stops)), key=lambda number: abs(log(float(stops[number])) - wanted))


def written(amount: Decimal) -> str:
    """Write an amount as a person would: without powers of ten and closing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_amount(text: object) -> Decimal | None:
    """Read an amount that a person typed; None if it is no number above 0."""
    try:
        amount = Decimal(str(text).strip().replace(",", "."))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None


def rounded_to_stop(amount: Fraction, key: str) -> Decimal:
    """Return the nearest amount that a slider stops at."""
    stops = amounts(key)
    return stops[nearest(amount, stops)]
