"""Sets of tables: the estimate and its error against brute force on tiny domains, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError, RefusalError
from blowfish_privacy.mechanisms import Laplace, Marginals
from blowfish_privacy.mechanisms.grid.grid_family import random_rectangles
from blowfish_privacy.mechanisms.intervals import KnownParts, known_bounds
from blowfish_privacy.mechanisms.tables import agreeing as nonnegative_module
from blowfish_privacy.mechanisms.tables import agreeing as whole_module
from blowfish_privacy.mechanisms.tables.agreeing import Agreement, fit_two, nonnegative, whole
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.nesting import Nesting, nesting, weighed
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.queries.tables import Block, TablesForm, View
from blowfish_privacy.results import from_text
from blowfish_privacy.testing.seeded import SeededSource
from blowfish_privacy.testing.strategies import policies
from effort import examples
from estimating import estimating
from registries import forgotten


def domain_of(shape):
    return bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(shape)})


def form_of(components, *blocks):
    """The tables of these blocks, on the components' axes: which are attributes."""
    return TablesForm(domain_of(components.shape), blocks)


def rows_of(components, block):
    """The rows that a block adds to the counts of all cells, written out."""
    form = form_of(components, block)
    return np.array([form.column(cell) for cell in form.domain.cells()], dtype=float).T


@st.composite
def measured(draw):
    """A small domain, tables to measure with signs and variances, and tables that these tell."""
    shape = tuple(draw(st.lists(st.integers(2, 3), min_size=1, max_size=3)))
    axes = range(len(shape))
    sets = [chosen for many in range(1, len(shape) + 1) for chosen in combinations(axes, many)]
    asked = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=3, unique=True))
    more = draw(st.lists(st.sampled_from(sets), max_size=3, unique=True))
    blocks = [Block(table) for table in dict.fromkeys([*asked, *more])]
    for table in draw(st.lists(st.sampled_from(sets), max_size=2, unique=True)):
        signs = tuple(axis for axis in table if shape[axis] == 2 and draw(st.booleans()))
        blocks.append(Block((*(axis for axis in table if axis not in signs), *signs), signs))
    variances = tuple(draw(st.sampled_from([0.5, 1.0, 4.0])) for _ in blocks)
    return Components(shape, tuple(blocks), variances, tuple(asked), counted=draw(st.booleans()))


def dense(components):
    """The generalised least squares solution, with all rows written out: rows, estimator, and covariance of cells."""
    rows = np.concatenate([rows_of(components, block) for block in components.blocks])
    sizes = form_of(components, *components.blocks).sizes
    deviation = np.sqrt(np.repeat(components.variances, sizes))
    if components.counted:
        rows = np.concatenate([rows, np.ones((1, rows.shape[1]))])
        deviation = np.append(deviation, 1e-6)
    return rows, np.linalg.pinv(rows / deviation[:, None], rcond=1e-12) / deviation, deviation


@given(components=measured(), seed=st.integers(0, 10**6))
@settings(max_examples=examples(80), deadline=None)
def test_the_estimate_and_its_errors_are_those_of_generalised_least_squares(components, seed):
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 20, components.shape)
    rows, solve, deviation = dense(components)
    exact = rows @ counts.reshape(-1)
    noisy = exact + np.round(generator.normal(0, 5, len(exact)))
    if components.counted:
        noisy[-1] = exact[-1]
    sizes = form_of(components, *components.blocks).sizes
    cuts = np.split(noisy[: sum(sizes)], np.cumsum(sizes)[:-1])
    shapes = [form_of(components).shape_of(block) for block in components.blocks]
    tables = [cut.reshape(shape).astype(np.int64) for cut, shape in zip(cuts, shapes, strict=True)]
    found = components.estimate(tables, int(exact[-1]) if components.counted else None)
    for axes in components.tables:
        wanted = rows_of(components, Block(axes))
        assert np.allclose(components.table(found, axes).reshape(-1), wanted @ (solve @ noisy), atol=1e-3)
        linear = wanted @ solve * deviation
        assert np.allclose((linear**2).sum(axis=1), components.variance(axes), atol=1e-4)
        many = [1 + (seed + axis) % components.shape[axis] for axis in axes]
        inside = np.ix_(*(range(size) for size in many))
        picked = [range(size) for size in many]
        chosen = np.zeros([components.shape[axis] for axis in axes])
        chosen[inside] = 1
        assert np.isclose(((chosen.reshape(-1) @ linear) ** 2).sum(), components.variance(axes, picked), atol=1e-4)


