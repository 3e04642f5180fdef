"""The closed forms of the paper's section 8, with the conditions under which they hold, to compare the library with.

They are about the complete histogram under ``compensation="secret-moves"`` (for full-domain secrets the default
relation is the same). Each function returns None where its conditions fail. Proofs: ``docs/proofs/policy_graph.md``;
what fails as printed: ``docs/errata.md``.
"""

from __future__ import annotations

from math import prod

import networkx as nx

from blowfish_privacy.graphs import Attributes
from blowfish_privacy.known_facts.fact_model import classes_of, joined_classes
from blowfish_privacy.known_facts.facts import Assumptions, KnownCount, KnownMarginal, fact_names
from blowfish_privacy.known_facts.secret_moves import policy_graph


def one_marginal_full_domain(policy: Assumptions) -> int | None:
    """Return the sensitivity of the histogram, 2 size(C), for one known marginal C and full-domain secrets.

    Every cell of the marginal must hold a record, and the other attributes must have at least two combinations of
    values: then a record of each cell moves to the next one, changing the other attributes too. [he2014, Theorem 8.4]
    """
    if not policy.graph.complete or len(policy.known) != 1:
        return None
    (fact,) = policy.known
    if not isinstance(fact, KnownMarginal):
        return None
    cells = _cells(policy, fact)
    counts = fact.counts(policy.domain)
    populated = all(counts) if counts is not None else policy.records is None or policy.records >= cells
    return 2 * cells if populated and policy.domain.size // cells >= 2 else None


def disjoint_marginals_attribute_secrets(policy: Assumptions) -> int | None:
    """Bound the sensitivity of the histogram by 2 max size(C_i) for marginals without a common attribute.

    The secrets must be those of single attributes. [he2014, Theorem 8.5, there as an equality]
    """
    if not _secret_moves(policy) or not _attribute_secrets(policy):
        return None
    marginals = {frozenset(f.attributes): f for f in policy.known if isinstance(f, KnownMarginal)}
    if not marginals or any(isinstance(fact, KnownCount) for fact in policy.known):
        return None
    if sum(map(len, marginals)) > len(frozenset().union(*marginals)):
        return None
    return 2 * max(_cells(policy, fact) for fact in marginals.values())


def disjoint_boxes_threshold(policy: Assumptions) -> int | None:
    """Bound the sensitivity of the histogram by 2 (maxcomp + 1) for disjoint boxes and distance-threshold secrets.

    maxcomp is the number of boxes in the largest group that steps of at most theta connect. [he2014, Theorem 8.6,
    there as an equality where no box is a point]
    """
    if not _secret_moves(policy) or not policy.known:
        return None
    if any(isinstance(fact, KnownMarginal) for fact in policy.known):
        return None
    names = [name for name in policy.domain if name in fact_names(policy.known)]
    classes = classes_of(policy.domain.project(names), policy.known)
    boxes = [member for members in classes.incidence.members for member in members.tolist()]
    if len(set(boxes)) < len(boxes) or any(len(members) > 1 for members in classes.incidence.members):
        return None
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(boxes)
    joined = joined_classes(policy.graph.project(names), classes).pairs
    graph.add_edges_from(pair for pair in joined if graph.has_node(pair[0]) and graph.has_node(pair[1]))
    return 2 * (max(map(len, nx.connected_components(graph)), default=0) + 1)


def sparse_facts(policy: Assumptions) -> int | None:
    """Bound the sensitivity of the histogram by 2 (p + 1) for p known counts, sparse with respect to the secret pairs.

    [he2014, Corollary 8.3] has 2 max(p, 1), which forgets that a path from v+ to v- has one arc more than counts.
    """
    if not _secret_moves(policy):
        return None
    graph = policy_graph(policy)
    return 2 * (graph.counts + 1) if graph.sparse else None


def _secret_moves(policy: Assumptions) -> bool:
    return policy.compensation == "secret-moves" or policy.graph.complete


def _attribute_secrets(policy: Assumptions) -> bool:
    return policy.graph.canonical() == Attributes().on(policy.domain).canonical()


def _cells(policy: Assumptions, fact: KnownMarginal) -> int:
    return prod(policy.domain[name].size for name in fact.attributes)
