"""Attributes of numbers: whole numbers, decimals at equal steps, and measurements sorted into bins.

A float is not the decimal that it was written as: 0.7 as a float is a little less than seven tenths, and as a 32-bit
float a little less than that. So a float *is* a mark when it is the 64-bit or the 32-bit float nearest to it, and
*reaches* a mark when it is at least one of these two. Where marks are so close that 32 bits hardly tell them apart,
only 64-bit floats count. All is decided with one multiplication, one addition, one division and comparisons of 64-bit
floats, which are the same in every data engine and here.
"""

from __future__ import annotations

import decimal
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor, inf, isfinite
from numbers import Integral, Rational
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain.attribute import (
    ERROR,
    MISSING_WANTED,
    OUTSIDE_FORM,
    Attribute,
    Numeric,
    Outside,
    Positions,
    Subset,
)
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number, exact, plain, positive, show
from blowfish_privacy.support.file_forms import Exact, Form, Positive, Wanted

DATES = "day: {date: [2020-01-01, 2020-12-31], step: day}"
"""How dates are declared."""
DECIMALS = "wage: {decimal: [0, 100], step: 0.25}"
"""How numbers with decimals are declared."""
DATES_HINT = f"dates are declared like {DATES}, with the step day, week or month."
DECIMALS_HINT = f"numbers with decimals are declared like {DECIMALS}, or as binned."


LARGEST = 2**50
"""Numerators below this are exact as floats, and a float times the denominator is off by less than a quarter."""


@dataclass(frozen=True)
class Marks:
    """The numbers ``(first + n * step) / denominator``."""

    first: int
    step: int
    denominator: int
    single: bool = True
    """Whether 32-bit floats nearest to marks count too."""

    @property
    def halfway(self) -> Marks:
        """Marks half a step below each of these: whoever reaches one is nearest to the mark above it."""
        return Marks(2 * self.first - self.step, 2 * self.step, 2 * self.denominator, self.single)

    def number(self, n: int) -> Fraction:
        """Return a mark exactly."""
        return Fraction(self.first + n * self.step, self.denominator)

    def floats(self, n: int) -> tuple[float, float]:
        """Return the 64-bit float nearest to a mark, and the 32-bit one if that counts."""
        nearest = (self.first + n * self.step) / self.denominator
        return nearest, float(np.float32(nearest)) if self.single else nearest

    def reached(self, column: Floats) -> Integers:
        """Return the last mark that each float reaches; none may be far outside the marks in use."""
        near = np.floor(column * self.denominator).astype(np.int64)
        guess = (near - self.first) // self.step
        return guess + self._reaches(column, guess + 1) - ~self._reaches(column, guess)

    def exactly(self, column: Floats) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return the mark that each float may be, and whether it is that mark."""
        numerators = np.floor(column * self.denominator + 0.5).astype(np.int64)
        nearest = numerators / np.float64(self.denominator)
        matches = (nearest == column) | (self._rounded(nearest) == column)
        marks, rest = np.divmod(numerators - self.first, self.step)
        return marks, matches & (rest == 0)

    def _reaches(self, column: Floats, marks: Integers) -> npt.NDArray[np.bool_]:
        nearest = (self.first + marks * self.step) / np.float64(self.denominator)
        return (column >= nearest) | (column >= self._rounded(nearest))

    def _rounded(self, nearest: Floats) -> Floats:
        return nearest.astype(np.float32).astype(np.float64) if self.single else nearest


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
            if not _is_integer(bound):
                raise DomainError(f"the bounds of an integer must be whole numbers, got {brief(bound)}.")
            if abs(int(bound)) > _LARGEST:
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
        return self.high - self.low + 1

    def position(self, value: object) -> int:
        if not _is_integer(value):
            raise DomainError(f"{brief(value)} is not a whole number.")
        if not self.low <= int(value) <= self.high:
            raise DomainError(f"{brief(value)} is outside {self.low}..{self.high}.")
        return int(value) - self.low

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        if values.dtype.kind not in "iu" or not self.low <= values.min() <= values.max() <= self.high:
            return None
        return values.astype(np.int64) - self.low

    def value(self, position: int) -> int:
        return self.low + position

    def texts(self) -> list[str]:
        return [*map(str, range(self.low, self.high + 1))]

    @property
    def spacing(self) -> Fraction:
        return Fraction(1)

    @property
    def lowest(self) -> Fraction:
        return Fraction(self.low)

    def subset(self, chosen: object) -> Subset:
        if isinstance(chosen, range) and chosen.step == 1 and chosen.start < chosen.stop:
            return Subset.span(self.position(chosen.start), self.position(chosen.stop - 1) + 1)
        if isinstance(chosen, range) and abs(chosen.stop - chosen.start) > _MOST_LISTED * abs(chosen.step):
            raise DomainError(f"a range with steps may list at most {_MOST_LISTED:,} values.", hint="use (low, high).")
        return super().subset([*chosen] if isinstance(chosen, range) else chosen)

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            beyond = [min(max(_as_integer(value), self.low - 1), self.high + 1) for value in column.tolist()]
            column = np.array(beyond, dtype=np.int64)
        if column.dtype.kind == "f":
            if not (column == np.floor(column)).all():
                raise _not_integers()
            # Beyond the bounds, which a float reaches without rounding them, only the side counts.
            column = np.clip(column.astype(np.float64), -(2.0**62), 2.0**62).astype(np.int64)
        if column.dtype.kind not in "iu":
            raise _not_integers()
        if column.dtype == np.uint64:
            # 2^64 - 1 does not fit the signed integers used from here on; the bounds do.
            column = np.minimum(column, np.uint64(2**62))
        return np.clip(column.astype(np.int64), self.low - 1, self.high + 1) - self.low

    def to_file(self) -> dict[str, Any]:
        return {"integer": [self.low, self.high], **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Integer:
        return cls(*body["integer"], **cls._rules_from_file(body))


def _as_integer(value: object) -> int:
    """Return a whole number of whatever type; an infinite one is far outside the bounds."""
    if _is_integer(value):
        return int(value)
    if isinstance(value, float | np.floating | decimal.Decimal):
        if value in (inf, -inf):
            return 4 * _LARGEST if value > 0 else -4 * _LARGEST
        if value == int(value):
            return int(value)
    raise _not_integers()


def _not_integers() -> DataError:
    return DataError("the column must hold whole numbers.", hint="no rounding is guessed; round it yourself.")


def _is_integer(value: object) -> TypeGuard[Integral]:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


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
        return Fraction(self.low)

    @property
    def spacing(self) -> Fraction:
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
        return int((Fraction(self.high) - self.lowest) / self.spacing) + 1

    @property
    def plain(self) -> str:
        return f"plain numbers in steps of {show(self.spacing)}"

    def position(self, value: object) -> int:
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
        return decimal.Decimal(self.show(position))

    def example(self, position: int) -> float:
        return float(self.number(position))

    def show(self, position: int) -> str:
        return show(self.number(position))

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            return self._encode_objects(column.tolist())
        if column.dtype.kind in "iu":
            low, high = floor(self.lowest) - 1, ceil(Fraction(self.high)) + 1
            different, inverse = np.unique(column, return_inverse=True)
            return self._encode_objects([min(max(value, low), high) for value in different.tolist()])[inverse]
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
        bounds = [plain(self.lowest), plain(Fraction(self.high))]
        rounding = {} if self.round == ERROR else {"round": self.round}
        return {"decimal": bounds, "step": plain(self.spacing), **rounding, **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Decimal:
        low, high = body["decimal"]
        return cls(low, high, body["step"], round=body.get("round", ERROR), **cls._rules_from_file(body))


def _not_numbers() -> DataError:
    return DataError("the column must hold numbers.", hint="no conversion is guessed; convert it yourself.")


_LARGEST_EDGE = 10**300


@dataclass(frozen=True)
class Bin:
    """The numbers from ``low`` (included) to ``high`` (not included)."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, exact(getattr(self, name), "an edge of a bin", error=DomainError))

    def __str__(self) -> str:
        return f"[{show(self.low)}, {show(self.high)})"