@given(components=measured())
@settings(max_examples=examples(80), deadline=None)
def test_the_noise_in_every_cell_has_its_variance(components):
    together = [components.variance(axes) for axes in components.tables]
    assert np.allclose(components.table_variances, together, atol=1e-12)
    for axes in components.tables:
        for cell in np.ndindex(*(components.shape[axis] for axis in axes)):
            noise = components.noise_in_cell(axes, cell)
            total = sum(each.variance * each.many * float(each.factors @ each.factors) for each in noise)
            assert np.isclose(total, components.cell_variances(axes)[cell], atol=1e-9)


@st.composite
def nested(draw):
    """Tables of an attribute on up to three levels, and of two others, with some noise on each."""
    leaves = draw(st.integers(2, 6))
    inner = np.sort(np.array(draw(st.lists(st.integers(0, 3), min_size=leaves, max_size=leaves))))
    inner = np.unique(inner, return_inverse=True)[1]
    outer = (inner >= draw(st.integers(0, 3))).astype(np.int64)
    outer = np.unique(outer, return_inverse=True)[1]
    views = (View("outer", 0, outer), View("inner", 0, inner))[draw(st.integers(0, 1)) :]
    domain = domain_of((leaves, 2, 3))
    levels = [0, *range(3, 3 + len(views))]
    others = [(), (1,), (2,), (1, 2)]
    sets = [(level, *rest) for level in levels for rest in others] + others[1:]
    asked = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=3, unique=True))
    more = draw(st.lists(st.sampled_from(sets), max_size=3, unique=True))
    blocks = tuple(Block(table) for table in dict.fromkeys([*asked, *more]))
    form = TablesForm(domain, blocks, views)
    variances = tuple(draw(st.sampled_from([0.5, 1.0, 4.0])) for _ in blocks)
    counted, levels = draw(st.booleans()), nesting(form)
    if draw(st.booleans()):
        levels = weighed(levels, form.shape, blocks, variances)
    return form, Components(form.shape, blocks, variances, tuple(asked), counted=counted, nesting=levels)


