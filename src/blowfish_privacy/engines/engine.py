"""What an engine does, and how data are opened as one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines.check import DataCheck
from blowfish_privacy.engines.progress import Progress
from blowfish_privacy.engines.sources.memory import Counts, MemoryEngine
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.postgresql import NamedByFile, is_address, named_servers, refuse_unconfirmed

SPARK = "spark"
"""What an address for Spark begins with."""


@runtime_checkable
class Engine(Protocol):
    """Exact whole-number aggregates of a table. An engine knows nothing of privacy, and only counts leave it.

    One whose data have no names of their own also says ``positional = True``: then the order of the domain counts.
    """

    reads: int
    """How many queries have touched the data."""

    def counts(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> list[npt.NDArray[np.int64]]:
        """Count the rows of every cell of several sets of attributes in one scan.

        There is one table for each set, in the shape of ``domain.project(names)``; that of the empty set is the
        number of rows. ``domain`` is the whole declared domain. The same scan checks every row's value of every named
        attribute: one that is missing or not declared is treated as the declaration says, and where that is
        an error, :class:`DataError` names the column and the kind of problem, never a value or a number of
        rows. ``progress`` is called with the finished share of a scan that takes over two seconds.
        """
        ...

    def tables(
        self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Count the same, one table after the other in the order of the sets, in bounded memory.

        Sets are checked at once; the data are read when the first table is asked for, at the latest.
        """
        ...

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Add up what the rows give each node of a lattice over some attributes, in the shape of the lattice.

        Rows are checked as for :meth:`counts`. The caller has made sure that rows times ``lattice.unit`` fit 64 bits.
        """
        ...

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> npt.NDArray[np.int64]:
        """Return for each centre the number of its rows and the sums of their clipped offsets, one row each."""
        ...

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        """Check, without reading a row, that the data can be asked about some attributes: columns and types."""
        ...

    def rows(self) -> int:
        """Count the rows."""
        ...

    def check(self, domain: Domain) -> DataCheck:
        """Report how the data fit a domain: for the data's custodian only."""
        ...

    def close(self) -> None:
        """Let go of files and memory; the engine is not used afterwards."""
        ...


def located(data: str, folder: str | os.PathLike[str]) -> str:
    """Return the data that a file in some folder names: a path is relative to the folder, an address stays as it is.

    An address comes back as one that the file names: its server is asked nothing before the user has confirmed it.
    """
    if is_address(data):
        return NamedByFile(data)
    scheme, _, path = data.partition(":")
    if scheme == SPARK and "://" not in path and not path.startswith("?"):
        return f"{SPARK}:{os.path.join(folder, path)}"
    return NamedByFile(data) if scheme == SPARK else os.path.join(folder, data)


def open_engine(data: object, *, memory_limit: str | None = None) -> Engine:
    """Open data for counting; nothing is read yet.

    ``data`` is one of

    - a path to a ``.csv`` or ``.tsv`` file whose first line names the columns;
    - a path to a ``.parquet`` file, a pattern such as ``part-*.parquet``, or a folder of such files;
    - a path to a ``.duckdb`` or ``.db`` file of DuckDB, followed by ``::table`` or ``::schema.table`` unless
      it holds a single table: ``census.duckdb::persons``;
    - a pandas or Polars table (a lazy one too), a pyarrow Table or RecordBatch;
    - a DuckDB relation, which is queried on its own connection;
    - an address of PostgreSQL that names a table or a query:
      ``postgresql://user@host/database?table=schema.table``, see :mod:`blowfish_privacy.engines.sources.postgres`;
    - a Spark DataFrame; ``spark:PATH`` for Parquet files that Spark reads, ``spark:?table=schema.table`` for a table of
      its catalog, see :mod:`blowfish_privacy.engines.sources.spark`;
    - :class:`Counts`, or an engine, which is returned as it is.

    ``memory_limit``, such as ``"2GB"``, bounds the engine's memory; what does not fit goes to a private
    folder under the system's temporary one (``TMPDIR``), which is removed when the engine is closed.
    """
    if isinstance(data, Counts):
        return MemoryEngine(data)
    from blowfish_privacy.engines.sql.table import TableEngine

    if isinstance(data, str) and is_address(data):
        from blowfish_privacy.engines.sources.postgres import open_postgres

        return TableEngine(open_postgres(data))
    if isinstance(data, str) and data.startswith(f"{SPARK}:"):
        from blowfish_privacy.engines.sources.spark import open_spark

        if isinstance(data, NamedByFile):
            refuse_unconfirmed(named_servers(data))
        return TableEngine(open_spark(data.removeprefix(f"{SPARK}:")))
    if isinstance(data, str | os.PathLike):
        from blowfish_privacy.engines.sources.files import open_path

        return TableEngine(open_path(os.fspath(data), memory_limit))
    from blowfish_privacy.engines.sources.frames import open_table

    source = open_table(data, memory_limit)
    if source is not None:
        return TableEngine(source)
    if isinstance(data, Engine):
        return data
    raise DataError(
        f"data cannot be a {type(data).__name__}.",
        hint="give a path, an address, a pandas, Polars, Arrow or Spark table, a DuckDB relation, or Counts(array).",
    )
