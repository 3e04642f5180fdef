"""Queries: the questions that can be asked about a table."""

from blowfish_privacy.queries.counts import Cumulative, Histogram, KMeans, Median, Quantiles, RangeGrid, Ranges
from blowfish_privacy.queries.linear import Linear, Mean, Sum
from blowfish_privacy.queries.query import ALL_RECORDS, Asked, LinearForm, Query, Selected, Selection
from blowfish_privacy.queries.synthetic import Synthetic
from blowfish_privacy.queries.tables import Tables
from blowfish_privacy.queries.weights import Weighted

__all__ = [
    "ALL_RECORDS",
    "Asked",
    "Cumulative",
    "Histogram",
    "KMeans",
    "Linear",
    "LinearForm",
    "Mean",
    "Median",
    "Quantiles",
    "Query",
    "RangeGrid",
    "Ranges",
    "Selected",
    "Selection",
    "Sum",
    "Synthetic",
    "Tables",
    "Weighted",
]
