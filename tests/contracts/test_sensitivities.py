"""Every sensitivity against exhaustive search over neighbouring tables."""

from __future__ import annotations

import dataclasses
import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Binned, Numeric
from blowfish_privacy.privacy.sensitivity import squared_by_class, squared_sensitivity
from blowfish_privacy.queries import Query
from blowfish_privacy.testing.oracle import largest_changes, linear_sensitivity
from blowfish_privacy.testing.strategies import policies, views
from effort import examples


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
    if issubclass(kind, bp.Cumulative) and kind is not bp.Cumulative:
        return None  # they are the cumulative histogram, shown differently
    fitting = [n for n in names if (domain[n].ordered if kind is bp.Cumulative else isinstance(domain[n], Numeric))]
    return kind(data.draw(st.sampled_from(fitting))) if fitting else None


@pytest.mark.parametrize("kind", [*Query.kinds.values()], ids=lambda kind: kind.keyword)
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
    found = bp.sensitivity(query, policy) if power == 1 else squared_sensitivity(form, policy)
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
    found = squared_sensitivity(bp.Linear(lambda v: [v, v * v, -v], ["v"]).on(policy.domain), policy)
    assert (found.value, found.exact) == (Fraction(9**2 + 81**2 + 9**2), False)
    monkeypatch.setattr("blowfish_privacy.queries.query.MOST_PAIRS", 0)
    with pytest.raises(bp.QueryError, match="too large to compare the squared changes"):
        squared_sensitivity(bp.Tables([["v"]]).on(policy.domain), policy)


def test_squares_are_told_apart_by_class():
    domain = bp.Domain(age=bp.Integer(0, 19), zone=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(5), zone=bp.Public()))
    form = bp.Linear(lambda age, zone: [age, 3 * zone], ["age", "zone"]).on(domain)
    largest = squared_sensitivity(form, policy).value
    assert {pairs.attribute: value for pairs, value in squared_by_class(form, policy, largest).items()} == {"age": 25}


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
    found = squared_sensitivity(form, policy)
    (true,) = largest_changes(policy, 4, [form.column], 2)
    assert (found.value, found.exact) == (true, True) == (4, True)
    # Of ages alone, one count may change by two: cells of different classes are counted together.
    ages = bp.Histogram("age").on(domain)
    (true,) = largest_changes(policy, 4, [lambda cell: ages.column(cell[1:])], 2)
    assert squared_sensitivity(ages, policy).value == true == 8
