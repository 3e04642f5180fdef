"""How well a model holds what was measured: told by a release alone, and as free as everything else made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, pi, prod, sqrt
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Measurement, Model, combined
from blowfish_privacy.results.result import frame
from blowfish_privacy.support.exact import about

DOUBTFUL = 2.0
"""A model that misses what was measured by more than so many times the noise does not hold it."""
EXACT = 0.001
"""The distance that counts as 1 where counts were published exactly, so that there is no noise to compare with."""
_MOST_LISTED = 5


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
