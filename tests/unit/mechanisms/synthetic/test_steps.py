"""What steps cost, how the rest is shared, and how steps are written: exactly, and never above a limit."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.synthetic.costs import (
    GAUSSIAN,
    LAPLACE,
    Accountant,
    Costs,
    allocated,
    rounded_down,
    rounded_up,
)
from blowfish_privacy.mechanisms.synthetic.model import candidates_for
from blowfish_privacy.mechanisms.synthetic.rounds import Look, TableChoice, decoded, encoded
from blowfish_privacy.privacy.loss import ALL, PRESENCE, changing
from blowfish_privacy.testing.oracle import ABSENT, neighbours
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of

DOMAIN = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 3), c=bp.Integer(0, 1), d=bp.Integer(0, 1))
TARIFFS = pytest.mark.parametrize("tariff", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def costs_of(secrets, tariff, **options):
    return Costs(bp.Policy(DOMAIN, secrets=secrets, **options), DOMAIN, tariff)


@TARIFFS
@given(policy=policies(most_cells=12, most_attributes=3, sizes=("known", "unknown"), most_facts=0))
@settings(max_examples=examples(60), deadline=None)
def test_no_pair_changes_a_table_by_more_than_its_class_pays_for(tariff, policy):
    costs = Costs(policy, policy.domain, tariff)
    ways = range(1, len(policy.domain.names) + 1)
    tables = [axes for many in ways for axes in combinations(range(len(policy.domain.names)), many)]
    for before, after in neighbours(policy, 1):
        pairs = class_of(policy, before[0], after[0])
        for axes in tables:
            counts = [np.zeros([policy.domain.shape[axis] for axis in axes], dtype=int) for _ in range(2)]
            for table, people in zip(counts, (before, after), strict=True):
                for cell in (cell for cell in people if cell != ABSENT):
                    table[tuple(cell[axis] for axis in axes)] += 1
            difference = np.abs(counts[0] - counts[1])
            assert difference.sum() <= costs.changes(axes).get(pairs, 0)
            lost = (difference**2).sum() / 2 if tariff is GAUSSIAN else difference.sum()
            assert lost <= costs.weights(axes).get(pairs, 0)


def test_tables_cost_the_attributes_that_they_hold():
    assert costs_of(bp.Attributes(), LAPLACE).weights((0, 2)) == {changing("a"): 2, changing("c"): 2}
    assert costs_of(bp.Attributes(), GAUSSIAN).weights((1,)) == {changing("b"): 1}
    assert costs_of(bp.FullDomain(), GAUSSIAN).weights((0, 1, 2)) == {ALL: 1}
    public = bp.PerAttribute({"a": bp.Public(), "b": bp.FullDomain(), "c": bp.Public(), "d": bp.Public()})
    assert costs_of(public, LAPLACE).weights((0, 2, 3)) == {}
    assert costs_of(public, LAPLACE).weights((0, 1)) == {changing("b"): 2}
    secret = costs_of(bp.Attributes(), LAPLACE, size="unknown")
    assert secret.weights((0,)) == {changing("a"): 2, PRESENCE: 1}


def test_a_choice_costs_its_range_once_for_every_class():
    laplace, gaussian = costs_of(bp.Attributes(), LAPLACE), costs_of(bp.Attributes(), GAUSSIAN)
    tables = [(0, 1), (0, 2), (1, 2)]
    classes = [changing(name) for name in "abc"]
    assert laplace.of_choice(Fraction(1, 100), tables) == dict.fromkeys(classes, Fraction(4, 100))
    assert gaussian.of_choice(Fraction(1, 100), tables) == dict.fromkeys(classes, Fraction(16, 10_000) / 8)


@pytest.mark.parametrize("amount", [Fraction(1, 10**12), Fraction(1, 3), Fraction(7), Fraction(10**9)])
def test_a_reach_costs_at_most_what_it_may_and_hardly_less(amount):
    for tariff in (LAPLACE, GAUSSIAN):
        cost = tariff.of_choice(tariff.reach_for(amount))
        assert amount * Fraction(999, 1000) <= cost <= amount


def test_the_accountant_takes_no_step_above_a_limit():
    accountant = Accountant({changing("a"): Fraction(1), changing("b"): Fraction(1, 2)})
    accountant.charge({changing("a"): Fraction(1, 2), changing("b"): Fraction(1, 2)})
    assert not accountant.affords({changing("b"): Fraction(1, 10**30)})
    with pytest.raises(PolicyError, match="more on the secret pairs that change b"):
        accountant.charge({changing("a"): Fraction(1, 4), changing("b"): Fraction(1, 10**30)})
    # What was refused is not counted, not even in part.
    assert accountant.room[changing("a")] == Fraction(1, 2)
    with pytest.raises(PolicyError):
        accountant.charge({changing("c"): Fraction(1, 10**30)})


@TARIFFS
@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_shares_stay_within_the_room_of_every_class_and_use_it(tariff, data):
    costs = costs_of(bp.Attributes(), tariff)
    listed = [axes for many in (1, 2, 3) for axes in combinations(range(4), many)]
    tables = data.draw(st.lists(st.sampled_from(listed), min_size=1, unique=True))
    importance = data.draw(st.lists(st.floats(1e-3, 1e6), min_size=len(tables), max_size=len(tables)))
    rooms = st.fractions(Fraction(1, 10**6), 10)
    room = {pairs: data.draw(rooms) for pairs in costs.classes}
    scales = allocated([costs.weights(axes) for axes in tables], importance, room, tariff.power)
    lost = dict.fromkeys(costs.classes, Fraction(0))
    for axes, scale in zip(tables, scales, strict=True):
        for pairs, cost in costs.of_look(axes, scale).items():
            lost[pairs] += cost
    assert all(lost[pairs] <= room[pairs] for pairs in room)
    # Every table has a class that leaves no room for more.
    used = {pairs for pairs in room if lost[pairs] >= room[pairs] * Fraction(9, 10)}
    assert all(used & {*costs.weights(axes)} for axes in tables)


def test_what_matters_more_gets_less_noise():
    costs = costs_of(bp.FullDomain(), GAUSSIAN)
    weights = [costs.weights(axes) for axes in ((0,), (1,), (2,))]
    scales = allocated(weights, [1.0, 8.0, 64.0], {ALL: Fraction(1)}, GAUSSIAN.power)
    # The least sum of w m^(-1/2) has m proportional to w^(2/3): 1, 4, 16, and 21 in all.
    assert [float(1 / scale) for scale in scales] == pytest.approx([1 / 21, 4 / 21, 16 / 21], rel=1e-3)


def test_free_tables_need_no_noise():
    assert allocated([{}, {}], [1.0, 2.0], {ALL: Fraction(1)}, 0.5) == [0, 0]


@given(st.fractions(Fraction(1, 10**15), 10**15))
def test_rounding_is_to_the_safe_side_and_close(number):
    assert number <= rounded_up(number) <= number * (1 + Fraction(1, 2**8))
    assert number * (1 - Fraction(1, 2**8)) <= rounded_down(number) <= number
    assert max(rounded_up(number).denominator, rounded_down(number).denominator) <= 2**60


STEPS = [
    Look((0,), Fraction(7, 8), np.array([3, -1, 5])),
    TableChoice(Fraction(1, 1000), (0, 2), ((0, 2), (1, 3))),
    TableChoice(Fraction(0), (1,)),
    Look((0, 2), Fraction(0), np.array([[1, 2], [3, 4], [5, 6]])),
]


def test_steps_are_read_as_they_were_written():
    read = decoded(encoded(STEPS), DOMAIN.shape)
    assert [type(step) for step in read] == [Look, TableChoice, TableChoice, Look]
    assert (read[0].axes, read[0].scale, read[0].noisy.tolist()) == ((0,), Fraction(7, 8), [3, -1, 5])
    assert (read[1].coefficient, read[1].classes) == (Fraction(1, 1000), (0, 2))
    assert read[1].chosen == ((0, 2), (1, 3))
    assert (read[2].classes, read[2].chosen) == ((1,), ())
    assert read[3].noisy.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert decoded(encoded([]), DOMAIN.shape) == []


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_damaged_steps_are_refused_or_read_as_steps(data):
    numbers = encoded(STEPS)
    place = data.draw(st.integers(0, len(numbers) - 1))
    numbers[place] = data.draw(st.integers(-(2**62), 2**62))
    cut = data.draw(st.integers(0, len(numbers)))
    try:
        assert all(isinstance(step, Look | TableChoice) for step in decoded(numbers[:cut], DOMAIN.shape))
    except SpecError as error:
        assert "damaged" in str(error)


def test_candidates_are_parts_of_the_workload_and_small_enough():
    assert candidates_for((2, 3, 4), [(0, 1, 2)]) == [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert candidates_for((2, 3, 4), [(0,), (2, 1)]) == [(1, 2)]
    assert candidates_for((60_000, 3, 4), [(0, 1, 2)]) == [(1, 2)]
    assert candidates_for((10,) * 60, [tuple(range(4)), *combinations(range(60), 2)])[-1] == (1, 2, 3)
