"""The engine over any source that answers SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from itertools import islice, product
from math import ceil
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.aggregates import Names, Positions, involved, marginals, maximal, record_tables
from blowfish_privacy.domain import Attribute, Categorical, Date, Domain, Integer, Numeric
from blowfish_privacy.domain.date import DATE_PATTERN
from blowfish_privacy.domain.numbers import DATES_HINT, DECIMALS_HINT
from blowfish_privacy.engines.engine import (
    MOST_PLACES,
    ColumnCheck,
    ColumnType,
    DataCheck,
    Engine,
    Kind,
    Progress,
    accepts,
    between,
    reported,
    wanted,
    watched,
)
from blowfish_privacy.engines.sources.sources import Answer, Choice, Opened, Source, shielded
from blowfish_privacy.engines.sql.cells import (
    MALFORMED,
    MOST_TOGETHER,
    OUTSIDE,
    PROBLEMS,
    Layout,
    check_countable,
    data_problem,
    many,
    table_size,
)
from blowfish_privacy.engines.sql.counts import (
    Packing,
    RowPart,
    counts_query,
    marginals_query,
    spread,
)
from blowfish_privacy.engines.sql.expressions import column, nested, rows_counted
from blowfish_privacy.engines.sql.rows import Field, Verdicts, check_query, joined, needs_parsing, read, source
from blowfish_privacy.engines.sql.sums import assignment_query, assignment_sums, lattice_query, lattice_sums
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.arrays import Integers

# Which columns of the data hold the declared attributes, and whether they can.


def check_types(domain: Domain, types: Sequence[ColumnType]) -> None:
    """Refuse columns that cannot hold what is declared."""
    for name, attribute, kind in zip(domain.names, domain.attributes, types, strict=True):
        if accepts(attribute, kind):
            continue
        column, hint = domain.column(name), "columns are never converted implicitly; convert it yourself."
        if kind.kind == "decimal" and isinstance(attribute, Numeric):
            raise DataError(f"the column {column!r} has decimals of more than {MOST_PLACES} places.", hint=hint)
        if kind.kind in ("date", "timestamp", "instant", "other"):
            hint = f"{hint} If it holds dates, {DATES_HINT}"
        raise DataError(f"the column {column!r} must hold {wanted(attribute)}, but is of another type.", hint=hint)


_LONGEST_NAME, _MOST_NAMES = 100, 1_000
"""Comparing takes time that grows with the lengths of the names and with their number."""


def near_columns(name: str, names: Sequence[str]) -> list[str]:
    """Name up to three columns that may be meant by a name which no column has."""
    from difflib import get_close_matches

    folded = {each[:_LONGEST_NAME].casefold(): each for each in names[:_MOST_NAMES]}
    wanted = name[:_LONGEST_NAME].casefold()
    close = get_close_matches(wanted, folded, n=3, cutoff=0.6)
    parts = [each for each in folded if len(wanted) > 2 and wanted in each and each not in close]
    return [folded[each] for each in [*close, *parts][:3]]


def find_column(name: str, names: Sequence[object], declared: Collection[str]) -> int:
    """Return the number of the column with a name, of which there must be one; others are declared beside it."""
    matches = [index for index, each in enumerate(names) if each == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DataError(f"the data have several columns {name!r}.", hint="rename all but one of them.")
    similar = [each for each in names if isinstance(each, str) and each.strip().casefold() == name.casefold()]
    spelt = f"the data spell it {similar[0]!r}; " if similar else ""
    # Where the header is missing, the names are the values of a row: one that is declared shows that it is there.
    if not similar and any(each in names for each in declared):
        near = near_columns(name, [each for each in names if isinstance(each, str) and each not in declared])
        spelt = f"the nearest names in the data are {', '.join(map(repr, near))}; " if near else ""
    elif not similar:
        spelt = "blowfish data check names the nearest; "
    raise DataError(
        f"the data have no column {name!r}.",
        hint=f"{spelt}names must match exactly, and a CSV file must name its columns in the first line.",
    )


# Which values are not declared, and which declared ones do not occur: for the custodian's check and nothing else.

MOST_SHOWN = 10
"""Values that are shown of each column."""
_LONGEST = 60
_DECIMAL = r"[-+]?[0-9]*[.][0-9]+"
_OTHER_DATE = r"([0-9]{1,2}([/.-])[0-9]{1,2}\2[0-9]{4}|[0-9]{4}([/.])[0-9]{1,2}\3[0-9]{1,2})( .*)?"
"""Dates as people write them, whichever number is the day."""
YEAR_FIRST = "dates in text are read with the year first, as in 2020-01-31, and a time of day may follow."
_MOST_CATEGORIES = 100_000


def with_values(check: ColumnCheck, attribute: Attribute, opened: Opened) -> ColumnCheck:
    """Add to the counts of a column the values that they are about; the column alone is open."""
    field = Field(0, attribute, opened.types[0], Verdicts.whatever_is_declared(attribute), opened.dialect)
    if check.malformed or (check.outside and not attribute.ordered):
        shown = _most_frequent(field, opened)
        check = replace(check, undeclared=shown, hints=tuple(_hints(attribute, [value for value, _ in shown])))
    if check.outside and attribute.ordered:
        ends = [exp.cast(end(this=column("own")), "TEXT") for end in (exp.Min, exp.Max)]
        outside = exp.select(*ends).from_(_placed(field)).where(column("p").eq(-OUTSIDE))
        smallest, largest = opened.ask(outside).fetchall()[0]
        check = replace(check, smallest=_end(smallest), largest=_end(largest))
    if isinstance(attribute, Categorical) and attribute.size <= _MOST_CATEGORIES:
        occurring = exp.select(column("p")).from_(_placed(field)).where(column("p") >= 0).group_by(column("p"))
        seen = {int(row[0]) for row in opened.ask(occurring).fetchall()}
        absent = (attribute.show(position) for position in range(attribute.size) if position not in seen)
        check = replace(check, unused=tuple(islice(absent, MOST_SHOWN)))
    return check


def _hints(attribute: Attribute, values: Sequence[str]) -> Iterator[str]:
    """Say how dates and numbers with decimals are declared or written, where the column holds such."""
    other_dates = any(re.fullmatch(_OTHER_DATE, value) for value in values)
    if isinstance(attribute, Date):
        yield from [YEAR_FIRST] if other_dates else []
    elif other_dates or any(re.fullmatch(DATE_PATTERN, value) for value in values):
        yield DATES_HINT
    if isinstance(attribute, Integer) and any(re.fullmatch(_DECIMAL, value) for value in values):
        yield DECIMALS_HINT


def _most_frequent(field: Field, opened: Opened) -> tuple[tuple[str, int], ...]:
    """Count the values that stand for nothing; of numbers outside a range, the ends say more."""
    problems = [MALFORMED] if field.attribute.ordered else [OUTSIDE, MALFORMED]
    query = (
        exp.select(column("value"), rows_counted().as_("n", quoted=True))
        .from_(_placed(field))
        .where(exp.or_(*(column("p").eq(-problem) for problem in problems)))
        .group_by(column("value"))
        .order_by(exp.Ordered(this=column("n"), desc=True), exp.Ordered(this=column("value")))
        .limit(MOST_SHOWN)
    )
    return tuple((_short(row[0]), int(row[1])) for row in opened.ask(query).fetchall())


def _placed(field: Field) -> exp.Subquery:
    """Select every row's value, as text and as it is compared, and its position or what is wrong with it."""
    own = column("v0") if field.type.kind == "unparsed" and needs_parsing(field.attribute) else field.column
    parts = [
        exp.cast(field.column, "TEXT").as_("value", quoted=True),
        own.as_("own", quoted=True),
        field.placement.position.as_("p", quoted=True),
    ]
    return nested(joined(exp.select(*parts).from_(nested(read([field], [], source()), "rows")), [field]), "placed")


