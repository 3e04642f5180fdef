"""Figure 1(c): clusters of the paper's synthetic data, distance thresholds."""

from __future__ import annotations

from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.run import Run
from blowfish_lab.paper.secrets import everything, within

_THETAS = ("1.0", "0.5", "0.25", "0.1")


class Figure1c(KMeansCurves):
    """1,000 points in four dimensions, made as the paper says: it is synthetic there too."""

    name = "1c"
    title = "Figure 1(c): k-means of 1,000 synthetic points in four dimensions, distance thresholds"
    policies = (FULL, *(f"theta {theta}" for theta in _THETAS))
    named = {FULL: everything("synthetic"), **{f"theta {theta}": within("synthetic", theta) for theta in _THETAS}}
    read_off = {FULL: (180, 8, 4.3), "theta 0.25": (5.7, 2.6, 1.7), "theta 0.1": (3.7, 2.5, 1.6)}

    def notes(self, run: Run) -> list[str]:
        """Say where the points come from."""
        return [*super().notes(run), "The data are synthetic, as in the paper; its own points are not published."]
