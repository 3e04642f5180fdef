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
from blowfish_privacy.support.arrays import Floats
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


def draw_panels(
    panels: Mapping[str, Sequence[Row]], colours: Mapping[str, str], title: str, quantity: str, caption: str
) -> Any:
    """Draw panels, by their titles, on one logarithmic scale, with what the reader must know below them.

    Their rows have ``epsilon``, a column for each curve, and perhaps its lower and upper quartile.
    """
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = start_figure(3.6 * columns + 2.4, 3.1 * lines + 1.1, lines, columns, sharex=True, sharey=True)
    grid = np.atleast_1d(axes).reshape(-1)
    for cell in grid[len(panels) :]:
        cell.set_axis_off()
    for cell in grid[max(0, len(panels) - columns) : len(panels)]:
        cell.tick_params(labelbottom=True)
        cell.set_xlabel("epsilon")
    for cell, (name, rows) in zip(grid, panels.items(), strict=False):
        _draw(cell, rows, colours)
        cell.set_title(plain_text(name), fontsize=10)
        cell.set_yscale("log")
    # What is published is not in every panel.
    drawn = {text: mark for cell in grid for mark, text in zip(*cell.get_legend_handles_labels(), strict=True)}
    shown = [name for name in colours if name in drawn]
    figure.legend([drawn[name] for name in shown], shown, fontsize=8, loc="outside right upper")
    figure.supxlabel(plain_text(fill(caption, 55 * columns)), fontsize=8, color="0.25")
    figure.supylabel(quantity)
    figure.suptitle(plain_text(fill(title, 38 * columns)), fontsize=11)
    return figure


def _draw(axes: Any, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    for name, colour in colours.items():
        drawn = [row for row in rows if isinstance(row.get(name), int | float)]
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


# Figures that are curves: an error against epsilon, one curve for each policy, several mechanisms.

FULL = "full domain"
SOUND = "paper's mechanism, sound"
PLAIN = "plain differential privacy"
PRINTED = "as printed, NOT PRIVATE"
CLIPPED = "clipped, NOT PRIVATE"
MEDIAN = "median"
_MECHANISMS = (
    "Sound: with as much noise as the epsilon on the axis needs.",
    "Plain differential privacy: ours with everything secret.",
)


class Curves(Figure):
    """Curves for policies; plain differential privacy is what the library does when everything is secret."""

    methods: ClassVar[tuple[str, ...]] = (SOUND, OURS)
    colours: ClassVar[dict[str, str]] = {SOUND: "tab:orange"}
    """The columns that are drawn besides the published values, plain differential privacy and ours."""
    quantity: ClassVar[str]
    """What is measured, for the axis."""
    meaning: ClassVar[str] = (
        "theta: values at most theta apart are secret from each other; full domain: all values are."
    )
    """What the policies' names say."""

    @property
    @abstractmethod
    def policies(self) -> tuple[str, ...]:
        """The policies' names."""

    @abstractmethod
    def repeated(self, method: str, policy: str, epsilon: str, run: FigureRun) -> Floats:
        """Return the error of every repeat."""

    @property
    @abstractmethod
    def read(self) -> int:
        """How many numbers were read off this figure; other published values follow from them, or are another's."""

    @abstractmethod
    def published(self, policy: str, epsilon: str) -> float | None:
        """Return the value read off the paper's figure, where it can be read."""

    def points(self, run: FigureRun) -> list[Point]:
        return [(m, p, e) for m in self.methods for p in self.policies for e in run.epsilons]

    def measure(self, point: Point, run: FigureRun) -> Measured:
        method, policy, epsilon = point
        errors = self.repeated(method, policy, epsilon, run)
        lower, upper = np.quantile(errors, (0.25, 0.75))
        ends = {"lower": float(lower), MEDIAN: float(np.median(errors)), "upper": float(upper)}
        return {"mean": float(errors.mean()), **ends, "repeats": len(errors)}

    def complete(self, measured: Measured) -> bool:
        return super().complete(measured) and are_numbers(measured, "mean", "lower", MEDIAN, "upper", "repeats")

    def units(self) -> str:
        return f"Means (lower quartile, median, upper quartile): {self.quantity}."

    def plain(self, policy: str) -> str:
        """Name the policy under which everything is secret, on the same data."""
        return FULL

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        made: list[Row] = []
        for policy in self.policies:
            for epsilon in run.epsilons:
                row: Row = {"policy": policy, "epsilon": float(epsilon)}
                row[PUBLISHED] = readable(self.published(policy, epsilon))
                for method in self.methods:
                    row |= _columns(method, measured[method, policy, epsilon])
                row |= _columns(PLAIN, measured[OURS, self.plain(policy), epsilon])
                row["repeats"] = measured[OURS, policy, epsilon]["repeats"]
                row["seconds"] = round(sum(measured[m, policy, epsilon]["seconds"] for m in self.methods), 2)
                made.append(row)
        return made

    def picture(self, rows: list[Row], run: FigureRun) -> Any:
        panels = {policy: [row for row in rows if row["policy"] == policy] for policy in self.policies}
        lines = {PUBLISHED: "black", **self.colours, PLAIN: "tab:green", OURS: "tab:blue"}
        return draw_panels(panels, lines, self.heading(run), self.quantity, self.caption(rows, run))

    def summary(self, rows: list[Row]) -> list[str]:
        published = ratios_to_ours(rows, PUBLISHED)
        if not published:
            return []
        count = f"{len(published)} published values, made of {self.read} numbers that were read off this figure"
        return [f"Published / ours: {span(published)} ({count})."]

    def caption(self, rows: list[Row], run: FigureRun) -> str:
        """Say below the picture how often was measured, and what else the reader must know."""
        many = sorted({row["repeats"] for row in rows})
        measured = f"Means of {' to '.join(map(str, many))} repeats, with their quartiles."
        quick = ["A QUICK run: fewer values of epsilon and fewer repeats than the paper's."] if run.quick else []
        return " ".join([self.meaning, measured, *quick, *_MECHANISMS, *self.drawn_notes(run)])

    def drawn_notes(self, run: FigureRun) -> list[str]:
        """Say what the reader of the picture must know; the table may have more to explain."""
        return self.notes(run)


def readable(value: float | None) -> float | str:
    """Round what was read off a picture, which has no more digits; nothing where nothing could be read."""
    return "" if value is None else float(f"{value:.6g}")


def ratios_to_ours(rows: list[Row], column: str) -> list[float]:
    """Divide a column by ours, where both are numbers."""
    return [row[column] / row[OURS] for row in rows if isinstance(row.get(column), int | float) and row.get(OURS)]


def span(ratios: list[float]) -> str:
    """Write the smallest and the largest ratio, rounded to two digits."""
    least, most = (f"{float(f'{ratio:.2g}'):g}" for ratio in (min(ratios), max(ratios)))
    return least if least == most else f"{least} to {most}"


def _columns(method: str, measured: Measured) -> dict[str, Any]:
    return {
        method: measured["mean"],
        f"{method}, lower quartile": measured["lower"],
        f"{method}, {MEDIAN}": measured[MEDIAN],
        f"{method}, upper quartile": measured["upper"],
    }
