"""Data engines: exact counts over the cells of a declared domain, and nothing else."""

from blowfish_privacy.engines.check import ColumnCheck, DataCheck
from blowfish_privacy.engines.description import Column, describe
from blowfish_privacy.engines.engine import Engine, located, open_engine
from blowfish_privacy.engines.progress import Progress
from blowfish_privacy.engines.sources.memory import Counts
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
