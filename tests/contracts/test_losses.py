"""What is lost on each class of secret pairs, against every pair of small domains."""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter, deque
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import factorial, inf, prod

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_lab.audit.known_facts import instances
from blowfish_lab.audit.odds import all_effects, can_be_matched, random_effects
from blowfish_privacy.ledger.composition import same_policy
from blowfish_privacy.mechanisms import MECHANISMS, Laplace
from blowfish_privacy.privacy.loss import ALL, EVERY, PRESENCE, Loss, changing, classes_met, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate, Measure
from blowfish_privacy.privacy.sensitivity import sensitivity_of
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of


def largest_losses(policy, mechanism, names):
    """The largest loss over all secret pairs of each class, one by one, for one person's rows."""
    axes = [policy.domain.axis(name) for name in names]
    worst: dict = {}

    def meet(pairs, amount):
        worst[pairs] = max(worst.get(pairs, Fraction(0)), policy.rows_per_person * amount)

    for x, y in policy.graph.edges():
        seen = [tuple(cell[axis] for axis in axes) for cell in (x, y)]
        meet(class_of(policy, x, y), mechanism.loss(*seen) if mechanism.scale else Fraction(0))
    if policy.size == "unknown" and mechanism.scale:
        for cell in mechanism.form.domain.cells():
            meet(PRESENCE, mechanism.form.weight(cell) / mechanism.form.unit / mechanism.scale)
    return {pairs: amount for pairs, amount in worst.items() if amount}


def weights(*values):
    return [sum((7 * at + 3) * len(str(value)) for at, value in enumerate(values)), values[-1] == values[0]]


@given(data=st.data(), rows=st.integers(1, 3), size=st.sampled_from(["known", "unknown"]))
@settings(max_examples=examples(300), deadline=None)
def test_each_class_loses_what_its_worst_pair_loses(data, rows, size):
    drawn = data.draw(policies(most_cells=24, most_attributes=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.BlowfishWarning)
        policy = bp.Policy(drawn.domain, secrets=drawn.secrets, rows_per_person=rows, size=size)
    names = data.draw(st.lists(st.sampled_from(policy.domain.names), unique=True, min_size=1))
    query = data.draw(st.sampled_from([bp.Histogram(*names), bp.Linear(weights, attributes=names)]))
    mechanism = Laplace.calibrated(query, policy, epsilon=Fraction(1, 3), records=5)
    certificate = mechanism.certify(policy)
    worst = largest_losses(policy, mechanism, query.attributes)
    assert all(amount <= certificate.loss.on(pairs) for pairs, amount in worst.items())
    assert (
        certificate.epsilon
        == certificate.loss.largest
        == (Fraction(1, 3) if sensitivity_of(mechanism.form, policy).value else 0)
    )
    if policy.graph.homogeneous and certificate.sensitivity.exact:
        assert dict(certificate.loss) == worst


def test_a_release_loses_nothing_on_what_it_does_not_look_at():
    domain = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]), region=bp.Categorical(["N", "S"]))
    policy = bp.Policy(
        domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(3), sex=bp.FullDomain(), region=bp.Public())
    )
    assert classes_met(policy, ["age", "region"]) == (changing("age"),)
    mechanism = Laplace.calibrated(bp.Histogram("age", "region"), policy, epsilon=Fraction(1), records=5)
    assert dict(mechanism.certify(policy).loss) == {changing("age"): 1}
    assert classes_met(bp.Policy(domain, secrets=bp.FullDomain()), ["age"]) == (ALL,)


def test_known_facts_that_secret_pairs_change_leave_one_class():
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["F", "M"]))
    known = [bp.KnownMarginal("sex")]
    assert not one_attribute_at_a_time(bp.Policy(domain, secrets=bp.Attributes(), known=known))
    still = bp.PerAttribute(age=bp.FullDomain(), sex=bp.Public())
    assert one_attribute_at_a_time(bp.Policy(domain, secrets=still, known=known))