@given(case=nested(), seed=st.integers(0, 10**6))
@settings(max_examples=examples(100), deadline=None)
def test_levels_agree_are_unbiased_and_have_the_errors_stated(case, seed):
    form, components = case
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 20, form.domain.shape)

    estimated = estimating(form, components)
    exact = estimated(form.answer(counts), int(counts.sum()))
    for axes, table in zip(components.tables, exact, strict=True):
        assert np.allclose(table.reshape(-1), form.of((Block(axes),)).answer(counts), atol=1e-9)
    # The estimate is linear: one noisy number at a time shows with which factor it is in every cell.
    alone = [estimated(row, 0) for row in np.eye(form.outputs, dtype=np.int64)]
    noise = np.repeat(components.variances, form.sizes)
    for number, axes in enumerate(components.tables):
        factors = np.array([tables[number] for tables in alone])
        stated = components.cell_variances(axes)
        assert np.allclose(np.einsum("r,r...->...", noise, factors**2), stated, atol=1e-9)
        assert np.isclose(stated.max(), components.variance(axes))
        chosen = [sorted({seed % size, (seed // 7) % size}) for size in stated.shape]
        sums = factors[(slice(None), *np.ix_(*chosen))].reshape(len(noise), -1).sum(axis=1)
        assert np.isclose(noise @ sums**2, components.variance(axes, chosen), atol=1e-9)


PEOPLE = bp.Domain(
    age=bp.Integer(0, 5), sex=bp.Categorical(["f", "m"]), zone=bp.Categorical(["n", "s", "w"]), old=bp.Integer(0, 1)
)

PAIRS = bp.Tables.of_ways(2, list(PEOPLE.names))


def spread(mechanism, source):
    """How often cells are within the interval, and their mean square over the variance, table by table."""

    def of_zero():
        zero = np.zeros(PEOPLE.shape, dtype=np.int64)
        found = mechanism.components.estimate(list(mechanism.measured(mechanism.measure(zero, source))), 0)
        return [mechanism.components.table(found, axes) for axes in mechanism.components.tables]

    return [np.array(tables) for tables in zip(*(of_zero() for _ in range(400)), strict=True)]


@pytest.mark.parametrize("secrets", [bp.Attributes(), bp.FullDomain()])
def test_every_cell_is_within_its_interval_as_often_as_said(secrets):
    # The bits are fixed, so there are no false alarms. With others, 400 releases of 64 cells would have fewer than 93
    # or more than 97 cells in 100 within an interval of 95 less than once in 10^9.
    policy = bp.Policy(PEOPLE, secrets=secrets)
    mechanism = Marginals.calibrated(PAIRS, policy, epsilon=Fraction(1), records=100)
    error = mechanism.expected_error()
    widths = [error.interval_of(axes, "0.95") for axes in mechanism.components.tables]
    stated = [mechanism.components.variance(axes) for axes in mechanism.components.tables]
    for factor, sound in ((1, True), (Fraction(4, 5), False), (Fraction(5, 4), False)):
        drawn = spread(replace(mechanism, scale=mechanism.scale * factor), SimulationSource("coverage"))
        inside = np.mean([np.mean(np.abs(each) <= width) for each, width in zip(drawn, widths, strict=True)])
        ratio = np.mean([np.mean(each**2) / variance for each, variance in zip(drawn, stated, strict=True)])
        assert (0.94 < inside < 0.96) == sound
        assert (0.9 < ratio < 1.1) == sound


def some_secret(*names):
    return bp.PerAttribute({name: bp.FullDomain() if name in names else bp.Public() for name in PEOPLE})


def test_tables_agree_and_sums_are_free():
    policy = bp.Policy(PEOPLE, secrets=some_secret("age", "old"))
    counts = np.random.default_rng(1).integers(0, 9, PEOPLE.shape)
    session = bp.Session(bp.Counts(counts), policy, budget=1)
    result = session.release(session.plan(PAIRS, epsilon="0.5"))
    assert len(result) == 6
    assert np.allclose(result["age", "sex"].values.sum(axis=0), result["sex"].values)
    assert np.allclose(result["sex", "age"].values, result["age", "sex"].values.T)
    assert np.allclose(result["zone", "sex"].values.sum(axis=0), counts.sum(axis=(0, 2, 3)))
    assert result["sex", "zone"].standard_error == 0
    value, error = result["age", "sex"].subtotal(age=(1, 3), sex="f")
    assert np.isclose(value, result["age", "sex"].values[1:4, 0].sum())
    assert 0 < error < 3 * result["age", "sex"].standard_error
    assert {row[0] for row in result.rows()} == {" x ".join(names) for names in result.tables}
    assert result["age"].to_frame().shape == (6, 3)
    assert np.allclose(from_text(result.text)["age"].values, result["age"].values)
    with pytest.raises(bp.QueryError, match="no table of"):
        result["age", "sex", "zone"]


def test_public_attributes_are_published_exactly_and_each_attribute_pays_for_its_tables():
    policy = bp.Policy(PEOPLE, secrets=some_secret("age", "sex"))
    query = bp.Tables([["age", "zone"], ["sex", "zone"], ["zone", "old"]])
    mechanism = Marginals.calibrated(query, policy, epsilon=Fraction(1), records=100)
    loss = {pairs.attribute: amount for pairs, amount in mechanism.certify(policy).loss}
    assert loss == {"age": 1, "sex": 1}
    errors = {title: rmse for title, _, rmse in mechanism.parts()}
    assert errors["zone x old"] == 0
    assert errors["age x zone"] == pytest.approx(errors["sex x zone"], rel=0.5)


@given(policy=policies(most_cells=24, most_attributes=3, sizes=("known", "unknown")), data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_the_certificate_is_the_worst_loss_of_all_secret_pairs(policy, data):
    levels = {name: [name] for name in policy.domain}
    for name, attribute in zip(policy.domain, policy.domain.attributes, strict=True):
        if isinstance(attribute, bp.Hierarchy):
            levels[name] += [f"{name}@{level}" for level in attribute.levels[:-1]]
    chosen = (names for many in range(1, len(levels) + 1) for names in combinations(levels, many))
    sets = [list(table) for names in chosen for table in product(*(levels[name] for name in names))]
    query = bp.Tables(data.draw(st.lists(st.sampled_from(sets), min_size=1, max_size=3, unique_by=tuple)))
    mechanism = Marginals.calibrated(query, policy, epsilon=Fraction(1), records=9)
    certificate = mechanism.certify(policy)
    graph = policy.graph.project(mechanism.form.domain.names)
    changes = [mechanism.form.net_change({x: 1, y: -1}) for x, y in graph.edges()]
    losses = [change / mechanism.scale for change in changes if change]
    if policy.size == "unknown":
        losses.append(mechanism.presence(mechanism.form.heaviest()))
    worst = policy.rows_per_person * max(losses, default=Fraction(0))
    assert worst == certificate.epsilon if certificate.sensitivity.exact else worst <= certificate.epsilon
    assert certificate.epsilon in (0, 1)
    halved = Marginals(mechanism.form, mechanism.scale / 2, mechanism.workload, worst=True)
    assert halved.certify(policy).epsilon == 2 * certificate.epsilon


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([["age", "age"]], "names an attribute twice"),
        ([["age"], ["sex"], ["age"]], "asked for twice"),
        ([], "a list of tables"),
        (["age"], "a table is a list"),
        ([["wage"]], "no attribute 'wage'"),
    ],
)
def test_what_is_refused(tables, said):
    with pytest.raises(bp.QueryError, match=said):
        bp.Tables(tables).on(PEOPLE)


@pytest.mark.parametrize("objective", [[1, 1e19], ["1e400", 1], [1, -1], [1], np.array([1.0, 2.0]), "best", [1, 0]])
def test_weights_that_make_no_sense_are_refused_before_anything_is_charged(objective):
    with pytest.raises(bp.QueryError):
        bp.Tables([["age"], ["sex"]], objective=objective)


def test_an_uneven_tree_costs_nothing_where_its_levels_are_not_asked_for():
    leaves = ["a", *(f"b{number}" for number in range(30))]
    kinds = (bp.Categorical(leaves), bp.Hierarchy(["state", "town"], {"A": ["a"], "B": leaves[1:]}))
    policies = [bp.Policy(bp.Domain(h=kind, s=bp.Integer(0, 1)), secrets=bp.Attributes()) for kind in kinds]
    for tables in ([["h"]], [["h", "s"]]):
        made = [Marginals.calibrated(bp.Tables(tables), p, epsilon=Fraction(1), records=9) for p in policies]
        plain, tree = (mechanism.expected_error().rmse for mechanism in made)
        assert tree == pytest.approx(plain)


def test_one_projection_makes_tables_on_levels_of_an_uneven_tree_agree():
    place = bp.Hierarchy(["state", "town"], {"A": ["a1"], "B": ["b1", "b2", "b3"]})
    domain = bp.Domain(place=place, sex=bp.Integer(0, 1), old=bp.Integer(0, 2))
    policy = bp.Policy(domain, secrets=bp.Attributes())
    query = bp.Tables([["place@state", "sex", "old"], ["place", "sex"]])
    agreement = Agreement.of(Marginals.calibrated(query, policy, epsilon=Fraction(1), records=99).components)
    generator = np.random.default_rng(1)
    tables = [generator.normal(size=[agreement.sizes[axis] for axis in axes]) for axes in agreement.tables]
    near = agreement.nearest(tables, {})
    seen = [
        {part.component: part.sums(table) for part in agreement.parts(axes)}
        for axes, table in zip(agreement.tables, near, strict=True)
    ]
    common = seen[0].keys() & seen[1].keys()
    assert max(map(len, common)) == 2
    for component in common:
        assert np.allclose(seen[0][component], seen[1][component], atol=1e-12)


def test_exact_cells_are_whole_and_have_no_interval_and_sets_of_one_secret_size_can_be_rounded():
    place = bp.Hierarchy(["state", "town"], {"A": ["a1"], "B": ["b1", "b2", "b3"]})
    domain = bp.Domain(place=place, sex=bp.Integer(0, 1), old=bp.Integer(0, 1))
    counts = np.random.default_rng(1).integers(0, 30, domain.shape)
    within = bp.PerAttribute(place=bp.Within("state"), sex=bp.Public(), old=bp.FullDomain())
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=within), budget=9)
    table = session.release(bp.Tables([["place", "sex"], ["place@state"]]), epsilon=1)["place", "sex"]
    low, high = table.interval()
    assert (low[0] == high[0]).all()
    assert (low[1:] < high[1:]).all()
    assert table.values[0].tolist() == counts.sum(axis=2)[0].tolist()
    secret = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.Attributes(), size="unknown"), budget=9)
    whole = secret.release(bp.Tables([["place", "sex", "old"]]), epsilon=1).whole()
    assert whole["place", "sex", "old"].values.dtype == np.int64


