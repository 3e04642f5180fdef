"""The check of stated facts is exact: what fails is counted, costs what it costs, and cannot be tried for ever."""

import json
import threading
from fractions import Fraction
from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import DataError, LedgerError, RefusalError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.loss import EVERY, Loss
from blowfish_privacy.session import load_policy
from unit.ledger.samples import ledger_at, request

DOMAIN = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]))
SECRET = 37
TABLE = bp.Counts([[SECRET, 3]] + [[2, 1]] * 9)
WRONG = bp.Counts([[SECRET + 5, 3]] + [[2, 1]] * 9)


def stating(count: int) -> bp.Policy:
    known = [bp.KnownCount({"age": 0, "sex": "F"}, count=count)]
    return bp.Policy(DOMAIN, secrets=bp.FullDomain(), known=known)


PLAIN = bp.Policy(DOMAIN, secrets=bp.FullDomain())


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    return ledger_at(tmp_path / "a.ledger", load_policy=load_policy)


def release(
    ledger: SqliteLedger, policy: bp.Policy, key: str, data: bp.Counts = TABLE, epsilon: str = "1e-9"
) -> object:
    return bp.Session(data, policy, ledger=ledger).release(bp.Histogram("age"), epsilon=epsilon, key=key)


def test_a_search_for_an_exact_count_ends_after_three_answers(ledger: SqliteLedger) -> None:
    answers = []
    for guess in range(100):
        try:
            release(ledger, stating(guess), f"guess {guess}")
            answers.append(guess)
        except DataError:
            answers.append(None)
        except RefusalError as error:
            assert "how often it may be tried" in error.message
            assert "blowfish data check" in error.hint
    assert answers == [None, None, None]
    assert len(ledger.failures()) == 3
    assert ledger.verify().ok
    # Without stated facts there is nothing to try, and what is left is not lost.
    release(ledger, PLAIN, "plain", epsilon="0.5")
    assert ledger.spent == Fraction(1, 2) + 3 * Fraction("1e-9")
    assert ledger.verify().ok


def test_a_search_by_many_threads_ends_too(ledger: SqliteLedger) -> None:
    answers, start = [], threading.Barrier(8)

    def search(first: int) -> None:
        own = SqliteLedger.open(ledger.path, load_policy=load_policy)
        start.wait()
        for guess in range(first, 32, 8):
            try:
                release(own, stating(guess), f"guess {guess}")
                answers.append(guess)
            except DataError:
                answers.append(None)
            except RefusalError:
                pass

    threads = [threading.Thread(target=search, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(None) == len(answers) <= 3
    assert ledger.verify().ok


def test_a_corrected_policy_is_released_from_the_same_ledger(ledger: SqliteLedger) -> None:
    with pytest.raises(DataError, match="contradict a fact whose count"):
        release(ledger, stating(1), "a", epsilon="0.25")
    assert (ledger.base, ledger.spent) == (None, Fraction(1, 4))
    release(ledger, stating(SECRET), "b", epsilon="0.25")
    assert ledger.base.hash == stating(SECRET).hash
    assert (ledger.spent, ledger.verify().problems) == (Fraction(1, 2), ())
    # The budget belongs to the corrected policy now: what failed cannot be read under any more.
    for data in (TABLE, bp.Counts([[1, 3]] + [[2, 1]] * 9)):
        with pytest.raises(RefusalError, match="only releases under equal policies add up"):
            release(ledger, stating(1), "a", data, epsilon="0.25")
    assert ledger.document("a") is None


def test_corrected_data_pass_under_the_same_charge(ledger: SqliteLedger) -> None:
    for _ in range(3):
        with pytest.raises(DataError):
            release(ledger, stating(SECRET), "a", WRONG, epsilon="0.25")
    assert len(ledger.failures()) == 1
    result = release(ledger, stating(SECRET), "a", epsilon="0.25")
    assert (ledger.spent, ledger.document("a")) == (Fraction(1, 4), result.text)
    assert ledger.base.hash == stating(SECRET).hash
    assert ledger.verify().ok


def test_a_policy_that_failed_may_be_tried_again_beside_others(ledger: SqliteLedger) -> None:
    for count in (1, 2, SECRET):
        with pytest.raises(DataError):
            release(ledger, stating(count), f"at {count}", WRONG)
    with pytest.raises(RefusalError, match="3 other policies"):
        release(ledger, stating(4), "fourth", WRONG)
    with pytest.raises(RefusalError, match="3 other policies"):
        ledger.price(stating(4))
    release(ledger, stating(SECRET), f"at {SECRET}")


def test_a_retry_that_reads_while_another_policy_is_charged_hands_nothing_out(ledger: SqliteLedger) -> None:
    first, second = stating(1), stating(SECRET)
    with pytest.raises(DataError):
        release(ledger, first, "a", epsilon="0.25")
    # The retry has found its charge and reads, under corrected data; meanwhile the corrected policy is charged.
    ask = {"loss": Loss.alike((EVERY,), Fraction(1, 4)), "description": "d", "mechanism": "laplace", "policy_text": ""}
    ledger.charge(policy=second, key="b", **ask)
    with pytest.raises(RefusalError, match="entry 1 failed, and the budget has since been spent under another policy"):
        ledger.record("a", "noise")
    assert ledger.record("b", "noise") == "noise"
    with pytest.raises(RefusalError):
        ledger.record("a", "noise")
    # Nothing is wrong but that a release would have recorded a release document.
    assert ledger.verify().problems == ("entry 2: this is not a release document.",)


def test_a_charge_under_way_keeps_its_policy_until_it_fails(ledger: SqliteLedger) -> None:
    ask = {"loss": Loss.alike((EVERY,), Fraction(1, 4)), "description": "d", "mechanism": "laplace", "policy_text": ""}
    ledger.charge(policy=stating(1), key="a", **ask)
    with pytest.raises(RefusalError, match="equal policies add up"):
        ledger.charge(policy=stating(2), key="b", **ask)
    ledger.fail("a")
    ledger.charge(policy=stating(2), key="b", **ask)
    assert ledger.base.hash == stating(2).hash


def test_other_charges_do_not_fail(ledger: SqliteLedger) -> None:
    ledger.charge(**request("a"))
    with pytest.raises(LedgerError, match="known facts"):
        ledger.fail("a")
    with pytest.raises(LedgerError, match="no charge with this key"):
        ledger.fail("b")
    assert ledger.failures() == ()


def test_a_failure_is_shown(ledger: SqliteLedger, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError):
        release(ledger, stating(1), "a")
    release(ledger, stating(SECRET), "b")
    assert run(["ledger", "show", str(ledger.path)]) == 0
    assert "Entry 1: the data contradicted the facts that its policy states (20" in capsys.readouterr().out
    assert run(["ledger", "show", str(ledger.path), "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [entry["failed"] is None for entry in entries] == [False, True]


@pytest.mark.parametrize("parallel", [False, True])
def test_every_kind_of_release_counts(tmp_path: Path, parallel: bool) -> None:
    ledger = ledger_at(tmp_path / "a.ledger", load_policy=load_policy)
    secrets = bp.PerAttribute(age=bp.FullDomain(), sex=bp.Public())
    policy = bp.Policy(DOMAIN, secrets=secrets, known=[bp.KnownMarginal("sex", counts={"F": 1, "M": 1})])
    session = bp.Session(TABLE, policy, ledger=ledger)
    with pytest.raises(DataError, match="contradict"):
        (session.parallel("sex") if parallel else session).release(bp.Histogram("age"), epsilon="0.1")
    assert [failure.entry for failure in ledger.failures()] == [1]
