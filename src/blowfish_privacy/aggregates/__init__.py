"""Aggregates: the exact whole numbers that a mechanism may ask of data."""

from blowfish_privacy.aggregates.aggregates import Aggregates, RecordAggregates, TableAggregates
from blowfish_privacy.aggregates.assignment import Assignment, Decay
from blowfish_privacy.aggregates.attribute_sets import AttributeSets
from blowfish_privacy.aggregates.lattice import Axis, Lattice, Run

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
