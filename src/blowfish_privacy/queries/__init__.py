"""Queries: the questions that can be asked about a table."""

from blowfish_privacy.queries.asked import Asked
from blowfish_privacy.queries.cumulative import Cumulative
from blowfish_privacy.queries.histogram import Histogram
from blowfish_privacy.queries.kmeans import KMeans
from blowfish_privacy.queries.linear import Linear
from blowfish_privacy.queries.median import Median
from blowfish_privacy.queries.quantiles import Quantiles
from blowfish_privacy.queries.query import LinearForm, Query
from blowfish_privacy.queries.range_grid import RangeGrid
from blowfish_privacy.queries.ranges import Ranges
from blowfish_privacy.queries.selection import ALL_RECORDS, Selected, Selection
from blowfish_privacy.queries.sums import Mean, Sum
from blowfish_privacy.queries.synthetic import Synthetic
from blowfish_privacy.queries.tables import Tables

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
]