def _end(value: object) -> str:
    """Write a number the same way whatever engine it comes from: ``1.0E9``, ``1000000000.0`` and ``1000000000``."""
    try:
        given = Decimal(str(value))
    except InvalidOperation:
        return _short(value)
    if not given.is_finite() or abs(given.adjusted()) > _LONGEST:
        return _short(given)
    return _short(format(given.normalize() if given else 0, "f"))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


Result = TypeVar("Result")


class TableEngine(Engine):
    """Exact aggregates of a source that answers SQL. Calls from several threads wait for one another."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = Lock()
        self.reads = 0

    def tables(self, domain: Domain, sets: AttributeSets, *, progress: Progress | None = None) -> Iterator[Integers]:
        # Few tables are counted by the source, many are counted here.
        asked = check_countable(domain, sets)
        if many(domain, asked):
            return RecordScan(domain.project(involved(domain, asked)), asked, self, progress).tables()
        layouts = [Layout(domain.project(names)) for names in maximal(asked)]
        if not layouts:
            rows = self.rows() if asked else 0
            return iter([np.array(rows, dtype=np.int64) for _ in asked])
        first, *others = layouts
        named = domain.project(involved(domain, [each.domain.names for each in layouts])) if others else first.domain

        def build(opened: Opened) -> exp.Select:
            if others:
                return marginals_query(opened.types, named, layouts, opened.dialect)
            return counts_query(opened.types, first, opened.dialect)

        counted = self._grouped(named, build, partial(spread, layouts), progress)
        tables = dict(zip((layout.domain.names for layout in layouts), counted, strict=True))
        return iter(marginals(tables, asked))

    def _grouped(
        self,
        domain: Domain,
        build: Callable[[Opened], exp.Select],
        finish: Callable[[dict[str, Any]], Result],
        progress: Progress | None,
    ) -> Result:
        """Run a query that is built for the columns of a domain, unless a row has a problem: its cell is negative."""

        def group() -> Result:
            opened = self.open(domain)
            groups = self.groups(opened, build(opened), progress)
            if bool((groups["cell"] < 0).any()):
                raise self.problem(opened, domain, progress)
            return finish(groups)

        return self.safely(group)

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> Integers:
        asked = domain.project(names)
        return self._grouped(
            asked,
            lambda opened: lattice_query(opened.types, asked, lattice, opened.dialect),
            partial(lattice_sums, lattice),
            progress,
        )

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> Integers:
        asked = domain.project(names)
        return self._grouped(
            asked,
            lambda opened: assignment_query(opened.types, asked, assignment, opened.dialect),
            partial(assignment_sums, assignment),
            progress,
        )

    def groups(self, opened: Opened, query: exp.Select, progress: Progress | None) -> dict[str, Any]:
        """Run a query, and return its columns."""
        self.reads += 1
        with watched(self._source.percentage, progress):
            return {name: np.asarray(column) for name, column in opened.ask(query).fetchnumpy().items()}

    def problem(self, opened: Opened, domain: Domain, progress: Progress | None) -> DataError:
        """Look a second time to say what is wrong with rows that have problems."""
        self.reads += 1
        query = check_query(domain.attributes, opened.types, opened.dialect, Verdicts.as_declared)
        with watched(self._source.percentage, progress):
            _, *tallies = opened.ask(query).fetchall()[0]
        fields = product(zip(map(domain.column, domain.names), domain.attributes, strict=True), PROBLEMS)
        problems = [(*field, problem) for (field, problem), rows in zip(fields, tallies, strict=True) if rows]
        return data_problem(problems) if problems else DataError("the data changed while they were read.")

    def columns(self) -> list[tuple[str, Kind]]:
        """Name the columns and what kind of values each holds, without looking at a row."""
        names: list[str] = []

        def choose(listed: Sequence[object]) -> Sequence[int]:
            names.extend(map(str, listed))
            return range(len(listed))

        types = self.safely(lambda: self._source.types(choose))
        return [(name, each.kind) for name, each in zip(names, types, strict=True)]

    def prepare(self, domain: Domain, names: Iterable[str]) -> None:
        asked = domain.project(names)
        self.safely(lambda: check_types(asked, self._source.types(_choose(asked))))

    def rows(self) -> int:
        def count() -> int:
            self.reads += 1
            return self._source.rows()

        return self.safely(count)

    def check(self, domain: Domain) -> DataCheck:
        return self.safely(lambda: self._checked(domain))

    def close(self) -> None:
        """Close the connection, if it is ours, and remove what it spilled."""
        with self._lock:
            self._source.close()

    def safely(self, action: Callable[[], Result]) -> Result:
        """Run an action that reads the data, alone and with errors of our own."""
        with self._lock:
            try:
                return shielded(action, f"the data ({self._source.label})")
            finally:
                self._source.rest()

    def open(self, domain: Domain) -> Opened:
        """Open the columns of a domain; no row is read yet."""
        opened = self._source.open(_choose(domain))
        check_types(domain, opened.types)
        return opened

    def _watching(self, name: str) -> Opened:
        """Open one column, and count what is asked of it."""
        opened = self._source.open(lambda names: [find_column(name, names, [name])])

        def ask(query: exp.Select) -> Answer:
            self.reads += 1
            return opened.ask(query)

        return replace(opened, ask=ask)

    def _checked(self, domain: Domain) -> DataCheck:
        present: list[str] = []
        similar: dict[str, tuple[str, ...]] = {}

        def choose(names: Sequence[object]) -> list[int]:
            absent = [name for name in domain.names if name not in names]
            similar.update({name: tuple(near_columns(name, [*map(str, names)])) for name in absent})
            present.extend(name for name in domain.names if names.count(name) == 1)
            return [names.index(name) for name in present] or [0]

        types = dict(zip(present, self._source.open(choose).types, strict=False))
        fitting = [name for name in present if accepts(domain[name], types[name])]
        self.reads += 1
        if fitting:
            opened = self._source.open(lambda names: [find_column(name, names, fitting) for name in fitting])
            attributes = [domain[name] for name in fitting]
            query = check_query(attributes, opened.types, opened.dialect, Verdicts.whatever_is_declared)
            rows, *tallies = (int(each) for each in opened.ask(query).fetchall()[0])
        else:
            rows, tallies = self._source.rows(), []
        counted = dict(zip(fitting, zip(*(tallies[problem::3] for problem in range(3)), strict=True), strict=True))
        columns: list[ColumnCheck] = []
        for name, attribute in zip(domain.names, domain.attributes, strict=True):
            if name not in counted:
                near = similar.get(name, ())
                columns.append(ColumnCheck(name, present=name in present, type_fits=False, similar=near))
                continue
            missing, outside, malformed = counted[name]
            covered = {"missing": attribute.missing_position is not None, "outside": attribute.outside == "clamp"}
            declared = tuple(kind for kind, covers in covered.items() if covers)
            check = ColumnCheck(
                name,
                present=True,
                type_fits=malformed == 0,
                missing=missing,
                outside=outside,
                malformed=malformed,
                declared=declared,
            )
            columns.append(with_values(check, attribute, self._watching(name)))
        return DataCheck(rows, tuple(columns))


def _choose(domain: Domain) -> Choice:
    declared = [domain.column(name) for name in domain.names]
    return lambda names: [find_column(name, names, declared) for name in declared]


# Very many tables from one scan, in bounded memory.
#
# A database groups by every set of attributes at once, and holds all groups of all of them: with hundreds of sets that
# is slower than counting here, and takes gigabytes. So the different rows are fetched once, as packed positions, kept
# in a few bytes an attribute, and counted one table after the other. Where even these rows are too many to keep, they
# are fetched in parts, as many tables as fit are added up at a time, and the data are read once for each part and for
# each lot of tables: no row is ever written to a disk, and reading again takes less time than counting that many rows.

ANSWER = 2**26
"""The most bytes of rows that are fetched at once."""
HELD = 2**28
"""The most bytes of rows that are kept."""

_FIRST, _FETCHED = 0.2, 0.5
"""The share of the work when the first rows, and when all of them are fetched: a guess that only a display needs."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some of the rows, in memory."""

    domain: Domain
    positions: Sequence[Positions]
    times: Integers | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.positions[0]) if self.times is None else int(self.times.sum())

    def tables(self, sets: Sequence[Names]) -> Iterator[Integers]:
        """Count the rows of one set after the other."""
        return record_tables(self.domain, self.positions, self.times, sets)


