"""Which tables to measure, and how precisely: for now the tables asked for, all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Axes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked for, and what one secret pair may change."""

    sizes: tuple[int, ...]
    tables: tuple[Axes, ...]
    weights: Literal["worst", "mean"] | tuple[float, ...]
    changed: tuple[frozenset[int], ...]
    presence: bool


@dataclass(frozen=True, eq=False)
class Design:
    """The tables to measure, and the weight of each: one over its scale, for a largest loss of 1."""

    measured: tuple[tuple[Axes, Axes], ...]
    weights: npt.NDArray[np.float64]
    bound: float
    objective: float


def best_design(wanted: Wanted) -> Design:
    """Measure the tables asked for, all with the same scale; those that no secret pair changes without noise."""
    total = [()] if wanted.presence else []
    measured = tuple((axes, ()) for axes in (*total, *wanted.tables))
    free = [not wanted.presence and not any(pair & {*axes} for pair in wanted.changed) for axes, _ in measured]
    weights = np.where(free, np.inf, 1.0)
    met = [
        sum(2 * (not f and bool(pair & {*axes})) for (axes, _), f in zip(measured, free, strict=True))
        for pair in wanted.changed
    ]
    return Design(measured, weights / max(*met, len(measured) * wanted.presence, 1), 0.0, 1.0)
