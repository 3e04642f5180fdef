"""How much a query can change between neighbouring tables, in squares: what Gaussian noise has to hide.

``max over edges (x, y) of ||W_x - W_y||_2^2`` on the projected graph, as :mod:`blowfish_privacy.privacy.sensitivity`
has it for sums of changes; m rows of a person multiply it by m^2. Where known facts make several records move
together, the sum of the squared changes is at most the square of the sum of the changes, and for counts half of that,
since as many are lost as gained; where one record leaves each class and one enters it, counts change by one each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.classes import ALL, PRESENCE, PairClass, classes_met
from blowfish_privacy.privacy.sensitivity import Norm, Sensitivity, witness_of
from blowfish_privacy.queries.query import LinearForm, Pattern

if TYPE_CHECKING:
    from blowfish_privacy.known_facts.changes import LargestChange


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
