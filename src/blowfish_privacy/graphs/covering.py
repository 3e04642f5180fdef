"""How many steps of one secret graph the edges of another take: the *stretch* between two policies.

A release that is epsilon-private for one graph loses at most epsilon times that number between the values of a secret
pair of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from blowfish_privacy.graphs.by_value import ByValueGraph
from blowfish_privacy.graphs.graph import Hops, SecretGraph

_MOST_EDGES = 5_000
_MOST_WORK = 5_000_000
_MOST_VALUES = 1_000_000


def steps_covering(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound how many steps of ``graph`` an edge of ``base`` takes, on the same domain; None if no rule applies."""
    if graph.covers(base):
        return 1
    if len(base.domain.names) == 1:
        return _along(base, graph)
    return _listed(base, graph) or _by_value(base, graph) or _by_attribute(base, graph)


def _listed(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Check all edges if they are few; None otherwise."""
    size = base.domain.size
    few = len(base.enumerated) if base.enumerated is not None else size * (size - 1) // 2
    work = few * (len(graph.enumerated) if graph.enumerated is not None else 1)
    if few > _MOST_EDGES or work > _MOST_WORK:
        return None
    return max(1 if graph.adjacent(*edge) else graph.hops(*edge) for edge in base.edges())


def _by_value(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Compare the parts, where a column chooses the graph; None if none does, or the parts are not known.

    Where no edge changes the column, the rest of a homogeneous graph is the same for all its values.
    """
    column = next((each.column for each in (graph, base) if isinstance(each, ByValueGraph)), None)
    if column is None or not all(_has_parts(each, column) for each in (base, graph)):
        return None
    if base.changes(column):
        return inf
    terms = [steps_covering(*parts) for parts in _parts(base, graph, column)]
    return None if None in terms else max(term for term in terms if term is not None)


def _parts(base: SecretGraph, graph: SecretGraph, column: str) -> Iterator[tuple[SecretGraph, SecretGraph]]:
    """Yield the graphs of the records that share a value of the column, each different pair once."""
    others = [name for name in base.domain if name != column]
    rest = [each.project(others) for each in (base, graph)]
    seen: set[tuple[int, int]] = set()
    for position in range(base.domain[column].size):
        first, second = (
            each.part(position) if isinstance(each, ByValueGraph) else same
            for each, same in zip((base, graph), rest, strict=True)
        )
        if (id(first), id(second)) not in seen:
            seen.add((id(first), id(second)))
            yield first, second


def _has_parts(graph: SecretGraph, column: str) -> bool:
    return graph.column == column if isinstance(graph, ByValueGraph) else graph.homogeneous


def _by_attribute(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the stretch by changing one attribute after another.

    In a homogeneous graph a step of the projection onto one attribute is also a step with all other attributes fixed,
    so d(x, y) is at most the sum over attributes of the steps of their projections, and each projected move is an edge
    of the projected base. Where an edge of the base changes one attribute only, the largest term is enough; so it is
    where what is connected is one step apart. A path projects to a path, so an infinite term means an infinite stretch.
    """
    if not graph.homogeneous:
        return None
    moving = [name for name in base.domain if base.changes(name)]
    terms = [steps_covering(base.project([name]), graph.project([name])) for name in moving]
    if inf in terms:
        return inf
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    return max(known) if base.one_at_a_time or graph.transitive else sum(known)


def _along(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the stretch on a domain of one attribute."""
    torn = _torn(base, graph)
    if torn:
        return inf
    if graph.transitive:
        return None if torn is None else 1
    return _listed(base, graph) or (graph.steps_along(base) if torn is False else None)


def _torn(base: SecretGraph, graph: SecretGraph) -> bool | None:
    """Say whether an edge of the base leaves a component of the other graph; None if the domain is too large."""
    if graph.connected:
        return False
    if base.connected:
        return True
    if base.domain.size > _MOST_VALUES:
        return None
    home = {base.component(cell): graph.component(cell) for cell in base.domain.cells()}
    return any(home[base.component(cell)] != graph.component(cell) for cell in base.domain.cells())
