"""Balances: what each class of secret pairs has lost, where its pairs lie, and what that leaves."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import OverBudgetError, SqliteLedger, composition
from blowfish_privacy.ledger.composition import Price
from blowfish_privacy.ledger.entry import read_loss, write_loss
from blowfish_privacy.privacy.loss import ALL, EVERY, PRESENCE, Loss, PairClass, changing, region_of
from blowfish_privacy.privacy.measure import EPSILON, RHO, Approximate
from effort import examples
from unit.ledger.samples import PEOPLE, load, request

AGE, SEX = changing("age"), changing("sex")


@st.composite
def classes(draw):
    pairs = draw(st.sampled_from([AGE, AGE, SEX, PRESENCE, EVERY]))
    box = {
        name: Subset.of(draw(st.sets(st.integers(0, PEOPLE[name].size - 1), min_size=1)))
        for name in draw(st.sets(st.sampled_from(PEOPLE.names)))
        if pairs != EVERY
    }
    return PairClass(pairs.kind, pairs.attribute, region_of(PEOPLE, box))


amounts = st.fractions(min_value=Fraction(1, 12), max_value=Fraction(1, 2), max_denominator=12)
losses = st.dictionaries(classes(), amounts, max_size=4).map(Loss.of)


def most(loss: Loss, whole: PairClass) -> Fraction:
    """The most that a pair of a class has lost, by looking at every value."""

    cells = product(range(PEOPLE["age"].size), range(PEOPLE["sex"].size))
    return max(lost_at(loss, whole, cell) for cell in cells)


def lost_at(loss: Loss, whole: PairClass, cell: tuple[int, ...]) -> Fraction:
    """What a pair of a class loses at one value."""
    where = dict(zip(PEOPLE.names, cell, strict=True))
    met = (
        amount
        for pairs, amount in loss
        if pairs == EVERY or (pairs.whole == whole and all(where[name] in subset for name, subset in pairs.within))
    )
    return sum(met, Fraction(0))


@settings(max_examples=examples(60), deadline=None)
@given(
    asking=st.lists(losses, min_size=1, max_size=2),
    measure=st.sampled_from([EPSILON, RHO, *(Approximate(*map(Fraction, (1, "1e-9", order))) for order in (4, 8, 20))]),
    rows=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    steps=st.integers(1, 2),
)
def test_rows_in_several_classes_and_regions_lose_no_more_together_than_is_charged(asking, measure, rows, steps):
    """Brute force over where the rows of a person move: each loses its share of what its class loses there."""
    swapped = {AGE: SEX, SEX: AGE}
    mirrored = [
        {replace(pairs, attribute=swapped.get(pairs.whole, pairs).attribute): amount for pairs, amount in loss}
        for loss in asking
    ]
    # Then no class loses more in all than the other.
    asking += map(Loss.of, mirrored)
    base, own = rows
    price = Price(steps * -(-base // own), "", rows=base)
    charged = Loss.total((price.charged(loss, measure) for loss in asking), measure)
    worst = max(most(charged, whole) for whole in (AGE, SEX, PRESENCE))
    cells = [*product(range(PEOPLE["age"].size), range(PEOPLE["sex"].size))]
    places = {tuple(lost_at(loss, whole, cell) for loss in asking) for whole in (AGE, SEX, PRESENCE) for cell in cells}
    for moved in combinations_with_replacement(sorted(places, reverse=True)[:40], base):
        # In groups of as many rows as a release protects together, each over so many steps.
        together = (steps * sum(losses) / own for losses in zip(*moved, strict=True))
        assert sum(measure.converted(epsilon, EPSILON) for epsilon in together) <= worst


def asked(key: str, loss: Loss, policy: str = "people") -> dict:
    return request(key, policy=policy) | {"loss": loss}


def make(folder: object, budget: Fraction = Fraction(1)) -> SqliteLedger:
    return SqliteLedger.create(Path(str(folder)) / "a.ledger", budget=budget, load_policy=load)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(losses, min_size=1, max_size=8))
def test_any_sequence_of_charges_is_added_up_where_it_is_lost(asking):
    with tempfile.TemporaryDirectory() as folder:
        ledger, made = make(folder), Loss.of({})
        for number, loss in enumerate(asking):
            worst = max(most(made + loss, whole) for whole in (AGE, SEX, PRESENCE))
            quoted = ledger.quote(loss, load("people"))
            assert (quoted.largest, quoted.fits) == (worst, worst <= 1)
            before = ledger.lost, ledger.spent, ledger.entries()
            if worst > 1:
                with pytest.raises(OverBudgetError):
                    ledger.charge(**asked(str(number), loss))
                assert (ledger.lost, ledger.spent, ledger.entries()) == before
                continue
            assert ledger.charge(**asked(str(number), loss)).loss == quoted.charged == loss
            made += loss
            assert (ledger.lost, ledger.spent, ledger.remaining) == (quoted.after, worst, 1 - worst)
            assert ledger.spent - quoted.spent == quoted.cost
            # A retry costs nothing.
            ledger.charge(**asked(str(number), loss))
        assert ledger.balances.get("age", 0) == most(made, AGE)
        report = SqliteLedger.open(ledger.path, load_policy=load).verify()
        outside = [problem for problem in report.problems if "does not have" not in problem]
        assert (outside, report.lost, report.spent) == ([], made, ledger.spent)


@given(losses)
def test_what_is_written_of_a_loss_is_read_back(loss):
    assert read_loss("epsilon", write_loss(loss)) == loss


@pytest.mark.parametrize(
    "within",
    ["{}", '{"age":[]}', '{"age":[[1,1]]}', '{"age":[[2,1]]}', '{"age":[[1,2],[2,3]]}', '{"age":[[1,2.5]]}',
     '{"age":[[-1,2]]}', '{"age":[[false,2]]}', '{"age":3}', "[]", '{"sex":[[0,1]],"age":[[0,1]]}', '{"age": [[0,1]]}'],
)  # fmt: skip
def test_a_region_is_written_in_one_way(within):
    with pytest.raises(LedgerError, match="damaged"):
        read_loss("epsilon", f'[{{"pairs":"attribute","attribute":"sex","within":{within},"amount":"1/2"}}]')


def test_every_secret_attribute_has_a_balance(tmp_path):
    ledger = make(tmp_path)
    assert ledger.balances == {}
    ledger.charge(**asked("a", Loss.of({AGE: Fraction(1, 2)})))
    assert ledger.balances == {"age": Fraction(1, 2), "sex": 0}
    ledger.charge(**asked("b", Loss.of({EVERY: Fraction(1, 4)})))
    assert ledger.balances == {"age": Fraction(3, 4), "sex": Fraction(1, 4)}
    assert (ledger.spent, ledger.remaining) == (Fraction(3, 4), Fraction(1, 4))
    # Without a way to read the policy back, what was charged is told apart all the same.
    assert SqliteLedger.open(ledger.path).balances == {"age": Fraction(3, 4)}


def test_an_attribute_may_be_called_like_a_class(tmp_path):
    policy = bp.Policy(bp.Domain(presence=bp.Integer(0, 2)), secrets=bp.FullDomain(), size="unknown")
    policy = bp.Policy(policy.domain, secrets=bp.PerAttribute(presence=bp.FullDomain()), size="unknown")
    ledger = make(tmp_path)
    loss = Loss.of({changing("presence"): Fraction(1, 2), PRESENCE: Fraction(1, 4)})
    ledger.charge(**(asked("a", loss) | {"policy": policy}))
    assert ledger.balances == {"presence": Fraction(1, 2), "(presence)": Fraction(1, 4)}


def test_the_error_names_what_is_short(tmp_path):
    ledger = make(tmp_path)
    ledger.charge(**asked("a", Loss.of({AGE: Fraction(4, 5), SEX: Fraction(1, 2)})))
    said = "the secret pairs that change age have lost 0.8 of the budget of 1, and the release costs 0.5 on them: 0.3"
    with pytest.raises(OverBudgetError, match=said) as caught:
        ledger.charge(**asked("b", Loss.of({AGE: Fraction(1, 2), SEX: Fraction(1, 2)})))
    error = caught.value
    assert (error.requested, error.remaining, error.difference) == (Fraction(1, 2), Fraction(1, 5), Fraction(3, 10))
    ledger.charge(**asked("b", Loss.of({AGE: Fraction(1, 5), SEX: Fraction(1, 2)})))
    with pytest.raises(OverBudgetError, match="used up"):
        ledger.charge(**asked("c", Loss.of({SEX: Fraction(1, 100)})))


def test_new_regions_of_a_class_with_too_many_are_charged_on_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(composition, "MOST_REGIONS", 3)
    ledger, tenth = make(tmp_path), Fraction(1, 10)

    def ages(*values: int) -> PairClass:
        return PairClass("attribute", "sex", region_of(PEOPLE, {"age": Subset.of(values)}))

    ledger.charge(**asked("a", Loss.alike([ages(1), ages(2)], tenth)))
    parts = Loss.alike([ages(2), ages(3), ages(4), ages(4, 5)], tenth)
    entry = ledger.charge(**asked("b", parts))
    # Two of the new ones meet.
    assert dict(entry.loss) == {ages(2): tenth, SEX: 2 * tenth}
    assert "regions" in entry.rule
    assert ledger.spent == 4 * tenth
    assert ledger.charge(**asked("b", parts)) == entry
    ledger.charge(**asked("c", Loss.alike([ages(7)], tenth)))
    assert (ledger.balances["sex"], ledger.verify().problems) == (4 * tenth, ())


def test_what_is_lost_on_every_class_has_no_region(tmp_path):
    within = region_of(PEOPLE, {"age": Subset.of([1])})
    with pytest.raises(LedgerError, match="no region"):
        make(tmp_path).charge(**asked("a", Loss.of({PairClass("every", within=within): Fraction(1, 2)})))


def test_another_policy_is_charged_by_class_and_region(tmp_path):
    ledger = make(tmp_path, Fraction(10))
    ledger.charge(**asked("a", Loss.of({SEX: Fraction(1)})))
    within = region_of(PEOPLE, {"sex": Subset.of([0])})
    loss = Loss.of({PairClass("attribute", "age", within): Fraction(1, 2)})
    narrow = bp.Policy(PEOPLE, secrets=bp.PerAttribute(age=bp.DistanceThreshold(1), sex=bp.FullDomain()))
    quoted = ledger.quote(loss, narrow)
    assert (quoted.price.factor, dict(quoted.charged)) == (5, {PairClass("attribute", "age", within): Fraction(5, 2)})
    joint = bp.Policy(PEOPLE, secrets=bp.FullDomain())
    assert dict(ledger.quote(Loss.of({ALL: Fraction(1, 2)}), joint).charged) == {EVERY: Fraction(1, 2)}
