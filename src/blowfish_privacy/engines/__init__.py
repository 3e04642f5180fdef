"""Data engines: exact counts over the cells of a declared domain, and nothing else."""

from blowfish_privacy.engines.engine import (
    Column,
    ColumnCheck,
    Counts,
    DataCheck,
    Engine,
    Progress,
    describe,
    located,
    open_engine,
)
from blowfish_privacy.engines.sql.cells import check_countable

__all__ = [
    "Column",
    "ColumnCheck",
    "Counts",
    "DataCheck",
    "Engine",
    "Progress",
    "check_countable",
    "describe",
    "located",
    "open_engine",
]
