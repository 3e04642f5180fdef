"""Mechanisms: ways to answer a query with noise, each with its proof."""

from collections.abc import Mapping

from blowfish_privacy.errors import QueryError, RefusalError, nearest
from blowfish_privacy.mechanisms.clusters.counted_grid import CountedGrid
from blowfish_privacy.mechanisms.clusters.grid_choice import TooFewError
from blowfish_privacy.mechanisms.clusters.lloyd import NoisyLloyd
from blowfish_privacy.mechanisms.clusters.soft_grid import SoftGrid
from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh
from blowfish_privacy.mechanisms.clusters.synopsis import Points, Synopsis
from blowfish_privacy.mechanisms.error import Error, ExpectedError
from blowfish_privacy.mechanisms.gaussian import Gaussian
from blowfish_privacy.mechanisms.grid.adaptive_grid import AdaptiveGrid
from blowfish_privacy.mechanisms.grid.flow_family import FlowFamily
from blowfish_privacy.mechanisms.grid.gaussian_flow import GaussianFlow
from blowfish_privacy.mechanisms.grid.gaussian_grid import GaussianGrid
from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
from blowfish_privacy.mechanisms.grid.grid_flow import GridFlow
from blowfish_privacy.mechanisms.grid.grid_hierarchy import GridHierarchy
from blowfish_privacy.mechanisms.grid.product_family import ProductFamily
from blowfish_privacy.mechanisms.laplace import Laplace
from blowfish_privacy.mechanisms.mean_offsets import MeanOffsets
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.mechanisms.ordered.adaptive_leaves import AdaptiveLeaves
from blowfish_privacy.mechanisms.ordered.gaussian_hierarchy import GaussianHierarchy, GaussianOrdered
from blowfish_privacy.mechanisms.ordered.ordered import Ordered
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily
from blowfish_privacy.mechanisms.ordered.ordered_hierarchical import OrderedHierarchical
from blowfish_privacy.mechanisms.ordered.smooth_hierarchy import SmoothHierarchy
from blowfish_privacy.mechanisms.synthetic.synthetic import GaussianSynthetic, LaplaceSynthetic, SyntheticMechanism
from blowfish_privacy.mechanisms.tables.gaussian.gaussian_marginals import GaussianMarginals
from blowfish_privacy.mechanisms.tables.marginals import Marginals
from blowfish_privacy.queries import Query

MECHANISMS: Mapping[str, type[Mechanism]] = Mechanism.kinds
"""Every mechanism by name, including those defined in other projects."""


def candidates(query: Query, name: str | None) -> list[type[Mechanism]]:
    """Return the mechanism asked for, or all that may be chosen for a query."""
    if name is not None and name not in MECHANISMS:
        raise QueryError(f"there is no mechanism {name!r}.", hint=nearest(name, MECHANISMS))
    kinds = [MECHANISMS[name]] if name is not None else MECHANISMS.values()
    fitting = [kind for kind in kinds if (kind.answers(query) if name is not None else kind.default_for(query))]
    if not fitting:
        raise RefusalError(f"{name or 'no mechanism'} cannot answer {query!r}.")
    return fitting


__all__ = [
    "MECHANISMS",
    "AdaptiveGrid",
    "AdaptiveLeaves",
    "CountedGrid",
    "Error",
    "ExpectedError",
    "FlowFamily",
    "Gaussian",
    "GaussianFlow",
    "GaussianGrid",
    "GaussianHierarchy",
    "GaussianMarginals",
    "GaussianOrdered",
    "GaussianSynthetic",
    "GridFamily",
    "GridFlow",
    "GridHierarchy",
    "Laplace",
    "LaplaceSynthetic",
    "Marginals",
    "MeanOffsets",
    "Mechanism",
    "NoisyLloyd",
    "Ordered",
    "OrderedFamily",
    "OrderedHierarchical",
    "Points",
    "ProductFamily",
    "SmoothHierarchy",
    "SoftGrid",
    "SoftMesh",
    "Synopsis",
    "SyntheticMechanism",
    "TooFewError",
    "candidates",
]