def test_losses_add_up_class_by_class_and_steps_by_their_measure():
    first = Loss.of({changing("age"): Fraction(1, 3), PRESENCE: Fraction(1, 2)})
    second = Loss.of({changing("age"): Fraction(1, 6), changing("sex"): Fraction(1), ALL: Fraction(0)})
    together = {changing("age"): Fraction(1, 2), PRESENCE: Fraction(1, 2), changing("sex"): Fraction(1)}
    assert dict(first + second) == together
    assert (first + second).largest == 1
    assert dict(first.over(3)) == {changing("age"): 1, PRESENCE: Fraction(3, 2)}
    assert Loss.of({}).largest == 0
    every = Loss.alike((EVERY,), Fraction(1, 4))
    assert (first + every).on(changing("age")) == Fraction(7, 12)
    assert (first + every).on(changing("wage")) == Fraction(1, 4)
    assert (first + every).largest == Fraction(3, 4)
    assert EPSILON.over(Fraction(1, 3), 6) == 2
    assert EPSILON.words(Fraction(1, 2)) == "epsilon 0.5"
    squared = Loss.of({ALL: Fraction(1, 100)}, RHO)
    assert dict(squared.over(6)) == {ALL: Fraction(36, 100)}
    with pytest.raises(bp.LedgerError, match="do not add up"):
        _ = first + squared
    with pytest.raises(bp.LedgerError, match="already"):
        type("Again", (Measure,), {"name": "epsilon"})
    assert Measure.kinds["epsilon"] is EPSILON


def laplace_divergence(change: Fraction, scale: Fraction, order: float) -> float:
    """The Renyi divergence between discrete Laplace noise and the same noise, moved by so many whole numbers."""
    d, rate = abs(int(change)), 1 / float(scale)
    assert abs(change) == d
    # Below both middles, above both, and between them: logarithms of geometric sums, and one by one.
    outer = [(order - 1) * d * rate, -order * d * rate]
    total = math.fsum(math.exp(each) for each in outer) / -math.expm1(-rate)
    total += math.fsum(math.exp(-rate * (order * k + (1 - order) * (d - k))) for k in range(1, d))
    return (math.log(total) + math.log(math.tanh(rate / 2))) / (order - 1)


def moved_rows(policy):
    """By how much the rows of one person move together, with the attributes in a row, along any secret pairs."""
    steps = [(0,) * len(policy.domain.names)]
    for x, y in policy.graph.edges():
        steps += [tuple(b - a for a, b in zip(*ends, strict=True)) for ends in ((x, y), (y, x))]
    return [
        [sum(axis) for axis in zip(*rows, strict=True)]
        for rows in combinations_with_replacement(set(steps), policy.rows_per_person)
    ]


def changes(weights, mechanism, moved):
    """By how many units each output of a linear query changes."""
    return [sum(w * by for w, by in zip(each, moved, strict=True)) / mechanism.form.unit for each in weights]


def cost_of(measure, mechanism, moved):
    """What the measure says that a change of the outputs of one release costs."""
    if mechanism.counted_in is RHO:
        return sum((change**2 for change in moved), Fraction(0)) / (2 * mechanism.scale)
    return measure.converted(sum(map(abs, moved)) / mechanism.scale, EPSILON)


def divergence(order, mechanism, moved):
    """The Renyi divergence of the order between the outputs of one release, by the probabilities of its noise."""
    if mechanism.counted_in is RHO:
        return float(order * cost_of(RHO, mechanism, moved))
    return math.fsum(laplace_divergence(change, mechanism.scale, float(order)) for change in moved if change)


def planned(weights, policy, kind, amount):
    query = bp.Linear(
        lambda *row: [sum(w * x for w, x in zip(each, row, strict=True)) for each in weights],
        attributes=policy.domain.names,
    )
    return MECHANISMS[kind].calibrated(query, policy, records=5, **{MECHANISMS[kind].counted_in.name: amount})


