"""What is lost on each class of secret pairs, against every pair of small domains."""

from __future__ import annotations

import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import Laplace
from blowfish_privacy.privacy.classes import ALL, EVERY, PRESENCE, changing, classes_met, one_attribute_at_a_time
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.privacy.sensitivity import sensitivity_of
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of


def largest_losses(policy, mechanism, names):
    """The largest loss over all secret pairs of each class, one by one, for one person's rows."""
    axes = [policy.domain.axis(name) for name in names]
    worst: dict = {}

    def meet(pairs, amount):
        worst[pairs] = max(worst.get(pairs, Fraction(0)), policy.rows_per_person * amount)

    for x, y in policy.graph.edges():
        seen = [tuple(cell[axis] for axis in axes) for cell in (x, y)]
        meet(class_of(policy, x, y), mechanism.loss(*seen) if mechanism.scale else Fraction(0))
    if policy.size == "unknown" and mechanism.scale:
        for cell in mechanism.form.domain.cells():
            meet(PRESENCE, mechanism.form.weight(cell) / mechanism.form.unit / mechanism.scale)
    return {pairs: amount for pairs, amount in worst.items() if amount}


def weights(*values):
    return [sum((7 * at + 3) * len(str(value)) for at, value in enumerate(values)), values[-1] == values[0]]


@given(data=st.data(), rows=st.integers(1, 3), size=st.sampled_from(["known", "unknown"]))
@settings(max_examples=examples(300), deadline=None)
def test_each_class_loses_what_its_worst_pair_loses(data, rows, size):
    drawn = data.draw(policies(most_cells=24, most_attributes=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.BlowfishWarning)
        policy = bp.Policy(drawn.domain, secrets=drawn.secrets, rows_per_person=rows, size=size)
    names = data.draw(st.lists(st.sampled_from(policy.domain.names), unique=True, min_size=1))
    query = data.draw(st.sampled_from([bp.Histogram(*names), bp.Linear(weights, attributes=names)]))
    mechanism = Laplace.calibrated(query, policy, epsilon=Fraction(1, 3), records=5)
    certificate = mechanism.certify(policy)
    worst = largest_losses(policy, mechanism, query.attributes)
    assert all(amount <= certificate.loss.on(pairs) for pairs, amount in worst.items())
    assert (
        certificate.epsilon
        == certificate.loss.largest
        == (Fraction(1, 3) if sensitivity_of(mechanism.form, policy).value else 0)
    )
    if policy.graph.homogeneous and certificate.sensitivity.exact:
        assert dict(certificate.loss) == worst


def test_a_release_loses_nothing_on_what_it_does_not_look_at():
    domain = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]), region=bp.Categorical(["N", "S"]))
    policy = bp.Policy(
        domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(3), sex=bp.FullDomain(), region=bp.Public())
    )
    assert classes_met(policy, ["age", "region"]) == (changing("age"),)
    mechanism = Laplace.calibrated(bp.Histogram("age", "region"), policy, epsilon=Fraction(1), records=5)
    assert dict(mechanism.certify(policy).loss) == {changing("age"): 1}
    assert classes_met(bp.Policy(domain, secrets=bp.FullDomain()), ["age"]) == (ALL,)


def test_known_facts_that_secret_pairs_change_leave_one_class():
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["F", "M"]))
    known = [bp.KnownMarginal("sex")]
    assert not one_attribute_at_a_time(bp.Policy(domain, secrets=bp.Attributes(), known=known))
    still = bp.PerAttribute(age=bp.FullDomain(), sex=bp.Public())
    assert one_attribute_at_a_time(bp.Policy(domain, secrets=still, known=known))


def test_losses_add_up_class_by_class_and_steps_by_their_measure():
    first = Loss.of({changing("age"): Fraction(1, 3), PRESENCE: Fraction(1, 2)})
    second = Loss.of({changing("age"): Fraction(1, 6), changing("sex"): Fraction(1), ALL: Fraction(0)})
    together = {changing("age"): Fraction(1, 2), PRESENCE: Fraction(1, 2), changing("sex"): Fraction(1)}
    assert dict(first + second) == together
    assert (first + second).largest == 1
    assert dict(first.over(3)) == {changing("age"): 1, PRESENCE: Fraction(3, 2)}
    assert Loss.of({}).largest == 0
    every = Loss.alike((EVERY,), Fraction(1, 4))
    assert (first + every).on(changing("age")) == Fraction(7, 12)
    assert (first + every).on(changing("wage")) == Fraction(1, 4)
    assert (first + every).largest == Fraction(3, 4)
    assert EPSILON.over(Fraction(1, 3), 6) == 2
    assert EPSILON.words(Fraction(1, 2)) == "epsilon 0.5"
    squared = Loss.of({ALL: Fraction(1, 100)}, RHO)
    assert dict(squared.over(6)) == {ALL: Fraction(36, 100)}
    with pytest.raises(bp.LedgerError, match="do not add up"):
        _ = first + squared
    with pytest.raises(bp.LedgerError, match="already"):
        type("Again", (Measure,), {"name": "epsilon"})
    assert Measure.kinds["epsilon"] is EPSILON
