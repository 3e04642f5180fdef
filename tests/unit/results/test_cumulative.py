from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import blowfish_privacy as bp
from blowfish_privacy.engines import Counts
from blowfish_privacy.errors import DomainError
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.results.cumulative import range_ends, range_starts

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
    assert loss.ranges([], []).tolist() == []
    top = np.array([2**64 - 5], dtype=np.uint64)
    wrong = [([-11], [5]), ([5], [90]), ([9], [0]), ([5], [4]), ([0.5], [2]), ([1, 2], [3]), (top, top), ([None], [7])]
    for lows, highs in wrong:
        with pytest.raises(bp.QueryError):
            loss.ranges(lows, highs)


DAYS = np.arange("2019-12-20", "2022-02-10", dtype="datetime64[D]")

NUMBERS = [
    np.arange(-40, 40),
    np.arange(12, dtype=np.uint64),
    np.array([0.25, 7, 7.1, 7.2, np.nan, np.inf, 2**50, -1e300]),
]

ENDS = {
    "integer": (bp.Integer(-10, 9), NUMBERS),
    "decimal": (bp.Decimal("-2.5", 10, "0.1"), [*NUMBERS, np.arange(-30, 110) / 10, np.float32([0.1, 0.5, 0.75])]),
    "fine": (bp.Decimal(0, 1, "0.000000000001"), [np.array([0.1 + 0.2, 0.3, 1e-12, 5e-13, 1.0])]),
    **{
        step: (
            bp.Date("2020-01-15", "2021-12-24", step=step),
            [DAYS, DAYS.astype("datetime64[ns]"), np.array(["NaT"], dtype="M8[D]")],
        )
        for step in ("day", "week", "month")
    },
}


@pytest.mark.parametrize("kind", ENDS)
def test_many_ends_are_placed_as_each_of_them_is(kind):
    attribute, arrays = ENDS[kind]
    placed, refused = 0, 0
    sides = (
        (attribute.range_start, attribute.range_starts, range_starts),
        (attribute.range_end, attribute.range_ends, range_ends),
    )
    for array, (one, at_once, many) in product(arrays, sides):
        for index in range(len(array)):
            end = array[index : index + 1]
            value = end[0] if end.dtype.kind == "M" else end[0].item()
            try:
                expected = one(value)
            except DomainError:
                refused += 1
                assert at_once(end) is None, end
                with pytest.raises(bp.QueryError):
                    many(attribute, end)
            else:
                placed += 1
                assert at_once(end).tolist() == many(attribute, end).tolist() == [expected], end
    assert min(placed, refused) > 1


@pytest.mark.parametrize("step", ["day", "week", "month"])
def test_many_ends_of_dates_need_no_look_at_each(step, monkeypatch):
    attribute = bp.Date("2020-01-15", "2021-12-24", step=step)
    months = {
        "day": DAYS[26:-52],
        "week": DAYS[31:-60:7],
        "month": np.arange("2020-02", "2021-12", dtype="datetime64[M]"),
    }[step]
    first = months.astype("datetime64[D]")
    monkeypatch.setattr(bp.Date, "position", None)
    assert (range_starts(attribute, first) == range_starts(attribute, first[:1])[0] + np.arange(len(first))).all()
    ends = first[1:] - 1
    assert (range_ends(attribute, ends) == range_starts(attribute, first[:-1])).all()


def test_many_ranges_of_numbers_need_no_look_at_each(loss, monkeypatch):
    lows = np.arange(-10, 80)
    expected = [loss.range(low, low + 9) for low in lows.tolist()]
    monkeypatch.setattr(bp.Integer, "position", None)
    assert loss.ranges(lows, lows + 9) == pytest.approx(expected)


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
    assert loss.counts.sum() == pytest.approx(120_000)
    assert loss.linear[-1] == pytest.approx(120_000)


def test_the_table_says_how_wrong_the_cumulative_counts_are():
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 49)), secrets=bp.DistanceThreshold(3))
    counts = np.arange(50) * 40
    session = bp.Session(Counts(counts), policy, budget=100)
    released = [session.release(bp.Cumulative("age"), epsilon="0.5", new=True) for _ in range(60)]
    real = np.sqrt(np.mean([((each.cumulative - np.cumsum(counts)) ** 2)[:-1] for each in released]))
    said = np.array([[row[each.header.index("typical_error")] for row in each.rows()] for each in released])
    assert said[:, :-1].mean() == pytest.approx(real, rel=0.25)
    # The number of all records is public.
    assert not said[:, -1].any()
    assert released[0].header == ["age", "cumulative", "typical_error", "share", "count"]


