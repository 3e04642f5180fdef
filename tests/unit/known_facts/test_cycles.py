"""The heaviest cycle, against going through all cycles."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from itertools import combinations, combinations_with_replacement, pairwise
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.known_facts import cycles
from blowfish_privacy.known_facts import cycles as hubs
from blowfish_privacy.known_facts import cycles as paths
from blowfish_privacy.known_facts.cycles import heaviest_cycle
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.results.pictures.figure import png
from blowfish_privacy.results.pictures.policy_graph import _bound, draw_policy_graph
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.strategies import domains, policies
from effort import examples
from unit.known_facts.paper_forms import (
    disjoint_boxes_threshold,
    disjoint_marginals_attribute_secrets,
    one_marginal_full_domain,
    sparse_facts,
)


@pytest.fixture(params=[13, 4, 1], ids=lambda limit: f"subsets up to {limit}")
def small(request, monkeypatch):
    """Search by subsets only up to so many vertices, so that small graphs exercise the splitting and the solver."""
    for module in (cycles, hubs, paths):
        monkeypatch.setattr(module, "SMALL", request.param)


def weigh(arcs, nodes, ring):
    return sum(arcs[arc] for arc in pairwise((*ring, ring[0]))) + sum(nodes[node] for node in ring)


def by_enumeration(arcs, nodes, longest):
    rings = [ring for ring in nx.simple_cycles(nx.DiGraph(list(arcs))) if len(ring) <= (longest or len(nodes))]
    return max((weigh(arcs, nodes, ring) for ring in rings), default=None)


@st.composite
def digraphs(draw):
    """Graphs of all densities, with a hub next to most vertices or without, arcs both ways or not."""
    size = draw(st.integers(1, 8))
    random = Random(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.1, 0.25, 0.4, 0.7]))
    both, hub = draw(st.booleans()), draw(st.booleans())
    lightest = draw(st.sampled_from([0, 0, 1, -4]))
    arcs = {}
    for a in range(size):
        for b in range(a):
            near = random.random() < (0.9 if hub and b == 0 else density)
            for arc in ((a, b), (b, a)):
                if near and (both or random.random() < 0.7):
                    arcs[arc] = random.randint(lightest, 6)
    nodes = [random.randint(lightest, 5) for _ in range(size)]
    return size, arcs, nodes


@pytest.mark.usefixtures("small")
@given(graph=digraphs(), longest=st.one_of(st.none(), st.none(), st.integers(0, 8)))
@settings(max_examples=examples(150), deadline=None)
def test_the_weight_is_that_of_the_heaviest_cycle(graph, longest):
    size, arcs, nodes = graph
    found = heaviest_cycle(size, arcs, nodes, longest=longest)
    truth = by_enumeration(arcs, nodes, size if longest is None else longest) if longest != 0 else None
    if truth is None:
        assert found is None
        return
    assert found.exact
    assert found.weight == truth == weigh(arcs, nodes, found.nodes)
    assert len(set(found.nodes)) == len(found.nodes) <= (size if longest is None else longest)


@pytest.mark.parametrize("limit", [4, 1])
@given(graph=digraphs())
@settings(max_examples=examples(60), deadline=None)
def test_without_time_or_solver_the_weight_is_a_bound(limit, graph):
    size, arcs, nodes = graph
    truth = by_enumeration(arcs, nodes, size)
    with pytest.MonkeyPatch.context() as patch:
        for module in (cycles, hubs, paths):
            patch.setattr(module, "SMALL", limit)
        hurried = heaviest_cycle(size, arcs, nodes, seconds=0)
        patch.setitem(sys.modules, "ortools.sat.python", None)
        alone = heaviest_cycle(size, arcs, nodes)
    for found in (hurried, alone):
        if truth is not None:
            assert found.weight >= truth
            assert found.exact == (bool(found.nodes) and weigh(arcs, nodes, found.nodes) == found.weight)
            assert found.nodes or not any((b, a) in arcs for a, b in arcs)


def both_ways(pairs):
    return {arc: 0 for a, b in pairs for arc in ((a, b), (b, a))}


def test_a_star_of_five_is_crossed_leaf_centre_leaf():
    # A centre next to four leaves: the longest way round is there and back, 2; with something outside that all of them
    # touch, out - leaf - centre - leaf - out, 4.
    star = [(0, leaf) for leaf in range(1, 5)]
    assert heaviest_cycle(5, both_ways(star), [1] * 5).weight == 2
    assert heaviest_cycle(6, both_ways([*star, *((5, v) for v in range(5))]), [1] * 6).weight == 4


def test_a_long_chain_with_an_outside_needs_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    chain = [*pairwise(range(300)), *((300, v) for v in range(300))]
    found = heaviest_cycle(301, both_ways(chain), [1] * 301)
    assert found.exact
    assert found.weight == 301
    # Three legs of 100 that meet: a path uses two of them.
    legs = [
        (0 if place == 1 else 100 * leg + place - 1, 100 * leg + place) for leg in range(3) for place in range(1, 100)
    ]
    legs += [(400, v) for v in {end for arc in legs for end in arc}]
    found = heaviest_cycle(401, both_ways(legs), [1] * 401)
    assert found.exact
    assert found.weight == 99 + 1 + 99 + 1


def test_blocks_that_meet_in_one_vertex_are_searched_one_by_one():
    # Twelve complete graphs on five vertices in a row, each sharing a vertex with the next, and an outside next to
    # all: the path takes all 49 vertices, and no search ever sees more than six.
    pairs = [(4 * k + a, 4 * k + b) for k in range(12) for a in range(5) for b in range(a)]
    pairs += [(49, v) for v in range(49)]
    found = heaviest_cycle(50, both_ways(pairs), [1] * 50)
    assert found.exact
    assert found.weight == 50


def test_a_dense_part_is_left_to_the_solver():
    # The vertices and edges of a 6 x 5 grid of squares: a cycle through all 30 vertices exists (one side is even).
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 5))
    found = heaviest_cycle(30, both_ways(grid.edges), [1] * 30)
    assert found.exact
    assert found.weight == 30
    # With both sides odd one vertex stays out: the squares are coloured like a chess board.
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))
    assert heaviest_cycle(25, both_ways(grid.edges), [1] * 25).weight == 24
    assert heaviest_cycle(25, both_ways(grid.edges), [1] * 25, longest=9).weight == 8


def test_dense_graphs_need_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    complete, cube = nx.complete_graph(150), nx.hypercube_graph(7)
    for graph in (complete, nx.convert_node_labels_to_integers(cube)):
        found = heaviest_cycle(len(graph), both_ways(graph.edges), [3] * len(graph))
        assert found.exact
        assert found.weight == 3 * len(graph)
        assert weigh(both_ways(graph.edges), [3] * len(graph), found.nodes) == found.weight
        assert len(set(found.nodes)) == len(graph)


def test_large_weights_are_rounded_up():
    huge = 10**30
    arcs = {(0, 1): huge, (1, 0): 1, (1, 2): 7, (2, 1): 7}
    found = heaviest_cycle(3, arcs, [0, 0, 0])
    assert found.nodes in ((0, 1), (1, 0))
    assert huge + 1 <= found.weight <= huge * (1 + 1e-9)


@pytest.mark.parametrize(("size", "arcs", "longest"), [(0, {}, None), (1, {}, None), (3, {(0, 1): 1}, None)])
def test_no_cycle(size, arcs, longest):
    assert heaviest_cycle(size, arcs, [1] * size, longest=longest) is None
    assert heaviest_cycle(2, both_ways([(0, 1)]), [1, 1], longest=1) is None


# The policy graph and the closed forms, against the definitions and the oracle.


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
