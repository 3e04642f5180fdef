"""The room Table: choosing a table, declaring attributes, checking the data."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from blowfish_privacy.support import yaml_text
from studio.files import SMALL, people
from studio.frame import editor, open_by_key, visit, walk

TYPED = "Smallest value", "Largest value"


@pytest.fixture
def with_people(tmp_path):
    (tmp_path / "people.csv").write_text(people())
    return tmp_path


def button(page, name):
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


def dialog(page):
    return page.get_by_role("dialog")


def choose(page, label, option):
    """Choose from a list in the dialog."""
    dialog(page).get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).click()


def text(page):
    """What the editor shows; a line that is wrapped on the page is one line."""
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def test_a_newcomer_declares_a_table(studio, page, with_people):
    running = studio(opens="people.csv")
    visit(page, running.address)
    expect(page.get_by_text("0 of 2 declared")).to_be_visible()
    expect(page.get_by_text("left out: nothing is ever published")).to_be_visible()
    button(page, "Declare age").click()
    for label, value in zip(TYPED, ("0", "20"), strict=True):
        dialog(page).get_by_label(label).fill(value)
    dialog(page).get_by_role("button", name="Declare").click()
    expect(page.get_by_text("whole numbers from 0 to 20")).to_be_visible()
    button(page, "Declare sex").click()
    choose(page, "It holds", "Categories")
    dialog(page).get_by_label("Categories, in lines").fill("Female\nMale")
    dialog(page).get_by_role("button", name="Declare").click()
    expect(page.get_by_text("2 categories: Female, Male")).to_be_visible()
    expect(editor(page)).to_contain_text("secrets: full")
    assert yaml_text.parse(text(page)) == {
        "version": 1,
        "data": "people.csv",
        "ledger": "people.ledger",
        "budget": 1,
        "policy": {
            "domain": {"age": {"integer": [0, 20]}, "sex": {"categorical": ["Female", "Male"]}},
            "secrets": "full",
        },
    }


def test_only_what_is_declared_changes_and_undo_takes_it_back(studio, page, with_people):
    running = studio(SMALL)
    visit(page, running.address)
    button(page, "Change age").click()
    dialog(page).get_by_label("Largest value").fill("25")
    dialog(page).get_by_role("checkbox", name="Values outside").click()
    page.keyboard.press("Tab")
    page.keyboard.type("7")
    dialog(page).get_by_role("button", name="Change").click()
    expect(page.get_by_text("values outside count as the nearest; missing ones count as 7")).to_be_visible()
    expect(editor(page)).to_contain_text("# in years")
    page.get_by_role("banner").get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("banner").get_by_text("saved", exact=True)).to_be_visible()
    declared = "age: {integer: [0, 25], outside: clamp, missing: 7}      # in years"
    assert running.file.read_text() == SMALL.replace("age: {integer: [0, 20]}      # in years", declared)
    page.get_by_role("banner").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("whole numbers from 0 to 20")).to_be_visible()


def test_a_change_keeps_the_rule_for_rounding(studio, page, with_people):
    rounded = SMALL.replace("age: {integer: [0, 20]}", "age: {decimal: [0, 20], step: 0.5, round: down}")
    running = studio(rounded.replace("threshold: 5", "threshold: 2.5"))
    visit(page, running.address)
    button(page, "Change age").click()
    expect(dialog(page).get_by_label("Largest value")).to_have_value("20")
    expect(dialog(page).get_by_text("count as the next one below")).to_be_visible()
    dialog(page).get_by_label("Largest value").fill("25")
    dialog(page).get_by_role("button", name="Change").click()
    expect(editor(page)).to_contain_text("age: {decimal: [0, 25], step: 0.5, round: down}")


KINDS = (
    ("Numbers in bins", "Edges of the bins", "0, 10, 20.5", "2 bins from [0, 10) to [10, 20.5)"),
    ("Categories", "Categories, in lines", "a, b, c", "3 categories: a, b, c"),
    ("A hierarchy", "Lines of names", "state, town\nA, a\nA, b\nB, c", "3 values in 2 levels: a, b, c"),
    ("A hierarchy", "Or a CSV file", "places.csv", "2 values in 2 levels: x, y"),
)


def test_every_kind_of_attribute(studio, page, with_people):
    (with_people / "places.csv").write_text("state,town\nX,x\nY,y\n")
    running = studio(SMALL)
    visit(page, running.address)
    for number, (kind, label, value, shown) in enumerate(KINDS):
        button(page, "Declare an attribute by name").click()
        dialog(page).get_by_label("Name of the column").fill(f"place{number}")
        choose(page, "It holds", kind)
        dialog(page).get_by_label(label).fill(value)
        dialog(page).get_by_role("button", name="Declare").click()
        row = page.get_by_role("listitem").filter(has_text=f"place{number}")
        expect(row).to_contain_text(shown)
        expect(row).to_contain_text("no such column in the table")
        expect(editor(page)).to_contain_text(f"place{number}: full")
    button(page, "Declare an attribute by name").click()
    choose(page, "It holds", "Numbers in bins")
    for label, value in (("From", "0"), ("To", "30"), ("Width", "10")):
        dialog(page).get_by_label(label, exact=True).fill(value)
    dialog(page).get_by_role("button", name="Fill in equal bins").click()
    expect(dialog(page).get_by_label("Edges of the bins")).to_have_value("0, 10, 20, 30")


def test_what_is_wrong_or_needed_is_said_and_changes_nothing(studio, page, with_people):
    running = studio(SMALL.replace("[age, sex]", "[age]"))
    visit(page, running.address)
    button(page, "Change age").click()
    for value, said in (("x", "must be two whole numbers"), ("-5", "is above the upper bound")):
        dialog(page).get_by_label("Largest value").fill(value)
        dialog(page).get_by_role("button", name="Change").click()
        expect(dialog(page).get_by_role("alert")).to_contain_text(said)
    dialog(page).get_by_role("button", name="Cancel").click()
    expect(dialog(page)).to_have_count(0)
    button(page, "Leave out age").click()
    expect(page.get_by_text("age is still needed: release ages, release how old.")).to_be_visible()
    expect(page.get_by_role("banner").get_by_text("saved", exact=True)).to_be_visible()
    button(page, "Leave out sex").click()
    expect(page.get_by_text("1 of 2 declared")).to_be_visible()
    expect(editor(page)).not_to_contain_text("sex")


def test_a_table_is_found_in_the_folders_with_the_keyboard_alone(studio, page, with_people):
    (with_people / "inner").mkdir()
    (with_people / "inner" / "others.csv").write_text("age,town\n1,x\n")
    running = studio()
    visit(page, running.address)
    open_by_key(page, button(page, "Browse"))
    for name in ("inner", "others.csv"):
        entry = dialog(page).get_by_role("button", name=name)
        expect(entry).to_be_visible()
        for _ in range(60):
            page.keyboard.press("Tab")
            if entry.evaluate("element => element === document.activeElement"):
                break
        expect(entry).to_be_focused()
        page.keyboard.press("Enter")
    expect(dialog(page)).to_have_count(0)
    expect(page.get_by_text("0 of 2 declared")).to_be_visible()
    expect(page.get_by_text(f"In {with_people / 'inner'}")).to_be_visible()
    expect(editor(page)).to_contain_text("ledger: others.ledger")


def test_a_path_that_leads_nowhere_says_so_and_the_keyboard_goes_on_where_it_was(studio, page, with_people):
    running = studio(SMALL)
    visit(page, running.address)
    field = open_by_key(page, button(page, "Change age")).get_by_label("Largest value")
    field.fill("30")
    field.press("Enter")
    expect(page.get_by_text("whole numbers from 0 to 30")).to_be_visible()
    expect(button(page, "Change age")).to_be_focused()
    page.get_by_label("Path or address").fill("none.csv")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("there is no file")
    page.get_by_label("Path or address").fill("people.csv")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 2 declared")).to_be_visible()


def test_a_table_without_names_of_columns_is_not_shown(studio, page, traffic, tmp_path):
    (tmp_path / "rows.csv").write_text("41,Canary\n42,Robin\n")
    running = studio(opens="rows.csv")
    visit(page, running.address)
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("does not look like names of columns")
    assert "Canary" not in traffic.text + page.content()


def test_a_check_is_for_the_custodian_and_gone_with_the_room(studio, page, tmp_path):
    (tmp_path / "people.csv").write_text(people() + "77,Female\n,Male\n")
    running = studio(SMALL)
    visit(page, running.address)
    button(page, "Check the data").click()
    expect(page.get_by_text("For your eyes only")).to_be_visible()
    expect(page.get_by_text("502 rows")).to_be_visible()
    expect(page.get_by_text("Not all fit")).to_be_visible()
    walk(page, "secrets")
    walk(page, "")
    expect(button(page, "Check the data")).to_be_enabled()
    expect(page.get_by_text("502 rows")).to_have_count(0)
    button(page, "Check the data").click()
    expect(page.get_by_text("502 rows")).to_be_visible()
    button(page, "Hide").click()
    expect(page.get_by_text("502 rows")).to_have_count(0)
