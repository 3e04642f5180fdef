"""A whole file from Python: planned together, refused before anything is spent, and free when it is run again."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import blowfish_privacy as bp
from blowfish_privacy.batch import open_session, plan_releases
from blowfish_privacy.cli.main import run
from blowfish_privacy.engines import open_engine
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import PublicNumbers
from blowfish_privacy.statements.data_check import data_check_view
from blowfish_privacy.statements.ledger import ledger_view, loss_view, verification_view
from blowfish_privacy.statements.plan import plans_view, release_view, releases_view
from blowfish_privacy.statements.policy import pair_view, policy_view
from people import FILE, write_people


@pytest.fixture
def file(tmp_path):
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(FILE)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    return tmp_path / "people.yaml"


def released(batch):
    return [batch.release(plan) for plan in batch.plans]


def test_a_batch_is_released_once_and_free_when_it_is_run_again(file):
    batch = bp.Batch.open(file)
    assert [plan.name for plan in batch.plans] == ["ages", "mean age"]
    assert batch.due == list(batch.plans)
    assert batch.cost == Fraction(3, 4)
    assert batch.session.remaining == 1
    first = released(batch)
    assert batch.session.remaining == Fraction(1, 4)
    again = bp.Batch.open(file)
    assert (again.due, again.cost) == ([], 0)
    assert {entry.number for entry in again.earlier.values()} == {1, 2}
    assert [result.text for result in released(again)] == [result.text for result in first]
    assert again.session.remaining == Fraction(1, 4)


def test_a_batch_that_stopped_half_way_costs_only_the_rest(file):
    batch = bp.Batch.open(file)
    batch.release(batch.plans[0])
    rest = bp.Batch.open(file)
    assert [plan.name for plan in rest.due] == ["mean age"]
    assert rest.cost == Fraction(1, 4)


def test_what_exceeds_the_budget_is_refused_before_the_data_are_asked_for_anything(file):
    batch = bp.Batch.open(file)
    released(batch)

    def engine():
        pytest.fail("the data were asked")

    with pytest.raises(bp.BudgetError, match=r"change age have lost 0\.75 .* cost 0\.75 on them: 0\.5 too"):
        bp.Batch.of(spec.load(file), batch.session, fresh=True, ask=PublicNumbers(batch.session.policy, engine))


def test_fresh_noise_is_paid_for(file):
    file.write_text(FILE.replace("epsilon: 0.5", "epsilon: 0.1").replace("epsilon: 0.25", "epsilon: 0.1"))
    first, second = (released(bp.Batch.open(file, fresh=True)) for _ in range(2))
    assert first[0].text != second[0].text
    assert bp.Batch.open(file, fresh=True).session.remaining == Fraction(3, 5)


def test_what_a_file_leaves_out_is_said(file):
    for line, missing in (("data: people.csv\n", "data"), ("ledger: people.ledger\n", "ledger")):
        file.write_text(FILE.replace(line, ""))
        with pytest.raises(bp.SpecError, match=f"the file names no {missing}"):
            bp.Batch.open(file)


def test_data_that_do_not_fit_cost_once_and_it_is_said(file):
    table = file.with_name("people.csv")
    sound = table.read_text()
    table.write_text(sound + "77,Female\n")
    batch = bp.Batch.open(file)
    with pytest.raises(bp.DataError, match="costs nothing more"):
        batch.release(batch.plans[0])
    table.write_text(sound)
    assert bp.Batch.open(file).cost == Fraction(1, 4)


def test_keys_of_releases_are_what_earlier_versions_wrote(file):
    # A ledger outlives the version that wrote it: with other keys a file that is run again would be charged again.
    plans = bp.Batch.open(file).plans
    assert [plan.key for plan in plans] == [
        "file-74c7cd61eb35ad6ee7a39ced8906fbd5",
        "file-5c28e223f3719e9e206588b96261cb01",
    ]


def test_python_and_the_file_know_each_others_releases(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    batch = bp.Batch.open("people.yaml")
    session = bp.Session("people.csv", batch.session.policy, ledger="people.ledger")
    first = session.release(bp.Histogram("age"), epsilon="0.5", name="ages")
    assert bp.Batch.open("people.yaml").cost == Fraction(1, 4)
    assert batch.release(batch.plans[0]).text == first.text


def test_a_plan_without_data_or_ledger(file):
    loaded = spec.loads(FILE.replace("data: people.csv\n", "").replace("ledger: people.ledger\n", ""))
    told = []
    ask = PublicNumbers(loaded.policy, lambda: open_engine(bp.Counts([[3] * 2] * 10)), told.append)
    plans = plan_releases(loaded, ask)
    assert [plan.epsilon for plan in plans] == [Fraction(1, 2), Fraction(1, 4)]
    assert told == ["Asked the data for the number of records alone, which is public here: 60."]


def test_views_are_what_the_command_line_prints(file, capsys):
    loaded = spec.load(file)
    session = open_session(loaded, file.parent)
    ledger = file.with_name("people.ledger")
    pair = {"age": 3}, {"age": 8}
    written = [json.dumps(value) for value in pair]

    def read(view):
        return json.loads(json.dumps(view))

    def printed(*arguments):
        capsys.readouterr()
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    plans = plan_releases(loaded, PublicNumbers(loaded.policy, lambda: session.engine))
    assert printed("plan", file) == read(plans_view(plans, loaded.budget, session.quote(*plans)))
    assert printed("policy", "check", file) == read({**policy_view(loaded.policy), "picture": None})
    assert printed("policy", "explain", file, "--pair", *written) == read(pair_view(loaded.policy, *pair))
    assert printed("data", "check", file) == read(data_check_view(session.check()))
    batch = bp.Batch.of(loaded, session)
    results = released(batch)
    out = file.parent / "out"
    files = [[str(out / f"{r.name}.{ending}") for ending in ("release.json", "csv", "png")] for r in results]
    entries = bp.Batch.open(file).earlier
    views = [
        release_view(result, entries[plan.key], each)
        for result, plan, each in zip(results, batch.plans, files, strict=True)
    ]
    expected = releases_view(views, spent=Fraction(0), remaining=Fraction(1, 4))
    assert printed("release", file, "--out", out) == read(expected)
    assert printed("ledger", "show", ledger) == read(ledger_view(session.ledger))
    assert printed("ledger", "show", ledger, "--pair", *written) == read(loss_view(session.ledger, *pair))
    assert printed("ledger", "verify", ledger) == read(verification_view(session.ledger.verify()))


def test_a_session_checks_its_data_for_the_custodian(file):
    table = file.with_name("people.csv")
    session = open_session(spec.load(file), file.parent)
    assert session.check().fits
    table.write_text(table.read_text() + "77,Female\n")
    checked = open_session(spec.load(file), file.parent).check()
    assert not checked.fits
    assert {column.name: column.outside for column in checked.domain.columns} == {"age": 1, "sex": 0}
    assert session.remaining == 1


SELECTED = FILE.replace(
    "  - {name: mean age, mean: age, epsilon: 0.25}\n",
    "  - {name: women, histogram: age, where: {sex: Female}, epsilon: 0.25}\n"
    "  - {name: by sex, median: age, by: sex, epsilon: 0.25}\n",
)


def test_a_file_asks_for_some_records_and_for_groups(file):
    file.write_text(
        SELECTED.replace("sex: full", "sex: public").replace("Female}, epsilon: 0.5", "Female}, epsilon: 0.25")
    )
    batch = bp.Batch.open(file)
    _, women, medians = released(batch)
    assert len(medians) == 2
    assert {type(value).__name__ for value in medians.values()} == {"QuantilesResult"}
    assert [result.release.records for result in medians.values()] == [40, 20]
    assert women.release.records == 40
    # All three look at the ages of women.
    assert batch.session.ledger.balances == {"age": 1}


def test_what_is_quoted_is_what_is_charged(file):
    file.write_text(SELECTED.replace("sex: full", "sex: public").replace("epsilon: 0.5", "epsilon: 0.25"))
    batch = bp.Batch.open(file)
    quote = batch.session.quote(*batch.plans)
    assert quote.fits
    assert quote.cost == batch.cost == Fraction(3, 4)
    released(batch)
    assert batch.session.ledger.spent == quote.largest
    assert batch.session.ledger.lost == quote.after
