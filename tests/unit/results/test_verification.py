"""What a forger can change in a document and seal anew is noticed wherever it can be worked out again."""

from __future__ import annotations

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.release import document, reading, verification
from blowfish_privacy.release.plan import make_plan

AGES = bp.Policy(bp.Domain(age=bp.Integer(0, 63)), secrets=bp.DistanceThreshold(4))
ZONES = bp.Domain(zone=bp.Categorical(["A", "B", "C"]), age=bp.Integer(0, 9))
OPEN = bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain())


def released(policy=AGES, query=bp.Cumulative("age")):  # noqa: B008
    counts = np.full(policy.domain.shape, 3)
    return reading.parse(bp.Session(bp.Counts(counts), policy, budget=1).release(query, epsilon=1).text)


def by_zone(policy, epsilon="0.5"):
    session = bp.Session(bp.Counts(np.full((3, 10), 3)), policy, budget=1)
    return reading.parse(session.release(bp.Histogram("age").by("zone"), epsilon=epsilon).text)


def problems(body):
    return verification.problems(document.dumps(body))


@pytest.mark.parametrize("size", [64, 20_000])
def test_simulated_errors_are_the_same_every_time(size):
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, size - 1)), secrets=bp.DistanceThreshold(40))
    plans = [make_plan(bp.Cumulative("age"), policy, epsilon=1, records=5_000) for _ in range(2)]
    first, second = (plan.expected_error() for plan in plans)
    assert first.interval("0.95") == second.interval("0.95")
    assert first.mse == second.mse
    assert first.by_width([7]) == second.by_width([7])
    if size < 100:
        assert plans[0].explain() == plans[1].explain()


def test_a_smaller_error_than_the_true_one_is_noticed():
    body = released()
    assert problems(body) == []
    for key, factor in (("within_95_in_100", 0.71), ("within_95_in_100", 0.999), ("rmse", 0.999)):
        forged = {**body, "error": {**body["error"], key: factor * body["error"][key]}}
        assert any(key in problem for problem in problems(forged)), key


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": 5},
        {"time": 5},
        {"time": "yesterday"},
        {"time": "2026-01-01"},
        {"ledger": None},
        {"ledger": {}},
        {"ledger": {"key": "k", "entry": 0}},
        {"ledger": {"key": "k", "entry": True}},
        {"ledger": {"key": 1, "entry": 1}},
        {"package": None},
        {"package": {"name": "blowfish-privacy", "version": 1}},
        {"package": {"name": "whitefish-privacy", "version": "1"}},
        {"differential_privacy": "epsilon 0.0001, certified"},
        {"values": [True] * 64},
    ],
)
def test_labels_of_another_form_are_noticed(change):
    assert problems({**released(), **change})


def test_a_version_that_only_looks_like_one_is_refused():
    with pytest.raises(bp.SpecError, match="version"):
        problems({**released(), "version": True})


def test_exact_counts_that_cannot_be_counts_are_noticed():
    policy = bp.Policy(ZONES, secrets=OPEN)
    body = released(policy, bp.Histogram("zone"))
    assert body["values"] == [30, 30, 30]
    assert problems(body) == []
    for values in ([31, 30, 30], [-1, 45, 46]):
        assert any("exact counts" in problem for problem in problems({**body, "values": values}))


def test_the_keys_of_a_document_are_those_that_are_written():
    assert set(released()) - {"sha256"} == document.KEYS


def test_a_part_that_is_dropped_is_noticed():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN))
    assert problems(body) == []
    groups = body["groups"]
    for change in (
        {"parts": groups["parts"][:-1]},
        {"left_out": 1},
        {"parts": groups["parts"][:-1], "left_out": True},
        {"parts": [*groups["parts"][:-1], groups["parts"][0]]},
    ):
        assert problems({**body, "groups": {**groups, **change}}), change
    assert problems({**body, "error": {**body["error"], "rmse": 0.1}})


def test_parts_that_nobody_asked_for_are_said_to_be_left_out():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN), epsilon={"A": "0.5", "C": "0.25"})
    assert body["groups"]["left_out"] == 1
    assert problems(body) == []


def test_parts_have_as_many_records_together_as_the_policy_states():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN, size=90))
    assert problems(body) == []
    parts = [dict(part) for part in body["groups"]["parts"]]
    parts[0]["records"] += 1
    assert problems({**body, "groups": {**body["groups"], "parts": parts}})
