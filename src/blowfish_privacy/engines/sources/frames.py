"""Tables that are already in memory, and relations of a DuckDB the caller has opened.

Which library a table comes from is told by the name of its class, so that no library is imported for the question.
Each table is handed over as Arrow, and only the columns asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice, RecordAggregates
from blowfish_privacy.aggregates.aggregates import involved
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.engine import ColumnCheck, ColumnType, DataCheck, Progress, reported
from blowfish_privacy.engines.sources.sources import (
    DIALECT,
    Choice,
    InMemoryDuckDB,
    Opened,
    Source,
    column_type,
    numbered,
)
from blowfish_privacy.engines.sql.cells import check_countable
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import DataError

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def open_table(data: Any, memory_limit: str | None) -> Source | None:
    """Open a table or relation; None when it is neither."""
    for kind in type(data).__mro__:
        opener = _OPENERS.get((kind.__module__.partition(".")[0].lstrip("_"), kind.__name__))
        if opener is not None:
            return opener(data, memory_limit)
    return None


class RelationSource(Source):
    """A relation, queried on the connection it belongs to."""

    label = "a DuckDB relation"

    def __init__(self, data: DuckDBPyRelation, memory_limit: str | None) -> None:
        self._relation = data

    def open(self, choose: Choice) -> Opened:
        names = self._relation.columns
        given = exp.Table(this=exp.to_identifier(SOURCE, quoted=True))
        picked = _put(self._relation, numbered(given, len(names), choose(names)))
        return Opened([column_type(each) for each in picked.types], lambda query: _put(picked, query))

    def percentage(self) -> None:
        """Return None: the connection is the caller's."""

    def close(self) -> None:
        """Do nothing: the connection is the caller's."""


class FrameSource(Source):
    """A table in memory."""

    def __init__(self, data: Any, memory_limit: str | None) -> None:
        self._data = data
        self._database = InMemoryDuckDB(memory_limit=memory_limit)

    @abstractmethod
    def names(self) -> Sequence[object]:
        """The columns' names, exactly as the table spells them."""

    @abstractmethod
    def columns(self, indexes: Sequence[int]) -> list[Any]:
        """Return the columns at some indexes as Arrow arrays, whole or in chunks."""

    @abstractmethod
    def without_rows(self) -> Any:
        """Return the table's columns with their types, and no row."""

    def types(self, choose: Choice) -> Sequence[ColumnType]:
        empty = copy(self)
        empty._data = self.without_rows()
        return empty.open(choose).types

    def open(self, choose: Choice) -> Opened:
        import pyarrow

        indexes = choose(self.names())
        names = [f"c{rank}" for rank in range(len(indexes))]
        table = pyarrow.Table.from_arrays(self.columns(indexes), names=names)
        self._database.connection.register(SOURCE, table)
        handed = self._database.bind(exp.select(exp.Star()).from_(exp.table_(SOURCE, quoted=True)))
        return Opened([column_type(each) for each in handed.types], self._database.run)

    def percentage(self) -> float:
        return self._database.connection.query_progress()

    def close(self) -> None:
        self._database.close()


class ArrowSource(FrameSource):
    """An Arrow table or record batch."""

    label = "an Arrow table"

    def names(self) -> Sequence[object]:
        return list(self._data.schema.names)

    def without_rows(self) -> Any:
        return self._data.slice(0, 0)

    def columns(self, indexes: Sequence[int]) -> list[Any]:
        return [self._data.column(index) for index in indexes]

    def rows(self) -> int:
        return int(self._data.num_rows)


class PandasSource(FrameSource):
    """A pandas table."""

    label = "a pandas table"

    def names(self) -> Sequence[object]:
        return list(self._data.columns)

    def without_rows(self) -> Any:
        return self._data.iloc[:0]

    def columns(self, indexes: Sequence[int]) -> list[Any]:
        """Turn columns into Arrow arrays, every value of a column of objects being looked at.

        DuckDB would tell the type of such a column from a sample and convert the rest.
        """
        import pyarrow

        def convert(column: Any) -> Any:
            return pyarrow.array(column, from_pandas=True)

        return [_typed(convert, self._data.iloc[:, index]) for index in indexes]

    def rows(self) -> int:
        return len(self._data)


