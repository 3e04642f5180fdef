"""Integer attributes: whole numbers between two inclusive bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from numbers import Integral
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, OUTSIDE_FORM, Attribute, Outside, Positions
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.file_forms import Form, Wanted

_LARGEST = 2**61
_MOST_LISTED = 1_000_000
_BOUNDS: TypeAlias = Annotated[
    list[Annotated[int, Interval(ge=-_LARGEST, le=_LARGEST)]],
    Len(2, 2),
    Wanted("two whole numbers within +-2^61", "write integer: [17, 90]."),
]


@dataclass(frozen=True)
class Integer(Attribute):
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
    ordered = True
    column_type = "whole numbers"

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

    def value(self, position: int) -> int:
        """Return the whole number at a position."""
        return self.low + position

    def texts(self) -> list[str]:
        """Write all numbers between the bounds as text."""
        return [*map(str, range(self.low, self.high + 1))]

    def gap(self, first: int, second: int) -> Fraction:
        """Return the distance between two whole numbers."""
        return Fraction(abs(first - second))

    def subset(self, chosen: object) -> Subset:
        """Read one number, an inclusive pair, a range or a list of numbers."""
        if isinstance(chosen, tuple):
            if len(chosen) != 2:
                raise DomainError(
                    f"a pair (low, high) is needed, got {brief(chosen)}.", hint="use a list for a set of values."
                )
            low, high = self.position(chosen[0]), self.position(chosen[1])
            if low > high:
                raise DomainError(f"the range {brief(chosen)} is empty: its ends are reversed.")
            return Subset.span(low, high + 1)
        if isinstance(chosen, range) and chosen.step == 1 and chosen.start < chosen.stop:
            return Subset.span(self.position(chosen.start), self.position(chosen.stop - 1) + 1)
        if isinstance(chosen, range) and abs(chosen.stop - chosen.start) > _MOST_LISTED * abs(chosen.step):
            raise DomainError(f"a range with steps may list at most {_MOST_LISTED:,} values.", hint="use (low, high).")
        if isinstance(chosen, list | set | frozenset | range):
            return Subset.of(self.position(value) for value in chosen)
        return Subset.of([self.position(chosen)])

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            if not all(_whole(value) for value in column.tolist()):
                raise DataError(
                    "the column must hold whole numbers.",
                    hint="no conversion is guessed; convert it yourself.",
                )
            beyond = [min(max(int(value), self.low - 1), self.high + 1) for value in column.tolist()]
            column = np.array(beyond, dtype=np.int64)
        if column.dtype.kind not in "iu":
            raise DataError(
                "the column must hold whole numbers.", hint="no conversion is guessed; convert it yourself."
            )
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


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