def test_errors_by_width(loss):
    by_width = loss.error_by_width([1, 10, 100])
    assert set(by_width) == {1, 10, 100}
    # The whole range is the public total.
    assert by_width[100] == pytest.approx((0, 0), abs=1e-6)
    assert 0 <= loss.error().mse <= 2 * loss.error().guaranteed.mse + 0.01
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
    from blowfish_privacy.release import verification

    assert verification.problems((tmp_path / "x.release.json").read_text()) == []


def test_quantiles_and_ranges_are_the_same_release_shown_differently(tmp_path):
    session = bp.Session(Counts(table()), POLICY, budget=500)
    shown = session.release(bp.Quantiles("loss", [0, "0.5", 1]), epsilon=50)
    assert [row[1] for row in shown.rows()] == ["-10", "40", "89"]
    assert shown.range(-10, 89) == 120_000
    counted = session.release(bp.Ranges("loss", [(-10, 89), (0, 9)]), epsilon=50)
    assert [row[:2] for row in counted.rows()] == [["-10", "89"], ["0", "9"]]
    assert next(counted.rows())[2] == 120_000
    for result in (shown, counted):
        result.save(tmp_path / "r.json")
        assert list(bp.load(tmp_path / "r.json").rows()) == list(result.rows())
        result.plot_error(tmp_path / "e.png")
        assert (tmp_path / "e.png").stat().st_size > 5000
    for build in (
        lambda: bp.Quantiles("loss", []),
        lambda: bp.Quantiles("loss", [1.5]),
        lambda: bp.Ranges("loss", []),
        lambda: bp.Ranges("loss", [(1, 2, 3)]),
        lambda: bp.Ranges("loss", [(5, 1)]).on(DOMAIN),
        lambda: bp.Ranges("loss", [(0, 1000)]).on(DOMAIN),
    ):
        with pytest.raises(bp.QueryError):
            build()


def test_the_bootstrap_estimates_the_true_error():
    # An even histogram, so that the released one looks like the truth. The mean of 20 releases has a relative standard
    # error of about 0.11, so leaving (0.5, 2) by chance has a probability below 1e-5; half or twice the noise would
    # change the true error by a factor of four.
    counts = np.full((100, 3), 50, dtype=np.int64)
    session = bp.Session(Counts(counts), POLICY, budget=500)
    truth = np.append(0, np.cumsum(np.full(100, 150)))
    true, estimated = [], []
    for _ in range(20):
        result = session.release(bp.Cumulative("loss"), epsilon="0.5", new=True)
        error = np.append(0, result.cumulative) - truth
        true.append((101 * error @ error - error.sum() ** 2) / 5050)
        estimated.append(result.error().mse)
    assert 0.5 < np.mean(estimated) / np.mean(true) < 2


def test_plans_say_the_typical_error_on_public_shapes():
    session = bp.Session(Counts(table()), POLICY, budget=500)
    plan = session.plan(bp.Cumulative("loss"), epsilon="0.01")
    typical = plan.typical_errors()
    assert set(typical) == {"even", "falling off", "a peak", "most at one value"}
    assert typical["most at one value"] < plan.expected_error().rmse
    assert "simulated on public synthetic shapes" in plan.explain()
    assert session.plan(bp.Histogram("loss"), epsilon="0.01").typical_errors() == {}


def test_honest_documents_of_large_domains_verify():
    from blowfish_privacy.release import verification

    domain = bp.Domain(v=bp.Integer(0, 19_999))
    session = bp.Session(Counts(np.full(20_000, 3)), bp.Policy(domain, secrets=bp.DistanceThreshold(20)), budget=100)
    # Errors of so many values are simulated, when the document is written and again when it is checked.
    for _ in range(3):
        assert verification.problems(session.release(bp.Cumulative("v"), epsilon=1).text) == []


def consistent_counts(noisy, records):
    return Constraints.of([records_total(len(noisy), records)]).whole(noisy)


NOISY = st.lists(st.integers(-50, 200), min_size=1, max_size=30)


@given(NOISY, st.integers(0, 1000))
def test_consistent_counts_are_counts_with_the_public_total(noisy, records):
    counts = consistent_counts(np.array(noisy), records)
    assert counts.dtype == np.int64
    assert counts.sum() == records
    assert (counts >= 0).all()


def test_the_projection_is_the_nearest_point():
    noisy, records = np.array([30.0, -12, 8, 3, 55]), 70
    nearest = minimize(
        lambda y: ((y - noisy) ** 2).sum(),
        np.full(5, records / 5),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda y: y.sum() - records},
        tol=1e-12,
    )
    assert consistent_counts(noisy, records) == pytest.approx(nearest.x, abs=1)


@given(NOISY)
def test_counts_that_are_consistent_stay(noisy):
    counts = np.abs(np.array(noisy))
    assert consistent_counts(counts, int(counts.sum())).tolist() == counts.tolist()
