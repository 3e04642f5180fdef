"""The room Publish, as a person uses it: from the choice to the files, and what happens when something goes wrong."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger, open_ledger
from studio.files import SMALL, people
from studio.frame import editor, open_by_key, visit, walk, write
from studio.test_newcomer import violations

CANARY = 77123

FILE = """# about people
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 30]}
    sex: {categorical: [Female, Male]}
    region: {categorical: [North, South]}
  secrets: {per_attribute: {age: {threshold: 3}, sex: full, region: public}}
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
  - {name: up to, cumulative: age, epsilon: 0.3}
  - {name: regions, histogram: region, epsilon: 0.1}
"""

SLOW = """
import time
from blowfish_privacy.batch import Batch
release = Batch.release
def slow(self, plan):
    time.sleep(1.5)
    return release(self, plan)
Batch.release = slow
"""

REVIEW, YES = "Review and publish", "Yes, spend and publish"


@pytest.fixture
def begin(studio, page, tmp_path):
    """Open the room on a table of people and a ledger."""

    def opened(text=FILE, *, rows=200, before="", budget=1):
        made = (f"{i * i % 31},{'Female' if i % 3 else 'Male'},{'North' if i % 2 else 'South'}\n" for i in range(rows))
        (tmp_path / "people.csv").write_text("age,sex,region\n" + "".join(made))
        create_ledger(tmp_path / "people.ledger", budget=Fraction(budget))
        running = studio(text, before=before)
        page.goto(running.address + "publish")
        return running

    return opened


def button(page, name):
    return page.get_by_role("button", name=name)


def agree(page):
    button(page, REVIEW).click()
    button(page, YES).click()


def spent(folder):
    return open_ledger(folder / "people.ledger").spent


def chart(page):
    return page.locator(".nicegui-echart").first


def test_the_whole_way_from_a_choice_to_the_files(begin, page, tmp_path):
    running = begin()
    expect(page.get_by_text("Together they take 0.6 of the budget of 1")).to_be_visible()
    _nothing_happens_without_a_yes(page)
    assert spent(tmp_path) == 0
    page.get_by_role("checkbox", name="up to").click()
    expect(page.get_by_text("Together they take 0.3 of the budget of 1")).to_be_visible()
    page.get_by_label("The text of the policy file").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    expect(page.get_by_text("The file has changes that are not saved.")).to_be_visible()
    agree(page)
    expect(page.get_by_text("All 2 releases are made")).to_be_visible()
    expect(chart(page)).to_be_visible()
    assert spent(tmp_path) == Fraction(3, 10)
    assert running.file.read_text().startswith("# mine\n# about people")
    _files_can_be_taken_away(page, open_ledger(tmp_path / "people.ledger"))
    _results_can_be_had_again(page)
    assert spent(tmp_path) == Fraction(3, 10)


def _nothing_happens_without_a_yes(page):
    button(page, REVIEW).click()
    asked = page.get_by_role("dialog")
    expect(asked.get_by_text("Spend epsilon 0.6 (leaving epsilon 0.4) and read the data?")).to_be_visible()
    expect(asked.get_by_text("“region”: not protected at all.")).to_be_visible()
    expect(asked.get_by_text("regions: NO NOISE")).to_be_visible()
    expect(asked.get_by_role("cell", name="epsilon 0.3 on age, sex")).to_be_visible()
    button(page, "Cancel").click()
    expect(asked).to_be_hidden()


def _files_can_be_taken_away(page, ledger):
    handed_out = {json.loads(text)["name"]: text for text in map(ledger.document, [e.key for e in ledger.entries()])}
    beginnings = {
        "JSON": handed_out["ages"].encode(),
        "CSV": b"age,sex,count",
        "SVG": b"<?xml",
        "PNG": b"\x89PNG",
        "Card": b"<!doctype html>",
        "Card as Markdown": b"# Privacy statement",
    }
    for label, beginning in beginnings.items():
        with page.expect_download() as coming:
            page.get_by_role("button", name=f"{label} of ages", exact=True).click()
        assert coming.value.path().read_bytes().startswith(beginning), label


def _results_can_be_had_again(page):
    expect(page.get_by_role("cell", name="ages: histogram of age, sex")).to_be_visible()
    button(page, "Show entry 1 again").click()
    expect(page.get_by_text("ages is shown under Results.")).to_be_visible()
    expect(page.get_by_text("All of it is paid for: nothing more is spent.")).to_be_visible()
    button(page, REVIEW).click()
    button(page, "Yes, hand it out").click()
    expect(page.get_by_text("All 2 releases are made")).to_be_visible()


def test_keyboard_screen_reader_and_narrow_window_are_enough(begin, page, tmp_path):
    page.set_viewport_size({"width": 420, "height": 800})
    begin()
    expect(button(page, REVIEW)).to_be_enabled()
    open_by_key(page, button(page, REVIEW))
    expect(button(page, "Cancel")).to_be_focused()
    page.wait_for_timeout(500)
    # Behind a dialog the body is fixed, and axe loses sight of the buttons' own background.
    assert not publish_violations(page, but=["color-contrast"])
    page.keyboard.press("Tab")
    expect(button(page, YES)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("All 3 releases are made")).to_be_visible()
    expect(chart(page)).to_be_visible()
    page.wait_for_timeout(500)
    assert not publish_violations(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert spent(tmp_path) == Fraction(3, 5)


def publish_violations(page, *, but=()):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    nodes = [(each["id"], node["html"][:200]) for each in found for node in each["nodes"]]
    # Quasar shows a bar while a file is fetched, which has no name and is gone in a moment.
    return [(rule, html) for rule, html in nodes if rule not in but and "q-loading-bar" not in html]


def test_reloading_and_closing_in_the_middle_change_nothing(begin, page, new_page, tmp_path):
    running = begin(before=SLOW)
    agree(page)
    expect(page.get_by_text("Release 1 of 3, ages")).to_be_visible()
    page.reload()
    expect(page.get_by_text("of 3,").first).to_be_visible()
    page.close()
    other = new_page()
    other.goto(running.address + "publish")
    expect(other.get_by_text("All 3 releases are made")).to_be_visible(timeout=20_000)
    expect(chart(other)).to_be_visible()
    assert spent(tmp_path) == Fraction(3, 5)
    assert open_ledger(tmp_path / "people.ledger").verify().ok


def test_two_tabs_see_the_same_and_one_can_stop_what_the_other_began(begin, page, new_page, tmp_path, traffic):
    running = begin(before=SLOW)
    other = new_page()
    other.goto(running.address + "publish")
    expect(button(other, REVIEW)).to_be_enabled()
    button(page, REVIEW).click()
    expect(button(page, YES)).to_be_visible()
    other.get_by_label("The text of the policy file").click()
    other.keyboard.type("# changed\n")
    expect(other.get_by_text("The file has changes that are not saved.")).to_be_visible()
    button(page, YES).click()
    expect(page.get_by_role("alert").get_by_text("the file has changed since you were asked")).to_be_visible()
    button(page, "Cancel").click()
    agree(page)
    button(other, "Stop after this release").click()
    for each in (page, other):
        expect(each.get_by_text("of 3 releases were made. Publish again for the rest")).to_be_visible(timeout=20_000)
    agree(page)
    expect(page.get_by_text("of 3,").first).to_be_visible()
    traffic.expected.append("")
    running.stop()
    held = open_ledger(tmp_path / "people.ledger")
    assert held.verify().ok
    assert 1 <= len(held.entries()) <= 3


def test_a_file_that_was_never_saved_is_saved_on_the_way_to_the_question(studio, page, tmp_path):
    (tmp_path / "people.csv").write_text("age,sex,region\n" + "3,Female,North\n" * 50)
    create_ledger(tmp_path / "people.ledger", budget=1)
    running = studio(opens="people.csv")
    page.goto(running.address + "publish")
    write(page, FILE)
    button(page, REVIEW).click()
    asked = page.get_by_role("dialog", name="Save the file as")
    asked.get_by_label("Path of the file").fill(str(tmp_path / "mine.yaml"))
    asked.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog", name="Confirm").get_by_text("Spend epsilon 0.6")).to_be_visible()
    assert (tmp_path / "mine.yaml").read_text() == FILE
    button(page, YES).click()
    expect(page.get_by_text("All 3 releases are made")).to_be_visible()
    assert "error" not in running.output.lower()


def test_over_budget_nothing_is_spent_and_an_error_says_what_was(begin, page, tmp_path, traffic):
    begin(FILE.replace("budget: 1.0", "budget: 0.5"), budget="0.5")
    expect(page.get_by_text("they do not fit")).to_be_visible()
    button(page, REVIEW).click()
    expect(page.get_by_role("alert").get_by_text("the releases cost")).to_be_visible()
    assert spent(tmp_path) == 0
    page.get_by_role("checkbox", name="up to").click()
    with (tmp_path / "people.csv").open("a") as table:
        table.write(f"{CANARY},Female,North\n")
    agree(page)
    expect(page.get_by_role("alert").get_by_text("was charged (entry 1 of the ledger)")).to_be_visible()
    expect(page.get_by_text("0 of 2 releases were made")).to_be_visible()
    assert spent(tmp_path) == Fraction(3, 10)
    told = [*(body for _, body in traffic.responses), *(text for _, text in traffic.frames), page.content()]
    assert not any(str(CANARY) in each for each in told)


def test_without_a_ledger_the_way_to_one_is_shown(begin, page):
    begin(FILE.replace("people.ledger", "another.ledger"))
    expect(page.get_by_text("There is no ledger yet")).to_be_visible()
    expect(button(page, REVIEW)).to_be_disabled()
    page.get_by_role("link", name="Make it under Budget").click()
    page.wait_for_url("**/budget")


def test_on_a_narrow_page_the_history_scrolls_and_show_stays_in_sight(begin, page):
    begin()
    agree(page)
    show = button(page, "Show entry 1 again")
    expect(show).to_be_visible()
    page.set_viewport_size({"width": 420, "height": 800})
    expect(show).to_be_visible()
    region = page.locator(".studio-scroll").filter(has=show)
    for scrolled in (0, 10_000):
        eventually(page, lambda to=scrolled: region.evaluate(SCROLLED, to))
        eventually(page, lambda: within(show.bounding_box(), region.bounding_box()))
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


SCROLLED = "(element, to) => { element.scrollLeft = to; return element.scrollWidth > element.clientWidth; }"


def within(box, around):
    return around["x"] <= box["x"] and box["x"] + box["width"] <= min(420, around["x"] + around["width"]) + 1


def eventually(page, holds):
    """Wait until a page that is laid out anew has something; fail if it never does."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("the page never got there")


# The room of releases: forms that write the file, errors that follow, and what cannot be planned.


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
    expect(page.get_by_text("quarters is removed. Undo brings it back.")).to_be_visible()
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
