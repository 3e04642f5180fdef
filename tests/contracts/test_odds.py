"""What neighbours do for an attacker's odds (docs/proofs/odds.md): the lemma, the search, and every step counted."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, permutations, product
from math import factorial, inf, prod

import networkx as nx
import pytest

import blowfish_privacy as bp
from blowfish_lab.audit.known_facts import instances
from blowfish_lab.audit.odds import all_effects, can_be_matched, random_effects
from blowfish_privacy.testing import oracle
from effort import examples


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
