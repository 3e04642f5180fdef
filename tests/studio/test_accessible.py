"""axe-core's rules, in each room: names of controls, contrast, landmarks, order of headings."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from studio.files import SMALL, people
from studio.frame import ROOMS, visit, write

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
