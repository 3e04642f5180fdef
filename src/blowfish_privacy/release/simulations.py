"""Errors that depend on the data, simulated for a plan on public synthetic data; nothing is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blowfish_privacy.mechanisms import GridFamily, OrderedFamily, Synopsis
from blowfish_privacy.mechanisms.clusters import centres as clusters
from blowfish_privacy.mechanisms.grid import rectangle_intervals as grids
from blowfish_privacy.mechanisms.ordered import range_intervals as ordered
from blowfish_privacy.support.progress import task

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan


def typical_errors(plan: Plan) -> dict[str, float]:
    """Say how wrong a random range or rectangle that is shown typically is, on shapes with as many records."""
    if plan.records is None or not plan.amount:
        return {}
    if isinstance(plan.mechanism, GridFamily):
        return grids.typical_errors(plan.mechanism, plan.records)
    return ordered.typical_errors(plan.mechanism, plan.records) if isinstance(plan.mechanism, OrderedFamily) else {}


def typical_ratios(plan: Plan) -> dict[str, float]:
    """Say how much larger private clusters' squared distances typically are, on about as many points."""
    if not isinstance(plan.mechanism, Synopsis) or not plan.records or not plan.amount:
        return {}
    with task("Simulating on public synthetic points"):
        return clusters.typical_ratios(plan.mechanism, getattr(plan.query, "k", 1), plan.records)
