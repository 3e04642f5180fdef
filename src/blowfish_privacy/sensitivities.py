"""How much a query can change between neighbouring tables.

``S(W, P) = max over edges (x, y) of ||W_x - W_y||_1``, on the graph projected onto the query's attributes: a query that
looks at some attributes sees a move along the others as no move. Where records come and go (unknown size) the largest
``||W_x||_1`` counts too; m rows per person multiply all by m. A query names its worst edge; how much that edge
changes is recomputed from the query's own columns, and the contract tests compare it with every edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from blowfish_privacy.errors import PolicyError, RefusalError, brief
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries.query import LinearForm, Query


@dataclass(frozen=True)
class Sensitivity:
    """The largest change of a query between neighbours.

    ``exact`` is False when ``value`` is only an upper bound; ``witness`` is a pair of values that attains it, as
    records of the query's attributes (None on one side: a record that comes or goes).
    """

    value: Fraction
    exact: bool
    theorem: str
    witness: tuple[dict[str, Any] | None, dict[str, Any] | None] | None


def sensitivity(query: Query, policy: Policy) -> Sensitivity:
    """Derive the sensitivity of a query under a policy, with the pair of values that attains it."""
    if not isinstance(query, Query):
        raise PolicyError(f"a query is needed, got {brief(query)}.", hint='Histogram("age"), for example.')
    if not isinstance(policy, Policy):
        raise PolicyError(f"a policy is needed, got {brief(policy)}.")
    return sensitivity_of(query.on(policy.domain), policy)


def sensitivity_of(form: LinearForm, policy: Policy) -> Sensitivity:
    """Derive the sensitivity of a linear form on some attributes of a policy's domain."""
    refuse_known_facts(policy)
    edge, is_worst = form.worst_edge(policy.graph.project(form.domain.names))
    found = Sensitivity(Fraction(0), is_worst, "no secret pair changes the query [he2014, section 5]", None)
    if edge is not None and form.change(*edge) > 0:
        witness = (form.domain.record(edge[0]), form.domain.record(edge[1]))
        kind = "worst secret pair" if is_worst else "bound by the worst pair of all"
        found = Sensitivity(form.change(*edge), is_worst, f"{kind} [he2014, Definition 5.1]", witness)
    if policy.size == "unknown":
        cell = form.heaviest()
        if form.weight(cell) > found.value:
            witness = (None, form.domain.record(cell))
            found = Sensitivity(form.weight(cell), found.exact, "a record that comes or goes", witness)
    if policy.rows_per_person > 1 and found.value:
        theorem = f"{found.theorem}, times {policy.rows_per_person} rows per person"
        found = Sensitivity(policy.rows_per_person * found.value, found.exact, theorem, found.witness)
    return found


def refuse_known_facts(policy: Policy) -> None:
    """Refuse policies whose known facts no theorem in this package calibrates yet."""
    if policy.known:
        raise RefusalError(
            "sensitivities under known facts are not calibrated yet, so nothing can be released under this policy.",
            hint="leave out the known facts only if they are truly not public: noise would be too small otherwise.",
        )
