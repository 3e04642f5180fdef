"""Binned attributes: measurements sorted into half-open bins, whose edges are a public choice."""

from __future__ import annotations

import decimal
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, isfinite
from numbers import Rational
from typing import Annotated, Any, Literal, cast

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, OUTSIDE_FORM, Attribute, Outside, Positions
from blowfish_privacy.domain.integer import Integer
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.exact import Number, exact, plain, show
from blowfish_privacy.support.file_forms import Form, Wanted
from blowfish_privacy.support.file_values import Exact

_LARGEST = 10**300


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
        if edges and max(abs(edge) for edge in edges) > _LARGEST:
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
        """The number of bins."""
        return len(self.edges) - 1

    def position(self, value: object) -> int:
        """Return the position of a bin, or of the bin that contains a number."""
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
        """Return the bin at a position."""
        return Bin(self.bounds[position], self.bounds[position + 1])

    def example(self, position: int) -> float:
        """Return the middle of a bin; where no float lies there, its lower edge."""
        middle = float(sum(self.bounds[position : position + 2]) / 2)
        return middle if self._bin_of(middle) == position else self._float_bounds[position]

    def gap(self, first: int, second: int) -> Fraction:
        """Return how far apart two bins are; 0 for neighbours, whose members can be arbitrarily close."""
        low, high = sorted((first, second))
        return max(self.bounds[high] - self.bounds[low + 1], Fraction(0)) if low != high else Fraction(0)

    def subset(self, chosen: object) -> Subset:
        """Read one bin, a pair of edges ``(from, to)``, or a list of these."""
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
            whole = [min(max(ceil(edge), int(info.min)), int(info.max)) for edge in self.bounds]
            positions = np.searchsorted(np.array(whole, dtype=column.dtype), column, side="right") - 1
            above = np.array([edge > int(info.max) for edge in self.bounds])
            return np.minimum(positions, len(whole) - 1 - int(above.sum())).astype(np.int64)
        if column.dtype.kind != "f" or not np.isfinite(column).all():
            raise _not_numbers()
        return (np.searchsorted(self._float_bounds, column, side="right") - 1).astype(np.int64)

    def _bin_of(self, value: object) -> int:
        if isinstance(value, float):
            if not isfinite(value):
                raise _not_numbers()
            return bisect_right(self._float_bounds, value) - 1
        if isinstance(value, Bin):
            value = value.low
        if not isinstance(value, Rational | decimal.Decimal) or isinstance(value, bool):
            raise _not_numbers()
        return bisect_right(self.bounds, Fraction(value)) - 1

    def _value_to_file(self, position: int) -> Any:
        return plain(self.bounds[position])

    def to_file(self) -> dict[str, Any]:
        """Write ``{binned: [..]}``."""
        return {"binned": [plain(edge) for edge in self.bounds], **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Binned:
        """Read ``{binned: [..]}``."""
        return cls(body["binned"], **cls._rules_from_file(body))


def _not_numbers() -> DataError:
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
