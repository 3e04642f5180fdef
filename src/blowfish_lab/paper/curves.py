"""Figures that are curves: an error against epsilon, one curve for each policy, several mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from blowfish_lab.paper.figure import OURS, PUBLISHED, Figure, FigureRun, Measured, Point, Row, are_numbers
from blowfish_privacy.support.arrays import Floats

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

    policies: ClassVar[tuple[str, ...]]
    """The policies' names; the first is the full domain."""
    methods: ClassVar[tuple[str, ...]] = (SOUND, OURS)
    colours: ClassVar[dict[str, str]] = {SOUND: "tab:orange"}
    """The columns that are drawn besides the published values, plain differential privacy and ours."""
    quantity: ClassVar[str]
    """What is measured, for the axis."""
    meaning: ClassVar[str] = (
        "theta: values at most theta apart are secret from each other; full domain: all values are."
    )
    """What the policies' names say."""

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
        from blowfish_lab.paper.figure import Panel, draw_panels

        panels = [Panel(policy, [row for row in rows if row["policy"] == policy]) for policy in self.policies]
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
