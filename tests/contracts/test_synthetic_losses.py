"""What synthetic records tell about every secret pair, step by step, on tables small enough to add up everything.

A run is followed on a neighbouring table, with the noise under which it returns the same: the two transcripts agree, so
that nothing but noisy numbers decided what came next. What each step loses is then computed from probabilities: of
packings by enumeration, of noise by adding up over all its values.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.mechanisms.synthetic import rounds
from blowfish_privacy.mechanisms.synthetic.approach import PAIRS, TREE
from blowfish_privacy.mechanisms.synthetic.costs import Costs
from blowfish_privacy.mechanisms.synthetic.rounds import Look, TableChoice, encoded
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.testing.oracle import TOLERANCE, neighbours, renyi_divergence
from blowfish_privacy.testing.seeded import SeededSource
from blowfish_privacy.testing.strategies import policies
from effort import examples
from packing_law import packings, probabilities
from pair_classes import class_of
from synthetic_steps import drawing, follow, run, table_of

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
            costs = Costs(mechanism.scope.policy, mechanism.domain, mechanism.tariff)
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
    honest, share = mechanism.tariff.weights, Fraction(1, 4 if mechanism.counted_in is RHO else 2)

    def halved(form, policy):
        return {pairs: share * weight for pairs, weight in honest(form, policy).items()}

    first, second = (table_of(mechanism, side) for side in PAIR)
    with monkeypatch.context() as patches:
        patches.setattr(mechanism.tariff, "weights", halved, raising=False)
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

    with drawing(mechanism.tariff, marked):
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
