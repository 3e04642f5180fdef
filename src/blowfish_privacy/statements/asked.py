"""What a plan will publish, in the words that the studio has for the kinds of releases."""

from __future__ import annotations

from blowfish_privacy.release.checks import selected
from blowfish_privacy.release.plan import Plan

TITLES = {
    "histogram": "Table of counts",
    "cumulative": "Distribution",
    "mean": "Mean",
    "sum": "Sum",
    "quantiles": "Quantiles",
    "median": "Median",
    "tables": "Several tables",
    "range_grid": "Map",
    "kmeans": "Clusters",
    "synthetic": "Synthetic records",
}
"""Kinds of queries by keyword; others go by the name that they have in a file."""


def asked_words(plan: Plan) -> str:
    """Say what is asked, about which attributes and records."""
    query = plan.query
    title = TITLES.get(query.keyword, query.noun.capitalize())
    return f"{title} of {query.subject}{selected(plan.selection)}"
