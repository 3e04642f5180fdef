"""How many records the parts of a table have, where everybody may know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Box, Domain
from blowfish_privacy.engines import Engine
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Asked
from blowfish_privacy.queries.asked import split


@dataclass(frozen=True, eq=False)
class PublicSizes:
    """The number of records with each value of some attributes that no secret pair changes."""

    domain: Domain
    """That of these attributes alone."""
    table: npt.NDArray[np.int64]

    def inside(self, box: Box) -> int:
        """Add up the records inside a box on these attributes."""
        return int(sliced(self.table, self.domain, box).sum())


def sizes_needed(asked: Asked, policy: Policy) -> tuple[str, ...]:
    """Name the attributes whose table a plan needs, where it is public and the policy may not state it.

    A query of all records needs their number alone, and names none.
    """
    query, selection = split(asked)
    if not query.needs_records or not selection or policy.size == "unknown":
        return ()
    names = tuple(name for name in selection.attributes if name in policy.domain)
    return () if any(policy.graph.changes(name) for name in names) else names


def ask_sizes(names: tuple[str, ...], policy: Policy, open_engine: Callable[[], Engine]) -> PublicSizes:
    """Ask the data for the numbers of records with each value of public attributes."""
    (table,) = open_engine().counts(policy.domain, [names])
    return PublicSizes(policy.domain.project(names), table)


def sliced(table: npt.NDArray[Any], domain: Domain, box: Box) -> npt.NDArray[Any]:
    """Keep the cells of a table that lie inside a box; the others become 0."""
    for axis, name in enumerate(domain.names):
        if name in box:
            inside = np.zeros(table.shape[axis], dtype=np.int64)
            for start, stop in box[name].runs:
                inside[start:stop] = 1
            table = table * inside.reshape([-1 if other == axis else 1 for other in range(table.ndim)])
    return table
