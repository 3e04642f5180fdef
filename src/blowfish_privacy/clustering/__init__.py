"""Clustering of public points: what is done with a synopsis after its release, for free."""

from blowfish_privacy.clustering.centres import Clusters, cluster, nearest_centre

__all__ = ["Clusters", "cluster", "nearest_centre"]
