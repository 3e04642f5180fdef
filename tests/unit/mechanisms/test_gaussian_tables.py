"""Tables from components with Gaussian noise: certificates, estimates and errors against brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import GaussianMarginals
from blowfish_privacy.mechanisms.tables import gaussian_rows
from blowfish_privacy.mechanisms.tables.gaussian_rows import ComponentForm
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.queries.tables import Block
from blowfish_privacy.testing.oracle import moves_together
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of

SIZES = ("known", "unknown")
ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)
"""The sizes of 13 attributes of Adult."""
PUBLISHED = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
"""The sizes of those that [xiao2023] plans for."""
PEOPLE = bp.Domain(
    age=bp.Integer(0, 5),
    sex=bp.Categorical(["f", "m"]),
    zone=bp.Categorical(["n", "e", "s"]),
    old=bp.Categorical(["no", "yes"]),
)
PAIRS = bp.Tables.of_ways(2, PEOPLE.names)


def domain_of(shape):
    return bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(shape)})


def squares(form, net):
    """The weighted squared change of all rows, written out, when cells gain or lose records."""
    columns = [count * np.array(form.column(cell), dtype=object) for cell, count in net.items()]
    rows, total, place = sum(columns), Fraction(0), 0
    for block, size in zip(form.blocks, form.sizes, strict=True):
        total += Fraction(
            block.weight * sum(int(row) ** 2 for row in rows[place : place + size]), form.times(block) ** 2
        )
        place += size
    return total / (max(block.weight for block in form.blocks) or 1)


@st.composite
def forms(draw, most=4):
    shape = tuple(draw(st.lists(st.integers(2, 4), min_size=1, max_size=most)))
    axes = range(len(shape))
    sets = [chosen for many in range(len(shape) + 1) for chosen in combinations(axes, many)]
    chosen = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=6, unique=True))
    return ComponentForm(domain_of(shape), tuple(Block(each, (), draw(st.integers(1, 9))) for each in chosen))


@given(form=forms(most=3))
@settings(max_examples=examples(60), deadline=None)
def test_squared_changes_are_those_of_the_rows(form):
    cells = list(form.domain.cells())
    for x, y in combinations(cells[:3] + cells[-9:], 2):
        if x != y:
            assert form.squared_change(x, y) == squares(form, {x: 1, y: -1})
    for x in (cells[0], cells[-1]):
        assert form.squared_weight(x) == squares(form, {x: 1})


@given(form=forms())
@settings(max_examples=examples(60), deadline=None)
def test_the_largest_squares_are_those_of_some_set_of_changes_and_their_bound_is_above(form):
    every = range(len(form.shape))
    parts = list(chain.from_iterable(combinations(every, many) for many in range(1, len(every) + 1)))
    largest = max(form.squares(part) for part in parts)
    graph = bp.FullDomain().on(form.domain)
    edge, value, attained = form.largest_squares(graph)
    assert attained
    assert value == largest == form.squared_change(*edge)
    assert form.bound(every) >= largest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian_rows, "MOST_CHANGES", 1)
        _, above, attained = form.largest_squares(graph)
    assert above == (form.bound(every) if len(every) > 1 else largest)
    assert attained == (above == form.squares(every))


def test_changing_everything_is_not_the_worst_for_binary_attributes():
    form = ComponentForm(domain_of((2, 2)), (Block((0, 1), (), 1),))
    assert form.squares((0, 1)) == 0
    assert form.largest_squares(bp.FullDomain().on(form.domain))[1] == form.squares((0,)) == 1
    mechanism = GaussianMarginals(form, Fraction(1), form, worst=True)
    certificate = mechanism.certify(bp.Policy(form.domain, secrets=bp.FullDomain()))
    assert certificate.rho == Fraction(1, 2)


def queries(policy, data):
    names = list(policy.domain.names)
    ordered = [name for name in names if policy.domain[name].ordered]
    read = data.draw(st.lists(st.sampled_from(ordered), unique=True)) if ordered and data.draw(st.booleans()) else []
    sets = [list(table) for many in range(1, len(names) + 1) for table in combinations(names, many)]
    tables = data.draw(st.lists(st.sampled_from(sets), min_size=1, max_size=3, unique_by=tuple))
    objective = data.draw(st.sampled_from(["worst", "mean", list(range(1, len(tables) + 1))]))
    marked = [[{"attribute": name, "as": "ranges"} if name in read else name for name in table] for table in tables]
    return bp.Tables(marked, objective=objective)


@given(policy=policies(most_cells=24, most_attributes=3, sizes=SIZES), data=st.data())
@settings(max_examples=examples(120), deadline=None)
def test_the_certificate_is_the_worst_loss_of_all_secret_pairs(policy, data):
    query = queries(policy, data)
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 3), records=9)
    certificate = mechanism.certify(policy)
    axes = [policy.domain.axis(name) for name in query.attributes]
    rows = policy.rows_per_person**2
    losses = [Fraction(0)]
    for pair in policy.graph.edges():
        x, y = (tuple(cell[axis] for axis in axes) for cell in pair)
        if x != y:
            change = squares(mechanism.form, {x: 1, y: -1})
            assert mechanism.scale or not change
            losses.append(rows * change / (2 * mechanism.scale) if change else Fraction(0))
            assert losses[-1] == rows * mechanism.loss(x, y)
            assert losses[-1] <= certificate.loss.on(class_of(policy, *pair))
    if policy.size == "unknown":
        one = mechanism.form.heaviest()
        losses.append(rows * squares(mechanism.form, {one: 1}) / (2 * mechanism.scale))
        assert losses[-1] == rows * mechanism.presence(one)
    worst = max(losses)
    assert worst == certificate.amount if certificate.sensitivity.exact else worst <= certificate.amount
    assert certificate.amount in (0, Fraction(1, 3))
    assert certificate.epsilon is None
    assert replace(mechanism, scale=mechanism.scale / 2).certify(policy).amount == 2 * certificate.amount


@given(policy=policies(most_cells=6, most_attributes=2, most_facts=3), data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_known_facts_never_push_the_loss_above_the_certificate(policy, data):
    query = queries(policy, data)
    try:
        mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 3), records=5)
    except bp.RefusalError as refused:
        assert "cross each other" in str(refused)
        return
    certificate = mechanism.certify(policy)
    axes = [policy.domain.axis(name) for name in query.attributes]
    for moves in moves_together(policy, 4):
        net = {}
        for x, y in moves:
            for cell, count in ((x, 1), (y, -1)):
                seen = tuple(cell[axis] for axis in axes)
                net[seen] = net.get(seen, 0) + count
        change = squares(mechanism.form, net)
        assert change <= 2 * mechanism.scale * certificate.amount


def rows_of(form):
    return np.array([form.column(cell) for cell in form.domain.cells()], dtype=float).T


@given(policy=policies(most_cells=24, most_attributes=3, sizes=SIZES), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_estimate_and_its_errors_are_those_of_generalised_least_squares(policy, data):
    mechanism = GaussianMarginals.calibrated(queries(policy, data), policy, rho=Fraction(1, 50), records=9)
    form, components = mechanism.form, mechanism.components
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    counts = generator.integers(0, 20, form.domain.shape)
    deviation = np.sqrt(np.repeat([max(float(each), 1e-10) for each in mechanism.scales], form.sizes))
    rows = rows_of(form)
    exact = rows @ counts.reshape(-1)
    assert np.array_equal(exact, form.answer(counts))
    noisy = exact + np.where(deviation > 1, np.round(generator.normal(0, 1, len(exact)) * deviation), 0)
    known = mechanism.secret_size is False
    if known:
        rows, deviation = np.concatenate([rows, np.ones((1, rows.shape[1]))]), np.append(deviation, 1e-5)
    seen = np.append(noisy, counts.sum()) if known else noisy
    solve = np.linalg.pinv(rows / deviation[:, None], rcond=1e-11) / deviation
    records = int(counts.sum()) if known else None
    found = components.estimate(list(mechanism.measured(noisy.astype(np.int64))), records)
    for axes, variance in zip(components.tables, components.table_variances, strict=True):
        wanted = rows_of(ComponentForm(form.domain, (Block(tuple(sorted(axes)), (), 0),)))
        linear = wanted @ solve
        table = components.table(found, tuple(sorted(axes)))
        assert np.allclose(table.reshape(-1), linear @ seen, atol=1e-2, rtol=1e-4)
        assert np.allclose(linear @ rows, wanted, atol=1e-4)
        cells = components.cell_variances(tuple(sorted(axes)))
        assert np.allclose((linear**2 * deviation**2).sum(axis=1), cells.reshape(-1), rtol=1e-3, atol=1e-4)
        assert np.isclose(components.variance(axes), cells.max())
        assert np.isclose(on_average(table.shape, axes, form, linear, deviation), variance, rtol=1e-3, atol=1e-4)
        picked = [range(1 + (size > 2)) for size in table.shape]
        chosen = np.zeros(table.shape)
        chosen[np.ix_(*picked)] = 1
        sums = ((chosen.reshape(-1) @ linear) ** 2 * deviation**2).sum()
        assert np.isclose(sums, components.variance(tuple(sorted(axes)), picked), rtol=1e-3, atol=1e-4)


def on_average(shape, axes, form, linear, deviation):
    """The mean variance of all ranges along axes with rows, and of all values along the others."""
    read = getattr(form, "rows", {})
    choices = []
    for axis, size in zip(sorted(axes), shape, strict=True):
        ends = combinations(range(size + 1), 2) if axis in read else ((at, at + 1) for at in range(size))
        choices.append([((np.arange(size) >= low) & (np.arange(size) < high)).astype(float) for low, high in ends])
    sums = [reduce(np.multiply.outer, chosen).reshape(-1) @ linear for chosen in product(*choices)]
    return np.mean([(each**2 * deviation**2).sum() for each in sums])


TARGETS = [
    (1, bp.FullDomain(), "mean", 4.10),
    (1, bp.Attributes(), "mean", 1.38),
    (2, bp.FullDomain(), "mean", 8.19),
    (2, bp.Attributes(), "mean", 4.14),
    (3, bp.FullDomain(), "mean", 13.27),
    (3, bp.Attributes(), "mean", 8.30),
    (2, bp.Attributes(), "worst", 4.40),
    (3, bp.Attributes(), "worst", 9.35),
]


@pytest.mark.parametrize(("ways", "secrets", "objective", "target"), TARGETS)
def test_errors_on_adult_are_those_that_were_derived_before(ways, secrets, objective, target):
    policy = bp.Policy(domain_of(ADULT), secrets=secrets)
    query = bp.Tables.of_ways(ways, policy.domain.names, objective=objective)
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=48_842)
    assert mechanism.expected_error().rmse == pytest.approx(target, rel=0.005)
    assert mechanism.gap < 1e-6
    certificate = mechanism.certify(policy)
    assert certificate.rho == Fraction(1, 2)
    assert certificate.sensitivity.exact


@pytest.mark.parametrize(("ways", "published"), [(1, 3.0468), (2, 6.3587), (3, 10.5153)])
def test_errors_for_adding_or_removing_a_record_are_those_published(ways, published):
    # [xiao2023] on its own version of Adult, at a squared change of 1.
    policy = bp.Policy(domain_of(PUBLISHED), secrets=bp.AddRemove())
    query = bp.Tables.of_ways(ways, policy.domain.names, objective="mean")
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=None)
    assert mechanism.expected_error().rmse == pytest.approx(published, abs=1e-4)
    assert mechanism.gap < 1e-6


def test_many_tables_are_planned_and_certified_exactly():
    # Expected of 14 attributes is 10.53. The 1,350 tables of 20 are more than ranges may have.
    for many, target in ((14, 10.53), (20, 15.26)):
        policy = bp.Policy(domain_of((10,) * many), secrets=bp.Attributes())
        tables = [list(table) for ways in (1, 2, 3) for table in combinations(policy.domain.names, ways)]
        query = bp.Tables(tables, objective="mean")
        mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=10_000)
        assert mechanism.expected_error().rmse == pytest.approx(target, rel=0.001)
        assert mechanism.certify(policy).rho == Fraction(1, 2)


RHO = Fraction(1, 100)


def test_tables_agree_and_what_is_public_is_exact():
    secrets = bp.PerAttribute({name: bp.FullDomain() if name in ("age", "old") else bp.Public() for name in PEOPLE})
    policy = bp.Policy(PEOPLE, secrets=secrets)
    mechanism = GaussianMarginals.calibrated(PAIRS, policy, rho=RHO, records=100)
    assert {pairs.attribute: amount for pairs, amount in mechanism.certify(policy).loss}.keys() == {"age", "old"}
    counts = np.random.default_rng(1).integers(0, 9, PEOPLE.shape)
    noisy = mechanism.measure(counts, SimulationSource("tables"))
    assert mechanism.fits(noisy)
    found = mechanism.components.estimate(list(mechanism.measured(noisy)), int(counts.sum()))
    tables = {axes: mechanism.components.table(found, axes) for axes in mechanism.components.tables}
    assert np.allclose(tables[0, 1].sum(axis=0), counts.sum(axis=(0, 2, 3)))
    assert np.allclose(tables[0, 1].sum(axis=1), tables[0, 3].sum(axis=1))
    assert np.allclose(tables[1, 2], counts.sum(axis=(0, 3)))
    assert mechanism.expected_error().standard_error((1, 2)) == 0
    assert mechanism.without_noise() == "the table of “sex” by “zone”"


def spread(mechanism, source):
    """Tables of nobody, released many times."""
    zero = np.zeros(mechanism.form.domain.shape, dtype=np.int64)

    def of_zero():
        found = mechanism.components.estimate(list(mechanism.measured(mechanism.measure(zero, source))), 0)
        return [mechanism.components.table(found, axes) for axes in mechanism.components.tables]

    return [np.array(tables) for tables in zip(*(of_zero() for _ in range(400)), strict=True)]


@pytest.mark.parametrize("secrets", [bp.Attributes(), bp.FullDomain()])
def test_every_cell_is_within_its_interval_as_often_as_said(secrets):
    # The bits are fixed, so there are no false alarms. With others, 400 releases of 64 cells would have fewer than 93
    # or more than 97 cells in 100 within an interval of 95 less than once in 10^9.
    mechanism = GaussianMarginals.calibrated(PAIRS, bp.Policy(PEOPLE, secrets=secrets), rho=RHO, records=100)
    error = mechanism.expected_error()
    widths = [error.interval_of(axes, "0.95") for axes in mechanism.components.tables]
    stated = [mechanism.components.variance(axes) for axes in mechanism.components.tables]
    for factor, sound in ((1, True), (Fraction(4, 5), False), (Fraction(5, 4), False)):
        drawn = spread(replace(mechanism, scale=mechanism.scale * factor**2), SimulationSource("coverage"))
        inside = np.mean([np.mean(np.abs(each) <= width) for each, width in zip(drawn, widths, strict=True)])
        ratio = np.mean([np.mean(each**2) / variance for each, variance in zip(drawn, stated, strict=True)])
        assert (0.94 < inside < 0.96) == sound
        assert (0.9 < ratio < 1.1) == sound


def test_a_document_is_read_back_and_certified_again():
    policy = bp.Policy(PEOPLE, secrets=bp.Attributes())
    mechanism = GaussianMarginals.calibrated(PAIRS, policy, rho=RHO, records=100)
    written = mechanism.to_document()
    read = GaussianMarginals.from_document(PAIRS, policy, written, 100)
    assert read.certify(policy) == mechanism.certify(policy)
    assert read.to_document() == written
    assert read.expected_error().rmse == mechanism.expected_error().rmse
    weaker = {**written, "variance": str(mechanism.scale / 4)}
    assert GaussianMarginals.from_document(PAIRS, policy, weaker, 100).certify(policy).rho == 4 * RHO
    silent = {**written, "variance": "0"}
    with pytest.raises(bp.PolicyError, match="certifies nothing"):
        GaussianMarginals.from_document(PAIRS, policy, silent, 100).certify(policy)
    exact = {**written, "measured": [[*entry[:2], 0] for entry in written["measured"]]}
    with pytest.raises(bp.PolicyError, match="certifies nothing"):
        GaussianMarginals.from_document(PAIRS, policy, exact, 100).certify(policy)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda written: {**written, "variance": "-1"}, "below 0"),
        (lambda written: {**written, "measured": written["measured"][1:]}, "do not determine all"),
        (lambda written: {**written, "measured": [[["sex"], ["old"], 3], *written["measured"]]}, "wrong form"),
        (lambda written: {**written, "measured": [[["sex", "age"], [], 3], *written["measured"]]}, "wrong form"),
        (lambda written: {**written, "measured": [[["sex"], [], -3], *written["measured"]]}, "not a whole number"),
    ],
)
def test_damaged_documents_are_refused(change, said):
    policy = bp.Policy(PEOPLE, secrets=bp.Attributes())
    written = GaussianMarginals.calibrated(PAIRS, policy, rho=RHO, records=100).to_document()
    with pytest.raises(bp.SpecError, match=said):
        GaussianMarginals.from_document(PAIRS, policy, change(written), 100)


def test_a_component_measured_twice_costs_twice():
    form = ComponentForm(domain_of((3, 3)), (Block((0,), (), 5), Block((0,), (), 2), Block((1,), (), 5)))
    policy = bp.Policy(form.domain, secrets=bp.FullDomain())
    both = 12 * Fraction(2, 5)
    assert GaussianMarginals(form, Fraction(1), form, worst=True).certify(policy).rho == both / 2


def test_what_does_not_fit_64_bits_or_is_not_measured_so_is_refused():
    wide = domain_of((3000, 3000))
    query, policy = bp.Tables([["a0", "a1"]]), bp.Policy(wide, secrets=bp.Attributes())
    with pytest.raises(bp.RefusalError, match="64-bit"):
        GaussianMarginals.calibrated(query, policy, rho=RHO, records=2**40)
    secret = bp.Policy(wide, secrets=bp.Attributes(), size="unknown")
    with pytest.raises(bp.RefusalError, match="secret number of records"):
        GaussianMarginals.calibrated(query, secret, rho=RHO, records=None)
    with pytest.raises(bp.QueryError, match="sets of tables"):
        GaussianMarginals.calibrated(bp.Histogram("a0"), policy, rho=RHO, records=9)
    ranges = bp.Tables([[{"attribute": "a0", "as": "ranges"}]])
    with pytest.raises(bp.RefusalError, match="at most 1,000 values"):
        GaussianMarginals.calibrated(ranges, policy, rho=RHO, records=9)
    with pytest.raises(bp.RefusalError, match="more than 256 values"):
        GaussianMarginals.calibrated(ranges, bp.Policy(domain_of((300,)), secrets=bp.Attributes()), rho=RHO, records=9)


def test_the_plan_says_how_good_it_is_and_the_certificate_what_a_whole_record_loses():
    policy = bp.Policy(domain_of(ADULT), secrets=bp.Attributes())
    query = bp.Tables.of_ways(1, policy.domain.names, objective="mean")
    mechanism = GaussianMarginals.calibrated(query, policy, rho=RHO, records=48_842)
    (best,) = mechanism.promises(policy)
    assert best.startswith("No unbiased linear estimate")
    full = bp.Policy(domain_of(ADULT), secrets=bp.FullDomain())
    assert float(mechanism.certify(full).rho) == pytest.approx(float(13 * RHO), rel=1e-6)
    threshold = bp.Policy(domain_of((9, 9)), secrets=bp.DistanceThreshold(2))
    small = GaussianMarginals.calibrated(bp.Tables([["a0", "a1"]]), threshold, rho=RHO, records=9)
    assert not small.promises(threshold)


AGE = {"attribute": "age", "as": "ranges"}
CENSUS = bp.Domain(age=bp.Integer(17, 90), sex=bp.Integer(0, 1), country=bp.Integer(0, 41))


@pytest.mark.parametrize(
    ("theta", "public", "expected"),
    [(73, True, 9.02), (10, True, 6.70), (5, True, 5.09), (1, True, 1.93), (73, False, 11.7), (1, False, 11.7)],
)
def test_ranges_in_every_cell_of_other_attributes(theta, public, expected):
    other = bp.Public() if public else bp.FullDomain()
    graphs = bp.PerAttribute({"age": bp.DistanceThreshold(theta), "sex": other, "country": other})
    policy = bp.Policy(CENSUS, secrets=graphs)
    query = bp.Tables([[AGE, "sex", "country"]])
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=30_000)
    assert mechanism.certify(policy).rho == Fraction(1, 2)
    assert mechanism.expected_error().mse < 1.005 * expected


@pytest.mark.parametrize(("secret", "expected"), [("attributes", 6.66), ("thresholds", 5.79), ("full", 15.3)])
def test_all_pairs_of_adult_with_ranges_of_ages_and_hours(secret, expected):
    domain = domain_of(ADULT)
    marked = [{"attribute": f"a{axis}", "as": "ranges"} if axis in (0, 10) else f"a{axis}" for axis in range(13)]
    # Every table counts the same, however many cells it has.
    equal = [1 / (first * second) for first, second in combinations(ADULT, 2)]
    thresholds = {name: bp.DistanceThreshold(5) if name in ("a0", "a10") else bp.FullDomain() for name in domain}
    graph = {"attributes": bp.Attributes(), "thresholds": bp.PerAttribute(thresholds), "full": bp.FullDomain()}[secret]
    policy = bp.Policy(domain, secrets=graph)
    query = bp.Tables.of_ways(2, marked, objective=equal)
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=30_000)
    assert mechanism.certify(policy).rho == Fraction(1, 2)
    assert np.sqrt(np.mean(mechanism.expected_error().by_table)) < 1.005 * expected


def test_rows_are_read_back_and_damaged_ones_refused():
    policy = bp.Policy(PEOPLE, secrets=bp.Attributes())
    query = bp.Tables([[AGE, "sex"], [AGE, "zone"]])
    mechanism = GaussianMarginals.calibrated(query, policy, rho=RHO, records=100)
    written = mechanism.to_document()
    read = GaussianMarginals.from_document(query, policy, written, 100)
    assert read.certify(policy) == mechanism.certify(policy)
    assert read.expected_error().rmse == pytest.approx(mechanism.expected_error().rmse)
    times, rows = written["rows"]["age"]
    for damaged, said in (
        ([times, rows[1:]], "wrong form"),
        ([0, rows], "wrong form"),
        ([times, [[0.5, *row[1:]] for row in rows]], "wrong form"),
        ([times, [[row[0] + 1, *row[1:]] for row in rows]], "do not determine"),
        ([times, [rows[0]] * len(rows)], "do not determine"),
    ):
        with pytest.raises(bp.SpecError, match=said):
            GaussianMarginals.from_document(query, policy, {**written, "rows": {"age": damaged}}, 100)
    doubled = [times, [[2 * number for number in row] for row in rows]]
    louder = GaussianMarginals.from_document(query, policy, {**written, "rows": {"age": doubled}}, 100)
    assert louder.certify(policy).rho > RHO
