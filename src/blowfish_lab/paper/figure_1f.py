"""Figure 1(f): clusters of tweets, partitions of the map."""

from __future__ import annotations

from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.figure_1a import Figure1a
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.run import Run
from blowfish_lab.paper.secrets import blocks, everything

_WIDTHS = {"partition of 100": 26, "partition of 1,000": 8, "partition of 10,000": 3, "single cells": 1}


class Figure1f(KMeansCurves):
    """Who is in which block is public; where in it is secret."""

    name = "1f"
    title = "Figure 1(f): k-means of tweets, partitions"
    meaning = "partition: places of the same block are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    policies = (FULL, *_WIDTHS)
    named = {FULL: everything("twitter"), **{name: blocks(width, width) for name, width in _WIDTHS.items()}}
    read_off = {"partition of 100": (1.007, 1.0, 1.0)}
    elsewhere = {
        FULL: Figure1a.read_off[FULL],
        **dict.fromkeys(("partition of 1,000", "partition of 10,000"), read_off["partition of 100"]),
        "single cells": (1.0, 1.0, 1.0),
    }

    def notes(self, run: Run) -> list[str]:
        """Say how the blocks of the coarser grid were chosen."""
        said = "A grid of 256 x 256 cells stands for the paper's 300 x 400; blocks of 26, 8 and 3 make about as many."
        read = "Published: the three curves of partitions coincide and were read once; full domain is Figure 1(a)'s."
        exact = (
            "Single cells: nothing is secret, so no mechanism adds noise, and the paper's text says that it is exact."
        )
        return [*super().notes(run), said, read, exact]
