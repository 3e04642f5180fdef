"""Every sensitivity against exhaustive search over neighbouring tables."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Binned, Numeric
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms import Gaussian, Laplace, WeightedOffsets
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import (
    Norm,
    remembered,
    sensitivity_by_class,
    sensitivity_of,
)
from blowfish_privacy.queries import Query
from blowfish_privacy.testing.oracle import ABSENT, largest_changes, linear_sensitivity, moves_together
from blowfish_privacy.testing.strategies import attributes, known_facts, policies, secrets, views
from effort import examples
from pair_classes import class_of


def make_query(data, kind, domain):
    names = list(domain.names)
    if kind is bp.Histogram:
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        return bp.Histogram(*(data.draw(views(domain, name)) for name in chosen))
    if kind is bp.Linear:
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        chosen = [data.draw(views(domain, name)) for name in chosen]
        weight = st.sampled_from([0, 1, -2, "1/3", "0.25", 5])
        cells = domain.project(chosen).size
        rows = st.lists(st.lists(weight, min_size=cells, max_size=cells), min_size=1, max_size=3)
        return bp.Linear(data.draw(rows), chosen)
    if kind is bp.Tables:
        table = st.lists(st.sampled_from(names), min_size=1, unique=True).map(sorted)
        return bp.Tables(data.draw(st.lists(table, min_size=1, max_size=3, unique_by=tuple)))
    if kind is bp.RangeGrid:
        pairs = [(a, b) for a in names for b in names if a != b and domain[a].ordered and domain[b].ordered]
        return bp.RangeGrid(*data.draw(st.sampled_from(pairs))) if pairs else None
    if kind is bp.Synthetic:
        chosen = [data.draw(views(domain, name)) for name in names]
        chosen = [name for name in chosen if domain[name].size > 1]
        return bp.Synthetic(chosen) if len(chosen) > 1 else None
    if kind is bp.KMeans:
        chosen = [name for name in names if isinstance(domain[name], Numeric | Binned)]
        return bp.KMeans(chosen, k=1) if chosen else None
    fitting = [n for n in names if (domain[n].ordered if kind is bp.Cumulative else isinstance(domain[n], Numeric))]
    return kind(data.draw(st.sampled_from(fitting))) if fitting else None


ASKED = [kind for kind in Query.kinds.values() if kind is bp.Cumulative or not issubclass(kind, bp.Cumulative)]
"""The others are the cumulative histogram, shown differently."""


@pytest.mark.parametrize("kind", ASKED, ids=lambda kind: kind.keyword)
@pytest.mark.parametrize("power", [1, 2], ids=["sums", "squares"])
@given(data=st.data())
@settings(max_examples=examples(120), deadline=None)
def test_sensitivity_equals_the_oracle(kind, power, data):
    policy = data.draw(policies(most_cells=9, most_attributes=2))
    rows, size = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from(["known", "unknown"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = dataclasses.replace(policy, rows_per_person=rows, size=size)
    query = make_query(data, kind, policy.domain)
    if query is None:
        return
    form = query.on(policy.domain)
    found = bp.sensitivity(query, policy) if power == 1 else sensitivity_of(form, policy, Norm.L2)
    seen = policy.domain.seen(query.attributes)

    def contribution(cell):
        return [form.unit * number for number in form.column(seen(cell))]

    true = linear_sensitivity(policy, 2, contribution, power)
    assert found.exact
    assert found.value == true.value
    if found.witness is not None:
        first, second = (
            form.column(form.domain.cell(side[0])) if side else [0] * form.outputs for side in found.witness
        )
        change = form.unit**power * sum(abs(a - b) ** power for a, b in zip(first, second, strict=True))
        assert change * rows**power == found.value


def test_a_bound_is_never_too_small_and_says_so(monkeypatch):
    monkeypatch.setattr("blowfish_privacy.queries.linear.MOST_PAIRS", 0)
    domain = bp.Domain(v=bp.Integer(0, 9))
    query = bp.Linear(lambda v: [v, v * v, -v], ["v"])
    exact = bp.sensitivity(query, bp.Policy(domain, secrets=bp.DistanceThreshold(1)))
    assert (exact.value, exact.exact) == (Fraction(1 + 17 + 1), True)
    # As for a graph that does not know its steepest pair.
    monkeypatch.setattr("blowfish_privacy.queries.linear.steepest_of", lambda found: None)
    full = bp.sensitivity(query, bp.Policy(domain, secrets=bp.FullDomain()))
    assert (full.value, full.exact) == (Fraction(9 + 81 + 9), False)
    near = bp.sensitivity(bp.Linear(query.weights, ["v"]), bp.Policy(domain, secrets=bp.DistanceThreshold(2)))
    assert (near.value, near.exact) == (full.value, False)
    with pytest.raises(bp.QueryError, match="too large to calibrate"):
        bp.sensitivity(bp.Linear([[1] * 10] * 11, ["v"]), bp.Policy(domain, secrets=bp.FullDomain()))


def test_a_bound_on_squares_is_never_too_small_and_says_so(monkeypatch):
    monkeypatch.setattr("blowfish_privacy.queries.linear.MOST_PAIRS", 0)
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 9)), secrets=bp.FullDomain())
    found = sensitivity_of(bp.Linear(lambda v: [v, v * v, -v], ["v"]).on(policy.domain), policy, Norm.L2)
    assert (found.value, found.exact) == (Fraction(9**2 + 81**2 + 9**2), False)
    monkeypatch.setattr("blowfish_privacy.queries.query.MOST_PAIRS", 0)
    with pytest.raises(bp.QueryError, match="too large to compare the squared changes"):
        sensitivity_of(bp.Tables([["v"]]).on(policy.domain), policy, Norm.L2)


def test_squares_are_told_apart_by_class():
    domain = bp.Domain(age=bp.Integer(0, 19), zone=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(5), zone=bp.Public()))
    form = bp.Linear(lambda age, zone: [age, 3 * zone], ["age", "zone"]).on(domain)
    largest = sensitivity_of(form, policy, Norm.L2).value
    assert {
        pairs.attribute: value for pairs, value in sensitivity_by_class(form, policy, largest, Norm.L2).items()
    } == {"age": 25}


def test_a_query_sees_only_its_own_attributes():
    domain = bp.Domain(age=bp.Integer(0, 99), zone=bp.Integer(0, 29))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(5), zone=bp.Partition(widths=10)))
    assert bp.sensitivity(bp.Cumulative("age"), policy).value == 5
    assert bp.sensitivity(bp.Cumulative("zone"), policy).value == 9
    assert bp.sensitivity(bp.Histogram("age", "zone"), policy).value == 2
    # Which block of zone a person is in is public, so counts of blocks have sensitivity 0.
    assert (
        bp.sensitivity(bp.Linear(lambda zone: [zone // 10 == block for block in range(3)], ["zone"]), policy).value == 0
    )


def test_counts_around_a_cycle_change_by_one_each():
    domain = bp.Domain(sex=bp.Categorical(["F", "M"]), age=bp.Integer(0, 2))
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("sex")])
    form = bp.Histogram("sex", "age").on(domain)
    found = sensitivity_of(form, policy, Norm.L2)
    (true,) = largest_changes(policy, 4, [form.column], 2)
    assert (found.value, found.exact) == (true, True) == (4, True)
    # Of ages alone, one count may change by two: cells of different classes are counted together.
    ages = bp.Histogram("age").on(domain)
    (true,) = largest_changes(policy, 4, [lambda cell: ages.column(cell[1:])], 2)
    assert sensitivity_of(ages, policy, Norm.L2).value == true == 8


# Weighted counts, sums and means against exhaustive search: what secret pairs change, of each class and in all.


KINDS = pytest.mark.parametrize("kind", ["histogram", "sum", "mean"])


@st.composite
def numbers(draw, lows, most):
    """A declared range of at most so many numbers: whole ones, or at steps that need not lead through zero."""
    low, many = draw(lows), draw(st.integers(0, most - 1))
    if draw(st.booleans()):
        return bp.Integer(low, low + many)
    low, step = low * Fraction(3, 4), draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(3)]))
    return bp.Decimal(low, low + many * step, step)


@st.composite
def weighted(draw, kind, most_cells=9, most_facts=0, sizes=("known", "unknown"), rows=(1,)):
    """A policy on one or two attributes and a weight, wherever it is declared, and a weighted query."""
    chosen = {"v": draw(attributes(3)) if kind == "histogram" else draw(numbers(st.integers(-3, 2), 3))}
    if draw(st.booleans()):
        chosen["other"] = draw(attributes(2))
    left = most_cells // (chosen["v"].size * (chosen["other"].size if "other" in chosen else 1))
    chosen["w"] = draw(numbers(st.integers(0, 3), max(1, left)))
    domain = bp.Domain({name: chosen[name] for name in draw(st.permutations([*chosen]))})
    known = draw(st.lists(known_facts(domain), max_size=most_facts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"size": draw(st.sampled_from(sizes)), "rows_per_person": draw(st.sampled_from(rows))}
        policy = bp.Policy(domain, secrets=draw(secrets(domain)), known=known, **options)
    names = draw(st.permutations([name for name in chosen if name != "w"]))
    plain = {"histogram": bp.Histogram(*names), "sum": bp.Sum("v"), "mean": bp.Mean("v")}
    return policy, plain[kind].weighted("w")


def added(query, domain):
    """What a record adds to each output, by definition: its weight to its own cell, or times its value."""
    attributes = query.attributes[:-1]
    cells = [*product(*(range(domain[name].size) for name in attributes))]

    def contribution(cell):
        weight = domain[query.weight].number(cell[domain.axis(query.weight)])
        if query.keyword == "histogram":
            own = tuple(cell[domain.axis(name)] for name in attributes)
            return [weight * (own == each) for each in cells]
        value = domain["v"].number(cell[domain.axis("v")])
        if query.keyword == "sum":
            return [value * weight]
        middle = (domain["v"].number(0) + domain["v"].number(domain["v"].size - 1)) / 2
        return [(value - middle) * weight, weight]

    return contribution


@KINDS
@pytest.mark.parametrize("power", [1, 2], ids=["sums", "squares"])
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_sensitivities_equal_the_oracle(kind, power, data):
    policy, query = data.draw(weighted(kind, rows=(1, 1, 2)))
    form = query.on(policy.domain)
    found = bp.sensitivity(query, policy) if power == 1 else sensitivity_of(form, policy, Norm.L2)
    true = linear_sensitivity(policy, policy.rows_per_person, added(query, policy.domain), power)
    assert found.exact
    assert found.value == true.value


@KINDS
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_sensitivities_of_each_class_cover_its_pairs(kind, data):
    policy, query = data.draw(weighted(kind, most_cells=24))
    form, contribution = query.on(policy.domain), added(query, policy.domain)
    nothing = [0] * form.outputs
    edges = [*policy.graph.edges(), *((x, ABSENT) for x in policy.domain.cells() if policy.size == "unknown")]
    for norm in Norm:
        largest = sensitivity_of(form, policy, norm)
        bounds = sensitivity_by_class(form, policy, largest.value, norm) if largest.value else {}
        for x, y in edges:
            ends = contribution(x), contribution(y) if y != ABSENT else nothing
            change = sum(abs(a - b) ** norm.power for a, b in zip(*ends, strict=True))
            assert change <= bounds.get(class_of(policy, x, y), 0)


@KINDS
@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_where_edges_are_too_many_to_compare_the_bound_is_never_too_small(kind, data):
    policy, query = data.draw(weighted(kind, most_cells=24, sizes=("known",)))
    form, contribution = query.on(policy.domain), added(query, policy.domain)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("blowfish_privacy.queries.weights.MOST_COMPARED", -1)
        remembered.cache_clear()
        found = [sensitivity_of(form, policy), sensitivity_of(form, policy, Norm.L2)]
    for power, bound in enumerate(found, 1):
        changes = [
            sum(abs(a - b) ** power for a, b in zip(contribution(x), contribution(y), strict=True))
            for x, y in policy.graph.edges()
        ]
        true = max(changes, default=0)
        assert bound.value == true if bound.exact else bound.value >= true


def calibrated(kind, query, policy, amount):
    if kind == "mean":
        return WeightedOffsets.calibrated(query, policy, epsilon=amount, records=None)
    return (Laplace if amount < 1 else Gaussian).calibrated(
        query, policy, records=None, **{"epsilon" if amount < 1 else "rho": amount}
    )


def losing(mechanism, contribution):
    """What a change of the table loses: told from the definition of the answers and the scales held."""
    if isinstance(mechanism, WeightedOffsets):
        values, weights = mechanism.form.values.unit, mechanism.form.weights.unit
        units, scales = [values * weights / 2, weights], [mechanism.sum_scale, mechanism.weights_scale]
    else:
        units, scales = [mechanism.form.unit] * mechanism.rows, [mechanism.scale] * mechanism.rows
    squared = mechanism.counted_in is RHO

    def loss(before, after):
        tables = ([contribution(cell) for cell in table if cell != ABSENT] for table in (before, after))
        totals = [[sum(row) for row in zip(*table, strict=True)] or [0] * mechanism.rows for table in tables]
        changes = [abs(a - b) / unit for a, b, unit in zip(*totals, units, strict=True)]
        changed = [(change, scale) for change, scale in zip(changes, scales, strict=True) if change]
        assert all(scale for _, scale in changed), "a secret without noise"
        return sum((change**2 / (2 * scale) if squared else change / scale for change, scale in changed), Fraction(0))

    return loss


@KINDS
@given(data=st.data(), amount=st.sampled_from([Fraction(1, 3), Fraction(5, 2)]))
@settings(max_examples=examples(50), deadline=None)
def test_the_loss_on_every_pair_is_within_the_certificate_and_reaches_it(kind, data, amount):
    policy, query = data.draw(weighted(kind, most_cells=16))
    mechanism = calibrated(kind, query, policy, amount)
    certificate = mechanism.certify(policy)
    assert certificate.amount == (amount if certificate.sensitivity.value else 0)
    loss, worst = losing(mechanism, added(query, policy.domain)), Fraction(0)
    seen = policy.domain.seen(query.attributes)
    pairs = [*policy.graph.edges(), *((x, ABSENT) for x in policy.domain.cells() if policy.size == "unknown")]
    for x, y in pairs:
        lost = loss([x], [y])
        assert lost == (mechanism.presence(seen(x)) if y == ABSENT else mechanism.loss(seen(x), seen(y)))
        assert lost <= certificate.loss.on(class_of(policy, x, y))
        worst = max(worst, lost)
    assert worst == certificate.amount


@KINDS
@given(data=st.data(), amount=st.sampled_from([Fraction(1, 3), Fraction(5, 2)]))
@settings(max_examples=examples(30), deadline=None)
def test_known_facts_never_push_the_loss_above_the_certificate(kind, data, amount):
    policy, query = data.draw(weighted(kind, most_cells=6, most_facts=2, sizes=("known",)))
    try:
        mechanism = calibrated(kind, query, policy, amount)
    except RefusalError as refused:
        assert "cross each other" in str(refused)
        return
    certificate = mechanism.certify(policy)
    assert certificate.amount in (0, amount)
    loss = losing(mechanism, added(query, policy.domain))
    moved = moves_together(policy, 3) if policy.known else ([pair] for pair in policy.graph.edges())
    for moves in moved:
        assert loss([x for x, _ in moves], [y for _, y in moves]) <= certificate.amount


@KINDS
def test_a_halved_scale_is_caught(kind):
    domain = bp.Domain(v=bp.Integer(-2, 7), other=bp.Integer(0, 3), w=bp.Integer(1, 20))
    policy = bp.Policy(domain, secrets=bp.Attributes(), size=100)
    plain = {"histogram": bp.Histogram("v", "other"), "sum": bp.Sum("v"), "mean": bp.Mean("v")}
    mechanism = calibrated(kind, plain[kind].weighted("w"), policy, Fraction(1, 2))
    for name in ("scale", "sum_scale", "weights_scale"):
        if hasattr(mechanism, name):
            halved = replace(mechanism, **{name: getattr(mechanism, name) / 2})
            assert halved.certify(policy).amount > Fraction(1, 2)
            silent = replace(mechanism, **{name: Fraction(0)})
            with pytest.raises(bp.PolicyError, match="no noise"):
                silent.certify(policy)


@KINDS
@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_answers_are_what_the_records_add_up_to(kind, data):
    policy, query = data.draw(weighted(kind, most_cells=16))
    form, contribution = query.on(policy.domain), added(query, policy.domain)
    own = policy.domain.seen(query.attributes)
    records = data.draw(st.lists(st.sampled_from([*policy.domain.cells()]), max_size=6))
    counts = np.zeros(form.domain.shape, dtype=np.int64)
    for cell in records:
        counts[own(cell)] += 1
    true = [sum(rows) for rows in zip(*map(contribution, records), strict=True)] or [0] * form.outputs
    assert [form.unit * int(each) for each in form.answer(counts)] == true
    assert [form.unit * int(each) for each in form.as_matrix() @ counts.reshape(-1)] == true


def test_sums_beyond_64_bits_are_exact():
    domain = bp.Domain(v=bp.Integer(2**40, 2**40 + 1), w=bp.Integer(2**30, 2**30 + 1))
    form = bp.Sum("v").weighted("w").on(domain)
    assert form.answer(np.array([[2**20, 0], [0, 1]])).tolist() == [2**90 + (2**40 + 1) * (2**30 + 1)]


def test_a_witness_that_is_changed_is_not_handed_out_again():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 3)), secrets=bp.FullDomain())
    (before,), _ = bp.sensitivity(bp.Sum("v"), policy).witness
    was = dict(before)
    before.clear()
    (again,), _ = bp.sensitivity(bp.Sum("v"), policy).witness
    assert again == was
