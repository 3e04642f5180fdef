"""General linear queries: what a record adds is given by a matrix or by a function of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.graphs.graph import MOST_PAIRS, Edge, SecretGraph
from blowfish_privacy.queries.query import MOST_NUMBERS, LinearForm, Query, named
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.exact import exact, plain
from blowfish_privacy.support.file_forms import Form, Wanted
from blowfish_privacy.support.file_values import Exact

_MOST_SIGNS = 10
_LARGEST = 2**40

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

    def on(self, domain: Domain) -> LinearMatrix:
        """Bind to a domain, and work out what each cell adds."""
        projected = self.own_domain(domain)
        read = _columns_of if callable(self.weights) else _columns_from
        columns = read(self.weights, projected)
        unit = Fraction(1, lcm(*(number.denominator for column in columns for number in column)))
        whole = [[int(number / unit) for number in column] for column in columns]
        if any(abs(number) > _LARGEST for column in whole for number in column):
            raise QueryError("the weights need too many digits for a common unit.", hint="round them.")
        return LinearMatrix(projected, np.array(whole, dtype=np.int64).T.copy(), unit)

    def says(self) -> str:
        """Name the attributes that the weights depend on."""
        return f"Weighted counts over {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{linear: {attributes: [..], rows: [[..], ..]}}``; a function is written as its matrix."""
        form = self.on(domain)
        rows = [[plain(form.unit * number) for number in row] for row in form.matrix.tolist()]
        return {"linear": {"attributes": list(self.attributes), "rows": rows}}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Linear:
        """Read ``{linear: {attributes: [..], rows: [[..], ..]}}``."""
        return cls(entry["linear"]["rows"], entry["linear"]["attributes"])


def _columns_of(function: Callable[..., Any], domain: Domain) -> list[list[Fraction]]:
    if domain.size > MOST_NUMBERS:
        raise QueryError(
            f"a function of {domain.size:,} values is too large to tabulate.", hint="use fewer attributes."
        )
    columns = [_column(function(*domain.record(cell).values())) for cell in domain.cells()]
    if len({len(column) for column in columns}) != 1:
        raise QueryError("the function does not return the same number of outputs for every value.")
    return columns


def _columns_from(matrix: Any, domain: Domain) -> list[list[Fraction]]:
    rows: list[Any] = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise QueryError("weights must be a function or a list of rows.", hint="one row for each output.")
    if any(len(row) != domain.size for row in rows) or len(rows) * domain.size > MOST_NUMBERS:
        raise QueryError(
            f"every row must have {domain.size:,} numbers, one for each cell of {', '.join(domain.names)}."
        )
    exact_rows = [_column(row) for row in rows]
    return [list(column) for column in zip(*exact_rows, strict=True)]


def _column(returned: Any) -> list[Fraction]:
    parts: Iterable[Any] = returned if isinstance(returned, list | tuple | np.ndarray) else [returned]
    # Conditions are the most common functions: true adds one.
    numbers = [int(part) if isinstance(part, bool | np.bool_) else part for part in parts]
    column = [exact(number, "what a record adds", error=QueryError) for number in numbers]
    if not column:
        raise QueryError("a record must add to at least one output.")
    return column


@dataclass(frozen=True, eq=False)
class LinearMatrix(LinearForm):
    """A matrix of whole numbers, with one row for each output, and their unit."""

    domain: Domain
    matrix: npt.NDArray[np.int64]
    unit: Fraction

    @property
    def outputs(self) -> int:
        """The number of rows."""
        return len(self.matrix)

    def column(self, x: Cell) -> Sequence[int]:
        """Return the column of a cell."""
        return self.matrix[:, self.domain.flat(x)].tolist()

    def as_matrix(self) -> npt.NDArray[np.int64]:
        """Return the matrix."""
        return self.matrix

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        """Compare all edges if they are few; otherwise bound them by the worst of all pairs, which is quick to find."""
        size = self.domain.size
        if size * (size - 1) // 2 <= MOST_PAIRS:
            return max(graph.edges(), key=lambda edge: self.change(*edge), default=None), True
        if self.outputs > _MOST_SIGNS:
            raise QueryError(
                f"a linear query of {self.outputs} outputs over {size:,} cells is too large to calibrate.",
                hint=f"use at most {_MOST_SIGNS} outputs, or fewer cells.",
            )
        return self._widest_pair(), False

    def largest_squares(self, graph: SecretGraph) -> tuple[Edge | None, Fraction, bool]:
        """Compare all edges if they are few; otherwise bound them by how far the weights of each output are apart."""
        size = self.domain.size
        if size * (size - 1) // 2 <= MOST_PAIRS:
            return super().largest_squares(graph)
        spans = self.matrix.max(axis=1) - self.matrix.min(axis=1)
        # No pair moves an output by more than its span.
        widest = self.matrix[int(spans.argmax())]
        edge = self.domain.unflat(int(widest.argmax())), self.domain.unflat(int(widest.argmin()))
        return edge, self.unit**2 * sum(int(span) ** 2 for span in spans), False

    def largest_squared_weight(self) -> Fraction:
        """Compare all cells, in integers of arbitrary precision."""
        return self.unit**2 * max(int(square) for square in (self.matrix.astype(object) ** 2).sum(axis=0))

    def _widest_pair(self) -> Edge:
        """Find the pair of cells with the largest L1 distance: for some choice of signs it spans the signed sum."""
        signs = [[1]]
        for _ in range(self.outputs - 1):
            signs = [[*row, sign] for row in signs for sign in (1, -1)]
        projected = np.array(signs, dtype=np.int64) @ self.matrix
        spans = projected.max(axis=1) - projected.min(axis=1)
        row = projected[int(spans.argmax())]
        return self.domain.unflat(int(row.argmax())), self.domain.unflat(int(row.argmin()))

    def heaviest(self) -> Cell:
        """Compare all cells."""
        return self.domain.unflat(int(np.abs(self.matrix).sum(axis=0).argmax()))

    def answer(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Multiply in integers of arbitrary precision."""
        flat = counts.reshape(-1)
        filled = np.flatnonzero(flat)
        return self.matrix[:, filled].astype(object) @ flat[filled].astype(object)
