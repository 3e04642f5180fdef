"""What every mechanism promises; a new one is found by itself."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.queries import QUERIES
from blowfish_privacy.testing.oracle import neighbours
from blowfish_privacy.testing.strategies import policies
from effort import examples

ROOT = Path(__file__).parents[2]
EVERY = pytest.mark.parametrize("kind", MECHANISMS.values(), ids=lambda kind: kind.name)
EPSILONS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(5, 2)])


def query_for(kind, domain):
    """A query that the mechanism answers, on the first attribute that suits it."""
    for query in (q(name) for q in QUERIES[:4] for name in domain.names):
        try:
            query.on(domain)
        except bp.QueryError:
            continue
        if kind.answers(query):
            return query
    return None


def test_every_mechanism_is_listed():
    assert set(Mechanism.__subclasses__()) == set(MECHANISMS.values())


@EVERY
def test_the_docstring_has_its_lines_and_the_proof_exists(kind):
    for line in ("Privacy:", "Sensitivity:", "Error:", "Cost:", "Numerics:", "Proof:"):
        assert re.search(rf"^ *{line} \S", kind.__doc__, re.MULTILINE), f"{kind.__name__} lacks {line}"
    assert (ROOT / kind.proof).exists()
    assert kind.proof in kind.__doc__


@EVERY
@given(policy=policies(most_cells=12, most_attributes=2), epsilon=EPSILONS)
@settings(max_examples=examples(100), deadline=None)
def test_calibrated_certifies_exactly_what_was_asked(kind, policy, epsilon):
    query = query_for(kind, policy.domain)
    assume(query is not None)
    mechanism = kind.calibrated(query, policy, epsilon=epsilon, records=5)
    found = mechanism.certify(policy)
    assert found.epsilon == (epsilon if found.sensitivity.value else 0)
    assert found.policy_hash == policy.hash


@EVERY
@given(policy=policies(most_cells=6, most_attributes=2), epsilon=EPSILONS, data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_loss_on_every_neighbour_is_within_the_certificate(kind, policy, epsilon, data):
    # The noise is discrete Laplace of the scales held, so the worst log-ratio of probabilities between two tables is
    # the sum over outputs of |difference| / scale. It must be at most epsilon, and reach it somewhere.
    query = query_for(kind, policy.domain)
    assume(query is not None)
    mechanism = kind.calibrated(query, policy, epsilon=epsilon, records=5)
    axes = [policy.domain.axis(name) for name in query.attributes]
    own = policy.domain.project(query.attributes)

    def answers(table):
        counts = np.zeros(own.shape, dtype=np.int64)
        for cell in table:
            counts[tuple(cell[axis] for axis in axes)] += 1
        return mechanism.form.answer(counts)

    losses = [
        sum(abs(int(a) - int(b)) for a, b in zip(answers(x), answers(y), strict=True)) for x, y in neighbours(policy, 2)
    ]
    worst = Fraction(max(losses, default=0))
    certified = mechanism.certify(policy).epsilon
    assert worst == certified * mechanism.scale
    # Halving the scale must be noticed.
    if mechanism.scale:
        from dataclasses import replace

        assert replace(mechanism, scale=mechanism.scale / 2).certify(policy).epsilon == 2 * certified


@EVERY
def test_a_mechanism_without_noise_certifies_only_what_is_public(kind):
    domain = bp.Domain(v=bp.Integer(0, 9))
    secret = bp.Policy(domain, secrets=bp.FullDomain())
    blocks = bp.Policy(domain, secrets=bp.Partition(widths=5))
    query = query_for(kind, domain)
    from dataclasses import replace

    noisy = kind.calibrated(query, secret, epsilon=Fraction(1), records=5)
    with pytest.raises(bp.PolicyError, match="certifies nothing"):
        replace(noisy, scale=Fraction(0)).certify(secret)
    if kind.answers(bp.Linear([[1] * 5 + [0] * 5], ["v"])):
        exact = kind.calibrated(bp.Linear([[1] * 5 + [0] * 5], ["v"]), blocks, epsilon=Fraction(1), records=5)
        assert exact.certify(blocks).epsilon == 0
        assert exact.measure(np.arange(10), SystemSource()).tolist() == [10]


# One count, 3 on one table and 4 on its neighbour; the event {output <= 3}. With discrete Laplace noise of scale b its
# probabilities are 1 - q/(1+q) and q^0... both in closed form below, and their ratio is exactly e^(1/b).
SAMPLES = 40_000
SIGMAS = 6.5  # a normal deviate beyond 6.5 has probability below 1e-10: the false-alarm rate of the test below


def observed_share(scale, exact_answer, event):
    from blowfish_privacy.mechanisms.laplace import Laplace

    domain = bp.Domain(v=bp.Integer(0, 0))
    form = bp.Histogram("v").on(domain)
    mechanism = Laplace(form, scale)
    counts = np.array([exact_answer])
    source = SystemSource()
    return sum(event(mechanism.measure(counts, source)[0]) for _ in range(SAMPLES)) / SAMPLES


def at_most_three(scale, exact_answer):
    q = exp(-1 / float(scale))
    above = q ** (3 - exact_answer + 1) / (1 + q) if exact_answer <= 3 else None
    return 1 - above if above is not None else q ** (exact_answer - 3) / (1 + q)


def agrees(share, probability):
    return abs(share - probability) <= SIGMAS * (probability * (1 - probability) / SAMPLES) ** 0.5


def test_sampled_releases_have_the_probabilities_that_the_certificate_speaks_of():
    scale = Fraction(2)
    shares = {n: observed_share(scale, n, lambda value: value <= 3) for n in (3, 4)}
    for n, share in shares.items():
        assert agrees(share, at_most_three(scale, n))
    assert log(at_most_three(scale, 3) / at_most_three(scale, 4)) == pytest.approx(1 / 2)
    for mutant in (Fraction(3, 2), Fraction(5, 2)):
        assert not agrees(shares[4], at_most_three(mutant, 4)), "the test must notice a wrong scale"
