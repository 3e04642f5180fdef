"""Straightforward versions of published mechanisms for ranges, to compare with. They are not part of the library."""

from baselines.dawa import PENALTIES, Dawa, hilbert_order
from baselines.hierarchy import hierarchy_b
from baselines.privelet import privelet
from baselines.subgraph import subgraph

__all__ = ["PENALTIES", "Dawa", "hierarchy_b", "hilbert_order", "privelet", "subgraph"]
