"""What [he2014] says about known counts and what is true; the entries of docs/errata.md."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import networkx as nx

import blowfish_privacy as bp
from blowfish_lab.paper.examples import Repair, neighbours_of
from blowfish_privacy.known_facts.classes import classes_of, joined_classes
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.testing import oracle


def histogram(policy):
    cells = list(policy.domain.cells())
    return lambda cell: [int(cell == other) for other in cells]


def boxes(size, theta, *spans, compensation="secret-moves"):
    known = [bp.KnownCount(where={"v": span}) for span in spans]
    domain = bp.Domain(v=bp.Integer(0, size - 1))
    return bp.Policy(domain, secrets=bp.DistanceThreshold(theta), known=known, compensation=compensation)


def test_the_theorem_fails_under_the_compensated_relation():
    # Values 0..5, theta = 1, the counts of {0, 1} and of {4, 5} known. Policy graph: v+ - box - v-, twice; 2 max(0, 2)
    # = 4. Yet 1 -> 2 (secret), 3 -> 4, 5 -> 0 keeps both counts, no part of it does, and it changes six cells.
    policy = boxes(6, 1, (0, 1), (4, 5), compensation="anywhere")
    assert policy_graph(policy).bound == 4
    first, second = ((1,), (3,), (5,)), ((2,), (4,), (0,))
    assert oracle.are_neighbours(policy, first, second)
    assert oracle.linear_sensitivity(policy, 3, histogram(policy)).value == 6
    narrow = dataclasses.replace(policy, compensation="secret-moves")
    assert not oracle.are_neighbours(narrow, first, second)
    assert oracle.linear_sensitivity(narrow, 3, histogram(narrow)).value <= 4


def test_the_theorem_fails_under_a_repaired_definition_of_the_paper_too():
    # The same policy. From (0, 2, 5) to (4, 1, 3) the only secret move is 2 -> 1: nothing smaller is not empty, and no
    # table in between keeps the counts. So with D3 such that T(D1, D3) is not empty they are neighbours, both ways.
    known = [bp.KnownCount({"v": (0, 1)}, 1), bp.KnownCount({"v": (4, 5)}, 1)]
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 5)), secrets=bp.DistanceThreshold(1), known=known)
    first, second = ((0,), (2,), (5,)), ((4,), (1,), (3,))
    assert second in neighbours_of(policy, first, Repair.OTHER_MOVES)
    assert first in neighbours_of(policy, second, Repair.OTHER_MOVES)
    changed = sum(abs(first.count(cell) - second.count(cell)) for cell in policy.domain.cells())
    assert changed == 6 > policy_graph(boxes(6, 1, (0, 1), (4, 5))).bound == 4


def star():
    """Five boxes of two values: a centre, and four that touch it but not each other."""
    spans = {"centre": ((3, 3), (2, 3)), "left": ((1, 2), (2, 2)), "right": ((4, 5), (3, 3))}
    spans |= {"below": ((3, 3), (0, 1)), "above": ((3, 3), (4, 5))}
    domain = bp.Domain(x=bp.Integer(0, 6), y=bp.Integer(0, 6))
    known = [bp.KnownCount(where={"x": x, "y": y}) for x, y in spans.values()]
    return bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=known, compensation="secret-moves")


def test_a_star_of_five_boxes_has_sensitivity_8_and_not_12():
    # All five boxes are connected, none is a point: printed 2 (5 + 1) = 12. But a path of boxes visits at most three of
    # a star: out - arm - centre - arm - out, four records.
    policy = star()
    assert policy_graph(policy).bound == 8
    first = ((0, 2), (2, 2), (3, 3), (5, 3))
    second = ((1, 2), (3, 2), (4, 3), (6, 3))
    assert oracle.are_neighbours(policy, first, second)
    assert sum(abs(first.count(c) - second.count(c)) for c in policy.domain.cells()) == 8
    # And no five or six records move together: among all ways to choose the classes they leave and enter, each that
    # keeps all counts has a part that does.
    classes = classes_of(policy.domain, policy.known)
    joined = {(classes.of(x), classes.of(y)) for x, y in policy.graph.edges() if classes.of(x) != classes.of(y)}
    moves = sorted(joined | {(b, a) for a, b in joined})
    assert {(min(pair), max(pair)) for pair in moves} == set(joined_classes(policy.graph, classes).pairs)
    longest = max(many for many in range(1, 7) if any(map(atomic, combinations_with_replacement(moves, many))))
    assert longest == 4


def atomic(moves):
    return balanced(moves) and not any(balanced(part) for n in range(1, len(moves)) for part in combinations(moves, n))


def balanced(moves):
    return sorted(a for a, _ in moves) == sorted(b for _, b in moves)


def test_boxes_that_tile_the_domain_leave_no_outside():
    # Values 0..3, theta = 1, boxes {0, 1} and {2, 3}: printed 2 (2 + 1) = 6. Only 1-2 crosses, and 1 -> 2 is balanced
    # by 2 -> 1 alone, which changes no cell; what is left is one move inside a box.
    policy = boxes(4, 1, (0, 1), (2, 3))
    assert oracle.linear_sensitivity(policy, 4, histogram(policy)).value == 2


def test_a_marginal_of_three_beside_two_values_has_sensitivity_4_and_not_6():
    # A1 of size 3 known, A2 of size 2, attribute secrets: printed 2 size(C) = 6. In a cycle each record keeps its A2;
    # six different cells would need three different values of A2.
    domain = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.Attributes(), known=[bp.KnownMarginal("a")], compensation="secret-moves")
    assert policy_graph(policy).bound == 6
    assert oracle.linear_sensitivity(policy, 3, histogram(policy)).value == 4
    wider = dataclasses.replace(policy, domain=bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 2)))
    first, second = ((0, 0), (1, 1), (2, 2)), ((1, 0), (2, 1), (0, 2))
    assert oracle.are_neighbours(wider, first, second)


def test_the_corollary_forgets_a_record():
    # Values 0..3, theta = 1, the count of {1, 2} known: printed 2 max(1, 1) = 2. 0 -> 1 with 2 -> 3 changes four cells.
    policy = boxes(4, 1, (1, 2))
    assert oracle.linear_sensitivity(policy, 3, histogram(policy)).value == 4


def test_the_policy_graph_of_a_marginal_under_attribute_secrets_is_a_hamming_graph():
    # A secret move changes one attribute, so (0, 0) and (1, 1) are not joined: a square, not a clique of four.
    domain = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1), c=bp.Integer(0, 1), d=bp.Integer(0, 2))
    known = [bp.KnownMarginal("a", "b"), bp.KnownMarginal("d")]
    graph = policy_graph(bp.Policy(domain, secrets=bp.Attributes(), known=known, compensation="secret-moves"))
    square, triangle = nx.cycle_graph([0, 1, 3, 2]), nx.complete_graph([4, 5, 6])
    pairs = {(a, b) for a, b in graph.arcs if a < b}
    assert pairs == {(min(e), max(e)) for e in [*square.edges, *triangle.edges]} | {(7, 8)}
    assert (graph.alpha, graph.xi) == (4, 1)


def test_parallel_composition_with_known_facts_loses_more_than_the_largest_epsilon():
    # Two people, values {0, 1}, full domain, known: one of the two has 0. Person 1 is S_1 and person 2 is S_2; each
    # mechanism reports its person's value, truly with probability 3/4: epsilon = ln 3. Q_1 and Q_2 empty are disjoint
    # and affect nothing, so the theorem's condition holds; yet the two reports together lose ln 9.
    domain = bp.Domain(v=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount(where={"v": 0}, count=1)])
    pairs = list(oracle.neighbours(policy, 2))
    assert len(pairs) == 1
    report = lambda value, said: Fraction(3, 4) if value == (said,) else Fraction(1, 4)  # noqa: E731

    def odds(people):
        return max(
            chance(first, people, said) / chance(second, people, said)
            for pair in pairs
            for first, second in (pair, pair[::-1])
            for said in product((0, 1), repeat=len(people))
        )

    def chance(database, people, said):
        chances = [report(database[person], word) for person, word in zip(people, said, strict=True)]
        return chances[0] if len(chances) == 1 else chances[0] * chances[1]

    assert odds([0]) == odds([1]) == 3
    assert odds([0, 1]) == 9
