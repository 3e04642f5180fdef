"""What every kind of ledger promises, whatever it is stored in (see conftest.py) and whatever its measure."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import BudgetError, DomainError, LedgerError, RefusalError
from blowfish_privacy.ledger import Ledger, OverBudgetError
from blowfish_privacy.privacy.loss import ALL, EVERY, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import EPSILON, RHO
from unit.ledger.samples import PEOPLE, POLICIES, load, request

Open = Callable[..., Ledger]


@pytest.fixture(params=["epsilon", "rho"])
def open_ledger(request: pytest.FixtureRequest, stored: Open) -> Open:
    """Ledgers of the same amounts in either measure: what they promise is the same."""
    return stored if request.param == "epsilon" else _counting_in_rho(stored)


@pytest.fixture
def open_pure(stored: Open) -> Open:
    """Ledgers of pure epsilon, for what several steps cost, and what that is called."""
    return stored


def _counting_in_rho(stored: Open) -> Open:
    def open_ledger(budget: str | None = "1", **options: Any) -> Ledger:
        ledger = stored(None if budget is None else {"rho": budget}, **options)
        charge = ledger.charge

        def charge_rho(*, loss: Any, **asked: Any) -> Any:
            return charge(loss=Loss(RHO, loss.amounts) if isinstance(loss, Loss) else loss, **asked)

        ledger.charge = charge_rho
        return ledger

    return open_ledger


def test_a_charge_is_there_after_reopening(open_ledger: Open) -> None:
    entry = open_ledger().charge(**request("a", "1/3"))
    again = open_ledger(None)
    assert again.entries() == (entry,)
    assert (again.budget, again.spent, again.remaining) == (1, Fraction(1, 3), Fraction(2, 3))
    assert (entry.number, entry.key, entry.epsilon, entry.charged) == (1, "a", Fraction(1, 3), Fraction(1, 3))
    assert entry.policy.hash == POLICIES["full"].hash == again.base.hash
    assert entry.policy.text == "full"
    assert again.verify().ok


def test_a_refusal_names_a_new_ledger_only_while_nothing_was_handed_out(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a", "1/3"))
    other = request("b", "1/3", policy="people")
    for ask in (lambda: ledger.price(other["policy"]), lambda: ledger.charge(**other)):
        with pytest.raises(RefusalError, match="you may start a new ledger,"):
            ask()
    ledger.record("a", "what was handed out")
    for ask in (lambda: ledger.price(other["policy"]), lambda: ledger.charge(**other)):
        with pytest.raises(RefusalError) as refused:
            ask()
        assert "start a new ledger" not in str(refused.value)


def test_a_new_ledger_is_empty(open_ledger: Open) -> None:
    ledger = open_ledger()
    assert (ledger.entries(), ledger.spent, ledger.base) == ((), 0, None)
    assert ledger.verify().ok
    assert ledger.loss({"age": 1}, {"age": 2}) == 0


def test_ten_tenths_fit_and_the_smallest_more_does_not(open_ledger: Open) -> None:
    ledger = open_ledger()
    for number in range(10):
        ledger.charge(**request(str(number), "1/10"))
    assert ledger.remaining == 0
    with pytest.raises(BudgetError):
        ledger.charge(**request("more", Fraction(1, 10**300)))
    assert len(ledger.entries()) == 10


def test_three_thirds_fit(open_ledger: Open) -> None:
    ledger = open_ledger()
    for number in range(3):
        ledger.charge(**request(str(number), "1/3"))
    assert ledger.spent == 1


def test_over_budget_says_by_how_much(open_pure: Open) -> None:
    ledger = open_pure()
    ledger.charge(**request("a", "0.7"))
    with pytest.raises(OverBudgetError, match=r"costs 0\.5, .* only 0\.3 is left: 0\.2 too much") as caught:
        ledger.charge(**request("b", "0.5"))
    error = caught.value.within("release table")
    assert error.message.startswith("release table: ")
    assert (error.requested, error.remaining, error.difference) == (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    assert error.exit_code == 4
    assert ledger.spent == Fraction(7, 10)


def test_the_same_request_is_charged_once(open_ledger: Open) -> None:
    first = open_ledger().charge(**request("a", "0.6"))
    assert open_ledger().charge(**request("a", "0.6")) == first
    assert open_ledger().spent == Fraction(3, 5)


def test_a_retry_works_when_the_budget_is_used_up(open_ledger: Open) -> None:
    first = open_ledger().charge(**request("a", "1"))
    assert open_ledger().charge(**request("a", "1")) == first


@pytest.mark.parametrize(
    "changed",
    [
        {"loss": Loss.alike((EVERY,), Fraction(1, 5))},
        {"policy": POLICIES["near"]},
        {"description": "another"},
        {"content": "another"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_key_is_for_one_request_only(open_ledger: Open, changed: dict[str, Any]) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a"))
    with pytest.raises(LedgerError, match="used for a different release"):
        ledger.charge(**(request("a") | changed))
    assert len(ledger.entries()) == 1


def test_the_first_document_wins(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a"))
    assert ledger.document("a") is None
    text = '{"value": 1.50, "weißes": "🐡", "lines": "\r\n\t\\"}\n '
    assert ledger.record("a", text) == text
    assert open_ledger().record("a", "another") == text
    assert open_ledger().document("a") == text
    assert ledger.verify().documents == 1
    assert ledger.verify().ok


def test_no_document_without_a_charge(open_ledger: Open) -> None:
    ledger = open_ledger()
    with pytest.raises(LedgerError, match="no charge with this key"):
        ledger.record("a", "text")
    assert ledger.document("a") is None


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 5])
def test_text_that_cannot_be_stored_is_refused(open_ledger: Open, text: Any) -> None:
    ledger = open_ledger()
    with pytest.raises(LedgerError, match="must be text that can be stored"):
        ledger.charge(**request("a", description=text))
    ledger.charge(**request("a"))
    with pytest.raises(LedgerError, match="must be text that can be stored"):
        ledger.record("a", text)


@pytest.mark.parametrize("key", ["", "k" * 501])
def test_a_key_has_a_length(open_ledger: Open, key: str) -> None:
    with pytest.raises(LedgerError, match="1 to 500 characters"):
        open_ledger().charge(**request(key))


@pytest.mark.parametrize("amount", [Fraction(-1, 2), math.nan, math.inf, "abc", 1, True])
def test_a_bad_amount_is_refused(open_ledger: Open, amount: Any) -> None:
    for loss in (amount, None, Loss(EPSILON, ((ALL, amount),))):
        with pytest.raises(LedgerError, match="a charge needs a loss"):
            open_ledger().charge(**(request("a") | {"loss": loss}))


def test_the_classes_that_are_charged_are_kept(open_ledger: Open) -> None:
    lost = {changing("age"): Fraction(1, 4), EVERY: Fraction(1, 12)}
    entry = open_ledger().charge(**(request("a", policy="public sex") | {"loss": Loss.of(lost)}))
    assert (entry.epsilon, entry.charged, dict(entry.loss)) == (Fraction(1, 3), Fraction(1, 3), lost)
    assert open_ledger().entries() == (entry,)
    assert open_ledger().verify().ok


def test_another_policy_is_charged_class_by_class_where_both_are_products(open_ledger: Open) -> None:
    ledger, lost = open_ledger("10"), Loss.of({changing("age"): Fraction(1, 10)})
    ledger.charge(**(request("a", policy="public sex") | {"loss": lost}))
    assert dict(ledger.charge(**(request("b", policy="people") | {"loss": lost})).loss) == dict(lost)
    # Whole records are no product: whatever is lost may be lost on every pair.
    whole = bp.Policy(PEOPLE, secrets=bp.FullDomain())
    asked = request("c") | {"loss": lost, "policy": whole, "policy_text": ""}
    assert dict(ledger.charge(**asked).loss) == {EVERY: Fraction(1, 10)}


def test_unlike_fractions_keep_a_short_balance(open_ledger: Open) -> None:
    ledger = open_ledger()
    # Exactly added up, these have a denominator of more than 1,000 digits.
    parts = [Fraction(10**57, 10**59 + 2 * number + 1) for number in range(20)]
    for number, part in enumerate(parts):
        entry = ledger.charge(**request(str(number), part))
        assert part <= entry.charged < part + Fraction(1, 10**39)
    assert sum(parts) <= ledger.spent < sum(parts) + Fraction(1, 10**38)
    assert len(str(ledger.spent)) < 100
    assert ledger.charge(**request("seventh", Fraction(1, 7))).charged == Fraction(1, 7)
    with pytest.raises(LedgerError, match="digits"):
        ledger.charge(**request("long", Fraction(1, 3**2100)))
    assert ledger.verify().ok


def test_a_budget_is_fixed(open_pure: Open) -> None:
    open_pure("1")
    with pytest.raises(LedgerError, match=r"budget of 1, not of 2"):
        open_pure("2")
    assert open_pure("1.0").budget == 1


def test_another_policy_costs_its_stretch(open_pure: Open) -> None:
    ledger = open_pure()
    ledger.charge(**request("a", "1/10", "near5"))
    # Moves of 5 take five steps of 1; the complete graph takes one step.
    assert ledger.charge(**request("b", "1/10", "near")).charged == Fraction(1, 2)
    assert ledger.charge(**request("c", "1/10", "full")).charged == Fraction(1, 10)
    with pytest.raises(OverBudgetError, match=r"costs 0\.5"):
        open_pure().charge(**request("d", "1/10", "near"))
    assert ledger.spent == Fraction(7, 10)
    assert ledger.verify().ok


@pytest.mark.parametrize("policy", ["blocks", "known", "people"])
def test_a_policy_that_no_rule_covers_is_refused(open_ledger: Open, policy: str) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a"))
    with pytest.raises(RefusalError, match="add up and must be reported together"):
        ledger.charge(**request("b", "0", policy))
    assert len(ledger.entries()) == 1


def test_another_policy_needs_the_first_one_back(open_pure: Open) -> None:
    open_pure().charge(**request("a", policy_text=""))
    with pytest.raises(LedgerError, match="cannot be read back"):
        open_pure().charge(**request("b", policy="near"))
    open_pure().charge(**request("c"))
    open_pure().charge(**request("d", "1/100", policy="near"))
    with pytest.raises(LedgerError, match="cannot be read back"):
        open_pure(load_policy=None).charge(**request("e", policy="near"))


def test_a_wrong_text_is_noticed(open_ledger: Open) -> None:
    open_ledger().charge(**request("a", policy_text="near"))
    with pytest.raises(LedgerError, match="describes a different policy"):
        open_ledger().loss({"age": 1}, {"age": 2})
    assert ["describes a different policy" in problem for problem in open_ledger().verify().problems] == [True]


def test_the_loss_of_a_pair_adds_up_over_policies(open_pure: Open) -> None:
    open_pure("10").charge(**request("a", "1/10", "near5"))
    open_pure("10").charge(**request("b", "1/7", "near"))
    ledger = open_pure("10")
    # 0 and 12: three steps of up to 5, twelve steps of 1.
    assert ledger.loss({"age": 0}, {"age": 12}) == Fraction(3, 10) + Fraction(12, 7)
    assert ledger.loss({"age": 3}, {"age": 3}) == 0
    with pytest.raises(DomainError):
        ledger.loss({"age": 3}, {"age": 99})


def test_an_unprotected_pair_is_lost_even_at_no_cost(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a", "0", "blocks"))
    assert ledger.loss({"age": 0}, {"age": 6}) == 0
    assert ledger.loss({"age": 0}, {"age": 7}) == math.inf


def test_no_loss_of_a_pair_with_known_facts(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a", policy="known"))
    ledger.charge(**request("b", policy="known"))
    assert ledger.spent == Fraction(1, 5)
    with pytest.raises(RefusalError, match="known facts"):
        ledger.loss({"age": 0, "sex": "F"}, {"age": 1, "sex": "F"})


def test_regions_that_do_not_meet_cost_their_maximum(open_pure: Open) -> None:
    ledger = open_pure()
    women, men = (PairClass("attribute", "age", (("sex", Subset.of([at])),)) for at in (0, 1))
    loss = Loss.of({women: Fraction(1, 3), men: Fraction(1, 4)})
    entry = ledger.charge(**{**request("a", policy="public sex"), "loss": loss})
    assert (entry.epsilon, entry.charged) == (Fraction(1, 3), Fraction(1, 3))
    assert open_pure().entries()[0].loss == loss
    ledger.charge(**{**request("b", policy="public sex"), "loss": Loss.of({men: Fraction(1, 4)})})
    assert ledger.spent == Fraction(1, 2)
    assert ledger.loss({"age": 0, "sex": "F"}, {"age": 6, "sex": "F"}) == Fraction(2, 3)
    assert ledger.verify().ok


def test_the_clock_may_go_backwards(open_ledger: Open) -> None:
    times = (datetime(2030, 1, 1, tzinfo=UTC) - timedelta(days=day) for day in range(9))
    ledger = open_ledger(clock=lambda: next(times))
    for key in "abc":
        ledger.charge(**request(key))
        ledger.record(key, key)
    assert [entry.key for entry in ledger.entries()] == ["a", "b", "c"]
    made = [entry.made for entry in ledger.entries()]
    assert made == sorted(made, reverse=True)
    assert made[0].endswith("+00:00")
    assert ledger.verify().ok


def test_a_charge_that_failed_leaves_the_budget_to_another_policy(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**request("a", "1/4", "stated 1"))
    with pytest.raises(RefusalError, match="equal policies"):
        ledger.charge(**request("b", "1/4", "stated 2"))
    ledger.fail("a")
    ledger.fail("a")
    assert (ledger.base, ledger.spent) == (None, Fraction(1, 4))
    ledger.charge(**request("b", "1/4", "stated 2"))
    assert open_ledger().base.hash == POLICIES["stated 2"].hash
    with pytest.raises(RefusalError, match="since been spent under another policy"):
        ledger.record("a", "noise")
    ledger.record("b", "noise")
    assert [(failure.number, failure.entry) for failure in open_ledger().failures()] == [(1, 1)]
    report = open_ledger().verify()
    assert (report.problems, report.spent, report.documents) == ((), Fraction(1, 2), 1)


def test_only_so_many_policies_may_fail(open_ledger: Open) -> None:
    for count in (1, 2, 3):
        open_ledger().charge(**request(str(count), "0", f"stated {count}"))
        open_ledger().fail(str(count))
    for ask in (
        lambda: open_ledger().charge(**request("4", "0", "stated 4")),
        lambda: open_ledger().price(load("stated 4")),
    ):
        with pytest.raises(RefusalError, match="stated facts of 3 other policies"):
            ask()
    # A retry of what failed, and facts without counts, tell nothing new.
    open_ledger().charge(**request("3", "0", "stated 3"))
    open_ledger().charge(**request("5", "0", "known"))


def test_a_ledger_is_made_once(open_ledger: Open) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_ledger(None)
    ledger = open_ledger()
    ledger.charge(**request("a"))
    with pytest.raises(LedgerError, match="already exists"):
        open_ledger(make=True)
    assert open_ledger(None).spent == Fraction(1, 10)


def test_threads_share_a_ledger(open_ledger: Open) -> None:
    ledger = open_ledger()

    def spend(number: int) -> int:
        try:
            ledger.charge(**request(str(number), "1/16"))
        except BudgetError:
            return 0
        return ledger.record(str(number), f"document {number}") == f"document {number}"

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(24))) == 16
    assert ledger.remaining == 0
    report = open_ledger().verify()
    assert (report.ok, report.entries, report.documents, report.spent) == (True, 16, 16, 1)


def test_threads_with_one_key_get_one_charge_and_one_document(open_ledger: Open) -> None:
    ledgers = [open_ledger() for _ in range(8)]

    def spend(number: int) -> str:
        ledgers[number].charge(**request("a", "1"))
        return ledgers[number].record("a", f"document {number}")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(spend, range(8)))) == 1
    assert ledgers[0].spent == 1


def test_a_charge_that_paid_too_little_is_not_read_under(open_pure: Open) -> None:
    ledger = open_pure("10")
    ledger.charge(**request("a", "1/10", "full"))
    asked = request("b", "1/5", "near")
    honest = ledger.charge(**request("c", "1/5", "near"))
    assert honest.charged > honest.epsilon

    def underpay(store: Any) -> None:
        before = store.account()
        forged = replace(honest, number=3, key="b", description=asked["description"], charged=honest.epsilon)
        forged = replace(forged, loss=asked["loss"])
        forged = replace(forged, chain=forged.link(before.entries_head))
        after = before.after(forged, before.spent + forged.charged)
        store.append(forged, before=before, after=after, balances=tuple(store.balances()))

    ledger._write(underpay)
    with pytest.raises(LedgerError, match="paid 0.2 and not"):
        open_pure(None).charge(**asked)
    assert not ledger.verify().ok
