"""Figure 2(b): ranges of Adult's capital loss."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blowfish_lab.paper import data
from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.ordered_curves import OrderedCurves
from blowfish_lab.paper.run import Run

_THETAS = (1000, 500, 100, 50, 10, 1)


class Figure2b(OrderedCurves):
    """4,357 values, seven thresholds."""

    name = "2b"
    title = "Figure 2(b): ranges of capital loss (Adult)"
    real_data = ("adult.csv",)
    policies = (FULL, *(f"theta {theta}" for theta in _THETAS))
    thresholds = {FULL: None, **{f"theta {theta}": theta for theta in _THETAS}}
    at_one = dict(zip(policies, (3500, 3000, 2900, 1000, 850, 200, 4), strict=True))

    def counts(self, run: Run) -> npt.NDArray[np.int64]:
        """Count the records of every capital loss."""
        return data.capital_loss(run)
