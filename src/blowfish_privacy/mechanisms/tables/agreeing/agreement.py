"""Tables that agree: the same counts wherever two of them show the same attributes.

A table is the sum of its components, one for each subset of its attributes; those of different subsets are at right
angles. Tables agree if each component is the same in all tables that contain its attributes, so that the nearest tables
that agree have the weighted mean of each component: one pass over the tables, and never their product. Components on
levels of a hierarchy whose branches differ in size are not quite at right angles; then tables are near, and agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.tables.agreeing.parts import Part
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.nesting import Axes, Nesting
from blowfish_privacy.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class Agreement:
    """The sets of tables that agree, as a linear space with a projection onto it."""

    sizes: tuple[int, ...]
    """The number of values of each axis: an attribute, or a level of one."""
    tables: tuple[Axes, ...]
    """The axes of each, ascending."""
    precisions: tuple[float, ...]
    """How much a squared change of a cell counts, table by table."""
    exact: frozenset[Axes]
    """The components without noise, which must stay as they are: with each, all that it contains."""
    nesting: Nesting = field(default_factory=Nesting)

    @classmethod
    def of(cls, components: Components) -> Agreement:
        """Weigh each table by how precisely a cell of it is known."""
        return cls(
            components.shape,
            tuple(tuple(sorted(axes)) for axes in components.tables),
            # What has no noise is exact in all its components: its precision does not matter.
            tuple(1 / variance if variance else 1.0 for variance in components.table_variances),
            components.exact,
            components.nesting,
        )

    def parts(self, axes: Axes) -> Iterator[Part]:
        """Go through the tables that a table contains, itself among them."""
        return (Part(self.sizes, self.nesting, axes, component) for component in self.nesting.parts(axes))

    def sums(self, tables: Sequence[npt.NDArray[Any]], axes: Axes) -> npt.NDArray[Any]:
        """Sum a table that agrees with the others down to some axes, in this order."""
        wanted = tuple(sorted(axes))
        found = (
            part.sums(table)
            for own, table in zip(self.tables, tables, strict=True)
            for part in self.parts(own)
            if part.component == wanted
        )
        return next(found).transpose([wanted.index(axis) for axis in axes])

    @cached_property
    def _common(self) -> dict[Axes, list[tuple[int, Part]]]:
        """Every component that several tables have in common, or that is exact, with the numbers of the tables."""
        found: dict[Axes, list[tuple[int, Part]]] = {}
        for number, axes in enumerate(self.tables):
            for part in self.parts(axes):
                found.setdefault(part.component, []).append((number, part))
        return {component: parts for component, parts in found.items() if len(parts) > 1 or component in self.exact}

    def exact_sums(self, tables: Sequence[npt.NDArray[Any]]) -> dict[Axes, npt.NDArray[Any]]:
        """Take the sums of the exact components from tables that have them."""
        exact = ((component, parts[0]) for component, parts in self._common.items() if component in self.exact)
        return {component: part.sums(tables[number]) for component, (number, part) in exact}

    def nearest(self, tables: Sequence[Floats], exact: dict[Axes, Floats]) -> list[Floats]:
        """Return the nearest tables that agree and have the exact sums."""
        changes = [np.zeros(()) for _ in tables]
        for component, parts in self._common.items():
            sums = [part.sums(tables[number]) for number, part in parts]
            if component in exact:
                agreed = exact[component]
            else:
                weights = [self.precisions[number] / part.spread for number, part in parts]
                agreed = sum(weight * each for weight, each in zip(weights, sums, strict=True)) / sum(weights)
            for (number, part), each in zip(parts, sums, strict=True):
                changes[number] = changes[number] + part.lifted(self._contrasts(agreed - each, component))
        return [table + change for table, change in zip(tables, changes, strict=True)]

    def _contrasts(self, values: Floats, axes: Axes) -> Floats:
        """Keep what no coarser table shows."""
        for at, axis in enumerate(axes):
            values = self.nesting.contrast(values, at, axis)
        return values

    def contained(self, tables: Sequence[Floats]) -> dict[Axes, Floats]:
        """Sum tables that agree to all tables that they contain, the coarser ones first."""
        found = {
            part.component: part.sums(table)
            for axes, table in zip(self.tables, tables, strict=True)
            for part in self.parts(axes)
        }
        depth = {axes: sum(len(self.nesting.chain(axis)) for axis in axes) for axes in found}
        return {axes: found[axes] for axes in sorted(found, key=lambda axes: (depth[axes], axes))}

    def equations(self, tables: Sequence[Floats]) -> tuple[Any, Floats]:
        """Say in rows of a sparse matrix, over the cells of all tables, that they agree and keep their exact sums."""
        from scipy.sparse import csr_array, vstack

        ends = np.cumsum([0, *(table.size for table in tables)]).tolist()
        rows: list[Any] = []
        wanted: list[Floats] = []
        for component, parts in self._common.items():
            summing: list[Any] = []
            for number, part in parts:
                to, cells = part.places(), np.arange(ends[number], ends[number + 1])
                summing.append(csr_array((np.ones(len(to)), (to, cells)), shape=(int(to.max()) + 1, ends[-1])))
            rows += [each - summing[0] for each in summing[1:]]
            wanted += [np.zeros(each.shape[0]) for each in summing[1:]]
            if component in self.exact:
                number, part = parts[0]
                rows.append(summing[0])
                wanted.append(np.rint(part.sums(tables[number])).reshape(-1))
        if not rows:
            return csr_array((0, ends[-1])), np.zeros(0)
        return vstack(rows), np.concatenate(wanted)

    def disagreement(self, tables: Sequence[npt.NDArray[Any]]) -> float:
        """Return the largest difference between the same sum of two tables."""
        worst = 0.0
        for parts in self._common.values():
            sums = [part.sums(tables[number]) for number, part in parts]
            worst = max(worst, *(float(np.abs(each - sums[0]).max()) for each in sums))
        return worst
