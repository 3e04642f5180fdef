"""What a release under one policy costs a budget that belongs to another.

A budget bounds the loss between neighbours of the ledger's policy: tables that differ in one person, moved along one
edge of its graph G1 (without known facts). A release that is epsilon-private for a policy with graph G2 loses at most
epsilon * d_G2(x, y) between a person's values x and y: walk the shortest chain, epsilon per step. So it costs epsilon
times the *stretch*, the largest d_G2 over the edges of G1. Where that is infinite, or no rule here finds it, the charge
is refused.

Options of the policies, when neither has known facts:

- rows per person: if m1 rows of a person move along G1 and the release protects any m2 rows moving together, the m1
  rows are moved in ceil(m1 / m2) groups, each along its chain: the factor is the stretch times that number;
- an unknown number of records adds a value "absent" next to all others: whatever is unconnected is then two steps
  apart, and the steps from and to "absent" are edges of the ledger's graph too if its number of records is secret. A
  release that treats the number of records as public is no use to a ledger that keeps it secret.

With known facts tables with one person changed need not be neighbours at all, so only equal policies add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from blowfish_privacy.domain import Integer
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distance_threshold import ThresholdGraph
from blowfish_privacy.policies.explicit import ExplicitEdges
from blowfish_privacy.policies.full_domain import FullDomainGraph
from blowfish_privacy.policies.graph import Edge, Hops, SecretGraph
from blowfish_privacy.policies.partition import PartitionGraph
from blowfish_privacy.policies.per_attribute import CartesianGraph

_MOST_EDGES = 5_000
_MOST_WORK = 5_000_000
_MOST_VALUES = 1_000_000

_OWN_LEDGER = (
    "release under the ledger's policy. A second ledger does not make the loss smaller: on every pair of values the "
    "losses of both add up and must be reported together."
)


@dataclass(frozen=True)
class Price:
    """How many times its epsilon a release costs, and the rule that says so."""

    factor: int
    rule: str


SAME_POLICY = Price(1, "same policy: epsilons add up")


def price(base: Policy, policy: Policy) -> Price:
    """Say what a release under ``policy`` costs a budget that belongs to ``base``; refuse where no rule covers it."""
    if base.hash == policy.hash:
        return SAME_POLICY
    _check_comparable(base, policy)
    steps = _stretch(base.graph, policy.graph)
    if policy.size == "unknown":
        steps = 2 if steps is None else min(steps, 2)
    if steps is None:
        raise RefusalError(
            "no rule tells how much this policy's releases reveal about the secret pairs of the ledger's policy.",
            hint=_OWN_LEDGER,
        )
    if steps == inf:
        raise RefusalError(
            "the ledger's policy keeps values secret from each other that this policy does not protect at all.",
            hint=_OWN_LEDGER,
        )
    groups = -(-base.rows_per_person // policy.rows_per_person)
    factor = int(steps) * groups
    if factor == 1:
        return Price(1, "another policy that protects every secret pair of the ledger's")
    grouped = f" in {groups} groups of rows" if groups > 1 else ""
    return Price(factor, f"another policy: a secret pair of the ledger's is up to {steps} steps apart{grouped}")


def check_parallel(policy: Policy, attribute: str) -> None:
    """Refuse to charge only the maximum where a person's change may show in two parts.

    Proof that the maximum is enough otherwise: no edge changes the attribute, so between neighbours one person moves
    inside one part (or enters or leaves one part), and the other parts' releases are distributed equally. Known facts
    that no secret pair touches leave this as it is. Under secret-moves, facts that each count inside one part do too:
    records then move inside parts, and moves of different parts balance nothing for each other, so no smallest set of
    moves has both. [he2014, Theorem 4.3] claims more and is false.
    """
    if policy.known and not _inside_parts(policy, attribute):
        reason = "with these known facts, a change in one part may force a change in another"
    elif policy.rows_per_person > 1:
        reason = "the rows of one person may lie in several parts"
    elif policy.graph.changes(attribute):
        reason = f"{attribute} is secret: a secret pair differs in it, so a person may move between parts"
    else:
        return
    raise RefusalError(
        f"releases for each value of {attribute} cannot be charged their maximum: {reason}.",
        hint="release them one after another; their epsilons add up.",
    )


def _inside_parts(policy: Policy, attribute: str) -> bool:
    """Say whether known facts never tie records of different parts together."""
    from blowfish_privacy.known_facts import crosses

    if not crosses(policy):
        return True
    if policy.compensation != "secret-moves":
        return False
    boxes = (counted.box for fact in policy.known for counted in fact.counted(policy.domain))
    return all(attribute in box and len(box[attribute]) == 1 for box in boxes)


def _check_comparable(base: Policy, policy: Policy) -> None:
    if base.known or policy.known:
        raise RefusalError(
            "this is not the ledger's policy, and with known facts only releases under equal policies add up.",
            hint=_OWN_LEDGER,
        )
    if base.canonical()["domain"] != policy.canonical()["domain"]:
        raise RefusalError("this policy's domain is not the one of the ledger's policy.", hint=_OWN_LEDGER)
    if base.domain != policy.domain:
        raise RefusalError(
            "this policy declares the ledger's domain in another order.",
            hint="declare attributes and categories in the same order.",
        )
    if base.size == "unknown" and policy.size != "unknown":
        raise RefusalError(
            "the ledger's policy keeps the number of records secret, and this policy makes it public.", hint=_OWN_LEDGER
        )
    if isinstance(base.size, int) and isinstance(policy.size, int) and base.size != policy.size:
        raise RefusalError(f"the ledger's policy states {base.size} records and this one {policy.size}.")


def _stretch(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the steps that an edge of ``base`` takes in ``graph``; None when no rule applies."""
    if _covered(base, graph):
        return 1
    if len(base.domain.names) == 1:
        return _along(base, graph)
    return _listed(base, graph) or _by_attribute(base, graph)


