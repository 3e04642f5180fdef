"""The neighbour relation by exhaustion, and why it is not the printed one [he2014, Definition 4.1]."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

import blowfish_privacy as bp
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.strategies import policies
from effort import examples


def line(size, edges, known=(), **options):
    domain = bp.Domain(v=bp.Integer(0, size - 1))
    return bp.Policy(domain, secrets=bp.ExplicitGraph(edges), known=known, **options)


def histogram(policy):
    cells = list(policy.domain.cells())
    return lambda cell: [int(cell == other) for other in cells]


# The printed definition: T is the set of secret moves made, Delta the set of records that differ; neighbours need T
# not empty, and no D3 that satisfies the facts with T(D1, D3) strictly inside T(D1, D2), or with equal T and Delta
# strictly inside. `repaired` leaves out D3 = D1, which otherwise always fires: its T is empty.
def moves(policy, first, second):
    pairs = enumerate(zip(first, second, strict=True))
    return frozenset((i, x, y) for i, (x, y) in pairs if x != y and oracle.is_secret_move(policy, x, y))


def difference(first, second):
    return frozenset((i, x) for d in (set(enumerate(first)) ^ set(enumerate(second)),) for i, x in d)


def printed_neighbours(policy, first, second, *, repaired):
    made = moves(policy, first, second)
    if not made:
        return False
    for third in all_databases(policy, len(first)):
        other = moves(policy, first, third)
        if repaired and third == first:
            continue
        if other < made or (other == made and difference(third, first) < difference(second, first)):
            return False
    return True


def all_databases(policy, size):
    return [d for d in product(policy.domain.cells(), repeat=size) if oracle.satisfies(policy, d)]


def test_as_printed_nothing_is_ever_a_neighbour():
    policy = line(3, [(0, 1), (1, 2)])
    databases = all_databases(policy, 2)
    assert not any(printed_neighbours(policy, a, b, repaired=False) for a in databases for b in databases)
    assert any(printed_neighbours(policy, a, b, repaired=True) for a in databases for b in databases)


def test_the_obvious_repair_is_not_symmetric():
    # Values {0, 1, 2}, secret pairs 0-1 and 0-2, two records, known: one record has 1. From (0, 1) the database (1, 2)
    # is a neighbour: T is both moves, and no other database makes fewer. From (1, 2) the other way, (1, 0) makes only
    # the second move of the two, so (0, 1) is no neighbour.
    policy = line(3, [(0, 1), (0, 2)], [bp.KnownCount(where={"v": 1}, count=1)])
    first, second = ((0,), (1,)), ((1,), (2,))
    assert printed_neighbours(policy, first, second, repaired=True)
    assert not printed_neighbours(policy, second, first, repaired=True)
    assert oracle.are_neighbours(policy, first, second)
    assert oracle.are_neighbours(policy, second, first)


def test_the_obvious_repair_can_leave_a_secret_pair_without_any_protection():
    # Values {0, 1, 2}, two records, the only secret pair 1-2, known: one record in {0, 2}. In (2, 1) and (1, 2) each
    # person's secret differs, yet under the repaired definition no two databases are neighbours at all: from each one
    # another can be reached by a move that is not secret (0 to 2), and that empty T is inside every other. A mechanism
    # that prints the whole table would pass.
    policy = line(3, [(1, 2)], [bp.KnownCount(where={"v": [0, 2]}, count=1)])
    databases = all_databases(policy, 2)
    assert len(databases) == 4
    assert not any(printed_neighbours(policy, a, b, repaired=True) for a, b in product(databases, repeat=2))
    assert oracle.are_neighbours(policy, ((2,), (1,)), ((1,), (2,)))


@given(policies(most_cells=4, most_attributes=2, most_facts=2))
@settings(max_examples=examples(60), deadline=None)
def test_the_relation_is_symmetric(policy):
    size = 3
    for first, second in oracle.neighbours(policy, size):
        assert oracle.are_neighbours(policy, second, first)


@given(policies(most_cells=5, most_attributes=2))
@settings(max_examples=examples(60), deadline=None)
def test_without_known_facts_one_record_moves_along_one_edge(policy):
    for first, second in oracle.neighbours(policy, 2):
        changed = [(x, y) for x, y in zip(first, second, strict=True) if x != y]
        assert len(changed) == 1
        assert policy.graph.adjacent(*changed[0])


@given(policies(most_cells=4, most_attributes=2, most_facts=2))
@settings(max_examples=examples(60), deadline=None)
def test_secret_moves_are_among_the_compensated_ones(policy):
    import dataclasses
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = dataclasses.replace(policy, compensation="anywhere")
        narrow = dataclasses.replace(policy, compensation="secret-moves")
    assert set(oracle.neighbours(narrow, 3)) <= set(oracle.neighbours(default, 3))


@pytest.mark.parametrize(
    ("policy", "size", "value"),
    [
        # One record moves: two cells change by one each.
        (line(3, [(0, 1)]), 2, 2),
        # Known count of {0}: a move 0 -> 1 is balanced by another record's move into 0.
        (line(2, [(0, 1)], [bp.KnownMarginal("v")]), 3, 0),
        # Values {1, 2, 3} with the box {1, 2} and theta 1: 1-2 inside the box moves alone; 2-3 across needs a record
        # from 3 into the box, and 2 -> 3 with 3 -> 1 moves two cells.
        (line(3, [(0, 1), (1, 2)], [bp.KnownCount(where={"v": [0, 1]})]), 3, 2),
    ],
)
def test_histogram_sensitivity_by_exhaustion(policy, size, value):
    assert oracle.linear_sensitivity(policy, size, histogram(policy)).value == value


def test_the_example_of_the_paper_with_its_witness():
    # A1, A2 of size 2, A3 of size 3, the marginal on A1 A2 known, full domain: four records move in a cycle: 8.
    domain = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1), c=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("a", "b")])
    # (Two values of A3 are enough for the value 8, and keep the search small.)
    first = tuple((i, j, 0) for i in range(2) for j in range(2))
    second = ((0, 1, 1), (1, 1, 1), (0, 0, 1), (1, 0, 1))
    assert oracle.are_neighbours(policy, first, second)
    moved = sum(abs(first.count(c) - second.count(c)) for c in domain.cells())
    assert moved == 8


def test_an_unknown_size_lets_records_come_and_go():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 2)), secrets=bp.DistanceThreshold(1), size="unknown")
    assert oracle.linear_sensitivity(policy, 2, lambda cell: [1]).value == 1
    # THEORY: the cumulative histogram's sensitivity becomes |T| = 3.
    cumulative = lambda cell: [int(cell[0] <= i) for i in range(3)]  # noqa: E731
    assert oracle.linear_sensitivity(policy, 2, cumulative).value == 3


def test_several_rows_of_one_person_move_together():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 3)), secrets=bp.DistanceThreshold(2), rows_per_person=2)
    assert oracle.linear_sensitivity(policy, 3, lambda cell: [cell[0]]).value == 4
