"""Ledgers that admit Gaussian noise, and the classes and regions that entries are charged to."""

from fractions import Fraction
from pathlib import Path

import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError, RefusalError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.loss import ALL, PRESENCE, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.session import load_policy
from blowfish_privacy.statements.ledger import WholeRecord, loss_words, lost_on_pair, lost_on_whole_record
from unit.ledger.samples import ledger_at, people, request

STORED = {
    "approximate": ({"epsilon": 1, "delta": "1e-9"}, "epsilon 1 at delta 1e-9", "14973/1000000", "286819/100000000"),
    "rho": ({"rho": "0.05"}, "rho 0.05", "1/20", "1/200"),
}
"""Of two ledgers in which the same was charged: the budget, its amount, and what the pure release of sexes cost."""


def concentrated(folder: Path, name: str) -> SqliteLedger:
    """A ledger with one of these budgets, from which three tables were released."""
    path = folder / f"{name}.ledger"
    session = bp.Session(
        bp.Counts([[1, 2]] * 10), people(2, bp.FullDomain(), most=9), ledger=path, budget=STORED[name][0], create=True
    )
    session.release(bp.Histogram("age"), rho="0.004", name="ages", key="ages")
    session.release(bp.Histogram("sex"), epsilon="0.1", name="sexes", key="sexes")
    session.release(bp.Histogram("age", "sex"), epsilon="0.05", name="both", key="both")
    return SqliteLedger.open(path, load_policy=load_policy)


@pytest.mark.parametrize("name", STORED)
def test_ledgers_that_admit_gaussian_noise_are_read_back(tmp_path: Path, name: str) -> None:
    ledger = concentrated(tmp_path, name)
    _, words, budget, sexes = STORED[name]
    assert (ledger.terms.words, ledger.budget) == (words, Fraction(budget))
    assert [(e.key, e.requested, e.charged) for e in ledger.entries()] == [
        ("ages", (RHO, Fraction(1, 250)), Fraction(1, 250)),
        ("sexes", (EPSILON, Fraction(1, 10)), Fraction(sexes)),
        ("both", (EPSILON, Fraction(1, 20)), Fraction(1, 800)),
    ]
    assert ledger.balances == {"age": Fraction(21, 4000), "sex": Fraction(sexes) + Fraction(1, 800)}
    assert ledger.verify().problems == ()
    policy = load_policy(ledger.base.text)
    bp.Session(bp.Counts([[1, 2]] * 10), policy, ledger=ledger).release(bp.Histogram("sex"), rho="0.001", key="new")
    assert Fraction(sexes) < ledger.balances["sex"] <= Fraction(sexes) + Fraction(1, 800) + Fraction("0.001")
    assert ledger.verify().problems == ()


@pytest.mark.parametrize("name", STORED)
def test_rows_of_a_stored_document_show_what_a_pair_lost(tmp_path: Path, name: str) -> None:
    ledger = concentrated(tmp_path, name)
    ages = {"age": 0}, {"age": 9}
    # Five steps of at most 2; a histogram changes in two counts, however far a record moves.
    assert ledger.pair_loss(*ages).losses == ((RHO, Fraction(25, 250)), (EPSILON, 0), (EPSILON, Fraction(5, 20)))
    assert lost_on_pair(ledger, *ages).losses == ((RHO, Fraction(1, 250)), (EPSILON, 0), (EPSILON, Fraction(1, 20)))
    whole = {"age": 0, "sex": "F"}, {"age": 9, "sex": "M"}
    by_rows = lost_on_pair(ledger, *whole)
    assert by_rows.losses == ((RHO, Fraction(1, 250)), (EPSILON, Fraction(1, 10)), (EPSILON, Fraction(1, 20)))
    assert lost_on_whole_record(ledger) == WholeRecord(6, (by_rows,))
    assert loss_words(by_rows).startswith("rho 0.0")


def test_a_pure_ledger_refuses_gaussian_noise(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    asked = request("a") | {"loss": Loss.alike((ALL,), Fraction(1, 9), RHO)}
    for ask in (lambda: ledger.charge(**asked), lambda: ledger.quote(asked["loss"], asked["policy"])):
        with pytest.raises(RefusalError, match="promises that nothing fails"):
            ask()
    assert (ledger.spent, ledger.entries()) == (0, ())
    # What tells nothing costs nothing, however it is measured.
    assert ledger.charge(**(asked | {"loss": Loss.of({}, RHO)})).charged == 0
    assert ledger.verify().ok


def test_a_retry_must_have_paid_for_every_class(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    asked = request("a", policy="public sex")
    ledger.charge(**(asked | {"loss": Loss.of({changing("age"): Fraction(1, 10)})}))
    with pytest.raises(LedgerError, match="but paid 0.1"):
        ledger.charge(**(asked | {"loss": Loss.of({PRESENCE: Fraction(1, 10)})}))


def test_verification_knows_the_classes_of_a_policy(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    ledger.charge(**(request("a") | {"loss": Loss.of({changing("shoe size"): Fraction(1, 10)})}))
    assert "secret pairs that its policy does not have" in ledger.verify().problems[0]


def test_verification_knows_the_domain_of_a_policy(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "a.ledger")
    pairs = PairClass("attribute", "age", (("sex", Subset.of([2])),))
    ledger.charge(**(request("a", policy="people") | {"loss": Loss.of({pairs: Fraction(1, 10)})}))
    assert "a region that is not in the domain" in ledger.verify().problems[0]
