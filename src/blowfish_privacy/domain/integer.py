"""Integer attributes: whole numbers between two inclusive bounds."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import inf
from numbers import Integral
from typing import Annotated, Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, OUTSIDE_FORM, Outside, Positions
from blowfish_privacy.domain.declaring_hints import DATES_HINT, DECIMALS_HINT
from blowfish_privacy.domain.spaced import Numeric
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.file_forms import Form, Wanted

_LARGEST = 2**61
_MOST_LISTED = 1_000_000
_BOUNDS: TypeAlias = Annotated[
    list[Annotated[int, Interval(ge=-_LARGEST, le=_LARGEST)]],
    Len(2, 2),
    Wanted(
        "two whole numbers within +-2^61",
        f"write integer: [17, 90]; {DATES_HINT} {DECIMALS_HINT[0].upper()}{DECIMALS_HINT[1:]}",
    ),
]


@dataclass(frozen=True)
class Integer(Numeric):
    """Whole numbers from ``low`` to ``high``, both included.

    >>> Integer(17, 90).size
    74
    """

    low: int
    high: int
    _: KW_ONLY
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "integer"
    file_form = Form(
        {"integer": _BOUNDS},
        {"outside": OUTSIDE_FORM, "missing": Annotated[Literal["error"] | int, MISSING_WANTED]},
        example="{integer: [17, 90]}",
    )
    column_type = "whole numbers"
    instead_of_rounding = f"{DECIMALS_HINT[0].upper()}{DECIMALS_HINT[1:]} {DATES_HINT[0].upper()}{DATES_HINT[1:]}"

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if not _whole(bound):
                raise DomainError(f"the bounds of an integer must be whole numbers, got {brief(bound)}.")
            if abs(bound) > _LARGEST:
                raise DomainError(f"the bounds of an integer must lie within +-2^61, got {brief(bound)}.")
        if self.low > self.high:
            raise DomainError(
                f"the lower bound {self.low} is above the upper bound {self.high}.", hint="write [low, high]."
            )
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))
        self._check_rules()

    @property
    def size(self) -> int:
        """The number of whole numbers between the bounds."""
        return self.high - self.low + 1

    def position(self, value: object) -> int:
        """Return the distance of a value from the lower bound."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise DomainError(f"{brief(value)} is not a whole number.")
        if not self.low <= int(value) <= self.high:
            raise DomainError(f"{brief(value)} is outside {self.low}..{self.high}.")
        return int(value) - self.low

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        if values.dtype.kind not in "iu" or not self.low <= values.min() <= values.max() <= self.high:
            return None
        return values.astype(np.int64) - self.low

    def value(self, position: int) -> int:
        """Return the whole number at a position."""
        return self.low + position

    def texts(self) -> list[str]:
        """Write all numbers between the bounds as text."""
        return [*map(str, range(self.low, self.high + 1))]

    @property
    def spacing(self) -> Fraction:
        """One: the distance of whole numbers."""
        return Fraction(1)

    @property
    def lowest(self) -> Fraction:
        """The lower bound."""
        return Fraction(self.low)

    def subset(self, chosen: object) -> Subset:
        """Read one number, an inclusive pair, a range or a list of numbers."""
        if isinstance(chosen, range) and chosen.step == 1 and chosen.start < chosen.stop:
            return Subset.span(self.position(chosen.start), self.position(chosen.stop - 1) + 1)
        if isinstance(chosen, range) and abs(chosen.stop - chosen.start) > _MOST_LISTED * abs(chosen.step):
            raise DomainError(f"a range with steps may list at most {_MOST_LISTED:,} values.", hint="use (low, high).")
        return super().subset([*chosen] if isinstance(chosen, range) else chosen)

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            beyond = [min(max(_as_whole(value), self.low - 1), self.high + 1) for value in column.tolist()]
            column = np.array(beyond, dtype=np.int64)
        if column.dtype.kind == "f":
            if not (column == np.floor(column)).all():
                raise _not_whole()
            # Beyond the bounds, which a float reaches without rounding them, only the side counts.
            column = np.clip(column.astype(np.float64), -(2.0**62), 2.0**62).astype(np.int64)
        if column.dtype.kind not in "iu":
            raise _not_whole()
        if column.dtype == np.uint64:
            # 2^64 - 1 does not fit the signed integers used from here on; the bounds do.
            column = np.minimum(column, np.uint64(2**62))
        return np.clip(column.astype(np.int64), self.low - 1, self.high + 1) - self.low

    def to_file(self) -> dict[str, Any]:
        """Write ``{integer: [low, high]}``."""
        return {"integer": [self.low, self.high], **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Integer:
        """Read ``{integer: [low, high]}``."""
        return cls(*body["integer"], **cls._rules_from_file(body))


def _as_whole(value: object) -> int:
    """Return a whole number of whatever type; an infinite one is far outside the bounds."""
    if _whole(value):
        return int(cast(Any, value))
    if isinstance(value, float | np.floating | decimal.Decimal):
        if value in (inf, -inf):
            return 4 * _LARGEST if value > 0 else -4 * _LARGEST
        if value == int(value):
            return int(value)
    raise _not_whole()


def _not_whole() -> DataError:
    return DataError("the column must hold whole numbers.", hint="no rounding is guessed; round it yourself.")


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
