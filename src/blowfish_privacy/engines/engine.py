"""What an engine does, and how data are opened as one."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Event, Thread
from time import monotonic
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import (
    Aggregates,
    Assignment,
    AttributeSets,
    Lattice,
    RecordAggregates,
    TableAggregates,
)
from blowfish_privacy.aggregates.aggregates import involved
from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Domain, Numeric
from blowfish_privacy.engines.sql.cells import check_countable
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.postgresql import NamedByFile, is_address, named_servers, refuse_unconfirmed
from blowfish_privacy.support.progress import Report

# What the custodian learns about data and declaration before any release.
#
# This report carries exact counts of private rows, and values that are not declared: it is for the person who holds the
# data, and no part of it may enter a release, a document, an error or a log. Its ``repr`` leaves the values out.


@dataclass(frozen=True)
class ColumnCheck:
    """How one attribute's column fits its declaration; counts are None where there was nothing to count."""

    name: str
    present: bool
    """Whether the data have exactly one column of this name."""
    type_fits: bool
    """Whether the column can hold the attribute's values at all."""
    missing: int | None = None
    """Rows without a value (NULL, NaN, an empty field)."""
    outside: int | None = None
    """Rows with a value that is not declared."""
    malformed: int | None = None
    """Rows of a CSV file whose text is not a number, or not a truth value, where one is declared."""

    declared: tuple[str, ...] = ()
    """Which of missing and outside the declaration says how to count, so that they are no problem."""

    undeclared: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """The most frequent values that are not declared, or not of the declared kind, with their numbers of rows."""
    hints: tuple[str, ...] = ()
    """How such values are declared, where they look like another kind."""
    smallest: str | None = field(default=None, repr=False)
    """The smallest number outside the declared range."""
    largest: str | None = field(default=None, repr=False)
    """The largest number outside the declared range."""
    unused: tuple[str, ...] = field(default=(), repr=False)
    """Categories that are declared and do not occur; the first few of them."""
    similar: tuple[str, ...] = field(default=(), repr=False)
    """Columns with a name much like that of an attribute that has none."""

    @property
    def fits(self) -> bool:
        """Whether every row has a value that the declaration covers."""
        missing = 0 if "missing" in self.declared else self.missing
        outside = 0 if "outside" in self.declared else self.outside
        return self.present and self.type_fits and not (missing or outside or self.malformed)


@dataclass(frozen=True)
class DataCheck:
    """How data fit a domain."""

    rows: int
    columns: tuple[ColumnCheck, ...]

    @property
    def fits(self) -> bool:
        """Whether every row has a declared value for every attribute."""
        return all(column.fits for column in self.columns)


# How far a scan is.

Progress: TypeAlias = Report
"""Receives the finished share of a scan, in a separate thread and only if the scan takes over two seconds."""

PATIENCE = 2.0
"""Seconds before the progress of a scan is looked up, which costs the engine time."""
_INTERVAL = 0.2

Item = TypeVar("Item")


