"""Every kind of release that a form offers, under every kind of budget: planned and drawn, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blowfish_privacy.release import spec
from blowfish_privacy.studio.charts import plans as charts
from blowfish_privacy.studio.charts.plans import balances
from blowfish_privacy.studio.entries import KINDS, begun
from blowfish_privacy.studio.planning import Planning
from blowfish_privacy.support import yaml_text

DOMAIN = {
    "age": {"integer": [0, 30]},
    "sex": {"categorical": ["F", "M"]},
    "region": {"categorical": ["N", "S"]},
    "wage": {"integer": [0, 20]},
}
SECRETS = {
    "cards": {"per_attribute": {"age": {"threshold": 2}, "sex": "full", "region": "public", "wage": {"threshold": 5}}},
    "full": "full",
    "presence": "add_remove",
    "public": "public",
}
BUDGETS = {"epsilon": 1, "rho": {"rho": "0.5"}, "delta": {"epsilon": 1, "delta": "1e-9"}}
AMOUNTS = {"epsilon": {"epsilon": "0.2"}, "rho": {"rho": "0.05"}, "delta": {"epsilon": "0.2", "delta": "1e-9"}}


def planned(secrets, budget, releases):
    policy = {"domain": DOMAIN, "secrets": secrets, **({} if secrets == "add_remove" else {"size": 1000})}
    body = {"version": 1, "budget": budget, "policy": policy, "releases": releases}
    return Planning.of(spec.loads(yaml_text.write(body)), Path())


def entries(counted):
    domain = planned("full", 1, []).file.policy.domain
    for kind in KINDS:
        asked = {
            key: [str(each) for each in value] if key == "at" else value for key, value in begun(kind, domain).items()
        }
        yield {"name": kind.title, **asked, **AMOUNTS[counted]}
        if kind.of_parts and kind.takes == "one":
            yield {"name": f"{kind.title} by region", **asked, **AMOUNTS[counted], "by": ["region"]}
            yield {"name": f"{kind.title} of some", **asked, **AMOUNTS[counted], "where": {"sex": "F"}}


@pytest.mark.filterwarnings("ignore:the policy has no secret pairs")
@pytest.mark.parametrize("counted", BUDGETS)
@pytest.mark.parametrize("secrets", SECRETS)
def test_every_release_is_planned_said_and_drawn_or_refused(counted, secrets):
    planning = planned(SECRETS[secrets], BUDGETS[counted], [*entries(counted)])
    assert sum(outcome.plan is not None for outcome in planning.outcomes) >= 8
    for outcome in planning.outcomes:
        if outcome.said is None:
            assert outcome.problem is not None
            assert outcome.problem.message.startswith(f"release {outcome.name!r}: ")
            continue
        said = outcome.said
        assert said.accuracy["rmse"] >= 0
        drawn = [charts.error_bars(said.accuracy)]
        drawn += [] if said.by_size is None else [charts.by_size(said.by_size)]
        drawn += [charts.by_part(said.by_part)] if said.by_part else []
        drawn += [charts.by_amount(said.by_amount)] if said.by_amount else []
        # Infinity and NaN are no JSON, and a browser would show nothing.
        assert json.dumps(drawn, allow_nan=False)
    rows = planning.shares([outcome.name for outcome in planning.outcomes])
    assert isinstance(rows, list)
    names = [outcome.name for outcome in planning.outcomes]
    assert json.dumps(balances(rows, names, "1", "epsilon"), allow_nan=False)
