"""The room of known facts: tables and counts that everybody knows, what they cost, and the number of records."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import open_ledger
from blowfish_privacy.ledger.sqlite import SqliteLedger
from studio.files import SMALL, people
from studio.frame import editor, visit, write
from studio.test_newcomer import violations


def room(studio, page, text=SMALL):
    """Open the room, with a table beside the file."""
    running = studio(text)
    (running.folder / "people.csv").write_text(people())
    visit(page, running.address, "facts")
    return running


def choose_attributes(page, *names):
    page.get_by_label("Attributes of the table").click()
    for name in names:
        page.get_by_role("option", name=name).click()
    page.keyboard.press("Escape")


def test_a_table_with_its_numbers_costs_and_gives_back(studio, page):
    room(studio, page)
    expect(page.get_by_text("No facts are listed.")).to_be_visible()
    choose_attributes(page, "sex")
    page.get_by_label("Female", exact=True).fill("250")
    page.get_by_label("Male", exact=True).fill("250")
    page.get_by_role("button", name="Add this fact").click()
    expect(editor(page)).to_contain_text("{marginal: [sex], counts: [250, 250]}")
    expect(page.get_by_text("forces a change of one person's “sex”")).to_be_visible()
    # Two records move where one did, so the error of the table doubles; ages alone see nothing of it.
    row = page.get_by_role("row", name="ages")
    expect(row).to_contain_text("11.3")
    expect(row).to_contain_text("22.6")
    expect(row).to_contain_text("what is shown will meet the stated numbers exactly")
    expect(page.get_by_role("row", name="how old")).to_contain_text("draws on the balance of anything instead of age")
    assert not violations(page)
    page.get_by_role("button", name="Remove fact 1").click()
    expect(page.get_by_text("No facts are listed.")).to_be_visible()
    expect(editor(page)).not_to_contain_text("known")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("row", name="ages")).to_contain_text("22.6")


def test_a_table_without_numbers_and_one_too_many(studio, page):
    room(studio, page)
    page.get_by_role("checkbox", name="I know the numbers").click()
    choose_attributes(page, "sex")
    page.get_by_role("button", name="Add this fact").click()
    expect(editor(page)).to_contain_text("known:")
    expect(editor(page)).to_contain_text("marginal: [sex]")
    # The form is empty again.
    page.get_by_role("checkbox", name="I know the numbers").click()
    choose_attributes(page, "age")
    page.get_by_role("button", name="Add this fact").click()
    expect(page.get_by_text("cross each other").first).to_be_visible()
    expect(page.get_by_role("row", name="ages").last).to_contain_text("becomes impossible")
    page.get_by_text("What this fact adds").first.click()
    assert not violations(page)


def test_a_count_of_some_records(studio, page):
    room(studio, page)
    page.get_by_role("radio", name="One count").click()
    # The button moves when the form for one count takes the place of that for a table.
    expect(page.get_by_label("age, as in")).to_be_visible()
    page.get_by_role("button", name="Add this fact").click()
    expect(page.get_by_role("alert")).to_contain_text("count must not be empty")
    page.get_by_label("age, as in").fill("0 to 4")
    page.get_by_label("How many they are").fill("about 100")
    page.get_by_role("button", name="Add this fact").click()
    expect(page.get_by_role("alert")).to_contain_text("must be a whole number")
    page.get_by_label("How many they are").fill("100")
    page.get_by_role("button", name="Add this fact").click()
    expect(editor(page)).to_contain_text("{count: {age: [0, 4]}, equals: 100}")
    expect(page.get_by_text("How many records have “age” from 0 to 4").first).to_be_visible()


def test_a_contradiction_changes_nothing(studio, page):
    running = room(studio, page, SMALL.replace("releases:", "  size: 500\nreleases:"))
    choose_attributes(page, "sex")
    page.get_by_label("Female", exact=True).fill("250")
    page.get_by_label("Male", exact=True).fill("300")
    page.get_by_role("button", name="Add this fact").click()
    expect(page.get_by_role("alert")).to_contain_text("500")
    expect(editor(page)).not_to_contain_text("marginal")
    assert "marginal" not in running.file.read_text()


def test_the_number_of_records_and_the_rows_of_a_person(studio, page):
    room(studio, page)
    page.get_by_role("radio", name="It is secret").click()
    expect(editor(page)).to_contain_text("size: unknown")
    page.get_by_role("radio", name="Everybody knows it, and it is").click()
    page.get_by_label("Number of records", exact=True).fill("500")
    page.get_by_label("Number of records", exact=True).press("Enter")
    expect(editor(page)).to_contain_text("size: 500")
    page.get_by_role("radio", name="Public; read it from the data").click()
    expect(editor(page)).not_to_contain_text("size:")
    rows = page.get_by_label("Rows of a person, at most")
    rows.fill("3")
    rows.press("Enter")
    expect(editor(page)).to_contain_text("rows_per_person: 3")
    rows.fill("0")
    rows.press("Enter")
    expect(page.get_by_text("rows_per_person must be")).to_be_visible()
    expect(editor(page)).to_contain_text("rows_per_person: 3")
    page.get_by_role("button", name="Advanced: how other records may change").click()
    page.get_by_role("radio", name="Other people move along secret pairs only").click()
    expect(editor(page)).to_contain_text("compensation: secret-moves")


# The room of the budget: the ledger is made, balances follow switches, and what does not fit is said.


OTHER = """\
version: 1
policy:
  domain: {age: {integer: [0, 20]}, sex: {categorical: [Female, Male]}}
  secrets: full
"""


@pytest.fixture
def budget_room(studio, page):
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


def test_balances_follow_the_switches_and_nothing_is_spent(budget_room, page):
    running = budget_room()
    expect(page.get_by_text("Together they take 0.5 of the budget of 1")).to_be_visible()
    expect(left(page, "age")).to_have_text(re.compile(r"age\s*0\s*0.5\s*0.5"))
    page.get_by_role("switch", name="how old").click()
    expect(page.get_by_text("Together they take 0.25 of the budget of 1")).to_be_visible()
    expect(left(page, "age")).to_have_text(re.compile(r"age\s*0\s*0.25\s*0.75"))
    assert running.file.read_text() == SMALL
    assert not (running.folder / "people.ledger").exists()


def test_the_ledger_is_made_once_and_its_budget_is_fixed(budget_room, page):
    running = budget_room()
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


def test_what_does_not_fit_is_said(budget_room, page):
    budget_room(SMALL.replace("budget: 1.0", "budget: 0.4"))
    expect(page.get_by_role("alert")).to_contain_text("they do not fit")
    page.get_by_role("switch", name="how old").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_ledger_of_another_policy_is_explained(budget_room, page):
    def spend(folder):
        (folder / "other.yaml").write_text(OTHER)
        from blowfish_privacy import Histogram, Session
        from blowfish_privacy.release import spec

        SqliteLedger.create(folder / "people.ledger", budget=1)
        policy = spec.load(folder / "other.yaml").policy
        Session(folder / "people.csv", policy, ledger=folder / "people.ledger").release(
            Histogram("age"), epsilon=Fraction(1, 10)
        )

    budget_room(before=spend)
    expect(page.get_by_text(re.compile("The ledger belongs to another policy"))).to_be_visible()
    expect(page.get_by_text("It has 1 entry.")).to_be_visible()


def test_the_room_keeps_the_rules_in_a_narrow_window(budget_room, page):
    page.set_viewport_size({"width": 420, "height": 800})
    budget_room()
    page.get_by_text("Together they take").wait_for()
    assert not violations(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
