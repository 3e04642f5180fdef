"""The heaviest cycle, against going through all cycles."""

from __future__ import annotations

import sys
from itertools import pairwise
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.known_facts import cycles
from blowfish_privacy.known_facts import cycles as hubs
from blowfish_privacy.known_facts import cycles as paths
from blowfish_privacy.known_facts.cycles import heaviest_cycle
from effort import examples


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
