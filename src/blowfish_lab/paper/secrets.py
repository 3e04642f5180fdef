"""The policies of Figure 1: on which data, which pairs are secret, and what sensitivity the paper claims for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from blowfish_lab.paper.clustering_data import ClusteringData
from blowfish_privacy.graphs import Attributes, DistanceThreshold, FullDomain, Partition, Secrets

SKIN_THETAS = (256, 128, 64, 32)
KILOMETRES = (2222, 1442)
"""How far the map reaches from south to north and from west to east."""


@dataclass(frozen=True)
class Named:
    """A policy of the paper on one of its data sets."""

    data: str
    secrets: Secrets
    claimed: Callable[[ClusteringData], float]
    """The sensitivity of the cluster sums according to the paper, which is too small; in the units of the values."""
    exact: bool = False
    """Whether nothing is secret: sizes and sums have sensitivity 0, and no noise is added to either."""


def _diameter(data_set: ClusteringData) -> float:
    low, high = data_set.box
    return float((high - low).sum())


def everything(data: str) -> Named:
    """Full-domain secrets: the paper's Laplace mechanism."""
    return Named(data, FullDomain(), lambda data_set: 2 * _diameter(data_set))


def within(data: str, theta: Any, **scale: Any) -> Named:
    """Secrets of pairs at most theta apart."""
    # Distances on a map are in kilometres, the values in cells; the claim is 2 theta in the units of the values.
    widest = max((Fraction(1) / Fraction(each) for each in scale.values()), default=Fraction(1))
    secrets = DistanceThreshold(theta, scale=scale or None)
    return Named(data, secrets, lambda data_set: 2 * float(Fraction(str(theta)) * widest))


def attributes(data: str) -> Named:
    """Secrets of pairs that differ in one attribute."""
    return Named(
        data, Attributes(), lambda data_set: 2 * float(max(high - low for low, high in zip(*data_set.box, strict=True)))
    )


def blocks(longitude: int, latitude: int) -> Named:
    """Secrets inside the blocks of the map that are so many cells wide and high."""
    secrets = Partition(widths={"longitude": longitude, "latitude": latitude})
    return Named(
        "twitter", secrets, lambda data_set: 2.0 * (longitude - 1 + latitude - 1), exact=longitude == latitude == 1
    )


@lru_cache(maxsize=1)
def map_scale() -> dict[str, Fraction]:
    """Return the kilometres of one cell along each side of the map."""
    return {"longitude": Fraction(KILOMETRES[1], 256), "latitude": Fraction(KILOMETRES[0], 256)}
