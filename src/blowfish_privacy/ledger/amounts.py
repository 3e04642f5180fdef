"""How amounts are written in a ledger: as exact fractions, ``p/q``."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, lcm

from blowfish_privacy.errors import LedgerError

# Sums of many unlike fractions grow; Python itself refuses to print numbers of more than 4300 digits.
_MOST_DIGITS = 1000
_AMOUNT = re.compile(r"[0-9]{1,1100}/[0-9]{1,1100}", re.ASCII)


_FINE = lcm(*range(1, 41)) * 10**24


def rounded_charge(amount: Fraction, budget: Fraction) -> Fraction:
    """Round a charge up to a fixed fine denominator, so that sums stay short however many unlike charges there are.

    Decimals of 24 digits, and the budget divided by up to 40, are charged exactly.
    """
    fine = _FINE * budget.denominator
    return Fraction(ceil(amount * fine), fine)


def write_amount(amount: Fraction) -> str:
    """Write an amount as ``p/q``."""
    if max(amount.numerator, amount.denominator) >= 10**_MOST_DIGITS:
        raise LedgerError(
            f"the amount has more than {_MOST_DIGITS} digits.", hint="use epsilons with few decimals, like 0.05."
        )
    return f"{amount.numerator}/{amount.denominator}"


def read_amount(text: object) -> Fraction:
    """Read what :func:`write_amount` writes, and nothing else."""
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise LedgerError("a stored amount is not a fraction.", hint="the ledger was changed by other software.")
    numerator, denominator = map(int, text.split("/"))
    if denominator == 0:
        raise LedgerError("a stored amount has denominator 0.", hint="the ledger was changed by other software.")
    return Fraction(numerator, denominator)
