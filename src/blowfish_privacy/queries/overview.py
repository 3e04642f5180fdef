"""The queries that people ask first: a policy is judged by what it does to them."""

from __future__ import annotations

from blowfish_privacy.domain import Domain, Numeric
from blowfish_privacy.queries.counts import Histogram
from blowfish_privacy.queries.ordered import Cumulative
from blowfish_privacy.queries.query import Query
from blowfish_privacy.queries.sums import Sum


def overview(domain: Domain) -> list[tuple[str, Query]]:
    """Return, with titles, the whole table and the histogram, cumulative histogram and sum of each attribute."""
    queries: list[tuple[str, Query]] = [("histogram of all attributes", Histogram(*domain.names))]
    for name in domain:
        queries.append((f"histogram of {name}", Histogram(name)))
        if domain[name].ordered:
            queries.append((f"cumulative histogram of {name}", Cumulative(name)))
        if isinstance(domain[name], Numeric):
            queries.append((f"sum of {name}", Sum(name)))
    return queries
