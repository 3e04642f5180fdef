"""Synthetic records: what a release of them gives, and what is refused."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from itertools import combinations
from math import sqrt

import duckdb
import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.synthetic.model import Measurement
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from blowfish_privacy.results import ModelTable, SyntheticResult
from blowfish_privacy.results.quality import quality
from blowfish_privacy.results.result import counted
from blowfish_privacy.results.synthetic import total_variation
from blowfish_privacy.statements.card import make_card

DOMAIN = bp.Domain(
    age=bp.Integer(0, 9),
    sex=bp.Categorical(["F", "M"]),
    wage=bp.Binned([0, 10, 50, 200]),
    place=bp.Hierarchy(["state", "county"], {"A": ["a", "b"], "B": ["c"]}),
)
NAMES = list(DOMAIN.names)
OPEN_SEX = bp.PerAttribute(age=bp.FullDomain(), sex=bp.Public(), wage=bp.FullDomain(), place=bp.FullDomain())
GENERATOR = np.random.default_rng(5)
SEX = GENERATOR.integers(0, 2, 4_000)
TABLE = pd.DataFrame(
    {
        "age": np.clip(GENERATOR.integers(0, 5, 4_000) + 4 * SEX, 0, 9),
        "sex": np.array(["F", "M"])[SEX],
        "wage": GENERATOR.random(4_000) * 200,
        "place": np.array(["a", "b", "c"])[(SEX + (GENERATOR.random(4_000) < 0.2)) % 3],
    }
)


def session(secrets=None, **policy):
    made = bp.Policy(DOMAIN, secrets=bp.Attributes() if secrets is None else secrets, **policy)
    return bp.Session(TABLE, made, budget={"rho": 100})


@pytest.fixture(scope="module")
def people():
    return session().release(bp.Synthetic(NAMES, 2), rho="0.1", name="people")


def test_records_have_the_form_of_the_data(people):
    records = people.records()
    assert isinstance(people, SyntheticResult)
    assert [*records] == NAMES == people.header
    assert {len(column) for column in records.values()} == {4_000}
    assert records["age"].dtype == np.int64
    assert {*records["wage"].tolist()} <= {5.0, 30.0, 125.0}
    assert {*records["place"].tolist()} <= {"a", "b", "c"}
    # So they can be released, checked and counted like the data themselves.
    again = bp.Session(pd.DataFrame(records), people.release.policy, budget=1)
    assert again.check().fits


def test_equal_documents_give_equal_records(people, tmp_path):
    people.save(tmp_path / "p.json")
    loaded = bp.load(tmp_path / "p.json")
    assert loaded.csv() == people.csv()
    first, second, other = people.positions(50, seed=1), people.positions(50, seed=1), people.positions(50, seed=2)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert len(people.records(7)["age"]) == 7


@pytest.mark.parametrize("many", [0, -1, 2.5, True, "7", None, 2**54])
def test_wrong_numbers_of_records_are_refused(people, many):
    if many is not None:
        with pytest.raises(bp.QueryError, match="number of records"):
            people.records(many)
    for seed in (-1, 1.5, "x", True):
        with pytest.raises(bp.QueryError, match="seed"):
            people.records(3, seed=seed)


def test_no_more_records_are_drawn_than_fit(people, monkeypatch):
    monkeypatch.setattr("blowfish_privacy.results.synthetic.SYNTHETIC_DRAWN", 4 * 500)
    assert len(people.records()["age"]) == 500
    assert "There are 500 of them, for 4,000 in the data." in people.remarks()
    with pytest.raises(bp.QueryError, match="at most 500 records of 4 attributes"):
        people.records(501)


def test_tables_frames_and_files_hold_the_same_records(people, tmp_path):
    rows = [*people.rows()]
    assert rows == people.to_frame().to_numpy(dtype=object).tolist()
    read = list(csv.reader(io.StringIO(people.csv().decode(), newline="")))
    assert read == [NAMES, *([str(cell) for cell in row] for row in rows)]
    people.to_csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes() == people.csv()
    people.to_parquet(tmp_path / "p.parquet")
    found = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path / 'p.parquet'}')")
    assert found.columns == NAMES
    assert [list(row) for row in found.fetchall()] == rows
    assert len(people.to_frame(9)) == 9


def test_a_table_of_the_model_says_that_no_formula_states_its_error(people):
    table = people.table("place", "sex")
    assert isinstance(table, ModelTable)
    assert table.values.shape == (3, 2)
    assert table.values.sum() == pytest.approx(4_000)
    assert np.allclose(table.values.T, people.table("sex", "place").values)
    assert "No formula states the error" in table.remarks()[0]
    assert [row[:2] for row in table.rows()][:2] == [["a", "F"], ["a", "M"]]
    assert table.header == ["place", "sex", "count"]
    assert table.figure() is not None
    single = people.table("age")
    assert single.measured
    assert "tables() has it" in single.remarks()[0]
    wide = people.table(*NAMES)
    assert wide.values.shape == (10, 2, 3, 3)
    assert not wide.measured
    for wrong in ((), ("age", "age"), ("agee",), (5,)):
        with pytest.raises(bp.QueryError):
            people.table(*wrong)


def test_measured_tables_have_the_errors_of_their_noise(people):
    tables = people.tables()
    assert {("age",), ("sex",)} <= {table.names for table in tables}
    assert max(len(table.names) for table in tables) == 2
    for table in tables:
        scale = table.error.scale
        assert scale > 0
        assert table.values.dtype == np.int64
        assert table.standard_error == pytest.approx(sqrt(DISCRETE_GAUSSIAN.variance(scale)))
        low, high = table.interval("0.95")
        assert np.allclose((high - low) / 2, DISCRETE_GAUSSIAN.quantile(scale, "0.95"))
    value, error = tables[0].subtotal({tables[0].names[0]: DOMAIN[tables[0].names[0]].value(0)})
    assert (value, error) == (tables[0].values[0], pytest.approx(tables[0].standard_error))


def test_pure_noise_and_a_secret_number_of_records():
    result = session(size="unknown").release(bp.Synthetic(["age", "sex"]), epsilon=4, noise="laplace")
    assert result.certificate.epsilon == 4
    assert result.tables()[0].error.law is DISCRETE_LAPLACE
    assert result.release.records is None
    # The number of records is estimated from tables whose noise has a deviation of some ten records at most.
    assert abs(len(result.records()["age"]) - 4_000) < 1_000


def test_public_columns_are_kept_row_by_row():
    own = session(OPEN_SEX)
    result = own.release(bp.Synthetic(NAMES, 2, keep=["sex"]), rho="0.1")
    records = result.records()
    true = TABLE["sex"].value_counts().to_dict()
    assert pd.Series(records["sex"]).value_counts().to_dict() == true
    with pytest.raises(bp.QueryError, match="kept columns are those of 4,000 records"):
        result.records(10)
    said = str(make_card(result.text))
    assert "row by row" in said
    assert "In this release, exactly: the table of “sex”." in said
    with pytest.raises(bp.RefusalError, match="cannot be kept"):
        own.plan(bp.Synthetic(NAMES, 2, keep=["age"]), rho="0.1")
    assert len(own.ledger.entries()) == 1


def test_impossible_combinations_do_not_occur():
    never = [{"age": (0, 1), "place@state": "B"}, {"sex": "M", "wage": (50, 200)}]
    result = session().release(bp.Synthetic(NAMES, 2, impossible=never), rho="0.1")
    made = result.to_frame()
    assert not ((made["age"] <= 1) & (made["place"] == "c")).any()
    assert not ((made["sex"] == "M") & (made["wage"] == 125)).any()
    assert len(made) == 4_000


def test_combinations_that_leave_nothing_possible_are_refused_before_the_charge():
    own = session()
    every = [{"sex": "F", "age": (0, 4)}, {"sex": "F", "age": (5, 9)}, {"sex": "M", "place": ["a", "b"]}]
    assert own.plan(bp.Synthetic(NAMES, 2, impossible=every), rho="0.1")
    with pytest.raises(bp.QueryError, match="leave no record possible"):
        own.release(bp.Synthetic(NAMES, 2, impossible=[*every, {"sex": "M", "place": "c"}]), rho="0.1")
    assert own.ledger.entries() == ()


def test_conditions_on_very_many_pairs_need_no_tree():
    names = [f"a{number}" for number in range(12)]
    domain = bp.Domain({name: bp.Integer(0, 9) for name in names})
    table = pd.DataFrame({name: GENERATOR.integers(0, 10, 400) for name in names})
    own = bp.Session(table, bp.Policy(domain, secrets=bp.Attributes()), budget={"rho": 1})
    never = [{first: 0, second: 0} for first, second in combinations(names, 2)]
    made = own.release(bp.Synthetic(names, 2, impossible=never), rho="0.1").positions()
    assert ((made == 0).sum(axis=1) <= 1).all()


def test_quality_is_told_by_the_release_alone(people):
    report = people.quality()
    assert {*report.attributes} == {*NAMES}
    assert len(report.pairs) + len(report.unmeasured) == 6
    assert len([*report.rows()]) == len(report.tables) == len(report.to_frame())
    assert "tables were measured" in report.explain()
    # What records are drawn from was fitted to these numbers.
    assert max(fit.misfit for fit in report.tables) < 3
    assert report is people.quality()


class Fixed:
    """A model of two independent attributes, all values alike."""

    shape, total = (2, 3, 2), 1200.0

    def table(self, axes):
        sizes = [self.shape[axis] for axis in axes]
        return np.full(sizes, self.total / np.prod(sizes))


def test_misfit_is_counted_in_deviations_of_the_noise():
    domain = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 2), c=bp.Integer(0, 1))
    near = Measurement((0,), np.array([603, 597]), 9.0)
    far = Measurement((0, 1), np.full((2, 3), 200) + np.array([[12, -12, 0], [0, 12, -12]]), 4.0)
    exact = Measurement((2,), np.array([600, 600]), 0.0)
    report = quality([near, far, exact], Fixed(), domain)
    assert report.attributes["a"].misfit == pytest.approx(1)
    assert report.attributes["a"].distance == pytest.approx(3 / 1200)
    # Two of six cells are right, four are six deviations off.
    assert report.pairs["a", "b"].misfit == pytest.approx(6 * sqrt(4 / 6))
    assert not report.pairs["a", "b"].holds
    assert [fit.names for fit in report.doubtful] == [("a", "b")]
    # The other attribute is told by the sums of the table: a difference of 12, 0 and -12 with twice the variance.
    assert report.attributes["b"].misfit == pytest.approx(sqrt(2 / 3 * 144 / 8))
    assert report.attributes["c"].misfit == 0
    assert report.unmeasured == [("a", "c"), ("b", "c")]
    assert "holds 2 of them" in report.explain()
    assert "“a” by “b”: 4.9 times" in report.explain()
    wrong = quality([Measurement((2,), np.array([700, 500]), 0.0)], Fixed(), domain)
    # Exact counts have no noise to compare with: a thousandth of the records counts as one deviation.
    assert wrong.attributes["c"].misfit == pytest.approx(1000 * 100 / 1200)
    assert not wrong.attributes["c"].holds
    assert [*wrong.attributes] == ["c"]


def test_several_measurements_of_a_table_count_together():
    domain = bp.Domain(a=bp.Integer(0, 1), b=bp.Integer(0, 2), c=bp.Integer(0, 1))
    twice = [Measurement((0,), np.array([610, 590]), 100.0), Measurement((0,), np.array([590, 610]), 100.0)]
    assert quality(twice, Fixed(), domain).attributes["a"].misfit == 0


def test_pictures_are_drawn_of_few_and_of_many_attributes(people):
    assert len(people.figure().axes) >= 4
    many = bp.Domain({f"attribute {number}": bp.Integer(0, 60 if number == 0 else 1) for number in range(18)})
    policy = bp.Policy(many, secrets=bp.Attributes())
    table = pd.DataFrame({name: GENERATOR.integers(0, many[name].size, 300) for name in many.names})
    result = bp.Session(table, policy, budget={"rho": 1}).release(bp.Synthetic(many.names, 1), rho="0.1")
    assert result.png().startswith(b"\x89PNG")


def test_the_custodian_compares_and_pays_nothing(people):
    own = session()
    before = own.remaining
    compared = own.compare(people)
    assert own.remaining == before
    assert {ways: each.tables for ways, each in compared.ways.items()} == {1: 4, 2: 6, 3: 4}
    made = counted(people.positions(), (1,), DOMAIN.shape)
    share = (TABLE["sex"] == "F").mean()
    assert compared.tables[("sex",)] == pytest.approx(abs(made[0] / 4_000 - share))
    assert compared.ways[1].mean < compared.ways[3].mean
    assert compared.tables[compared.worst[0]] == max(each.worst for each in compared.ways.values())
    assert "do not publish" in compared.explain()
    with pytest.raises(bp.QueryError, match="synthetic records are compared"):
        own.compare(own.release(bp.Histogram("sex"), rho="0.01"))
    other = bp.Policy(bp.Domain(age=bp.Integer(0, 9)), secrets=bp.FullDomain())
    with pytest.raises(bp.PolicyError, match="different domain"):
        bp.Session(TABLE[["age"]], other, budget=1).compare(people)


def test_the_distance_of_empty_tables():
    empty, full = np.zeros(3, dtype=np.int64), np.array([1, 2, 3])
    assert total_variation(empty, empty) == 0
    assert total_variation(empty, full) == 1
    assert total_variation(full, 7 * full) == 0
    assert total_variation(np.array([4, 0]), np.array([0, 9])) == 1


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (lambda: bp.Synthetic(["age"]), bp.QueryError),
        (lambda: bp.Synthetic(["age", "one"]), bp.QueryError),
        (lambda: bp.Synthetic(["age", "code"]), bp.QueryError),
        (lambda: bp.Synthetic(["age", "sex"], []), bp.QueryError),
        (lambda: bp.Synthetic(["age", "nothing"]), bp.QueryError),
        (lambda: bp.Synthetic(["age", "sex"], keep=["sex"]), bp.RefusalError),
    ],
)
def test_bad_input_is_refused_and_nothing_is_charged(query, error):
    domain = bp.Domain(
        age=bp.Integer(0, 9),
        sex=bp.Categorical(["F", "M"]),
        one=bp.Categorical(["x"]),
        code=bp.Integer(1, 10**6),
    )
    table = pd.DataFrame({"age": [1], "sex": ["F"], "one": ["x"], "code": [1]})
    own = bp.Session(table, bp.Policy(domain, secrets=bp.Attributes()), budget={"rho": 1})
    with pytest.raises(error):
        own.release(query(), rho="0.1")
    assert own.remaining == Fraction(1)
    assert own.engine.reads == 0 or not own.ledger.entries()


def test_a_table_without_records_has_none_to_make_up():
    own = bp.Session(TABLE[:0], bp.Policy(DOMAIN, secrets=bp.Attributes()), budget={"rho": 1})
    with pytest.raises(bp.QueryError, match="at least one record"):
        own.release(bp.Synthetic(NAMES), rho="0.1")
    assert own.ledger.entries() == ()
    one = bp.Session(TABLE[:1], bp.Policy(DOMAIN, secrets=bp.Attributes()), budget={"rho": 1})
    assert len(one.release(bp.Synthetic(NAMES), rho="0.1").records()["age"]) == 1


def test_a_card_says_what_synthetic_records_are_and_are_not(people):
    said = str(make_card(people.text))
    assert "None stands for a person" in said
    assert "Rare combinations" in said
    assert "No formula states" in said
    plan = session().plan(bp.Synthetic(NAMES, 2), rho="0.1", name="people")
    assert "the synthetic records of age, sex, wage, place" in plan.explain()
