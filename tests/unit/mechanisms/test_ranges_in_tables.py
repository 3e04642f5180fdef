"""Ordered attributes as ranges inside sets of tables: how they are asked for, certified, estimated and chosen."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.mechanisms import Marginals
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel
from blowfish_privacy.queries.tables_form import Block, TablesForm
from blowfish_privacy.testing.strategies import policies
from effort import examples

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
