"""Ledgers that admit Gaussian noise: budgets of rho, and of an epsilon and a delta, in every kind of storage."""

import math
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import BudgetError, LedgerError, RefusalError
from blowfish_privacy.ledger import Ledger, OverBudgetError, SqliteLedger
from blowfish_privacy.ledger.pair_loss import Record
from blowfish_privacy.privacy.loss import EVERY, Loss, PairClass, changing
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate, Budget, Measure, best_order, epsilon_of, rho_of
from effort import examples
from unit.ledger.samples import load, request

Open = Callable[..., Ledger]
ONE = Fraction(1)
BILLIONTH = Fraction("1e-9")
PROMISE = {"epsilon": 1, "delta": "1e-9"}
BUDGETS = {"rho": {"rho": "0.05"}, "approximate": PROMISE}


@pytest.fixture(params=BUDGETS)
def open_ledger(request: pytest.FixtureRequest, stored: Open) -> Open:
    return lambda budget=BUDGETS[request.param], **options: stored(budget, **options)


def asked(key: str, amount: str | Fraction, measure: Measure = RHO, policy: str = "full") -> dict[str, Any]:
    return request(key, policy=policy) | {"loss": Loss.alike((EVERY,), Fraction(amount), measure)}


def test_the_budget_is_kept_as_it_was_stated(open_ledger: Open) -> None:
    made = open_ledger()
    again = open_ledger(None)
    assert again.terms == made.terms
    assert again.measure == again.terms.measure
    assert again.budget == again.terms.amount == again.remaining
    assert again.verify().ok
    for other in (1, {"rho": "0.06"}, {"epsilon": 1, "delta": "1e-8"}, {"epsilon": 2, "delta": "1e-9"}):
        with pytest.raises(LedgerError, match=f"has a budget of {made.terms.words}, not of"):
            open_ledger(other)


def test_a_pure_ledger_does_not_open_as_another(stored: Open) -> None:
    stored("1")
    for other in BUDGETS.values():
        with pytest.raises(LedgerError, match="has a budget of 1, not of"):
            stored(other)


def test_an_older_order_is_still_the_same_promise(stored: Open) -> None:
    # A later version may search for the order in another way: ledgers keep theirs.
    old = Budget(Approximate(ONE, BILLIONTH, Fraction(35)), Fraction("0.0149"))
    assert stored(old).terms == old
    again = stored(PROMISE)
    assert (again.measure.order, again.budget) == (35, Fraction("0.0149"))
    entry = again.charge(**asked("a", "0.1", EPSILON))
    assert entry.charged == Fraction("0.1") / 35
    assert again.verify().ok


def test_a_budget_that_breaks_its_promise_is_noticed(stored: Open) -> None:
    ledger = stored(Budget(Approximate(ONE, BILLIONTH, Fraction(35)), Fraction("0.016")))
    assert ledger.verify().problems == ("rho 0.016 does not keep the promise of the budget, epsilon 1 at delta 1e-9.",)


def test_gaussian_and_pure_releases_are_charged_side_by_side(open_ledger: Open) -> None:
    ledger = open_ledger()
    gaussian = ledger.charge(**asked("a", "0.005"))
    small, large = (ledger.charge(**asked(key, epsilon, EPSILON)) for key, epsilon in (("b", "0.05"), ("c", "0.1")))
    order = ledger.measure.order if isinstance(ledger.measure, Approximate) else None
    assert gaussian.charged == gaussian.epsilon == Fraction("0.005")
    # Half its square, or linear where that is less: from 2 / order = 0.057 on.
    assert small.charged == Fraction("0.00125")
    assert large.charged == (Fraction("0.005") if order is None else Fraction("0.1") / order)
    assert ledger.spent == sum(entry.charged for entry in (gaussian, small, large))
    assert [entry.requested for entry in open_ledger(None).entries()] == [
        (RHO, Fraction("0.005")),
        (EPSILON, Fraction("0.05")),
        (EPSILON, Fraction("0.1")),
    ]
    assert "costs the rho that bounds it" in large.rule
    assert open_ledger().verify().ok


