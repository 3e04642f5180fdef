"""The few points in which the SQL of engines differs beyond what the SQL library translates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what the builder of queries needs."""

    name: str
    """The SQL library's name for it."""
    bytewise: str
    """The collation under which text is equal only byte for byte."""
    quoted: bool = True
    """Whether that collation is written as an identifier."""
    bucketed: bool = False
    """Whether ``width_bucket`` searches a sorted array, so that many bins need no table."""
    broadcast: bool = False
    """Whether a join must be told to send its small table to all workers."""
    merging: bool = False
    """Whether nested queries are merged, so that what is worked out once is worked out at every use."""


DUCKDB = Dialect("duckdb", "C")
POSTGRES = Dialect("postgres", "C", bucketed=True, merging=True)
SPARK = Dialect("spark", "UTF8_BINARY", quoted=False, broadcast=True)
