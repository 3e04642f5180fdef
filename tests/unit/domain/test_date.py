"""Date attributes: days, weeks and months, however they are written."""

import itertools
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Attribute, Date
from blowfish_privacy.errors import DataError, DomainError, QueryError

YEAR = Date("2020-01-15", "2020-12-31")
WEEKS = Date("2020-01-15", "2020-12-31", step="week")
MONTHS = Date("2020-01-15", "2020-12-31", step="month")


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Date("2020-1-1", "2020-12-31"), "must be dates, got '2020-1-1'. Hint: write the year first"),
        (lambda: Date("2020-02-30", "2020-12-31"), "must be dates"),
        (lambda: Date(2020, "2020-12-31"), "must be dates"),
        (lambda: Date("2020-12-31", "2020-01-01"), "after the last"),
        (lambda: Date("2020-01-01", "9999-12-31"), "must lie before"),
        (lambda: Date("2020-01-01", "2020-12-31", step="year"), "step must be"),
        (lambda: Date("2020-01-01", "2020-12-31", missing="2021-01-01"), "outside 2020-01-01 to 2020-12-31"),
    ],
)
def test_wrong_declarations_are_refused(build, said):
    with pytest.raises(DomainError, match=said):
        build()


def test_days_weeks_and_months_are_numbered_shown_and_named():
    assert [each.size for each in (YEAR, WEEKS, MONTHS)] == [352, 51, 12]
    # 15 January 2020 is a Wednesday.
    assert [each.show(0) for each in (YEAR, WEEKS, MONTHS)] == ["2020-01-15", "week of 2020-01-13", "2020-01"]
    assert [each.say(0) for each in (YEAR, WEEKS, MONTHS)] == ["2020-01-15", "the week of 2020-01-13", "2020-01"]
    assert [each.example(0) for each in (YEAR, WEEKS, MONTHS)] == [date(2020, 1, 15)] * 3
    assert [each.position("2020-03-02") for each in (YEAR, WEEKS, MONTHS)] == [47, 7, 2]
    for each in (YEAR, WEEKS, MONTHS):
        for position in range(each.size):
            assert each.position(each.value(position)) == each.position(each.show(position)) == position
            assert each.encode([each.example(position)]).tolist() == [position]
        assert each.gap(3, 1) == 2
    for wrong in ("2021-01-01", "2020-03", "1.1.2020", 20200301, None):
        with pytest.raises(DomainError):
            YEAR.position(wrong)


@pytest.mark.parametrize("attribute", [YEAR, WEEKS, MONTHS])
def test_a_range_takes_whole_steps_or_is_refused(attribute):
    days = [attribute.start + timedelta(days=n) for n in range((attribute.end - attribute.start).days + 1)]
    positions = attribute.encode(days).tolist()
    for low, high in [(0, 40), (0, 16), (5, 46), (12, 46), (17, 45), (5, 5), (0, len(days) - 1), (20, len(days) - 1)]:
        chosen = {*positions[low : high + 1]}
        together = [day for day, position in zip(days, positions, strict=True) if position in chosen]
        whole = together == days[low : high + 1]
        for ends in ((days[low], days[high]), (days[low].isoformat(), days[high].isoformat())):
            if whole:
                assert list(attribute.subset(ends)) == [*range(positions[low], positions[high] + 1)]
            else:
                with pytest.raises(DomainError, match=r"would cut (the week of )?2020-.* in two. Hint: write '"):
                    attribute.subset(ends)


def test_one_day_does_not_stand_for_a_longer_step():
    for attribute, name in ((WEEKS, "week of 2020-03-02"), (MONTHS, "2020-03")):
        place = attribute.position("2020-03-02")
        assert list(attribute.subset(name)) == list(attribute.subset([name])) == [place]
        assert list(attribute.subset((name, name))) == [place]
        for day in ("2020-03-02", [date(2020, 3, 3)]):
            with pytest.raises(DomainError, match="is one day of .*, whose days are counted together"):
                attribute.subset(day)
    assert list(YEAR.subset(["2020-03-02"])) == [47]
    cut_off = Date("2020-01-31", "2020-12-01", step="month")
    assert list(cut_off.subset(["2020-01-31", "2020-12-01"])) == [0, 11]


def test_all_spellings_are_one_declaration():
    spelt = [YEAR, Date(date(2020, 1, 15), np.datetime64("2020-12-31")), Date(datetime(2020, 1, 15, 9), "2020-12-31")]
    assert len({*spelt}) == 1
    assert YEAR.to_file() == {"date": ["2020-01-15", "2020-12-31"], "step": "day"}
    for attribute in (YEAR, WEEKS, Date("2020-01-15", "2020-03-31", step="month", outside="clamp", missing="2020-02")):
        read = Attribute.read(attribute.to_file())
        assert read.canonical() == attribute.canonical()
        assert (read.size, read.missing_position) == (attribute.size, attribute.missing_position)


