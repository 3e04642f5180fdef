"""What synthetic records tell about every secret pair, step by step, on tables small enough to add up everything.

A run is followed on a neighbouring table, with the noise under which it returns the same: the two transcripts agree, so
that nothing but noisy numbers decided what came next. What each step loses is then computed from probabilities: of
packings by enumeration, of noise by adding up over all its values.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, islice, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.mechanisms.synthetic import rounds
from blowfish_privacy.mechanisms.synthetic.costs import Costs, TableNoise
from blowfish_privacy.mechanisms.synthetic.rounds import Look, Looks, TableChoice, encoded
from blowfish_privacy.mechanisms.synthetic.synthetic import PAIRS, TREE
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.testing.oracle import neighbours
from blowfish_privacy.testing.seeded import SeededSource
from blowfish_privacy.testing.strategies import policies
from divergences import TOLERANCE, renyi_divergence
from effort import examples
from packing_law import packings, probabilities
from pair_classes import class_of
from synthetic_steps import drawing, exact_tables, follow, run, table_of

KINDS = pytest.mark.parametrize("name", ["synthetic", "synthetic-laplace"])

ORDERS = [Fraction(3, 2), Fraction(2), Fraction(8), Fraction(64)]

AMOUNTS = st.sampled_from([Fraction(1, 50), Fraction(1, 3), Fraction(2), Fraction(20)])

RECORDS = 2


def made(name, policy, amount):
    kind = MECHANISMS[name]
    records = None if policy.size == "unknown" else RECORDS
    query = bp.Synthetic(list(policy.domain.names))
    return kind.calibrated(query, policy, **{kind.counted_in.name: amount}, records=records)


def range_of(before, after):
    """How far the losses of two packings can be apart: the normaliser is the same for all."""
    assert [mask for mask, _ in before.candidates] == [mask for mask, _ in after.candidates]
    changes = [y - x for (_, x), (_, y) in zip(before.candidates, after.candidates, strict=True)]
    totals = [sum(changes[index] for index in packing) for packing in packings(before.candidates)]
    return before.coefficient * (max(totals) - min(totals))


def loss_of_selection(before, after, order):
    """The divergence of an order of one choice, or for order None the loss of what was chosen."""
    first, second = (probabilities(each.candidates, each.coefficient) for each in (before, after))
    with localcontext() as context:
        context.prec = 60
        if order is None:
            drawn = tuple(before.drawn)
            return abs(Fraction((_decimal(first[drawn]) / _decimal(second[drawn])).ln()))
        power = _decimal(order)
        terms = (_decimal(p) ** power * _decimal(second[each]) ** (1 - power) for each, p in first.items() if p)
        return Fraction(sum(terms, Decimal(0)).ln() / (power - 1))


def _decimal(number):
    return Decimal(number.numerator) / number.denominator


def losses(mechanism, pairs, before, after, order):
    """What each step loses between two tables that differ along a class of pairs (None: several), and its charges."""
    selections = iter(zip(before.selections, after.selections, strict=True))
    for step in before.steps:
        if isinstance(step, TableChoice):
            pair = next(selections)
            costs = Costs(mechanism.scope.policy, mechanism.domain, mechanism.noise)
            told = {costs.classes[number] for number in step.classes}
            charged = costs.of_choice(step.coefficient, mechanism.scope.candidates)
            reaches = costs.largest(mechanism.scope.candidates)
            assert range_of(*pair) <= 2 * step.coefficient * reaches.get(pairs, 0 if pairs else max(reaches.values()))
            yield loss_of_selection(*pair, order), {each: charged[each] for each in told}
        else:
            change = (before.exact[step.axes] - after.exact[step.axes]).reshape(-1)
            assert step.scale or not change.any(), "a secret without noise"
            changes = [int(each) for each in change if each]
            if order is None:
                lost = sum((abs(each) / step.scale for each in changes), Fraction(0))
            else:
                lost = renyi_divergence([(each, step.scale) for each in changes], order)
            yield lost, mechanism.costs.of_look(step.axes, step.scale) if step.scale else {}


def check(mechanism, policy, pair, before, after):
    """Every step loses at most what its class is charged, and the class at most its limit."""
    (moved,) = {(x, y) for x, y in zip(*pair, strict=True) if x != y}
    pairs = class_of(policy, *moved)
    limit = mechanism.certify(policy).loss.on(pairs)
    orders = ORDERS if mechanism.counted_in is RHO else [None]
    for order in orders:
        factor, total = order or 1, Fraction(0)
        for lost, charged in losses(mechanism, pairs, before, after, order):
            assert lost <= factor * charged.get(pairs, 0) + TOLERANCE
            total += lost
        assert total <= factor * limit + TOLERANCE


def some_neighbours(policy, data):
    """Neighbours that differ in one record, from anywhere among all of them."""
    single = (pair for pair in neighbours(policy, RECORDS) if sum(x != y for x, y in zip(*pair, strict=True)) == 1)
    found = [*islice(single, 3000)]
    assume(found)
    return [found[data.draw(st.integers(0, len(found) - 1))] for _ in range(3)]


@KINDS
@given(policy=policies(most_cells=12, most_attributes=3, sizes=("known", "unknown")), amount=AMOUNTS, data=st.data())
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_step_loses_more_than_its_class_is_charged(name, policy, amount, data):
    try:
        mechanism = replace(made(name, policy, amount), approach=data.draw(st.sampled_from([TREE, TREE, PAIRS])))
    except bp.QueryError:
        assume(condition=False)
    seed = data.draw(st.integers(0, 2**32))
    for pair in some_neighbours(policy, data):
        first, second = (table_of(mechanism, side) for side in pair)
        before = run(mechanism, first, SeededSource(seed))
        after = follow(mechanism, second, SeededSource(seed), before)
        assert np.array_equal(before.numbers, after.numbers)
        assert mechanism.fits(before.numbers)
        check(mechanism, policy, pair, before, after)


@KINDS
@given(policy=policies(most_cells=8, most_attributes=3, most_facts=2), rows=st.integers(1, 2), data=st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
def test_several_records_that_move_lose_no_more_than_the_certificate(name, policy, rows, data):
    """Known facts make records move together; and somebody with two rows moves both, along any two classes."""
    if rows > 1:
        assume(policy.graph.has_edges)
        policy = bp.Policy(policy.domain, secrets=policy.secrets, rows_per_person=rows)
    try:
        mechanism = made(name, policy, Fraction(1))
    except (bp.QueryError, bp.RefusalError):
        assume(condition=False)
    found = [*islice(neighbours(policy, RECORDS), 2000)]
    assume(found)
    amount = mechanism.certify(policy).amount
    for first, second in (found[data.draw(st.integers(0, len(found) - 1))] for _ in range(3)):
        before = run(mechanism, table_of(mechanism, first), SeededSource(1))
        after = follow(mechanism, table_of(mechanism, second), SeededSource(1), before)
        assert np.array_equal(before.numbers, after.numbers)
        assert mechanism.fits(before.numbers)
        for order in ORDERS if mechanism.counted_in is RHO else [None]:
            total = sum((lost for lost, _ in losses(mechanism, None, before, after, order)), Fraction(0))
            assert total <= (order or 1) * amount + TOLERANCE


DOMAIN = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1), c=bp.Integer(0, 2))

POLICY = bp.Policy(DOMAIN, secrets=bp.Attributes())

PAIR = ((0, 0, 0), (1, 1, 1)), ((0, 0, 0), (0, 1, 1))


def exceeds(name, amount=Fraction(20), policy=POLICY, pair=PAIR):
    """Whether some of a few runs is found to lose more than it is charged for."""
    mechanism = made(name, policy, amount)
    first, second = (table_of(mechanism, side) for side in pair)
    for seed in range(10):
        before = run(mechanism, first, SeededSource(seed))
        after = follow(mechanism, second, SeededSource(seed), before)
        fresh = made(name, policy, amount)
        try:
            check(fresh, policy, pair, before, after)
        except AssertionError:
            return True
    return False


@KINDS
def test_without_a_mistake_nothing_is_exceeded(name):
    assert not exceeds(name)


@KINDS
def test_half_the_noise_is_caught(name, monkeypatch):
    """Tables that are thought to change half as much get half the deviation of the noise."""
    mechanism = made(name, POLICY, Fraction(20))
    honest, share = TableNoise.weights, Fraction(1, 4 if mechanism.counted_in is RHO else 2)

    def halved(noise, form, policy):
        weights = honest(noise, form, policy)
        return {pairs: share * weight for pairs, weight in weights.items()} if noise is mechanism.noise else weights

    first, second = (table_of(mechanism, side) for side in PAIR)
    with monkeypatch.context() as patches:
        patches.setattr(TableNoise, "weights", halved)
        weaker = made(name, POLICY, Fraction(20))
        before = run(weaker, first, SeededSource(1))
        after = follow(weaker, second, SeededSource(1), before)
    assert not mechanism.fits(before.numbers)
    with pytest.raises(AssertionError):
        check(mechanism, POLICY, PAIR, before, after)


@KINDS
def test_scores_scaled_by_the_data_are_caught(name, monkeypatch):
    honest = rounds.Rounds._score

    def scaled(self, *given):
        return (1 + int(self.looks.counts[0,].sum())) * honest(self, *given)

    monkeypatch.setattr(rounds.Rounds, "_score", scaled)
    assert exceeds(name)


@KINDS
def test_an_attribute_in_two_tables_of_a_packing_is_caught(name, monkeypatch):
    """The mistake of atoms that have nothing to do with what the tables tell."""
    policy = bp.Policy(bp.Domain({each: bp.Integer(0, 1) for each in "abcd"}), secrets=bp.Attributes())
    pair = ((0, 0, 0, 0), (1, 1, 1, 1)), ((0, 0, 0, 0), (1, 0, 1, 1))
    assert not exceeds(name, policy=policy, pair=pair)

    def any_four(self, tables):
        return [{self.looks.costs.classes[number % 4]} for number in range(len(tables))]

    monkeypatch.setattr(rounds.Rounds, "_atoms", any_four)
    # Measuring an attribute twice in a round would be more than the accountant allows: only the choice is wrong.
    chosen = rounds.Rounds._chosen
    monkeypatch.setattr(rounds.Rounds, "_chosen", lambda self, *given: chosen(self, *given)[:1])
    assert exceeds(name, policy=policy, pair=pair)


@KINDS
def test_a_decision_by_exact_counts_is_caught(name, monkeypatch):
    """Were the noise of a table to depend on its counts, a neighbour would not have returned the same."""
    honest = rounds.Rounds._scale

    def peeking(self, axes, amount):
        return honest(self, axes, amount) * (1 + int(self.looks.counts[axes].reshape(-1)[0]))

    monkeypatch.setattr(rounds.Rounds, "_scale", peeking)
    mechanism = made(name, POLICY, Fraction(2))
    first, second = (table_of(mechanism, side) for side in (((0, 0, 0), (1, 1, 1)), ((0, 0, 0), (0, 0, 0))))
    before = run(mechanism, first, SeededSource(1))
    try:
        after = follow(mechanism, second, SeededSource(1), before)
    except (StopIteration, ValueError):
        return
    assert not np.array_equal(before.numbers, after.numbers)


@KINDS
def test_a_transcript_with_less_noise_than_its_limits_allow_is_not_read(name):
    mechanism = made(name, POLICY, Fraction(2))
    numbers = run(mechanism, table_of(mechanism, PAIR[0]), SeededSource(1)).numbers
    assert mechanism.fits(numbers)
    steps = mechanism.steps(numbers)
    for place, step in enumerate(steps):
        if isinstance(step, Look):
            weaker = Look(step.axes, step.scale / 4, step.noisy)
        else:
            weaker = TableChoice(8 * step.coefficient, step.classes)
        assert not mechanism.fits(encoded([*steps[:place], weaker, *steps[place + 1 :]]))
        if isinstance(step, Look):
            assert not mechanism.fits(encoded([*steps[:place], Look(step.axes, Fraction(0), step.noisy)]))
    assert not mechanism.fits(encoded([*steps, *steps]))
    assert not mechanism.fits(numbers[:-1])
    assert not mechanism.fits(np.array([0, 1, 2, 5, 0]))


@KINDS
def test_every_number_drawn_is_added_to_one_count_as_it_is(name):
    mechanism = made(name, POLICY, Fraction(2))
    drawn, generator = [], np.random.default_rng(1)

    def marked(scale, size, source):
        drawn.append(generator.permutation(size) + 10**6 * (len(drawn) + 1))
        return drawn[-1]

    with drawing(marked):
        found = run(mechanism, table_of(mechanism, PAIR[0]), SeededSource(1))
    looks = [step for step in found.steps if isinstance(step, Look)]
    assert len(looks) == len(drawn) >= 6
    for look, noise in zip(looks, drawn, strict=True):
        assert np.array_equal((look.noisy - found.exact[look.axes]).reshape(-1), noise)


@KINDS
def test_a_document_without_a_limit_for_a_class_certifies_nothing(name):
    mechanism = made(name, POLICY, Fraction(2))
    written = mechanism.to_document()
    read = type(mechanism).from_document(mechanism.scope.query, POLICY, written, RECORDS)
    assert read.certify(POLICY) == mechanism.certify(POLICY)
    for place in range(3):
        fewer = {**written, "limits": [each for number, each in enumerate(written["limits"]) if number != place]}
        with pytest.raises(bp.PolicyError, match="certifies nothing"):
            type(mechanism).from_document(mechanism.scope.query, POLICY, fewer, RECORDS).certify(POLICY)
        none = {**written, "limits": [[kind, attribute, "0"] for kind, attribute, _ in written["limits"]]}
        with pytest.raises(bp.SpecError):
            type(mechanism).from_document(mechanism.scope.query, POLICY, none, RECORDS)


# The joint law of measuring, choosing by what was measured, and measuring what was chosen, added up over all outputs.
#
# Two binary attributes and one round: the counts of both attributes with noise, a choice between their table and
# nothing, and the table. What decides about the choice is enumerated over all values of the first noise that have any
# weight; the theorem about steps that follow each other is not used.


JOINT_DOMAIN = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1))

JOINT_POLICY = bp.Policy(JOINT_DOMAIN, secrets=bp.Attributes())

JOINT_PAIR = ((0, 0), (1, 1)), ((1, 0), (1, 1))

JOINT_AMOUNTS = {"synthetic": Fraction(40, 3), "synthetic-laplace": Fraction(8)}

JOINT_ORDERS = [1.5, 2, 3]

FAR = 60


@pytest.fixture
def one_round(monkeypatch):
    """Half of the limits for the first tables, half for one round, and nothing after it."""
    for name, value in {"FIRST": Fraction(1, 2), "LAST": Fraction(0), "ROUNDS": 1, "_MOST_ROUNDS": 1}.items():
        monkeypatch.setattr(rounds, name, value)
    monkeypatch.setattr(rounds.Rounds, "_measure_again", lambda self: None)


class Seen(Exception):
    """What a run would choose from, on both tables."""


def choice_after(mechanism, first_noisy, tables):
    """Run up to the choice with these first noisy numbers: the scales so far, and the laws of the choice on both."""
    counts = exact_tables(mechanism, tables[0]), exact_tables(mechanism, tables[1])
    first, drawn = iter(first_noisy), []

    def needed(scale, size, source):
        axes = (len(drawn),)
        drawn.append(scale)
        return np.array([next(first) for _ in range(size)]) - counts[0][axes]

    def chosen(self, candidates, scales, amount):
        self.looks.steps.clear()
        laws = []
        for each in counts:
            self.looks = replace(self.looks, counts=each)
            laws.append([self._score(axes, scales[axes]) for axes in candidates])
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(rounds, "draw_packing", lambda *given: [])
            honest(self, candidates, scales, amount)
        raise Seen(drawn, laws, self.looks.steps[0].coefficient, [scales[axes] for axes in candidates])

    honest = rounds.Rounds._chosen
    looks = Looks(mechanism.costs, mechanism.limits, counts[0], None)
    made = rounds.Rounds(looks, 2, [], mechanism.scope.candidates)
    with pytest.MonkeyPatch.context() as patches, drawing(needed):
        patches.setattr(rounds.Rounds, "_chosen", chosen)
        with pytest.raises(Seen) as seen:
            made.run([])
    return seen.value.args


def chances(scores, coefficient):
    """The law of skipping or taking the one table."""
    assert [*packings([(3, score) for score in scores])] == [(), (0,)]
    weight = exp(float(coefficient) * scores[0])
    return np.array([1, weight]) / (1 + weight)


def noise_logs(kind, scale):
    """The logarithms of the probabilities of noise from -FAR to FAR."""
    values = np.arange(-FAR, FAR + 1)
    logs = -(values**2) / (2 * float(scale)) if kind.counted_in is RHO else -np.abs(values) / float(scale)
    return logs - log(np.exp(logs).sum())


def joint(name, shares):
    """For noise of some shares of the scales held, the joint divergences of all orders and the largest loss."""
    kind = MECHANISMS[name]
    query, amount = bp.Synthetic(["a", "b"]), {kind.counted_in.name: JOINT_AMOUNTS[name]}
    mechanism = kind.calibrated(query, JOINT_POLICY, **amount, records=2)
    tables = [table_of(mechanism, side) for side in JOINT_PAIR]
    counts = [np.concatenate([exact_tables(mechanism, table)[axis,] for axis in (0, 1)]) for table in tables]
    assert [*counts[1] - counts[0]] == [-1, 1, 0, 0]
    # Where the sum has its weight up to order 3: P^a Q^(1 - a) has its middle a - 1 beyond that of P.
    steps = [range(-2, 5), range(-4, 3), range(-1, 2), range(-1, 2)]
    parts = []
    for offsets in product(*steps):
        noisy = counts[0] + offsets
        parts.append(([noisy - each + FAR for each in counts], *choice_after(mechanism, noisy, tables)))
    return [added_up(kind, share, parts) for share in shares]


def added_up(kind, share, parts):
    """Add up over the first noisy numbers, and in closed form over those of the table."""
    sums, worst = dict.fromkeys(JOINT_ORDERS, 0.0), 0.0
    for places, scales, scores, coefficient, sizes in parts:
        logs = [noise_logs(kind, share * scales[number // 2]) for number in range(4)]
        before, after = (sum(row[place] for row, place in zip(logs, each, strict=True)) for each in places)
        first, second = (np.log(chances(each, coefficient)) for each in scores)
        looks = noise_logs(kind, share * sizes[0])
        for order in JOINT_ORDERS:
            # In the table a cell falls by one and another rises by one.
            inside = np.exp(order * looks[:-1] + (1 - order) * looks[1:]).sum()
            choice = np.exp(order * first + (1 - order) * second) * [1, inside**2]
            sums[order] += exp(order * before + (1 - order) * after) * choice.sum()
        table = [0, 2 * np.abs(np.diff(looks)).max()]
        worst = max(worst, (abs(before - after + first - second) + table).max())
    return {order: log(found) / (order - 1) for order, found in sums.items()}, worst


def test_the_joint_divergence_is_within_the_certificate_and_half_the_deviation_is_caught(one_round):
    """Outputs that are left out would only add to a divergence: with the true noise they have hardly any weight."""
    rho = float(JOINT_AMOUNTS["synthetic"])
    (honest, _), (halved, _) = joint("synthetic", [Fraction(1), Fraction(1, 4)])
    for order in JOINT_ORDERS:
        assert 0.8 * order * rho < honest[order] <= order * rho
    assert halved[2] > 3 * 2 * rho


def test_no_joint_output_is_more_likely_than_the_certificate_says_and_half_the_scale_is_caught(one_round):
    epsilon = float(JOINT_AMOUNTS["synthetic-laplace"])
    (_, honest), (_, halved) = joint("synthetic-laplace", [Fraction(1), Fraction(1, 2)])
    assert 0.8 * epsilon < honest <= epsilon * (1 + 1e-12)
    assert halved > 1.5 * epsilon


# What a packing tells about one secret pair, on every table of a small domain.
#
# The normaliser of the law is the same for all packings, so how far the losses of two packings can be apart is a
# rational number: the coefficient times the range of the changes of their scores. Nothing is estimated.


SHAPE = (2, 2, 2, 2)

CLIQUES = [*combinations(range(4), 2), *combinations(range(4), 3)]

MASKS = [sum(1 << axis for axis in clique) for clique in CLIQUES]

WEIGHT, COEFFICIENT = 7, Fraction(1, 10)

BOUND = 4 * COEFFICIENT * WEIGHT

PACKING_ORDERS = [Fraction(3, 2), 2, 3, 8, 64]


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


def packing_renyi_divergence(before, after, order):
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


@pytest.mark.parametrize("order", PACKING_ORDERS)
def test_divergences_of_all_orders_are_within_an_eighth_of_the_squared_range(order):
    worst = max(packing_renyi_divergence(*pair, order) for pair in widest_pairs())
    assert 0 < worst <= order * BOUND**2 / 8


def test_the_divergence_of_a_score_scaled_by_the_records_is_not():
    assert max(packing_renyi_divergence(*pair, 2) for pair in widest_pairs(factor=3)) > 2 * BOUND**2 / 8


def test_no_packing_is_more_than_the_range_more_likely():
    for before, after in widest_pairs():
        first, second = (probabilities([*zip(MASKS, scores, strict=True)], COEFFICIENT) for scores in (before, after))
        ratios = [float(first[each] / second[each]) for each in first]
        assert max(ratios) <= float(Decimal(float(BOUND)).exp())
        assert min(ratios) >= float(Decimal(-float(BOUND)).exp())
