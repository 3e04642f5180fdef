"""Range grids: the counts of all rectangles over two ordered attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError
from blowfish_privacy.queries.histogram import HistogramForm
from blowfish_privacy.queries.query import Query, named
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.file_forms import Form, Published, Wanted, listed

_TWO_NAMES: TypeAlias = Annotated[
    list[str],
    Len(2, 2),
    Published({**listed({"type": "string"}, least=2, unique=True), "maxItems": 2}),
    Wanted("a list of two attributes", "write range_grid: [lat, lon]."),
]


@dataclass(frozen=True)
class RangeGrid(Query):
    """The counts of a grid, released so that rectangles are answered well: ``RangeGrid("lat", "lon")``."""

    first: str
    second: str
    attributes: tuple[str, ...] = field(init=False)

    keyword = "range_grid"
    file_form = Form({"range_grid": _TWO_NAMES}, example="{range_grid: [lat, lon]}")
    needs_records = True
    answer = "grid"
    result = "grid"
    changed = "the counts"
    counts_records = True

    def __post_init__(self) -> None:
        named = (checked_attribute(self.first), checked_attribute(self.second))
        if self.first == self.second:
            raise QueryError("a grid needs two different attributes.")
        object.__setattr__(self, "attributes", named)

    def on(self, domain: Domain) -> HistogramForm:
        """Bind to a domain; both attributes must be ordered."""
        projected = self.own_domain(domain)
        for name in projected:
            if not projected[name].ordered:
                raise QueryError(f"{name} is categorical, and categories have no order.", hint="use a histogram.")
        return HistogramForm(projected)

    def says(self) -> str:
        """Say over which attributes the rectangles extend."""
        return f"How many records fall into rectangles of {named(self.attributes)}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{range_grid: [first, second]}``."""
        return {"range_grid": list(self.attributes)}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> RangeGrid:
        """Read ``{range_grid: [first, second]}``."""
        return cls(*entry["range_grid"])
