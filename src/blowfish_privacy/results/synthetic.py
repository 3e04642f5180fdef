"""Synthetic records, and everything else that the model behind them can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import ceil, comb, inf, pi, prod, sqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.errors import QueryError, SpecError, brief, nearest
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Measurement, combined
from blowfish_privacy.mechanisms.synthetic.rounds import Look
from blowfish_privacy.mechanisms.synthetic.synthetic import Model, SyntheticMechanism
from blowfish_privacy.release.document import seal
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    Drawing,
    label_numbers,
    label_values,
    plain_text,
    shorten,
    shorten_all,
    start_figure,
)
from blowfish_privacy.results.pictures.tables import CountsDrawing
from blowfish_privacy.results.result import (
    Result,
    counted,
    frame,
    rows_of_cells,
    typed,
    whole_number,
)
from blowfish_privacy.results.tables import CountTable, MeasuredError, Table
from blowfish_privacy.support.arrays import Floats, Integers, rounded_column
from blowfish_privacy.support.csv_tables import csv_pieces
from blowfish_privacy.support.exact import about
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

    def drawing(self) -> CountsDrawing:
        exact = np.zeros_like(self.values)
        return CountsDrawing(self.domain, self.values, exact, " by ".join(self.names), "count that the model expects")


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

    def _remarks(self) -> list[str]:
        known = self.release.records
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

    def drawings(self) -> Sequence[Drawing]:
        measured = [known for axes, known in combined(self._measurements).items() if len(axes) == 1][:MOST_PANELS]
        singles = [
            ModelledDrawing(self.domain.project([self.domain.names[axis]]), known, self.model.table((axis,)))
            for known in measured
            for axis in known.axes
        ]
        return [QualityDrawing(self.quality(), singles), *singles]


# How well a model holds what was measured: said by a release alone, and as free as everything else made from it.

DOUBTFUL = 2.0
"""A model that misses what was measured by more than so many times the noise does not hold it."""
EXACT = 0.001
"""The distance that counts as 1 where counts were published exactly, so that there is no noise to compare with."""


@dataclass(frozen=True)
class Fit:
    """One table as it was measured, compared with the model that records are drawn from."""

    names: tuple[str, ...]
    misfit: float
    """The root of the mean squared difference, in standard deviations of the noise; around 1 and below is agreement.

    Of exact counts it is the distance in thousandths.
    """
    distance: float
    """Half the sum of the differences of all cells, as a share of the records."""
    noise: float
    """What the noise alone makes of that distance."""

    @property
    def holds(self) -> bool:
        """Whether the differences may be the noise's."""
        return self.misfit <= DOUBTFUL


@dataclass(frozen=True, eq=False)
class Quality:
    """How well a model holds the tables that were measured, by attribute, by pair and table by table.

    It says nothing about pairs that were not measured: there the model follows from the rest.
    """

    attributes: Mapping[str, Fit]
    pairs: Mapping[tuple[str, str], Fit]
    tables: Sequence[Fit]
    names: tuple[str, ...]

    @property
    def unmeasured(self) -> list[tuple[str, str]]:
        """The pairs of attributes that no table measured together."""
        return [pair for pair in combinations(self.names, 2) if pair not in self.pairs]

    @property
    def doubtful(self) -> list[Fit]:
        """The tables that the model does not hold, the worst first."""
        return sorted((fit for fit in self.tables if not fit.holds), key=lambda fit: -fit.misfit)

    def cells(self) -> Iterator[tuple[str, str, Fit]]:
        """Go through what is measured in a map of all attributes by all: the attributes, and every pair twice."""
        yield from ((name, name, fit) for name, fit in self.attributes.items())
        for (first, second), fit in self.pairs.items():
            yield from ((first, second, fit), (second, first, fit))

    header = ("table", "misfit", "distance", "noise")

    def rows(self) -> Iterator[list[Any]]:
        """One row for each table that was measured."""
        for fit in self.tables:
            yield [" x ".join(fit.names), fit.misfit, fit.distance, fit.noise]

    def to_frame(self) -> Any:
        """Return the report as a pandas DataFrame."""
        return frame(list(self.header), self.rows())

    def explain(self) -> str:
        """Say in words what was measured, how well the model holds it, and what was not measured."""
        held = sum(fit.holds for fit in self.tables)
        pairs = len(self.names) * (len(self.names) - 1) // 2
        lines = [
            f"{len(self.tables):,} tables were measured; the model holds {held:,} of them to within {about(DOUBTFUL)} "
            "times their noise.",
            *(f"  {_named(fit.names)}: {about(fit.misfit)} times" for fit in self.doubtful[:_MOST_LISTED]),
            f"{len(self.pairs):,} of {pairs:,} pairs of attributes were measured together.",
        ]
        if self.unmeasured:
            lines.append("What the records say about the others follows from the rest, and nothing here checks it.")
        return "\n".join(lines)


def quality(measurements: Sequence[Measurement], model: Model, domain: Domain) -> Quality:
    """Compare what was measured with a model."""
    measured = combined(measurements)
    fits = {axes: _fit(domain, each, model) for axes, each in measured.items()}
    told = {axes: summed(measured[source], axes) for axes, source in _sources(measured).items()}
    named = {axes: fits.get(axes) or _fit(domain, each, model) for axes, each in told.items()}
    return Quality(
        {domain.names[axes[0]]: fit for axes, fit in named.items() if len(axes) == 1},
        {(domain.names[axes[0]], domain.names[axes[1]]): fit for axes, fit in named.items() if len(axes) == 2},
        [fits[axes] for axes in sorted(fits, key=lambda axes: (len(axes), axes))],
        domain.names,
    )


