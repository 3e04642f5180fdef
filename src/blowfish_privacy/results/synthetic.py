"""Synthetic records, and everything else that the model behind them can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb, prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.errors import QueryError, SpecError, brief, nearest
from blowfish_privacy.mechanisms.synthetic.model import Measurement, Model, combined
from blowfish_privacy.mechanisms.synthetic.rounds import Look
from blowfish_privacy.mechanisms.synthetic.synthetic import SyntheticMechanism
from blowfish_privacy.release.document import seal
from blowfish_privacy.results.pictures.tables import table_figure
from blowfish_privacy.results.quality import Quality, draw_pairs, draw_quality, quality
from blowfish_privacy.results.result import (
    CountTable,
    Result,
    counted,
    frame,
    rows_of_cells,
    typed,
    whole_number,
)
from blowfish_privacy.results.tables import MeasuredError, Table
from blowfish_privacy.support.arrays import Floats, Integers, rounded_column
from blowfish_privacy.support.csv_tables import csv_pieces
from blowfish_privacy.support.files import IN_THE_LEDGER, write_atomically
from blowfish_privacy.support.limits import RECORDS, SYNTHETIC_DRAWN
from blowfish_privacy.support.progress import task

# A table as a model has it, whether or not anybody measured it.

NO_FORMULA = "No formula states the error of these counts: they come from a model that was fitted to noisy tables."


@dataclass(frozen=True, eq=False, repr=False)
class ModelTable(CountTable):
    """The counts that a model expects for every combination of values of some attributes."""

    domain: Domain
    """The attributes, in the order of the axes."""
    values: Floats
    measured: bool
    """Whether a table with these attributes was measured, so that the model was fitted to it."""

    def remarks(self) -> list[str]:
        """Say that the error is not known, and whether the table was measured."""
        if self.measured:
            return [f"{NO_FORMULA} They were fitted to this table; tables() has it as it was measured, with its error."]
        return [f"{NO_FORMULA} This table was not measured: it follows from others."]

    @property
    def header(self) -> list[str]:
        return [*self.names, "count"]

    def rows(self) -> Iterator[list[Any]]:
        return rows_of_cells(self.domain, rounded_column(self.values.reshape(-1), 3))

    def _figure(self) -> Any:
        return table_figure(self.values, self.domain, 0.0, "count that the model expects")


MOST_CELLS = 10_000_000
"""The largest table that a model is asked for."""
_MOST_ESTIMATED = 1_000_000
"""The most records that are drawn unless asked for, where their number is an estimate."""


class SyntheticResult(Result):
    """Made-up records. The release is what was measured: every number of records, table and picture is free.

    Equal documents give equal records: unless a seed is given, they are drawn with one that comes from the document.
    """

    kind = "synthetic"
    _shows = SyntheticMechanism

    @property
    def _mechanism(self) -> SyntheticMechanism:
        return cast("SyntheticMechanism", self.release.mechanism)

    @property
    def domain(self) -> Domain:
        """The attributes of the records."""
        return self.release.query.own_domain(self.release.policy.domain)

    @cached_property
    def model(self) -> Model:
        """What was fitted to the tables that were measured; records are drawn from it."""
        return self._mechanism.model(self.release.noisy, self.release.records)

    @cached_property
    def _measurements(self) -> list[Measurement]:
        return self._mechanism.measurements(self.release.noisy)

    def records(self, n: int | None = None, *, seed: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Draw records: a column of values for each attribute; free.

        By default as many as the table has, or is estimated to have where that is secret. A bin is shown as the number
        in its middle, so that the records have the form of the data.
        """
        columns = self.positions(n, seed=seed).T
        return {name: shown[at] for name, shown, at in zip(self.domain.names, self._shown, columns, strict=True)}

    @property
    def _shown(self) -> list[npt.NDArray[Any]]:
        """What a record shows at each position of each attribute: a value as the data have it; the middle of a bin."""
        return [typed([each.example(position) for position in range(each.size)]) for each in self.domain.attributes]

    def positions(self, n: int | None = None, *, seed: int | None = None) -> Integers:
        """Draw records as positions, one row for each record and one column for each attribute."""
        many = self.many if n is None else whole_number(n, "the number of records", 1, RECORDS)
        if many > self._most:
            raise QueryError(
                f"at most {self._most:,} records of {len(self.header)} attributes are drawn at once, got {many:,}.",
                hint="ask for fewer, or several times with other seeds.",
            )
        kept = self._kept(many)
        chosen = int(seal(self.release.body)[:16], 16) if seed is None else whole_number(seed, "the seed", 0, 2**128)
        generator = np.random.default_rng(chosen)
        with task("Drawing records"):
            made = self.model.records(many, generator, kept)
            # Kept rows come sorted by their values; others are in random order already.
            return made if kept is None else generator.permutation(made, axis=0)

    @property
    def many(self) -> int:
        """How many records are drawn unless another number is asked for."""
        if self.release.records is None:
            # An estimate may be nothing but noise, and must not fill a disk.
            return min(max(round(self.model.total), 1), _MOST_ESTIMATED, self._most)
        known = self.release.records
        return known if self._mechanism.scope.query.keep else min(known, self._most)

    @property
    def _most(self) -> int:
        return SYNTHETIC_DRAWN // len(self.domain.names)

    def _kept(self, many: int) -> Integers | None:
        """Return the rows of the columns that are kept, -1 in the others; None if none is."""
        axes = self._mechanism.scope.query.kept()
        if not axes:
            return None
        exact = [each.noisy for each in self._measurements if each.axes == axes and not each.variance]
        if not exact or (exact[0] < 0).any() or sum(exact[0].reshape(-1).tolist()) != self.release.records:
            raise SpecError("the document is damaged: the kept columns do not fit the number of records.")
        if many != self.release.records:
            raise QueryError(
                f"the kept columns are those of {self.release.records:,} records, and {many:,} are asked for.",
                hint="leave the number out, and choose among the records.",
            )
        cells = np.repeat(np.arange(exact[0].size), exact[0].reshape(-1))
        rows = np.full((many, len(self.domain.names)), -1, dtype=np.int64)
        rows[:, axes] = np.stack(np.unravel_index(cells, exact[0].shape), axis=1)
        return rows

    def table(self, *names: str) -> ModelTable:
        """Return what the model answers for the table of some attributes; no formula states its error."""
        known = self.domain.names
        for name in names:
            if name not in known:
                raise QueryError(f"the records have no attribute {brief(name)}.", hint=nearest(str(name), known))
        if not names or len(set(names)) < len(names):
            raise QueryError("a table needs attributes, each named once.", hint='table("age", "sex").')
        axes = tuple(known.index(name) for name in names)
        project = self.domain.project(names)
        if project.size > MOST_CELLS:
            raise QueryError(f"the table would have {project.size:,} cells; the most is {MOST_CELLS:,}.")
        measured = any(set(axes) <= {*each.axes} for each in self._measurements)
        return ModelTable(project, self.model.table(axes), measured)

    def tables(self) -> list[Table]:
        """Return the tables that were measured, as they were measured: their errors come from the noise alone."""
        domain, law = self.domain, self._mechanism.noise.rows.law
        looks = [step for step in self._mechanism.steps(self.release.noisy) if isinstance(step, Look)]
        return [
            Table(
                domain.project([domain.names[axis] for axis in look.axes]),
                look.noisy,
                MeasuredError(look.noisy.shape, look.scale, law),
                look.axes,
            )
            for look in looks
        ]

    def quality(self) -> Quality:
        """Say how well the model holds what was measured; made from the release alone, so it may be published."""
        return self._quality

    @cached_property
    def _quality(self) -> Quality:
        return quality(self._measurements, self.model, self.domain)

    def remarks(self) -> list[str]:
        known = self.release.records
        if not self.certificate.amount:
            return []
        fewer = [f"There are {self.many:,} of them, for {known:,} in the data."] if self.many < (known or 0) else []
        return [
            *fewer,
            "Every table that was measured has an error of its own, which comes from the noise alone. No formula "
            "states that of the records: they come from a model that was fitted to these tables.",
        ]

    @property
    def header(self) -> list[str]:
        return list(self.domain.names)

    def rows(self) -> Iterator[list[Any]]:
        shown = [values.tolist() for values in self._shown]
        for record in self.positions():
            yield [values[position] for values, position in zip(shown, record.tolist(), strict=True)]

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        return self.records()

    def to_frame(self, n: int | None = None, *, seed: int | None = None) -> Any:
        frame([], iter(()))
        import pandas as pd

        return pd.DataFrame(self.records(n, seed=seed))

    def csv(self) -> bytes:
        return b"".join(self._csv_pieces())

    def to_csv(self, path: str | Path) -> None:
        write_atomically(path, self._csv_pieces(), hint=IN_THE_LEDGER)

    def _csv_pieces(self) -> Iterator[bytes]:
        return csv_pieces(self.header, [values.tolist() for values in self._shown], self.positions())

    def draw(self, axes: Any) -> None:
        draw_pairs(axes, self.quality())

    def _figure(self) -> Any:
        singles = [known for axes, known in combined(self._measurements).items() if len(axes) == 1]
        return draw_quality(self.quality(), self.domain, singles, self.model)


