"""The engine over any source that answers SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import islice, product
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from blowfish_privacy.aggregates import Assignment, AttributeSets, Lattice
from blowfish_privacy.aggregates.aggregates import involved, marginals, maximal
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
    wanted,
    watched,
)
from blowfish_privacy.engines.sources.sources import Answer, Choice, Opened, Source, shielded
from blowfish_privacy.engines.sql.cells import MALFORMED, OUTSIDE, PROBLEMS, Layout, check_countable, data_problem, many
from blowfish_privacy.engines.sql.counts import RecordScan, counts_query, marginals_query, plain_counts_query, spread
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

        def count() -> list[Integers]:
            if len(layouts) == 1:
                return [self._counted(layouts[0], progress)]
            return self._counted_together(domain, layouts, progress)

        tables = dict(zip((layout.domain.names for layout in layouts), self.safely(count), strict=True))
        return iter(marginals(tables, asked))

    def _counted(self, layout: Layout, progress: Progress | None) -> Integers:
        opened = self.open(layout.domain)
        plain = plain_counts_query(opened.types, layout, opened.dialect)
        marking = counts_query(opened.types, layout, opened.dialect)
        groups = self.groups(opened, plain or marking, progress)
        if plain is not None and bool((groups["cell"] < 0).any()):
            groups = self.groups(opened, marking, progress)
        return layout.table(groups["cell"], groups["n"])

    def _counted_together(self, domain: Domain, layouts: Sequence[Layout], progress: Progress | None) -> list[Integers]:
        named = domain.project(involved(domain, [layout.domain.names for layout in layouts]))
        opened = self.open(named)
        groups = self.groups(opened, marginals_query(opened.types, named, layouts, opened.dialect), progress)
        if bool((groups["cell"] < 0).any()):
            raise self.problem(opened, named, progress)
        return spread(layouts, groups["cell"], groups["n"])

    def lattice_sums(
        self, domain: Domain, names: Iterable[str], lattice: Lattice, *, progress: Progress | None = None
    ) -> Integers:
        asked = domain.project(names)

        def add_up() -> Integers:
            opened = self.open(asked)
            query = lattice_query(opened.types, asked, lattice, opened.dialect)
            sums = lattice_sums(lattice, self.groups(opened, query, progress))
            if sums is None:
                raise self.problem(opened, asked, progress)
            return sums

        return self.safely(add_up)

    def assignments(
        self, domain: Domain, names: Iterable[str], assignment: Assignment, *, progress: Progress | None = None
    ) -> Integers:
        asked = domain.project(names)

        def add_up() -> Integers:
            opened = self.open(asked)
            query = assignment_query(opened.types, asked, assignment, opened.dialect)
            return assignment_sums(asked, assignment, self.groups(opened, query, progress))

        return self.safely(add_up)

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
