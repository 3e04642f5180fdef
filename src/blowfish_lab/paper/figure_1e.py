"""Figure 1(e): clusters of all data sets, attribute secrets."""

from __future__ import annotations

from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.figure_1a import Figure1a
from blowfish_lab.paper.figure_1b import Figure1b
from blowfish_lab.paper.figure_1c import Figure1c
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.run import Run
from blowfish_lab.paper.secrets import attributes, everything

_SETS = ("twitter", "skin01", "synthetic")


class Figure1e(KMeansCurves):
    """Which attribute a record differs in is secret, one at a time."""

    name = "1e"
    title = "Figure 1(e): k-means of all data sets, attribute secrets"
    meaning = "attributes: values that differ in one attribute are secret from each other; full domain: all values are."
    real_data = ("twitter_256x256.npy", "skin.tsv")
    policies = tuple(f"{data}, {secrets}" for data in _SETS for secrets in ("full domain", "attributes"))
    named = {
        **{f"{data}, full domain": everything(data) for data in _SETS},
        **{f"{data}, attributes": attributes(data) for data in _SETS},
    }
    read_off = {"skin01, attributes": (15, 3.4, 2.1)}
    elsewhere = {
        f"{data}, full domain": figure.read_off[FULL]
        for data, figure in zip(_SETS, (Figure1a, Figure1b, Figure1c), strict=True)
    }

    def notes(self, run: Run) -> list[str]:
        """Say which published values are those of other figures."""
        return [*super().notes(run), "Published: full domain is that of Figures 1(a), 1(b) and 1(c)."]

    def plain(self, policy: str) -> str:
        """Compare with the full domain of the same data."""
        return f"{policy.partition(',')[0]}, full domain"
