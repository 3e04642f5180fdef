"""Lloyd's algorithm with noise: the certificate against every secret pair."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.aggregates import Assignment, Decay, RecordAggregates
from blowfish_privacy.domain import Binned, Numeric
from blowfish_privacy.mechanisms import NoisyLloyd
from blowfish_privacy.mechanisms.clusters.centres import cluster, nearest_centre
from blowfish_privacy.mechanisms.clusters.lloyd import Assigning
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.release import verification
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.testing.strategies import policies
from effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")

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


def centres_in(data, shape, k):
    return tuple(tuple(data.draw(st.integers(0, size - 1)) for size in shape) for _ in range(k))


def changed(assignment, x, y):
    rows = [assignment.sums([np.array([place]) for place in cell]) for cell in (x, y)]
    change = np.abs(rows[0] - rows[1])
    return int(change[:, 0].sum()), int(change[:, 1:].sum())


def ordered(policy):
    return all(isinstance(attribute, Numeric | Binned) for attribute in policy.domain.attributes)


@given(policy=policies(most_cells=40, most_attributes=3), k=st.integers(1, 4), data=st.data())
@settings(deadline=None, max_examples=examples(150))
def test_no_secret_pair_changes_hard_or_soft_sums_more_than_bounded(policy, k, data):
    assume(ordered(policy))
    form = bp.KMeans(list(policy.domain.names), k=1).on(policy.domain)
    decays = st.builds(Decay, st.sampled_from([1, 5, 30, 64, 200, 1000]), st.sampled_from([1, 2, 6, 20]))
    reaches = tuple(data.draw(st.integers(1, 6)) for _ in policy.domain.shape)
    way = Assigning(form, k, reaches, data.draw(st.none() | decays))
    assignment = Assignment(centres_in(data, policy.domain.shape, k), way.weights, reaches, way.decay)
    most = way.largest(policy.graph)
    for x, y in policy.graph.edges():
        sizes, sums = changed(assignment, x, y)
        own = way.along([abs(a - b) for a, b in zip(x, y, strict=True)])
        assert sizes <= own.sizes <= most.sizes <= 2 * way.unit
        assert sums <= own.sums <= most.sums <= 2 * way.unit * sum(reaches)


@given(policy=policies(most_cells=40, most_attributes=3), data=st.data())
@settings(deadline=None, max_examples=examples(100))
def test_no_secret_pair_is_longer_than_bounded(policy, data):
    assume(ordered(policy))
    prices = [data.draw(st.integers(1, 64)) for _ in policy.domain.shape]
    bound = policy.graph.longest_move(prices)
    lengths = [
        sum(price * abs(a - b) for price, a, b in zip(prices, x, y, strict=True)) for x, y in policy.graph.edges()
    ]
    assert max(lengths, default=0) <= bound


@given(policy=policies(most_cells=40, most_attributes=3), k=st.integers(1, 3), data=st.data())
@settings(deadline=None, max_examples=examples(80))
def test_a_secret_pair_loses_no_more_than_certified(policy, k, data):
    assume(ordered(policy) and policy.size != "unknown" and policy.domain.size >= k)
    query = bp.KMeans(list(policy.domain.names), k=k)
    made = NoisyLloyd.calibrated(query, policy, epsilon=Fraction(3), records=30)
    certificate = made.certify(policy)
    assert certificate.epsilon == (3 if made.sum_scale else 0)
    again = NoisyLloyd.from_document(query, policy, made.to_document(), 30)
    assert again.certify(policy) == certificate
    weights = Assigning(made.form, k, made.reaches, made.decay).weights
    assignment = Assignment(centres_in(data, policy.domain.shape, k), weights, made.reaches, made.decay)
    for x, y in policy.graph.edges() if made.sum_scale else ():
        sizes, sums = changed(assignment, x, y)
        lost = made.rounds * (sizes / made.size_scale + sums / made.sum_scale)
        assert lost <= made.loss(x, y)
        assert policy.rows_per_person * made.loss(x, y) <= 3


def test_shares_are_soft_where_that_needs_less_noise():
    def calibrated(secrets, k=5):
        policy = bp.Policy(DOMAIN, secrets=secrets)
        return NoisyLloyd.calibrated(bp.KMeans(NAMES, k=k), policy, epsilon=Fraction(1), records=20_000)

    hard, near, far = (calibrated(bp.DistanceThreshold(theta)) for theta in (490, 1, 10))
    assert hard.decay is None
    assert far.decay is None
    assert hard.sum_scale == far.sum_scale
    assert near.decay == Decay(halving=64 * 500 // 120, bits=20)
    # theta (1 + 1.2 R / halving), against 2.4 R.
    ratio = near.sum_scale / near.decay.unit / hard.sum_scale
    assert float(ratio) == pytest.approx((1 + 1.2 * 120 * 12 / 50) / (2.4 * 120), rel=1e-2)
    alone = calibrated(bp.DistanceThreshold(1), k=1)
    # Nothing but the offset of a record changes, by theta at most, in 5 rounds.
    assert alone.decay is None
    assert alone.sum_scale == 5
    assert "share every record" in near.words()
    assert "nearest" in hard.words()


def test_soft_rounds_find_clusters_and_are_verified():
    session = bp.Session(clouds(20_000), bp.Policy(DOMAIN, secrets=bp.DistanceThreshold(2)), budget=1)
    result = session.release(bp.KMeans(NAMES, k=2), epsilon="1/2")
    assert result.release.mechanism.decay is not None
    assert result.certificate.epsilon == Fraction(1, 2)
    assert np.sort(result.centers[:, 0]) == pytest.approx([10, 40], abs=3)
    assert result.sizes == pytest.approx([10_000, 10_000], rel=0.1)
    assert verification.problems(result.text) == []


def test_a_document_with_impossible_shares_is_refused():
    policy = bp.Policy(DOMAIN, secrets=bp.DistanceThreshold(1))
    made = NoisyLloyd.calibrated(bp.KMeans(NAMES, k=2), policy, epsilon=Fraction(1), records=1000)
    for soft in ({"halving": 0, "bits": 20}, {"halving": 2**40, "bits": 20}, {"halving": 320, "bits": 60}):
        with pytest.raises(bp.BlowfishError):
            NoisyLloyd.from_document(bp.KMeans(NAMES, k=2), policy, {**made.to_document(), "soft": soft}, 1000)


@pytest.mark.parametrize("seed", range(4))
def test_separate_groups_are_all_found_where_noise_is_small(seed):
    # Noise moves a centre by less than a tenth of a group's width: a false alarm would be a miracle.
    generator, names = np.random.default_rng(seed), [f"x{n}" for n in range(9)]
    middles = generator.uniform(20, 180, (4, 9))
    table = np.clip(middles[generator.integers(0, 4, 4000)] + generator.normal(0, 6, (4000, 9)), 0, 199).astype(int)
    domain = bp.Domain({name: bp.Integer(0, 199) for name in names})
    made = make_plan(
        bp.KMeans(names, k=4), bp.Policy(domain, secrets=bp.FullDomain()), epsilon=1000, records=4000
    ).mechanism
    noisy = made.draw(RecordAggregates(domain, tuple(table.T)), SystemSource())
    centres = cluster(made.points(noisy, 4000), 4, seed=0).centers
    spread, best = ((table - each[nearest_centre(table.astype(float), each)]) ** 2 for each in (centres, middles))
    assert spread.sum() < 1.3 * best.sum()


@pytest.mark.parametrize("start", [[[1000] * 9] * 3, [[-1] * 9] * 3, [[True] * 9] * 3, [[1] * 9] * 2, [[1] * 8] * 3])
def test_a_document_whose_centres_are_no_places_is_refused(start):
    names = [f"x{n}" for n in range(9)]
    policy = bp.Policy(bp.Domain({name: bp.Integer(0, 199) for name in names}), secrets=bp.FullDomain())
    query = bp.KMeans(names, k=3)
    made = make_plan(query, policy, epsilon=1, records=400).mechanism
    written = made.to_document()
    assert type(made).from_document(query, policy, written, 400).to_document() == written
    with pytest.raises(bp.SpecError, match="damaged"):
        type(made).from_document(query, policy, {**written, "start": start}, 400)


@pytest.mark.parametrize(("origin", "step"), [(0, 1), (2**20, 2**-10), (-(10**9), 1)])
def test_the_first_of_the_nearest_centres_is_found_however_far_from_the_origin(origin, step):
    # Sums and products of these numbers are exact, so ties stay ties.
    generator = np.random.default_rng(4)
    places, centres = generator.integers(0, 50, (400, 2)), generator.integers(0, 50, (5, 2))
    wanted = ((places[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_centre(origin + step * places, origin + step * centres), wanted)