def summed(known: Known, axes: Axes) -> Known:
    """Sum what is known of a table over the attributes that are not wanted."""
    others = tuple(at for at, axis in enumerate(known.axes) if axis not in axes)
    cells = prod(known.counts.shape[at] for at in others)
    return Known(axes, np.asarray(known.counts.sum(axis=others)), known.variance * cells)


def _sources(measured: Mapping[Axes, Known]) -> dict[Axes, Axes]:
    """Find for every attribute and pair the table that tells it most precisely, summed over the others."""
    best: dict[Axes, tuple[float, Axes]] = {}
    for axes, known in measured.items():
        for part in [*combinations(axes, 1), *combinations(axes, 2)]:
            cells = prod(size for axis, size in zip(axes, known.counts.shape, strict=True) if axis not in part)
            best[part] = min(best.get(part, (inf, axes)), (known.variance * cells, axes), key=lambda each: each[0])
    return {part: source for part, (_, source) in sorted(best.items())}


def _fit(domain: Domain, measured: Known, model: Model) -> Fit:
    differences = measured.counts - model.table(measured.axes)
    records = max(model.total, 1.0)
    typical, squared = sqrt(measured.variance), float(np.mean(differences**2))
    distance = float(np.abs(differences).sum()) / 2 / records
    return Fit(
        tuple(domain.names[axis] for axis in measured.axes),
        sqrt(squared) / typical if typical else distance / EXACT,
        distance,
        measured.counts.size * typical * sqrt(2 / pi) / 2 / records,
    )


def _named(names: Sequence[str]) -> str:
    return " by ".join(map(quoted, names))


# How well a model holds what was measured: a map of all pairs of attributes, and single attributes beside it.

MOST_PANELS = 8
_ACROSS = 2
_MOST_NAMES = 40
"""Attributes along a map whose names have room."""
_MOST_WRITTEN = 15
"""Attributes of a map that has room for numbers."""
_MOST_BARS = 45
_UNMEASURED = "0.88"


@dataclass(frozen=True, eq=False)
class QualityDrawing(Drawing):
    """How far the model is from what was measured: a map of all pairs of attributes, and single ones beside it."""

    quality: Quality
    singles: Sequence[ModelledDrawing]

    def draw(self, axes: Any) -> None:
        """Draw the map, in units of the noise; grey is what was not measured."""
        from matplotlib.colors import Normalize

        names = self.quality.names
        axis = {name: number for number, name in enumerate(names)}
        misfits = np.full((len(names), len(names)), np.nan)
        for down, across, fit in self.quality.cells():
            misfits[axis[down], axis[across]] = fit.misfit
        norm = Normalize(0, 2 * DOUBTFUL)
        image = axes.imshow(np.ma.masked_invalid(np.minimum(misfits, 1e9)), cmap="cividis", norm=norm)
        axes.set_facecolor(_UNMEASURED)
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.5, extend="max")
        bar.set_label("difference of model and measurement,\nin standard deviations of the noise", size=8)
        labels = [plain_text(name) for name in shorten_all(names, 20)]
        step = ceil(len(names) / _MOST_NAMES)
        axes.set_xticks(range(0, len(names), step), labels[::step], rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(0, len(names), step), labels[::step])
        axes.tick_params(labelsize=8)
        if len(names) <= _MOST_WRITTEN:
            for (row, column), misfit in np.ndenumerate(misfits):
                if not np.isnan(misfit):
                    colour = "black" if misfit > DOUBTFUL else "white"
                    axes.text(column, row, f"{misfit:.1f}", ha="center", va="center", fontsize=7, color=colour)
        measured, pairs = len(self.quality.pairs), comb(len(names), 2)
        axes.set_title(f"{measured:,} of {pairs:,} pairs measured (the others are grey)", fontsize=9)

    def figure(self) -> Any:
        rows = max(ceil(len(self.singles) / _ACROSS), 2)
        # Names of the map's attributes need room beside and below it.
        figure, grid = start_figure(14, 0.8 + 2.2 * rows, rows, 1 + _ACROSS, width_ratios=[1.6, 1, 1], squeeze=False)
        for axes in grid[:, 0]:
            axes.remove()
        self.draw(figure.add_subplot(grid[0, 0].get_gridspec()[:, 0]))
        panels = list(grid[:, 1:].reshape(-1))
        for unused in panels[len(self.singles) :]:
            unused.set_axis_off()
        for axes, single in zip(panels, self.singles, strict=False):
            single.draw(axes)
        return figure


@dataclass(frozen=True, eq=False)
class ModelledDrawing(Drawing):
    """The counts of one attribute: as measured, with twice the noise's standard deviation, and of the model."""

    domain: Domain
    measured: Known
    modelled: Floats

    @property
    def width(self) -> float:
        """How far the measured counts may be from the true ones."""
        return 2 * sqrt(self.measured.variance)

    def draw(self, axes: Any) -> None:
        positions, counts, width = np.arange(self.domain.size), self.measured.counts, self.width
        many = self.domain.size > _MOST_BARS
        axes.bar(positions, self.modelled, width=1.0 if many else 0.8, color=BLUE, alpha=0.45, lw=0)
        if many:
            axes.fill_between(positions, counts - width, counts + width, color="0.2", alpha=0.2, lw=0)
            axes.plot(positions, counts, ".", ms=2, color="0.2")
        else:
            axes.errorbar(positions, counts, yerr=width or None, fmt="o", ms=2.5, color="0.2", elinewidth=1)
        axes.axhline(0, color="0.6", lw=0.8)
        label_values(axes.xaxis, self.domain, most=8, room=24)
        label_numbers(axes.yaxis, "count", most=4)
        axes.tick_params(labelsize=7)
        axes.set_xlabel("")
        axes.set_title(plain_text(f"{shorten(self.domain.names[0], 30)}: model (bars), measured (dots)"), fontsize=8)


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
