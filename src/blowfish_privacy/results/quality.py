"""How well a model holds what was measured: told by a release alone, and as free as everything else made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, inf, pi, prod, sqrt
from typing import Any

import numpy as np

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Measurement, Model, combined
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    label_numbers,
    label_values,
    plain_text,
    shorten,
    shorten_all,
    start_figure,
)
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


def draw_quality(quality: Quality, domain: Domain, singles: Sequence[Known], model: Model) -> Any:
    """Draw all pairs, and the single attributes beside them, the first few if there are many."""
    shown = list(singles)[:MOST_PANELS]
    rows = max(ceil(len(shown) / _ACROSS), 2)
    # Names of the map's attributes need room beside and below it.
    figure, grid = start_figure(14, 0.8 + 2.2 * rows, rows, 1 + _ACROSS, width_ratios=[1.6, 1, 1], squeeze=False)
    for axes in grid[:, 0]:
        axes.remove()
    draw_pairs(figure.add_subplot(grid[0, 0].get_gridspec()[:, 0]), quality)
    panels = list(grid[:, 1:].reshape(-1))
    for unused in panels[len(shown) :]:
        unused.set_axis_off()
    for axes, measured in zip(panels, shown, strict=False):
        draw_single(axes, domain.project([domain.names[measured.axes[0]]]), measured, model)
    return figure


def draw_pairs(axes: Any, quality: Quality) -> None:
    """Draw how far the model is from what was measured, in units of the noise; grey is what was not measured."""
    from matplotlib.colors import Normalize

    names = quality.names
    axis = {name: number for number, name in enumerate(names)}
    misfits = np.full((len(names), len(names)), np.nan)
    for down, across, fit in quality.cells():
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
    measured, pairs = len(quality.pairs), len(names) * (len(names) - 1) // 2
    axes.set_title(f"{measured:,} of {pairs:,} pairs measured (the others are grey)", fontsize=9)


def draw_single(axes: Any, domain: Domain, measured: Known, model: Model) -> None:
    """Draw the counts of one attribute: as measured, with twice the noise's standard deviation, and of the model."""
    expected, positions = model.table(measured.axes), np.arange(domain.size)
    width = 2 * sqrt(measured.variance)
    axes.bar(positions, expected, width=1.0 if domain.size > _MOST_BARS else 0.8, color=BLUE, alpha=0.45, lw=0)
    if domain.size > _MOST_BARS:
        band = (measured.counts - width, measured.counts + width)
        axes.fill_between(positions, *band, color="0.2", alpha=0.2, lw=0)
        axes.plot(positions, measured.counts, ".", ms=2, color="0.2")
    else:
        axes.errorbar(positions, measured.counts, yerr=width or None, fmt="o", ms=2.5, color="0.2", elinewidth=1)
    axes.axhline(0, color="0.6", lw=0.8)
    label_values(axes.xaxis, domain, most=8, room=24)
    label_numbers(axes.yaxis, "count", most=4)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("")
    axes.set_title(plain_text(f"{shorten(domain.names[0], 30)}: model (bars), measured (dots)"), fontsize=8)
