"""How much a query can change between neighbouring tables.

``S(W, P) = max over edges (x, y) of ||W_x - W_y||_1``, on the graph projected onto the query's attributes: a query that
looks at some attributes sees a move along the others as no move. Where records come and go (unknown size) the largest
``||W_x||_1`` counts too; m rows per person multiply all by m. A query names its worst edge; how much that edge
changes is recomputed from the query's columns, and the contract tests compare it with every edge. In squares,
``max ||W_x - W_y||_2^2``, m rows multiply it by m^2.

Known facts make several records move together (:mod:`blowfish_privacy.known_facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import DomainError, PolicyError, brief
from blowfish_privacy.graphs import FullDomain, Public, SecretGraph, Secrets
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.facts import KnownFact, relevant_domain
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import ALL, PRESENCE, PairClass, classes_met
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.queries.query import LinearForm, Pattern, Query

if TYPE_CHECKING:
    from blowfish_privacy.known_facts.changes import LargestChange


Result = TypeVar("Result")
Records: TypeAlias = tuple[dict[str, Any], ...]
"""Values of the attributes that matter, one for each record."""


class Norm(Enum):
    """How a change of several numbers is measured by one."""

    L1 = "the sum of the absolute changes"
    L2 = "the sum of the squared changes"

    @property
    def power(self) -> int:
        """The power to which changes are raised before they are added up."""
        return 2 if self is Norm.L2 else 1


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


@dataclass(frozen=True)
class _Promise:
    """What decides all that is derived from a policy, and the policy."""

    domain: Domain
    hash: str
    secrets: Secrets = field(hash=False)
    known: Sequence[KnownFact] = field(hash=False)
    policy: Policy = field(compare=False)


@lru_cache(maxsize=8)
def remembered(function: Callable[..., Any], promise: _Promise, *values: object) -> Any:
    """Call a function of a policy and other values; the results of the last few calls are kept."""
    return function(promise.policy, *values)


def once(function: Callable[..., Result], policy: Policy, *values: object) -> Result:
    """Call a function of a policy and other values, or look up what it returned for the same ones."""
    try:
        promise = _Promise(policy.domain, policy.hash, policy.secrets, policy.known, policy)
        hash((promise, values))
    except (TypeError, DomainError):
        # What other projects define may have no hash, and a level of a hierarchy has no canonical form of its own.
        return function(policy, *values)
    return remembered(function, promise, *values)


def sensitivity(query: Query, policy: Policy) -> Sensitivity:
    """Derive the sensitivity of a query under a policy, with the pair of values that attains it."""
    if not isinstance(query, Query):
        raise PolicyError(f"a query is needed, got {brief(query)}.", hint='Histogram("age"), for example.')
    if not isinstance(policy, Policy):
        raise PolicyError(f"a policy is needed, got {brief(policy)}.")
    return sensitivity_of(query.on(policy.domain), policy)


def sensitivity_of(form: LinearForm, policy: Policy, norm: Norm = Norm.L1) -> Sensitivity:
    """Derive the sensitivity of a linear form on some attributes of a policy's domain: what Laplace noise has to hide.

    Under ``Norm.L2`` it is ``max over edges (x, y) of ||W_x - W_y||_2^2``: what Gaussian noise has to hide.
    """
    kept: Sensitivity = once(_sensitivity_of, policy, form, norm)
    # Its records are dicts, which the caller may change.
    return replace(kept, witness=deepcopy(kept.witness))


def _sensitivity_of(policy: Policy, form: LinearForm, norm: Norm) -> Sensitivity:
    squares = norm is Norm.L2
    in_squares = ", in squares" if squares else ""
    if policy.known:
        from blowfish_privacy.known_facts.theorems import under_facts

        together = under_facts(form, policy)
        if together is not None and not squares:
            witness = witness_of(form, policy, together)
            return Sensitivity(form.unit * together.value, together.exact, together.method, witness)
        if together is not None and (together.together or not together.value):
            return _squares_together(form, policy, together)
    edge, value, exact = _worst(form, policy.graph.project(form.domain.names), norm)
    exact = exact and not (squares and policy.known)
    largest = Sensitivity(Fraction(0), exact, "no secret pair changes the query [he2014, section 5]", None, norm)
    if edge is not None and value > 0:
        witness = ((form.domain.record(edge[0]),), (form.domain.record(edge[1]),))
        bound = "bound on every pair" if squares else "bound by the worst pair of all"
        kind = "worst secret pair" if exact else bound
        largest = Sensitivity(value, exact, f"{kind}{in_squares} [he2014, Definition 5.1]", witness, norm)
    if policy.size == "unknown" and (weight := _largest_weight(form, norm)) > largest.value:
        cell = form.heaviest()
        attained = not squares or form.squared_weight(cell) == weight
        witness = ((), (form.domain.record(cell),)) if attained else None
        largest = Sensitivity(weight, largest.exact, f"a record that comes or goes{in_squares}", witness, norm)
    rows = policy.rows_per_person
    if rows > 1 and largest.value:
        theorem = f"{largest.theorem}, times {'the square of ' if squares else ''}{rows} rows per person"
        largest = replace(largest, value=rows**norm.power * largest.value, theorem=theorem)
    return largest


def sensitivity_by_class(
    form: LinearForm, policy: Policy, largest: Fraction, norm: Norm = Norm.L1
) -> Mapping[PairClass, Fraction]:
    """Bound the change along the secret pairs of each class that a linear form may tell apart.

    ``largest`` is its sensitivity, derived before: it changes by that along pairs of one class, and by less elsewhere.
    """
    return once(_by_class, policy, form, largest, norm)


def _by_class(policy: Policy, form: LinearForm, largest: Fraction, norm: Norm) -> Mapping[PairClass, Fraction]:
    names = form.domain.names
    changes: dict[PairClass, Fraction] = {}
    for pairs in classes_met(policy, names):
        if pairs == PRESENCE:
            change = _largest_weight(form, norm)
        elif pairs == ALL and policy.known:
            change = largest
        else:
            graph = policy.graph if pairs == ALL else policy.graph.changing(pairs.attribute)
            _, change, _ = _worst(form, graph.project(names), norm)
        changes[pairs] = min(policy.rows_per_person**norm.power * change, largest)
    return MappingProxyType(changes)


def _worst(form: LinearForm, graph: SecretGraph, norm: Norm) -> tuple[Edge | None, Fraction, bool]:
    """Return an edge, a bound on the change along any, and whether that edge is known to attain it."""
    if norm is Norm.L2:
        return form.largest_squares(graph)
    edge, is_worst = form.worst_edge(graph)
    return edge, Fraction(0) if edge is None else form.change(*edge), is_worst


def _largest_weight(form: LinearForm, norm: Norm) -> Fraction:
    """Bound the change when a record comes or goes."""
    return form.largest_squared_weight() if norm is Norm.L2 else form.weight(form.heaviest())


def witness_of(form: LinearForm, policy: Policy, change: LargestChange) -> tuple[Records, Records] | None:
    """Write what moves together as records, before and after."""
    if not change.moves or not change.value:
        return None
    domain = relevant_domain(policy, form.domain.names)
    before, after = zip(*change.moves, strict=True)
    return tuple(map(domain.record, before)), tuple(map(domain.record, after))


def _squares_together(form: LinearForm, policy: Policy, change: LargestChange) -> Sensitivity:
    """Bound the sum of the squared changes when records move together.

    It is at most the square of the sum of the changes, and for counts half of that, since as many are lost as gained;
    where one record leaves each class and one enters it, counts change by one each.
    """
    from blowfish_privacy.known_facts.fact_model import fact_model

    witness, names = witness_of(form, policy, change), form.domain.names
    settled = form.pattern is Pattern.CELLS and fact_model(policy, names).incidence.nullity == 0
    if settled and {*relevant_domain(policy, names).names} <= {*names}:
        # One record leaves each class and one enters it, and each cell counted lies in one class: no cell gains or
        # loses more than one record, so squares are the changes themselves.
        value = form.unit**2 * Fraction(change.value)
        return Sensitivity(value, change.exact, f"{change.method}, in squares", witness, Norm.L2)
    # Where nobody comes or goes, cells gain as many records as they lose.
    halved = form.pattern is Pattern.CELLS and policy.size != "unknown"
    value = form.unit**2 * Fraction(change.value**2, 2 if halved else 1)
    return Sensitivity(value, not value, f"{change.method}; squares bounded by sums", witness, Norm.L2)


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
