"""What every figure of the reproduction is: points that can be measured one by one, rows of a table, a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import fill
from typing import Any, ClassVar, TypeAlias

import numpy as np

from blowfish_privacy.results.pictures.figure import plain_text, start_figure
from blowfish_privacy.version import __version__

# How a reproduction is run: on which data, how thoroughly.

EPSILONS = tuple(f"{tenths / 10:.1f}" for tenths in range(1, 11))
QUICK_EPSILONS = ("0.1", "0.5", "1.0")
"""Those at which the k-means figures could be read."""


@dataclass(frozen=True)
class FigureRun:
    """The paper's parameters, or fewer of everything."""

    data: str | None
    """A folder with the real data; None for synthetic stand-ins."""
    quick: bool = False

    @property
    def synthetic(self) -> bool:
        """Whether the data are stand-ins."""
        return self.data is None

    @property
    def epsilons(self) -> tuple[str, ...]:
        """The privacy losses along a curve."""
        return QUICK_EPSILONS if self.quick else EPSILONS

    @property
    def repeats(self) -> int:
        """How often each point of the ordered figures is repeated."""
        return 10 if self.quick else 50

    @property
    def clusterings(self) -> int:
        """How often each point of the k-means figures is repeated."""
        return 3 if self.quick else 50

    @property
    def ranges(self) -> int:
        """How many random ranges are asked."""
        return 10_000

    @property
    def kept_in(self) -> str:
        """The folder of finished points; one for each way of running, so that none writes over another's."""
        return "-".join(["points", *(["quick"] if self.quick else []), *(["synthetic"] if self.synthetic else [])])

    def identity(self, contents: dict[str, str]) -> dict[str, Any]:
        """Say what results must agree on to be used again; ``contents`` are fingerprints of the files they rest on."""
        return {"quick": self.quick, "synthetic": self.synthetic, "data": contents, "version": __version__}


Point: TypeAlias = tuple[str, ...]
"""What is measured in one piece, in words: a point is kept in a file of that name."""
Measured: TypeAlias = dict[str, Any]
Row: TypeAlias = dict[str, Any]


class Figure(ABC):
    """A figure or an example of the paper."""

    name: ClassVar[str]
    """How it is asked for on the command line."""
    title: ClassVar[str]
    real_data: ClassVar[tuple[str, ...]] = ()
    """The files it reads; none for a figure that needs no data."""
    shrinks: ClassVar[bool] = True
    """Whether a quick run measures less of it."""

    @abstractmethod
    def points(self, run: FigureRun) -> list[Point]:
        """List what has to be measured."""

    @abstractmethod
    def measure(self, point: Point, run: FigureRun) -> Measured:
        """Measure one point."""

    @abstractmethod
    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        """Put the measured points together: the rows of the table."""

    @abstractmethod
    def picture(self, rows: list[Row], run: FigureRun) -> Any:
        """Draw the rows; returns a matplotlib figure."""

    def complete(self, measured: Measured) -> bool:
        """Say whether a point that was kept holds what the rows need."""
        return are_numbers(measured, "seconds")

    @abstractmethod
    def units(self) -> str:
        """Say what the numbers of the table are."""

    def heading(self, run: FigureRun) -> str:
        """Return the title of the picture, which says when data are stand-ins."""
        return f"{self.title} - SYNTHETIC stand-in" if self.real_data and run.synthetic else self.title

    def notes(self, run: FigureRun) -> list[str]:
        """Say what the reader must know."""
        if not self.real_data:
            return []
        return ["SYNTHETIC stand-in for the paper's data."] if run.synthetic else []

    def summary(self, rows: list[Row]) -> list[str]:
        """Say in a few sentences what the table shows."""
        return []

    def worse_than_published(self, rows: list[Row]) -> list[Row]:
        """Return the rows in which ours is above what is published."""
        return [
            row
            for row in rows
            if isinstance(row.get(PUBLISHED), int | float) and row.get(OURS, 0) > row[PUBLISHED] * (1 + _TOLERANCE)
        ]


def are_numbers(measured: Measured, *names: str) -> bool:
    """Say whether finite numbers, none below zero, were measured under these names."""
    return all(is_number(measured.get(name)) for name in names)