def test_a_table_of_too_many_cells_is_refused_before_anything_is_charged():
    domain = bp.Domain(a=bp.Integer(0, 9999), b=bp.Integer(0, 9999))
    session = bp.Session(
        bp.Counts(np.zeros((1, 1), dtype=np.int64)), bp.Policy(domain, secrets=bp.FullDomain()), budget=1
    )
    with pytest.raises(bp.QueryError, match="100,000,000 cells"):
        session.plan(bp.Tables([["a", "b"]]), epsilon=1)
    assert session.remaining == 1


def test_a_bound_is_stated_only_where_it_is_proved():
    full, near = bp.Attributes(), bp.PerAttribute({**some_secret(*PEOPLE).secrets, "age": bp.DistanceThreshold(1)})
    bounds = [bp.Policy(PEOPLE, secrets=secrets) for secrets in (full, bp.FullDomain(), some_secret("age"), near)]
    made = [Marginals.calibrated(PAIRS, policy, epsilon=Fraction(1), records=9) for policy in bounds]
    assert [mechanism.ratio is None for mechanism in made] == [False, False, False, True]
    assert all(mechanism.ratio >= 1 for mechanism in made[:3])


def test_counts_of_blocks_that_no_secret_pair_leaves_are_exact_in_every_table():
    secrets = bp.PerAttribute({**some_secret("zone").secrets, "age": bp.Partition(blocks=[[0, 1], [2, 3, 4], [5]])})
    counts = np.random.default_rng(1).integers(0, 9, PEOPLE.shape)
    session = bp.Session(bp.Counts(counts), bp.Policy(PEOPLE, secrets=secrets), budget=1)
    result = session.release(session.plan(bp.Tables([["sex", "age"], ["age", "zone"], ["zone"]]), epsilon="0.5"))
    by_sex = counts.sum(axis=(2, 3)).T
    for table, exact in (
        (result["sex", "age"].values, by_sex),
        (result["age", "zone"].values.sum(axis=1), by_sex.sum(0)),
    ):
        for first, last in ((0, 2), (2, 5), (5, 6)):
            assert np.allclose(table[..., first:last].sum(axis=-1), exact[..., first:last].sum(axis=-1))
    assert result["age"].subtotal(age=(2, 4))[1] == pytest.approx(0, abs=1e-6)
    assert result["age"].subtotal(age=(2, 3))[1] > 1
    assert np.allclose(from_text(result.text)["age"].values, result["age"].values)


