"""How many cases a property is tried on: the same sample in every run, many more and new ones in ``make audit``."""

import os

FACTOR = int(os.environ.get("BLOWFISH_EFFORT", "1"))


def examples(count: int) -> int:
    """Scale a number of cases by the effort asked for."""
    return count * FACTOR
