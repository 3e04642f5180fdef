"""Figures that are curves: an error against epsilon, one curve for each policy, several mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_lab.paper.figure import OURS, PUBLISHED, Figure, Measured, Point, Row, are_numbers
from blowfish_lab.paper.run import Run

Floats = npt.NDArray[np.float64]

FULL = "full domain"
SOUND = "paper's mechanism, sound"
PLAIN = "plain differential privacy"
PRINTED = "as printed, NOT PRIVATE"
_MECHANISMS = (
    "Sound: with as much noise as the epsilon on the axis needs.",
    "Plain differential privacy: ours with everything secret.",
)


class Curves(Figure):
    """Curves for policies; plain differential privacy is what the library does when everything is secret."""

    policies: ClassVar[tuple[str, ...]]
    """The policies' names; the first is the full domain."""
    methods: ClassVar[tuple[str, ...]] = (SOUND, OURS)
    quantity: ClassVar[str]
    """What is measured, for the axis."""
    meaning: ClassVar[str] = (
        "theta: values at most theta apart are secret from each other; full domain: all values are."
    )
    """What the policies' names say."""

    @abstractmethod
    def repeated(self, method: str, policy: str, epsilon: str, run: Run) -> Floats:
        """Return the error of every repeat."""

    @abstractmethod
    def published(self, policy: str, epsilon: str) -> float | None:
        """Return the value read off the paper's figure, where it can be read."""

    def points(self, run: Run) -> list[Point]:
        """List method, policy and epsilon of every point."""
        return [(m, p, e) for m in self.methods for p in self.policies for e in run.epsilons]

    def measure(self, point: Point, run: Run) -> Measured:
        """Repeat, and return mean and quartiles."""
        method, policy, epsilon = point
        errors = self.repeated(method, policy, epsilon, run)
        lower, upper = np.quantile(errors, (0.25, 0.75))
        return {"mean": float(errors.mean()), "lower": float(lower), "upper": float(upper), "repeats": len(errors)}

    def complete(self, measured: Measured) -> bool:
        """Say whether mean, quartiles and repeats were measured."""
        return super().complete(measured) and are_numbers(measured, "mean", "lower", "upper", "repeats")

    def units(self) -> str:
        """State the quantity that the values are of."""
        return f"Values (lower to upper quartile): {self.quantity}."

    def plain(self, policy: str) -> str:
        """Name the policy under which everything is secret, on the same data."""
        return FULL

    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """One row for each policy and epsilon."""
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

    def picture(self, rows: list[Row], run: Run) -> Any:
        """Draw a panel for each policy: all mechanisms with their quartiles, and what is published."""
        from blowfish_lab.paper.panels import Panel, draw_panels

        panels = [Panel(policy, [row for row in rows if row["policy"] == policy]) for policy in self.policies]
        lines = {PUBLISHED: "black", PRINTED: "tab:red", SOUND: "tab:orange", PLAIN: "tab:green", OURS: "tab:blue"}
        return draw_panels(panels, lines, self.heading(run), self.quantity, self.caption(rows, run))

    def caption(self, rows: list[Row], run: Run) -> str:
        """Say below the picture how often was measured, and what else the reader must know."""
        many = sorted({row["repeats"] for row in rows})
        measured = f"Means of {' to '.join(map(str, many))} repeats, with their quartiles."
        quick = ["A QUICK run: fewer values of epsilon and fewer repeats than the paper's."] if run.quick else []
        return " ".join([self.meaning, measured, *quick, *_MECHANISMS, *self.drawn_notes(run)])

    def drawn_notes(self, run: Run) -> list[str]:
        """Say what the reader of the picture must know; the table may have more to explain."""
        return self.notes(run)


def readable(value: float | None) -> float | str:
    """Round what was read off a picture, which has no more digits; nothing where nothing could be read."""
    return "" if value is None else float(f"{value:.6g}")


def _columns(method: str, measured: Measured) -> dict[str, Any]:
    return {
        method: measured["mean"],
        f"{method}, lower quartile": measured["lower"],
        f"{method}, upper quartile": measured["upper"],
    }
