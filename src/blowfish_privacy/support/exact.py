"""Exact numbers: what a user writes becomes a fraction, once, on entry, and is written again for whoever reads it.

Strings, decimals and fractions are taken exactly. A float is taken at its printed decimal value, so that
0.1 means one tenth and ten spends of 0.1 fit a budget of 1. What a machine reads back is written exactly
(:func:`show`); what a person reads, at the precision that it deserves: a loss never less than it is
(:func:`rounded_up`), what is left of a budget never more (:func:`rounded_down`), an estimate to the digits that
its error leaves (:func:`measured`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from numbers import Integral, Rational
from typing import TypeAlias

from blowfish_privacy.errors import BlowfishError, brief

Number: TypeAlias = int | float | str | Decimal | Fraction

# A decimal exponent makes a fraction of as many digits: "1e999999999" must not be allowed to fill the memory.
_MAX_EXPONENT = 400
_LARGEST = 10**1000
_MOST_AMOUNT = 10**15
_SHORT, _SHORT_PART = 7, 3
"""What a reader takes in at a glance: so many characters of a decimal, and digits of each part of a fraction."""
_DIGITS = 4
"""The significant digits of an amount, for a reader."""
_MOST_ZEROS = 5
"""Numbers below 0.00001 are written with their power of ten."""
_MOST_WHOLE = 15


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


def is_positive(value: object) -> bool:
    """Say whether a value is a number above zero, as a user writes it."""
    try:
        positive(value, "it", error=BlowfishError)
    except BlowfishError:
        return False
    return True


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
    """Write a number for a reader: whole ones up to the last digit, others with four significant digits."""
    return _short(Fraction(number), round)


def rounded_up(number: Fraction | int) -> str:
    """Write what is lost, or another bound, like :func:`rounded` but never less than it is: 1/3 is 0.3334."""
    return _short(Fraction(number), ceil)


def rounded_down(number: Fraction | int) -> str:
    """Write what is left like :func:`rounded` but never more than it is: 1/3 is 0.3333."""
    return _short(Fraction(number), floor)


def readable(number: Fraction | int) -> str:
    """Write what somebody stated: as it was written where that is short, 0.25 or 1/3, else never less than it is."""
    shown = show(number)
    short = all(len(part) <= _SHORT_PART for part in shown.split("/")) if "/" in shown else len(shown) <= _SHORT
    return shown if short else rounded_up(number)


def measured(value: float, error: float) -> str:
    """Write an estimate to the last digit that its standard error deserves: 40.41163 is 40.4 if that is 0.1."""
    if not error:
        return f"{value:,}" if isinstance(value, int) else f"{value:,.7g}"
    places = _places(error)
    shown = round(value, places)
    # What rounds to nothing has no sign.
    return f"{shown + 0.0:,.{max(places, 0)}f}"


def with_error(value: float, error: float) -> str:
    """Write an estimate with its standard error, both to the same digit: 40.4 ± 0.1."""
    if not error:
        return measured(value, error)
    places = _places(error)
    return f"{measured(value, error)} ± {round(error, places):,.{max(places, 0)}f}"


def _places(error: float) -> int:
    """Count the decimals of an error that is written with two significant digits, or with one if that is the same."""
    digits, _, power = f"{error:.1e}".partition("e")
    return -int(power) + (0 if digits.endswith("0") else 1)


def about(number: float) -> str:
    """Write a number with three significant digits: 14,142,136 is 14,100,000."""
    if number >= _MOST_AMOUNT:
        return "more than 10^15"
    shown = float(f"{number:.2e}")
    return f"{shown:,.0f}" if shown >= 1000 else f"{shown:.3g}"


def scientific(number: Fraction) -> str:
    """Write a number that is too large to be written out."""
    return f"{Decimal(number.numerator) / number.denominator:.2e}"


def _short(number: Fraction, way: Callable[[Fraction], int]) -> str:
    """Write a number with four significant digits, rounded in some way; digits before the point are all kept."""
    power = _power(abs(number))
    if not -_MOST_ZEROS <= power < _MOST_WHOLE:
        digits = Decimal(way(number / Fraction(10) ** (power - _DIGITS + 1))).scaleb(1 - _DIGITS).normalize()
        # Rounding may have led to the next power of ten.
        return f"{digits.scaleb(-digits.adjusted()):f}e{power + digits.adjusted()}"
    places = max(0, _DIGITS - 1 - power)
    whole = way(number * 10**places)
    decimal = Decimal(whole).scaleb(-places)
    return f"{decimal:,f}".rstrip("0").rstrip(".") if places else f"{whole:,}"


def _power(number: Fraction) -> int:
    """Find the power of ten of the first digit of a number that is not negative."""
    if not number:
        return 0
    power = len(str(number.numerator)) - len(str(number.denominator))
    return power if number >= Fraction(10) ** power else power - 1


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


# The natural logarithm with proven bounds, in integers only.

_BITS = 160


@lru_cache(maxsize=1024)
def enclosed_log(number: Fraction) -> tuple[Fraction, Fraction]:
    """Return a number just below and one just above the logarithm of a number above 0."""
    # number = 2^doublings * part, with a part between 1/2 and 2; log(part) = 2 artanh((part - 1) / (part + 1)).
    doublings = number.numerator.bit_length() - number.denominator.bit_length()
    part = number / Fraction(2) ** doublings
    ratio = (part - 1) / (part + 1)
    low, high = _artanh(abs(ratio))
    low, high = (low, high) if ratio >= 0 else (-high, -low)
    two_low, two_high = _artanh(Fraction(1, 3))
    low += doublings * (two_low if doublings >= 0 else two_high)
    high += doublings * (two_high if doublings >= 0 else two_low)
    return Fraction(2 * low, 1 << _BITS), Fraction(2 * high, 1 << _BITS)


def _artanh(ratio: Fraction) -> tuple[int, int]:
    """Enclose ``2^bits * artanh(ratio)``, for a ratio from 0 to 1/3, by its series ratio^n / n over odd n."""
    top, bottom = ratio.numerator**2, ratio.denominator**2
    scaled = ratio.numerator << _BITS
    low, high = scaled // ratio.denominator, -(-scaled // ratio.denominator)
    total_low, total_high, order = low, high, 1
    while high > 1:
        low, high, order = low * top // bottom, -(-high * top // bottom), order + 2
        total_low, total_high = total_low + low // order, total_high - (-high // order)
    # The terms that are left fall at least ninefold each: together they are below the last, which is at most 1.
    return total_low, total_high + 1