def check_rows(policy, releases, measure, orders):
    """Compare what is charged with what every neighbour loses; return the largest share of it that one loses."""
    price = same_policy(policy)
    charged = Loss.total((price.charged(each.certify(policy).loss, measure) for _, each in releases), measure).largest
    shares = [Fraction(0)]
    for moved in moved_rows(policy):
        outputs = [(mechanism, changes(weights, mechanism, moved)) for weights, mechanism in releases]
        lost = sum(cost_of(measure, *each) for each in outputs)
        assert lost <= charged
        shares.append(lost / charged if charged else Fraction(0))
        for order in orders:
            assert sum(divergence(order, *each) for each in outputs) <= float(order * charged) * (1 + 1e-9)
    return max(shares)


PROMISE = Approximate.of(Fraction(1), Fraction("1e-9"))


def test_two_rows_that_change_different_attributes_cost_no_more_than_is_charged():
    """3 x + y and x + 3 y at 3 / order: each loses 3 / order on one attribute and 1 / order on the other.

    One row that changes x and one that changes y lose 2 / order of both releases, which costs 4 / order^2, while class
    by class the smaller bound of each is 3 / order^2 + 1 / (2 order^2).
    """
    domain = bp.Domain(x=bp.Integer(0, 1), y=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.Attributes(), rows_per_person=2)
    weights = [[[3, 1]], [[1, 3]]]
    releases = [(each, planned(each, policy, "laplace", 3 / PROMISE.order)) for each in weights]
    assert check_rows(policy, releases, PROMISE, [PROMISE.order]) == 1
    one = bp.Policy(domain, secrets=bp.Attributes())
    loss = planned(weights[0], one, "laplace", 3 / PROMISE.order).certify(one).loss
    # With one row per person each class still costs the smaller of both bounds.
    square = 1 / (2 * PROMISE.order**2)
    assert dict(same_policy(one).charged(loss, PROMISE)) == {changing("x"): 6 * square, changing("y"): square}


@given(
    data=st.data(),
    rows=st.integers(1, 3),
    measure=st.sampled_from(
        [RHO, PROMISE, Approximate.of(Fraction(3), Fraction(1, 100)), Approximate.of(Fraction(1, 5), Fraction("1e-6"))]
    ),
)
@settings(max_examples=examples(50), deadline=None)
def test_rows_of_a_person_together_lose_no_more_than_is_charged(data, rows, measure):
    names = "xyz"[: data.draw(st.integers(2, 3))]
    domain = bp.Domain(**{name: bp.Integer(0, data.draw(st.integers(1, 2))) for name in names})
    policy = bp.Policy(domain, secrets=bp.Attributes(), rows_per_person=rows)
    row = st.lists(st.integers(-4, 4), min_size=len(names), max_size=len(names)).filter(any)
    linear = st.lists(row, min_size=1, max_size=2)
    order = measure.order if isinstance(measure, Approximate) else Fraction(10)
    pure = st.integers(1, 16).map(lambda part: Fraction(part, 4) / order)
    releases = []
    for kind in data.draw(st.lists(st.sampled_from(["laplace", "laplace", "gaussian"]), min_size=1, max_size=3)):
        amount = data.draw(pure if kind == "laplace" else st.integers(1, 9).map(lambda part: part / order**2))
        weights = data.draw(linear)
        # The same with the attributes in another order, so that no class loses more than the others.
        for each in {tuple(map(tuple, weights)), tuple(tuple(row[::-1]) for row in weights)}:
            releases.append((each, planned(each, policy, kind, amount)))
    check_rows(policy, releases, measure, [Fraction(3, 2), Fraction(4), Fraction(40)] if measure is RHO else [order])


# What neighbours do for an attacker's odds (docs/proofs/odds.md): the lemma, the search, and every step counted.


