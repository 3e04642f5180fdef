"""Public totals against exhaustion: what is published no secret changes, and what is shown meets it, with its error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.privacy import public_totals
from blowfish_privacy.privacy.public_totals import BlockForm, Totals, blocks, records_total, stated_totals
from blowfish_privacy.privacy.sensitivity import remembered, sensitivity_of
from blowfish_privacy.release import verification
from blowfish_privacy.testing.oracle import hops_by_search, linear_sensitivity
from blowfish_privacy.testing.strategies import policies
from effort import examples


def chosen_names(data: Any, domain: bp.Domain) -> tuple[str, ...]:
    return tuple(data.draw(st.lists(st.sampled_from(domain.names), min_size=1, unique=True)))


def changed_by_neighbours(policy: bp.Policy, names: tuple[str, ...], labels: Any) -> Any:
    """The largest change of the counts of some blocks, over all tables of three records and their neighbours."""
    own, axes = policy.domain.project(names), [policy.domain.axis(name) for name in names]
    rows = np.eye(int(labels.max()) + 1, dtype=int)

    def contribution(cell):
        return rows[labels[own.flat(tuple(cell[axis] for axis in axes))]].tolist()

    return linear_sensitivity(policy, 3, contribution).value


@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_no_neighbour_has_other_totals(data):
    policy = data.draw(policies(most_cells=6, most_attributes=2, most_facts=data.draw(st.sampled_from([0, 0, 1, 2]))))
    names = chosen_names(data, policy.domain)
    labels = blocks(policy, names)
    if labels is None:
        return
    assert 1 < len(set(labels.tolist())) < policy.domain.project(names).size
    assert changed_by_neighbours(policy, names, labels) == 0


@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_blocks_are_those_of_the_secret_graph(data):
    policy = data.draw(policies(most_cells=12, most_attributes=2))
    names = chosen_names(data, policy.domain)
    graph = policy.graph.project(names)
    cells = [*graph.domain.cells()]
    reached = [frozenset(c for c, hops in hops_by_search(graph, cell).items() if hops < np.inf) for cell in cells]
    found = blocks(policy, names)
    if 1 < len(set(reached)) < len(cells):
        assert found is not None
        assert all((found[i] == found[j]) == (a == b) for i, a in enumerate(reached) for j, b in enumerate(reached))
        assert [*dict.fromkeys(found.tolist())] == [*range(len(set(reached)))]
    else:
        assert found is None


@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_a_total_that_a_secret_pair_changes_is_caught(data):
    """A mutant that joins and splits blocks at will is certified exactly where no neighbour tells."""
    policy = data.draw(policies(most_cells=6, most_attributes=2))
    names = chosen_names(data, policy.domain)
    own = policy.domain.project(names)
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=own.size, max_size=own.size)))
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    public = sensitivity_of(BlockForm(own, labels), policy).value == 0
    assert public == (changed_by_neighbours(policy, names, labels) == 0)


def test_large_domains_are_certified_without_listing_pairs(monkeypatch):
    domain = bp.Domain(v=bp.Integer(0, 39), w=bp.Integer(0, 29), z=bp.Categorical(["a", "b"]))
    policy = bp.Policy(
        domain, secrets=bp.PerAttribute(v=bp.Partition(widths=10), w=bp.DistanceThreshold(3), z=bp.Public())
    )
    labels = blocks(policy, ("w", "v", "z"))
    assert labels is not None
    assert labels.max() + 1 == 8
    moved = labels.reshape(30, 40, 2)[:, [*range(39), 0]].reshape(-1)
    form = BlockForm(domain.project(["w", "v", "z"]), moved)
    assert sensitivity_of(form, policy).value == 2
    monkeypatch.setattr(public_totals, "_MOST_LABELLED", 1)
    remembered.cache_clear()
    assert blocks(policy, ("w", "v", "z")).tolist() == labels.tolist()


def test_nothing_is_public_where_the_number_of_records_is_secret():
    domain = bp.Domain(v=bp.Integer(0, 3), z=bp.Categorical(["a", "b"]))
    secrets = bp.PerAttribute(v=bp.FullDomain(), z=bp.Public())
    assert blocks(bp.Policy(domain, secrets=secrets), ("v", "z")) is not None
    unknown = bp.Policy(domain, secrets=secrets, size="unknown")
    assert blocks(unknown, ("v", "z")) is None
    result = bp.Session(bp.Counts(np.ones((4, 2), dtype=int)), unknown, budget=1).release(
        bp.Histogram("v", "z"), epsilon=1
    )
    assert result.release.constraints is None
    assert "public_totals" not in result.text


def test_a_fact_that_makes_records_leave_a_block_takes_its_total_away():
    """Somebody who knows how many have v = 0 or z = b learns of a secret change of v who had to change z."""
    domain = bp.Domain(v=bp.Integer(0, 1), z=bp.Categorical(["a", "b"]))
    secrets = bp.PerAttribute(v=bp.FullDomain(), z=bp.Public())
    free = bp.Policy(domain, secrets=secrets)
    tied = bp.Policy(domain, secrets=secrets, known=[bp.KnownCount({"v": 0, "z": "a"})])
    names = ("v", "z")
    labels = blocks(free, names)
    assert labels.tolist() == [0, 1, 0, 1]
    assert changed_by_neighbours(tied, names, labels) > 0
    assert blocks(tied, names) is None


def stated(policy: bp.Policy, table: Any) -> bp.Policy:
    """State the counts that a table has."""
    known: list[Any] = []
    for fact in policy.known:
        boxes = [*fact.counted(policy.domain)]
        cells = [*policy.domain.cells()]
        axes = {name: policy.domain.axis(name) for name in policy.domain}
        counts = [
            sum(int(table[c]) for c in cells if all(c[axes[n]] in subset for n, subset in each.box.items()))
            for each in boxes
        ]
        marginal = isinstance(fact, bp.KnownMarginal)
        known.append(
            bp.KnownMarginal(*fact.attributes, counts=counts) if marginal else bp.KnownCount(fact.where, counts[0])
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bp.Policy(policy.domain, secrets=policy.secrets, known=known, compensation=policy.compensation)


@st.composite
def released(draw: st.DrawFn) -> tuple[Any, Any]:
    """A histogram under a policy with blocks, public attributes and stated facts, and the true counts."""
    policy = draw(policies(most_cells=24, most_attributes=3, most_facts=draw(st.sampled_from([0, 1, 2, 3]))))
    size = policy.domain.size
    table = np.array(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))).reshape(policy.domain.shape)
    names = draw(st.lists(st.sampled_from(policy.domain.names), min_size=1, unique=True))
    try:
        session = bp.Session(bp.Counts(table), stated(policy, table), budget=10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = session.release(bp.Histogram(*names), epsilon="0.3")
    except bp.BlowfishError:
        return None, None
    others = tuple(axis for axis, name in enumerate(policy.domain.names) if name not in names)
    kept = [name for name in policy.domain.names if name in names]
    return result, table.sum(axis=others).transpose([kept.index(name) for name in names]).reshape(-1)


def all_totals(result: Any) -> list[Totals]:
    """The totals in all partitions, also in those that follow from others."""
    made = result.release
    policy, names = made.policy, made.query.attributes
    listed = [records_total(len(made.noisy), made.records), *stated_totals(policy, names, made.records)]
    return listed if made.blocks is None else [*listed, made.blocks]


@given(released())
@settings(max_examples=examples(60), deadline=None)
def test_what_is_shown_meets_every_public_total(made):
    result, true = made
    if result is None:
        return
    assert verification.problems(result.text) == []
    whole = result.consistent().reshape(-1)
    assert whole.dtype == np.int64
    assert (whole >= 0).all()
    for totals in all_totals(result):
        parts = range(len(totals.counts))
        assert [int(true[totals.labels == part].sum()) for part in parts] == totals.counts.tolist()
        assert [int(whole[totals.labels == part].sum()) for part in parts] == totals.counts.tolist()
        shown = [result.values[totals.labels == part].sum() for part in parts]
        assert shown == pytest.approx(totals.counts.tolist(), abs=1e-7)


@given(released())
@settings(max_examples=examples(40), deadline=None)
def test_the_error_stated_is_that_of_the_estimate_shown(made):
    """The projection I - A+ A, by brute force; no cell is worse off than without totals."""
    result, _ = made
    if result is None or not result.release.certificate.epsilon:
        return
    raw = result.release.mechanism.expected_error()
    rows = np.concatenate([np.eye(len(t.counts))[:, t.labels] for t in all_totals(result)])
    project = np.eye(rows.shape[1]) - np.linalg.pinv(rows) @ rows
    variances = raw.mse * np.diag(project @ project.T)
    error = result.error()
    assert error.by_answer() == pytest.approx(np.sqrt(np.maximum(variances, 0)), abs=1e-4 * raw.rmse)
    assert error.mse == pytest.approx(variances.mean(), abs=1e-6 * raw.mse)
    assert error.rmse <= raw.rmse
    assert error.interval() <= raw.interval() + 1
    shift = np.linalg.pinv(rows) @ np.concatenate([t.counts for t in all_totals(result)])
    assert result.values == pytest.approx(project @ result.noisy + shift, abs=1e-6)
    # Four digits of it are shown.
    assert [row[-1] for row in result.rows()] == pytest.approx(error.by_answer().tolist(), rel=5e-4)


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_crossing_totals_are_met_by_whole_counts(data):
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    size = int(np.prod(shape))
    counts = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    table, noise = (np.array(data.draw(counts)) for _ in range(2))
    axes = np.indices(shape).reshape(3, -1)
    totals = [Totals(axis, np.bincount(axis, table).astype(np.int64)) for axis in axes]
    totals.append(Totals(axes.sum(axis=0), np.bincount(axes.sum(axis=0), table).astype(np.int64)))
    for many in (2, 3, 4):
        constraints = Constraints.of(totals[:many])
        for found in (constraints.whole(table + 3 * noise - 4), constraints.nearest(table + noise)):
            for each in totals[:many]:
                assert np.bincount(each.labels, found) == pytest.approx(each.counts, abs=1e-7)
        assert constraints.whole(table + 3 * noise - 4).min() >= 0
        assert constraints.whole(table).tolist() == table.tolist()


def test_many_crossing_totals_are_met_one_after_the_other(monkeypatch):
    generator = np.random.default_rng(3)
    table = generator.poisson(2.0, (30, 20)).reshape(-1)
    axes = [*np.indices((30, 20)).reshape(2, -1), generator.integers(0, 4, 600)]
    constraints = Constraints.of([Totals(axis, np.bincount(axis, table).astype(np.int64)) for axis in axes])
    noisy = table + generator.integers(-9, 10, 600)
    at_once, leverage = constraints.nearest(noisy), constraints.leverage
    monkeypatch.setattr("blowfish_privacy.mechanisms.constraints._MOST_SOLVED", 1)
    assert constraints.nearest(noisy) == pytest.approx(at_once, abs=1e-6)
    assert (Constraints(constraints.totals).leverage <= leverage + 1e-9).all()