@pytest.mark.parametrize("secrets", [bp.Attributes(), bp.FullDomain()])
@pytest.mark.parametrize("size", ["known", "unknown"])
@pytest.mark.parametrize("other", [bp.Integer(0, 4), bp.Categorical(["f", "m"])])
def test_attributes_of_a_single_value_are_in_tables_like_others(secrets, size, other):
    domain = bp.Domain(one=bp.Categorical(["a"]), other=other)
    policy = bp.Policy(domain, secrets=secrets, size=size)
    mechanism = Marginals.calibrated(bp.Tables([["other", "one"], ["one"]]), policy, epsilon=Fraction(1), records=9)
    counts = np.full(domain.shape, 3)
    rows = list(mechanism.measured(mechanism.form.answer(counts)))
    found = mechanism.components.estimate(rows, None if size == "unknown" else int(counts.sum()))
    for axes in mechanism.components.tables:
        exact = mechanism.form.of((Block(axes),)).answer(counts)
        assert np.allclose(mechanism.components.table(found, axes).reshape(-1), exact)
    assert mechanism.certify(policy).epsilon == 1


def test_exact_tables_of_a_document_that_contradict_each_other_are_refused():
    policy = bp.Policy(PEOPLE, secrets=some_secret("age"))
    query = bp.Tables([["age", "sex"], ["sex", "zone"], ["zone", "old"]])
    mechanism = Marginals.calibrated(query, policy, epsilon=Fraction(1), records=100)
    noisy = mechanism.measure(np.ones(PEOPLE.shape, dtype=np.int64), SimulationSource("exact"))
    place = next(p for p, b in zip(mechanism.places, mechanism.form.blocks, strict=True) if not b.weight)
    assert mechanism.fits(noisy)
    for change in (1, -1000):
        wrong = noisy.copy()
        wrong[place.start] += change
        assert not mechanism.fits(wrong)
    assert not mechanism.fits(noisy[1:])


# A mechanism that asks for counts of several sets of its query's attributes, through a whole release.


DOMAIN = bp.Domain({name: bp.Integer(0, 9) for name in "abcdefghijkl"})


@pytest.fixture
def tables():
    """Define a mechanism that notes the tables it was given."""

    with forgotten():

        class Tables(Laplace):
            name = "tables"
            stated, asked, given = [], [], []

            @property
            def rows(self):
                return min(super().rows, 100)

            def tables(self, query):
                return self.stated

            def draw(self, aggregates, source):
                self.given.extend(aggregates.counts(self.asked))
                return super().draw(aggregates, source)

        yield Tables


@pytest.fixture
def columns():
    generator = np.random.default_rng(1)
    return {name: generator.integers(0, 10, 50) for name in DOMAIN.names}


@pytest.fixture
def session(columns):
    return bp.Session(open_engine(pa.table(columns)), bp.Policy(DOMAIN, secrets=bp.FullDomain()), budget=1)


def test_several_tables_are_one_read(tables, session, columns):
    tables.stated = tables.asked = [["b", "a"], ["a"], []]
    session.release(bp.Histogram("a", "b"), epsilon="0.25", mechanism="tables")
    pair = np.bincount(columns["b"] * 10 + columns["a"], minlength=100).reshape(10, 10)
    np.testing.assert_array_equal(tables.given[0], pair)
    np.testing.assert_array_equal(tables.given[1], pair.sum(axis=0))
    assert tables.given[2] == 50
    # One more for all attributes, which the mechanism asks for afterwards.
    assert session.engine.reads == 2


