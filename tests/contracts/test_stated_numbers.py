"""Every number that plans, cards and ledgers state about privacy, against all pairs of values of small domains.

The noise of every release here is Laplace or Gaussian, so what it loses between two values of a person is the change of
each number over its scale, or its square over twice its variance. It is computed from the condition, the groups and
the query themselves, record by record, without steps, classes, regions or certificates.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.mechanisms import Laplace
from blowfish_privacy.policies.distances import furthest, furthest_apart, furthest_together, is_unprotected
from blowfish_privacy.privacy.loss import changing, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON, Strength
from blowfish_privacy.release import reading
from blowfish_privacy.release.explain import most_steps
from blowfish_privacy.release.losses import FarLosses, ProductLoss, any_change, attributes_seen, full_domain
from blowfish_privacy.release.verification import read_product
from blowfish_privacy.statements.ledger import lost_on_pair, lost_on_whole_record
from blowfish_privacy.statements.policy import odds_between
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.strategies import policies
from contracts.test_selection import askeds
from effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")

BUDGETS = {"epsilon": 100, "rho": {"rho": 100}, "approximate": {"epsilon": 60, "delta": "1e-9"}}
KINDS = [
    *(bp.PerAttribute, bp.DistanceThreshold, bp.Partition, bp.FullDomain, bp.ExplicitGraph, bp.ByValue, bp.Attributes),
    *(bp.AddRemove, None),
]


def contribution(plan, cell):
    """What one record adds to every number of a release, with the noise scale of that number."""
    query, selection, domain = plan.query, plan.selection, plan.policy.domain
    conditions = (
        (domain[name].value(domain.seen([name])(cell)[0]), chosen) for name, chosen in selection.where.items()
    )
    group = domain.seen(selection.by)(cell)
    part = plan.parts.get(group) if selection.by else plan
    if part is None or not all(value in chosen for value, chosen in conditions):
        return {}
    column = query.on(domain).column(domain.seen(query.attributes)(cell))
    return {(group, at): (Fraction(amount), part.mechanism.scale) for at, amount in enumerate(column)}


def true_loss(plan, x, y):
    """The exact loss between two values, or between one and a person who is not there; infinite where it shows."""
    lost, rows = Fraction(0), plan.policy.rows_per_person
    first, second = ({} if cell is oracle.ABSENT else contribution(plan, cell) for cell in (x, y))
    for key in {*first, *second}:
        change = rows * abs(first.get(key, (0, 0))[0] - second.get(key, (0, 0))[0])
        scale = (first.get(key) or second[key])[1]
        if change and not scale:
            return inf
        if change:
            lost += change / scale if isinstance(plan.mechanism, Laplace) else change**2 / (2 * scale)
    return lost


class Truth:
    """What releases lose on each pair of values that a chain of secret pairs connects, and how long the chains are."""

    def __init__(self, policy, plans):
        self.policy, self.cells = policy, [*policy.domain.cells()]
        self.hops = {x: oracle.hops_by_search(policy.graph, x) for x in self.cells}
        self.plans = plans

    def steps(self, x, y):
        return min(self.hops[x][y], 2) if self.policy.size == "unknown" else self.hops[x][y]

    def pairs(self, names=None):
        """All connected pairs that differ in some attributes alone."""
        axes = {self.policy.domain.axis(name) for name in names or self.policy.domain}
        for x, y in combinations(self.cells, 2):
            if self.steps(x, y) < inf and {at for at, (a, b) in enumerate(zip(x, y, strict=True)) if a != b} <= axes:
                yield x, y

    def lost(self, measure, x, y):
        """What all lose together on a pair, in a measure; infinite where some number shows it."""
        each = [(plan.certificate.loss.measure, true_loss(plan, x, y)) for plan in self.plans]
        return sum(inf if lost == inf else measure.converted(lost, own) for own, lost in each)

    def most(self, measure, names=None):
        return max((self.lost(measure, x, y) for x, y in self.pairs(names)), default=Fraction(0))


def drawn_policy(data):
    kind = data.draw(st.sampled_from(KINDS))
    size, rows = data.draw(st.sampled_from([("known", 1), ("known", 1), ("known", 1), ("unknown", 1), ("known", 2)]))
    drawn = data.draw(policies(most_cells=10, most_attributes=2, kind=kind))
    own = drawn.size if kind is bp.AddRemove else size
    return bp.Policy(drawn.domain, secrets=drawn.secrets, size=own, rows_per_person=rows)


@st.composite
def queries(draw, domain):
    """Queries as elsewhere, of all records or of some; and sums that are not monotone, where ends are alike."""
    if draw(st.booleans()):
        return draw(askeds(domain))
    names = draw(st.lists(st.sampled_from(domain.names), unique=True, min_size=1, max_size=2))
    shape = domain.project(names).shape
    amounts = draw(st.lists(st.integers(0, 3), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    places = {values: at for at, values in enumerate(_values(domain.project(names)))}
    return bp.Linear(lambda *values: amounts[places[values]], attributes=names)


def _values(domain):
    return [tuple(domain.record(cell).values()) for cell in domain.cells()]


def planned(data, session, most):
    """Plan some queries with as much noise in epsilon or in rho; leave out what is refused."""
    plans = []
    for number in range(data.draw(st.integers(1, most))):
        noise = {"epsilon": data.draw(st.sampled_from(["1/2", "1", "4"])), "mechanism": "laplace"}
        if session.ledger.measure is not EPSILON and data.draw(st.booleans()):
            noise = {"rho": data.draw(st.sampled_from(["1/10", "1/2"])), "mechanism": "gaussian"}
        try:
            plans.append(session.plan(data.draw(queries(session.policy.domain)), name=f"q{number}", **noise))
        except BlowfishError:
            continue
    return plans


def opened(data, budget, most):
    """Draw a policy, open a session under it, and plan some queries."""
    policy = drawn_policy(data)
    session = bp.Session(bp.Counts(np.ones(policy.domain.shape, dtype=int)), policy, budget=BUDGETS[budget])
    return policy, session, planned(data, session, most)


def exponent(measure, amount):
    return inf if amount == inf else Strength(measure, Fraction(amount)).exponent()


def holds(stated, truth):
    """Exponents are floats, which are rounded for readers upwards from far fewer digits."""
    return stated >= truth * (1 - 1e-12)


@pytest.mark.parametrize("budget", BUDGETS)
@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_what_one_plan_states_holds_for_every_pair(budget, data):
    policy, session, plans = opened(data, budget, 1)
    for plan in plans:
        about_one(plan, plan, policy)
        text = session.release(plan).text
        body = reading.parse(text)
        if not plan.parts:
            about_one(plan, reading.read(body, *reading.parts_of(body), None), policy)


def about_one(plan, made, policy):
    """Compare what is said of a plan, or of its document, with the loss on each pair."""
    truth, measure = Truth(policy, [plan]), plan.certificate.loss.measure
    exponents = {(x, y): exponent(measure, truth.lost(measure, x, y)) for x, y in truth.pairs()}
    amount, largest = plan.certificate.amount, Strength(measure, plan.certificate.amount).exponent()
    edges = [lost for (x, y), lost in exponents.items() if policy.graph.adjacent(x, y)]
    assert holds(largest, max(edges, default=0))

    # Values far apart: one bound for each attribute, and one for whole records.
    far = FarLosses.of(made)
    stated = max([largest, *(each.exponent for each in (*far.of_attributes(), *far.of_all()))])
    assert holds(stated, max(exponents.values(), default=0))
    for axis, name in enumerate(policy.domain):
        own = [lost for (x, y), lost in exponents.items() if x[:axis] + x[axis + 1 :] == y[:axis] + y[axis + 1 :]]
        said = [each.exponent for each in far.weakest() if each.names in ((name,), policy.domain.names)]
        assert holds(max(said, default=0), max(own, default=0))
        # Nothing is called protected that is not.
        assert not is_unprotected(max(own, default=0) * (1 - 1e-12)) or [*far.unprotected("it")]

    if made is not plan:
        return
    # How many steps there are.
    seen = attributes_seen(plan) or policy.domain.names
    assert most_steps(plan) == max((truth.steps(x, y) for x, y in truth.pairs(seen)), default=0)
    # By the rows: for all that is secret, and for whole records.
    changed = any_change(plan.mechanism, plan.query, policy, plan.selection)
    assert changed is None or not amount or changed.amount >= truth.most(measure)
    whole = full_domain(plan)
    if whole is not None:
        every = [true_loss(plan, x, y) for x, y in combinations(truth.cells, 2)]
        if policy.size == "unknown":
            every += [true_loss(plan, oracle.ABSENT, x) for x in truth.cells]
        exact = plan.query.on(policy.domain).worst_edge(
            bp.FullDomain().on(policy.domain).project(plan.query.attributes)
        )
        assert whole >= max(every)
        assert whole == max(every) or not exact[1]
    # What somebody can learn who hesitates between two values.
    strength = Strength(measure, amount)
    for (x, y), lost in exponents.items():
        odds = odds_between(policy, policy.domain.record(x), policy.domain.record(y), strength)
        assert odds.steps == truth.steps(x, y)
        assert holds(odds.exponent, lost)
        assert odds.most() >= 1 / (1 + np.exp(-lost)) - 1e-12


@pytest.mark.parametrize("budget", BUDGETS)
@given(data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_what_a_ledger_states_of_several_releases_holds_for_every_pair(budget, data):
    policy, session, plans = opened(data, budget, 3)
    for plan in plans:
        session.release(plan)
    if not plans:
        return
    ledger, truth = session.ledger, Truth(policy, plans)
    measure = ledger.measure
    losses = {(x, y): truth.lost(measure, x, y) for x, y in truth.pairs()}
    for (x, y), lost in losses.items():
        assert lost_on_pair(ledger, policy.domain.record(x), policy.domain.record(y)).amount >= lost
    about_whole_records(ledger, truth, losses, plans)
    about_a_product(ProductLoss(read_product(ledger)), truth, losses)


def about_whole_records(ledger, truth, losses, plans):
    found = lost_on_whole_record(ledger)
    longest = max((truth.steps(x, y) for x, y in losses), default=0)
    assert (0 if found is None else found.steps) == (longest if longest > 1 else 0)
    if found is None:
        return
    amount = max(each.amount for each in found.lost)
    assert amount >= max(losses.values())
    if truth.policy.rows_per_person == 1 and not any(plan.selection for plan in plans):
        # All rows show: on domains so small the bound is what the worst pair lost, and no more.
        assert amount == max(losses.values()) or truth.policy.size == "unknown"


def about_a_product(loss, truth, losses):
    policy, measure = truth.policy, loss.product.measure
    for x, y in losses:
        if policy.graph.adjacent(x, y):
            changed = [name for name, a, b in zip(policy.domain, x, y, strict=True) if a != b]
            pairs = changing(changed[0]) if one_attribute_at_a_time(policy) else None
            assert losses[x, y] <= (loss.product.spent if pairs is None else loss.classes[pairs])
    whole = loss.whole_record
    steps = {
        (x, y)
        for x, y in losses
        if all(
            a == b or policy.graph.project([n]).adjacent((a,), (b,))
            for n, a, b in zip(policy.domain, x, y, strict=True)
        )
    }
    if whole is not None and policy.graph.homogeneous:
        assert whole >= max((losses[pair] for pair in steps), default=0)
    stated = [*loss.far.of_attributes(), *loss.far.of_all()]
    bounds = [loss.product.spent, *(each.lost for each in stated)]
    assert max(bounds) >= max(losses.values(), default=0)
    largest = exponent(measure, max(losses.values(), default=Fraction(0)))
    assert not is_unprotected(largest * (1 - 1e-12)) or [*loss.far.unprotected("it")]


@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_what_a_policy_states_of_steps_holds_for_every_pair(data):
    policy = drawn_policy(data)
    truth = Truth(policy, [])
    for domain, _, hops in furthest(policy, least=1):
        assert hops == max(truth.steps(x, y) for x, y in truth.pairs(domain.names))
    apart = furthest_apart(policy)
    longest = max((truth.steps(x, y) for x, y in truth.pairs()), default=0)
    assert (0 if apart is None else apart[2]) == (longest if longest > 1 else 0)
    together = furthest_together(policy)
    alone = max((hops for *_, hops in furthest(policy, least=1)), default=0)
    assert longest == (max(alone, together[1]) if together else alone)
    for x, y in combinations(truth.cells, 2):
        assert policy.distance(policy.domain.record(x), policy.domain.record(y)) == truth.steps(x, y)


def test_the_worst_pair_need_not_be_the_ends():
    """Values in the middle: no sentence may take the ends of an attribute for the pair that loses most."""
    domain = bp.Domain(a=bp.Integer(0, 40))
    session = bp.Session(bp.Counts([1] * 41), bp.Policy(domain, secrets=bp.DistanceThreshold(1)), budget=10)
    plan = session.plan(bp.Linear(lambda a: min(a, 40 - a), attributes=["a"]), epsilon=1)
    said = "“a” 0 and 20 are 20 steps apart, so the odds between them may change by a factor up to 4.9 x 10^8 after"
    assert said in plan.explain()
    session.release(plan)
    assert said in " ".join(ProductLoss(read_product(session.ledger)).far.unprotected("it"))


def test_a_whole_record_has_lost_what_the_worst_pair_has():
    domain = bp.Domain(a=bp.Integer(0, 4))
    session = bp.Session(
        bp.Counts([1] * 5),
        bp.Policy(domain, secrets=bp.DistanceThreshold(1)),
        budget={"rho": 10},
    )
    session.release(bp.Linear(lambda a: [0, 1, 2, 1, 0][a], attributes=["a"]), rho="1/2", mechanism="gaussian")
    found = lost_on_whole_record(session.ledger)
    assert (found.steps, [each.amount for each in found.lost]) == (4, [2])


def test_some_records_alone_lose_more_than_the_ends_do():
    domain = bp.Domain(age=bp.Integer(0, 3), region=bp.Categorical(["N", "S"]))
    policy = bp.Policy(domain, secrets=bp.Attributes())
    session = bp.Session(bp.Counts(np.ones((4, 2), dtype=int)), policy, budget={"rho": 10})
    session.release(bp.Histogram("age").where(region=["S"]), rho="1/2", mechanism="gaussian")
    found = lost_on_whole_record(session.ledger)
    assert max(each.amount for each in found.lost) >= Fraction(1, 2)


def test_a_full_domain_is_claimed_only_where_it_is_certified():
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["F", "M"]), region=bp.Categorical(["N", "S"]))
    tables = bp.Tables([["age"], ["sex"], ["region"]])
    counts = bp.Counts(np.ones(domain.shape, dtype=int))
    for region in (bp.Public(), bp.FullDomain()):
        secrets = bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), region=region)
        session = bp.Session(counts, bp.Policy(domain, secrets=secrets), budget={"rho": 10})
        for plan in (session.plan(tables, epsilon=1, mechanism="marginals"), session.plan(tables, rho="1/10")):
            exact, said = region == bp.Public(), plan.explain()
            assert ("Published exactly in it: the table of “region”" in said) == exact
            assert (full_domain(plan) is None) == exact
            assert ("a person's whole record, the same noise keeps" in said) == (not exact)
        # What is kept beside the exact table is named as what it is.
        assert ("all that is secret about a person, the same noise keeps rho" in said) == exact
    # Of some records only, it may be public which these are.
    some = session.plan(tables.where(region=["N"]), epsilon=1, mechanism="marginals")
    assert full_domain(some) is None
    assert "whole record" not in some.explain()


@pytest.mark.parametrize(("theta", "shape"), [(1, (4, 3)), (2, (5, 4)), (3, (6, 5))])
def test_a_ledger_of_flows_states_no_less_than_any_two_cells_lose(theta, shape):
    domain = bp.Domain(lat=bp.Integer(0, shape[0] - 1), lon=bp.Integer(0, shape[1] - 1))
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(theta, scale={"lat": 1, "lon": 1}))
    session = bp.Session(bp.Counts(np.full(shape, 5)), policy, budget={"rho": 9})
    grid = bp.RangeGrid("lat", "lon")
    plans = [session.plan(grid, rho="1/2", mechanism="gaussian-flow"), session.plan(grid, rho="1/4")]
    for plan in plans:
        session.release(plan)
    whole = lost_on_whole_record(session.ledger)
    assert whole is not None
    pairs = [(x, y) for x in domain.cells() for y in domain.cells() if x != y]
    worst = max(sum(plan.mechanism.loss(x, y) for plan in plans) for x, y in pairs)
    assert worst <= max(each.amount for each in whole.lost) <= worst * Fraction(101, 100)
