"""Quantiles of an ordered attribute, answered from its cumulative histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.queries.cumulative import Cumulative
from blowfish_privacy.support.exact import exact, plain, show
from blowfish_privacy.support.file_forms import EXACT_SCHEMA, Exact, Form, Name, Published, Wanted

_SHARE: TypeAlias = Annotated[Exact, Published({**EXACT_SCHEMA, "minimum": 0, "maximum": 1})]


@dataclass(frozen=True)
class Quantiles(Cumulative):
    """The values below which some shares of the records lie: ``Quantiles("wage", [0.1, 0.5, 0.9])``.

    The release is the whole cumulative histogram; these shares are only what is shown first.
    """

    at: Sequence[Any] = ("0.25", "0.5", "0.75")

    keyword = "quantiles"
    file_form = Form(
        {"quantiles": Name},
        {
            "at": Annotated[
                list[_SHARE], Len(1), Wanted("a list of numbers from 0 to 1", "write at: [0.25, 0.5, 0.75].")
            ]
        },
        example="{quantiles: wage, at: [0.25, 0.5]}",
    )
    result = "quantiles"
    of_some = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.at, str) or not isinstance(self.at, Sequence) or not self.at:
            raise QueryError(f"quantiles need a list of shares, got {brief(self.at)}.", hint="[0.25, 0.5, 0.75].")
        shares = tuple(exact(share, "a quantile", error=QueryError) for share in self.at)
        if not all(0 <= share <= 1 for share in shares):
            raise QueryError("a quantile must lie between 0 and 1.", hint="0.5 is the median.")
        object.__setattr__(self, "at", shares)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares as exact numbers."""
        return tuple(map(Fraction, self.at))

    def says(self) -> str:
        """Name the shares, and what they are read from."""
        shares = ", ".join(show(share) for share in self.shares)
        many = "quantiles" if len(self.shares) > 1 else "quantile"
        name = quoted(self.attribute)
        return f"The {many} {shares} of {name}, from how many records are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{quantiles: name, at: [..]}``."""
        return {"quantiles": self.attribute, "at": [plain(share) for share in self.shares]}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Quantiles:
        """Read ``{quantiles: name, at: [..]}``."""
        return cls(entry["quantiles"], entry["at"]) if "at" in entry else cls(entry["quantiles"])
