"""The room of the budget: the ledger is made, balances follow switches, and what does not fit is said."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import open_ledger
from blowfish_privacy.ledger.sqlite import SqliteLedger
from studio.files import SMALL, people
from studio.frame import editor, visit, write
from studio.test_accessible import violations

OTHER = """\
version: 1
policy:
  domain: {age: {integer: [0, 20]}, sex: {categorical: [Female, Male]}}
  secrets: full
"""


@pytest.fixture
def room(studio, page):
    def opened(text=SMALL, before=None):
        running = studio(text)
        (running.folder / "people.csv").write_text(people())
        if before is not None:
            before(running.folder)
        visit(page, running.address, "budget")
        return running

    return opened


def left(page, pairs):
    """The row of numbers of a class of secret pairs."""
    return page.get_by_role("row", name=re.compile(f"^{pairs}"))


def test_balances_follow_the_switches_and_nothing_is_spent(room, page):
    running = room()
    expect(page.get_by_text("Together they take 0.5 of the budget of 1")).to_be_visible()
    expect(left(page, "age")).to_have_text(re.compile(r"age\s*0\s*0.5\s*0.5"))
    page.get_by_role("switch", name="how old").click()
    expect(page.get_by_text("Together they take 0.25 of the budget of 1")).to_be_visible()
    expect(left(page, "age")).to_have_text(re.compile(r"age\s*0\s*0.25\s*0.75"))
    assert running.file.read_text() == SMALL
    assert not (running.folder / "people.ledger").exists()


def test_the_ledger_is_made_once_and_its_budget_is_fixed(room, page):
    running = room()
    page.get_by_label("Counted in").click()
    page.get_by_role("option", name="rho").click()
    expect(editor(page)).to_contain_text("budget: {rho: 1")
    page.get_by_role("button", name="Undo").click()
    page.get_by_label("Budget", exact=True).fill("2")
    page.get_by_label("Budget", exact=True).press("Enter")
    expect(editor(page)).to_contain_text("budget: 2")
    page.get_by_role("button", name="Create the ledger").click()
    expect(page.get_by_text("has a budget of 2, which is fixed. Nothing is spent yet.")).to_be_visible()
    assert open_ledger(running.folder / "people.ledger").budget == 2
    expect(page.get_by_label("Budget", exact=True)).to_have_count(0)
    write(page, SMALL)
    expect(page.get_by_role("alert").first).to_contain_text("has a budget of 2, not of 1")


def test_what_does_not_fit_is_said(room, page):
    room(SMALL.replace("budget: 1.0", "budget: 0.4"))
    expect(page.get_by_role("alert")).to_contain_text("they do not fit")
    page.get_by_role("switch", name="how old").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_ledger_of_another_policy_is_explained(room, page):
    def spend(folder):
        (folder / "other.yaml").write_text(OTHER)
        from blowfish_privacy import Histogram, Session
        from blowfish_privacy.release import spec

        SqliteLedger.create(folder / "people.ledger", budget=1)
        policy = spec.load(folder / "other.yaml").policy
        Session(folder / "people.csv", policy, ledger=folder / "people.ledger").release(
            Histogram("age"), epsilon=Fraction(1, 10)
        )

    room(before=spend)
    expect(page.get_by_text(re.compile("The ledger belongs to another policy"))).to_be_visible()
    expect(page.get_by_text("It has 1 entry.")).to_be_visible()


def test_the_room_keeps_the_rules_in_a_narrow_window(room, page):
    page.set_viewport_size({"width": 420, "height": 800})
    room()
    page.get_by_text("Together they take").wait_for()
    assert not violations(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
