"""What is typed or pressed while messages are on their way: nothing of it is lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger
from studio.browsing import Wire
from studio.files import SMALL, people
from studio.frame import editor, says_saved, visit, write

CHANGED = SMALL.replace("epsilon: 0.25", "epsilon: 0.125", 1)


def save(page, running):
    """Save, and return what is on disk then."""
    page.get_by_role("banner").get_by_role("button", name="Save", exact=True).click()
    says_saved(page, saved=True)
    return running.file.read_text()


def test_what_is_typed_before_an_undo_arrives_stays(studio, page):
    wire, running = Wire(page), studio(SMALL)
    visit(page, running.address)
    write(page, "nonsense")
    says_saved(page, saved=False)
    wire.hold_news()
    page.get_by_role("banner").get_by_role("button", name="Undo").click()
    write(page, CHANGED)
    wire.release()
    expect(page.get_by_text("The file is valid.")).to_be_visible()
    says_saved(page, saved=False)
    expect(editor(page)).to_contain_text("0.125")
    assert save(page, running) == CHANGED


def test_an_undo_in_the_editor_takes_back_what_came_last_however_fast_it_came(studio, page):
    wire, running = Wire(page), studio(SMALL)
    visit(page, running.address)
    write(page, CHANGED)
    says_saved(page, saved=False)
    # Longer than the editor takes for one step of what is typed.
    page.wait_for_timeout(600)
    wire.hold_news()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("Control+s")
    page.wait_for_timeout(600)
    wire.release()
    says_saved(page, saved=True)
    assert running.file.read_text() == CHANGED
    editor(page).click()
    page.keyboard.press("Control+z")
    says_saved(page, saved=False)
    assert save(page, running) == SMALL


def test_what_two_tabs_type_in_different_places_is_kept_of_both(studio, page, new_page):
    running, other = studio(SMALL), new_page()
    wire = Wire(page)
    visit(page, running.address)
    visit(other, running.address)
    wire.hold_news()
    write(other, CHANGED)
    says_saved(other, saved=False)
    editor(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    wire.release()
    for each in (page, other):
        expect(editor(each)).to_contain_text("# mine")
        expect(editor(each)).to_contain_text("0.125")
    assert save(page, running) == "# mine\n" + CHANGED


@pytest.fixture
def meanwhile(studio, page, new_page):
    """Open a room, hold what is done in it until another tab has changed the file, and go on."""
    other, wire = new_page(), Wire(page)

    def begin(room, text=SMALL):
        running = studio(text)
        (running.folder / "people.csv").write_text(people())
        create_ledger(running.folder / "people.ledger", budget=1)
        visit(other, running.address, room)
        visit(page, running.address, room)
        # Lists open in the tab in front only.
        page.bring_to_front()
        return running

    def passes(act, change, seen):
        wire.hold_acts()
        act()
        write(other, change)
        expect(seen).to_be_visible()
        wire.release()

    return begin, passes


def button(page, name):
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


def test_a_choice_counts_that_was_made_while_others_changed_the_file(meanwhile, page):
    begin, passes = meanwhile
    begin("publish")
    expect(page.get_by_text("Together they take 0.5 of the budget of 1")).to_be_visible()
    passes(page.get_by_role("checkbox", name="how old").click, CHANGED, page.get_by_text("changes that are not saved"))
    expect(page.get_by_text("Together they take 0.125 of the budget of 1")).to_be_visible()
    expect(page.get_by_role("checkbox", name="how old")).not_to_be_checked()
    passes(button(page, "Review and publish").click, f"# mine\n{CHANGED}", editor(page).get_by_text("# mine"))
    expect(page.get_by_role("dialog").get_by_text("Spend epsilon 0.125")).to_be_visible()


def test_a_form_opens_though_another_column_was_declared_anew_meanwhile(meanwhile, page):
    begin, passes = meanwhile
    begin("")
    expect(page.get_by_text("2 of 2 declared")).to_be_visible()
    wider = SMALL.replace("[0, 20]", "[0, 25]")
    passes(button(page, "Change sex").click, wider, page.get_by_text("whole numbers from 0 to 25"))
    expect(page.get_by_role("dialog").get_by_text("Declare sex")).to_be_visible()


def test_a_fact_is_removed_while_what_it_does_is_worked_out(meanwhile, page):
    begin, passes = meanwhile
    begin("facts", SMALL.replace("releases:", "  known: [{marginal: [sex]}]\nreleases:"))
    row = page.get_by_role("row", name="ages")
    expect(row).to_be_visible()
    before = row.inner_text()
    changed = CHANGED.replace("releases:", "  known: [{marginal: [sex]}]\nreleases:")

    def removed():
        button(page, "Remove fact 1").click()

    passes(removed, changed, page.get_by_role("row", name="ages").filter(has_not_text=before))
    expect(page.get_by_text("No facts are listed.")).to_be_visible()


def test_a_switch_is_turned_while_others_change_the_file(meanwhile, page):
    begin, passes = meanwhile
    begin("budget")
    expect(page.get_by_text("Together they take 0.5 of the budget of 1")).to_be_visible()
    switch = page.get_by_role("switch", name="how old")
    passes(switch.click, CHANGED, page.get_by_role("switch", name="ages: epsilon 0.125"))
    expect(page.get_by_text("Together they take 0.125 of the budget of 1")).to_be_visible()


def test_what_is_half_typed_stays_when_plans_arrive(meanwhile, page):
    begin, passes = meanwhile
    begin("secrets", SMALL.replace("per_attribute: {age: {threshold: 5}, sex: full}", "full"))
    page.get_by_label("Compare values after a loss of").click()
    page.get_by_role("option", name="an epsilon of my own").click()
    own = page.get_by_label("Epsilon", exact=True)
    own.fill("0.0")
    changed = SMALL.replace("per_attribute: {age: {threshold: 5}, sex: full}", "full").replace("0.25", "0.125")
    passes(own.focus, changed, editor(page).get_by_text("0.125").first)
    page.wait_for_timeout(500)
    page.keyboard.press("End")
    page.keyboard.type("7")
    expect(own).to_have_value("0.07")


def test_what_is_pressed_in_a_list_is_chosen_though_the_list_grew_meanwhile(meanwhile, page, new_page):
    begin, passes = meanwhile
    text = SMALL.replace("per_attribute: {age: {threshold: 5}, sex: full}", "full")
    running, budget = begin("secrets", text), new_page()
    visit(budget, running.address, "budget")
    page.bring_to_front()
    loss = page.get_by_label("Compare values after a loss of")
    loss.click()
    own = page.get_by_role("option", name="an epsilon of my own")
    expect(own).to_be_visible()
    longer = text.replace("releases:\n", "releases:\n  - {name: more, histogram: sex, epsilon: 0.25}\n")
    passes(own.click, longer, budget.get_by_text("Together they take 0.75 of the budget of 1"))
    expect(loss).to_have_value("an epsilon of my own")
    expect(page.get_by_label("Epsilon", exact=True)).to_be_visible()


def test_a_press_that_leaves_a_field_counts_though_the_field_changes_the_file(studio, page):
    running = studio(SMALL)
    (running.folder / "people.csv").write_text(people())
    visit(page, running.address, "budget")
    expect(page.get_by_text("Together they take 0.5 of the budget of 1")).to_be_visible()
    page.get_by_label("Budget", exact=True).fill("2")
    button(page, "Create the ledger").hover()
    page.mouse.down()
    expect(page.get_by_text("Together they take 0.5 of the budget of 2")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_text("has a budget of 2, which is fixed.")).to_be_visible()


def test_a_press_counts_though_the_page_moves_what_is_pressed(studio, page):
    running = studio(SMALL)
    visit(page, running.address, "facts")
    page.get_by_role("radio", name="One count").click()
    expect(page.get_by_label("age, as in")).to_be_visible()
    add = button(page, "Add this fact")
    add.hover()
    page.mouse.down()
    page.evaluate("document.querySelector('main .studio-card, .studio-card').style.paddingTop = '300px'")
    page.mouse.up()
    expect(page.get_by_role("alert")).to_contain_text("must not be empty")
