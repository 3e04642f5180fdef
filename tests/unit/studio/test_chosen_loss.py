"""The loss at which values are compared."""

from collections.abc import Iterator
from fractions import Fraction

import pytest

from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.workshop import BUDGET, OWN, ChosenLoss, Workshop

TEXT = """version: 1
budget: 1.5
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: {per_attribute: {age: {threshold: 5}, sex: full}}
releases:
  - {name: ages, histogram: [age], epsilon: 0.3}
"""


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    made = Workshop(Draft(TEXT))
    made._planner.shutdown(wait=True)
    yield made
    made.close()


def test_the_budget_a_release_or_a_number(workshop: Workshop) -> None:
    loss = ChosenLoss(workshop)
    assert [*loss.options()] == [BUDGET, "release: ages", OWN]
    age = frozenset({"age"})
    assert loss.strength(age) == Strength(EPSILON, Fraction(3, 2))
    loss.which = "release: ages"
    assert loss.strength(age) == Strength(EPSILON, Fraction(3, 10))
    assert loss.strength(frozenset({"sex"})).amount == 0
    loss.which = OWN
    assert loss.take("2")
    assert loss.strength(age) == Strength(EPSILON, Fraction(2))
    assert not loss.take("none")
    assert loss.wrong("0") is not None
    assert loss.own == 2


def test_what_is_gone_is_not_chosen(workshop: Workshop) -> None:
    loss = ChosenLoss(workshop, which="release: gone")
    assert loss.chosen == OWN


def test_budgets_in_rho_are_compared_too() -> None:
    made = Workshop(Draft(TEXT.replace("1.5", "{rho: 0.05}").split("releases")[0]))
    assert ChosenLoss(made).strength(frozenset({"age"})) == Strength(RHO, Fraction(1, 20))
    made.close()


def test_budgets_with_a_delta_are_not_a_loss_between_values() -> None:
    made = Workshop(Draft(TEXT.replace("1.5", "{epsilon: 1, delta: 1e-9}").split("releases")[0]))
    assert [*ChosenLoss(made).options()] == [OWN]
    made.close()
