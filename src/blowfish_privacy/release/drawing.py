"""Asking the data and adding the noise: exact counts stay in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.aggregates import marginal
from blowfish_privacy.domain import Cell
from blowfish_privacy.engines import Engine
from blowfish_privacy.errors import DataError
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.privacy.public_totals import BlockForm
from blowfish_privacy.release.engine_aggregates import EngineAggregates, counted, public_records
from blowfish_privacy.release.kept_values import Noisy, keep
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.public_sizes import sliced
from blowfish_privacy.release.public_totals import KEY, published
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class Drawn:
    """Noisy answers, and what else of the data is public."""

    noisy: Noisy
    records: int | None
    totals: Mapping[str, list[int]]
    """The exact counts of blocks that no secret pair leaves, as the document states them; empty if there are none."""


def looks_at(plan: Plan, mechanism: Mechanism) -> tuple[tuple[str, ...], AttributeSets]:
    """Name the attributes that a plan looks at, and the sets of them that will be counted."""
    if not plan.selection:
        counted = [] if _blocks(plan, mechanism) is None else [plan.query.attributes]
        return plan.query.attributes, [*mechanism.tables(plan.query), *counted]
    names = tuple(dict.fromkeys([*plan.selection.attributes, *plan.query.attributes]))
    return names, [names]


def draw(
    engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource, folder: Path | None = None
) -> dict[Cell, Drawn]:
    """Answer a plan with noise, each of its groups, if it has any; given a folder, the values are kept in it."""
    if plan.selection:
        return _draw_groups(engine, plan, mechanisms, source)
    aggregates = EngineAggregates(engine, plan, _blocks(plan, mechanisms[()]))
    mechanism = mechanisms[()]
    if folder is None:
        noisy: Noisy = mechanism.draw(aggregates, source)
    else:
        noisy = keep(folder, plan.key, mechanism.rows, mechanism.pieces(aggregates, source))
    totals = aggregates.totals()
    stated = {} if totals is None else {KEY: totals}
    return {(): Drawn(noisy, public_records(plan, aggregates.records), stated)}


def _blocks(plan: Plan, mechanism: Mechanism) -> npt.NDArray[np.int64] | None:
    """Return the block of each cell, where counts of blocks are published beside the noisy answers."""
    return published(plan.query, plan.population.policy, mechanism) if plan.amount else None


def _draw_groups(
    engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource
) -> dict[Cell, Drawn]:
    """Count the records of all groups in one scan, and answer each group by itself."""
    names, tables = looks_at(plan, mechanisms[next(iter(mechanisms))])
    (counts,) = counted(engine, plan, tables)
    public_records(replace(plan, records=None), int(counts.sum()))
    inside = sliced(counts, plan.policy.domain.project(names), plan.selection.box(plan.policy.domain))
    groups = marginal(inside, names, [*plan.selection.by, *plan.query.attributes])
    own = plan.query.own_domain(plan.policy.domain)

    def of_group(cell: Cell, mechanism: Mechanism) -> Drawn:
        part = plan.parts.get(cell, plan)
        table = np.ascontiguousarray(groups[cell])
        records = int(table.sum()) if part.population.public else None
        if part.records not in (None, records):
            raise DataError("the number of rows is not the one that the plan was made for.", hint="make a new plan.")
        blocks = _blocks(part, mechanism)
        totals = {} if blocks is None else {KEY: BlockForm(own, blocks).answer(table).tolist()}
        return Drawn(mechanism.measure(table, source), records, totals)

    with task("Drawing noise"):
        return {cell: of_group(cell, mechanism) for cell, mechanism in mechanisms.items()}
