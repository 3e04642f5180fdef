"""The whole way of somebody new: from a CSV file to a card, without a line of YAML, watched for values of the data."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from blowfish_privacy.cli.main import run
from blowfish_privacy.support import yaml_text
from studio.files import SMALL, people
from studio.frame import ROOMS, editor, says_saved, visit, walk, write

CANARY = "Quetzalcoatlus"

WRITTEN = {
    "version": 1,
    "data": "people.csv",
    "ledger": "people.ledger",
    "budget": 1,
    "policy": {
        "domain": {"age": {"integer": [0, 20]}, "sex": {"categorical": ["Female", "Male"]}},
        "secrets": {"per_attribute": {"age": {"threshold": 5}, "sex": "full"}},
    },
    "releases": [{"name": "age mean", "mean": "age", "epsilon": Decimal("0.1")}],
}


@pytest.fixture
def table(tmp_path):
    header, *rows = people().splitlines()
    (tmp_path / "people.csv").write_text("\n".join([f"{header},note", *(f"{row},{CANARY}" for row in rows)]) + "\n")
    return tmp_path


def test_from_a_table_to_a_card(studio, page, table, traffic, capsys):
    running = studio(opens="people.csv")
    visit(page, running.address)
    declare(page)
    walk(page, "secrets")
    choose_secrets(page)
    walk(page, "facts")
    expect(page.get_by_text("No facts are listed.")).to_be_visible()
    walk(page, "releases")
    page.get_by_role("button", name="Add a release").click()
    page.get_by_text("The average of numbers").click()
    expect(page.get_by_text("It draws on age.")).to_be_visible()
    save(page)
    walk(page, "budget")
    page.get_by_role("button", name="Create the ledger").click()
    expect(page.get_by_text("people.ledger has a budget of 1, which is fixed.")).to_be_visible()
    walk(page, "publish")
    page.get_by_role("button", name="Review and publish").click()
    page.get_by_role("button", name="Yes, spend and publish").click()
    card = taken(page, "Card of age mean")
    assert card.startswith("<!doctype html>")
    assert "age mean" in card
    document = taken(page, "JSON of age mean")
    assert json.loads(document)["name"] == "age mean"
    assert yaml_text.parse((table / "people.yaml").read_text()) == WRITTEN
    assert CANARY not in traffic.text + page.content() + running.output
    page.close()
    running.stop()
    the_command_line_agrees(table, document, capsys)


def declare(page):
    """Say what values the columns can have; the third is left out."""
    page.get_by_role("button", name="Declare age").click()
    page.get_by_label("Smallest value").fill("0")
    page.get_by_label("Largest value").fill("20")
    page.get_by_role("dialog").get_by_role("button", name="Declare").click()
    expect(page.get_by_text("whole numbers from 0 to 20")).to_be_visible()
    page.get_by_role("button", name="Declare sex").click()
    page.get_by_role("dialog").get_by_role("combobox", name="It holds").click()
    page.get_by_role("option", name="Categories").click()
    page.get_by_label("Categories, in lines").fill("Female\nMale")
    page.get_by_role("dialog").get_by_role("button", name="Declare").click()
    expect(page.get_by_text("2 of 3 declared")).to_be_visible()


def choose_secrets(page):
    """Hide ages within five years, and the sex altogether."""
    page.get_by_role("radio", name="Attribute by attribute").click()
    page.get_by_role("dialog").get_by_role("button").last.click()
    expect(editor(page)).to_contain_text("per_attribute")
    page.locator(".studio-expansion").first.get_by_role("radio", name="Values close to each other").click()
    distance = page.get_by_label("At most so far apart", exact=True)
    distance.fill("5")
    distance.press("Enter")
    expect(editor(page)).to_contain_text("threshold: 5")


def save(page):
    page.get_by_role("banner").get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    says_saved(page, saved=True)


def taken(page, name):
    """Take away a file of a result."""
    with page.expect_download() as coming:
        page.get_by_role("button", name=name, exact=True).click()
    return coming.value.path().read_text(encoding="utf-8")


def the_command_line_agrees(folder, document, capsys):
    """Verify the document, and release the file again with the command, for nothing: the same bytes."""
    (folder / "taken.release.json").write_text(document)
    assert run(["verify", str(folder / "taken.release.json")]) == 0
    assert run(["release", str(folder / "people.yaml"), "--out", str(folder / "out")]) == 0
    assert "nothing was spent" in capsys.readouterr().out
    assert (folder / "out" / "age mean.release.json").read_text() == document


# axe-core's rules, in each room: names of controls, contrast, landmarks, order of headings.


RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}

SIZES = {"wide": {"width": 1400, "height": 900}, "narrow": {"width": 420, "height": 800}}


def violations(page, *, but=()):
    """List the rules that a page breaks, with the elements that break them."""
    found = Axe().run(page, options=RULES).response["violations"]
    nodes = [(each["id"], node["html"][:200]) for each in found for node in each["nodes"]]
    # Quasar shows a bar while a file is fetched, which has no name and is gone in a moment.
    return [f"{rule}: {html}" for rule, html in nodes if rule not in but and "q-loading-bar" not in html]


@pytest.mark.parametrize("width", SIZES)
def test_every_room_keeps_the_rules(studio, page, width):
    running = studio(SMALL)
    (running.folder / "people.csv").write_text(people())
    page.set_viewport_size(SIZES[width])
    broken = {}
    for room in ROOMS:
        visit(page, running.address, room)
        page.wait_for_timeout(1000)
        if found := violations(page):
            broken[room] = found
    assert not broken


def test_a_problem_keeps_the_rules(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    write(page, SMALL.replace("[0, 20]", "[20, 0]"))
    page.get_by_role("alert").first.wait_for()
    # The room rests until the file is mended, and its heading with it.
    assert not violations(page, but=["page-has-heading-one"])


def test_a_question_keeps_the_rules(studio, page):
    running = studio()
    visit(page, running.address)
    write(page, SMALL)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Path of the file").wait_for()
    # Behind a button of a dialog axe sees the darkened page, not the dialog's white.
    assert not violations(page, but=["color-contrast"])
