"""How much a query can change between neighbouring tables.

``S(W, P) = max over edges (x, y) of ||W_x - W_y||_1``, on the graph projected onto the query's attributes: a query that
looks at some attributes sees a move along the others as no move. Where records come and go (unknown size) the largest
``||W_x||_1`` counts too; m rows per person multiply all by m. A query names its worst edge; how much that edge
changes is recomputed from the query's columns, and the contract tests compare it with every edge.

Known facts make several records move together (:mod:`blowfish_privacy.known_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from blowfish_privacy.errors import PolicyError, brief
from blowfish_privacy.graphs import FullDomain, Public, SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import ALL, PRESENCE, PairClass, classes_met
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import LinearForm, Pattern, Query

if TYPE_CHECKING:
    from blowfish_privacy.known_facts.changes import LargestChange


Records: TypeAlias = tuple[dict[str, Any], ...]
"""Values of the attributes that matter, one for each record."""


class Norm(Enum):
    """How a change of several numbers is measured by one."""

    L1 = "the sum of the absolute changes"
    L2 = "the sum of the squared changes"


@dataclass(frozen=True)
class Sensitivity:
    """The largest change of a query between neighbours.

    ``exact`` is False when ``value`` is only an upper bound. ``witness`` is what attains it: the records that move,
    before and after. Without known facts that is one record (on one side none, when a record comes or goes).
    """

    value: Fraction
    exact: bool
    theorem: str
    witness: tuple[Records, Records] | None
    norm: Norm = Norm.L1


def sensitivity(query: Query, policy: Policy) -> Sensitivity:
    """Derive the sensitivity of a query under a policy, with the pair of values that attains it."""
    if not isinstance(query, Query):
        raise PolicyError(f"a query is needed, got {brief(query)}.", hint='Histogram("age"), for example.')
    if not isinstance(policy, Policy):
        raise PolicyError(f"a policy is needed, got {brief(policy)}.")
    return sensitivity_of(query.on(policy.domain), policy)


def sensitivity_of(form: LinearForm, policy: Policy) -> Sensitivity:
    """Derive the sensitivity of a linear form on some attributes of a policy's domain."""
    if policy.known:
        from blowfish_privacy.known_facts.theorems import under_facts

        together = under_facts(form, policy)
        if together is not None:
            witness = witness_of(form, policy, together)
            return Sensitivity(form.unit * together.value, together.exact, together.method, witness)
    edge, is_worst = form.worst_edge(policy.graph.project(form.domain.names))
    largest = Sensitivity(Fraction(0), is_worst, "no secret pair changes the query [he2014, section 5]", None)
    if edge is not None and form.change(*edge) > 0:
        witness = ((form.domain.record(edge[0]),), (form.domain.record(edge[1]),))
        kind = "worst secret pair" if is_worst else "bound by the worst pair of all"
        largest = Sensitivity(form.change(*edge), is_worst, f"{kind} [he2014, Definition 5.1]", witness)
    if policy.size == "unknown":
        cell = form.heaviest()
        if form.weight(cell) > largest.value:
            witness = ((), (form.domain.record(cell),))
            largest = Sensitivity(form.weight(cell), largest.exact, "a record that comes or goes", witness)
    if policy.rows_per_person > 1 and largest.value:
        theorem = f"{largest.theorem}, times {policy.rows_per_person} rows per person"
        largest = Sensitivity(policy.rows_per_person * largest.value, largest.exact, theorem, largest.witness)
    return largest