# Synthetic records compared with the data that they stand for. For the custodian: it is exact, and no release.

NOT_FOR_PUBLICATION = (
    "These are exact comparisons with private rows. They are for the data's custodian; do not publish them."
)
MOST_TABLES = 1_000
"""Tables of each number of attributes that are compared."""
MOST_COMPARED = 1_000_000
_WAYS = (1, 2, 3)
_MOST_LISTED = 5

Count = Callable[[Sequence[tuple[str, ...]]], Iterable[Integers]]


@dataclass(frozen=True)
class Distances:
    """The total variation between tables of one number of attributes: half the sum of the differences of shares."""

    mean: float
    worst: float
    tables: int
    """How many tables were compared."""
    of: int
    """How many there are."""


@dataclass(frozen=True)
class Comparison:
    """How far synthetic records are from the data. Exact, so it is not for publication."""

    ways: Mapping[int, Distances]
    """By the number of attributes of a table."""
    tables: Mapping[tuple[str, ...], float]
    """The distance of every table that was compared."""

    @property
    def worst(self) -> list[tuple[str, ...]]:
        """All tables, the farthest first."""
        return sorted(self.tables, key=lambda names: -self.tables[names])

    def explain(self) -> str:
        """Say how far the records are from the data, and that it must not be published."""
        lines: list[str] = []
        for ways, each in self.ways.items():
            some = "" if each.tables == each.of else f" (of {each.tables:,} of {each.of:,} tables)"
            distances = f"total variation {each.mean:.3f} on average, {each.worst:.3f} at worst{some}"
            lines.append(f"Tables of {ways} attribute{'s' * (ways > 1)}: {distances}.")
        listed = (f"  {' by '.join(map(quoted, names))}: {self.tables[names]:.3f}" for names in self.worst)
        return "\n".join([*lines, "The farthest:", *islice(listed, _MOST_LISTED), NOT_FOR_PUBLICATION])


