"""Numbers in a row as steps, each as wide as its value, with the band of their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from blowfish_privacy.results.pictures.figure import BLUE
from blowfish_privacy.support.arrays import Floats


def draw_steps(axes: Any, values: Floats, low: Floats, high: Floats) -> None:
    """Draw a step for each position, the first and the last as wide as the others."""
    edges = np.arange(len(values) + 1) - 0.5
    if (high > low).any():
        axes.stairs(high, edges, baseline=low, fill=True, color=BLUE, alpha=0.3, lw=0)
    axes.stairs(values, edges, baseline=None, color=BLUE, lw=1)
