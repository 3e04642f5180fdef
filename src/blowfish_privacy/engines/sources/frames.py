"""Tables that are already in memory, and relations of a DuckDB the caller has opened.

The name of its class shows which library a table comes from, so that no library is imported to find out.
Each table is handed over as Arrow, and only the columns asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sources.sources import (
    DIALECT,
    Choice,
    DuckDBSource,
    InMemoryDuckDB,
    Opened,
    Source,
    column_type,
    numbered,
)
from blowfish_privacy.engines.sql.rows import SOURCE

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


class FrameSource(DuckDBSource):
    """A table in memory."""

    def __init__(self, data: Any, memory_limit: str | None) -> None:
        super().__init__(InMemoryDuckDB(memory_limit=memory_limit))
        self._data = data

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
        self.database.connection.register(SOURCE, table)
        handed = self.database.bind(exp.select(exp.Star()).from_(exp.table_(SOURCE, quoted=True)))
        return Opened([column_type(each) for each in handed.types], self.database.run)


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

        convert = partial(pyarrow.array, from_pandas=True)
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
