"""Aggregates: the exact whole numbers that a mechanism may ask of data."""

from blowfish_privacy.aggregates.assignment import Assignment, Softness
from blowfish_privacy.aggregates.lattice import Axis, Lattice, Run

__all__ = ["Assignment", "Axis", "Lattice", "Run", "Softness"]