def balanced_orientations(edges):
    """Direct every edge so that as many enter each vertex as leave it."""
    for turned in product((False, True), repeat=len(edges)):
        arcs = [(b, a) if turn else (a, b) for turn, (a, b) in zip(turned, edges, strict=True)]
        if Counter(a for a, _ in arcs) == Counter(b for _, b in arcs):
            yield arcs


def ways_through(arcs):
    """Join at every vertex each arc that enters to one that leaves, in every way."""
    vertices = sorted({a for a, _ in arcs})
    enter = {v: [e for e, (_, b) in enumerate(arcs) if b == v] for v in vertices}
    leave = {v: [e for e, (a, _) in enumerate(arcs) if a == v] for v in vertices}
    for chosen in product(*(permutations(leave[v]) for v in vertices)):
        yield {e: f for v, order in zip(vertices, chosen, strict=True) for e, f in zip(enter[v], order, strict=True)}


def without_loops(arcs, way):
    """Follow a way from arc 0 until it closes, and leave out every loop, in the order in which they close."""
    kept, arc = [], way[0]
    while arc != 0:
        kept.append(arc)
        back = [place for place, e in enumerate(kept) if arcs[e][0] == arcs[arc][1]]
        del kept[back[0] if back else len(kept) :]
        arc = way[arc]
    return frozenset([0, *kept])


def turn(arcs, cycle):
    return tuple((b, a) if e in cycle else (a, b) for e, (a, b) in enumerate(arcs))


