"""Ordered attributes as ranges inside sets of tables: how they are asked for, certified, estimated and chosen."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms import Marginals
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel
from blowfish_privacy.mechanisms.tables import designs as strategies
from blowfish_privacy.mechanisms.tables.nesting import nesting
from blowfish_privacy.mechanisms.tables.ranges import RangeComponents
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.queries.tables import Block, TablesForm
from blowfish_privacy.testing.strategies import policies
from effort import examples
from estimating import estimating

AGE = {"attribute": "age", "as": "ranges"}
PEOPLE = bp.Domain(
    age=bp.Integer(0, 11), sex=bp.Categorical(["f", "m"]), zone=bp.Categorical(["n", "s", "w"]), pay=bp.Integer(0, 8)
)


def test_an_attribute_asked_for_as_ranges_is_so_in_all_tables():
    query = bp.Tables([[AGE, "sex"], ["age", "zone"]])
    assert query.ranges == {"age"}
    assert query.tables == (("age", "sex"), ("age", "zone"))
    assert query.to_file(PEOPLE) == {"tables": [[AGE, "sex"], [AGE, "zone"]]}
    assert query == bp.Tables([["age", "sex"], [AGE, "zone"]]) != bp.Tables([["age", "sex"], ["age", "zone"]])
    pairs = bp.Tables.of_ways(2, [AGE, "sex", "zone"])
    assert pairs.to_file(PEOPLE) == {"tables": {"ways": 2, "of": [AGE, "sex", "zone"]}}
    for each in (query, pairs, bp.Tables([["sex"]])):
        assert bp.Tables.from_file(each.to_file(PEOPLE)) == each
        assert each.on(PEOPLE).ranges == {each.on(PEOPLE).domain.axis(name) for name in each.ranges}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([{"attribute": "zone", "as": "ranges"}], "'zone' cannot be asked for as ranges: its values have no order"),
        ([AGE, "age"], "names an attribute twice"),
        ([{"attribute": "age", "as": "range"}], "is named, or asked for as ranges"),
        ([{"attribute": "age"}], "is named, or asked for as ranges"),
        ([{"attribute": 5, "as": "ranges"}], "must be text"),
    ],
)
def test_what_is_no_range_is_refused(table, said):
    with pytest.raises(bp.QueryError, match=said):
        bp.Tables([table]).on(PEOPLE)


def levels(size):
    """Any rows that may be read along so many values."""
    return st.builds(
        lambda kind, spacing: kind(spacing, Fraction(0)),
        st.sampled_from([DifferenceLevel, CumulativeLevel]),
        st.integers(1, max(1, size)),
    )


@st.composite
def read(draw, domain):
    """Tables of a domain that read rows along some ordered attributes, whether a plan would choose them or not."""
    blocks = []
    sets = [axes for many in range(1, len(domain.names) + 1) for axes in combinations(range(len(domain.names)), many)]
    for axes in draw(st.lists(st.sampled_from(sets), min_size=1, max_size=4)):
        ordered = [axis for axis in axes if domain.attributes[axis].ordered and draw(st.booleans())]
        readings = tuple((axis, draw(levels(domain.shape[axis]))) for axis in ordered)
        blocks.append(Block(axes, (), draw(st.integers(1, 5)), readings))
    ordered = frozenset(axis for axis, attribute in enumerate(domain.attributes) if attribute.ordered)
    return TablesForm(domain, tuple(blocks), (), ordered)


@given(policy=policies(most_cells=24, most_attributes=3, sizes=("known", "unknown")), data=st.data())
@settings(max_examples=examples(200), deadline=None)
def test_the_certificate_of_any_rows_is_the_worst_loss_of_all_secret_pairs(policy, data):
    form = data.draw(read(policy.domain))
    mechanism = Marginals(form, Fraction(7, 3), form, worst=True, secret_size=policy.size == "unknown")
    columns = {cell: np.array(form.column(cell), dtype=object) for cell in policy.domain.cells()}
    noise = np.array([scale for scale, size in zip(mechanism.scales, form.sizes, strict=True) for _ in range(size)])
    factors = [form.factor(block) for block, size in zip(form.blocks, form.sizes, strict=True) for _ in range(size)]
    for cell, column in columns.items():
        alone = np.zeros(policy.domain.shape, dtype=np.int64)
        alone[cell] = 1
        rows = form.answer(alone)
        assert (column == rows * np.array(factors, dtype=object)).all()
        assert (rows / noise).sum() == mechanism.presence(cell) <= mechanism.presence(form.heaviest())
    worst = Fraction(0)
    for x, y in policy.graph.edges():
        change = abs(columns[x] - columns[y]).sum()
        assert change == form.net_change({x: 1, y: -1}) <= form.change(x, y) / form.unit
        worst = max(worst, change / mechanism.scale)
        assert mechanism.loss(x, y) == change / mechanism.scale
    if policy.size == "unknown":
        worst = max(worst, mechanism.presence(form.heaviest()))
    certificate = mechanism.certify(policy)
    worst *= policy.rows_per_person
    assert worst == certificate.epsilon if certificate.sensitivity.exact else worst <= certificate.epsilon


def test_rows_of_a_threshold_cost_what_a_short_move_changes():
    domain = bp.Domain(age=bp.Integer(0, 11), sex=bp.Categorical(["f", "m"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute({"age": bp.DistanceThreshold(2), "sex": bp.FullDomain()}))
    hats, sums = DifferenceLevel(4, Fraction(0)), CumulativeLevel(1, Fraction(0))

    def loss(level, secrets=policy):
        form = TablesForm(domain, (Block((0, 1), (), 1, ((0, level),)),), (), frozenset({0}))
        certificate = Marginals(form, 1 / form.unit, form, worst=True).certify(secrets)
        assert certificate.sensitivity.exact
        return {pairs.attribute: amount for pairs, amount in certificate.loss}

    assert loss(hats) == {"age": 1, "sex": 2}
    # Up to eleven sums change when the sex of somebody young does: sums pay only beside public attributes.
    assert loss(sums) == {"age": 2, "sex": 22}


def test_rows_of_secrets_without_noise_certify_nothing():
    domain = bp.Domain(age=bp.Integer(0, 11))
    form = TablesForm(domain, (Block((0,), (), 0, ((0, DifferenceLevel(4, Fraction(0))),)),), (), frozenset({0}))
    with pytest.raises(PolicyError, match="certifies nothing"):
        Marginals(form, Fraction(1), form, worst=True).certify(bp.Policy(domain, secrets=bp.FullDomain()))


def put_together(form, asked, variances, *, counted):
    return RangeComponents.of(
        form.shape, form.blocks, variances, asked, form.ranges, counted=counted, nesting=nesting(form)
    )


@st.composite
def grouped(draw):
    """Tables measured in rows, some plain or exact, and tables that these tell."""
    shape = (draw(st.integers(2, 6)), draw(st.integers(2, 4)), 2)
    domain = bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(shape)})
    ranges = frozenset(draw(st.sets(st.sampled_from([0, 1, 2]), min_size=1)))
    sets = [axes for many in range(1, 4) for axes in combinations(range(3), many)]
    asked = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=3, unique=True))
    more = draw(st.lists(st.sampled_from(sets), max_size=2, unique=True))
    known = draw(st.booleans())
    sums = draw(st.booleans()) and known
    blocks, free = [], set()
    for axes in dict.fromkeys([*asked, *more]):
        read = sorted(axis for axis in axes if axis in ranges and shape[axis] > 2 and draw(st.booleans()))
        rest = tuple(axis for axis in axes if axis != 0)
        choices = {axis: [DifferenceLevel(1, Fraction(0)), DifferenceLevel(2, Fraction(0))] for axis in read}
        if read[:1] == [0] and sums:
            # Sums alone do not tell the last value: they need exact totals.
            choices[0] = [CumulativeLevel(1, Fraction(0)), *choices[0][draw(st.integers(0, 2)) :]]
            free |= {rest} - {()}
        signs = tuple(axis for axis in axes if axis == 2 and axis not in read and draw(st.booleans()))
        for levels in product(*choices.values()):
            readings = tuple(zip(choices, levels, strict=True))
            blocks.append(Block(axes, signs, draw(st.integers(1, 3)), readings))
        if signs:
            blocks.append(Block(axes))
    variances = [draw(st.sampled_from([0.5, 1.0, 4.0])) for _ in blocks] + [0.0] * len(free)
    blocks += [Block(axes, (), 0) for axes in free]
    form = TablesForm(domain, tuple(blocks), (), ranges)
    return form, put_together(form, tuple(asked), tuple(variances), counted=known), tuple(variances)


@given(case=grouped(), seed=st.integers(0, 10**6))
@settings(max_examples=examples(200), deadline=None)
def test_ranges_are_unbiased_and_have_the_errors_stated(case, seed):
    form, components, variances = case
    counts = np.random.default_rng(seed).integers(0, 20, form.domain.shape)

    estimated = estimating(form, components)
    exact = estimated(form.answer(counts), int(counts.sum()))
    for axes, table in zip(components.tables, exact, strict=True):
        assert np.allclose(table.reshape(-1), form.of((Block(axes),)).answer(counts), atol=1e-9)
    # The estimate is linear: one noisy number at a time shows with which factor it is in every cell.
    noise = np.repeat(variances, form.sizes)
    alone = [estimated(row, 0) for row in np.eye(form.outputs, dtype=np.int64)]
    for number, axes in enumerate(components.tables):
        factors = np.array([tables[number] for tables in alone])
        stated = components.cell_variances(axes)
        assert np.allclose(np.einsum("r,r...->...", noise, factors**2), stated, atol=1e-9)
        assert np.isclose(stated.max(), components.variance(axes))
        chosen = [sorted({seed % size, (seed // 7) % size}) for size in stated.shape]
        sums = factors[(slice(None), *np.ix_(*chosen))].reshape(len(noise), -1).sum(axis=1)
        assert np.isclose(noise @ sums**2, components.variance(axes, chosen), atol=1e-9)
        spans = [
            [range(a, b) for a in range(size) for b in range(a + 1, size + 1)]
            if axis in form.ranges
            else [[value] for value in range(size)]
            for axis, size in zip(axes, stated.shape, strict=True)
        ]
        squares = [
            noise @ factors[(slice(None), *np.ix_(*each))].reshape(len(noise), -1).sum(axis=1) ** 2
            for each in product(*spans)
        ]
        assert np.isclose(np.mean(squares), components.range_variance(axes), atol=1e-9)


HATS = ((DifferenceLevel(1, Fraction(0)), 0.5), (DifferenceLevel(3, Fraction(0)), 0.5))
PAY = {"attribute": "pay", "as": "ranges"}


def secrets(*names, theta=2):
    graphs = {"age": bp.DistanceThreshold(theta), "pay": bp.DistanceThreshold(theta)}
    return bp.PerAttribute({n: graphs.get(n, bp.FullDomain()) if n in names else bp.Public() for n in PEOPLE})


@pytest.fixture
def hats(monkeypatch):
    """Let small attributes be read in rows beside secrets, as large ones are."""
    monkeypatch.setattr(strategies, "beside_secrets", lambda size: HATS if size > 3 else ())


POLICIES = {
    "beside public": bp.Policy(PEOPLE, secrets=secrets("age")),
    "beside secrets": bp.Policy(PEOPLE, secrets=secrets("age", "sex", "pay")),
    "full": bp.Policy(PEOPLE, secrets=bp.FullDomain()),
    "coming and going": bp.Policy(PEOPLE, secrets=secrets("age", theta=1), size="unknown"),
}
RANGES = bp.Tables([[AGE, "sex"], [AGE, PAY], ["sex", "zone"], [PAY]])


def kinds(mechanism):
    return {strategies.row_kind(reading) for block in mechanism.form.blocks for _, reading in block.readings}


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize("name", POLICIES)
def test_ranges_cost_what_was_asked_and_are_as_wrong_as_said(name):
    policy = POLICIES[name]
    mechanism = Marginals.calibrated(RANGES, policy, epsilon=Fraction(1), records=100)
    certificate = mechanism.certify(policy)
    graph = policy.graph.project(mechanism.form.domain.names)
    edge, exact = mechanism.form.worst_edge(graph)
    some = islice(graph.edges(), 0, 50_000, 20) if graph.domain.size > 300 else graph.edges()
    losses = [mechanism.loss(x, y) for x, y in (*some, *([edge] if exact else []))]
    worst = max([*losses, mechanism.presence(mechanism.form.heaviest()) if policy.size == "unknown" else Fraction(0)])
    assert certificate.epsilon == 1
    assert worst == 1 if certificate.sensitivity.exact else worst <= 1
    # Sums only where no other attribute of a table is secret, and nobody comes or goes.
    assert ("sums" in kinds(mechanism)) == (name == "beside public")
    source, error = SimulationSource("ranges"), mechanism.expected_error()
    zero = np.zeros(mechanism.form.domain.shape, dtype=np.int64)
    squares, inside, width = [], [], error.interval("0.9")
    worst = max(range(4), key=lambda number: error.by_table[number])
    axes = mechanism.components.tables[worst]
    for _ in range(400):
        rows = list(mechanism.measured(mechanism.measure(zero.copy(), source)))
        found = mechanism.components.estimate(rows, None if policy.size == "unknown" else 0)
        table = mechanism.components.table(found, axes)
        for axis in (at for at, axis in enumerate(axes) if axis in mechanism.workload.ranges):
            sums = np.concatenate([np.zeros_like(table.take([0], axis)), table.cumsum(axis=axis)], axis=axis)
            ends = np.triu_indices(sums.shape[axis], 1)
            table = sums.take(ends[1], axis) - sums.take(ends[0], axis)
        squares.append((table**2).mean())
        inside.append((np.abs(table) <= width).mean())
    assert 0.8 < np.mean(squares) / error.by_table[worst] < 1.25
    assert 0.86 < np.mean(inside) < 0.94


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize("name", POLICIES)
def test_a_document_says_which_rows_were_read(name):
    policy = POLICIES[name]
    mechanism = Marginals.calibrated(RANGES, policy, epsilon=Fraction(1), records=100)
    written = mechanism.to_document()
    read = Marginals.from_document(RANGES, policy, written, 100)
    assert read.form.blocks == mechanism.form.blocks
    assert read.scales == mechanism.scales
    assert read.certify(policy) == mechanism.certify(policy)
    assert read.expected_error().by_table == mechanism.expected_error().by_table


def damaged(written, change):
    entries = [[*entry] for entry in written["measured"]]
    place = next(number for number, entry in enumerate(entries) if len(entry) == 4)
    entries[place] = change(entries[place])
    return {**written, "measured": [entry for entry in entries if entry]}


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda entry: [*entry[:3], {"age": ["bins", 2]}],
        lambda entry: [*entry[:3], {"age": ["hats", 0]}],
        lambda entry: [*entry[:3], {"age": ["hats", 12]}],
        lambda entry: [*entry[:3], {"age": ["hats", 2.0]}],
        lambda entry: [*entry[:3], {"age": ["sums", 5]}],
        lambda entry: [*entry[:3], {"sex": ["hats", 1]}],
        lambda entry: [*entry[:3], {"zone": ["hats", 1]}],
        lambda entry: [*entry[:2], 0, entry[3]],
        lambda entry: [*entry, {}],
    ],
)
def test_damaged_rows_are_noticed(change):
    policy = POLICIES["beside secrets"]
    mechanism = Marginals.calibrated(RANGES, policy, epsilon=Fraction(1), records=100)
    with pytest.raises(SpecError, match="damaged"):
        Marginals.from_document(RANGES, policy, damaged(mechanism.to_document(), change), 100)


@pytest.mark.usefixtures("hats")
def test_a_release_agrees_and_sums_are_free():
    counts = np.random.default_rng(3).integers(0, 9, PEOPLE.shape)
    session = bp.Session(bp.Counts(counts), POLICIES["beside secrets"], budget=1)
    plan = session.plan(RANGES, epsilon="0.5")
    assert "a random range in a cell of the worst table" in str(plan.mechanism.expected_error().of)
    result = session.release(plan)
    assert np.allclose(result["age", "sex"].values.sum(axis=1), result["age"].values)
    value, error = result["age", "sex"].subtotal(age=(2, 7), sex="f")
    assert np.isclose(value, result["age", "sex"].values[2:8, 0].sum())
    assert 0 < error < 6 * result["age", "sex"].standard_error
    assert np.allclose(bp.results.from_text(result.text)["age", "pay"].values, result["age", "pay"].values)


CENSUS = bp.Domain(age=bp.Integer(17, 90), sex=bp.Integer(0, 1), country=bp.Integer(0, 41))


@pytest.mark.parametrize(("theta", "public", "expected"), [
    (73, True, 100), (10, True, 60.9), (5, True, 40.3), (1, True, 0.92 * 3.89), (73, False, 142), (1, False, 142),
])  # fmt: skip
def test_a_threshold_pays_where_the_other_attributes_are_public(theta, public, expected):
    # Noise of scale 1 in whole numbers has 0.92 times the variance of the continuous one.
    other = bp.Public() if public else bp.FullDomain()
    graphs = bp.PerAttribute({"age": bp.DistanceThreshold(theta), "sex": other, "country": other})
    policy = bp.Policy(CENSUS, secrets=graphs)
    mechanism = Marginals.calibrated(bp.Tables([[AGE, "sex", "country"]]), policy, epsilon=Fraction(1), records=30_000)
    assert mechanism.certify(policy).epsilon == 1
    assert mechanism.expected_error().mse == pytest.approx(expected, rel=0.03)


def test_attributes_too_large_for_ranges_are_refused():
    domain = bp.Domain(age=bp.Integer(0, 5000))
    with pytest.raises(RefusalError, match="at most 1,000 values"):
        Marginals.calibrated(
            bp.Tables([[AGE]]), bp.Policy(domain, secrets=bp.FullDomain()), epsilon=Fraction(1), records=9
        )


ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)


@pytest.mark.parametrize(("secret", "expected"), [("attributes", 76), ("thresholds", 60), ("full", 344)])
def test_all_pairs_of_adult_with_ranges_of_ages_and_hours_are_as_accurate_as_can_be_hoped(secret, expected):
    domain = bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(ADULT)})
    marked = [{"attribute": f"a{axis}", "as": "ranges"} if axis in (0, 10) else f"a{axis}" for axis in range(13)]
    # Every table counts the same, however many cells it has.
    equal = [1 / (first * second) for first, second in combinations(ADULT, 2)]
    thresholds = {name: bp.DistanceThreshold(5) if name in ("a0", "a10") else bp.FullDomain() for name in domain}
    graph = {"attributes": bp.Attributes(), "thresholds": bp.PerAttribute(thresholds), "full": bp.FullDomain()}[secret]
    policy = bp.Policy(domain, secrets=graph)
    query = bp.Tables.of_ways(2, marked, objective=equal)
    mechanism = Marginals.calibrated(query, policy, epsilon=Fraction(1), records=30_000)
    assert mechanism.certify(policy).epsilon == 1
    assert np.sqrt(np.mean(mechanism.expected_error().by_table)) < 1.03 * expected


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize("objective", ["worst", "mean", [1, 2, 3, 4]])
@pytest.mark.parametrize("name", POLICIES)
def test_balanced_weights_are_no_worse_than_those_planned_for_cells(name, objective, monkeypatch):
    query = bp.Tables(RANGES.to_file(PEOPLE)["tables"], objective=objective)

    def error():
        mechanism = Marginals.calibrated(query, POLICIES[name], epsilon=Fraction(1), records=100)
        by_table, cells = mechanism.expected_error().by_table, np.array(mechanism.workload.sizes)
        if objective == "worst":
            return max(by_table)
        return (1 if objective == "mean" else np.array(objective)) * cells @ by_table

    balanced = error()
    monkeypatch.setattr("blowfish_privacy.mechanisms.tables.designs.rebalanced", lambda *_, **__: {})
    assert balanced < 1.01 * error()
