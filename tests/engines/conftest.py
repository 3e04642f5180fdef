"""Every way data can come in. A new engine joins the whole suite by adding its way to WAYS."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Way = Callable[[pa.Table, Path], Any]


def as_csv(table: pa.Table, folder: Path) -> Any:
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(table.schema.names)
        for row in table.to_pylist():
            file.write(",".join(_field(row[name]) for name in table.schema.names) + "\n")
    return path


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None)
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def as_parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "table.parquet")
    return str(folder / "table.parquet")


def as_parquet_folder(table: pa.Table, folder: Path) -> Any:
    parts = folder / "parts [of] 'it'"
    parts.mkdir(exist_ok=True)
    half = len(table) // 2
    pq.write_table(table.slice(0, half), parts / "a.parquet")
    pq.write_table(table.slice(half), parts / "b.parquet")
    return parts


def as_duckdb_file(table: pa.Table, folder: Path) -> Any:
    path = folder / "table.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute('CREATE TABLE "a ""table""" AS SELECT * FROM given')
        connection.execute('CREATE VIEW "seen" AS SELECT * FROM "a ""table"""')
    return path


def as_duckdb_table(table: pa.Table, folder: Path) -> Any:
    return f'{as_duckdb_file(table, folder)}::a "table"'


def as_duckdb_view(table: pa.Table, folder: Path) -> Any:
    return f"{as_duckdb_file(table, folder)}::main.seen"


def as_relation(table: pa.Table, folder: Path) -> Any:
    names = [name.replace('"', '""') for name in table.schema.names]
    chosen = ", ".join(f'c{place} AS "{name}"' for place, name in enumerate(names))
    numbered = table.rename_columns([f"c{place}" for place in range(len(names))])
    return duckdb.connect().from_arrow(numbered).project(chosen)


def as_arrow(table: pa.Table, folder: Path) -> Any:
    return table


def as_arrow_dictionary(table: pa.Table, folder: Path) -> Any:
    columns = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in table.columns]
    return pa.Table.from_arrays(columns, names=table.schema.names)


def as_pandas(table: pa.Table, folder: Path) -> Any:
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
    return table.to_pandas(types_mapper=nullable.get)


def as_pandas_objects(table: pa.Table, folder: Path) -> Any:
    columns = {name: pd.Series(table.column(name).to_pylist(), dtype=object) for name in table.schema.names}
    return pd.DataFrame(columns)


def as_polars(table: pa.Table, folder: Path) -> Any:
    return pl.from_arrow(table)


def as_polars_lazy(table: pa.Table, folder: Path) -> Any:
    return as_polars(table, folder).lazy()


WAYS: dict[str, Way] = {
    "csv": as_csv,
    "parquet": as_parquet,
    "parquet-folder": as_parquet_folder,
    "duckdb-table": as_duckdb_table,
    "duckdb-view": as_duckdb_view,
    "relation": as_relation,
    "arrow": as_arrow,
    "arrow-dictionary": as_arrow_dictionary,
    "pandas": as_pandas,
    "pandas-objects": as_pandas_objects,
    "polars": as_polars,
    "polars-lazy": as_polars_lazy,
}


def as_postgres_table(server: Any) -> Way:
    return lambda table, folder: server.url(table=server.load(table))


def as_postgres_query(server: Any) -> Way:
    def as_query(table: pa.Table, folder: Path) -> Any:
        quoted = server.load(table).replace('"', '""')
        return server.url(query=f'SELECT * FROM "{quoted}" -- all; of it\n;')

    return as_query


def as_spark_frame(session: Any) -> Way:
    def as_frame(table: pa.Table, folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return session.createDataFrame(table)

    return as_frame


def as_spark_path(session: Any) -> Way:
    return lambda table, folder: f"spark:{as_parquet_folder(table, folder)}"


SERVED: dict[str, tuple[str, Callable[[Any], Way], str]] = {
    "postgres-table": ("postgres_server", as_postgres_table, "servers"),
    "postgres-query": ("postgres_server", as_postgres_query, "servers"),
    "spark-frame": ("spark", as_spark_frame, "servers"),
    "spark-path": ("spark", as_spark_path, "servers"),
    "spark-cluster": ("cluster_session", as_spark_path, "cluster"),
}
"""Ways that need a server: the fixture that starts it, what makes a way of it, and the mark of its tests."""


@pytest.fixture(
    params=[*WAYS, *(pytest.param(name, marks=getattr(pytest.mark, mark)) for name, (_, _, mark) in SERVED.items())]
)
def way(request: pytest.FixtureRequest) -> Way:
    """Turn an Arrow table into data of one kind, in a folder."""
    if request.param in WAYS:
        return WAYS[request.param]
    fixture, make, _ = SERVED[request.param]
    return make(request.getfixturevalue(fixture))
