"""Tables that agree: the same counts wherever two of them show the same attributes.

A table is the sum of its components, one for each subset of its attributes; those of different subsets are at right
angles. Tables agree if each component is the same in all tables that contain its attributes, so that the nearest tables
that agree have the weighted mean of each component: one pass over the tables, and never their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.mechanisms.tables.components import Axes, Components, Floats, subsets


@dataclass(frozen=True)
class _Part:
    """Where a table has a component: over which of its axes to sum, and how the sums lie beside the table."""

    table: int
    summed: Axes
    shape: tuple[int, ...]
    spread: int
    """Over how many cells of the table each number of the component is spread."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """The sets of tables that agree, as a linear space with a projection onto it."""

    sizes: tuple[int, ...]
    """The number of values of each attribute."""
    tables: tuple[Axes, ...]
    """The attributes of each, ascending."""
    precisions: tuple[float, ...]
    """How much a squared change of a cell counts, table by table."""
    exact: frozenset[Axes]
    """The components without noise, which must stay as they are: with each, all that it contains."""

    @classmethod
    def of(cls, components: Components) -> Agreement:
        """Weigh each table by how precisely a cell of it is known."""
        variances = [components.variance(axes) for axes in components.tables]
        return cls(
            components.shape,
            tuple(tuple(sorted(axes)) for axes in components.tables),
            # What has no noise is exact in all its components: its precision does not matter.
            tuple(1 / variance if variance else 1.0 for variance in variances),
            frozenset(component for component, variance in components.spread.items() if not variance),
        )

    @cached_property
    def _parts(self) -> dict[Axes, list[_Part]]:
        """Every component that several tables have in common, or that is exact."""
        found: dict[Axes, list[_Part]] = {}
        for number, table in enumerate(self.tables):
            for component in subsets(table):
                summed = tuple(axis for axis, attribute in enumerate(table) if attribute not in component)
                shape = tuple(self.sizes[attribute] if attribute in component else 1 for attribute in table)
                spread = prod(self.sizes[table[axis]] for axis in summed)
                found.setdefault(component, []).append(_Part(number, summed, shape, spread))
        return {component: parts for component, parts in found.items() if len(parts) > 1 or component in self.exact}

    def exact_sums(self, tables: Sequence[Floats]) -> dict[Axes, Floats]:
        """Take the sums of the exact components from tables that have them."""
        return {
            component: tables[parts[0].table].sum(axis=parts[0].summed)
            for component, parts in self._parts.items()
            if component in self.exact
        }

    def nearest(self, tables: Sequence[Floats], exact: dict[Axes, Floats]) -> list[Floats]:
        """Return the nearest tables that agree and have the exact sums."""
        changes = [np.zeros(()) for _ in tables]
        for component, parts in self._parts.items():
            sums = [tables[part.table].sum(axis=part.summed) for part in parts]
            if component in exact:
                agreed = exact[component]
            else:
                weights = [self.precisions[part.table] / part.spread for part in parts]
                agreed = sum(weight * each for weight, each in zip(weights, sums, strict=True)) / sum(weights)
            for part, each in zip(parts, sums, strict=True):
                missing = _centred((agreed - each) / part.spread)
                changes[part.table] = changes[part.table] + missing.reshape(part.shape)
        return [table + change for table, change in zip(tables, changes, strict=True)]

    def equations(self, tables: Sequence[Floats]) -> tuple[Any, Floats]:
        """Say in rows of a sparse matrix, over the cells of all tables, that they agree and keep their exact sums."""
        from scipy.sparse import csr_array, vstack

        ends = np.cumsum([0, *(table.size for table in tables)]).tolist()
        rows: list[Any] = []
        wanted: list[Floats] = []
        for component, parts in self._parts.items():
            summing: list[Any] = []
            for part in parts:
                shape, many = tables[part.table].shape, tables[part.table].size // part.spread
                to = np.broadcast_to(np.arange(many).reshape(part.shape), shape).reshape(-1)
                cells = np.arange(ends[part.table], ends[part.table + 1])
                summing.append(csr_array((np.ones(len(to)), (to, cells)), shape=(many, ends[-1])))
            rows += [each - summing[0] for each in summing[1:]]
            wanted += [np.zeros(each.shape[0]) for each in summing[1:]]
            if component in self.exact:
                first = parts[0]
                rows.append(summing[0])
                wanted.append(np.rint(tables[first.table].sum(axis=first.summed)).reshape(-1))
        return vstack(rows), np.concatenate(wanted)

    def disagreement(self, tables: Sequence[npt.NDArray[Any]]) -> float:
        """Return the largest difference between the same sum of two tables."""
        worst = 0.0
        for parts in self._parts.values():
            sums = [tables[part.table].sum(axis=part.summed) for part in parts]
            worst = max(worst, *(float(np.abs(each - sums[0]).max()) for each in sums))
        return worst


def contained(tables: Sequence[Floats], axes: Sequence[Axes]) -> dict[Axes, Floats]:
    """Sum tables that agree to all tables that they contain, the smaller ones first; each table contains itself."""
    found = {
        part: table.sum(axis=tuple(axis for axis, attribute in enumerate(own) if attribute not in part))
        for own, table in zip(axes, tables, strict=True)
        for part in subsets(own)
    }
    return {part: found[part] for part in sorted(found, key=lambda part: (len(part), part))}


def _centred(values: Floats) -> Floats:
    """Keep what no sum over an axis shows."""
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values
