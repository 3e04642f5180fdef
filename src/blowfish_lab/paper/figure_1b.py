"""Figure 1(b): clusters of one in a hundred of the Skin records, distance thresholds."""

from __future__ import annotations

from blowfish_lab.paper.curves import FULL
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.secrets import SKIN_THETAS, everything, within


class Figure1b(KMeansCurves):
    """Records of three colours: blue, green and red."""

    name = "1b"
    title = "Figure 1(b): k-means of colours (skin01), distance thresholds"
    real_data = ("skin.tsv",)
    policies = (FULL, *(f"theta {theta}" for theta in SKIN_THETAS))
    named = {FULL: everything("skin01"), **{f"theta {theta}": within("skin01", theta) for theta in SKIN_THETAS}}
    read_off = dict(
        zip(policies, ((35, 5.6, 4.7), (12.5, 3.2, 2.2), (9.5, 2.4, 1.6), (6, 2, 1.4), (5, 1.8, 1.25)), strict=True)
    )