@dataclass(frozen=True, eq=False)
class RecordScan:
    """The tables of some sets, which together involve all attributes of a domain."""

    domain: Domain
    sets: Sequence[Names]
    engine: TableEngine
    progress: Progress | None = None

    def tables(self) -> Iterator[Integers]:
        """Return one table after the other."""
        held = self.engine.safely(self._held)
        if isinstance(held, int):
            yield from self._in_lots(held)
            return
        counted = zip(*(block.tables(self.sets) for block in held), strict=True)
        for first, *others in reported(counted, len(self.sets), between(self.progress, _FETCHED, 1)):
            for table in others:
                first += table
            yield first

    def _held(self) -> list[RowBlock] | int:
        """Fetch the rows to keep, or return their number if they are too many."""
        opened = self.engine.open(self.domain)
        first = self._fetched(opened, self._most + 1, between(self.progress, 0, _FIRST))
        if len(first.positions[0]) <= self._most:
            return [first]
        del first
        query = exp.select(rows_counted().as_("n", quoted=True)).from_(source())
        number = int(self.engine.groups(opened, query, None)["n"][0])
        width = sum(np.min_scalar_type(size - 1).itemsize for size in self.domain.shape) + 8
        if number * width > HELD:
            return number
        return [*self._parts(opened, number, between(self.progress, _FIRST, _FETCHED))]

    def _in_lots(self, number: int) -> Iterator[Integers]:
        """Add up the parts of as many tables at a time as fit."""
        lots: list[list[Names]] = []
        cells = MOST_TOGETHER
        for names in self.sets:
            size = table_size(self.domain, names)
            if cells + size > MOST_TOGETHER:
                lots.append([])
                cells = 0
            lots[-1].append(names)
            cells += size
        for rank, lot in enumerate(lots):
            progress = between(between(self.progress, _FIRST, 1), rank / len(lots), (rank + 1) / len(lots))

            def add_up(lot: Sequence[Names] = lot, progress: Progress | None = progress) -> list[Integers]:
                blocks = self._parts(self.engine.open(self.domain), number, progress)
                totals = [*next(blocks).tables(lot)]
                for block in blocks:
                    for total, table in zip(totals, block.tables(lot), strict=True):
                        total += table
                return totals

            yield from self.engine.safely(add_up)

    def _parts(self, opened: Opened, number: int, progress: Progress | None) -> Iterator[RowBlock]:
        """Fetch the rows in parts of about equal size."""
        many = ceil(number / self._most)
        for part in range(many):
            block = self._fetched(opened, RowPart(part, many), between(progress, part / many, (part + 1) / many))
            number -= block.rows
            yield block
        if number:
            raise DataError("the data changed while they were read.")

    def _fetched(self, opened: Opened, part: RowPart | int, progress: Progress | None) -> RowBlock:
        query = self._packing.query(opened.types, opened.dialect, part)
        groups = self.engine.groups(opened, query, progress)
        if bool((groups["w0"] < 0).any()):
            raise self.engine.problem(opened, self.domain, progress)
        return RowBlock(self.domain, *self._packing.unpacked(groups))

    @cached_property
    def _packing(self) -> Packing:
        return Packing(self.domain)

    @property
    def _most(self) -> int:
        """How many rows are fetched at once."""
        return max(1, ANSWER // self._packing.width)
