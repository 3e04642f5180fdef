"""The median of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.queries.quantiles import Quantiles
from blowfish_privacy.support.file_forms import Form, Name


@dataclass(frozen=True)
class Median(Quantiles):
    """The value below which half of the records lie: ``Median("wage")``, which is ``Quantiles("wage", ["0.5"])``."""

    at: Any = field(init=False, default=("0.5",))

    keyword = "median"
    file_form = Form({"median": Name}, example="{median: wage}")

    def says(self) -> str:
        """Name what is asked, and what it is read from."""
        name = quoted(self.attribute)
        return f"The median of {name}, from how many records are at or below each of its values"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{median: name}``."""
        return {"median": self.attribute}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> Median:
        """Read ``{median: name}``."""
        return cls(entry["median"])
