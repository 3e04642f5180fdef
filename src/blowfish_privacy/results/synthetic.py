"""Synthetic records, and everything else that the model behind them can tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, SpecError, brief, nearest
from blowfish_privacy.mechanisms.synthetic.looks import Look
from blowfish_privacy.mechanisms.synthetic.model import Axes, Measurement, Model, combined
from blowfish_privacy.mechanisms.synthetic.synthetic import SyntheticMechanism
from blowfish_privacy.release.document import seal
from blowfish_privacy.results.measured_table import MeasuredError
from blowfish_privacy.results.model_table import ModelTable
from blowfish_privacy.results.pictures.quality import draw_pairs, draw_quality
from blowfish_privacy.results.quality import Quality, quality
from blowfish_privacy.results.record_columns import columns_of_records, csv_of_records, rows_of_records
from blowfish_privacy.results.result import Result, frame
from blowfish_privacy.results.table import Table
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.files import IN_THE_LEDGER, write_atomically
from blowfish_privacy.support.limits import RECORDS, SYNTHETIC_DRAWN
from blowfish_privacy.support.progress import task

MOST_CELLS = 10_000_000
_MOST_ESTIMATED = 1_000_000
"""The most records that are drawn unless asked for, where their number is an estimate."""
"""The largest table that a model is asked for."""


class SyntheticResult(Result):
    """Made-up records. The release is what was measured: every number of records, table and picture is free.

    Equal documents give equal records: unless a seed is given, they are drawn with one that comes from the document.
    """

    kind = "synthetic"

    @classmethod
    def reads(cls, release: Any) -> bool:
        """Say whether the mechanism measures tables that a model is fitted to."""
        return isinstance(release.mechanism, SyntheticMechanism)

    @property
    def _mechanism(self) -> SyntheticMechanism:
        mechanism = self.release.mechanism
        if not isinstance(mechanism, SyntheticMechanism):
            raise QueryError(f"{mechanism.name} makes no synthetic records.")
        return mechanism

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
        return columns_of_records(self.domain, self.positions(n, seed=seed))

    def positions(self, n: int | None = None, *, seed: int | None = None) -> Integers:
        """Draw records as positions, one row for each record and one column for each attribute."""
        many = self.many if n is None else _whole_number(n, "the number of records", 1, RECORDS)
        if many > self._most:
            raise QueryError(
                f"at most {self._most:,} records of {len(self.header)} attributes are drawn at once, got {many:,}.",
                hint="ask for fewer, or several times with other seeds.",
            )
        kept = self._kept(many)
        chosen = int(seal(self.release.body)[:16], 16) if seed is None else _whole_number(seed, "the seed", 0, 2**128)
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
        axes = self._axes(names)
        project = self.domain.project(names)
        if project.size > MOST_CELLS:
            raise QueryError(f"the table would have {project.size:,} cells; the most is {MOST_CELLS:,}.")
        measured = any(set(axes) <= {*each.axes} for each in self._measurements)
        return ModelTable(project, self.model.table(axes), measured)

    def _axes(self, names: tuple[str, ...]) -> Axes:
        known = self.domain.names
        for name in names:
            if name not in known:
                raise QueryError(f"the records have no attribute {brief(name)}.", hint=nearest(str(name), known))
        if not names or len(set(names)) < len(names):
            raise QueryError("a table needs attributes, each named once.", hint='table("age", "sex").')
        return tuple(known.index(name) for name in names)

    def tables(self) -> list[Table]:
        """Return the tables that were measured, as they were measured: their errors come from the noise alone."""
        domain, law = self.domain, self._mechanism.tariff.law
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
        """Say which errors are known, and whether there are fewer records than in the data."""
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
        """The attributes."""
        return list(self.domain.names)

    def rows(self) -> Iterator[list[Any]]:
        """One row for each record."""
        return rows_of_records(self.domain, self.positions())

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the records as columns."""
        return self.records()

    def to_frame(self, n: int | None = None, *, seed: int | None = None) -> Any:
        """Return records as a pandas DataFrame."""
        frame([], iter(()))
        import pandas as pd

        return pd.DataFrame(self.records(n, seed=seed))

    def csv(self) -> bytes:
        """Return the records as CSV."""
        return b"".join(csv_of_records(self.domain, self.positions()))

    def to_csv(self, path: str | Path) -> None:
        """Write the records as CSV; a text like a formula of a spreadsheet gets an apostrophe in front."""
        write_atomically(path, csv_of_records(self.domain, self.positions()), hint=IN_THE_LEDGER)

    def draw(self, axes: Any) -> None:
        """Draw how well the model holds each attribute and pair of attributes."""
        draw_pairs(axes, self.quality())

    def _figure(self) -> Any:
        """Draw how well the model holds what was measured: all pairs, and single attributes beside their noise."""
        singles = [known for axes, known in combined(self._measurements).items() if len(axes) == 1]
        return draw_quality(self.quality(), self.domain, singles, self.model)


def _whole_number(given: Any, what: str, least: int, most: int) -> int:
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or not least <= given <= most:
        raise QueryError(f"{what} must be a whole number from {least} up, got {brief(given)}.")
    return int(given)
