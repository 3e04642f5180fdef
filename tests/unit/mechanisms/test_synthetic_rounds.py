"""Rounds of choosing go on once the model is as large as it may be: with the tables that it holds already."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.errors import PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms import GaussianSynthetic, LaplaceSynthetic
from blowfish_privacy.mechanisms.synthetic import costs, rounds, synthetic
from blowfish_privacy.mechanisms.synthetic import rounds as module
from blowfish_privacy.mechanisms.synthetic.costs import (
    GAUSSIAN,
    LAPLACE,
    Accountant,
    Costs,
    allocated,
    rounded_down,
    rounded_up,
)
from blowfish_privacy.mechanisms.synthetic.model import tables_within
from blowfish_privacy.mechanisms.synthetic.rounds import (
    MOST_ATOMS,
    Look,
    TableChoice,
    decoded,
    draw_one,
    draw_packing,
    encoded,
    random_blocks,
)
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.noise.choice import Weight, exponential_weight
from blowfish_privacy.privacy.loss import ALL, PRESENCE, changing
from blowfish_privacy.testing.oracle import ABSENT, neighbours
from blowfish_privacy.testing.seeded import SeededSource
from blowfish_privacy.testing.strategies import policies
from effort import examples
from packing_law import law_by_branches, packings, probabilities
from pair_classes import class_of
from unit.noise.chi_square import of_cells
from unit.noise.reference import ScriptedSource


def test_a_full_model_still_lets_tables_inside_it_be_chosen(monkeypatch):
    """A packing may make the model larger than the cap of the next round, which grows with what is used."""
    made = []

    class Kept(rounds.Rounds):
        def run(self, exact):
            made.append(self)
            return super().run(exact)

    monkeypatch.setattr(synthetic, "Rounds", Kept)
    domain = bp.Domain({f"a{axis}": bp.Integer(0, 4) for axis in range(6)})
    generator = np.random.default_rng(1)
    first = generator.integers(0, 5, 5000)
    positions = [np.where(generator.random(5000) < 0.5, first, generator.integers(0, 5, 5000)) for _ in range(6)]
    policy = bp.Policy(domain, secrets=bp.Attributes())
    query = bp.Synthetic(list(domain.names))
    mechanism = GaussianSynthetic.calibrated(query, policy, rho=Fraction(1, 2), records=5000)
    mechanism = replace(mechanism, approach=synthetic.TREE)
    mechanism.draw(RecordAggregates(domain, positions), SystemSource())
    monkeypatch.setattr(rounds, "MODEL_CELLS", 1)
    tree = made[0]._fit.model.tree
    inside = [axes for axes in mechanism.scope.candidates if tree.home(axes) is not None]
    assert inside
    assert made[0]._to_choose_from({*mechanism.limits}) == inside


def small(kind=GaussianSynthetic, secrets=None, way=synthetic.TREE, **options):
    domain = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1), c=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=secrets or bp.Attributes(), **options)
    query, amount = bp.Synthetic(["a", "b", "c"]), {kind.counted_in.name: Fraction(1)}
    mechanism = kind.calibrated(query, policy, **amount, records=None if "size" in options else 40)
    generator = np.random.default_rng(2)
    positions = [generator.integers(0, size, 40) for size in domain.shape]
    mechanism = replace(mechanism, approach=way)
    return mechanism, mechanism.draw(RecordAggregates(domain, positions), SystemSource())


@pytest.mark.parametrize("way", [synthetic.TREE, synthetic.PAIRS], ids=lambda way: way.name)
@pytest.mark.parametrize("kind", [GaussianSynthetic, LaplaceSynthetic])
def test_steps_that_hide_what_they_cost_are_not_read(kind, way):
    mechanism, numbers = small(kind, way=way)
    steps = mechanism.steps(numbers)
    assert mechanism.fits(numbers)
    assert not mechanism.fits(encoded([]))
    assert not mechanism.fits(encoded([step for step in steps if isinstance(step, TableChoice) or 0 not in step.axes]))
    for place, step in enumerate(steps):
        if isinstance(step, TableChoice):
            for other in (
                TableChoice(Fraction(10**9), (), step.chosen),
                TableChoice(step.coefficient, (0,), ((1, 2),)),
            ):
                assert not mechanism.fits(encoded([*steps[:place], other, *steps[place + 1 :]]))
            twice = TableChoice(step.coefficient, (0, 1, 2), ((0, 1), (1, 2)))
            assert not mechanism.fits(encoded([*steps[:place], twice, *steps[place + 1 :]]))
    unasked = TableChoice(Fraction(1, 10**9), (0,), ())
    if not way.chooses:
        assert not mechanism.fits(encoded([*steps, unasked]))


def test_a_public_number_of_records_certifies_nothing_where_it_is_secret():
    mechanism, _ = small()
    secret = bp.Policy(mechanism.scope.policy.domain, secrets=bp.Attributes(), size="unknown")
    with pytest.raises(bp.PolicyError, match="where it is secret"):
        mechanism.certify(secret)


def test_where_every_attribute_is_known_the_dependence_is_still_measured():
    domain = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.Attributes(), known=[bp.KnownMarginal("a"), bp.KnownMarginal("b")])
    mechanism = GaussianSynthetic.calibrated(bp.Synthetic(["a", "b"]), policy, rho=Fraction(1), records=40)
    certificate = mechanism.certify(policy)
    assert certificate.amount == 1
    assert certificate.sensitivity.value > 0
    positions = [np.arange(40) % 2, np.arange(40) // 20]
    numbers = mechanism.draw(RecordAggregates(domain, positions), SystemSource())
    assert mechanism.fits(numbers)
    assert mechanism.model(numbers, 40).table((0,)).tolist() == pytest.approx([20, 20])
    assert any(each.axes == (0, 1) for each in mechanism.measurements(numbers))


def test_a_level_of_an_attribute_loses_what_the_attribute_does():
    tree = {"North": ["n1", "n2"], "South": ["s1", "s2"]}
    domain = bp.Domain(place=bp.Hierarchy(["state", "county"], tree), sex=bp.Categorical(["F", "M"]))
    policy = bp.Policy(domain, secrets=bp.Attributes())
    query = bp.Synthetic(["place@state", "sex"])
    for kind, both in ((GaussianSynthetic, 4), (LaplaceSynthetic, 2)):
        mechanism = kind.calibrated(query, policy, **{kind.counted_in.name: Fraction(1)}, records=40)
        assert mechanism.loss((0, 0), (1, 0)) == 1
        assert mechanism.loss((0, 0), (1, 1)) == both


# What steps cost, how the rest is shared, and how steps are written: exactly, and never above a limit.


DOMAIN = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 3), c=bp.Integer(0, 1), d=bp.Integer(0, 1))

NOISES = pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def costs_of(secrets, noise, **options):
    return Costs(bp.Policy(DOMAIN, secrets=secrets, **options), DOMAIN, noise)


@NOISES
@given(policy=policies(most_cells=12, most_attributes=3, sizes=("known", "unknown"), most_facts=0))
@settings(max_examples=examples(60), deadline=None)
def test_no_pair_changes_a_table_by_more_than_its_class_pays_for(noise, policy):
    costs = Costs(policy, policy.domain, noise)
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
            lost = (difference**2).sum() / 2 if noise is GAUSSIAN else difference.sum()
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
    for noise in (LAPLACE, GAUSSIAN):
        cost = noise.of_choice(noise.reach_for(amount))
        assert amount * Fraction(999, 1000) <= cost <= amount


def test_the_accountant_takes_no_step_above_a_limit():
    accountant = Accountant({changing("a"): Fraction(1), changing("b"): Fraction(1, 2)})
    accountant.charge({changing("a"): Fraction(1, 2), changing("b"): Fraction(1, 2)})
    with pytest.raises(PolicyError, match="more on the secret pairs that change b"):
        accountant.charge({changing("a"): Fraction(1, 4), changing("b"): Fraction(1, 10**30)})
    # What was refused is not counted, not even in part.
    assert accountant.room[changing("a")] == Fraction(1, 2)
    with pytest.raises(PolicyError):
        accountant.charge({changing("c"): Fraction(1, 10**30)})


@NOISES
@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_shares_stay_within_the_room_of_every_class_and_use_it(noise, data):
    costs = costs_of(bp.Attributes(), noise)
    listed = [axes for many in (1, 2, 3) for axes in combinations(range(4), many)]
    tables = data.draw(st.lists(st.sampled_from(listed), min_size=1, unique=True))
    importance = data.draw(st.lists(st.floats(1e-3, 1e6), min_size=len(tables), max_size=len(tables)))
    rooms = st.fractions(Fraction(1, 10**6), 10)
    room = {pairs: data.draw(rooms) for pairs in costs.classes}
    scales = allocated([costs.weights(axes) for axes in tables], importance, room, noise.power)
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
    assert tables_within((2, 3, 4), [(0, 1, 2)], triples=True) == [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert tables_within((2, 3, 4), [(0,), (2, 1)], triples=True) == [(1, 2)]
    assert tables_within((60_000, 3, 4), [(0, 1, 2)], triples=True) == [(1, 2)]
    assert tables_within((10,) * 60, [tuple(range(4)), *combinations(range(60), 2)], triples=True)[-1] == (1, 2, 3)


# Limits are shared out as far as they go, and as well when the sharing stops early.


CLASSES = [changing(name) for name in "abcd"]

TABLES = st.lists(st.sets(st.sampled_from(CLASSES), min_size=1), min_size=1, max_size=8)


@st.composite
def shares(draw):
    weights = [{pairs: Fraction(2) for pairs in sorted(each, key=CLASSES.index)} for each in draw(TABLES)]
    importance = [draw(st.floats(0.5, 1000)) for _ in weights]
    room = {pairs: draw(st.fractions(Fraction(1, 100), 10, max_denominator=100)) for pairs in CLASSES}
    return weights, importance, room, draw(st.sampled_from([0.5, 1.0]))


@settings(deadline=None, max_examples=60)
@given(case=shares())
def test_no_class_is_overdrawn_and_some_class_of_every_table_is_used_up(case):
    weights, _, room, _ = case
    scales = allocated(*case)
    used = {
        pairs: sum(
            (each[pairs] / scale for each, scale in zip(weights, scales, strict=True) if pairs in each), Fraction(0)
        )
        for pairs in CLASSES
    }
    assert all(used[pairs] <= room[pairs] for pairs in CLASSES)
    assert max(float(used[pairs] / room[pairs]) for pairs in CLASSES) > 0.999


@settings(deadline=None, max_examples=30)
@given(case=shares())
def test_stopping_early_changes_nothing_that_matters(case):
    early = allocated(*case)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(costs, "_SETTLED", -1.0)
        late = allocated(*case)
    assert [float(each) for each in early] == pytest.approx([float(each) for each in late], rel=1e-5)


def test_a_table_of_scale_one_is_not_taken_for_settled():
    (scale,) = allocated([{CLASSES[0]: Fraction(2)}], [2.0], {CLASSES[0]: Fraction(1, 5)}, 1.0)
    assert scale == pytest.approx(10, rel=1e-6)


# Packings are drawn with exactly the probabilities that enumeration gives.


BITS = 300

NARROW = Fraction(1, 2 ** (BITS - 60))


@st.composite
def cases(draw):
    atoms = draw(st.integers(1, 5))
    scores = st.one_of(st.integers(-30, 30), st.integers(-(2**50), 2**50))
    candidates = draw(st.lists(st.tuples(st.integers(1, 2**atoms - 1), scores), max_size=7))
    return atoms, candidates, draw(st.fractions(0, 2, max_denominator=100))


def law(monkeypatch, atoms, candidates, coefficient):
    def draw(choose):
        monkeypatch.setattr(module, "choose", choose)
        return tuple(draw_packing(atoms, candidates, coefficient, ScriptedSource([])))

    return law_by_branches(draw, BITS)


def departures(found, expected):
    """The packings whose enclosed probability does not hold the true one, or not narrowly."""
    tolerance = Fraction(1, 10**100)
    return [
        packing
        for packing in found.keys() | expected.keys()
        if not (
            packing in found
            and packing in expected
            and found[packing][0] - tolerance <= expected[packing] <= found[packing][1] + tolerance
            and found[packing][1] - found[packing][0] < NARROW
        )
    ]


@settings(deadline=None, max_examples=examples(60))
@given(case=cases())
def test_the_law_is_that_of_enumeration(case):
    """Every branch of the drawing function is followed, and its probability enclosed."""
    with pytest.MonkeyPatch.context() as patches:
        assert not departures(law(patches, *case), probabilities(*case[1:]))


DENSE = 4, [(sum(1 << a for a in each), 3 * i - 9) for i, each in enumerate(combinations(range(4), 2))], Fraction(1, 7)


def test_weights_that_are_truncated_are_told_apart(monkeypatch):
    """Floats would be such weights: right to 53 bits, and taken for exact."""

    def truncated(power, bits):
        low, _, exponent = exponential_weight(power, 53)
        return Weight(low << bits - 53, low << bits - 53, exponent + 53 - bits)

    assert not departures(law(monkeypatch, *DENSE), probabilities(*DENSE[1:]))
    monkeypatch.setattr(module, "exponential_weight", truncated)
    assert departures(law(monkeypatch, *DENSE), probabilities(*DENSE[1:]))


def test_an_atom_in_two_candidates_of_one_packing_is_told_apart(monkeypatch):
    """The mistake of asking only whether the lowest atom of a candidate is left."""

    def overlapping(self, left):
        return self._by_lowest.get(left & -left, [])

    candidates = [(0b101, 1), (0b110, 2)]
    assert not departures(law(monkeypatch, 3, candidates, Fraction(1)), probabilities(candidates, Fraction(1)))
    monkeypatch.setattr(module._PackingLaw, "masks_of_lowest", overlapping)
    found = law(monkeypatch, 3, candidates, Fraction(1))
    assert (0, 1) in found
    assert departures(found, probabilities(candidates, Fraction(1)))


@settings(deadline=None, max_examples=examples(100))
@given(case=cases(), seed=st.integers(0, 2**32))
def test_what_is_drawn_is_a_packing(case, seed):
    atoms, candidates, coefficient = case
    drawn = draw_packing(atoms, candidates, coefficient, SeededSource(seed))
    assert drawn == sorted(drawn)
    assert tuple(drawn) in set(packings(candidates))


def test_draws_follow_their_law_and_a_half_more_or_less_is_rejected():
    """Chi-square at 1e-9, 1,500 draws over the 10 packings of four atoms by pairs, through all of the code."""
    atoms, candidates, coefficient = DENSE
    expected = probabilities(candidates, coefficient)

    def p_value(factor, seed):
        source = SeededSource(seed)
        drawn = Counter(tuple(draw_packing(atoms, candidates, factor * coefficient, source)) for _ in range(1500))
        return of_cells(np.array([drawn[each] for each in expected]), np.array([float(p) for p in expected.values()]))

    assert p_value(1, 1) > 1e-9
    assert p_value(Fraction(3, 2), 2) < 1e-9
    assert p_value(Fraction(1, 2), 3) < 1e-9


def test_scores_of_any_size_decide_at_once():
    candidates = [(0b0011, 2**50), (0b1100, -(2**50)), (0b0110, 2**50 - 10**6), (0b1000, 2**50)]
    assert draw_packing(4, candidates, Fraction(1, 10), SeededSource(1)) == [0, 3]
    assert draw_packing(4, [(mask, -(2**50)) for mask, _ in candidates], Fraction(1, 10), SeededSource(1)) == []


def test_without_candidates_nothing_is_drawn_and_no_bit_is_used():
    assert draw_packing(3, [], Fraction(1), ScriptedSource([])) == []


def test_a_coefficient_of_nothing_makes_all_packings_alike():
    expected = probabilities(DENSE[1], Fraction(0))
    assert len(expected) == 10
    assert set(expected.values()) == {Fraction(1, 10)}


@settings(deadline=None, max_examples=examples(50))
@given(scores=st.lists(st.integers(-40, 40), min_size=1, max_size=6), coefficient=st.fractions(0, 1, max_denominator=9))
def test_one_table_is_drawn_by_the_exponential_law(scores, coefficient):
    """One atom in all candidates: a packing that is not empty is one table, with the same odds."""

    def draw(choose):
        patches.setattr(module, "choose", choose)
        return (draw_one(scores, coefficient, ScriptedSource([])),)

    expected = probabilities([(1, score) for score in scores], coefficient)
    some = 1 - expected.pop(())
    with pytest.MonkeyPatch.context() as patches:
        assert not departures(law_by_branches(draw, BITS), {each: p / some for each, p in expected.items()})


@pytest.mark.parametrize(
    ("atoms", "candidates", "coefficient"),
    [
        (2, [(0, 1)], Fraction(1)),
        (2, [(4, 1)], Fraction(1)),
        (2, [(-1, 1)], Fraction(1)),
        (2, [(1, 1)], Fraction(-1)),
        (MOST_ATOMS + 1, [], Fraction(1)),
    ],
)
def test_what_is_no_packing_is_refused_before_a_bit_is_drawn(atoms, candidates, coefficient):
    with pytest.raises(QueryError):
        draw_packing(atoms, candidates, coefficient, ScriptedSource([]))


@given(atoms=st.integers(1, 60), most=st.integers(1, 20), seed=st.integers(0, 2**32))
def test_blocks_are_a_partition_into_as_few_as_possible(atoms, most, seed):
    blocks = random_blocks(atoms, most, SeededSource(seed))
    assert sorted(atom for block in blocks for atom in block) == list(range(atoms))
    assert len(blocks) == -(-atoms // most)
    sizes = [len(block) for block in blocks]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


def test_every_split_into_blocks_has_the_same_probability():
    """Chi-square at 1e-9 over the 90 splits of six atoms, 18,000 draws; a shuffle that swaps any two is rejected."""
    expected = np.full(90, 1 / 90)
    assert factorial(6) // 2**3 == 90

    def counted(split):
        splits = Counter(str(split()) for _ in range(18_000))
        return np.array([*splits.values(), *[0] * (90 - len(splits))])

    source, generator = SeededSource(1), np.random.default_rng(1)

    def naive():
        order = list(range(6))
        for place in range(6):
            other = int(generator.integers(6))
            order[place], order[other] = order[other], order[place]
        return [sorted(order[block::3]) for block in range(3)]

    assert of_cells(counted(lambda: random_blocks(6, 2, source)), expected) > 1e-9
    assert of_cells(counted(naive), expected) < 1e-9
