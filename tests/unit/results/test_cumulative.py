import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts

DOMAIN = bp.Domain(loss=bp.Integer(-10, 89), wage=bp.Binned([0, 1, "2.5", 10]))
POLICY = bp.Policy(DOMAIN, secrets=bp.PerAttribute(loss=bp.DistanceThreshold(2), wage=bp.FullDomain()))


def table():
    counts = np.zeros((100, 3), dtype=np.int64)
    counts[:, 0] = 1000
    counts[50, 2] = 20_000
    return counts


@pytest.fixture(scope="module")
def loss():
    # With so large an epsilon and so many records the answers are nearly exact.
    return bp.Session(Counts(table()), POLICY, budget=200).release(bp.Cumulative("loss"), epsilon=50)


def test_ranges(loss):
    assert loss.range(-10, 89) == 120_000
    assert loss.range(0, 9) == pytest.approx(10_000, abs=20)
    assert loss.range(40, 40) == pytest.approx(21_000, abs=20)
    assert loss.ranges([-10, 0], [89, 9]) == pytest.approx([loss.range(-10, 89), loss.range(0, 9)])
    for low, high in ((-11, 5), (5, 90), (9, 0), (0.5, 2), ("a", 2)):
        with pytest.raises(bp.BlowfishError):
            loss.range(low, high)
    for lows, highs in (([-11], [5]), ([5], [90]), ([9], [0]), ([0.5], [2]), ([1, 2], [3])):
        with pytest.raises(bp.QueryError):
            loss.ranges(lows, highs)


def test_quantiles_and_shares(loss):
    assert loss.quantile(0) == -10
    assert loss.quantile("0.5") == 40
    assert loss.quantile(1) == 89
    assert loss.quantiles([0.25, 0.5]) == [loss.quantile(0.25), 40]
    assert loss.cdf(89) == 1
    assert loss.cdf(-10) == pytest.approx(1 / 120, abs=0.001)
    for share in (-0.1, 1.1, float("nan"), "x"):
        with pytest.raises(bp.QueryError):
            loss.quantile(share)


def test_the_estimate_is_ordered_and_keeps_the_total(loss):
    assert (np.diff(loss.cumulative) >= 0).all()
    assert loss.cumulative[-1] == 120_000
    assert loss.counts().sum() == pytest.approx(120_000)
    assert loss.linear[-1] == pytest.approx(120_000)


def test_errors_by_width(loss):
    by_width = loss.error_by_width([1, 10, 100])
    assert set(by_width) == {1, 10, 100}
    # The whole range is the public total.
    assert by_width[100] == pytest.approx(0, abs=1e-6)
    assert set(loss.error_by_width()) == {1, 2, 4, 8, 16, 32, 64, 100}
    for width in (0, 101):
        with pytest.raises(bp.QueryError):
            loss.error_by_width([width])


def test_bins_are_cut_at_their_edges():
    wage = bp.Session(Counts(table()), POLICY, budget=200).release(bp.Cumulative("wage"), epsilon=50)
    assert wage.range(0, "2.5") == pytest.approx(100_000, abs=20)
    assert wage.ranges([0.0, 2.5], [2.5, 10.0]) == pytest.approx([wage.range(0, "2.5"), wage.range("2.5", 10)])
    assert str(wage.quantile(0.5)) == "[0, 1)"
    assert wage.cdf(0.5) == pytest.approx(100 / 120, abs=0.01)
    with pytest.raises(bp.BlowfishError):
        wage.range(0, 2)


def test_no_records():
    empty = bp.Session(Counts(np.zeros((100, 3), dtype=np.int64)), POLICY, budget=200)
    result = empty.release(bp.Cumulative("loss"), epsilon=1)
    assert result.range(-10, 89) == 0
    with pytest.raises(bp.RefusalError, match="no records"):
        result.quantile(0.5)


@pytest.mark.parametrize("mechanism", ["ordered", "ordered-hierarchical", "smooth-hierarchy", "laplace"])
def test_named_mechanisms_release_tables_pictures_and_files(mechanism, tmp_path):
    session = bp.Session(Counts(table()), POLICY, budget=200)
    result = session.release(bp.Cumulative("loss"), epsilon=1, mechanism=mechanism)
    assert result.certificate.mechanism == mechanism
    result.save(tmp_path / "x.release.json")
    again = bp.load(tmp_path / "x.release.json")
    assert again.values.tolist() == result.values.tolist()
    assert len(result.to_frame()) == 100
    result.plot(tmp_path / "x.png")
    from blowfish_privacy import verification

    assert verification.problems((tmp_path / "x.release.json").read_text()) == []