def compare(positions: Integers, domain: Domain, count: Count) -> Comparison:
    """Compare records with data, whose tables ``count`` counts exactly.

    Of very many tables some are taken, evenly spread; very large ones are left out.
    """
    wanted = [axes for ways in _WAYS if ways <= len(domain.names) for axes in _taken(domain, ways)]
    names = [tuple(domain.names[axis] for axis in axes) for axes in wanted]
    tables: dict[tuple[str, ...], float] = {}
    with task("Comparing with the data") as progress:
        for number, (axes, true) in enumerate(zip(wanted, count(names), strict=True)):
            tables[names[number]] = total_variation(counted(positions, axes, domain.shape), true)
            if progress is not None:
                progress((number + 1) / len(wanted))
    found: dict[int, Distances] = {}
    for ways in _WAYS:
        if some := [distance for table, distance in tables.items() if len(table) == ways]:
            found[ways] = Distances(sum(some) / len(some), max(some), len(some), comb(len(domain.names), ways))
    return Comparison(found, tables)


def total_variation(first: Integers, second: Integers) -> float:
    """Return half the sum of the differences of the shares of all cells; 1 where one of the tables is empty."""
    if not first.sum() or not second.sum():
        return float(first.sum() != second.sum())
    return float(np.abs(first / first.sum() - second / second.sum()).sum()) / 2


def _taken(domain: Domain, ways: int) -> Iterator[tuple[int, ...]]:
    """Choose tables that are not too large, evenly spread if there are very many."""
    step = -(-comb(len(domain.names), ways) // MOST_TABLES)
    for axes in islice(combinations(range(len(domain.names)), ways), 0, None, step):
        if prod(domain.shape[axis] for axis in axes) <= MOST_COMPARED:
            yield axes
