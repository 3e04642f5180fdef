"""The interface of attributes: the possible values of one column of a table, declared and public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import gcd
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.exact import show
from blowfish_privacy.support.file_forms import Wanted, kind_of, register


@dataclass(frozen=True)
class Subset:
    """Sorted, disjoint, non-touching half-open runs of positions."""

    runs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, positions: Iterable[int]) -> Subset:
        """Collect positions, in any order, into runs."""
        return cls.union((position, position + 1) for position in positions)

    @classmethod
    def span(cls, start: int, stop: int) -> Subset:
        """Return the positions start, start + 1, ..., stop - 1."""
        return cls(((start, stop),)) if start < stop else cls(())

    @classmethod
    def union(cls, runs: Iterable[tuple[int, int]]) -> Subset:
        """Merge half-open runs that may touch, overlap or be out of order."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(runs):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    def __contains__(self, position: int) -> bool:
        index = bisect_right(self.runs, position, key=lambda run: run[0]) - 1
        return index >= 0 and position < self.runs[index][1]

    def __iter__(self) -> Iterator[int]:
        for start, stop in self.runs:
            yield from range(start, stop)

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.runs)

    @property
    def first(self) -> int:
        """The lowest position; the set must not be empty."""
        return self.runs[0][0]

    @property
    def last(self) -> int:
        """The highest position; the set must not be empty."""
        return self.runs[-1][1] - 1

    def __and__(self, other: Subset) -> Subset:
        shared: list[tuple[int, int]] = []
        left, right = 0, 0
        while left < len(self.runs) and right < len(other.runs):
            start = max(self.runs[left][0], other.runs[right][0])
            stop = min(self.runs[left][1], other.runs[right][1])
            if start < stop:
                shared.append((start, stop))
            if self.runs[left][1] <= other.runs[right][1]:
                left += 1
            else:
                right += 1
        return Subset(tuple(shared))

    def __le__(self, other: Subset) -> bool:
        return self & other == self

    def complement(self, size: int) -> Subset:
        """Return the other positions of an attribute with ``size`` values."""
        ends = [0, *(end for run in self.runs for end in run), size]
        return Subset(tuple((start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop))


Outside: TypeAlias = Literal["error", "clamp"]
Positions: TypeAlias = npt.NDArray[np.int64]

ERROR = "error"

OUTSIDE_FORM: TypeAlias = Annotated[Outside, Wanted("'error' or 'clamp'")]
MISSING_WANTED = Wanted("'error' or a declared value")


class Attribute(ABC):
    """The declared values of one column, numbered 0, 1, ..., size - 1.

    A value is what a person writes (30, "Female", a :class:`Bin`); its position is that number. Values that are
    missing or not declared are errors unless the declaration says how to treat them.
    """

    keyword: ClassVar[str]
    """How the attribute is spelt in a policy file: ``age: {integer: [17, 90]}``."""
    file_form: ClassVar[Any]
    """The form of that spelling; unless stated, anything may follow the keyword."""
    kinds: ClassVar[dict[str, type[Attribute]]] = {}
    """Every kind of attribute that is defined, by its keyword."""
    ordered: ClassVar[bool]
    """Whether the values have an order and distances."""
    column_type: ClassVar[str]
    """The type a data column must have, in words."""

    instead_of_sums: ClassVar[str] = (
        "count them with a histogram, or give each value a number: linear: {attributes: [..], rows: [[0, 1, ..]]} in a "
        "file, Linear(function, attributes=[..]) in Python."
    )
    """What to ask for where values cannot be added up."""

    instead_of_rounding: ClassVar[str] = ""
    """What to declare where the data have values between the declared ones, which are never rounded unasked."""

    outside: Outside
    missing: object

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a kind of attribute known by its keyword."""
        super().__init_subclass__(**options)
        register(Attribute.kinds, cls)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values."""

    @abstractmethod
    def position(self, value: object) -> int:
        """Return the position of a value; raise :class:`DomainError` if it is not declared."""

    @abstractmethod
    def value(self, position: int) -> Any:
        """Return the value at a position."""

    def example(self, position: int) -> Any:
        """Return what a column of data may hold where a record has the value at a position."""
        return self.value(position)

    @abstractmethod
    def gap(self, first: int, second: int) -> Fraction:
        """Return the smallest distance between members of two positions, in value units."""

    @abstractmethod
    def subset(self, chosen: object) -> Subset:
        """Read a choice of values: one value, an inclusive ``(low, high)`` pair, or a list of values."""

    @abstractmethod
    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        """Return the positions of a column without missing values; -1 and size stand for values below and above."""

    @abstractmethod
    def to_file(self) -> dict[str, Any]:
        """Write the declaration in the form of a policy file."""

    def canonical(self) -> dict[str, Any]:
        """Write the declaration such that it is the same for all ways to write the same values."""
        written = self.to_file()
        if not self.ordered:
            # Categories have no order, so the order of their list must not matter.
            written[self.keyword] = sorted(written[self.keyword], key=repr)
        if self.missing_position is not None:
            written["missing"] = self.show(self.missing_position)
        return written

    @classmethod
    def gathered(cls, body: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Put in place what a declaration in a file keeps in other files, named by paths from the file's folder."""
        return body

    @classmethod
    @abstractmethod
    def from_file(cls, body: Mapping[str, Any]) -> Attribute:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, body: Mapping[str, Any], folder: Path | None = None) -> Attribute:
        """Read an attribute of whatever kind a policy file names; without a folder, it refers to no other files."""
        kind = kind_of(Attribute.kinds, body)
        return kind.from_file(body if folder is None else kind.gathered(body, folder))

    def distance(self, amount: Fraction) -> str:
        """Write a distance in the units of the values."""
        return show(amount)

    @property
    def plain(self) -> str:
        """What values look like in data, for whoever finds others."""
        return f"plain {self.column_type}"

    @property
    def missing_position(self) -> int | None:
        """The position that missing values are counted at; None if they are errors."""
        return None if isinstance(self.missing, str) and self.missing == ERROR else self.position(self.missing)

    def show(self, position: int) -> str:
        """Write the value at a position as text."""
        return str(self.value(position))

    def texts(self) -> list[str]:
        """Write all values as text, in order."""
        return [self.show(position) for position in range(self.size)]

    def say(self, position: int) -> str:
        """Write the value at a position for use inside a sentence."""
        return self.show(position)

    def say_all(self, chosen: Subset, most: int) -> str:
        """Write a set of values for use inside a sentence, as ranges where they have an order; ``most`` are written."""
        if self.ordered:
            ends = [(self.show(start), self.show(stop - 1)) for start, stop in chosen.runs[: most + 1]]
            words = [low if low == high else f"from {low} to {high}" for low, high in ends]
        else:
            words = [self.say(position) for position in islice(chosen, most + 1)]
        return " or ".join(words[:most]) + (" or .." if len(words) > most else "")

    def encode(self, column: Iterable[Any]) -> Positions:
        """Return the positions of a whole column, treating outside and missing values as declared."""
        if isinstance(column, str) or not isinstance(column, Iterable):
            raise DataError("a column must be a list or an array.")
        array = np.ma.asanyarray(column if isinstance(column, np.ndarray) else np.array(list(column), dtype=object))
        if array.ndim != 1:
            raise DataError(f"a column must have one dimension, got {array.ndim}.")
        absent = _absent(array)
        positions = np.full(array.shape, -1, dtype=np.int64)
        positions[~absent] = self._settle(self._encode(np.asarray(array)[~absent]))
        if absent.any():
            substitute = self.missing_position
            if substitute is None:
                raise DataError(
                    "the column has missing values.",
                    hint="declare what they stand for (missing: VALUE), or remove them.",
                )
            positions[absent] = substitute
        return positions

    def decode(self, positions: npt.ArrayLike) -> npt.NDArray[Any]:
        """Turn positions back into values."""
        checked = check_positions(positions, self.size)
        known, inverse = np.unique(checked, return_inverse=True)
        values = np.empty(len(known), dtype=object)
        values[:] = [self.value(int(position)) for position in known]
        return values[inverse]

    def _settle(self, positions: Positions) -> Positions:
        if self.outside == "clamp":
            return np.clip(positions, 0, self.size - 1)
        if positions.size and (positions.min() < 0 or positions.max() >= self.size):
            raise DataError(
                "the column has values outside the declared ones.",
                hint="widen the declaration, or say outside: clamp for numbers.",
            )
        return positions

    def _check_rules(self) -> None:
        if not isinstance(self.outside, str) or self.outside not in (ERROR, "clamp"):
            raise DomainError(f"outside must be 'error' or 'clamp', got {brief(self.outside)}.")
        if self.outside == "clamp" and not self.ordered:
            raise DomainError("categories cannot be clamped.", hint="leave out 'outside', or add the category.")
        if self.missing is None or np.ndim(self.missing) or type(self.missing).__name__ == "NAType":  # type: ignore[arg-type]
            raise DomainError("missing must be 'error' or a declared value.")
        if self.missing_position is not None and isinstance(self.missing, np.generic):
            object.__setattr__(self, "missing", self.missing.item())

    def _rules_to_file(self) -> dict[str, Any]:
        rules: dict[str, Any] = {}
        if self.outside != ERROR:
            rules["outside"] = self.outside
        if self.missing_position is not None:
            rules["missing"] = self._value_to_file(self.missing_position)
        return rules

    def _value_to_file(self, position: int) -> Any:
        """Write a value so that a policy file reads it back as this position."""
        return self.value(position)

    @classmethod
    def _rules_from_file(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        return {key: body[key] for key in ("outside", "missing") if key in body}


def check_positions(positions: npt.ArrayLike, size: int) -> Positions:
    """Return positions as an array, or refuse those outside 0..size - 1."""
    array = np.asarray(positions)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DomainError("positions must be whole numbers.")
    if array.min() < 0 or array.max() >= size:
        raise DomainError(f"positions must lie in 0..{size - 1}.")
    return array.astype(np.int64)


def _absent(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    masked = np.ma.getmaskarray(array)
    plain = np.asarray(array)
    if plain.dtype.kind == "f":
        return masked | np.isnan(plain)
    if plain.dtype.kind == "M":
        return masked | np.isnat(plain)
    if plain.dtype.kind == "O":
        empty = (_is_absent(value) for value in plain.tolist())
        return masked | np.fromiter(empty, dtype=np.bool_, count=plain.size)
    return masked


def _is_absent(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    # A number that is not equal to itself is a NaN, whichever library it comes from.
    return isinstance(value, float | np.floating) and value != value


class Spaced(Attribute):
    """Ordered values, every one of them as far from the next."""

    ordered = True

    @property
    @abstractmethod
    def spacing(self) -> Fraction:
        """The distance between neighbouring values, in the units that distances are stated in."""

    def gap(self, first: int, second: int) -> Fraction:
        return abs(first - second) * self.spacing

    def subset(self, chosen: object) -> Subset:
        if isinstance(chosen, tuple):
            if len(chosen) != 2:
                raise DomainError(
                    f"a pair (low, high) is needed, got {len(chosen)} values.", hint="use a list for a set of values."
                )
            low, high = self.range_start(chosen[0]), self.range_end(chosen[1])
            if low > high:
                raise DomainError(
                    f"the range from {brief(chosen[0])} to {brief(chosen[1])} is empty: its ends are reversed."
                )
            return Subset.span(low, high + 1)
        if isinstance(chosen, list | set | frozenset):
            return Subset.of(self.exactly(value) for value in chosen)
        return Subset.of([self.exactly(chosen)])

    def range_start(self, value: object) -> int:
        """Return the first position of a range that begins with a value."""
        return self.position(value)

    def range_end(self, value: object) -> int:
        """Return the last position of a range that ends with a value."""
        return self.position(value)

    def range_starts(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`range_start` of a whole array by arithmetic on it; None where each value must be looked at."""
        return self._at_once(values)

    def range_ends(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`range_end` of a whole array by arithmetic on it; None where each value must be looked at."""
        return self._at_once(values)

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return :meth:`position` of a whole array; None also where one of the values is wrong."""
        return None

    def exactly(self, value: object) -> int:
        """Return the position that holds a value and nothing else."""
        return self.position(value)


class Numeric(Spaced):
    """Numbers that can be added up: the value at a position is ``lowest + position * spacing``."""

    @property
    @abstractmethod
    def lowest(self) -> Fraction:
        """The number at position 0."""

    def number(self, position: int) -> Fraction:
        """Return the exact number at a position."""
        return self.lowest + position * self.spacing

    @property
    def unit(self) -> Fraction:
        """The largest number of which all values are whole multiples."""
        low, step = self.lowest, self.spacing
        shared = low.denominator * step.denominator
        return Fraction(gcd(low.numerator * step.denominator, step.numerator * low.denominator), shared)