@given(st.dates(date(1, 1, 1), date(9998, 1, 1)), st.integers(0, 800), st.sampled_from(["day", "week", "month"]))
def test_neighbouring_days_are_in_the_same_step_or_in_the_next(first, days, step):
    attribute = Date(first, first + timedelta(days=days), step=step)
    every = [first + timedelta(days=n) for n in range(days + 1)]
    positions = attribute.encode(every).tolist()
    assert positions == [attribute.position(day) for day in every]
    assert attribute.encode(np.array(every, dtype="datetime64[s]")).tolist() == positions
    assert (positions[0], positions[-1]) == (0, attribute.size - 1)
    for day, (before, after) in zip(every[1:], itertools.pairwise(positions), strict=True):
        begins = {"day": True, "week": day.isoweekday() == 1, "month": day.day == 1}[step]
        assert after - before == int(begins)


def test_a_column_of_dates_of_any_type_is_read():
    noon = datetime(2020, 3, 2, 12)
    zone = timezone(timedelta(hours=-5))
    column = [date(2020, 3, 2), noon, "2020-03-02", "2020-03-02 23:59:59", pd.Timestamp(noon), np.datetime64(noon)]
    assert YEAR.encode(column).tolist() == [47] * 6
    assert YEAR.encode(["2020-03-02T00:00:00.000", datetime(2020, 3, 1, 20, tzinfo=zone)]).tolist() == [47, 47]
    assert YEAR.encode([datetime(2020, 3, 2, 23, tzinfo=UTC), pd.Timestamp("2020-03-02 20:00", tz=zone)]).tolist() == [
        47,
        48,
    ]
    clamped = Date("2020-01-15", "2020-12-31", outside="clamp", missing="2020-01-16")
    gaps = [None, pd.NaT, np.datetime64("NaT"), "2019-12-31", "9999-12-31"]
    assert clamped.encode(gaps).tolist() == [1, 1, 1, 0, 351]
    assert clamped.encode(np.array(["NaT", "1600-01-01", "2020-01-15"], dtype="datetime64[D]")).tolist() == [1, 0, 0]
    for wrong in (["2020-02-30"], ["2.3.2020"], [20200302], np.array([1]), ["2020-03-02Z"], ["2020-03-02 25:00"]):
        with pytest.raises(DataError, match="must hold dates") as caught:
            clamped.encode(wrong)
        assert "2020-02-30" not in str(caught.value)
    with pytest.raises(DataError, match="outside the declared"):
        WEEKS.encode(["2020-01-14"])


def test_dates_are_counted_and_ordered_but_not_added_up():
    domain = bp.Domain(day=WEEKS, sex=bp.Categorical(["f", "m"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(day=bp.DistanceThreshold(2), sex=bp.FullDomain()))
    assert (
        "values at most 2 weeks apart are secret pairs, such as the week of 2020-01-13 and the week of"
        in policy.explain()
    )
    counts = np.zeros(domain.shape, dtype=np.int64)
    counts[10], counts[30] = 50, 10
    session = bp.Session(bp.Counts(counts), policy, budget=10_000)
    quantiles = session.release(bp.Quantiles("day", ["0.5", "0.9"]), epsilon=1000)
    assert [row[:2] for row in quantiles.rows()] == [["0.5", "week of 2020-03-23"], ["0.9", "week of 2020-08-10"]]
    assert quantiles.quantile("0.5") == date(2020, 3, 23)
    spring = quantiles.range("2020-03-02", "2020-05-31")
    assert abs(spring - 100) < 2
    assert abs(quantiles.ranges([date(2020, 3, 2)], [date(2020, 5, 31)])[0] - spring) < 1e-6
    with pytest.raises(QueryError, match="a range that begins on 2020-03-01 would cut"):
        quantiles.ranges([date(2020, 3, 1)], [date(2020, 5, 31)])
    by_sex = session.release(bp.Histogram("sex").where(day=("2020-03-02", "2020-05-31")), epsilon=1000)
    assert abs(by_sex.values - 50).max() < 3
    for query in (bp.Sum("day"), bp.Mean("day"), bp.KMeans(["day"], k=2)):
        with pytest.raises(QueryError, match="median date|has no mean"):
            session.plan(query, epsilon=1)
