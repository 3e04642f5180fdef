"""The averaging attack of section 3.2: known sums of adjacent cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from blowfish_lab.audit.averaging import Attacked, Comparison, compare
from blowfish_lab.paper.figure import Figure, Measured, Point, Row, are_numbers
from blowfish_lab.paper.run import Run
from blowfish_privacy.noise import SystemSource

_NUMBERS = ("one_cell", "one_cell_expected", "averaged", "averaged_expected", "recovered")
_CELLS = (2, 4, 8, 16, 32, 64, 128)


class AveragingExample(Figure):
    """How close an attacker who knows the sums comes; all data in it are synthetic, as in the paper's argument."""

    name = "averaging"
    title = "The averaging attack on known sums of adjacent cells (synthetic counts)"

    def points(self, run: Run) -> list[Point]:
        """One point for each length of the chain."""
        return [(str(cells),) for cells in (_CELLS[::2] if run.quick else _CELLS)]

    def measure(self, point: Point, run: Run) -> Measured:
        """Attack both ways of adding noise."""
        comparison = compare(int(point[0]), 1, runs=300 if run.quick else 2_000, source=SystemSource())
        return {"plain": _written(comparison.plain), "known": _written(comparison.known)}

    def complete(self, measured: Measured) -> bool:
        """Say whether both attacks were measured in full."""
        try:
            attacks = [_read(measured[way]) for way in ("plain", "known")]
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return False
        finite = all(are_numbers(asdict(one), *_NUMBERS) and min(one.scale, one.loss) >= 0 for one in attacks)
        return super().complete(measured) and finite

    def units(self) -> str:
        """State the units of errors, shares and losses."""
        return "Errors: root mean squared, in people. All counts found: a share of the releases. Losses: in epsilon."

    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """One row for each length."""
        made: list[Row] = []
        for point in self.points(run):
            attacks = measured[point]
            plain, known = attacks["plain"], attacks["known"]
            made.append(
                {
                    "cells": int(point[0]),
                    "plain: one cell": plain["one_cell"],
                    "plain: averaged": plain["averaged"],
                    "plain: averaged, expected": plain["averaged_expected"],
                    "plain: all counts found": plain["recovered"],
                    "plain: real loss": plain["loss"],
                    "ours: averaged": known["averaged"],
                    "ours: averaged, expected": known["averaged_expected"],
                    "ours: all counts found": known["recovered"],
                    "ours: real loss": known["loss"],
                    "seconds": attacks["seconds"],
                    "_attacks": attacks,
                }
            )
        return made

    def picture(self, rows: list[Row], run: Run) -> Any:
        """Draw the attacker's error against the number of cells."""
        from blowfish_lab.audit.averaging_picture import draw_averaging_attack

        measured = [(row["cells"], row["_attacks"]) for row in rows]
        return draw_averaging_attack(
            [Comparison(cells, _read(attacks["plain"]), _read(attacks["known"])) for cells, attacks in measured]
        )


def _written(one: Attacked) -> dict[str, Any]:
    return {**asdict(one), "scale": str(one.scale), "loss": str(one.loss)}


def _read(written: dict[str, Any]) -> Attacked:
    fields: dict[str, Any] = {**written, "scale": Fraction(written["scale"]), "loss": Fraction(written["loss"])}
    return Attacked(**fields)