@pytest.mark.parametrize(
    ("query", "sets"), [(DOMAIN.names, [*combinations(DOMAIN.names, 11)]), ("a", [["a", "b"]]), ("a", [["a", "a"]])]
)
def test_tables_that_cannot_be_counted_are_refused_before_the_charge(tables, session, query, sets):
    tables.stated = tables.asked = sets
    with pytest.raises(BlowfishError, match="too large to count|no attribute 'b'|named twice"):
        session.release(bp.Histogram(*query), epsilon="0.5", mechanism="tables")
    assert session.ledger.spent == 0
    assert session.engine.reads == 0


def test_attributes_outside_the_query_are_never_counted(tables, session):
    tables.asked = [["a"], ["b"]]
    with pytest.raises(BlowfishError, match="no attribute 'b'"):
        session.release(bp.Histogram("a"), epsilon="0.5", mechanism="tables")
    assert session.engine.reads == 0


# Tables that agree and are not negative, or whole: on data of some records, with noise of fixed bits.


SIZES = (4, 3, 2, 5, 2)

"""Of four attributes; the last axis is a coarser level of the first one, with two values for each of its own."""

LEVELS = Nesting({0: 4}, {0: np.array([0, 0, 1, 1])})

RECORDS = 400


def subsets(axes):
    return chain.from_iterable(combinations(axes, many) for many in range(len(axes) + 1))


