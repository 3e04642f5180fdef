"""Data engines: exact counts over the cells of a declared domain, and nothing else."""

from blowfish_privacy.engines.cells import check_countable
from blowfish_privacy.engines.check import ColumnCheck, DataCheck
from blowfish_privacy.engines.engine import Engine, open_engine
from blowfish_privacy.engines.memory import Counts
from blowfish_privacy.engines.progress import Progress, scan_bar

__all__ = ["ColumnCheck", "Counts", "DataCheck", "Engine", "Progress", "check_countable", "open_engine", "scan_bar"]