@pytest.mark.parametrize(("vertices", "most"), [(2, 6), (3, 7), (4, 6)])
def test_ways_without_loops_match_the_orientations_of_an_edge(vertices, most):
    pairs = [(a, b) for a in range(vertices) for b in range(a + 1, vertices)]
    for size in range(2, most + 1):
        for rest in combinations_with_replacement(pairs, size - 1):
            edges = [(0, 1), *rest]
            weight = Counter()
            for arcs in balanced_orientations(edges):
                for way in ways_through(arcs) if arcs[0] == (0, 1) else ():
                    cycle = without_loops(arcs, way)
                    # A simple cycle: every vertex is left once.
                    assert len({arcs[e][0] for e in cycle}) == len(cycle)
                    weight[turn(arcs, cycle)] += 1
            reached = [tuple(arcs) for arcs in balanced_orientations(edges) if arcs[0] == (1, 0)]
            half = Counter(v for edge in edges for v in edge)
            assert dict(weight) == dict.fromkeys(reached, prod(factorial(n // 2) for n in half.values()))


@pytest.mark.parametrize(("counts", "records"), [(1, 8), (2, 6), (3, 4)])
def test_minimal_changes_match_all_effects_of_few_records(counts, records):
    found = [can_be_matched(effects) for n in range(1, records + 1) for effects in all_effects(counts, n)]
    assert False not in found
    assert True in found


def test_minimal_changes_match_random_effects():
    source = random.Random(14)
    found = [can_be_matched(random_effects(source)) for _ in range(examples(1_000))]
    assert False not in found
    assert found.count(True) > examples(50)


def test_the_search_would_see_a_failure():
    # Without the record that changes alone there is nothing to match it with.
    assert can_be_matched([(1, 0), (0, 1)]) is None
    assert can_be_matched([(1,), (1,), (1,), (1,)]) is True


def tables_by_facts(policy, records):
    """Group all tables by what is known of them."""
    groups = {}
    for table in product(policy.domain.cells(), repeat=records):
        groups.setdefault(tuple(oracle.known_counts(policy, table)), []).append(table)
    return groups.items()


def stated(policy, counts, records):
    """State all counts that are known to be known."""
    left, known = deque(counts), []
    for fact in policy.known:
        own = [left.popleft() for _ in fact.counted(policy.domain)]
        if isinstance(fact, bp.KnownCount):
            known.append(bp.KnownCount(fact.where, own[0]))
        else:
            # Values are numbered from 0 in these domains, so a cell is what its values are.
            counts = dict(zip(fact.projected(policy.domain).cells(), own, strict=True))
            known.append(bp.KnownMarginal(*fact.attributes, counts=counts))
    return replace(policy, known=known, size=records)


def hops_between(policy, tables):
    """Count the neighbours on the shortest chains between tables."""
    beside = {first: [t for t in tables if oracle.are_neighbours(policy, first, t)] for first in tables}
    for first in tables:
        found, queue = {first: 0}, deque([first])
        while queue:
            here = queue.popleft()
            for there in beside[here]:
                if there not in found:
                    found[there] = found[here] + 1
                    queue.append(there)
        yield first, found


def is_held(first, second, hops, steps, source):
    """Say whether what one value of a person makes likely can be carried to what the other does, in so many steps."""
    cells = sorted({cell for table in (*first, *second) for cell in table})
    some = [[{cell: source.choice((0, 1, 1, 5)) for cell in cells} for _ in first[0][1:]] for _ in range(2)]
    return all(carried(first, second, hops, steps, priors) for priors in ([dict.fromkeys(cells, 1)] * 2, *some))


def carried(first, second, hops, steps, priors):
    weights = {t: prod(prior[v] for prior, v in zip(priors, t[1:], strict=False)) for t in {*first, *second}}
    totals = [sum(weights[t] for t in side) for side in (first, second)]
    network = nx.DiGraph()
    for t in first:
        network.add_edge("from", (t, "x"), capacity=weights[t] * totals[1])
        network.add_edges_from(((t, "x"), (u, "y")) for u in second if hops[t].get(u, inf) <= steps)
    for u in second:
        network.add_edge((u, "y"), "to", capacity=weights[u] * totals[0])
    return not all(totals) or nx.maximum_flow_value(network, "from", "to") == totals[0] * totals[1]


@pytest.mark.filterwarnings("ignore::blowfish_privacy.BlowfishWarning")
def test_steps_with_known_facts_hold_the_odds_of_whoever_knows_them():
    """A finite distance d: whatever independent records an attacker expects, d steps carry one value to the other."""
    source, seen = random.Random(1), Counter()
    for instance in instances(examples(80), seed=5):
        policy, cells = instance.policy, list(instance.policy.domain.cells())
        if len(cells) > 4 or policy.compensation != "anywhere":
            continue
        records = policy.size if policy.size in (2, 3) else 3
        policy = replace(policy, size="known")
        for counts, tables in tables_by_facts(policy, records):
            hops = dict(hops_between(policy, tables))
            for told in (policy, stated(policy, counts, records)):
                for x, y in combinations(cells, 2):
                    d = counted(told, x, y)
                    first, second = ([t for t in tables if t[0] == v] for v in (x, y))
                    if d < inf and first and second:
                        assert is_held(first, second, hops, d, source), (told, x, y, d)
                        seen[d, told.known == policy.known] += 1
    assert {d for d, _ in seen} >= {1, 2, 3}
    assert seen[2, True]
    assert seen[2, False]


def counted(policy, x, y):
    return policy.distance(policy.domain.record(x), policy.domain.record(y))


def test_secret_moves_promise_nothing_to_attackers_who_know_less():
    domain = bp.Domain(v=bp.Integer(0, 3))
    for compensation, lost in (("secret-moves", 0), ("anywhere", 2)):
        policy = bp.Policy(
            domain,
            secrets=bp.ExplicitGraph([({"v": 2}, {"v": 3})]),
            known=[bp.KnownCount({"v": 3}, 1)],
            size=2,
            compensation=compensation,
        )
        assert policy.distance({"v": 2}, {"v": 3}) == 1
        # The tables (2, 3) and (3, 0) of an attacker who thinks 2 or 3, and 0 or 3.
        assert bp.sensitivity(bp.Histogram("v"), policy).value == lost
