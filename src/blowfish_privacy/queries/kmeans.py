"""K-means: cluster centres over ordered attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from blowfish_privacy.domain import Binned, Domain, Numeric
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.queries.histogram import HistogramForm
from blowfish_privacy.queries.query import Query, named
from blowfish_privacy.queries.selection import checked_attribute
from blowfish_privacy.support.file_forms import Form, Names, Wanted


@dataclass(frozen=True, init=False)
class KMeans(Query):
    """The centres of ``k`` clusters of records: ``KMeans(["blue", "green", "red"], k=4)``.

    The release is a noisy synopsis of where the records lie; centres, for this k or any other, are computed from it
    afterwards at no further cost.
    """

    attributes: tuple[str, ...]
    k: int

    keyword = "kmeans"
    file_form = Form(
        {"kmeans": Names, "k": Annotated[int, Ge(1), Wanted("a whole number from 1 up")]},
        example="{kmeans: [lat, lon], k: 4}",
    )
    needs_records = True
    answer = "clusters"
    result = "clusters"
    changed = "the counts"
    counts_records = True
    instead_of_parts = "leave the condition out; for a public attribute, open a session on the records of each value."

    def __init__(self, attributes: Sequence[str], k: int) -> None:
        named = [attributes] if isinstance(attributes, str) else attributes
        if not isinstance(named, Sequence) or not named:
            raise QueryError(f"k-means needs a list of attributes, got {brief(attributes)}.", hint='["lat", "lon"].')
        object.__setattr__(self, "attributes", tuple(checked_attribute(name) for name in named))
        if len(set(self.attributes)) < len(self.attributes):
            raise QueryError(f"k-means names an attribute twice: {', '.join(self.attributes)}.")
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise QueryError(f"k must be a whole number of at least 1, got {brief(k)}.")
        object.__setattr__(self, "k", int(k))

    def on(self, domain: Domain) -> HistogramForm:
        """Bind to a domain; all attributes must be ordered, and there must be at least k values."""
        projected = self.own_domain(domain)
        for name in projected:
            if not isinstance(projected[name], Numeric | Binned):
                kind = "has no numbers, so it has" if projected[name].ordered else "is categorical, and categories have"
                raise QueryError(f"{name} {kind} no mean.", hint="leave it out.")
        if self.k > projected.size:
            raise QueryError(f"there cannot be {self.k:,} clusters of only {projected.size:,} values.")
        return HistogramForm(projected)

    def says(self) -> str:
        """Say how many centres of which attributes are asked for."""
        centres = f"centres of {self.k} clusters" if self.k > 1 else "centre"
        return f"The {centres} of {named(self.attributes)}"

    def amount(self, domain: Domain) -> str:
        """Say how many centres there are."""
        return f"{self.k} centre{'s' if self.k > 1 else ''}"

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{kmeans: [..], k: ..}``."""
        return {"kmeans": list(self.attributes), "k": self.k}

    @classmethod
    def from_file(cls, entry: Mapping[str, Any]) -> KMeans:
        """Read ``{kmeans: [..], k: ..}``."""
        return cls(entry["kmeans"], entry["k"])


def clusters_asked(query: Query) -> int:
    """Return the number of clusters that a query asks for; 1 if it is not a k-means query."""
    return query.k if isinstance(query, KMeans) else 1