@dataclass(frozen=True)
class Binned(Attribute):
    """Numbers that are known only by the bin they fall into; ``len(edges) - 1`` bins, each without its upper edge.

    >>> wage = Binned([0, 10_000, 20_000, 50_000])
    >>> wage.show(wage.position(15_000))
    '[10000, 20000)'
    """

    edges: Sequence[Number]
    _: KW_ONLY
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "binned"
    file_form = Form(
        {
            "binned": Annotated[
                list[Exact], Len(2), Wanted("a list of at least two edges", "write binned: [0, 10, 20].")
            ]
        },
        {"outside": OUTSIDE_FORM, "missing": Annotated[Literal["error"] | Exact, MISSING_WANTED]},
        example="{binned: [0, 10, 20]}",
    )
    ordered = True
    column_type = "numbers"

    def __post_init__(self) -> None:
        if isinstance(self.edges, str) or not isinstance(self.edges, Sequence | np.ndarray):
            raise DomainError(f"bin edges must be a list of numbers, got {brief(self.edges)}.")
        if isinstance(self.edges, np.ndarray) and (self.edges.ndim != 1 or self.edges.dtype.kind not in "iuf"):
            raise DomainError("bin edges must be a list of numbers, not a table.")
        edges = tuple(exact(edge, "a bin edge", error=DomainError) for edge in self.edges)
        if edges and max(abs(edge) for edge in edges) > _LARGEST_EDGE:
            raise DomainError("bin edges must lie within +-1e300.")
        if len(edges) < 2:
            raise DomainError(f"bins need at least two edges, got {len(edges)}.")
        for low, high in pairwise(edges):
            if low >= high:
                raise DomainError(f"bin edges must increase, but {show(high)} follows {show(low)}.")
            if float(low) == float(high):
                raise DomainError(f"the bin edges {show(low)} and {show(high)} are too close for floating point.")
        object.__setattr__(self, "edges", edges)
        self._check_rules()

    @property
    def bounds(self) -> tuple[Fraction, ...]:
        """The edges as exact numbers."""
        return cast(tuple[Fraction, ...], self.edges)

    @cached_property
    def _edge_index(self) -> dict[Fraction, int]:
        return {edge: index for index, edge in enumerate(self.bounds)}

    @cached_property
    def _float_bounds(self) -> list[float]:
        # A float is compared with the float nearest to an edge, as in every data engine.
        return [float(edge) for edge in self.bounds]

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def position(self, value: object) -> int:
        if isinstance(value, Bin):
            chosen = self._bins(value.low, value.high)
            if len(chosen) > 1:
                raise DomainError(f"{value} spans {len(chosen)} bins, not one.")
            return chosen.first
        number = exact(value, "a value", error=DomainError)
        position = self._bin_of(value if isinstance(value, float) else number)
        if not 0 <= position < self.size:
            raise DomainError(
                f"{show(number)} is outside [{show(self.bounds[0])}, {show(self.bounds[-1])}).",
                hint="a bin does not include its upper edge; add an edge above the largest value.",
            )
        return position

    def value(self, position: int) -> Bin:
        return Bin(self.bounds[position], self.bounds[position + 1])

    def example(self, position: int) -> float:
        middle = float(sum(self.bounds[position : position + 2]) / 2)
        return middle if self._bin_of(middle) == position else self._float_bounds[position]

    def gap(self, first: int, second: int) -> Fraction:
        low, high = sorted((first, second))
        return max(self.bounds[high] - self.bounds[low + 1], Fraction(0)) if low != high else Fraction(0)

    def subset(self, chosen: object) -> Subset:
        if isinstance(chosen, Bin):
            return self._bins(chosen.low, chosen.high)
        if isinstance(chosen, tuple) and len(chosen) == 2:
            low, high = (exact(edge, "an end of a range of bins", error=DomainError) for edge in chosen)
            return self._bins(low, high)
        if isinstance(chosen, list | set | frozenset):
            return Subset.union(run for part in chosen for run in self.subset(part).runs)
        raise DomainError(
            f"{brief(chosen)} does not select whole bins.",
            hint="give a pair of bin edges: from the start of one to the end of another.",
        )

    def _bins(self, low: Fraction, high: Fraction) -> Subset:
        for end in (low, high):
            if end not in self._edge_index:
                raise DomainError(
                    f"{show(end)} is not an edge of a bin.",
                    hint=f"the edges are {', '.join(show(edge) for edge in self.bounds[:12])}, ...",
                )
        if low >= high:
            raise DomainError(f"the range from {show(low)} to {show(high)} contains no bin.")
        return Subset.span(self._edge_index[low], self._edge_index[high])

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind == "O":
            positions = [self._bin_of(value) for value in column.tolist()]
            return np.array(positions, dtype=np.int64)
        if column.dtype.kind in "iu":
            # A whole number lies above an edge when it lies above the next whole number.
            info = np.iinfo(column.dtype)
            ceilings = [min(max(ceil(edge), int(info.min)), int(info.max)) for edge in self.bounds]
            positions = np.searchsorted(np.array(ceilings, dtype=column.dtype), column, side="right") - 1
            above = np.array([edge > int(info.max) for edge in self.bounds])
            return np.minimum(positions, len(ceilings) - 1 - int(above.sum())).astype(np.int64)
        if column.dtype.kind != "f" or not np.isfinite(column).all():
            raise _not_finite()
        return (np.searchsorted(self._float_bounds, column, side="right") - 1).astype(np.int64)

    def _bin_of(self, value: object) -> int:
        if isinstance(value, float):
            if not isfinite(value):
                raise _not_finite()
            return bisect_right(self._float_bounds, value) - 1
        if isinstance(value, Bin):
            value = value.low
        if not isinstance(value, Rational | decimal.Decimal) or isinstance(value, bool):
            raise _not_finite()
        return bisect_right(self.bounds, Fraction(value)) - 1

    def _value_to_file(self, position: int) -> Any:
        return plain(self.bounds[position])

    def to_file(self) -> dict[str, Any]:
        return {"binned": [plain(edge) for edge in self.bounds], **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Binned:
        return cls(body["binned"], **cls._rules_from_file(body))


def _not_finite() -> DataError:
    return DataError("the column must hold finite numbers.", hint="no conversion is guessed; convert it yourself.")


def coarser(name: str, attribute: Attribute, most: int) -> str:
    """Word a hint to declare fewer values; for whole numbers, with bin edges to copy."""
    if not isinstance(attribute, Integer):
        return f"declare at most {most:,} values."
    # Few enough bins to look at, of a round width.
    width = 10 ** (len(str(attribute.size // 100)) - 1)
    width *= next(factor for factor in (1, 2, 5, 10) if attribute.size <= 200 * width * factor)
    edges = [attribute.low + index * width for index in (0, 1, 2, -(-attribute.size // width))]
    shown = ", ".join(map(str, edges[:3]))
    return f"declare bins, as wide as you need: {name}: {{binned: [{shown}, ..., {edges[3]}]}}."