def between(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Report a part of a longer task: what is 0 to 1 of the part is ``start`` to ``end`` of the whole."""
    if progress is None:
        return None
    return lambda share: progress(None if share is None else start + (end - start) * share)


def reported(items: Iterable[Item], many: int, progress: Progress | None) -> Iterator[Item]:
    """Hand on items, and report to ``progress`` from time to time how many of them are done."""
    due = monotonic() + PATIENCE
    for number, item in enumerate(items):
        if progress is not None and monotonic() > due:
            progress(number / many)
            due = monotonic() + _INTERVAL
        yield item


@contextmanager
def watched(percentage: Callable[[], float | None], progress: Progress | None) -> Generator[None]:
    """Report to ``progress`` how far a query is while the body runs."""
    if progress is None:
        yield
        return
    done = Event()

    def watch() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            wait = _INTERVAL
            done_so_far = percentage()
            if done_so_far is None:
                progress(None)
            elif 0 <= done_so_far <= 100:
                progress(done_so_far / 100)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@runtime_checkable
class Engine(Protocol):
    """Exact whole-number aggregates of a table. An engine knows nothing of privacy, and only counts leave it.

    One whose data have no names of their own also says ``positional = True``: then the order of the domain counts.
    """

    reads: int
    """How many queries have touched the data."""

    def counts(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> list[Integers]:
        """Count the rows of every cell of several sets of attributes in one scan.

        There is one table for each set, in the shape of ``domain.project(names)``; that of the empty set is the
        number of rows. ``domain`` is the whole declared domain. The same scan checks every row's value of every named
        attribute: one that is missing or not declared is treated as the declaration says, and where that is
        an error, :class:`DataError` names the column and the kind of problem, never a value or a number of
        rows. ``progress`` is called with the finished share of a scan that takes over two seconds.
        """
        return [*self.tables(domain, sets, progress=progress)]

    def tables(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> Iterator[Integers]:
        """Count the same, one table after the other in the order of the sets, in bounded memory.

        Sets are checked at once; the data are read when the first table is asked for, at the latest.
        """
        ...

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> Integers:
        """Add up what the rows give each node of a lattice over some attributes, in the shape of the lattice.

        Rows are checked as for :meth:`counts`. The caller has made sure that rows times ``lattice.unit`` fit 64 bits.
        """
        ...

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> Integers:
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


# What the caller already has in memory: a histogram, or arrays, counted without any database.

_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """The number of rows of every cell, one axis for each attribute of the domain, in the domain's order.

    The axes have no names, so the order counts: a plan made for another order of the same policy is refused.

    >>> Counts([[3, 0, 1], [2, 2, 0]])
    Counts of shape (2, 3)
    """

    array: npt.ArrayLike

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.array)
        except ValueError:
            given = np.array([0.5])
        if given.dtype.kind not in "iu":
            raise DataError(
                f"counts must be whole numbers, got an array of {given.dtype}.",
                hint="numbers are never rounded implicitly; convert them yourself.",
            )
        if given.size and given.min() < 0:
            raise DataError("counts must not be negative.")
        # High and low halves add up apart, without overflow.
        high, low = np.divmod(given.astype(np.uint64, copy=False), np.uint64(2**32))
        if (int(high.sum(dtype=np.uint64)) << 32) + int(low.sum(dtype=np.uint64)) > _LARGEST:
            raise DataError("the counts add up to more than 64 bits can hold.")
        # A copy: what is checked here must still hold when it is read.
        kept = given.astype(np.int64, copy=True)
        kept.flags.writeable = False
        object.__setattr__(self, "array", kept)

    def __repr__(self) -> str:
        return f"Counts of shape {self.values.shape}"

    @property
    def values(self) -> Integers:
        """The checked counts, read-only."""
        return np.asarray(self.array, dtype=np.int64)


class _HeldEngine(Engine):
    """Asks what is in memory."""

    positional: ClassVar[bool] = True
    """Its parts have no names of their own: the order of the domain says which is which."""

    reads = 0

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> Integers:
        return self._projected(domain, names).lattice_sums(lattice)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> Integers:
        return self._projected(domain, names).assignments(assignment)

    @abstractmethod
    def _projected(self, domain: Domain, names: Iterable[str]) -> Aggregates:
        """Read some attributes."""


class MemoryEngine(_HeldEngine):
    """Counts cells by summing the axes that are not asked for."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts.values

    def tables(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> Iterator[Integers]:
        self._check_shape(domain)
        # The total fits 64 bits, so every partial sum does.
        tables = TableAggregates(domain, self._counts).tables(sets)
        self.reads += 1
        return reported(tables, len(sets), progress)

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        _ = domain.project(names)
        self._check_shape(domain)

    def rows(self) -> int:
        self.reads += 1
        return int(self._counts.sum(dtype=np.int64))

    def check(self, domain: Domain) -> DataCheck:
        self._check_shape(domain)
        fitting = [ColumnCheck(name, present=True, type_fits=True, missing=0, outside=0) for name in domain.names]
        return DataCheck(self.rows(), tuple(fitting))

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _projected(self, domain: Domain, names: Iterable[str]) -> Aggregates:
        chosen = domain.project(names)
        return TableAggregates(chosen, *self.counts(domain, [chosen.names]))

    def _check_shape(self, domain: Domain) -> None:
        if self._counts.shape != domain.shape:
            raise DataError(
                f"the counts have the shape {self._counts.shape}, but the domain has {domain.shape}.",
                hint=f"one axis for each attribute, in the order {', '.join(domain.names)}.",
            )


class ArrayEngine(_HeldEngine):
    """Counts columns given as numpy arrays; a column is numbered once, when it is first asked for.

    Each is handed over when it is read, and not before: what its values are is nobody's business until then.
    """

    def __init__(self, columns: Mapping[str, Callable[[], npt.NDArray[Any]]], rows: int) -> None:
        self._columns = dict(columns)
        self._rows = rows
        self._positions: dict[tuple[str, object], Integers] = {}

    def tables(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> Iterator[Integers]:
        wanted = check_countable(domain, sets)
        named = involved(domain, wanted)
        if not named:
            self.reads += 1
            return (np.array(self._rows, dtype=np.int64) for _ in wanted)
        return reported(self._projected(domain, named).tables(wanted), len(wanted), progress)

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        for column in map(domain.column, names):
            if column not in self._columns:
                raise DataError(f"the data have no column {column!r}.")

    def rows(self) -> int:
        return self._rows

    def check(self, domain: Domain) -> DataCheck:
        columns: list[ColumnCheck] = []
        for name in domain.names:
            try:
                self._projected(domain, [name])
                columns.append(ColumnCheck(name, present=True, type_fits=True))
            except DataError:
                columns.append(ColumnCheck(name, present=name in self._columns, type_fits=False))
        return DataCheck(self._rows, tuple(columns))

    def close(self) -> None:
        self._columns.clear()
        self._positions.clear()

    def _projected(self, domain: Domain, names: Iterable[str]) -> Aggregates:
        chosen = domain.project(names)
        self.prepare(chosen, chosen.names)
        self.reads += 1
        return RecordAggregates(chosen, [self._encoded(chosen, name) for name in chosen.names])

    def _encoded(self, domain: Domain, name: str) -> Integers:
        key = (name, domain[name])
        if key not in self._positions:
            column = self._columns[domain.column(name)]()
            try:
                self._positions[key] = domain[name].encode(column)
            except DataError as error:
                raise error.within(name) from None
        return self._positions[key]


SPARK = "spark"
"""What an address for Spark begins with."""


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


# What a table looks like from outside: the names of its columns and the kinds of their values.

_WORDS: dict[Kind, str] = {
    "integer": "whole numbers",
    "decimal": "decimal numbers",
    "float": "floating-point numbers",
    "text": "text",
    "enum": "text from a list",
    "boolean": "true or false",
    "date": "dates",
    "timestamp": "times",
    "instant": "times with a time zone",
    "unparsed": "as declared",
    "null": "nothing",
    "other": "of a type that cannot be declared",
}
_NUMBER_OR_DATE = re.compile(r"[-+]?[0-9.,:/ -]*[0-9][0-9.,:/ eE%-]*")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, and what kind of values it holds."""

    name: str
    kind: Kind

    def fits(self, attribute: Attribute) -> bool:
        """Say whether the column can hold an attribute's values; in a file of text, only the values tell."""
        return accepts(attribute, ColumnType(self.kind))

    @property
    def words(self) -> str:
        """Say what it holds; a file of text holds what is declared."""
        return _WORDS[self.kind]


def describe(data: object) -> list[Column]:
    """Name the columns of data that an engine can open, and their kinds, without reading a row.

    Data without names of their own have no columns. Where a file of text lacks its first line of names, a row stands
    there instead: what looks like one is refused, and nothing of it is shown.
    """
    engine = open_engine(data)
    try:
        listed = getattr(engine, "columns", None)
        if listed is None:
            raise DataError("these data have no named columns.", hint="declare the attributes in their order.")
        columns = [Column(name, kind) for name, kind in listed()]
    finally:
        engine.close()
    names = [column.name for column in columns if column.kind == "unparsed"]
    if len({*names}) < len(names) or any(not name.strip() or _NUMBER_OR_DATE.fullmatch(name) for name in names):
        raise DataError(
            "the first line of the file does not look like names of columns.",
            hint="it must name every column, each differently and not by a number: add such a line.",
        )
    return columns


# The type of a column, reduced to what counting needs to know.

Kind: TypeAlias = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "enum",
    "boolean",
    "date",
    "timestamp",
    "instant",
    "unparsed",
    "null",
    "other",
]
"""A timestamp has no time zone; an instant has one."""


@dataclass(frozen=True)
class ColumnType:
    """The kind of a column's values; exact numbers also say how fine they are and how far they reach."""

    kind: Kind
    step: Fraction = Fraction(1)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    digits: int = 0
    special: bool = False
    """Whether exact numbers of any fineness stand beside NaN and infinities, as in PostgreSQL."""

    @classmethod
    def integer(cls, low: int, high: int) -> ColumnType:
        """Whole numbers of one width."""
        return cls("integer", low=Fraction(low), high=Fraction(high))

    @classmethod
    def signed(cls, bits: int) -> ColumnType:
        """Signed whole numbers, given their number of bits, that of the sign included."""
        return cls.integer(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @classmethod
    def decimal(cls, digits: int, scale: int) -> ColumnType:
        """Decimal numbers of ``digits`` digits, ``scale`` of them behind the point."""
        step = Fraction(1, 10**scale)
        return cls("decimal", step, low=(1 - 10**digits) * step, high=(10**digits - 1) * step, digits=digits)


NUMERIC = ColumnType("decimal", special=True)
"""PostgreSQL's exact numbers, whatever precision is declared: even then NaN is one of them."""

MOST_PLACES = 18
"""Decimals of more places would not leave room to multiply them out in 38 digits."""

UNPARSED = ColumnType("unparsed")
"""Text of a CSV file, which stands for whatever the declaration says."""


def accepts(attribute: Attribute, column: ColumnType) -> bool:
    """Say whether a column can hold an attribute's values without any conversion being guessed."""
    if column.kind in ("unparsed", "null"):
        return True
    if isinstance(attribute, Numeric):
        exact = column.special or 10**MOST_PLACES % column.step.denominator == 0
        return column.kind in ("integer", "float") or (column.kind == "decimal" and exact)
    if isinstance(attribute, Date):
        return column.kind in ("date", "timestamp", "instant", "text")
    if isinstance(attribute, Categorical):
        if attribute.kind is str:
            return column.kind in ("text", "enum")
        return column.kind == ("boolean" if attribute.kind is bool else "integer")
    return isinstance(attribute, Binned) and column.kind in ("integer", "decimal", "float")


def wanted(attribute: Attribute) -> str:
    """Word what a column must hold."""
    if isinstance(attribute, Categorical):
        return {str: "text", bool: "truth values", int: "whole numbers"}[attribute.kind]
    return attribute.column_type
