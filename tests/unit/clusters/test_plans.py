"""What a plan of clusters chooses and says."""

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.release.plan import make_plan

SQUARE = bp.Domain(x=bp.Integer(0, 31), y=bp.Integer(0, 31))
QUERY = bp.KMeans(["x", "y"], k=2)


def plan(secrets, records, domain=SQUARE, query=QUERY, **options):
    policy = bp.Policy(domain, secrets=secrets, size=records)
    return make_plan(
        query, policy, records=records, **{"epsilon": "1", **options} if "error" not in options else options
    )


@pytest.mark.parametrize("records", [50, 200, 2000])
@pytest.mark.parametrize("error", ["2", "5", "50"])
def test_an_epsilon_for_an_error_always_looks_at_the_data(records, error):
    made = plan(bp.FullDomain(), records, error=error)
    assert made.epsilon > 0
    assert 0 < made.expected_error().rmse <= float(error)


def test_plain_differential_privacy_that_would_be_refused_is_not_compared():
    made = plan(bp.DistanceThreshold(3), 20, epsilon="0.3")
    assert "plain" not in made.explain()


def test_errors_in_positions_are_not_compared_with_errors_in_records():
    assert plan(bp.DistanceThreshold(3), 5000, mechanism="lloyd").plain_error() is None


@pytest.mark.parametrize(("size", "records"), [(100, 2000), (10_000, 20_000)])
def test_many_long_blocks_with_few_records_are_no_reason_against_one_grid(size, records):
    domain = bp.Domain(x=bp.Integer(0, size - 1), y=bp.Integer(0, size - 1))
    made = plan(bp.PerAttribute(x=bp.Public(), y=bp.FullDomain()), records, domain)
    assert getattr(made.mechanism, "cells", ()) is not None
    assert made.certificate.epsilon == 1


def test_short_blocks_are_counted_exactly():
    made = plan(bp.Partition(widths={"x": 2, "y": 2}), 20_000)
    assert made.mechanism.cells is None


def test_blocks_too_many_to_count_give_way_to_one_grid():
    domain = bp.Domain(x=bp.Integer(0, 10**6 - 1), y=bp.Integer(0, 10**6 - 1))
    made = plan(bp.Partition(widths={"x": 10, "y": 10}), 1000, domain)
    assert made.certificate.epsilon == 1


def test_attributes_that_no_cell_tells_apart_are_named():
    domain = bp.Domain(age=bp.Integer(0, 99), wage=bp.Integer(0, 99_999))
    made = plan(bp.FullDomain(), 6000, domain, bp.KMeans(["age", "wage"], k=3), epsilon="0.05")
    assert any("not told apart by “age”:" in notice for notice in made.notices)
    assert not plan(bp.FullDomain(), 6000).notices[:-1]


def test_one_value_has_no_clusters_to_hide():
    domain = bp.Domain(x=bp.Integer(5, 5), y=bp.Integer(0, 9))
    made = plan(bp.FullDomain(), 5000, domain, bp.KMeans(["x"], k=1))
    assert made.epsilon == 0
    assert made.mechanism.name == "soft-grid"


def test_answers_stay_inside_the_declared_values():
    counts = np.zeros((6, 6), dtype=int)
    counts[0, 0] = counts[5, 5] = 3000
    domain = bp.Domain(x=bp.Integer(0, 5), y=bp.Integer(0, 5))
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain()), budget=1)
    groups = session.release(QUERY, epsilon=1)
    assert groups.quantile("x", 0) == 0
    assert groups.quantile("x", 1) == 5
    for places in (groups.clusters(np.int64(6)).centers, groups.synthetic(500, seed=1)):
        assert places.min() >= 0
        assert places.max() <= 5
    drawn = groups.synthetic(500, seed=1)
    assert (drawn == np.rint(drawn)).all()
    assert sorted(groups.elbow(50)) == list(range(1, 37))
    with pytest.raises(bp.QueryError, match="seed"):
        groups.synthetic(5, seed="a")


def test_centres_alone_tell_nothing_else(tmp_path):
    names = [f"x{n}" for n in range(9)]
    domain = bp.Domain({name: bp.Integer(0, 9) for name in names})
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(1).integers(0, 10, (3000, 9)), columns=names)
    session = bp.Session(table, bp.Policy(domain, secrets=bp.FullDomain()), budget=9)
    groups = session.release(bp.KMeans(names, k=3), epsilon=2)
    assert "for free" not in session.plan(bp.KMeans(names, k=3), epsilon=2).explain()
    assert groups.centers.shape == (3, 9)
    groups.plot(tmp_path / "groups.png")
    asked = (lambda: groups.clusters(4), lambda: groups.elbow(), lambda: groups.quantile("x0", "0.5"), groups.synthetic)
    for ask in asked:
        with pytest.raises(bp.QueryError, match="centres only"):
            ask()
