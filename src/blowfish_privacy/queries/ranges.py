"""Counts of ranges of an ordered attribute, answered from its cumulative histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Len

from blowfish_privacy.domain import Domain, choice_to_file, quoted
from blowfish_privacy.errors import DomainError, QueryError, brief
from blowfish_privacy.queries.cumulative import Cumulative, CumulativeForm
from blowfish_privacy.support.file_forms import Form, Name, Value, Wanted


@dataclass(frozen=True)
class Ranges(Cumulative):
    """The number of records in some ranges, both ends included: ``Ranges("wage", [(0, 20), (21, 50)])``.

    The release is the whole cumulative histogram; these ranges are only what is shown first.
    """

    of: Sequence[Any] = ()

    keyword = "ranges"
    file_form = Form(
        {
            "ranges": Name,
            "of": Annotated[
                list[Annotated[list[Value], Len(2, 2)]],
                Len(1),
                Wanted("a list of pairs", "write of: [[0, 20], [21, 50]]."),
            ],
        },
        example="{ranges: wage, of: [[0, 20], [21, 50]]}",
    )
    result = "ranges"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.of, str) or not isinstance(self.of, Sequence) or not self.of:
            raise QueryError(f"ranges need a list of pairs, got {brief(self.of)}.", hint="[(0, 20), (21, 50)].")
        for ends in self.of:
            if not isinstance(ends, list | tuple) or len(ends) != 2:
                raise QueryError(f"a range must have two ends, got {brief(ends)}.")
        object.__setattr__(self, "of", tuple((low, high) for low, high in self.of))

    def on(self, domain: Domain) -> CumulativeForm:
        """Bind to a domain that contains every range."""
        form = super().on(domain)
        for ends in self.of:
            try:
                domain[self.attribute].subset(ends)
            except DomainError as error:
                raise QueryError(f"{self.attribute}: {error.message}", hint=error.hint) from None
        return form

    def says(self) -> str:
        """Say what is counted, and what it is read from."""
        name = quoted(self.attribute)
        return f"How many records fall into ranges of {name}, from how many are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{ranges: name, of: [[a, b], ..]}``."""
        return {"ranges": self.attribute, "of": [choice_to_file(ends)["range"] for ends in self.of]}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Ranges:
        """Read ``{ranges: name, of: [[a, b], ..]}``."""
        return cls(entry["ranges"], entry["of"])
