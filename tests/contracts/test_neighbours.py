"""The neighbour relation by exhaustion, and why it is not the printed one [he2014, Definition 4.1]."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

import blowfish_privacy as bp
from blowfish_lab.paper.examples import Repair, asymmetric, main, neighbours_of, random_policies, tables
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.strategies import policies
from effort import examples


def line(size, edges, known=(), **options):
    domain = bp.Domain(v=bp.Integer(0, size - 1))
    return bp.Policy(domain, secrets=bp.ExplicitGraph(edges), known=known, **options)


def histogram(policy):
    cells = list(policy.domain.cells())
    return lambda cell: [int(cell == other) for other in cells]


def test_as_printed_nothing_is_ever_a_neighbour():
    policy = line(3, [(0, 1), (1, 2)])
    assert not any(neighbours_of(policy, table, Repair.NONE) for table in tables(policy, 2))
    for repair in (Repair.OTHER_TABLE, Repair.OTHER_MOVES):
        assert any(neighbours_of(policy, table, repair) for table in tables(policy, 2))


def test_the_obvious_repair_is_not_symmetric():
    # Values {0, 1, 2}, secret pairs 0-1 and 0-2, two records, known: one record has 1. From (0, 1) the database (1, 2)
    # is a neighbour: T is both moves, and no other database makes fewer. From (1, 2) the other way, (1, 0) makes only
    # the second move of the two, so (0, 1) is no neighbour.
    policy = line(3, [(0, 1), (0, 2)], [bp.KnownCount(where={"v": 1}, count=1)])
    first, second = ((0,), (1,)), ((1,), (2,))
    assert second in neighbours_of(policy, first, Repair.OTHER_TABLE)
    assert first not in neighbours_of(policy, second, Repair.OTHER_TABLE)
    assert oracle.are_neighbours(policy, first, second)
    assert oracle.are_neighbours(policy, second, first)
    # With the other repair the empty T of (1, 0) forbids nothing: here it is symmetric.
    assert asymmetric(policy, 2, Repair.OTHER_MOVES) is None


def test_the_obvious_repair_can_leave_a_secret_pair_without_any_protection():
    # Values {0, 1, 2}, two records, the only secret pair 1-2, known: one record in {0, 2}. In (2, 1) and (1, 2) each
    # person's secret differs, yet under the repaired definition no two databases are neighbours at all: from each one
    # another can be reached by a move that is not secret (0 to 2), and that empty T is inside every other. A mechanism
    # that prints the whole table would pass.
    policy = line(3, [(1, 2)], [bp.KnownCount(where={"v": [0, 2]}, count=1)])
    assert len(tables(policy, 2)) == 4
    assert not any(neighbours_of(policy, table, Repair.OTHER_TABLE) for table in tables(policy, 2))
    assert oracle.are_neighbours(policy, ((2,), (1,)), ((1,), (2,)))
    # With the other repair every table has a neighbour.
    assert all(neighbours_of(policy, table, Repair.OTHER_MOVES) for table in tables(policy, 2))


def test_the_other_repair_is_not_symmetric_either():
    # Values {0, .., 3}, all pairs secret but 0-3 and 1-3, two records, known: one record has 1 or 3. From (2, 1) the
    # table (1, 0) makes two secret moves, 2 to 1 and 1 to 0, and no table makes one of them and no other. On the way
    # back, from (1, 0), the table (2, 3) makes only the secret move 1 to 2, as 0 to 3 is none: (2, 1) is no neighbour.
    policy = line(4, [(0, 1), (0, 2), (1, 2), (2, 3)], [bp.KnownCount(where={"v": [1, 3]}, count=1)])
    first, second = ((2,), (1,)), ((1,), (0,))
    assert second in neighbours_of(policy, first, Repair.OTHER_MOVES)
    assert first not in neighbours_of(policy, second, Repair.OTHER_MOVES)
    assert oracle.are_neighbours(policy, first, second)
    assert oracle.are_neighbours(policy, second, first)


def test_the_command_counts_policies_under_which_the_repairs_are_not_symmetric():
    done = CliRunner().invoke(main, ["--policies", "60"])
    counted = [*map(int, re.findall(r"under (\d+) of 60 policies", done.output))]
    found = [
        sum(slowly_asymmetric(policy, records, repair) for policy, records in random_policies(60, seed=1))
        for repair in (Repair.OTHER_TABLE, Repair.OTHER_MOVES)
    ]
    assert counted == found
    assert found[0] > found[1] > 0


def slowly_asymmetric(policy, records, repair):
    """Compare all pairs of tables, record by record: what the command does with fewer tables and grouped moves."""
    every = tables(policy, records)
    near = {first: {second for second in every if printed(policy, every, first, second, repair)} for first in every}
    return any(first not in near[second] for first in every for second in near[first])


def printed(policy, every, first, second, repair):
    secret = secret_moves(policy, first, second)
    if not secret:
        return False
    for third in every:
        less = secret_moves(policy, first, third)
        skipped = third == first if repair is Repair.OTHER_TABLE else not less
        if not skipped and less < secret:
            return False
        # A table between the two, that is: each record is as in one of them.
        between = all(z in (x, y) for x, y, z in zip(first, second, third, strict=True))
        if less == secret and between and third != second:
            return False
    return True


def secret_moves(policy, first, second):
    return {(i, y) for i, (x, y) in enumerate(zip(first, second, strict=True)) if policy.graph.adjacent(x, y)}


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
