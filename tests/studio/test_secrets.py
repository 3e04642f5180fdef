"""The room of secrets: every kind of choice, two values, and files that the form does not know."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from studio.files import SMALL
from studio.frame import editor, visit, write
from studio.test_newcomer import violations

KINDS = """\
version: 1
policy:
  domain:
    work: {categorical: [Farm, Office, School, None]}
    age: {integer: [17, 90]}
    place: {hierarchy: {levels: [land, state, town], tree: {South: {Bavaria: [Munich, Hof]}, North: {Hesse: [Fulda]}}}}
  secrets: {per_attribute: {work: full, age: full, place: full}}   # what is secret
"""
CONSENT = """\
version: 1
policy:
  domain:
    consent: {categorical: [yes, no]}
    age: {integer: [0, 9]}
  secrets: {by: consent, "yes": public, "no": full}
"""
WHOLE = SMALL.replace("per_attribute: {age: {threshold: 5}, sex: full}", "partition: {widths: {age: 5}}")


def choose(page, words, card=0):
    """Choose what is secret about the attribute of a card."""
    page.locator(".studio-expansion").nth(card).get_by_role("radio", name=words).click()


def test_a_distance_is_chosen_by_a_handle_and_by_a_number(studio, page):
    visit(page, studio(SMALL).address, "secrets")
    handle = page.get_by_role("slider", name="At most so far apart: age")
    expect(handle).to_have_attribute("aria-valuetext", "5")
    handle.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(editor(page)).to_contain_text("threshold: 6")
    field = page.get_by_label("At most so far apart", exact=True)
    expect(field).to_have_value("6")
    picture = page.locator(".studio-expansion").first.get_by_role("img").first
    expect(picture).to_have_attribute("aria-label", re.compile("1 to 6 and 8 to 13: 1 step from 7|1 to 13"))
    field.fill("3")
    field.press("Enter")
    expect(editor(page)).to_contain_text("threshold: 3")
    page.get_by_role("button", name="Undo").click()
    expect(editor(page)).to_contain_text("threshold: 6")
    expect(field).to_have_value("6")
    field.fill("minus")
    field.press("Enter")
    expect(page.get_by_text("must be a finite number, got 'minus'")).to_contain_text("The file keeps 6.")
    expect(editor(page)).to_contain_text("threshold: 6")


def test_a_line_is_cut_and_joined(studio, page):
    visit(page, studio(KINDS).address, "secrets")
    choose(page, "cut where I say", card=1)
    expect(editor(page)).to_contain_text("[[17, 53], [54, 90]]")
    page.get_by_label("Cut before").fill("65")
    page.get_by_role("button", name="Cut", exact=True).click()
    expect(editor(page)).to_contain_text("[[17, 53], [54, 64], [65, 90]]")
    page.get_by_label("Cut before").fill("12")
    page.get_by_label("Cut before").press("Enter")
    expect(page.get_by_text("choose a value after 17")).to_be_visible()
    page.get_by_role("button", name="Join 54 to 64 with the block before").click()
    expect(editor(page)).to_contain_text("[[17, 64], [65, 90]]")
    choose(page, "all equally wide", card=1)
    expect(editor(page)).to_contain_text("widths: 10")
    expect(editor(page)).to_contain_text("# what is secret")


def test_categories_are_grouped_by_menu_and_by_dragging(studio, page):
    visit(page, studio(KINDS).address, "secrets")
    choose(page, "Values in one group")
    expect(editor(page)).to_contain_text("[[Farm, Office], [School, None]]")
    chip = page.get_by_role("button", name="None: choose its group")
    chip.focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Move to a new group").click()
    expect(editor(page)).to_contain_text("[[Farm, Office], [School], [None]]")
    page.get_by_role("button", name="School: choose its group").drag_to(
        page.get_by_role("button", name="Farm: choose its group")
    )
    expect(editor(page)).to_contain_text("[[Farm, Office, School], [None]]")


def test_a_level_of_a_hierarchy_and_nothing(studio, page):
    visit(page, studio(KINDS).address, "secrets")
    choose(page, "below one name of a level", card=2)
    expect(editor(page)).to_contain_text("place: {within: land}")
    page.get_by_label("Below the same").click()
    page.get_by_role("option", name="state").click()
    expect(editor(page)).to_contain_text("place: {within: state}")
    choose(page, "Nothing: everybody may know it", card=2)
    expect(editor(page)).to_contain_text("place: public")
    expect(page.get_by_text("“place”: not protected at all").first).to_be_visible()


def test_two_values_and_the_odds_between_them(studio, page):
    visit(page, studio(SMALL).address, "secrets")
    ages = page.locator(".studio-expansion").first
    ages.get_by_label("One value").click()
    page.get_by_role("option", name="3", exact=True).click()
    ages.get_by_label("Another").click()
    page.get_by_role("option", name="20", exact=True).click()
    # 17 years are 4 steps of 5; the budget is epsilon 1, and e^4 = 54.598..
    expect(ages.get_by_text("3 and 20 are 4 steps apart.")).to_contain_text("a factor 55")
    expect(ages.get_by_text("at most 99 %").first).to_be_visible()
    page.get_by_label("Compare values after a loss of").click()
    page.get_by_role("option", name="the release how old").click()
    expect(ages.get_by_text("3 and 20 are 4 steps apart.")).to_contain_text("After a loss of epsilon 0.25")
    sexes = page.locator(".studio-expansion").nth(1)
    expect(sexes.get_by_text("leaves the odds as they are")).to_be_visible()
    page.get_by_label("Compare values after a loss of").click()
    page.get_by_role("option", name="an epsilon of my own").click()
    page.get_by_label("Epsilon", exact=True).fill("2")
    expect(sexes.get_by_text("Female and Male are a secret pair.")).to_contain_text("a factor 7.39")


def test_values_are_chosen_in_the_picture(studio, page):
    visit(page, studio(KINDS).address, "secrets")
    work = page.locator(".studio-expansion").first
    page.wait_for_timeout(800)
    work.locator("svg text", has_text="School").first.click()
    work.locator("svg text", has_text="None").first.click()
    expect(work.get_by_text("School and None are a secret pair.")).to_be_visible()


def test_weaker_secrets_are_asked_for_first(studio, page):
    full = SMALL.replace("\n    per_attribute: {age: {threshold: 5}, sex: full}", " full")
    visit(page, studio(full).address, "secrets")
    page.get_by_role("radio", name="Attribute by attribute").click()
    page.get_by_role("button", name="Leave it").wait_for()
    assert not violations(page, but=["color-contrast"])
    page.get_by_role("button", name="Leave it").click()
    expect(page.get_by_role("radio", name="Every two records")).to_be_checked()
    expect(editor(page)).to_contain_text("secrets: full")
    page.get_by_role("radio", name="Attribute by attribute").click()
    page.get_by_role("button", name="Change it").click()
    expect(editor(page)).to_contain_text("per_attribute")
    expect(page.locator(".studio-expansion")).to_have_count(2)
    page.get_by_role("radio", name="Presence").click()
    page.get_by_role("button", name="Change it").click()
    expect(editor(page)).to_contain_text("secrets: add_remove")
    expect(page.get_by_text("Compare two records")).to_be_visible()
    expect(page.get_by_text("2 steps apart")).to_be_visible()


@pytest.mark.parametrize("text", [WHOLE, CONSENT])
def test_what_the_form_does_not_know_is_shown_and_left_alone(studio, page, text):
    running = studio(text)
    visit(page, running.address, "secrets")
    expect(page.get_by_role("radio", name="As it is written in the file")).to_be_checked()
    expect(page.get_by_text("changed in the file")).to_be_visible()
    expect(page.get_by_role("heading", name="Not protected")).to_be_visible()
    said = page.get_by_text("not protected from each other at all").or_(page.get_by_text("a secret pair."))
    expect(said.first).to_be_visible()
    assert not violations(page)
    assert running.file.read_text() == text


def test_a_broken_file_leaves_the_last_cards(studio, page):
    running = studio(SMALL)
    visit(page, running.address, "secrets")
    write(page, SMALL.replace("threshold: 5", "threshold: far"))
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.locator(".studio-expansion")).to_have_count(2)
    page.reload()
    expect(page.locator(".studio-expansion")).to_have_count(2)
    write(page, SMALL.replace("threshold: 5", "threshold: 7"))
    expect(page.get_by_label("At most so far apart", exact=True)).to_have_value("7")


def test_all_kinds_of_cards_keep_the_rules(studio, page):
    text = KINDS.replace(
        "{work: full, age: full, place: full}",
        "{work: {partition: {blocks: [[Farm, Office], [School, None]]}}, age: {threshold: 5}, place: {within: state}}",
    )
    visit(page, studio(text).address, "secrets")
    page.wait_for_timeout(800)
    assert not violations(page)
    choose(page, "cut where I say", card=1)
    page.get_by_label("Cut before").wait_for()
    assert not violations(page)