def test_over_budget_names_the_measure_and_what_is_left(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**asked("a", ledger.budget - Fraction("0.002")))
    with pytest.raises(OverBudgetError) as caught:
        ledger.charge(**asked("b", "0.005"))
    said = str(caught.value)
    assert f"costs rho 0.005, but of the budget of {ledger.terms.kept} only rho 0.002 is left: rho 0.003 too" in said
    assert "what is left is enough for rho 0.002, or for a pure epsilon of" in said
    left = ledger.measure.pure(Fraction("0.002"))
    assert left == (Fraction("0.0697303") if ledger.measure is not RHO else Fraction("0.0632455"))
    ledger.charge(**asked("c", left, EPSILON))
    with pytest.raises(BudgetError):
        ledger.charge(**asked("d", "0.001", EPSILON))


def test_a_retry_is_the_same_release_in_the_same_measure(open_ledger: Open) -> None:
    first = open_ledger().charge(**asked("a", "0.1", EPSILON))
    assert open_ledger().charge(**asked("a", "0.1", EPSILON)) == first
    for amount, measure in (("0.2", EPSILON), (first.epsilon, RHO), ("0.1", RHO)):
        with pytest.raises(LedgerError, match=r"used for a different release: .* rho 0\.00"):
            open_ledger().charge(**asked("a", amount, measure))
    assert len(open_ledger().entries()) == 1


def test_another_policy_costs_its_stretch_in_the_measure_of_the_release(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**asked("a", "0.001", policy="near5"))
    # Moves of 5 take five steps of 1: 25 times the rho, 5 times the epsilon.
    assert ledger.charge(**asked("b", "0.0001", policy="near")).charged == Fraction("0.0025")
    pure = ledger.charge(**asked("c", "0.02", EPSILON, policy="near"))
    assert pure.charged == ledger.measure.converted(Fraction("0.1"), EPSILON)
    assert pure.epsilon == ledger.measure.converted(Fraction("0.02"), EPSILON)
    assert ledger.verify().ok


def test_several_steps_are_counted_in_the_measure_of_each_release(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**asked("a", "0.0001", policy="near5"))
    ledger.charge(**asked("b", "0.02", EPSILON, policy="near"))
    # 0 and 12: three steps of up to 5, twelve steps of 1.
    lost = ledger.pair_loss({"age": 0}, {"age": 12})
    assert lost.losses == ((RHO, Fraction("0.0009")), (EPSILON, Fraction("0.24")))
    assert ledger.loss({"age": 0}, {"age": 12}) == Fraction("0.0009") + ledger.measure.converted(
        Fraction("0.24"), EPSILON
    )
    assert lost.epsilon(BILLIONTH) == epsilon_of(Fraction("0.0009"), BILLIONTH, (Fraction("0.24"),))
    assert ledger.loss({"age": 3}, {"age": 3}) == 0
    # On one step no more is lost than was spent.
    assert ledger.loss({"age": 3}, {"age": 4}) <= ledger.spent


class KnownRows:
    """Rows of a release that show what it lost on every pair."""

    def __init__(self, lost: Fraction) -> None:
        self.lost = lost

    def between(self, first: Record, second: Record) -> Fraction:
        return self.lost

    def any_change(self, names: Collection[str]) -> None:
        return None


def test_rows_may_show_that_less_was_lost(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**asked("a", "0.0001", policy="near"))
    ledger.charge(**asked("b", "0.0002", policy="near"))
    known = {"a": KnownRows(Fraction("0.0003")), "b": None}
    lost = ledger.pair_loss({"age": 0}, {"age": 3}, lambda entry: known[entry.key])
    assert lost.losses == ((RHO, Fraction("0.0003")), (RHO, Fraction("0.0018")))
    # Rows never show more than a chain does.
    lost = ledger.pair_loss({"age": 0}, {"age": 1}, lambda entry: KnownRows(Fraction(1)))
    assert lost.amount == Fraction("0.0003")


