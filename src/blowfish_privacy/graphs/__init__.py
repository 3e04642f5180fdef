"""Secret graphs: which pairs of values are secret, and everything that follows from it."""

from blowfish_privacy.graphs.by_value import ByValue
from blowfish_privacy.graphs.explicit import AddRemove, ExplicitGraph, Public
from blowfish_privacy.graphs.graph import SecretGraph, Secrets
from blowfish_privacy.graphs.partition import FullDomain, Partition, Within
from blowfish_privacy.graphs.per_attribute import Attributes, PerAttribute
from blowfish_privacy.graphs.threshold import DistanceThreshold

__all__ = [
    "AddRemove",
    "Attributes",
    "ByValue",
    "DistanceThreshold",
    "ExplicitGraph",
    "FullDomain",
    "Partition",
    "PerAttribute",
    "Public",
    "SecretGraph",
    "Secrets",
    "Within",
]
