"""Sensitivities under known facts: the examples of the theory, and exhaustive search on random policies."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_lab.audit.known_facts import Tally, check, instances, report
from blowfish_privacy.known_facts import theorems
from blowfish_privacy.privacy.certificate import Populations
from blowfish_privacy.queries import Selection
from blowfish_privacy.testing import oracle
from blowfish_privacy.testing.oracle import linear_sensitivity, moves_together, neighbours
from blowfish_privacy.testing.strategies import policies
from effort import examples


def histogram(policy):
    return bp.sensitivity(bp.Histogram(*policy.domain.names), policy)


def adjacent_sums(cells, values):
    domain = bp.Domain(cell=bp.Integer(1, cells), value=bp.Integer(1, values))
    known = [bp.KnownCount({"cell": (i, i + 1)}) for i in range(1, cells)]
    return bp.Policy(domain, secrets=bp.FullDomain(), known=known)


def two_boxes(compensation):
    domain = bp.Domain(v=bp.Integer(0, 15))
    known = [bp.KnownCount({"v": (3, 5)}), bp.KnownCount({"v": (9, 11)})]
    return bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=known, compensation=compensation)


def crossing_marginals(compensation, *sizes, secrets=None):
    domain = bp.Domain({f"A{i}": bp.Integer(1, size) for i, size in enumerate(sizes, 1)})
    known = [bp.KnownMarginal("A1"), bp.KnownMarginal("A2")]
    return bp.Policy(domain, secrets=secrets or bp.Attributes(), known=known, compensation=compensation)


def test_the_paper_s_example_with_its_witness():
    domain = bp.Domain(A1=bp.Integer(1, 2), A2=bp.Integer(1, 2), A3=bp.Integer(1, 3))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("A1", "A2")])
    found = histogram(policy)
    assert (found.value, found.exact) == (8, True)
    before, after = found.witness
    tables = [tuple(domain.cell(record) for record in side) for side in (before, after)]
    assert oracle.are_neighbours(policy, *tables)
    counts = Counter(tables[1])
    counts.subtract(tables[0])
    assert sum(map(abs, counts.values())) == 8


def test_a_box_next_to_a_single_value():
    domain = bp.Domain(v=bp.Integer(1, 3))
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=[bp.KnownCount({"v": (1, 2)})])
    assert histogram(policy).value == 2


def test_two_far_boxes_on_a_line():
    anywhere, secret = two_boxes("anywhere"), two_boxes("secret-moves")
    assert (histogram(anywhere).value, histogram(anywhere).exact) == (6, True)
    assert (histogram(secret).value, histogram(secret).exact) == (4, True)
    assert bp.sensitivity(bp.Cumulative("v"), anywhere).value <= 18
    # One record moves along G and two anywhere: far below 1 + 2 x 15 of the simple bound.
    assert bp.sensitivity(bp.Sum("v"), anywhere).value == 15


def test_a_star_of_five_boxes_stays_below_the_printed_equality():
    domain = bp.Domain(x=bp.Integer(0, 20), y=bp.Integer(0, 20))
    boxes = [((9, 11), (9, 11)), ((5, 7), (9, 11)), ((13, 15), (9, 11)), ((9, 11), (5, 7)), ((9, 11), (13, 15))]
    known = [bp.KnownCount({"x": x, "y": y}) for x, y in boxes]
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(2), known=known, compensation="secret-moves")
    assert histogram(policy).value == 8 < 12


def test_two_crossing_marginals():
    assert histogram(crossing_marginals("anywhere", 2, 2, 2)).value == 8
    assert histogram(crossing_marginals("secret-moves", 2, 2, 2)).value == 4
    assert histogram(crossing_marginals("anywhere", 2, 3, 2, secrets=bp.FullDomain())).value == 16
    with pytest.raises(bp.RefusalError, match="each “A1”; how many records have each “A2”") as refused:
        histogram(crossing_marginals("anywhere", 3, 3, 2))
    assert "joint marginal" in str(refused.value)


@pytest.mark.parametrize(("cells", "values", "expected"), [(4, 1, 4), (5, 1, 0), (6, 1, 6), (6, 2, 18), (5, 2, 10)])
def test_adjacent_sums(cells, values, expected):
    found = histogram(adjacent_sums(cells, values))
    assert (found.value, found.exact) == (expected, True)


def test_facts_that_no_secret_pair_crosses_change_nothing():
    domain = bp.Domain(sex=bp.Categorical(["f", "m"]), age=bp.Integer(0, 9))
    secrets = bp.PerAttribute(sex=bp.Public(), age=bp.DistanceThreshold(2))
    plain = bp.Policy(domain, secrets=secrets)
    policy = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("sex")])
    for query in (bp.Histogram("sex", "age"), bp.Cumulative("age"), bp.Sum("age")):
        assert bp.sensitivity(query, policy) == bp.sensitivity(query, plain)


def test_knowing_the_sexes_doubles_the_table_and_not_the_ages():
    domain = bp.Domain(sex=bp.Categorical(["f", "m"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.Attributes(), known=[bp.KnownMarginal("sex")])
    assert bp.sensitivity(bp.Histogram("sex", "age"), policy).value == 4
    ages = bp.sensitivity(bp.Histogram("age"), policy)
    assert (ages.value, ages.exact) == (2, True)
    assert bp.sensitivity(bp.Histogram("sex"), policy).value == 0


@pytest.mark.parametrize("seed", range(4))
def test_agreement_with_exhaustive_search(seed):
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for instance in instances(examples(150), seed):
            check(instance, tally)
    assert tally.wrong == [], report(tally)
    assert sum(tally.exact.values()) > 0.6 * sum(tally.results.values())


def test_the_exhaustive_search_notices_a_class_forgotten(monkeypatch):
    def one_short(self):
        return sum(sorted(int(self._spans[label]) for label in self._head)[1:])

    monkeypatch.setattr(theorems._LargestSpans, "all", one_short)
    monkeypatch.setattr(theorems._LargestSpans, "others", lambda self, source, target: 0)
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for instance in instances(150, 0):
            check(instance, tally)
            if tally.wrong:
                break
    assert tally.wrong


@given(policies(most_cells=4, most_attributes=2, most_facts=3))
@settings(max_examples=examples(60), deadline=None)
def test_sets_of_moves_are_the_neighbours_of_the_definition(policy):
    def net(pairs):
        change = Counter(y for _, y in pairs)
        change.subtract(x for x, _ in pairs)
        return frozenset((cell, count) for cell, count in change.items() if count)

    together = {net(moves) for moves in moves_together(policy, 3)} if policy.known else None
    if together is not None:
        by_definition = {
            net([(x, y) for x, y in zip(first, second, strict=True) if x != y])
            for first, second in neighbours(policy, 3)
        }
        assert together == by_definition


@given(policies(most_cells=5, most_attributes=2, most_facts=3), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_stated_counts_against_all_tables(policy, data):
    if not policy.known:
        return
    cells = [*policy.domain.cells()]
    table = data.draw(st.lists(st.sampled_from(cells), min_size=2, max_size=4))
    known = [_stated(policy.domain, fact, table) for fact in policy.known]
    some = [fact if data.draw(st.booleans()) else plain for fact, plain in zip(known, policy.known, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = replace(policy, known=data.draw(st.sampled_from([known, some])), size=len(table))
    query = bp.Histogram(*policy.domain.names)
    try:
        found = bp.sensitivity(query, policy)
    except bp.RefusalError:
        return
    true = linear_sensitivity(policy, len(table), lambda cell: [int(cell == each) for each in cells])
    assert found.value >= true.value
    if found.exact:
        assert found.value == true.value


def _stated(domain, fact, table):
    counts = [
        sum(all(cell[domain.axis(name)] in subset for name, subset in counted.box.items()) for cell in table)
        for counted in fact.counted(domain)
    ]
    if isinstance(fact, bp.KnownMarginal):
        return bp.KnownMarginal(*fact.attributes, counts=counts)
    return bp.KnownCount(fact.where, count=counts[0])


def test_facts_that_leave_nothing_to_move():
    domain = bp.Domain(v=bp.Integer(1, 4))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("v")])
    found = histogram(policy)
    assert (found.value, found.exact) == (0, True)
    pinned = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"v": 1}, count=5)], size=5)
    assert histogram(pinned).value == 0


def test_classes_without_records_do_not_count():
    domain = bp.Domain(zone=bp.Integer(1, 4), value=bp.Integer(1, 3))
    counts = {1: 10, 2: 0, 3: 7, 4: 0}
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("zone", counts=counts)])
    assert histogram(policy).value == 4
    assert histogram(replace(policy, known=[bp.KnownMarginal("zone")])).value == 8


def test_hundreds_of_duplicates_are_one_fact():
    domain = bp.Domain(v=bp.Integer(0, 999))
    once = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"v": (0, 9)})])
    often = replace(once, known=[bp.KnownCount({"v": (0, 9)})] * 300)
    assert histogram(often) == histogram(once)


def test_large_domains_are_never_enumerated():
    sizes = {"a": 10, "b": 10, "c": 10, "d": 1000, "e": 1000}
    domain = bp.Domain({name: bp.Integer(1, size) for name, size in sizes.items()})
    known = [bp.KnownMarginal("a", "b"), bp.KnownMarginal("a", "b", "c")]
    policy = bp.Policy(domain, secrets=bp.Attributes(), known=known)
    assert histogram(policy).value == 2000
    assert bp.sensitivity(bp.Sum("e"), policy).value == Fraction(999 * 999)


@given(policies(most_cells=6, most_attributes=2, most_facts=2), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_public_groups_never_change_together(policy, data):
    name = data.draw(st.sampled_from(policy.domain.names))
    axis = policy.domain.axis(name)
    try:
        groups = Populations(policy, Selection(by=(name,)))
    except bp.RefusalError as refused:
        assert "no release of a part" in str(refused)
        return
    if policy.known and groups.open:
        for moves in moves_together(policy, 4):
            assert len({cell[axis] for move in moves for cell in move}) == 1


def test_facts_inside_parts_are_not_enough_when_others_may_move_anywhere():
    domain = bp.Domain(zone=bp.Integer(0, 1), ill=bp.Integer(0, 1))
    secrets = bp.PerAttribute(zone=bp.Public(), ill=bp.FullDomain())
    known = [bp.KnownCount({"zone": 0, "ill": 1})]
    policy = bp.Policy(domain, secrets=secrets, known=known)
    with pytest.raises(bp.RefusalError, match="a change in one part of the table may force a change in another"):
        Populations(policy, Selection(by=("zone",)))
    together = [moves for moves in moves_together(policy, 2) if len(moves) == 2]
    assert any({x[0] for x, _ in moves} | {y[0] for _, y in moves} == {0, 1} for moves in together)
    Populations(replace(policy, compensation="secret-moves"), Selection(by=("zone",)))
