"""Rounds of choosing go on once the model is as large as it may be: with the tables that it holds already."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.mechanisms import GaussianSynthetic
from blowfish_privacy.mechanisms.synthetic import approach, rounds
from blowfish_privacy.noise import SystemSource


def test_a_full_model_still_lets_tables_inside_it_be_chosen(monkeypatch):
    """A packing may make the model larger than the cap of the next round, which grows with what is used."""
    made = []

    class Kept(rounds.Rounds):
        def run(self, exact):
            made.append(self)
            return super().run(exact)

    monkeypatch.setattr(approach, "Rounds", Kept)
    domain = bp.Domain({f"a{axis}": bp.Integer(0, 4) for axis in range(6)})
    generator = np.random.default_rng(1)
    first = generator.integers(0, 5, 5000)
    positions = [np.where(generator.random(5000) < 0.5, first, generator.integers(0, 5, 5000)) for _ in range(6)]
    policy = bp.Policy(domain, secrets=bp.Attributes())
    query = bp.Synthetic(list(domain.names))
    mechanism = GaussianSynthetic.calibrated(query, policy, rho=Fraction(1, 2), records=5000)
    mechanism = replace(mechanism, approach=approach.TREE)
    mechanism.draw(RecordAggregates(domain, positions), SystemSource())
    monkeypatch.setattr(rounds, "MODEL_CELLS", 1)
    tree = made[0]._fit.model.tree
    inside = [axes for axes in mechanism.scope.candidates if tree.home(axes) is not None]
    assert inside
    assert made[0]._to_choose_from({*mechanism.limits}) == inside
