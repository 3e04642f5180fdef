"""Rounds of choosing go on once the model is as large as it may be: with the tables that it holds already."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.mechanisms import GaussianSynthetic, LaplaceSynthetic
from blowfish_privacy.mechanisms.synthetic import approach, rounds
from blowfish_privacy.mechanisms.synthetic.rounds import TableChoice, encoded
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


def small(kind=GaussianSynthetic, secrets=None, way=approach.TREE, **options):
    domain = bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1), c=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=secrets or bp.Attributes(), **options)
    query, amount = bp.Synthetic(["a", "b", "c"]), {kind.counted_in.name: Fraction(1)}
    mechanism = kind.calibrated(query, policy, **amount, records=None if "size" in options else 40)
    generator = np.random.default_rng(2)
    positions = [generator.integers(0, size, 40) for size in domain.shape]
    mechanism = replace(mechanism, approach=way)
    return mechanism, mechanism.draw(RecordAggregates(domain, positions), SystemSource())


@pytest.mark.parametrize("way", [approach.TREE, approach.PAIRS], ids=lambda way: way.name)
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
