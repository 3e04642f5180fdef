"""Decimal attributes: numbers at equal steps between two inclusive bounds, such as amounts in quarters."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from numbers import Rational
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, OUTSIDE_FORM, Outside, Positions
from blowfish_privacy.domain.marks import LARGEST, Marks
from blowfish_privacy.domain.spaced import Numeric
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.exact import Number, exact, plain, positive, show
from blowfish_privacy.support.file_forms import Form, Wanted
from blowfish_privacy.support.file_values import Exact, Positive

Round: TypeAlias = Literal["error", "nearest", "down"]

_MOST_PLACES = 12
_EXAMPLE = "{decimal: [0, 100], step: 0.25}"


@dataclass(frozen=True)
class Decimal(Numeric):
    """The numbers ``low``, ``low + step``, ..., ``high``, both bounds included.

    >>> wage = Decimal(0, 100, "0.25")
    >>> wage.size, wage.show(wage.position(12.75))
    (401, '12.75')

    Other numbers in the data are errors, unless ``round`` says which value they stand for: the nearest one
    (``"nearest"``; halfway between two, the higher one) or the next one below (``"down"``).
    """

    low: Number
    high: Number
    step: Number
    _: KW_ONLY
    round: Round = ERROR
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "decimal"
    file_form = Form(
        {
            "decimal": Annotated[list[Exact], Len(2, 2), Wanted("two numbers", f"write {_EXAMPLE[1:-1]}.")],
            "step": Positive,
        },
        {
            "round": Annotated[Round, Wanted("'error', 'nearest' or 'down'")],
            "outside": OUTSIDE_FORM,
            "missing": Annotated[Literal["error"] | Exact, MISSING_WANTED],
        },
        example=_EXAMPLE,
    )
    column_type = "numbers"
    instead_of_rounding = "Numbers between the steps need a rule: round: nearest, or round: down."

    def __post_init__(self) -> None:
        low, high = (exact(bound, "a bound of a decimal", error=DomainError) for bound in (self.low, self.high))
        step = positive(self.step, "the step of a decimal", error=DomainError)
        for number in (low, high, step):
            if 10**_MOST_PLACES % number.denominator:
                raise DomainError(
                    f"bounds and step must be decimals with at most {_MOST_PLACES} places, got {show(number)}."
                )
        if low > high:
            raise DomainError(
                f"the lower bound {show(low)} is above the upper bound {show(high)}.", hint="write [low, high]."
            )
        if (high - low) % step:
            last = low + (high - low) // step * step
            raise DomainError(
                f"steps of {show(step)} from {show(low)} do not lead to {show(high)}.",
                hint=f"end at {show(last)} or at {show(last + step)}.",
            )
        for name, number in (("low", low), ("high", high), ("step", step)):
            object.__setattr__(self, name, number)
        if max(abs(low), abs(high), step) * self.marks.denominator > LARGEST:
            raise DomainError("the bounds have too many digits for this step.", hint="declare a larger step, or bins.")
        if not isinstance(self.round, str) or self.round not in (ERROR, "nearest", "down"):
            raise DomainError(f"round must be 'error', 'nearest' or 'down', got {brief(self.round)}.")
        self._check_rules()

    @property
    def lowest(self) -> Fraction:
        """The lower bound."""
        return Fraction(self.low)

    @property
    def spacing(self) -> Fraction:
        """The step."""
        return Fraction(self.step)

    @cached_property
    def marks(self) -> Marks:
        """The values as whole numbers of a power of ten."""
        denominator = next(
            10**places
            for places in range(_MOST_PLACES + 1)
            if not 10**places % self.lowest.denominator and not 10**places % self.spacing.denominator
        )
        # A 32-bit float is off by up to 2^-24 of its size: far less than from one value to the next.
        single = max(abs(self.lowest), abs(Fraction(self.high))) <= self.spacing * 2**21
        return Marks(int(self.lowest * denominator), int(self.spacing * denominator), denominator, single)

    @property
    def size(self) -> int:
        """The number of steps between the bounds, and one."""
        return int((Fraction(self.high) - self.lowest) / self.spacing) + 1

    @property
    def plain(self) -> str:
        """Numbers, and how far apart they are."""
        return f"plain numbers in steps of {show(self.spacing)}"

    def position(self, value: object) -> int:
        """Return the number of steps from the lower bound; floats are read as their shortest decimals."""
        number = exact(value, "a value", error=DomainError)
        if not self.lowest <= number <= Fraction(self.high):
            raise DomainError(f"{show(number)} is outside {show(self.lowest)}..{show(Fraction(self.high))}.")
        steps = (number - self.lowest) / self.spacing
        if steps.denominator != 1:
            raise DomainError(
                f"{show(number)} is not a declared value.",
                hint=f"values go up from {show(self.lowest)} in steps of {show(self.spacing)}.",
            )
        return int(steps)

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
            return None
        # All numbers within the bounds are far below 2^53, up to which floats hold whole numbers.
        floats = values.astype(np.float64)
        if not ((floats >= self.marks.floats(0)[0]) & (floats <= self.marks.floats(self.size - 1)[0])).all():
            return None
        positions, declared = replace(self.marks, single=False).exactly(floats)
        return positions if declared.all() else None

    def value(self, position: int) -> decimal.Decimal:
        """Return the decimal number at a position."""
        return decimal.Decimal(self.show(position))

    def example(self, position: int) -> float:
        """Return the float nearest to a value, as a column of numbers has it."""
        return float(self.number(position))

    def show(self, position: int) -> str:
        """Write the number at a position: 12.75."""
        return show(self.number(position))

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            return self._encode_objects(column.tolist())
        if column.dtype.kind in "iu":
            low, high = floor(self.lowest) - 1, ceil(Fraction(self.high)) + 1
            found, inverse = np.unique(column, return_inverse=True)
            return self._encode_objects([min(max(value, low), high) for value in found.tolist()])[inverse]
        if column.dtype.kind != "f":
            raise _not_numbers()
        return self._encode_floats(column.astype(np.float64))

    def _encode_objects(self, values: list[Any]) -> Positions:
        floats = np.array([isinstance(value, float | np.floating) for value in values], dtype=np.bool_)
        positions = np.empty(len(values), dtype=np.int64)
        given = [value for value in values if isinstance(value, float | np.floating)]
        positions[floats] = self._encode_floats(np.array(given, dtype=np.float64))
        positions[~floats] = [self._place(value) for value in values if not isinstance(value, float | np.floating)]
        return positions

    def _place(self, value: object) -> int:
        """Return the position of an exact number."""
        if not isinstance(value, Rational | decimal.Decimal) or isinstance(value, bool | np.bool_):
            raise _not_numbers()
        if isinstance(value, decimal.Decimal) and value.is_infinite():
            return -1 if value < 0 else self.size
        steps = (Fraction(value) - self.lowest) / self.spacing
        if self.round == ERROR and steps.denominator != 1 and 0 < steps < self.size - 1:
            raise self._between()
        if self.round == ERROR:
            return -1 if steps < 0 else min(ceil(steps), self.size)
        return min(max(floor(steps + (Fraction(1, 2) if self.round == "nearest" else 0)), -1), self.size)

    def _encode_floats(self, column: npt.NDArray[np.float64]) -> Positions:
        low, high = self.float_bounds
        inside = (column >= low) & ((column <= high) if self.round == ERROR else (column < high))
        positions = np.where(column < low, -1, self.size).astype(np.int64)
        if self.round == ERROR:
            positions[inside], declared = self.marks.exactly(column[inside])
            if not (declared & (positions[inside] >= 0) & (positions[inside] < self.size)).all():
                raise self._between()
        else:
            positions[inside] = self.borders.reached(column[inside])
        return positions

    @property
    def borders(self) -> Marks:
        """Where the numbers that stand for each value begin."""
        return self.marks.halfway if self.round == "nearest" else self.marks

    @property
    def float_bounds(self) -> tuple[float, float]:
        """The lowest float that is not below the values, and the highest not above; where rounded, the next above."""
        if self.round == ERROR:
            return min(self.marks.floats(0)), max(self.marks.floats(self.size - 1))
        return min(self.borders.floats(0)), min(self.borders.floats(self.size))

    def _between(self) -> DataError:
        return DataError(
            f"the column has numbers between the declared values, which are {show(self.spacing)} apart.",
            hint="say which value they stand for: round: nearest, or round: down.",
        )

    def _value_to_file(self, position: int) -> Any:
        return plain(self.number(position))

    def to_file(self) -> dict[str, Any]:
        """Write ``{decimal: [low, high], step: ..}``."""
        bounds = [plain(self.lowest), plain(Fraction(self.high))]
        rounding = {} if self.round == ERROR else {"round": self.round}
        return {"decimal": bounds, "step": plain(self.spacing), **rounding, **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Decimal:
        """Read ``{decimal: [low, high], step: ..}``."""
        low, high = body["decimal"]
        return cls(low, high, body["step"], round=body.get("round", ERROR), **cls._rules_from_file(body))


def _not_numbers() -> DataError:
    return DataError("the column must hold numbers.", hint="no conversion is guessed; convert it yourself.")
