"""The plans of a file in the studio: each for itself, as the command line makes them, and quick the second time."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.batch import Batch
from blowfish_privacy.errors import BlowfishError, DataError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.statements.plan import plan_view, plans_view
from blowfish_privacy.studio.charts import plans as charts
from blowfish_privacy.studio.charts.plans import balances
from blowfish_privacy.studio.entries import KINDS, begun
from blowfish_privacy.studio.planning import PATIENCE, PlanCache, Planning, RecentFailures
from blowfish_privacy.support import yaml_text
from people import FILE, write_people

REFUSED = "  - {name: tiny, cumulative: age, rho: 0.01}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path)
    return tmp_path


def test_the_plans_are_those_of_the_command_line(folder):
    (folder / "people.yaml").write_text(FILE)
    create_ledger(folder / "people.ledger", budget=Fraction(1))
    planning, batch = Planning.of(spec.loads(FILE, folder), folder), Batch.open(folder / "people.yaml")
    assert [plan_view(plan) for plan in planning.plans] == plans_view(batch.plans, None)["releases"]
    assert [plan.key for plan in planning.plans] == [plan.key for plan in batch.plans]
    assert planning.quote == batch.quote
    assert planning.notes == ("Asked the data for the number of records alone, which is public here: 60.",)


def test_one_that_cannot_be_planned_does_not_stop_the_others(folder):
    planning = Planning.of(spec.loads(FILE + REFUSED), folder)
    assert [outcome.plan is None for outcome in planning.outcomes] == [False, False, True]
    problem = planning.outcomes[2].problem
    assert problem is not None
    assert problem.message.startswith("release 'tiny': ")
    assert problem.hint
    assert planning.quote is not None
    assert planning.quote.cost == Fraction(3, 4)


def test_what_was_planned_is_kept_by_its_content(folder):
    cache = PlanCache()
    first = Planning.of(spec.loads(FILE), folder, cache)
    second = Planning.of(spec.loads(FILE.replace("0.25", "0.2")), folder, cache)
    assert second.plans[0] is first.plans[0]
    assert second.plans[1].amount == Fraction(1, 5)


def test_data_that_changed_are_asked_again(folder):
    cache = PlanCache()
    assert Planning.of(spec.loads(FILE), folder, cache).plans[1].records == 60
    with (folder / "people.csv").open("a") as file:
        file.write("3,Male\n")
    assert Planning.of(spec.loads(FILE), folder, cache).plans[1].records == 61


def test_without_data_releases_that_need_no_number_are_planned(tmp_path):
    planning = Planning.of(spec.loads(FILE), tmp_path)
    assert planning.outcomes[0].plan is not None
    assert len(planning.notes) == 1
    assert planning.notes[0].startswith("Planned without the number of records: there is no file")


def test_what_the_ledger_holds_is_free(folder):
    (folder / "people.yaml").write_text(FILE)
    create_ledger(folder / "people.ledger", budget=Fraction(1))
    batch = Batch.open(folder / "people.yaml")
    batch.release(batch.plans[0])
    planning = Planning.of(spec.loads(FILE), folder)
    assert [outcome.due for outcome in planning.outcomes] == [False, True]
    assert planning.quote is not None
    assert planning.quote.cost == Fraction(1, 4)
    assert planning.state.entries[0].key == planning.plans[0].key


def test_what_if_only_some_are_released(folder):
    planning = Planning.of(spec.loads(FILE), folder)
    assert planning.state.missing
    quote = planning.quoted(["ages"])
    assert quote is not None
    assert not isinstance(quote, BlowfishError)
    assert quote.cost == Fraction(1, 2)


def test_a_ledger_with_another_budget_is_a_problem_and_plans_go_on(folder):
    create_ledger(folder / "people.ledger", budget=Fraction(2))
    planning = Planning.of(spec.loads(FILE), folder)
    assert planning.state.problem is not None
    assert "has a budget of" in planning.state.problem.message
    assert len(planning.plans) == 2


def test_nothing_is_promised_beside_a_ledger_that_cannot_be_read(folder):
    (folder / "people.ledger").write_text("damaged")
    planning = Planning.of(spec.loads(FILE), folder)
    assert planning.state.problem is not None
    assert len(planning.plans) == 2
    assert planning.quote is None
    assert isinstance(planning.quoted([outcome.name for outcome in planning.outcomes]), BlowfishError)
    for said in (planning.quoted(["ages"]), planning.quoted([]), planning.shares(["ages"])):
        assert isinstance(said, BlowfishError)
        assert "nobody can say what is spent" in said.message


def test_nothing_is_asked_of_the_data_where_the_number_of_records_is_secret_or_stated(tmp_path):
    for size in ("unknown", "60"):
        text = FILE.replace("releases:", f"  size: {size}\nreleases:")
        planning = Planning.of(spec.loads(text), tmp_path)
        assert planning.notes == ()
        assert planning.plans


def test_a_server_that_does_not_answer_is_left_in_peace_for_a_while():
    clock, tries = [0.0], list[float]()

    def ask():
        tries.append(clock[0])
        raise DataError("nobody is there.")

    failures = RecentFailures(lambda: clock[0])
    for now in (1.0, 2.0, 1.0 + PATIENCE):
        clock[0] = now
        with pytest.raises(DataError, match="nobody is there"):
            failures.attempt("postgresql://there", ask)
    assert tries == [1.0, 1.0 + PATIENCE]
    assert failures.attempt("elsewhere", lambda: 5) == 5


# Every kind of release that a form offers, under every kind of budget: planned and drawn, or refused in words.


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
