"""What measured tables tell together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from blowfish_privacy.mechanisms.tables.nesting import Axes
from blowfish_privacy.support.arrays import Floats


@dataclass(slots=True)
class Told:
    """What measured tables tell of one component."""

    precision: float = 0.0
    """Of all of them together; infinite where one is exact."""
    tables: int = 0
    first: int = -1
    """The number of the first table that tells it, or of the first that does so exactly."""

    def add(self, number: int, precision: float) -> None:
        """Count one more table."""
        if not self.tables or self.precision < precision == inf:
            self.first = number
        self.tables += 1
        self.precision += precision


@dataclass(frozen=True, eq=False)
class Estimates(Mapping[Axes, Floats]):
    """The estimates of all components: some are held, the others are worked out each time they are asked for."""

    held: Mapping[Axes, Floats]
    components: Collection[Axes]
    work_out: Callable[[Axes], Floats]

    def __getitem__(self, component: Axes) -> Floats:
        found = self.held.get(component)
        return self.work_out(component) if found is None else found

    def __iter__(self) -> Iterator[Axes]:
        return iter(self.components)

    def __len__(self) -> int:
        return len(self.components)