def sensitivity_by_class(form: LinearForm, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
    """Bound the change along the secret pairs of each class that a linear form may tell apart.

    ``largest`` is its sensitivity, derived before: it changes by that along pairs of one class, and by less elsewhere.
    """
    names = form.domain.names
    changes: dict[PairClass, Fraction] = {}
    for pairs in classes_met(policy, names):
        if pairs == PRESENCE:
            change = form.weight(form.heaviest())
        elif pairs == ALL and policy.known:
            change = largest
        else:
            graph = policy.graph if pairs == ALL else policy.graph.changing(pairs.attribute)
            edge, _ = form.worst_edge(graph.project(names))
            change = Fraction(0) if edge is None else form.change(*edge)
        changes[pairs] = min(policy.rows_per_person * change, largest)
    return changes


def witness_of(form: LinearForm, policy: Policy, change: LargestChange) -> tuple[Records, Records] | None:
    """Write what moves together as records, before and after."""
    from blowfish_privacy.known_facts.fact_model import relevant_domain

    if not change.moves or not change.value:
        return None
    domain = relevant_domain(policy, form.domain.names)
    before, after = zip(*change.moves, strict=True)
    return tuple(map(domain.record, before)), tuple(map(domain.record, after))


# How much a query can change between neighbouring tables, in squares: what Gaussian noise has to hide.
#
# ``max over edges (x, y) of ||W_x - W_y||_2^2`` on the projected graph, as :mod:`blowfish_privacy.privacy.sensitivity`
# has it for sums of changes; m rows of a person multiply it by m^2. Where known facts make several records move
# together, the sum of the squared changes is at most the square of the sum of the changes, and for counts half of that,
# since as many are lost as gained; where one record leaves each class and one enters it, counts change by one each.


def squared_sensitivity(form: LinearForm, policy: Policy) -> Sensitivity:
    """Derive the largest sum of squared changes of a linear form between neighbours."""
    if policy.known:
        from blowfish_privacy.known_facts.theorems import under_facts

        together = under_facts(form, policy)
        if together is not None and (together.together or not together.value):
            return _together(form, policy, together)
    edge, value, exact = form.largest_squares(policy.graph.project(form.domain.names))
    exact = exact and not policy.known
    largest = Sensitivity(Fraction(0), exact, "no secret pair changes the query [he2014, section 5]", None, Norm.L2)
    if edge is not None and value > 0:
        witness = ((form.domain.record(edge[0]),), (form.domain.record(edge[1]),))
        kind = "worst secret pair, in squares" if exact else "bound on every pair, in squares"
        largest = Sensitivity(value, exact, f"{kind} [he2014, Definition 5.1]", witness, Norm.L2)
    if policy.size == "unknown" and form.largest_squared_weight() > largest.value:
        value = form.largest_squared_weight()
        cell = form.heaviest()
        witness = ((), (form.domain.record(cell),)) if form.squared_weight(cell) == value else None
        largest = Sensitivity(value, largest.exact, "a record that comes or goes, in squares", witness, Norm.L2)
    if policy.rows_per_person > 1 and largest.value:
        theorem = f"{largest.theorem}, times the square of {policy.rows_per_person} rows per person"
        value = policy.rows_per_person**2 * largest.value
        largest = Sensitivity(value, largest.exact, theorem, largest.witness, Norm.L2)
    return largest


def squared_by_class(form: LinearForm, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
    """Bound the squared change along the secret pairs of each class that a linear form may tell apart.

    ``largest`` is its squared sensitivity, derived before.
    """
    names = form.domain.names
    changes: dict[PairClass, Fraction] = {}
    for pairs in classes_met(policy, names):
        if pairs == PRESENCE:
            change = form.largest_squared_weight()
        elif pairs == ALL and policy.known:
            change = largest
        else:
            graph = policy.graph if pairs == ALL else policy.graph.changing(pairs.attribute)
            _, change, _ = form.largest_squares(graph.project(names))
        changes[pairs] = min(policy.rows_per_person**2 * change, largest)
    return changes


def _together(form: LinearForm, policy: Policy, change: LargestChange) -> Sensitivity:
    """Bound the squares of what changes when records move together."""
    witness = witness_of(form, policy, change)
    if form.pattern is Pattern.CELLS and _once(form, policy):
        # No cell gains or loses more than one record, so squares are the changes themselves.
        value = form.unit**2 * Fraction(change.value)
        return Sensitivity(value, change.exact, f"{change.method}, in squares", witness, Norm.L2)
    # Where nobody comes or goes, cells gain as many records as they lose.
    halved = form.pattern is Pattern.CELLS and policy.size != "unknown"
    value = form.unit**2 * Fraction(change.value**2, 2 if halved else 1)
    return Sensitivity(value, not value, f"{change.method}; squares bounded by sums", witness, Norm.L2)


def _once(form: LinearForm, policy: Policy) -> bool:
    """Say whether one record leaves each class and one enters it, and the cells counted lie in one class each."""
    from blowfish_privacy.known_facts.fact_model import fact_model, relevant_domain

    names = form.domain.names
    settled = fact_model(policy, names).incidence.nullity == 0
    return settled and {*relevant_domain(policy, names).names} <= {*names}


# What neighbouring tables look like to a mechanism that goes by the edges of a graph itself.


@dataclass(frozen=True)
class Steps:
    """What neighbouring tables look like to a query of some attributes: so many records each move along an edge."""

    graph: SecretGraph
    rows: int
    forced: bool
    """Whether known facts force records to move together, so that this is a bound."""


@lru_cache(maxsize=64)
def steps(policy: Policy, names: tuple[str, ...]) -> Steps:
    """Say along which pairs, and how many, records move as far as some attributes can see.

    Where known facts force records to move together, the histogram of these attributes changes by at most some S:
    S / 2 records, then, have moved, anywhere. Under secret-moves all records that move follow secret pairs.
    """
    graph = policy.graph.project(names)
    if not policy.known:
        return Steps(graph, policy.rows_per_person, forced=False)
    from blowfish_privacy.known_facts.theorems import most_secret_moves, under_facts

    form = HistogramForm(policy.domain.project(names))
    change = under_facts(form, policy)
    if change is None or not change.together:
        return Steps(graph, policy.rows_per_person, forced=change is not None)
    if not change.value:
        return Steps(Public().on(form.domain), 1, forced=True)
    moved = most_secret_moves(policy, names)
    if moved is not None:
        return Steps(graph, moved, forced=True)
    return Steps(FullDomain().on(form.domain), change.value // 2, forced=True)
