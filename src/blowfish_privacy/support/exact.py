"""Exact numbers: what a user writes becomes a fraction, once, on entry.

Strings, decimals and fractions are taken exactly. A float is taken at its printed decimal value, so that
0.1 means one tenth and ten spends of 0.1 fit a budget of 1.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import TypeAlias

from blowfish_privacy.errors import BlowfishError, brief

Number: TypeAlias = int | float | str | Decimal | Fraction

# A decimal exponent makes a fraction of as many digits: "1e999999999" must not be allowed to fill the memory.
_MAX_EXPONENT = 400
_LARGEST = 10**1000
_MOST_AMOUNT = 10**15
_LONGEST = 24


def exact(value: object, what: str, *, error: type[BlowfishError]) -> Fraction:
    """Turn a number as a user writes it into a fraction, or raise ``error`` naming ``what`` it is."""
    number = _parse(value)
    if number is not None and max(abs(number.numerator), number.denominator) >= _LARGEST:
        number = None
    if number is None:
        shown = brief(value)
        comma = isinstance(value, str) and _parse_text(value.strip().replace(",", ".")) is not None
        hint = "write decimals with a point, as in 0.5." if comma else "write it like 5, 0.5, '1/3' or '0.05'."
        raise error(f"{what} must be a finite number, got {shown}.", hint=hint)
    return number


def positive(value: object, what: str, *, error: type[BlowfishError]) -> Fraction:
    """Like :func:`exact`, for a number that must be above zero."""
    number = exact(value, what, error=error)
    if number <= 0:
        raise error(f"{what} must be above 0, got {show(number)}.")
    return number


def stated_amount(value: object, what: str, *, error: type[BlowfishError]) -> Fraction:
    """Like :func:`positive`, for what is spent or an error that is wanted: nobody can mean one far from 1."""
    number = positive(value, what, error=error)
    hint = "write a number between 10^-15 and 10^15."
    if number > _MOST_AMOUNT:
        raise error(f"{what} is too large: more than 10^15.", hint=hint)
    if number < Fraction(1, _MOST_AMOUNT):
        raise error(f"{what} is too small: less than 10^-15.", hint=hint)
    return number


def show(number: Fraction | int) -> str:
    """Write a fraction the way a person would: 5, 0.05, 1/3."""
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    digits = _decimal_digits(number.denominator)
    if digits is None or digits > 12:
        return f"{number.numerator}/{number.denominator}"
    scaled = abs(number.numerator) * (10**digits // number.denominator)
    whole, part = divmod(scaled, 10**digits)
    return f"{'-' if number < 0 else ''}{whole}.{part:0{digits}d}"


def rounded(number: Fraction | int) -> str:
    """Write a fraction for a reader: a short decimal as it is, anything else with six digits."""
    shown = show(number)
    if len(shown) <= 9 and "/" not in shown:
        return shown
    if not number.numerator or 10**-300 < abs(number) < 10**15:
        return f"{float(number):,.0f}" if abs(number) >= 100_000 else f"{float(number):.6g}"
    return scientific(Fraction(number))


def readable(number: Fraction | int) -> str:
    """Write a fraction exactly where that is short, and rounded where nobody would read all its digits."""
    shown = show(number)
    return shown if len(shown) <= _LONGEST else rounded(number)


def about(number: float) -> str:
    """Write a number with about three digits."""
    if number >= _MOST_AMOUNT:
        return "more than 10^15"
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def scientific(number: Fraction) -> str:
    """Write a number that is too large to be written out."""
    return f"{Decimal(number.numerator) / number.denominator:.2e}"


def plain(number: Fraction) -> int | str:
    """Write a fraction as a policy file does: a whole number, or text that is read back exactly."""
    return int(number) if number.denominator == 1 else show(number)


def _parse(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float):
        value = repr(float(value))
    if isinstance(value, Decimal):
        value = str(value)
    return _parse_text(value.strip()) if isinstance(value, str) else None


def _parse_text(text: str) -> Fraction | None:
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if len(mantissa) > 3 * _MAX_EXPONENT or not text.isascii():
        return None
    try:
        if exponent and abs(int(exponent)) > _MAX_EXPONENT:
            return None
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _decimal_digits(denominator: int) -> int | None:
    """Count the decimal places a fraction with this denominator needs; None when they never end."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator //= 2
        twos += 1
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    return max(twos, fives) if denominator == 1 else None
