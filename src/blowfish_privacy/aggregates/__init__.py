"""Aggregates: the exact whole numbers that a mechanism may ask of data."""

from blowfish_privacy.aggregates.aggregates import Aggregates, AttributeSets, RecordAggregates, TableAggregates
from blowfish_privacy.aggregates.lattice import Assignment, Axis, Decay, Lattice, Run

__all__ = [
    "Aggregates",
    "Assignment",
    "AttributeSets",
    "Axis",
    "Decay",
    "Lattice",
    "RecordAggregates",
    "Run",
    "TableAggregates",
]