def test_an_unprotected_pair_is_lost_even_at_no_cost(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.charge(**asked("a", "0", policy="blocks"))
    assert ledger.loss({"age": 0}, {"age": 6}) == 0
    lost = ledger.pair_loss({"age": 0}, {"age": 7}, lambda entry: KnownRows(Fraction(0)))
    assert lost.amount == lost.epsilon(BILLIONTH) == math.inf


def test_a_chain_over_several_attributes_adds_square_roots(open_ledger: Open) -> None:
    ledger = open_ledger()
    loss = Loss.of({changing("age"): Fraction("0.0004"), changing("sex"): Fraction("0.0001")}, RHO)
    ledger.charge(**(request("a", policy="people") | {"loss": loss}))
    # Two steps of age and one of sex: (2 * 0.02 + 0.01)^2.
    assert ledger.loss({"age": 0, "sex": "F"}, {"age": 10, "sex": "M"}) == Fraction("0.0025")


def test_regions_that_do_not_meet_cost_their_maximum(open_ledger: Open) -> None:
    ledger = open_ledger()
    women, men = (PairClass("attribute", "age", (("sex", Subset.of([at])),)) for at in (0, 1))
    loss = Loss.of({women: Fraction("0.1"), men: Fraction("0.05")})
    entry = ledger.charge(**(request("a", policy="public sex") | {"loss": loss}))
    assert entry.asked == loss
    assert entry.charged == ledger.spent == ledger.measure.converted(Fraction("0.1"), EPSILON)
    assert open_ledger().verify().ok


def test_a_loss_that_was_counted_for_another_promise_is_refused(open_ledger: Open) -> None:
    other = Approximate.of(Fraction(2), BILLIONTH)
    with pytest.raises(RefusalError):
        open_ledger().charge(**asked("a", "0.001", other))
    assert open_ledger().entries() == ()


def test_threads_share_a_ledger(open_ledger: Open) -> None:
    ledger = open_ledger()
    part = ledger.budget / 8

    def spend(number: int) -> int:
        try:
            ledger.charge(**asked(str(number), part))
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(12))) == 8
    assert (ledger.remaining, open_ledger().verify().problems) == (0, ())


def test_a_charge_that_was_converted_too_low_is_not_read_under(open_ledger: Open) -> None:
    ledger = open_ledger()
    honest = ledger.charge(**asked("a", "0.1", EPSILON))
    wanted = asked("b", "0.1", EPSILON)

    def underpay(store: Any) -> None:
        before = store.account()
        forged = replace(honest, number=2, key="b", description=wanted["description"], charged=honest.charged / 2)
        forged = replace(forged, loss=Loss.of({EVERY: forged.charged}, honest.loss.measure), epsilon=forged.charged)
        forged = replace(forged, chain=forged.link(before.entries_head))
        after = before.after(forged, before.spent + forged.charged)
        store.append(forged, before=before, after=after, balances=tuple(store.balances()))

    ledger._write(underpay)
    assert ledger.verify().problems == ("entry 2 does not count what was asked for.",)
    with pytest.raises(LedgerError, match="used for a different release"):
        open_ledger(None).charge(**wanted)


amounts = st.integers(1, 40).map(lambda number: Fraction(number, 2000))
charges = st.tuples(st.sampled_from([EPSILON, RHO]), amounts, st.sampled_from(["age", "sex", None]))


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(charges, min_size=1, max_size=12),
    st.sampled_from([*BUDGETS.values(), {"epsilon": "0.3", "delta": "1e-6"}]),
)
def test_random_mixed_charges_add_up(tmp_path_factory, asked_for, budget) -> None:
    """The sum is worked out again in floats, by the formulas of docs/budget.md, for each class."""
    ledger = SqliteLedger.create(tmp_path_factory.mktemp("mixed") / "a.ledger", budget=budget, load_policy=load)
    if "rho" in budget:
        most, linear = float(budget["rho"]), math.inf
    else:
        stated = Fraction(budget["epsilon"]), Fraction(budget["delta"])
        most, linear = float(rho_of(*stated)), 1 / float(best_order(*stated))
    lost = {"age": 0.0, "sex": 0.0}
    for number, (measure, amount, name) in enumerate(asked_for):
        cost = float(amount) if measure is RHO else min(float(amount) ** 2 / 2, float(amount) * linear)
        met = ["age", "sex"] if name is None else [name]
        pairs = [EVERY] if name is None else [changing(name)]
        wanted = request(str(number), policy="people") | {"loss": Loss.alike(pairs, amount, measure)}
        after = max(lost[each] + cost for each in met)
        if math.isclose(after, most, rel_tol=1e-9):
            continue
        try:
            entry = ledger.charge(**wanted)
        except OverBudgetError:
            assert after > most
            continue
        assert after < most
        assert float(entry.charged) == pytest.approx(cost, rel=1e-9)
        for each in met:
            lost[each] += cost
    assert float(ledger.spent) == pytest.approx(max(lost.values()), rel=1e-9, abs=1e-15)
    assert {name: float(value) for name, value in ledger.balances.items()} == pytest.approx(
        lost, rel=1e-9, abs=1e-15
    ) or not ledger.entries()
    assert ledger.verify().problems == ()
