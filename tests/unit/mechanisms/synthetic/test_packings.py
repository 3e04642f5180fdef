"""Packings are drawn with exactly the probabilities that enumeration gives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.errors import QueryError
from blowfish_privacy.mechanisms.synthetic import rounds as module
from blowfish_privacy.mechanisms.synthetic.rounds import MOST_ATOMS, draw_one, draw_packing, random_blocks
from blowfish_privacy.noise.choice import Weight, exponential_weight
from blowfish_privacy.testing.seeded import SeededSource
from effort import examples
from packing_law import law_by_branches, packings, probabilities
from unit.noise.chi_square import of_cells
from unit.noise.reference import ScriptedSource

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
