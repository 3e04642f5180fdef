"""Figure 2(c): ranges of the latitude of tweets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blowfish_lab.paper import data
from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.ordered_curves import OrderedCurves
from blowfish_lab.paper.run import Run


class Figure2c(OrderedCurves):
    """256 cells of 8.7 km stand for the paper's 400 of 5.6 km; distances are rounded up, to protect no less."""

    name = "2c"
    title = "Figure 2(c): ranges of latitude (Twitter)"
    meaning = "km: places at most so far apart are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    policies = (FULL, "500 km", "50 km", "5 km")
    thresholds = {FULL: None, "500 km": 58, "50 km": 6, "5 km": 1}
    at_one = dict(zip(policies, (1200, 900, 190, 4), strict=True))

    def counts(self, run: Run) -> npt.NDArray[np.int64]:
        """Count the tweets of every latitude, from south to north."""
        return data.tweets(run).sum(axis=0)

    def drawn_notes(self, run: Run) -> list[str]:
        """Say that the grid is coarser."""
        return [
            *super().drawn_notes(run),
            "256 latitudes stand for the paper's 400; distances in km are the same. A tree of fan-out 16 needs "
            "2 levels over 256 values and 3 over 400, so the plain tree does better here than in the paper.",
        ]