def is_number(value: object) -> bool:
    """Say whether a value is a finite number that is not below zero, as everything is that is measured here."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0


PUBLISHED = "published (read off)"
OURS = "ours"
_TOLERANCE = 0.005
"""A picture cannot be read more exactly than this."""


# Several panels of curves beside each other, with quartiles.


@dataclass(frozen=True)
class Panel:
    """One panel: rows with ``epsilon``, a column for each curve, and perhaps its lower and upper quartile."""

    title: str
    rows: Sequence[Mapping[str, Any]]


def draw_panels(panels: Sequence[Panel], colours: Mapping[str, str], title: str, quantity: str, caption: str) -> Any:
    """Draw the panels on one logarithmic scale, with what the reader must know below them."""
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = start_figure(3.6 * columns + 2.4, 3.1 * lines + 1.1, lines, columns, sharex=True, sharey=True)
    grid = np.atleast_1d(axes).reshape(-1)
    for cell in grid[len(panels) :]:
        cell.set_axis_off()
    for cell in grid[max(0, len(panels) - columns) : len(panels)]:
        cell.tick_params(labelbottom=True)
        cell.set_xlabel("epsilon")
    for cell, panel in zip(grid, panels, strict=False):
        _draw(cell, panel, colours)
        cell.set_title(plain_text(panel.title), fontsize=10)
        cell.set_yscale("log")
    # What is published is not in every panel.
    drawn = {text: mark for cell in grid for mark, text in zip(*cell.get_legend_handles_labels(), strict=True)}
    shown = [name for name in colours if name in drawn]
    figure.legend([drawn[name] for name in shown], shown, fontsize=8, loc="outside right upper")
    figure.supxlabel(plain_text(fill(caption, 55 * columns)), fontsize=8, color="0.25")
    figure.supylabel(quantity)
    figure.suptitle(plain_text(fill(title, 38 * columns)), fontsize=11)
    return figure


def _draw(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    for name, colour in colours.items():
        drawn = [row for row in panel.rows if isinstance(row.get(name), int | float)]
        if not drawn:
            continue
        epsilons, values = [row["epsilon"] for row in drawn], [row[name] for row in drawn]
        method = name.removesuffix(", median")
        measured = f"{method}, lower quartile" in drawn[0]
        marker, style = ("." if measured else "*"), ("-" if measured and method == name else ":")
        axes.plot(epsilons, values, color=colour, marker=marker, ls=style, label=name)
        if measured and method == name:
            ends = [[row[f"{name}, {side} quartile"] for row in drawn] for side in ("lower", "upper")]
            axes.fill_between(epsilons, *ends, color=colour, alpha=0.15, lw=0)


# Bars of several columns for each of some examples.


def draw_bars(
    labels: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    title: str,
    quantity: str,
    caption: str,
) -> Any:
    """Draw grouped bars; what is only a bound is hatched, what is no number is written."""
    figure, axes = start_figure(9, 1.8 + 0.8 * len(rows))
    positions, height = np.arange(len(rows)), 0.8 / len(columns)
    for offset, (name, colour) in enumerate(columns.items()):
        values = [row[name] for row in rows]
        widths = [length(value) for value in values]
        bars = axes.barh(positions + (offset - 1) * height, widths, height=height * 0.9, color=colour, label=name)
        for bar, value in zip(bars, values, strict=True):
            if isinstance(value, str):
                bar.set(facecolor="white", edgecolor=colour, hatch="////")
        axes.bar_label(bars, [str(value) for value in values], padding=3, fontsize=8)
    axes.set_yticks(positions, [plain_text(label) for label in labels], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel(quantity)
    figure.suptitle(plain_text(fill(title, 90)), fontsize=11)
    figure.supxlabel(plain_text(fill(caption, 120)), fontsize=8, color="0.25")
    axes.legend(fontsize=8)
    return figure


def length(value: object) -> float:
    """Return how long a bar is: the number, or the number that a value is at most; nothing for other words."""
    if isinstance(value, int | float):
        return value
    bound = str(value).removeprefix(AT_MOST)
    return float(bound) if str(value).startswith(AT_MOST) and bound.isdecimal() else 0.0


AT_MOST = "at most "
