"""The joint law of measuring, choosing by what was measured, and measuring what was chosen, added up over all outputs.

Two binary attributes and one round: the counts of both attributes with noise, a choice between their table and nothing,
and the table. What decides about the choice is enumerated over all values of the first noise that have any weight; the
theorem about steps that follow each other is not used.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.mechanisms.synthetic import rounds
from blowfish_privacy.mechanisms.synthetic.rounds import Looks
from blowfish_privacy.privacy.measure import RHO
from packing_law import packings
from synthetic_steps import drawing, exact_tables, table_of

DOMAIN = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 1))
POLICY = bp.Policy(DOMAIN, secrets=bp.Attributes())
PAIR = ((0, 0), (1, 1)), ((1, 0), (1, 1))
AMOUNTS = {"synthetic": Fraction(40, 3), "synthetic-laplace": Fraction(8)}
ORDERS = [1.5, 2, 3]
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
    with pytest.MonkeyPatch.context() as patches, drawing(mechanism.tariff, needed):
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
    query, amount = bp.Synthetic(["a", "b"]), {kind.counted_in.name: AMOUNTS[name]}
    mechanism = kind.calibrated(query, POLICY, **amount, records=2)
    tables = [table_of(mechanism, side) for side in PAIR]
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
    sums, worst = dict.fromkeys(ORDERS, 0.0), 0.0
    for places, scales, scores, coefficient, sizes in parts:
        logs = [noise_logs(kind, share * scales[number // 2]) for number in range(4)]
        before, after = (sum(row[place] for row, place in zip(logs, each, strict=True)) for each in places)
        first, second = (np.log(chances(each, coefficient)) for each in scores)
        looks = noise_logs(kind, share * sizes[0])
        for order in ORDERS:
            # In the table a cell falls by one and another rises by one.
            inside = np.exp(order * looks[:-1] + (1 - order) * looks[1:]).sum()
            choice = np.exp(order * first + (1 - order) * second) * [1, inside**2]
            sums[order] += exp(order * before + (1 - order) * after) * choice.sum()
        table = [0, 2 * np.abs(np.diff(looks)).max()]
        worst = max(worst, (abs(before - after + first - second) + table).max())
    return {order: log(found) / (order - 1) for order, found in sums.items()}, worst


def test_the_joint_divergence_is_within_the_certificate_and_half_the_deviation_is_caught(one_round):
    """Outputs that are left out would only add to a divergence: with the true noise they have hardly any weight."""
    rho = float(AMOUNTS["synthetic"])
    (honest, _), (halved, _) = joint("synthetic", [Fraction(1), Fraction(1, 4)])
    for order in ORDERS:
        assert 0.8 * order * rho < honest[order] <= order * rho
    assert halved[2] > 3 * 2 * rho


def test_no_joint_output_is_more_likely_than_the_certificate_says_and_half_the_scale_is_caught(one_round):
    epsilon = float(AMOUNTS["synthetic-laplace"])
    (_, honest), (_, halved) = joint("synthetic-laplace", [Fraction(1), Fraction(1, 2)])
    assert 0.8 * epsilon < honest <= epsilon * (1 + 1e-12)
    assert halved > 1.5 * epsilon