def _covered(base: SecretGraph, graph: SecretGraph) -> bool:
    """Whether every edge of the one is obviously an edge of the other: equal, complete, no edges, wider thresholds.

    Thresholds: if weight2 / theta2 <= weight1 / theta1 for each attribute, then distance2 / theta2 is at most
    distance1 / theta1, which is at most 1 on an edge.
    """
    if not base.has_edges or graph.canonical() in ("full", base.canonical()):
        return True
    if isinstance(base, ThresholdGraph) and isinstance(graph, ThresholdGraph):
        pairs = zip(graph.weights, base.weights, strict=True)
        return all(new / graph.theta <= old / base.theta for new, old in pairs)
    return False


def _listed(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Go through all edges, where they are few; None where they are not."""
    size = base.domain.size
    few = len(base.pairs) if isinstance(base, ExplicitEdges) else size * (size - 1) // 2
    if few > _MOST_EDGES or few * (len(graph.pairs) if isinstance(graph, ExplicitEdges) else 1) > _MOST_WORK:
        return None
    return max(1 if graph.adjacent(*edge) else graph.hops(*edge) for edge in base.edges())


def _by_attribute(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Change one attribute after the other.

    In a complete, partition, threshold or product graph a step of the projection onto one attribute is also a step
    with all other attributes fixed, so d(x, y) is at most the sum over attributes of the steps of their projections,
    and each projected move is an edge of the projected base. An edge of a product changes one attribute only: the
    largest term is enough. Blocks are cliques: what is connected is one step apart. A path projects to a path, so an
    infinite term means an infinite stretch.
    """
    if not isinstance(graph, FullDomainGraph | PartitionGraph | ThresholdGraph | CartesianGraph):
        return None
    moving = [name for name in base.domain if base.changes(name)]
    terms = [_single(base.project([name]), graph.project([name])) for name in moving]
    if inf in terms:
        return inf
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    alone = isinstance(base, CartesianGraph) or isinstance(graph, PartitionGraph)
    return max(known) if alone else sum(known)


def _single(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    return 1 if _covered(base, graph) else _along(base, graph)


def _along(base: SecretGraph, graph: SecretGraph) -> Hops | None:
    """Bound the stretch on a domain of one attribute.

    Thresholds on whole numbers: steps depend on the distance only and grow with it, so the widest edge is the worst.
    Thresholds on bins: the furthest bin within reach grows with the bin one starts from, so no walk takes longer than
    the one from end to end.
    """
    torn = _torn(base, graph)
    if torn:
        return inf
    if isinstance(graph, PartitionGraph):
        return None if torn is None else 1
    (name,) = base.domain
    if isinstance(graph, ThresholdGraph):
        widest = base.widest_edge(name)
        if isinstance(base.domain[name], Integer) and widest is not None:
            return graph.hops(*widest)
        return _listed(base, graph) or graph.hops(*_ends(base))
    return _listed(base, graph)


def _torn(base: SecretGraph, graph: SecretGraph) -> bool | None:
    """Say whether a chain of the base, and so an edge, leaves a component of the other graph; None if too large."""
    if graph.connected:
        return False
    if base.connected:
        return True
    if base.domain.size > _MOST_VALUES:
        return None
    home = {base.component(cell): graph.component(cell) for cell in base.domain.cells()}
    return any(home[base.component(cell)] != graph.component(cell) for cell in base.domain.cells())


def _ends(graph: SecretGraph) -> Edge:
    return (0,), (graph.domain.size - 1,)
