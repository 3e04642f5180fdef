"""Mechanisms: ways to answer a query with noise, each with its proof. They are imported when they are asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from blowfish_privacy.errors import QueryError, RefusalError, brief, nearest
from blowfish_privacy.mechanisms.error import Error, ExpectedError
from blowfish_privacy.mechanisms.mechanism import REGISTRY, Mechanism, TooFewError
from blowfish_privacy.queries import Query
from blowfish_privacy.support.on_demand import attributes_of

if TYPE_CHECKING:
    from blowfish_privacy.mechanisms.clusters.lloyd import NoisyLloyd
    from blowfish_privacy.mechanisms.clusters.soft_grid import CountedGrid, SoftGrid
    from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh
    from blowfish_privacy.mechanisms.clusters.synopsis import Points, Synopsis
    from blowfish_privacy.mechanisms.grid.adaptive_grid import AdaptiveGrid
    from blowfish_privacy.mechanisms.grid.grid_family import GridFamily
    from blowfish_privacy.mechanisms.grid.grid_flow import GaussianFlow, GridFlow
    from blowfish_privacy.mechanisms.grid.grid_hierarchy import GaussianGrid, GridHierarchy
    from blowfish_privacy.mechanisms.independent import Gaussian, Laplace
    from blowfish_privacy.mechanisms.means import MeanOffsets, WeightedOffsets
    from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily
    from blowfish_privacy.mechanisms.ordered.ordered_hierarchical import OrderedHierarchical
    from blowfish_privacy.mechanisms.ordered.smooth_hierarchy import (
        GaussianHierarchy,
        GaussianOrdered,
        Ordered,
        SmoothHierarchy,
    )
    from blowfish_privacy.mechanisms.synthetic.synthetic import GaussianSynthetic, LaplaceSynthetic
    from blowfish_privacy.mechanisms.tables.marginals import GaussianMarginals, Marginals

MECHANISMS: Mapping[str, type[Mechanism]] = Mechanism.kinds
"""Every mechanism by name, including those defined in other projects."""


def considered(answer: str) -> list[type[Mechanism]]:
    """Return our mechanisms that give one kind of answer, and all that other projects define."""
    ours = [name for name, listed in REGISTRY.items() if answer in listed.answers]
    return [MECHANISMS[name] for name in (*ours, *Mechanism.kinds.foreign)]


def candidates(query: Query, name: str | None) -> list[type[Mechanism]]:
    """Return the mechanism asked for, or all that may be chosen for a query."""
    if name is not None and name not in MECHANISMS:
        raise QueryError(f"there is no mechanism {name!r}.", hint=nearest(name, MECHANISMS))
    kinds = [MECHANISMS[name]] if name is not None else considered(query.answer)
    fitting = [kind for kind in kinds if (kind.answers(query) if name is not None else kind.default_for(query))]
    if not fitting:
        raise RefusalError(f"{name or 'no mechanism'} cannot answer {brief(query)}.")
    return fitting


_registry = {
    "clusters.synopsis": ["Points", "Synopsis"],
    "grid.grid_family": ["GridFamily"],
    "ordered.ordered_family": ["OrderedFamily"],
}
for _listed in REGISTRY.values():
    _registry.setdefault(_listed.module, []).append(_listed.kind)
__getattr__ = attributes_of(__name__, _registry)

__all__ = [
    "MECHANISMS",
    "AdaptiveGrid",
    "CountedGrid",
    "Error",
    "ExpectedError",
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
    "SmoothHierarchy",
    "SoftGrid",
    "SoftMesh",
    "Synopsis",
    "TooFewError",
    "WeightedOffsets",
    "candidates",
    "considered",
]
