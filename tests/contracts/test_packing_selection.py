"""What a packing tells about one secret pair, on every table of a small domain.

The normaliser of the law is the same for all packings, so how far the losses of two packings can be apart is a
rational number: the coefficient times the range of the changes of their scores. Nothing is estimated.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from packing_law import packings, probabilities

SHAPE = (2, 2, 2, 2)
CLIQUES = [*combinations(range(4), 2), *combinations(range(4), 3)]
MASKS = [sum(1 << axis for axis in clique) for clique in CLIQUES]
RECORDS = 2
WEIGHT, COEFFICIENT = 7, Fraction(1, 10)
BOUND = 4 * COEFFICIENT * WEIGHT
ORDERS = [Fraction(3, 2), 2, 3, 8, 64]


@cache
def cells_of(clique):
    return [*product(*(range(SHAPE[axis]) for axis in clique))]


def scores_of(table, models, factor=1):
    """Score every clique by how far its counts are from the model's, in whole numbers."""
    return [
        WEIGHT
        * factor
        * sum(
            abs(sum(tuple(record[axis] for axis in clique) == cell for record in table) - model[cell])
            for cell in cells_of(clique)
        )
        for clique, model in zip(CLIQUES, models, strict=True)
    ]


def model_tables(expected):
    return [
        dict(zip(cells_of(clique), numbers, strict=False)) for clique, numbers in zip(CLIQUES, expected, strict=True)
    ]


MODELS = st.lists(st.lists(st.integers(0, RECORDS), min_size=8, max_size=8), min_size=10, max_size=10).map(model_tables)
AT_THE_CORNERS = model_tables([[1, 0, 0, 1, 0, 0, 0, 0]] * len(CLIQUES))


def changes(models, axes_changed, factor=1):
    """Every table with one record moved: the scores before and after."""
    records = [*product(*map(range, SHAPE))]
    for first in combinations_with_replacement(records, RECORDS):
        for place, axes in product(range(RECORDS), axes_changed):
            moved = tuple(1 - v if axis in axes else v for axis, v in enumerate(first[place]))
            second = (*first[:place], moved, *first[place + 1 :])
            yield scores_of(first, models, factor), scores_of(second, models, factor)


def loss_range(before, after, sets):
    differences = [y - x for x, y in zip(before, after, strict=True)]
    totals = [sum(differences[index] for index in each) for each in sets]
    return COEFFICIENT * (max(totals) - min(totals))


ONE_ATTRIBUTE = [(axis,) for axis in range(4)]
WHOLE_RECORD = [(0, 1, 2, 3)]
PACKINGS = [*packings([(mask, 0) for mask in MASKS])]
ANY_PAIR_OF_CLIQUES = [(), *combinations(range(len(MASKS)), 1), *combinations(range(len(MASKS)), 2)]


@settings(deadline=None, max_examples=examples(5))
@given(models=MODELS)
def test_a_packing_ranges_no_further_than_one_table(models):
    assert max(loss_range(*pair, PACKINGS) for pair in changes(models, ONE_ATTRIBUTE)) <= BOUND


def test_the_bound_is_attained():
    assert max(loss_range(*pair, PACKINGS) for pair in changes(AT_THE_CORNERS, ONE_ATTRIBUTE)) == BOUND


@pytest.mark.parametrize(
    ("mistake", "sets", "factor"),
    [("an attribute in two cliques of a packing", ANY_PAIR_OF_CLIQUES, 1), ("scores times records", PACKINGS, RECORDS)],
)
def test_mistakes_exceed_the_bound(mistake, sets, factor):
    assert max(loss_range(*pair, sets) for pair in changes(AT_THE_CORNERS, ONE_ATTRIBUTE, factor)) > BOUND, mistake


def test_a_whole_record_is_told_apart_by_all_cliques_of_a_packing():
    """Where one secret pair changes every attribute, the cliques of a packing add up: (01)(23) against (02)(13)."""
    at_zeros, at_ones = [RECORDS, *[0] * 7], [0, 0, 0, RECORDS, *[0] * 4]
    models = model_tables([at_zeros if clique in {(0, 1), (2, 3)} else at_ones for clique in CLIQUES])
    assert max(loss_range(*pair, PACKINGS) for pair in changes(models, WHOLE_RECORD)) == 2 * BOUND
    assert max(loss_range(*pair, PACKINGS) for pair in changes(models, ONE_ATTRIBUTE)) <= BOUND


def renyi_divergence(before, after, order):
    """D_order between the laws of packings, in decimals."""
    first, second = (probabilities([*zip(MASKS, scores, strict=True)], COEFFICIENT) for scores in (before, after))
    with localcontext() as context:
        context.prec = 60
        power = Decimal(Fraction(order).numerator) / Fraction(order).denominator
        terms = (_power(first[each], power) * _power(second[each], 1 - power) for each in first)
        return Fraction(sum(terms, Decimal(0)).ln() / (power - 1))


def _power(number, power):
    return (Decimal(number.numerator) / number.denominator) ** power


def widest_pairs(factor=1):
    pairs = sorted(changes(AT_THE_CORNERS, ONE_ATTRIBUTE, factor), key=lambda pair: -loss_range(*pair, PACKINGS))
    return pairs[:12]


@pytest.mark.parametrize("order", ORDERS)
def test_divergences_of_all_orders_are_within_an_eighth_of_the_squared_range(order):
    worst = max(renyi_divergence(*pair, order) for pair in widest_pairs())
    assert 0 < worst <= order * BOUND**2 / 8


def test_the_divergence_of_a_score_scaled_by_the_records_is_not():
    assert max(renyi_divergence(*pair, 2) for pair in widest_pairs(factor=3)) > 2 * BOUND**2 / 8


def test_no_packing_is_more_than_the_range_more_likely():
    for before, after in widest_pairs():
        first, second = (probabilities([*zip(MASKS, scores, strict=True)], COEFFICIENT) for scores in (before, after))
        ratios = [float(first[each] / second[each]) for each in first]
        assert max(ratios) <= float(Decimal(float(BOUND)).exp())
        assert min(ratios) >= float(Decimal(-float(BOUND)).exp())
