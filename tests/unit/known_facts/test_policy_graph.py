"""The policy graph and the closed forms, against the definitions and the oracle."""

from __future__ import annotations

import dataclasses
import warnings
from itertools import combinations, combinations_with_replacement

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.results.pictures.figure import png
from blowfish_privacy.results.pictures.policy_graph import _bound, draw_policy_graph
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.oracle import (
    disjoint_boxes_threshold,
    disjoint_marginals_attribute_secrets,
    one_marginal_full_domain,
    sparse_facts,
)
from blowfish_privacy.testing.strategies import domains, policies
from effort import examples

CLOSED_FORMS = (
    one_marginal_full_domain,
    disjoint_marginals_attribute_secrets,
    disjoint_boxes_threshold,
    sparse_facts,
)


def histogram(policy):
    cells = list(policy.domain.cells())
    return lambda cell: [int(cell == other) for other in cells]


def most_change(policy, most):
    """Go through all sets of at most so many secret moves that keep the counts, and of which no part does.

    The databases that hold just the moving records are neighbours, so this is the oracle's sensitivity of the histogram
    under secret-moves for ``most`` records where no count is stated.
    """
    sets = counted_sets(policy)
    moves = [(x, y) for x in policy.domain.cells() for y in policy.domain.cells() if policy.graph.adjacent(x, y)]
    effects = {(x, y): tuple((y in chosen) - (x in chosen) for chosen in sets) for x, y in moves}
    crossing = [move for move in moves if any(effects[move])]
    worst = 2 if len(crossing) < len(moves) else 0
    for many in range(2, most + 1):
        for chosen in combinations_with_replacement(crossing, many):
            if keeps(effects, chosen) and not any(
                keeps(effects, part) for size in range(2, many) for part in combinations(chosen, size)
            ):
                change = {cell: 0 for move in chosen for cell in move}
                for x, y in chosen:
                    change[x] -= 1
                    change[y] += 1
                worst = max(worst, sum(map(abs, change.values())))
    return worst


def keeps(effects, moves):
    return not any(map(sum, zip(*(effects[move] for move in moves), strict=True)))


def secret_moves(domain, secrets, *known):
    return bp.Policy(domain, secrets=secrets, known=known, compensation="secret-moves")


@given(policies(most_cells=5, most_attributes=2, most_facts=2))
@settings(max_examples=examples(40), deadline=None)
def test_counting_moves_agrees_with_the_oracle(policy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = dataclasses.replace(policy, compensation="secret-moves")
    assert most_change(policy, 3) == oracle.linear_sensitivity(policy, 3, histogram(policy)).value


@given(policies(most_cells=8, most_attributes=2, most_facts=3))
@settings(max_examples=examples(120), deadline=None)
def test_the_graph_is_the_one_defined(policy):
    counts = counted_sets(policy)
    arcs, sparse = {("v+", "v-")}, True
    for x, y in policy.graph.edges():
        for before, after in ((x, y), (y, x)):
            lowered = [count for count in counts if before in count and after not in count]
            lifted = [count for count in counts if after in count and before not in count]
            sparse &= len(lowered) <= 1 and len(lifted) <= 1
            if lowered or lifted:
                arcs |= {(a, b) for a in lowered or ["v+"] for b in lifted or ["v-"]}
    graph = nx.DiGraph(list(arcs))
    found = policy_graph(policy)
    assert found.sparse == sparse
    assert found.exact
    assert found.proven
    assert len(found.arcs) == len(arcs)
    assert found.alpha == max(map(len, nx.simple_cycles(graph)), default=0)
    assert found.xi == max(len(path) - 1 for path in nx.all_simple_paths(graph, "v+", "v-"))
    assert found.bound == (2 * max(found.alpha, found.xi) if sparse else None)


def counted_sets(policy):
    """Return the sets of values that known counts count, without the count of everybody, which nothing changes."""
    facts = [counted.box for fact in policy.known for counted in fact.counted(policy.domain)]
    sets = {frozenset(c for c in policy.domain.cells() if inside(policy, box, c)) for box in facts}
    return [chosen for chosen in sets if len(chosen) < policy.domain.size]


def inside(policy, box, cell):
    return all(cell[policy.domain.axis(name)] in chosen for name, chosen in box.items())


@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_no_bound_is_ever_exceeded(data):
    kind = data.draw(
        st.sampled_from([bp.DistanceThreshold, bp.Attributes, bp.FullDomain, bp.Partition, bp.ExplicitGraph])
    )
    policy = data.draw(policies(most_cells=6, most_attributes=2, most_facts=2, kind=kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = dataclasses.replace(policy, compensation="secret-moves")
    truth = most_change(policy, 4)
    bounds = [policy_graph(policy).bound, *(form(policy) for form in CLOSED_FORMS)]
    assert all(bound is None or bound >= truth for bound in bounds)


@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_boxes_on_a_grid_never_exceed_their_closed_form(data):
    domain = bp.Domain(x=bp.Integer(0, 3), y=bp.Integer(0, 1))
    spans = {name: [(a, b) for a in range(domain[name].size) for b in range(a, domain[name].size)] for name in domain}
    where = st.fixed_dictionaries({name: st.sampled_from(spans[name]) for name in domain})
    known = [bp.KnownCount(where=chosen) for chosen in data.draw(st.lists(where, min_size=1, max_size=3))]
    policy = secret_moves(domain, bp.DistanceThreshold(data.draw(st.integers(1, 2))), *known)
    bound = disjoint_boxes_threshold(policy)
    assert (bound is not None) == all(not one & other for one, other in combinations(counted_sets(policy), 2))
    if bound is not None:
        assert bound >= policy_graph(policy).bound >= most_change(policy, 3)


@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_one_marginal_and_full_domain_is_exact(data):
    domain = data.draw(domains(8, 3).filter(lambda domain: domain.size > 1))
    names = data.draw(st.lists(st.sampled_from(domain.names), min_size=1, unique=True))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal(*names)])
    value = one_marginal_full_domain(policy)
    cells = domain.project(names).size
    assert (value is None) == (cells == domain.size)
    if value is not None and cells <= 3:
        assert value == most_change(policy, cells + 1)


def test_the_marginal_must_be_populated():
    domain = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1))
    known = [bp.KnownMarginal("a", counts=[2, 0, 1])]
    # Cell 1 of the marginal is empty: records of the two others exchange places, 4.
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=known)
    assert one_marginal_full_domain(policy) is None
    assert oracle.linear_sensitivity(policy, 3, histogram(policy)).value == 4
    full = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("a", counts=[1, 1, 1])])
    assert one_marginal_full_domain(full) == oracle.linear_sensitivity(full, 3, histogram(full)).value == 6


