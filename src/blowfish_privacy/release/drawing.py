"""Asking the data and adding the noise: exact counts stay in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.attribute_sets import marginal
from blowfish_privacy.domain import Cell
from blowfish_privacy.engines import Engine
from blowfish_privacy.errors import DataError
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.release.engine_aggregates import EngineAggregates, counted, public_records
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.public_sizes import sliced

Drawn = tuple[npt.NDArray[np.int64], int | None]
"""Noisy answers, and the number of records where it is public."""


def looks_at(plan: Plan, mechanism: Mechanism) -> tuple[tuple[str, ...], AttributeSets]:
    """Name the attributes that a plan looks at, and the sets of them that will be counted."""
    if not plan.selection:
        return plan.query.attributes, mechanism.tables(plan.query)
    names = tuple(dict.fromkeys([*plan.selection.attributes, *plan.query.attributes]))
    return names, [names]


def draw(engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource) -> dict[Cell, Drawn]:
    """Answer a plan with noise, each of its groups, if it has any."""
    if plan.selection:
        return _draw_groups(engine, plan, mechanisms, source)
    aggregates = EngineAggregates(engine, plan)
    noisy = mechanisms[()].draw(aggregates, source)
    return {(): (noisy, public_records(plan, aggregates.records))}


def _draw_groups(
    engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource
) -> dict[Cell, Drawn]:
    """Count the records of all groups in one scan, and answer each group by itself."""
    names, tables = looks_at(plan, mechanisms[next(iter(mechanisms))])
    (counts,) = counted(engine, plan, tables)
    public_records(replace(plan, records=None), int(counts.sum()))
    inside = sliced(counts, plan.policy.domain.project(names), plan.selection.box(plan.policy.domain))
    groups = marginal(inside, names, [*plan.selection.by, *plan.query.attributes])
    drawn: dict[Cell, Drawn] = {}
    for cell, mechanism in mechanisms.items():
        part = plan.parts.get(cell, plan)
        table = np.ascontiguousarray(groups[cell])
        records = int(table.sum()) if part.population.public else None
        if part.records not in (None, records):
            raise DataError("the number of rows is not the one that the plan was made for.", hint="make a new plan.")
        drawn[cell] = mechanism.measure(table, source), records
    return drawn