class PolarsSource(FrameSource):
    """A Polars table, or a lazy one, which is collected anew at each read."""

    label = "a Polars table"

    def names(self) -> Sequence[object]:
        return list(self._data.lazy().collect_schema().names())

    def without_rows(self) -> Any:
        return self._data.lazy().collect_schema().to_frame()

    def columns(self, indexes: Sequence[int]) -> list[Any]:
        import polars

        picked = (polars.nth(index).alias(f"c{rank}") for rank, index in enumerate(indexes))
        chosen = self._data.lazy().select(*picked).collect()
        return [_typed(lambda column: column.to_arrow(), column) for column in chosen.get_columns()]

    def rows(self) -> int:
        import polars

        return int(self._data.lazy().select(polars.len()).collect().item())


def _typed(convert: Callable[[Any], Any], column: Any) -> Any:
    """Convert a column; one whose values Arrow has no single type for becomes bytes, which no attribute accepts."""
    import pyarrow

    try:
        return convert(column)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        return pyarrow.nulls(len(column), pyarrow.binary())


def _put(relation: DuckDBPyRelation, query: exp.Select) -> DuckDBPyRelation:
    return cast(Any, relation.query(SOURCE, query.sql(DIALECT)))


def _spark_frame(data: Any, memory_limit: str | None) -> Source:  # noqa: ARG001  # as all openers
    from blowfish_privacy.engines.sources.spark import SparkSource

    return SparkSource(lambda: data, "a DataFrame")


_OPENERS: dict[tuple[str, str], Callable[[Any, str | None], Source]] = {
    ("pyspark", "DataFrame"): _spark_frame,
    ("duckdb", "DuckDBPyRelation"): RelationSource,
    ("pandas", "DataFrame"): PandasSource,
    ("polars", "DataFrame"): PolarsSource,
    ("polars", "LazyFrame"): PolarsSource,
    ("pyarrow", "Table"): ArrowSource,
    ("pyarrow", "RecordBatch"): ArrowSource,
}


# Arrays in memory, one for each attribute, counted without any database.


Column: TypeAlias = Callable[[], npt.NDArray[Any]]

"""Hands over a column when it is read, and not before: what its values are is nobody's business until then."""


class ArrayEngine:
    """Counts columns given as numpy arrays; a column is numbered once, when it is first asked for."""

    positional: ClassVar[bool] = True
    """Its columns have no names of their own: the order of the domain says which is which."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        self._columns = dict(columns)
        self._rows = rows
        self._positions: dict[tuple[str, object], npt.NDArray[np.int64]] = {}
        self.reads = 0

    def counts(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> list[npt.NDArray[np.int64]]:
        """Count the rows of every cell of several sets of attributes."""
        return [*self.tables(domain, sets, progress=progress)]

    def tables(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Count the rows of one set of attributes after the other."""
        wanted = check_countable(domain, sets)
        named = involved(domain, wanted)
        if not named:
            self.reads += 1
            return (np.array(self._rows, dtype=np.int64) for _ in wanted)
        return reported(self._read(domain.project(named)).tables(wanted), len(wanted), progress)

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the rows give the nodes of a lattice."""
        return self._read(domain.project(names)).lattice_sums(lattice)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Assign the rows to their nearest centres."""
        return self._read(domain.project(names)).assignments(assignment)

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check that the columns are there."""
        for column in map(domain.column, names):
            if column not in self._columns:
                raise DataError(f"the data have no column {column!r}.")

    def rows(self) -> int:
        """Return the number of rows."""
        return self._rows

    def check(self, domain: Domain) -> DataCheck:
        """Report, for the custodian, whether the columns fit a domain."""
        columns: list[ColumnCheck] = []
        for name in domain.names:
            try:
                self._read(domain.project([name]))
                columns.append(ColumnCheck(name, present=True, type_fits=True))
            except DataError:
                columns.append(ColumnCheck(name, present=name in self._columns, type_fits=False))
        return DataCheck(self._rows, tuple(columns))

    def close(self) -> None:
        """Let go of the arrays."""
        self._columns.clear()
        self._positions.clear()

    def _read(self, domain: Domain) -> RecordAggregates:
        self.prepare(domain, domain.names)
        self.reads += 1
        return RecordAggregates(domain, [self._encoded(domain, name) for name in domain.names])

    def _encoded(self, domain: Domain, name: str) -> npt.NDArray[np.int64]:
        key = (name, domain[name])
        if key not in self._positions:
            column = self._columns[domain.column(name)]()
            try:
                self._positions[key] = domain[name].encode(column)
            except DataError as error:
                raise error.within(name) from None
        return self._positions[key]
