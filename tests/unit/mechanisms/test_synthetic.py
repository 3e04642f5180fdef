"""Records drawn from conditional tables: rounded as closely as can be, without bias, never impossible."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from itertools import combinations
from math import log, sqrt
from time import perf_counter

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.synthetic import tree as records
from blowfish_privacy.mechanisms.synthetic.model import Measurement
from blowfish_privacy.mechanisms.synthetic.tree import Step, tree_records
from blowfish_privacy.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from blowfish_privacy.results import ModelTable, SyntheticResult
from blowfish_privacy.results.result import counted
from blowfish_privacy.results.synthetic import quality, total_variation
from blowfish_privacy.statements.card import make_card

FALSE_ALARM = 1e-10


def records_counted(drawn, axes, shape):
    """Count the records in each cell of a table."""
    sizes = [shape[axis] for axis in axes]
    codes = np.ravel_multi_index(tuple(drawn[:, axis] for axis in axes), sizes) if len(drawn) else np.zeros(0, int)
    return np.bincount(codes, minlength=int(np.prod(sizes))).reshape(sizes)


def joint(steps, shape):
    """Multiply the conditionals out: the probability of every cell of the whole domain."""
    whole = np.ones(shape)
    for step in steps:
        shares = step.table / step.table.sum(axis=-1, keepdims=True)
        places = (*step.parents, step.axis)
        arranged = np.transpose(shares, np.argsort(places))
        whole = whole * arranged.reshape([size if axis in places else 1 for axis, size in enumerate(shape)])
    return whole


@st.composite
def trees(draw):
    """Make steps with up to two parents each, for attributes of 2 to 5 values in any order."""
    shape = draw(st.lists(st.integers(2, 5), min_size=1, max_size=5))
    order = draw(st.permutations(range(len(shape))))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = []
    for place, axis in enumerate(order):
        many = draw(st.integers(0, min(2, place)))
        parents = tuple(int(parent) for parent in generator.permutation(order[:place])[:many])
        table = generator.gamma(0.5, size=[*(shape[parent] for parent in parents), shape[axis]])
        steps.append(Step(axis, parents, table + 1e-3))
    return shape, steps


@given(trees(), st.integers(0, 300), st.integers(0, 2**32))
def test_every_group_is_rounded_up_or_down_and_complete(tree, many, seed):
    shape, steps = tree
    drawn = tree_records(steps, many, np.random.default_rng(seed))
    assert drawn.shape == (many, len(shape))
    for step in steps:
        found = records_counted(drawn, (*step.parents, step.axis), shape)
        expected = step.table / step.table.sum(axis=-1, keepdims=True) * found.sum(axis=-1, keepdims=True)
        assert (np.abs(found - expected) < 1 + 1e-6).all()
    assert (drawn >= 0).all()
    assert (drawn < np.array(shape)).all()


TREE = [
    Step(1, (), np.array([0.5, 0.3, 0.2])),
    Step(0, (1,), np.array([[0.7, 0.3], [0.15, 0.85], [0.5, 0.5]])),
    Step(2, (1,), np.array([[0.2, 0.8], [0.6, 0.4], [0.35, 0.65]])),
    Step(3, (0, 2), np.array([[[0.25, 0.75], [0.9, 0.1]], [[0.45, 0.55], [0.3, 0.7]]])),
]

SHAPE = [2, 3, 2, 2]


def off_by(draws, many):
    """Return how far the mean number of records in a cell of the whole domain is from the expected one, at most."""
    sums = np.zeros(SHAPE)
    for seed in range(draws):
        sums += records_counted(tree_records(TREE, many, np.random.default_rng(seed)), range(4), SHAPE)
    return np.abs(sums / draws - joint(TREE, SHAPE) * many).max()


@pytest.mark.parametrize("many", [1, 2, 5])
def test_records_have_the_law_of_the_model(many, monkeypatch):
    """Hoeffding: a mean of counts in [0, many] misses by more than the bound with probability below 1e-10 overall.

    Seeds are fixed, so the test cannot fail by chance. A mutant without random offset is caught.
    """
    draws = 3000
    bound = many * sqrt(log(2 * 24 / FALSE_ALARM) / (2 * draws))
    assert off_by(draws, many) < bound
    if many == 1:

        def without_offset(shares, of_records, points):
            return below(shares, of_records, np.floor(points * many) / many)

        below = records._below
        monkeypatch.setattr(records, "_below", without_offset)
        assert off_by(draws, many) > bound


class InOrder(np.random.Generator):
    """A mutant: nothing is ever shuffled."""

    def permutation(self, given, axis=0):
        return np.arange(given) if isinstance(given, int) else np.asarray(given)


def test_who_gets_the_first_point_is_random():
    """Two kept records, alike but for one column: either must get the first value, half of the time.

    Over 2,000 seeds a fair share is within 0.08 of 1/2 but for a probability of 2 exp(-2 * 2000 * 0.08^2) < 2e-11.
    """
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2))]
    kept = np.array([[0, -1], [1, -1]])

    def share(made):
        return np.mean([tree_records(steps, 2, made(np.random.PCG64(seed)), kept)[0, 1] for seed in range(2000)])

    class Unturned(InOrder):
        """A mutant: the first record always gets the first point."""

        def integers(self, low, high):
            return np.zeros_like(high)

    assert abs(share(np.random.Generator) - 0.5) < 0.08
    assert abs(share(Unturned) - 0.5) > 0.08


def chain(values, attributes, generator):
    """Make a chain of attributes, each one close to the one before."""
    near = np.exp(-np.abs(np.subtract.outer(np.arange(values), np.arange(values)))) + 0.02
    start = generator.dirichlet(np.ones(values))
    return [Step(0, (), start), *(Step(axis, (axis - 1,), near) for axis in range(1, attributes))]


def independent(steps, many, generator):
    """Draw every value by itself."""
    drawn = np.zeros((many, len(steps)), dtype=np.int64)
    for step in steps:
        shares = step.table[tuple(drawn[:, parent] for parent in step.parents)]
        ends = np.cumsum(np.broadcast_to(shares, (many, step.table.shape[-1])), axis=1)
        drawn[:, step.axis] = (ends < generator.random(many)[:, None] * ends[:, -1:]).sum(axis=1)
    return drawn


def test_the_error_is_far_below_that_of_independent_draws():
    shape, many = [6] * 5, 20_000
    generator = np.random.default_rng(3)
    steps = chain(6, 5, generator)
    whole = joint(steps, shape) * many

    def error(drawn, ways):
        tables = list(combinations(range(5), ways))
        off = [
            np.abs(records_counted(drawn, axes, shape) - whole.sum(axis=tuple(set(range(5)) - set(axes)))).sum()
            for axes in tables
        ]
        return np.mean(off) / 2 / many

    ours, theirs = tree_records(steps, many, generator), independent(steps, many, generator)
    for ways, ratio in ((1, 0.15), (2, 0.2), (3, 0.5)):
        assert error(ours, ways) < ratio * error(theirs, ways)


@pytest.mark.parametrize("sizes", [[4] * 30, [3000, *[4] * 9], [2, 3000, 2000, *[5] * 6]])
def test_attributes_with_the_same_parents_do_not_depend_on_each_other(sizes):
    """Many attributes, or one of so many values that it tells all records apart: no order may come back.

    The statistic of Pearson of each pair of small attributes, over its degrees of freedom, is about one for independent
    draws with given sums; 5 with 9 degrees or more is passed with a probability below 1e-5, and seeds are fixed.
    """
    steps = [Step(0, (), np.ones(3)), *(Step(place, (0,), np.ones((3, size))) for place, size in enumerate(sizes, 1))]
    small = [axis for axis, size in enumerate(sizes, 1) if 4 <= size <= 5]

    def worst(generator):
        drawn, found = tree_records(steps, 12_000, generator), []
        for axes in combinations(small, 2):
            counts = records_counted(drawn, axes, [3, *sizes])
            expected = 12_000 / counts.size
            found.append(((counts - expected) ** 2).sum() / expected / np.prod([size - 1 for size in counts.shape]))
        return max(found)

    assert worst(np.random.Generator(np.random.PCG64(1))) < 5
    assert worst(InOrder(np.random.PCG64(1))) > 100


def test_impossible_combinations_never_come_out():
    generator = np.random.default_rng(5)
    possible = generator.random((4, 5, 6)) < 0.5
    possible[..., 2] = True
    steps = [
        Step(0, (), np.array([1.0, 0.0, 2.0, 1e-13])),
        Step(1, (0,), np.array([[0, 1, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 1, 1]]) * 1.0),
        Step(2, (0, 1), np.where(possible, generator.random((4, 5, 6)), 0.0)),
    ]
    drawn = tree_records(steps, 100_000, generator)
    assert not (drawn[:, 0] == 1).any()
    assert not ((drawn[:, 0] == 0) & np.isin(drawn[:, 1], [0, 4])).any()
    assert possible[tuple(drawn.T)].all()


def test_kept_columns_stay_row_by_row_and_steer_the_others():
    generator = np.random.default_rng(6)
    kept = np.full((999, 3), -1)
    kept[:, 1] = generator.integers(0, 3, 999)
    steps = [Step(1, (), np.ones(3)), Step(0, (1,), np.eye(3)), Step(2, (0,), np.array([[1, 1], [0, 1], [1, 0]]) * 1.0)]
    drawn = tree_records(steps, 999, generator, kept)
    assert (drawn[:, 1] == kept[:, 1]).all()
    assert (drawn[:, 0] == kept[:, 1]).all()
    assert abs(drawn[kept[:, 1] == 0, 2].mean() - 0.5) < 0.01
    assert (drawn[kept[:, 1] == 1, 2] == 1).all()


def test_a_group_that_the_model_does_not_know_gets_what_each_parent_allows():
    """(0, 0) never occurs; the first parent excludes value 0 and the second value 3, and 1 and 2 are left."""
    table = np.zeros((2, 2, 4))
    table[0, 1], table[1, 0], table[1, 1] = [0, 3, 1, 4], [2, 3, 1, 0], [1, 1, 1, 1]
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2)), Step(2, (0, 1), table)]
    kept = np.array([[0, 0, -1]] * 100)
    found = np.bincount(tree_records(steps, 100, np.random.default_rng(7), kept)[:, 2], minlength=4)
    # The shares are 7 * (3/7) * (3/7) = 9/7 and 3 * (1/3) * (1/3) = 1/3: 79.4 and 20.6 of a hundred.
    assert found[0] == found[3] == 0
    assert found[1] in (79, 80)


def test_where_the_parents_contradict_each_other_the_attribute_goes_by_itself():
    table = np.zeros((2, 2, 3))
    table[0, 1], table[1, 0] = [1, 0, 0], [0, 3, 0]
    steps = [Step(0, (), np.ones(2)), Step(1, (), np.ones(2)), Step(2, (0, 1), table)]
    drawn = tree_records(steps, 8, np.random.default_rng(8), np.array([[0, 0, -1]] * 8))
    assert np.bincount(drawn[:, 2], minlength=3).tolist() == [2, 6, 0]
    empty = [*steps[:2], Step(2, (0, 1), np.zeros((2, 2, 4)))]
    drawn = tree_records(empty, 8, np.random.default_rng(8), np.array([[0, 0, -1]] * 8))
    assert np.bincount(drawn[:, 2]).tolist() == [2, 2, 2, 2]


def test_records_depend_on_the_seed_alone():
    steps = chain(7, 4, np.random.default_rng(9))
    first = tree_records(steps, 500, np.random.default_rng(1))
    assert (first == tree_records(steps, 500, np.random.default_rng(1))).all()
    assert (first != tree_records(steps, 500, np.random.default_rng(2))).any()


def test_the_first_records_are_no_special_ones():
    drawn = tree_records(chain(10, 3, np.random.default_rng(10)), 10_000, np.random.default_rng(1))
    shares = np.bincount(drawn[:, 0], minlength=10) / 10_000
    start = np.bincount(drawn[:1000, 0], minlength=10) / 1000
    assert np.abs(start - shares).max() < 0.12  # Hoeffding, ten values: 20 exp(-2 * 1000 * 0.12^2) < 1e-11


def test_many_values_and_no_records():
    wide = [Step(0, (), np.arange(65_536.0)), Step(1, (0,), np.ones((65_536, 2)))]
    drawn = tree_records(wide, 1000, np.random.default_rng(11))
    assert len(np.unique(drawn[:, 0])) == 1000
    assert abs(drawn[:, 1].sum() - 500) <= 30
    assert tree_records(wide, 0, np.random.default_rng(11)).shape == (0, 2)


@pytest.mark.slow
def test_a_million_records_take_seconds():
    steps = chain(20, 14, np.random.default_rng(12))
    begin = perf_counter()
    tree_records(steps, 10**6, np.random.default_rng(1))
    assert perf_counter() - begin < 60


# Synthetic records: what a release of them gives, and what is refused.


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
