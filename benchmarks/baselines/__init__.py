"""Straightforward versions of published mechanisms for ranges, to compare with. They are not part of the library."""

from baselines.hierarchy import hierarchy_b
from baselines.privelet import privelet
from baselines.subgraph import subgraph

__all__ = ["hierarchy_b", "privelet", "subgraph"]
