"""How many records the parts of a table have, where everybody may know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.aggregates import AttributeSets
from blowfish_privacy.domain import Box, Domain, Level
from blowfish_privacy.errors import DataError, UnconfirmedServerError
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Asked
from blowfish_privacy.queries.query import split

Number = TypeVar("Number")


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
    if not query.needs_records or policy.size == "unknown" or selection.is_everything(policy.domain):
        return ()
    names = tuple(name for name in selection.attributes if policy.domain.resolves(name))
    if policy.compensation == "anywhere" and crosses(policy):
        # Records that move along may change what no secret pair changes.
        return ()
    return () if any(policy.graph.changes(name) for name in names) else names


class Countable(Protocol):
    """What may be asked for public numbers: an engine, or what remembers its answers."""

    def rows(self) -> int:
        """Return the number of rows."""
        ...

    def counts(self, domain: Domain, sets: AttributeSets) -> list[npt.NDArray[np.int64]]:
        """Return the table of each set of attributes."""
        ...


class PublicNumbers:
    """Asks the data for the numbers of records that are public, that a plan needs, and that the policy does not state.

    They are asked for once, and nothing else is. ``told`` is called with each, in words.
    """

    def __init__(
        self, policy: Policy, engine: Callable[[], Countable], told: Callable[[str], None] = lambda words: None
    ) -> None:
        self._policy, self._engine, self._told = policy, engine, told
        self._asked: dict[tuple[str, ...], PublicSizes] = {}
        self._missed: set[str] = set()

    def records(self, asked: Asked) -> int | None:
        """Return the number of records, where a plan needs it."""
        query, selection = split(asked)
        unstated = self._policy.records is None and self._policy.size == "known"
        # Of groups whose sizes are secret an error is stated at their share of the records.
        groups = query.divided and not selection.where and any(map(self._policy.graph.changes, selection.by))
        asks = unstated and query.needs_records and (groups or selection.is_everything(self._policy.domain))
        return self._rows if asks else self._policy.records

    def sizes(self, asked: Asked) -> PublicSizes | None:
        """Return the numbers of records of parts, where a plan needs them."""
        names = sizes_needed(asked, self._policy)
        if names and names not in self._asked:
            (table,) = self._engine().counts(self._policy.domain, [names])
            self._asked[names] = PublicSizes(self._policy.domain.project(names), table)
            self._told(f"Asked the data for the numbers of records by {', '.join(names)} alone, which are public here.")
        return self._asked.get(names)

    @cached_property
    def _rows(self) -> int:
        rows = self._engine().rows()
        self._told(f"Asked the data for the number of records alone, which is public here: {rows:,}.")
        return rows


class CautiousNumbers(PublicNumbers):
    """Goes without a number where the data cannot be asked for it, and says so."""

    def records(self, asked: Asked) -> int | None:
        """Return the number of records, if it is needed and can be asked for."""
        return self._or_none(lambda: super(CautiousNumbers, self).records(asked))

    def sizes(self, asked: Asked) -> PublicSizes | None:
        """Return the numbers of records of parts, if they are needed and can be asked for."""
        return self._or_none(lambda: super(CautiousNumbers, self).sizes(asked))

    def _or_none(self, ask: Callable[[], Number]) -> Number | None:
        try:
            return ask()
        except UnconfirmedServerError:
            # It waits for the user, who can let it be asked.
            raise
        except DataError as error:
            if error.message not in self._missed:
                self._missed.add(error.message)
                self._told(f"Planned without the number of records: {error.message}")
            return None


def sliced(table: npt.NDArray[Any], domain: Domain, box: Box) -> npt.NDArray[Any]:
    """Keep the cells of a table that lie inside a box; the others become 0.

    A box on a hierarchy whose levels the table has is made of values of the lowest of these.
    """
    for axis, name in enumerate(domain.names):
        subset, level = box.get(domain.column(name)), domain[name]
        if subset is not None:
            inside = np.zeros(table.shape[axis], dtype=np.int64)
            for start, stop in subset.runs:
                inside[level.positions[start:stop] if isinstance(level, Level) else slice(start, stop)] = 1
            table = table * inside.reshape([-1 if other == axis else 1 for other in range(table.ndim)])
    return table
