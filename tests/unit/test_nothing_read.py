"""Before the charge no value is read; the number of rows may be asked for, but not where the budget is too small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.engines import open_engine
from blowfish_privacy.engines.sql.table import TableEngine

DOMAIN = bp.Domain(a=bp.Integer(0, 7), b=bp.Integer(0, 7), open=bp.Integer(0, 1))
POLICY = bp.Policy(DOMAIN, secrets=bp.PerAttribute(a=bp.DistanceThreshold(2), b=bp.FullDomain(), open=bp.Public()))
COUNTS = np.full(DOMAIN.shape, 20)
QUERIES = {
    "histogram": bp.Histogram("a"),
    "cumulative": bp.Cumulative("a"),
    "sum": bp.Sum("a"),
    "mean": bp.Mean("a"),
    "linear": bp.Linear([list(range(8))], ["a"]),
    "range_grid": bp.RangeGrid("a", "b"),
    "kmeans": bp.KMeans(["a", "b"], k=2),
    "synthetic": bp.Synthetic(["a", "b", "open"]),
    "quantiles": bp.queries.Quantiles("a", ["0.5"]),
    "median": bp.queries.Median("a"),
    "tables": bp.Tables([["a"], ["a", "b"]]),
    "ranges": bp.queries.Ranges("a", [(0, 3)]),
}


class Recorder:
    """An engine that notes every call."""

    def __init__(self):
        self.inner, self.calls = open_engine(bp.Counts(COUNTS)), []

    def __getattr__(self, name):
        self.calls.append(name)
        return getattr(self.inner, name)


@pytest.fixture
def session():
    made = bp.Session(bp.Counts(COUNTS), POLICY, budget=1)
    made._engine = Recorder()
    return made


def test_all_kinds_of_queries_are_here():
    assert {type(query) for query in QUERIES.values()} >= {*bp.Histogram.kinds.values()}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("left", ["1", "0"])
def test_a_request_above_what_is_left_asks_the_data_nothing(session, query, left):
    if left == "0":
        session.release(bp.Histogram("a", "b"), epsilon=1)
        session.engine.calls.clear()
    with pytest.raises(bp.BudgetError, match="Nothing was charged, and no value was read") as caught:
        session.release(query, epsilon="1.5")
    assert (caught.value.requested, caught.value.remaining) == (Fraction(3, 2), Fraction(left))
    # Columns are looked up before a charge; nothing that touches a row.
    assert set(session.engine.calls) <= {"positional", "prepare"}
    assert session.engine.inner.reads == (left == "0")
    if query.needs_records:
        with pytest.raises(bp.BudgetError):
            session.plan(query, epsilon="1.5")
        assert session.engine.calls == []


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_plan_asks_for_the_number_of_rows_at_most(session, query):
    plan = session.plan(query, epsilon="0.5")
    plan.explain(), plan.expected_error(), plan.plain_error()
    assert session.engine.calls == (["rows"] if query.needs_records else [])
    session.engine.calls.clear()
    with pytest.raises(bp.BudgetError, match="no value was read"):
        # Solving for epsilon needs the number of rows; that is all it is asked for.
        session.release(query, error="0.0001")
    assert set(session.engine.calls) <= {"rows", "positional", "prepare"}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_where_the_number_of_rows_is_stated_or_secret_it_is_not_asked_for(query):
    for size in (int(COUNTS.sum()), "unknown"):
        session = bp.Session(bp.Counts(COUNTS), bp.Policy(DOMAIN, secrets=POLICY.secrets, size=size), budget=1)
        session._engine = Recorder()
        try:
            session.plan(query, epsilon="0.5")
        except bp.RefusalError:
            assert size == "unknown"
        assert session.engine.calls == []


def test_what_costs_nothing_is_released_when_nothing_is_left(session):
    plan = session.plan(bp.Mean("a"), epsilon=1, key="mean")
    mean = session.release(plan)
    assert session.remaining == 0
    # Nothing secret shows in it, whatever epsilon is asked for.
    assert session.release(bp.Mean("open"), epsilon=1).value == pytest.approx(0.5)
    # A retry.
    assert session.release(bp.Mean("a"), epsilon=1, key="mean").text == mean.text


def test_another_policy_costs_more_and_is_refused_before_the_data_are_asked(tmp_path):
    ledger = bp.Session(bp.Counts(COUNTS), POLICY, budget=1, ledger=tmp_path / "l", create=True).ledger
    bp.Session(bp.Counts(COUNTS), POLICY, ledger=ledger).release(bp.Histogram("a"), epsilon="0.1")
    # One step of the ledger's policy is two of this one.
    weaker = bp.PerAttribute(a=bp.DistanceThreshold(1), b=bp.FullDomain(), open=bp.Public())
    session = bp.Session(bp.Counts(COUNTS), bp.Policy(DOMAIN, secrets=weaker), ledger=ledger)
    session._engine = Recorder()
    with pytest.raises(bp.BudgetError) as caught:
        session.release(bp.Mean("a"), epsilon="0.5")
    assert caught.value.requested == 1
    assert session.engine.calls == []


FILE = """
version: 1
data: t.csv
ledger: t.ledger
budget: 1.0
policy:
  domain: {a: {integer: [0, 7]}, b: {integer: [0, 7]}}
  secrets: full
