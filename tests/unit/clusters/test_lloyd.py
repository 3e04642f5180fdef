"""Lloyd's algorithm with noise: the certificate against real moves, the engines against each other."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy import verification
from blowfish_privacy.domain import Assignment
from blowfish_privacy.engines import open_engine
from blowfish_privacy.engines.arrays import ArrayEngine
from blowfish_privacy.mechanisms import NoisyLloyd
from effort import examples

NAMES = [f"x{n}" for n in range(10)]
DOMAIN = bp.Domain({name: bp.Integer(0, 49) for name in NAMES})


def clouds(records):
    generator = np.random.default_rng(4)
    centres = np.array([[10] * 10, [40] * 10])
    table = np.clip(np.rint(centres[generator.integers(0, 2, records)] + generator.normal(0, 3, (records, 10))), 0, 49)
    return pd.DataFrame(table.astype(int), columns=NAMES)


def test_more_than_eight_attributes_are_clustered_in_rounds(tmp_path):
    frame = clouds(20_000)
    session = bp.Session(frame, bp.Policy(DOMAIN, secrets=bp.FullDomain()), budget=4)
    result = session.release(bp.KMeans(NAMES, k=2), epsilon=4)
    assert result.release.mechanism.name == "lloyd"
    assert result.certificate.epsilon == 4
    assert np.sort(result.centers[:, 0]) == pytest.approx([10, 40], abs=4)
    assert verification.problems(result.text) == []
    result.plot(tmp_path / "l.png")
    assert session.remaining == 0


@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
@settings(deadline=None, max_examples=examples(60))
def test_a_move_changes_a_round_by_no_more_than_certified(seed, k):
    generator = np.random.default_rng(seed)
    domain = bp.Domain(a=bp.Integer(0, 9), b=bp.Integer(0, 20))
    policy = bp.Policy(domain, secrets=bp.FullDomain())
    made = NoisyLloyd.calibrated(bp.KMeans(["a", "b"], k=k), policy, epsilon=Fraction(3), records=30)
    assert made.certify(policy).epsilon == 3
    centres = tuple(
        (int(a), int(b)) for a, b in zip(generator.integers(0, 10, k), generator.integers(0, 21, k), strict=True)
    )
    assignment = Assignment(centres, (1, 2), made.reaches)
    table = np.stack([generator.integers(0, 10, 30), generator.integers(0, 21, 30)])
    other = table.copy()
    other[:, 0] = generator.integers(0, 10), generator.integers(0, 21)
    change = np.abs(assignment.sums(tuple(table)) - assignment.sums(tuple(other)))
    loss = int(change[:, 0].sum()) / made.size_scale + int(change[:, 1:].sum()) / made.sum_scale
    assert made.rounds * loss <= 3


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
@settings(deadline=None, max_examples=examples(15))
def test_engines_agree(seed, k):
    generator = np.random.default_rng(seed)
    domain = bp.Domain(a=bp.Integer(-5, 9), b=bp.Binned(list(range(12)), outside="clamp"))
    frame = pd.DataFrame({"a": generator.integers(-5, 10, 60), "b": generator.uniform(-2, 13, 60)})
    centres = tuple(
        (int(a), int(b)) for a, b in zip(generator.integers(0, 15, k), generator.integers(0, 11, k), strict=True)
    )
    assignment = Assignment(centres, (3, 1), (2, 4))
    found = open_engine(frame).assigned(domain, domain.names, assignment)
    arrays = ArrayEngine({name: frame[name].to_numpy() for name in frame})
    counts = open_engine(bp.Counts(arrays.counts(domain, domain.names)))
    for engine in (arrays, counts):
        assert engine.assigned(domain, domain.names, assignment).tolist() == found.tolist()
    assert found[:, 0].sum() == 60
