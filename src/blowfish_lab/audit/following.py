"""Following a mechanism that continues from its noisy numbers: what its later steps would have shown without noise.

Whoever sees an output knows every noisy number that led to the next question, and so the question itself. An attacker
who knows both tables works out its exact answers on each of them, and compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_lab.audit.cases import Case
from blowfish_lab.audit.outputs import Remembered
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.clusters.lloyd import NoisyLloyd
from blowfish_privacy.mechanisms.clusters.soft_grid import CountedGrid
from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh
from blowfish_privacy.mechanisms.grid.adaptive_grid import AdaptiveGrid, Blocks
from blowfish_privacy.mechanisms.synthetic.looks import Look
from blowfish_privacy.mechanisms.synthetic.synthetic import SyntheticMechanism
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Followed:
    """The noisy numbers of one output, what either table would have shown, and the certified scales of the noise."""

    noisy: Numbers
    exact: tuple[Numbers, Numbers]
    scales: Numbers
    measure: Measure = EPSILON
    """In rho the scales are variances."""

    @property
    def gain(self) -> float:
        """The logarithm of how much likelier the first table is, for noise of these scales."""
        first, second = (self._off(self.noisy - each) for each in self.exact)
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return round(float((second - first).sum()), 9)

    @property
    def loss(self) -> float:
        """The largest gain that noise could have led to, had it led to the same questions; for a variance, the rho."""
        return float(self._off(self.exact[0] - self.exact[1]).sum())

    def _off(self, numbers: Numbers) -> Numbers:
        return numbers**2 / (2 * self.scales) if self.measure is RHO else np.abs(numbers) / self.scales


Follow = Callable[[Numbers], Followed]


def follower(mechanism: Mechanism, case: Case) -> Follow | None:
    """Return how to follow the outputs of a mechanism; None where all its questions are fixed beforehand.

    It is the case's own or one with less noise, which may ask other questions.
    """
    if isinstance(mechanism, NoisyLloyd):
        records = None if mechanism.secret_size else int(case.tables[0].sum())
        return _rounds(mechanism, case.aggregates, records)
    if isinstance(mechanism, SyntheticMechanism):
        return _looks(mechanism, case.aggregates)
    if isinstance(mechanism, CountedGrid):
        return _counted(mechanism, case.aggregates)
    if isinstance(mechanism, AdaptiveGrid):
        return _blocks(mechanism, case.aggregates)
    return _mesh(mechanism, case.aggregates) if isinstance(mechanism, SoftMesh) else None


def _rounds(mechanism: NoisyLloyd, tables: tuple[Remembered, ...], records: int | None) -> Follow:
    scales_of_a_cluster = [float(mechanism.size_scale), *[float(mechanism.sum_scale)] * len(mechanism.reaches)]
    scales = np.tile(scales_of_a_cluster, mechanism.rounds * len(mechanism.start))

    def follow(row: Numbers) -> Followed:
        rounds, centres = list(row.reshape(mechanism.rounds, -1)), mechanism.start
        exact: list[list[Numbers]] = [[], []]
        for number in range(mechanism.rounds):
            if number:
                centres = mechanism.moved(centres, rounds[:number], records)
            for table, shown in zip(tables, exact, strict=True):
                shown.append(table.assignments(mechanism.question(centres)).reshape(-1))
        return Followed(row, (np.concatenate(exact[0]), np.concatenate(exact[1])), scales)

    return follow


def _looks(mechanism: SyntheticMechanism, tables: tuple[Remembered, ...]) -> Follow:
    names = mechanism.domain.names
    sets = [tuple(names.index(name) for name in listed) for listed in mechanism.tables(mechanism.scope.query)]
    first, second = (
        dict(zip(sets, table.counts(mechanism.tables(mechanism.scope.query)), strict=True)) for table in tables
    )

    def follow(row: Numbers) -> Followed:
        looks = [step for step in mechanism.steps(row) if isinstance(step, Look) and step.scale]
        noisy, *exact = (
            np.concatenate([each.reshape(-1) for each in counts])
            for counts in zip(*((look.noisy, first[look.axes], second[look.axes]) for look in looks), strict=True)
        )
        scales = np.concatenate([np.full(look.noisy.size, float(look.scale)) for look in looks])
        return Followed(noisy, (exact[0], exact[1]), scales, mechanism.counted_in)

    return follow


def _counted(mechanism: CountedGrid, tables: tuple[Remembered, ...]) -> Follow:
    def follow(row: Numbers) -> Followed:
        lattice = mechanism.lattice(mechanism.cells(int(row[0])))
        sums = [table.lattice_sums(lattice).reshape(-1) for table in tables]
        first, second = (np.append(each.sum() // lattice.unit, each) for each in sums)
        scales = np.repeat([float(mechanism.count_scale), float(mechanism.scale)], [1, len(row) - 1])
        return Followed(row, (first, second), scales)

    return follow


def _mesh(mechanism: SoftMesh, tables: tuple[Remembered, ...]) -> Follow:
    looks = [table.lattice_sums(mechanism.lattice(mechanism.first)).reshape(-1) for table in tables]

    def follow(row: Numbers) -> Followed:
        mesh, nodes = mechanism.parse(row)
        level = next(level for level in mechanism.levels if level.depth == mesh.depth)
        first, second = (
            np.concatenate([look, mesh.restrict(table.lattice_sums(mechanism.lattice(level)))])
            for look, table in zip(looks, tables, strict=True)
        )
        scales = np.repeat([float(mechanism.first.scale), float(level.scale)], [mechanism.rows, len(nodes)])
        return Followed(np.concatenate([row[: mechanism.rows], nodes]), (first, second), scales)

    return follow


def _blocks(mechanism: AdaptiveGrid, tables: tuple[Remembered, ...]) -> Follow:
    rows, columns = mechanism.form.domain.shape
    blocks, scales = Blocks((rows, columns), mechanism.side), mechanism.scales
    counts = [table.counts()[0].reshape(rows, columns) for table in tables]

    def follow(row: Numbers) -> Followed:
        full = row[: blocks.many].reshape(blocks.table) >= mechanism.full
        cells = np.where(blocks.to_cells(full), float(scales.fine), float(scales.coarse)).reshape(-1)
        numbers = (blocks.many, int((~full).sum()))
        used = np.concatenate([np.repeat([float(scales.look), float(scales.again)], numbers), cells])
        first, second = (
            np.concatenate([(sums := blocks.sums(each)).reshape(-1), sums[~full], each.reshape(-1)]) for each in counts
        )
        if mechanism.total is None:
            return Followed(row, (first, second), used)
        ends = np.append(first, counts[0].sum()), np.append(second, counts[1].sum())
        return Followed(row, ends, np.append(used, float(mechanism.total)))

    return follow
