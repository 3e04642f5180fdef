"""Policies: secret graphs and known facts."""

from blowfish_privacy.policies.distance_threshold import DistanceThreshold
from blowfish_privacy.policies.explicit import ExplicitGraph
from blowfish_privacy.policies.full_domain import FullDomain
from blowfish_privacy.policies.graph import SecretGraph, Secrets
from blowfish_privacy.policies.known import KnownFact
from blowfish_privacy.policies.known_count import KnownCount
from blowfish_privacy.policies.known_marginal import KnownMarginal
from blowfish_privacy.policies.partition import Partition
from blowfish_privacy.policies.per_attribute import Attributes, PerAttribute
from blowfish_privacy.policies.policy import Policy
from blowfish_privacy.policies.public import Public

__all__ = [
    "Attributes",
    "DistanceThreshold",
    "ExplicitGraph",
    "FullDomain",
    "KnownCount",
    "KnownFact",
    "KnownMarginal",
    "Partition",
    "PerAttribute",
    "Policy",
    "Public",
    "SecretGraph",
    "Secrets",
]