releases:
"""
RELEASES = {
    "mean": "mean: a",
    "cumulative": "cumulative: a",
    "range_grid": "range_grid: [a, b]",
    "kmeans": "kmeans: [a, b], k: 2",
    "synthetic": "synthetic: [a, b]",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n5,6\n" * 400)
    asked = []
    for name in ("rows", "counts", "lattice_sums", "assignments"):
        real = getattr(TableEngine, name)
        monkeypatch.setattr(
            TableEngine, name, lambda self, *a, _n=name, _r=real, **o: asked.append(_n) or _r(self, *a, **o)
        )
    return tmp_path, asked


@pytest.mark.parametrize("query", RELEASES.values(), ids=RELEASES)
def test_the_command_asks_the_data_nothing_for_what_is_over_budget(folder, capsys, query):
    path, asked = folder
    (path / "p.yaml").write_text(f"{FILE}  - {{name: one, {query}, epsilon: 0.6}}\n")
    assert run(["ledger", "create", str(path / "p.yaml")]) == 0
    assert run(["release", str(path / "p.yaml"), "--yes", "--out", str(path / "out")]) == 0
    assert asked[0] == "rows"
    for change in (f"  - {{name: two, {query}, epsilon: 0.6}}\n", f"  - {{name: one, {query}, epsilon: 0.6}}\n"):
        asked.clear()
        capsys.readouterr()
        (path / "q.yaml").write_text(FILE + change)
        options = ["--new"] if "one" in change else []
        assert run(["release", str(path / "q.yaml"), "--yes", "--out", str(path / "out"), *options]) == 4
        assert "only 0.4 is left: 0.2 too much. Nothing was charged, and no value was read." in capsys.readouterr().err
        assert asked == []
    # The same again is written again, with the budget nearly used up.
    assert run(["release", str(path / "p.yaml"), "--yes", "--out", str(path / "out")]) == 0
    assert run(["plan", str(path / "p.yaml")]) == 0
    assert set(asked) == {"rows"}


@pytest.mark.parametrize("command", ["plan", "release"])
def test_help_says_what_is_read(command, capsys):
    assert run([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split()).lower()
    assert "no data" not in said
    assert "number of rows" in said
    assert "no value" in said


ODD = {"text": "SECRET", "half": 30.5, "missing": None}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_values_of_objects_decide_over_nothing_before_the_charge(tmp_path, odd):
    domain = bp.Domain(age=bp.Integer(0, 99))
    policy = bp.Policy(domain, secrets=bp.FullDomain())
    table = pd.DataFrame({"age": pd.Series([30, 31, odd, 33], dtype=object)})
    session = bp.Session(table, policy, budget=1, ledger=tmp_path / "l", create=True)
    with pytest.raises(bp.BudgetError):
        session.release(bp.Histogram("age"), epsilon=5)
    with pytest.raises(bp.DataError) as caught:
        session.release(bp.Histogram("age"), epsilon="0.25")
    assert "SECRET" not in str(caught.value)
    assert session.remaining == Fraction(3, 4)


@pytest.mark.parametrize("odd", [30.5, np.nan, np.inf, 1e300])
def test_values_of_an_array_decide_over_nothing_before_the_charge(tmp_path, odd):
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 99)), secrets=bp.FullDomain())
    table = np.full((50, 1), 30.0)
    table[7] = odd
    session = bp.Session(bp.Counts(np.zeros(100, dtype=int)), policy, budget=1, ledger=tmp_path / "l", create=True)
    with pytest.raises(bp.BudgetError):
        bp.KMeansEstimator(1, policy=policy, epsilon=5, ledger=session.ledger).fit(table)
    with pytest.raises(bp.DataError):
        bp.KMeansEstimator(1, policy=policy, epsilon="0.25", ledger=session.ledger).fit(table)
    assert session.remaining == Fraction(3, 4)
