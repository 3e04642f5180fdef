"""A set of noisy tables that agree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.mechanisms import Marginals
from blowfish_privacy.mechanisms.tables.components import Axes, Floats
from blowfish_privacy.mechanisms.tables.tables_error import TablesError
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results.result import Result
from blowfish_privacy.results.table import Table


class TablesResult(Result):
    """Tables by the names of their attributes: ``result["sex", "race"]``, and any coarser table, ``result["sex"]``.

    The counts are unbiased, so some may be negative, and all tables agree.
    """

    kind = "tables"

    @classmethod
    def reads(cls, release: Release) -> bool:
        """Say whether the tables were measured so that they can be put together."""
        return isinstance(release.mechanism, Marginals)

    @property
    def _mechanism(self) -> Marginals:
        mechanism = self.release.mechanism
        if not isinstance(mechanism, Marginals):
            raise QueryError(f"{mechanism.name} does not measure tables.")
        return mechanism

    @cached_property
    def _components(self) -> dict[Axes, Floats]:
        mechanism = self._mechanism
        return mechanism.components.estimate(list(mechanism.measured(self.release.noisy)), self.release.records)

    def __getitem__(self, names: str | tuple[str, ...]) -> Table:
        wanted = (names,) if isinstance(names, str) else tuple(names)
        form, components = self._mechanism.form, self._mechanism.components
        unknown = [name for name in wanted if name not in form.names]
        axes = () if unknown else tuple(form.names.index(name) for name in wanted)
        if unknown or len(set(axes)) < len(axes) or not components.tell(axes):
            shown = "; ".join(", ".join(table) for table in self.tables[:5])
            raise QueryError(
                f"there is no table of {brief(names)} here.",
                hint=f"the tables are {shown}{'; ..' if len(self.tables) > 5 else ''}, and whatever sums of them give.",
            )
        return Table(form.domain.project(wanted), components.table(self._components, axes), self.error(), axes)

    @property
    def tables(self) -> list[tuple[str, ...]]:
        """The tables that were asked for, by their attributes."""
        names = self._mechanism.form.names
        return [tuple(names[axis] for axis in table) for table in self._mechanism.components.tables]

    def __iter__(self) -> Iterator[Table]:
        return (self[names] for names in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The unbiased estimates of all cells, table by table."""
        return np.concatenate([table.values.reshape(-1) for table in self])

    @cached_property
    def _error(self) -> TablesError:
        return self._mechanism.expected_error()

    def error(self) -> TablesError:
        """Say how wrong a cell is."""
        return self._error

    @property
    def header(self) -> list[str]:
        """The attributes, then the count and its error; attributes that a table does not have are left empty."""
        return ["table", *self._mechanism.form.domain.names, "count", "typical_error"]

    def rows(self) -> Iterator[list[Any]]:
        """One row for each cell of each table."""
        names = self._mechanism.form.domain.names
        for table in self:
            at = {name: column for column, name in enumerate(table.names)}
            for row in table.rows():
                yield [" x ".join(table.names), *(row[at[name]] if name in at else "" for name in names), *row[-2:]]

    def draw(self, axes: Any) -> None:
        """Draw the first table."""
        next(iter(self)).draw(axes)
