"""Figure 1(a): clusters of tweets, distance thresholds."""

from __future__ import annotations

from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.run import Run
from blowfish_lab.paper.secrets import everything, map_scale, within

_KILOMETRES = (2000, 1000, 500, 100)


class Figure1a(KMeansCurves):
    """Longitude and latitude, on a 256 x 256 grid that stands for the paper's 300 x 400."""

    name = "1a"
    title = "Figure 1(a): k-means of tweets, distance thresholds"
    meaning = "km: places at most so far apart are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    policies = (FULL, *(f"{distance} km" for distance in _KILOMETRES))
    named = {
        FULL: everything("twitter"),
        **{f"{distance} km": within("twitter", distance, **map_scale()) for distance in _KILOMETRES},
    }
    read_off = {FULL: (1.29, 1.0, 1.0)}

    def notes(self, run: Run) -> list[str]:
        """Say that the grid is coarser."""
        return [*super().notes(run), "A grid of 256 x 256 cells stands for the paper's 300 x 400."]
