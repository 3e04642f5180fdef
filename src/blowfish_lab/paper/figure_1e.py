"""Figure 1(e): clusters of all data sets, attribute secrets."""

from __future__ import annotations

from blowfish_lab.paper.kmeans_curves import KMeansCurves
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
    read_off = {
        "twitter, full domain": (1.29, 1.0, 1.0),
        "skin01, full domain": (35, 5.6, 4.7),
        "skin01, attributes": (15, 3.4, 2.1),
        "synthetic, full domain": (180, 8, 4.3),
    }

    def plain(self, policy: str) -> str:
        """Compare with the full domain of the same data."""
        return f"{policy.partition(',')[0]}, full domain"
