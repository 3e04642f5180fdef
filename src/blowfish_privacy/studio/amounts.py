"""Amounts on a slider: round decimals at even distances of a logarithmic scale, written exactly into the file."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import log
from typing import TypeAlias

from blowfish_privacy.errors import QueryError
from blowfish_privacy.support.exact import show, stated_amount

Amount: TypeAlias = Decimal | Fraction
"""What a person stated: a decimal, or a fraction that no decimal is equal to."""

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


def written(amount: Amount) -> str:
    """Write an amount as a person would: without powers of ten and closing zeros."""
    if isinstance(amount, Fraction):
        return show(amount)
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_file(amount: Amount) -> Decimal | str:
    """Return what stands in a file for an amount."""
    return amount if isinstance(amount, Decimal) else written(amount)


def read_amount(text: object) -> Amount | None:
    """Read an amount that a person typed; None if a file would not take it."""
    if why_not(text, "it") is not None:
        return None
    try:
        return Decimal(_plain(text))
    except InvalidOperation:
        return Fraction(_plain(text))


def why_not(text: object, what: str) -> str | None:
    """Say why what a person typed is no amount; None if it is one."""
    if not _plain(text):
        return f"{what} is missing: write a number above 0, like 0.5 or 1/3."
    try:
        stated_amount(_plain(text), what, error=QueryError)
    except QueryError as error:
        return f"{error.message} Write it like 0.5 or 1/3."
    return None


def _plain(text: object) -> str:
    return "" if text is None else str(text).strip().replace(",", ".")


def rounded_to_stop(amount: Fraction, key: str) -> Decimal:
    """Return the nearest amount that a slider stops at."""
    stops = amounts(key)
    return stops[nearest(amount, stops)]
