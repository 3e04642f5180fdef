"""What a record adds to the outputs of a linear query: exact numbers, as whole multiples of one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError
from blowfish_privacy.queries.query import MOST_NUMBERS
from blowfish_privacy.support.exact import exact
from blowfish_privacy.support.progress import task

_LARGEST = 2**40
_OFTEN = 20_000
"""Values between two reports of how far a function is tabulated."""


def tabulated(function: Callable[..., Any], domain: Domain) -> tuple[npt.NDArray[np.int64], Fraction]:
    """Call a function for every value, and return its outputs as rows in a common unit."""
    if domain.size > MOST_NUMBERS:
        raise QueryError(
            f"a function of {domain.size:,} values is too large to tabulate: {MOST_NUMBERS:,} is the most.",
            hint="use fewer attributes, or declare coarser values.",
        )
    columns = [*_columns(function, domain)]
    return in_common_unit([*zip(*columns, strict=True)])


def _columns(function: Callable[..., Any], domain: Domain) -> Iterator[Sequence[Fraction | int]]:
    """Yield what each value adds; what cannot be used is refused at the first value that shows it."""
    outputs, unit, seen = 0, 1, dict[int, None]()
    values = ([attribute.value(position) for position in range(attribute.size)] for attribute in domain.attributes)
    with task("working out what each value adds") as report:
        for number, each in enumerate(product(*values)):
            column = weights_of(function(*each))
            outputs = outputs or len(column)
            if len(column) != outputs:
                raise QueryError("the function does not return the same number of outputs for every value.")
            if outputs * domain.size > MOST_NUMBERS:
                raise QueryError(
                    f"{outputs:,} outputs for each of {domain.size:,} values are too many to tabulate.",
                    hint="use fewer outputs or attributes, or declare coarser values.",
                )
            for part in column:
                if part.denominator not in seen:
                    seen[part.denominator] = None
                    unit = lcm(unit, part.denominator)
                _check_digits(part, unit)
            if report is not None and number % _OFTEN == 0:
                report(number / domain.size)
            yield column


def weights_of(returned: Any) -> Sequence[Fraction | int]:
    """Take what a function returns, or a row of a matrix, as exact numbers."""
    parts: Iterable[Any] = returned if isinstance(returned, list | tuple | np.ndarray) else [returned]
    # Conditions are the most common functions: true adds one.
    numbers = [int(part) if isinstance(part, bool | np.bool_) else part for part in parts]
    column = [part if type(part) is int else exact(part, "what a record adds", error=QueryError) for part in numbers]
    if not column:
        raise QueryError("a record must add to at least one output.")
    return column


def in_common_unit(rows: Sequence[Sequence[Fraction | int]]) -> tuple[npt.NDArray[np.int64], Fraction]:
    """Write rows of numbers as whole multiples of the largest unit that they have in common."""
    denominator = lcm(*{number.denominator for row in rows for number in row})
    for row in rows:
        for number in row:
            _check_digits(number, denominator)
    whole = [[number.numerator * (denominator // number.denominator) for number in row] for row in rows]
    return np.array(whole, dtype=np.int64), Fraction(1, denominator)


def _check_digits(number: Fraction | int, denominator: int) -> None:
    if abs(number.numerator) * (denominator // number.denominator) > _LARGEST:
        raise QueryError(
            "the weights need too many digits for a common unit.",
            hint="round them, for example to two digits: round(weight, 2).",
        )
