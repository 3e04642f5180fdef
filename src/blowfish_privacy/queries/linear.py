"""General linear queries: what a record adds is given by a matrix or by a function of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import lcm
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain import Cell, Domain, Numeric, quoted
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.graphs.graph import MOST_PAIRS, Edge, SecretGraph, among_all, steepest_of
from blowfish_privacy.queries.query import (
    MOST_NUMBERS,
    LinearForm,
    OfAttribute,
    OrderedForm,
    Pattern,
    Query,
    checked_attribute,
    named,
)
from blowfish_privacy.support.exact import exact, plain
from blowfish_privacy.support.file_forms import Exact, Form, Name, Wanted
from blowfish_privacy.support.progress import task

# What a record adds to the outputs of a linear query: exact numbers, as whole multiples of one unit.

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
        for number, record in enumerate(product(*values)):
            column = weights_of(function(*record))
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
    entries: Iterable[Any] = returned if isinstance(returned, list | tuple | np.ndarray) else [returned]
    # Conditions are the most common functions: true adds one.
    numbers = [int(entry) if isinstance(entry, bool | np.bool_) else entry for entry in entries]
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
    multiples = [[number.numerator * (denominator // number.denominator) for number in row] for row in rows]
    return np.array(multiples, dtype=np.int64), Fraction(1, denominator)


def _check_digits(number: Fraction | int, denominator: int) -> None:
    if abs(number.numerator) * (denominator // number.denominator) > _LARGEST:
        raise QueryError(
            "the weights need too many digits for a common unit.",
            hint="round them, for example to two digits: round(weight, 2).",
        )


_MOST_SIGNS = 10
_AT_ONCE, _EDGES = 4_000_000, 20_000
"""Numbers, and edges, that are looked at together."""

Answer = TypeVar("Answer")

_EXAMPLE = "linear: {attributes: [zone], rows: [[0, 1], [1, 0]]}"
_ATTRIBUTES: TypeAlias = Annotated[list[str], Len(1), Wanted("a list of attributes", "write attributes: [zone].")]

_ROWS: TypeAlias = Annotated[
    list[Annotated[list[Exact | bool], Len(1)]],
    Len(1),
    Wanted("a list of rows of numbers", "write rows: [[0, 1], [1, 0]]."),
]


class Linear(Query):
    """Outputs to which every record adds a number that depends on its value.

    ``Linear(lambda age: age >= 65, attributes=["age"])`` counts; a function may return several numbers, and is given
    the values of the attributes in order. ``Linear([[0, 1, 1], [1, 0, 0]], attributes=["zone"])`` has one row for each
    output and one column for each cell. Numbers are taken exactly.
    """

    keyword = "linear"
    file_form = Form(
        {"linear": Form({"attributes": _ATTRIBUTES, "rows": _ROWS}, example=_EXAMPLE)}, example=f"{{{_EXAMPLE}}}"
    )

    def __init__(self, weights: Any, attributes: Sequence[str]) -> None:
        if not isinstance(attributes, Sequence) or isinstance(attributes, str) or not attributes:
            raise QueryError(
                f"attributes must be a list of names, got {brief(attributes)}.", hint='attributes=["age"].'
            )
        self.weights: Any = weights
        self.attributes = tuple(checked_attribute(name) for name in attributes)
        self._bound: LinearMatrix | None = None

    def on(self, domain: Domain) -> LinearMatrix:
        projected = self.own_domain(domain)
        if self._bound is None or self._bound.domain != projected:
            read = tabulated if callable(self.weights) else _listed_rows
            self._bound = LinearMatrix(projected, *read(self.weights, projected))
        return self._bound

    @property
    def measured_in(self) -> str:
        return ""

    def says(self) -> str:
        return f"Weighted counts over {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        form = self.on(domain)
        rows = [[plain(form.unit * number) for number in row] for row in form.matrix.tolist()]
        return {"linear": {"attributes": list(self.attributes), "rows": rows}}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Linear:
        return cls(entry["linear"]["rows"], entry["linear"]["attributes"])


def _listed_rows(matrix: Any, domain: Domain) -> tuple[npt.NDArray[np.int64], Fraction]:
    rows: list[Any] = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise QueryError("weights must be a function or a list of rows.", hint="one row for each output.")
    if any(len(row) != domain.size for row in rows) or len(rows) * domain.size > MOST_NUMBERS:
        raise QueryError(
            f"every row must have {domain.size:,} numbers, one for each cell of {', '.join(domain.names)}."
        )
    return in_common_unit([weights_of(row) for row in rows])


@dataclass(frozen=True, eq=False)
class LinearMatrix(LinearForm):
    """A matrix of whole numbers, with one row for each output, and their unit."""

    domain: Domain
    matrix: npt.NDArray[np.int64]
    unit: Fraction
    _worst: list[tuple[SecretGraph, int, Any]] = field(default_factory=list[Any], init=False, repr=False)

    @property
    def outputs(self) -> int:
        return len(self.matrix)

    def column(self, x: Cell) -> Sequence[int]:
        return self.matrix[:, self.domain.flat(x)].tolist()

    def as_matrix(self) -> npt.NDArray[np.int64]:
        return self.matrix

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        return self._kept(graph, 1, self._worst_edge)

    def _worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        if self.outputs <= _MOST_SIGNS:
            with task("looking for the secret pair that changes most"):
                steepest = steepest_of(graph.steepest(rows) for rows in self._signed_sums())
            if steepest is not None:
                return steepest.edge, True
        size = self.domain.size
        if size * (size - 1) // 2 <= MOST_PAIRS:
            return self._compared(graph, 1)[0], True
        if self.outputs > _MOST_SIGNS:
            raise QueryError(
                f"a linear query of {self.outputs} outputs over {size:,} cells is too large to calibrate.",
                hint=f"use at most {_MOST_SIGNS} outputs, or fewer cells.",
            )
        return max((among_all(rows) for rows in self._signed_sums()), key=lambda steepest: steepest.rise).edge, False

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        return self._kept(graph, 2, self._largest_squares)

    def _largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        if self.outputs == 1:
            edge, is_worst = self.worst_edge(graph)
            return edge, Fraction(0) if edge is None else self.squared_change(*edge), is_worst
        size = self.domain.size
        if size * (size - 1) // 2 <= MOST_PAIRS:
            edge, squares = self._compared(graph, 2)
            return edge, self.unit**2 * squares, True
        spans = self.matrix.max(axis=1) - self.matrix.min(axis=1)
        # No pair moves an output by more than its span.
        widest = self.matrix[int(spans.argmax())]
        edge = self.domain.unflat(int(widest.argmax())), self.domain.unflat(int(widest.argmin()))
        return edge, self.unit**2 * sum(int(span) ** 2 for span in spans), False

    def _signed_sums(self) -> Iterator[npt.NDArray[np.int64]]:
        """Add the outputs up with all choices of signs, some at a time: one of them changes by the L1 distance."""
        signs = np.array([[1, *rest] for rest in product((1, -1), repeat=self.outputs - 1)], dtype=np.int64)
        at_once = max(1, _AT_ONCE // self.domain.size)
        for start in range(0, len(signs), at_once):
            yield (signs[start : start + at_once] @ self.matrix).reshape(-1, *self.domain.shape)

    def _kept(self, graph: SecretGraph, power: int, find: Callable[[SecretGraph], Answer]) -> Answer:
        """Look for an edge once only: plans, certificates and losses by class all ask for it."""
        for known, known_power, answer in self._worst:
            if known_power == power and known == graph:
                return answer
        answer = find(graph)
        self._worst.append((graph, power, answer))
        return answer

    def _compared(self, graph: SecretGraph, power: int) -> tuple[Edge | None, int]:
        """Find the edge that changes most by looking at every one; changes are in units, to some power."""
        most, worst = 0, None
        wide = self.matrix.astype(object) if power > 1 else self.matrix
        with task("comparing all secret pairs"):
            edges = graph.edges()
            while chunk := [*islice(edges, _EDGES)]:
                ends = np.array(chunk, dtype=np.intp).reshape(len(chunk), 2, -1)
                first, second = (np.ravel_multi_index(tuple(ends[:, side].T), self.domain.shape) for side in (0, 1))
                changes = (np.abs(wide[:, first] - wide[:, second]) ** power).sum(axis=0)
                at = int(changes.argmax())
                if changes[at] > most:
                    most, worst = int(changes[at]), chunk[at]
        return worst, most

    def largest_squared_weight(self) -> Fraction:
        return self.unit**2 * max(int(square) for square in (self.matrix.astype(object) ** 2).sum(axis=0))

    def heaviest(self) -> Cell:
        return self.domain.unflat(int(np.abs(self.matrix).sum(axis=0).argmax()))

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        flat = counts.reshape(-1)
        filled = np.flatnonzero(flat)
        return self.matrix[:, filled].astype(object) @ flat[filled].astype(object)


# Sums and means of an attribute of numbers.


@dataclass(frozen=True)
class Numbers:
    """The values of an attribute as whole numbers of a unit: the first, and from there on in equal steps."""

    first: int
    step: int
    size: int
    unit: Fraction

    @classmethod
    def of(cls, attribute: Numeric) -> Numbers:
        """Return the numbers that an attribute declares."""
        unit = attribute.unit
        return cls(int(attribute.lowest / unit), int(attribute.spacing / unit), attribute.size, unit)

    def __getitem__(self, position: int) -> int:
        return self.first + self.step * position

    @property
    def largest(self) -> int:
        """The number furthest from zero, without its sign."""
        return max(abs(self[0]), abs(self[self.size - 1]))

    @cached_property
    def multiples(self) -> npt.NDArray[np.int64]:
        """All numbers, in units."""
        return self.first + self.step * np.arange(self.size, dtype=np.int64)


@dataclass(frozen=True)
class Sum(OfAttribute):
    """The sum of an attribute over all records: ``Sum("hours")``."""

    keyword = "sum"
    file_form = Form({"sum": Name}, {"weight": Name}, example="{sum: hours}")
    result = "number"
    error_of = "the sum"
    changed = "the sum"

    def on(self, domain: Domain) -> SumForm:
        projected = self.own_domain(domain)
        attribute = projected[self.attribute]
        if not isinstance(attribute, Numeric):
            raise QueryError(f"{self.attribute} does not have numbers to add up.", hint=attribute.instead_of_sums)
        return SumForm(projected, attribute, attribute.unit)

    @property
    def measured_in(self) -> str:
        return f"units of {self.attribute}"

    def says(self) -> str:
        return f"The {self.keyword} of {quoted(self.attribute)}"


@dataclass(frozen=True)
class Mean(Sum):
    """The mean of an attribute: its sum divided by the number of records, public or, where that is secret, noisy."""

    keyword = "mean"
    file_form = Form({"mean": Name}, {"weight": Name}, example="{mean: hours}")
    needs_records = True
    error_of = "the mean"
    divided = True
    of_some = True


@dataclass(frozen=True)
class SumForm(OrderedForm):
    """A record adds its value to the one output."""

    domain: Domain
    attribute: Numeric
    unit: Fraction
    pattern = Pattern.LINE

    @property
    def outputs(self) -> int:
        return 1

    @cached_property
    def values(self) -> Numbers:
        """The values by position."""
        return Numbers.of(self.attribute)

    def column(self, x: Cell) -> Sequence[int]:
        return [self.values[x[0]]]

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        return graph.widest_edge(self.domain.names[0]), True

    def heaviest(self) -> Cell:
        return max(((0,), (self.domain.size - 1,)), key=self.weight)

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        flat = counts.reshape(-1)
        total = sum(self.values[int(position)] * int(flat[position]) for position in np.flatnonzero(flat))
        return np.array([total], dtype=object)