def counted(tables, seed=0):
    """Count skewed records: the last value of the first attribute is empty, and so is one pair of the first two."""
    random = np.random.default_rng(seed)
    records = np.stack([(size * random.random(RECORDS) ** 2).astype(int) for size in SIZES[:4]])
    records[0] = np.minimum(records[0], SIZES[0] - 2)
    records = records[:, (records[0] != 1) | (records[1] != 2)]
    records = np.vstack([records, records[:1] // 2])
    shapes = [[SIZES[axis] for axis in axes] for axes in tables]
    return [
        np.bincount(np.ravel_multi_index(records[list(axes)], shape), minlength=np.prod(shape)).reshape(shape) * 1.0
        for axes, shape in zip(tables, shapes, strict=True)
    ]


def noisy(tables, exact, scale, seed=0):
    """Return the truth, what agrees, and the nearest agreeing tables to it with noise."""
    truth, random = counted(tables), np.random.default_rng(seed)
    precisions = tuple(1.0 + number for number in range(len(tables)))
    levels = LEVELS if any(4 in axes for axes in tables) else Nesting()
    agreement = Agreement(SIZES, tables, precisions, frozenset(exact), levels)
    drawn = [table + random.laplace(scale=scale, size=table.shape) for table in truth]
    return truth, agreement, agreement.nearest(drawn, agreement.exact_sums(truth))


AGREEING_PAIRS = tuple(combinations(range(4), 2))

TRIPLES = tuple(combinations(range(4), 3))

CASES = {
    "pairs": (AGREEING_PAIRS, [()]),
    "pairs and one alone, size unknown": ((*AGREEING_PAIRS[:3], (3,)), []),
    "pairs, two public attributes": (AGREEING_PAIRS, list(subsets((0, 1)))),
    "triples": (TRIPLES, [()]),
    "triples, an empty public value": (TRIPLES, list(subsets((0,)))),
    "triples, an empty public pair": (TRIPLES, list(subsets((0, 1)))),
    "triples and pairs": ((*TRIPLES[:2], (2, 3)), [()]),
    "levels": (((0, 1), (2, 4), (0, 2), (1, 4), (1, 2)), [()]),
    "levels, the coarser one public": (((0, 1), (2, 4), (0, 2), (1, 4), (1, 2)), [(), (4,)]),
    "levels in triples": (((0, 1, 2), (1, 3, 4), (2, 3, 4)), [()]),
}


def error(tables, truth):
    return np.sqrt(sum(((table - true) ** 2).sum() for table, true in zip(tables, truth, strict=True)))


@pytest.mark.parametrize("case", CASES)
def test_the_nearest_agreeing_tables_are_those_of_dense_least_squares(case):
    """Agreeing tables are sums of one array over all attributes; solve for that array with all constraints."""
    tables, exact = CASES[case]
    truth, agreement, _ = noisy(tables, exact, 5)
    drawn = [table + np.random.default_rng(3).laplace(scale=5, size=table.shape) for table in truth]
    cells = np.indices(SIZES[:4]).reshape(4, -1)
    cells = np.vstack([cells, cells[:1] // 2])

    def summing(axes):
        shape = [SIZES[axis] for axis in axes]
        rows = np.ravel_multi_index(cells[list(axes)], shape) if axes else np.zeros(cells.shape[1], dtype=int)
        matrix = np.zeros((int(np.prod(shape)), cells.shape[1]))
        matrix[rows, np.arange(cells.shape[1])] = 1
        return matrix

    sums, roots = np.vstack([summing(axes) for axes in tables]), np.sqrt(agreement.precisions)
    weights = np.concatenate([np.full(table.size, root) for table, root in zip(truth, roots, strict=True)])
    known = agreement.exact_sums(truth)
    if known:
        fixed = np.vstack([summing(axes) for axes in known])
        start = np.linalg.lstsq(fixed, np.concatenate([each.reshape(-1) for each in known.values()]), rcond=None)[0]
        free = np.linalg.svd(fixed)[2][np.linalg.matrix_rank(fixed) :].T
    else:
        start, free = np.zeros(cells.shape[1]), np.eye(cells.shape[1])
    wanted = np.concatenate([table.reshape(-1) for table in drawn]) - sums @ start
    solved = np.linalg.lstsq(weights[:, None] * (sums @ free), weights * wanted, rcond=None)[0]
    best = sums @ (start + free @ solved)
    assert np.concatenate([table.reshape(-1) for table in agreement.nearest(drawn, known)]) == pytest.approx(best)


def disagreement(agreement, tables):
    """Return the largest difference between the same sum of two tables."""
    sums = {}
    for axes, table in zip(agreement.tables, tables, strict=True):
        for part in agreement.parts(axes):
            sums.setdefault(part.component, []).append(part.sums(table))
    return max(float(np.abs(each - several[0]).max()) for several in sums.values() for each in several)


@pytest.mark.parametrize("scale", [0.5, 5, 50])
@pytest.mark.parametrize("case", CASES)
def test_tables_without_negative_counts_agree_and_stay_exact_where_they_were(case, scale):
    truth, agreement, unbiased = noisy(*CASES[case], scale)
    found = nonnegative(unbiased, agreement)
    assert min(table.min() for table in unbiased) < 0 <= min(table.min() for table in found)
    assert disagreement(agreement, found) < 1e-12 * RECORDS
    sums = agreement.exact_sums(found)
    for part, exact in agreement.exact_sums(truth).items():
        assert sums[part] == pytest.approx(exact, abs=1e-12 * RECORDS)
    assert error(found, truth) < error(unbiased, truth)


@pytest.mark.parametrize("case", ["pairs", "triples"])
def test_they_are_near_the_nearest(case, monkeypatch):
    _, agreement, unbiased = noisy(*CASES[case], 20)
    found = nonnegative(unbiased, agreement)
    monkeypatch.setattr(nonnegative_module, "_ROUNDS", 1_000)
    nearest = nonnegative(unbiased, agreement)
    assert error(found, unbiased) == pytest.approx(error(nearest, unbiased), rel=0.02)


def test_they_are_better_than_cutting_and_rescaling():
    truth, agreement, unbiased = noisy(*CASES["pairs"], 20)
    found = nonnegative(unbiased, agreement)
    cut = [np.maximum(table, 0) for table in unbiased]
    rescaled = [table * (RECORDS / table.sum()) for table in cut]
    assert disagreement(agreement, cut) > 1
    assert error(found, truth) < error(rescaled, truth)


@pytest.mark.parametrize("scale", [0, 0.5, 5, 50])
@pytest.mark.parametrize("case", CASES)
def test_whole_numbers_agree_exactly_and_are_near(case, scale):
    truth, agreement, unbiased = noisy(*CASES[case], scale)
    near = nonnegative(unbiased, agreement)
    found = whole(near, agreement)
    assert disagreement(agreement, found) == 0
    sums = agreement.exact_sums(found)
    assert all((sums[part] == exact).all() for part, exact in agreement.exact_sums(truth).items())
    for table, close in zip(found, near, strict=True):
        assert table.dtype == np.int64
        assert table.min() >= 0
        assert np.abs(table - close).max() < (2 if table.ndim <= 2 else 4)
    if not scale:
        assert error(found, truth) == 0


def test_whole_numbers_that_are_not_found_are_refused_with_a_way_out(monkeypatch):
    _, agreement, unbiased = noisy(*CASES["triples"], 5)
    near = nonnegative(unbiased, agreement)
    monkeypatch.setattr(whole_module, "rounded_to", lambda *given: None)
    with pytest.raises(RefusalError, match=r"4 tables of .*Hint: .*nonnegative\(\)"):
        whole(near, agreement)


def test_tables_that_public_ones_leave_no_room_for_are_refused(monkeypatch):
    from blowfish_privacy.mechanisms.tables import agreeing

    _, agreement, unbiased = noisy(*CASES["triples, an empty public pair"], 50)
    monkeypatch.setattr(agreeing, "_INTERIOR_ROUNDS", 1)
    monkeypatch.setattr(nonnegative_module, "_ROUNDS", 1)
    with pytest.raises(RefusalError, match="negative"):
        nonnegative(unbiased, agreement)


def test_more_cells_than_fit_in_memory_are_refused(monkeypatch):
    _, agreement, unbiased = noisy(*CASES["pairs"], 5)
    monkeypatch.setattr(nonnegative_module, "_MOST_CELLS", 50)
    with pytest.raises(RefusalError, match="too many"):
        nonnegative(unbiased, agreement)


def test_any_sums_of_one_total_are_met_even_by_an_empty_table():
    down, across = np.array([0.0, 2.0, 5.0]), np.array([7.0, 0.0])
    for table in (np.zeros((2, 3)), np.full((2, 3), 9.0), np.eye(2, 3)):
        fitted = fit_two(table, down, across)
        assert fitted.sum(axis=0) == pytest.approx(down)
        assert fitted.sum(axis=1) == pytest.approx(across)
        assert fitted.min() >= 0


def test_nobody_at_all_gives_empty_tables():
    agreement = Agreement(SIZES, AGREEING_PAIRS, (1.0,) * len(AGREEING_PAIRS), frozenset([()]))
    tables = [np.zeros([SIZES[axis] for axis in axes]) for axes in AGREEING_PAIRS]
    unbiased = agreement.nearest([table + np.eye(*table.shape) for table in tables], agreement.exact_sums(tables))
    assert all(not table.any() for table in whole(nonnegative(unbiased, agreement), agreement))


# What public totals of parts of a grid say of rectangles, and intervals that stay within it.


SHAPE = (7, 9)


@pytest.mark.parametrize("parts", [1, 2, 5, 40])
def test_bounds_hold_for_every_table_with_these_totals(parts):
    dice = np.random.default_rng(parts)
    labels = dice.permutation(np.concatenate([np.arange(parts), dice.integers(0, parts, 63 - parts)]))
    corners = random_rectangles(SHAPE, 200, SimulationSource("parts"))
    cells = dice.integers(0, 5, 63) * (dice.random(63) < 0.5)
    known = KnownParts.of(Totals(labels, np.bincount(labels, cells, parts).astype(np.int64)), SHAPE)
    least, most = known_bounds([known], corners)
    table = cells.reshape(SHAPE)
    truth = np.array([table[a:b, c:d].sum() for a, b, c, d in corners])
    assert (least <= truth).all()
    assert (truth <= most).all()
    # The whole grid is known, and what no total speaks of is not bounded above.
    everything = np.array([[0, 7, 0, 9]])
    assert known_bounds([known], everything).tolist() == [[cells.sum()], [cells.sum()]]
    assert known_bounds([], everything).tolist() == [[0], [np.inf]]


@pytest.mark.parametrize("mechanism", [None, "laplace"])
def test_intervals_know_public_blocks(mechanism):
    counts = np.random.default_rng(3).integers(0, 9, (20, 30))
    domain = bp.Domain(a=bp.Integer(0, 19), b=bp.Integer(0, 29))
    policy = bp.Policy(domain, secrets=bp.Partition(widths={"a": 10, "b": 30}))
    session = bp.Session(bp.Counts(counts), policy, budget=1, source=SeededSource(1))
    grid = session.release(session.plan(bp.RangeGrid("a", "b"), epsilon="0.1", mechanism=mechanism))
    block = counts[:10].sum()
    assert grid.interval((0, 9), (0, 29)) == pytest.approx((block, block))
    low, high = grid.interval((0, 12), (0, 29))
    assert block <= low < grid.range((0, 12), (0, 29)) < high <= counts.sum()


@pytest.mark.parametrize("size", ["known", "unknown"])
@pytest.mark.parametrize("mechanism", ["adaptive-grid", "grid-hierarchy"])
def test_noise_that_never_comes_is_no_division_by_zero(size, mechanism):
    domain = bp.Domain(a=bp.Integer(0, 5), b=bp.Integer(0, 8))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), size=size)
    session = bp.Session(bp.Counts(np.ones((6, 9), dtype=np.int64)), policy, budget=10**7)
    plan = session.plan(bp.RangeGrid("a", "b"), epsilon=10**6, mechanism=mechanism)
    assert "oise" in plan.explain()
    assert np.allclose(session.release(plan).counts, 1)
