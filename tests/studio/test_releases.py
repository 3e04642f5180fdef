"""The room of releases: forms that write the file, errors that follow, and what cannot be planned."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from studio.files import SMALL, people
from studio.frame import editor, visit, walk, write
from studio.test_accessible import violations

REFUSED = f"{SMALL}  - {{name: gaussian, cumulative: age, rho: 0.01}}\n"


@pytest.fixture
def room(studio, page):
    def opened(text=SMALL):
        running = studio(text)
        (running.folder / "people.csv").write_text(people())
        visit(page, running.address, "releases")
        page.get_by_text("Typical error of a cell").wait_for()
        return running

    return opened


def card(page, name):
    """The card of a release."""
    return page.locator(".studio-card").filter(has=page.get_by_role("button", name=re.compile(f"^{name}")))


def in_file(page, *texts):
    for text in texts:
        expect(editor(page)).to_contain_text(text)


def test_releases_are_listed_with_their_errors_and_what_they_draw_on(room, page):
    room()
    expect(card(page, "ages")).to_contain_text("epsilon, on age, sex")
    expect(card(page, "how old")).to_contain_text("epsilon, on age")
    expect(page.get_by_text("It draws on age, sex.")).to_be_visible()
    card(page, "how old").get_by_role("button").first.click()
    expect(page.get_by_text(re.compile("accurate (than|as) plain differential privacy"))).to_be_visible()
    expect(page.get_by_text("By size")).to_be_visible()
    assert page.locator("canvas, svg").count() >= 3


def test_a_slider_a_number_and_an_error_say_what_may_be_spent(room, page):
    room()
    before = card(page, "ages").inner_text()
    page.locator(".q-slider__track-container").focus()
    page.keyboard.press("ArrowRight")
    in_file(page, "histogram: [age, sex], epsilon: 0.3}")
    expect(card(page, "ages")).not_to_have_text(before)
    page.get_by_label("Epsilon", exact=True).fill("0.9")
    page.get_by_label("Epsilon", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Together they would take 1.15")
    page.get_by_label("Epsilon", exact=True).fill("0.123")
    page.get_by_label("Epsilon", exact=True).press("Enter")
    in_file(page, "histogram: [age, sex], epsilon: 0.123}", "# in years")
    expect(page.get_by_text("Together they take 0.373 of the budget of 1")).to_be_visible()
    page.get_by_text("reach an error").click()
    page.get_by_label("Typical error", exact=True).fill("30")
    page.get_by_label("Typical error", exact=True).press("Enter")
    in_file(page, "histogram: [age, sex], error: 30}")
    expect(page.get_by_text(re.compile("Typical error of a cell: (29|30)"))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    in_file(page, "histogram: [age, sex], error: 25}")
    expect(page.get_by_label("Typical error", exact=True)).to_have_value("25")
    write(page, SMALL.replace("sex], epsilon: 0.25", "sex], epsilon: 0.77"))
    expect(page.get_by_label("Epsilon", exact=True)).to_have_value("0.77")


def test_an_amount_that_is_not_taken_says_why(room, page):
    room()
    field = page.get_by_label("Epsilon", exact=True)
    for typed, why in (
        ("NaN", "a finite number"),
        ("-1", "above 0, got -1"),
        ("", "missing"),
        ("1e400", "more than 10"),
    ):
        field.fill(typed)
        field.press("Enter")
        expect(page.get_by_text(why)).to_contain_text("The file keeps 0.25.")
        expect(field).to_have_value(typed)
    assert not violations(page)
    field.fill("1/3")
    field.press("Enter")
    in_file(page, "histogram: [age, sex], epsilon: 1/3}")
    expect(page.get_by_text("The file keeps")).to_have_count(0)
    walk(page, "budget")


def test_a_release_is_added_asked_otherwise_renamed_and_removed(room, page):
    room()
    page.get_by_role("button", name="Add a release").press("Enter")
    page.locator(".q-menu:focus").wait_for()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    in_file(page, "{name: age mean, mean: age, epsilon: 0.1}")
    page.get_by_label("What to publish").click()
    page.get_by_role("option", name="Quantiles").click()
    in_file(page, "quantiles: age, at: [0.25, 0.5, 0.75]")
    page.get_by_text("Some records only, or for each group").click()
    page.get_by_label("For each value of").click()
    page.get_by_role("option", name="sex").click()
    page.keyboard.press("Escape")
    in_file(page, "by: [sex]")
    page.get_by_label("Only records with some values of").click()
    page.get_by_role("option", name="age").click()
    page.get_by_label("Values of age").fill("3 to 9")
    page.get_by_label("Values of age").press("Enter")
    in_file(page, "where: {age: [3, 9]}")
    page.get_by_label("Values of age").fill("300")
    page.get_by_label("Values of age").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("where: age: 300 is outside")
    in_file(page, "where: {age: [3, 9]}")
    page.get_by_text("More: name, noise, mechanism").click()
    page.get_by_label("Name", exact=True).fill("quarters")
    page.get_by_label("Name", exact=True).press("Enter")
    in_file(page, "name: quarters")
    page.get_by_text("More: name, noise, mechanism").click()
    page.get_by_role("button", name="Remove this release").click()
    expect(editor(page)).not_to_contain_text("quarters")


def test_a_choice_that_is_refused_is_taken_back_and_a_broken_file_shows_the_last_good_one(room, page):
    room()
    page.get_by_text("More: name, noise, mechanism").click()
    page.get_by_label("Noise", exact=True).click()
    page.get_by_role("option", name="Gaussian").click()
    expect(page.get_by_role("alert")).to_contain_text("Gaussian noise loses rho, not epsilon.")
    expect(page.get_by_label("Noise", exact=True)).to_have_value("the more accurate")
    write(page, SMALL.replace("[0, 20]", "[20, 0]"))
    expect(page.get_by_text("The rooms show the last valid file")).to_be_visible()
    expect(card(page, "ages")).to_contain_text("Table of counts of age, sex")
    expect(page.locator(".q-slider")).to_have_count(1)


def test_one_that_cannot_be_planned_says_why_and_the_others_are_planned(room, page):
    room(REFUSED)
    expect(card(page, "gaussian")).to_contain_text("cannot be planned")
    expect(card(page, "ages")).to_contain_text("typical error")
    card(page, "gaussian").get_by_role("button").first.click()
    expect(page.get_by_role("alert")).to_contain_text("Hint:")


def test_the_room_is_the_same_in_another_tab_and_after_a_walk(room, page, new_page):
    running = room()
    other = new_page()
    visit(other, running.address, "releases")
    page.get_by_label("Epsilon", exact=True).fill("0.5")
    page.get_by_label("Epsilon", exact=True).press("Enter")
    expect(other.get_by_label("Epsilon", exact=True)).to_have_value("0.5")
    walk(page, "budget")
    walk(page, "releases")
    expect(page.get_by_label("Epsilon", exact=True)).to_have_value("0.5")
    write(page, "version: 1\n")
    page.reload()
    expect(page.get_by_text("First choose a table and declare its attributes")).to_be_visible()


def test_all_that_can_be_opened_keeps_the_rules_in_a_narrow_window(room, page):
    page.set_viewport_size({"width": 420, "height": 800})
    room()
    page.get_by_text("Some records only, or for each group").click()
    page.get_by_text("More: name, noise, mechanism").click()
    page.wait_for_timeout(500)
    assert not violations(page)
    page.get_by_role("button", name="Add a release").click()
    page.get_by_role("menuitem", name="Mean").wait_for()
    page.wait_for_timeout(500)
    # The framework puts menus beside the page's landmarks.
    assert not violations(page, but=["region"])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
