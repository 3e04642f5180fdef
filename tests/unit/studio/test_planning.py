"""The plans of a file in the studio: each for itself, as the command line makes them, and quick the second time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.batch import Batch
from blowfish_privacy.errors import BlowfishError, DataError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.statements.plan import plans_view
from blowfish_privacy.studio.planning import PATIENCE, PlanCache, Planning, RecentFailures
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
    assert [outcome.view for outcome in planning.outcomes] == plans_view(batch.plans, None)["releases"]
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
    assert planning.quote_problem is not None
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
