"""Sets of tables: the estimate and its error against brute force on tiny domains, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import Marginals
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.nesting import nesting, weighed
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.queries.tables import Block, TablesForm, View
from blowfish_privacy.results import from_text
from blowfish_privacy.testing.strategies import policies
from effort import examples
from estimating import estimating


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
def test_the_noise_in_a_cell_is_that_of_its_loads(components):
    together = [components.variance(axes) for axes in components.tables]
    assert np.allclose(components.table_variances, together, atol=1e-12)
    for axes in components.tables:
        loads = sum(components.variances[number] * factor**2 * many for number, factor, many in components.loads(axes))
        assert np.allclose(loads, components.variance(axes), atol=1e-9)


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
    halved = Marginals(mechanism.form, mechanism.scale / 2, mechanism.asked, worst=True)
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