def test_the_example_of_the_paper():
    # [he2014, Example 8.2]: A1, A2 of size 2, A3 of size 3, the marginal on A1 A2 known, full domain.
    domain = bp.Domain(a=bp.Integer(1, 2), b=bp.Integer(1, 2), c=bp.Integer(1, 3))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("a", "b")])
    graph = policy_graph(policy)
    assert graph.nodes == ("a 1, b 1", "a 1, b 2", "a 2, b 1", "a 2, b 2", "v+", "v-")
    assert graph.arcs == (*((i, j) for i in range(4) for j in range(4) if i != j), (4, 5))
    assert (graph.alpha, graph.xi, graph.bound) == (4, 1, 8)
    assert one_marginal_full_domain(policy) == 8


def test_closed_forms_are_for_secret_moves():
    domain = bp.Domain(v=bp.Integer(0, 5))
    facts = [bp.KnownCount(where={"v": (0, 1)}), bp.KnownCount(where={"v": (4, 5)})]
    anywhere = bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=facts)
    assert [form(anywhere) for form in CLOSED_FORMS] == [None] * 4
    narrow = dataclasses.replace(anywhere, compensation="secret-moves")
    assert disjoint_boxes_threshold(narrow) == 4
    assert sparse_facts(narrow) == 6


@pytest.mark.parametrize(
    ("secrets", "known"),
    [
        (bp.Attributes(), [bp.KnownMarginal("a", "b"), bp.KnownMarginal("b")]),
        (bp.Attributes(), [bp.KnownMarginal("a"), bp.KnownCount(where={"b": 0})]),
        (bp.Attributes(), []),
        (bp.DistanceThreshold(1), [bp.KnownMarginal("a")]),
    ],
)
def test_marginals_must_be_disjoint_and_secrets_those_of_attributes(secrets, known):
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1)), secrets=secrets, known=known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = dataclasses.replace(policy, compensation="secret-moves")
    assert disjoint_marginals_attribute_secrets(policy) is None


def test_counts_said_twice_are_one_node():
    domain = bp.Domain(v=bp.Integer(0, 3))
    facts = [bp.KnownCount(where={"v": 0}), bp.KnownCount(where={"v": [0]}), bp.KnownMarginal("v")]
    assert policy_graph(secret_moves(domain, bp.DistanceThreshold(1), *facts)).counts == 4


@pytest.mark.parametrize("many", [0, 1, 5, 30, 90])
def test_a_picture_of_any_number_of_counts(many):
    known = [bp.KnownCount(where={"v": (3 * place, 3 * place + place % 2)}) for place in range(many)]
    policy = secret_moves(bp.Domain(v=bp.Integer(0, 400), w=bp.Integer(0, 3)), bp.DistanceThreshold(2), *known)
    assert png(draw_policy_graph(policy)).startswith(b"\x89PNG")


def test_names_are_short_and_pictures_say_what_is_not_sparse():
    domain = bp.Domain(v=bp.Integer(0, 9), c=bp.Categorical(list("abcdef")))
    facts = [bp.KnownCount(where={"v": (2, 5), "c": list("abde")}), bp.KnownCount(where={"v": [3, 7, 8], "c": "f"})]
    policy = secret_moves(domain, bp.FullDomain(), *facts, bp.KnownCount(where={"c": list("bcdef")}))
    graph = policy_graph(policy)
    assert graph.nodes[:3] == ("v 2 to 5, c a or b or d or e", "v 3 or 7 to 8, c f", "c b or c or d or e or ..")
    assert not graph.sparse
    assert graph.bound is None
    assert "several counts at once" in _bound(graph, policy)[0]


def test_a_picture_states_the_change_that_the_noise_covers():
    domain = bp.Domain(v=bp.Integer(0, 7), w=bp.Integer(0, 3))
    boxes = [{"v": (0, 1), "w": 3}, {"v": (2, 5), "w": 3}, {"v": (3, 7), "w": 0}]
    facts = [bp.KnownCount(box) for box in boxes]
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=facts)
    graph, noise = policy_graph(policy), sensitivity(bp.Histogram("v", "w"), policy).value
    # Three records that follow secret pairs change six counts; a fourth may have to move along that follows none.
    assert (graph.bound, noise) == (6, 8)
    said = " ".join(_bound(graph, policy))
    assert "a change by at most 8." in said
    assert "at most 6" not in said
    limited = secret_moves(domain, bp.DistanceThreshold(1), *facts)
    assert "the histogram changes by at most 6." in " ".join(_bound(policy_graph(limited), limited))
