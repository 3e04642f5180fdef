"""The frame of the studio: rooms, the file beside them, undo and save, tabs, reloads, small windows and keys."""

from __future__ import annotations

import signal
import time
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger, open_ledger
from blowfish_privacy.session import load_policy
from studio.files import SMALL, people
from studio.frame import ROOMS, editor, in_room, publish, says_saved, visit, walk, write

CHANGED = SMALL.replace("epsilon: 0.25", "epsilon: 0.125", 1)

BROKEN = SMALL.replace("integer: [0, 20]", "integer: [20, 0]")

NARROW = {"width": 420, "height": 800}


def test_every_room_has_a_title_and_an_address(studio, page):
    running = studio(SMALL)
    for room, title in ROOMS.items():
        visit(page, running.address, room)
        expect(page.locator("[aria-current=page]")).to_contain_text(title)
    for room in ROOMS:
        walk(page, room)
        assert page.url == running.address + room or page.url == f"{running.address}{room}".rstrip("/")


def test_what_is_written_can_be_taken_back_done_again_and_saved(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    says_saved(page, saved=True)
    write(page, CHANGED)
    says_saved(page, saved=False)
    page.get_by_role("button", name="Undo").click()
    expect(editor(page)).not_to_contain_text("0.125")
    says_saved(page, saved=True)
    page.get_by_role("button", name="Redo").click()
    expect(editor(page)).to_contain_text("0.125")
    assert running.file.read_text() == SMALL
    page.get_by_role("button", name="Save", exact=True).click()
    says_saved(page, saved=True)
    assert running.file.read_text() == CHANGED


def test_the_usual_keys_do_it_too(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    write(page, CHANGED)
    says_saved(page, saved=False)
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+z")
    expect(editor(page)).not_to_contain_text("0.125")
    page.keyboard.press("Control+Shift+z")
    expect(editor(page)).to_contain_text("0.125")
    page.keyboard.press("Control+s")
    says_saved(page, saved=True)
    assert running.file.read_text() == CHANGED
    editor(page).click()
    page.keyboard.press("Control+z")
    says_saved(page, saved=False)
    page.keyboard.press("Control+s")
    says_saved(page, saved=True)
    assert running.file.read_text() == SMALL


def test_a_broken_file_is_marked_and_mended(studio, page):
    running = studio(SMALL)
    visit(page, running.address, "secrets")
    write(page, BROKEN)
    expect(page.get_by_role("alert").first).to_contain_text("20")
    expect(page.locator(".studio-wrong-line")).to_contain_text("age")
    expect(page.get_by_text("The rooms show the last valid file")).to_be_visible()
    walk(page, "releases")
    expect(page.get_by_text("The rooms show the last valid file")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_text("The file is valid.")).to_be_visible()


def test_whatever_is_written_the_page_stands(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    for text in (
        "policy: [",
        "nonsense",
        "- 1\n- 2\n",
        "\t:",
        "policy: {domain: 3}\n",
        "# nothing\n",
        "releases: {}\n",
    ):
        write(page, text)
        says_saved(page, saved=False)
        for room in ROOMS:
            walk(page, room)
        page.get_by_role("banner").get_by_role("button", name="Undo").click()
        says_saved(page, saved=True)


def test_a_file_that_is_broken_from_the_start_is_opened(studio, page):
    running = studio(BROKEN)
    for room in ROOMS:
        visit(page, running.address, room)
    expect(page.get_by_role("alert").first).to_be_visible()
    write(page, SMALL)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_two_tabs_show_the_same(studio, page, new_page):
    running, other = studio(SMALL), new_page()
    visit(page, running.address)
    visit(other, running.address, "releases")
    write(page, CHANGED)
    expect(editor(other)).to_contain_text("0.125")
    says_saved(other, saved=False)
    other.get_by_role("banner").get_by_role("button", name="Undo").click()
    expect(editor(page)).not_to_contain_text("0.125")
    page.close()
    write(other, CHANGED)
    says_saved(other, saved=False)


def test_a_reload_loses_nothing(studio, page):
    running = studio(SMALL)
    visit(page, running.address, "budget")
    write(page, CHANGED)
    says_saved(page, saved=False)
    page.reload()
    in_room(page, "budget")
    expect(editor(page)).to_contain_text("0.125")
    says_saved(page, saved=False)
    page.get_by_role("banner").get_by_role("button", name="Undo").click()
    says_saved(page, saved=True)


def test_a_file_that_somebody_else_changed_is_not_overwritten_unasked(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    write(page, CHANGED)
    says_saved(page, saved=False)
    running.file.write_text(SMALL + "# by somebody else\n")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    assert running.file.read_text().endswith("# by somebody else\n")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save as ...").click()
    page.get_by_label("Path of the file").press("Enter")
    says_saved(page, saved=True)
    assert running.file.read_text().endswith("# by somebody else\n")
    mine = running.file.with_stem(f"{running.file.stem}-2")
    assert mine.read_text() == CHANGED
    page.get_by_role("banner").get_by_role("button", name="Save as ...").click()
    page.get_by_label("Path of the file").fill(str(running.file))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Replace it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert running.file.read_text() == CHANGED


def test_a_new_file_is_saved_where_the_person_says(studio, page):
    running = studio()
    visit(page, running.address)
    write(page, SMALL)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Path of the file").fill(str(running.folder / "mine.yaml"))
    page.keyboard.press("Enter")
    says_saved(page, saved=True)
    assert (running.folder / "mine.yaml").read_text() == SMALL
    expect(page.get_by_role("banner")).to_contain_text("mine.yaml")


def test_a_narrow_window_needs_no_scrolling_sideways(studio, page):
    running = studio(SMALL)
    page.set_viewport_size(NARROW)
    for room, title in ROOMS.items():
        visit(page, running.address, room)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], title
        for button in page.get_by_role("banner").get_by_role("button").all():
            box = button.bounding_box()
            assert box is None or box["x"] + box["width"] <= NARROW["width"], title
    page.get_by_role("button", name="Rooms").click()
    walk(page, "secrets")


def test_keys_alone_lead_through_the_studio(studio, page):
    running = studio(SMALL)
    visit(page, running.address)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the room")).to_be_focused()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText"))
        if "Publish" in reached[-1]:
            break
    assert any("Save" in words for words in reached)
    page.keyboard.press("Enter")
    in_room(page, "publish")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_not_saved_is_kept_when_the_studio_ends(studio, page, traffic, number):
    running = studio(SMALL)
    traffic.expected.append("WebSocket")
    visit(page, running.address)
    write(page, CHANGED)
    says_saved(page, saved=False)
    assert running.stop(number) == (130 if number == signal.SIGINT else 143)
    assert (running.folder / "file.yaml.draft").read_text() == CHANGED
    assert "file.yaml.draft" in running.output
    assert running.file.read_text() == SMALL
    again = studio(opens="file.yaml")
    assert "file.yaml.draft" in again.output


def test_the_page_finds_the_studio_again_after_the_line_was_lost(studio, page, traffic):
    running = studio(SMALL)
    traffic.expected += ["WebSocket", "ERR_INTERNET_DISCONNECTED"]
    visit(page, running.address)
    page.context.set_offline(True)
    page.wait_for_timeout(500)
    page.context.set_offline(False)
    write(page, CHANGED)
    says_saved(page, saved=False)


def test_the_first_page_does_not_hang(studio, page):
    """That it comes at all, on whatever machine this is; how fast it is, ``benchmarks/first_page.py`` measures."""
    page.goto("about:blank")
    running = studio(SMALL)
    begun = time.monotonic()
    visit(page, running.address)
    seconds = running.seconds + time.monotonic() - begun
    print(f"first page after {seconds:.2f} s, of which the command took {running.seconds:.2f} s")
    assert seconds < 20


def test_what_is_typed_fast_stays_as_it_is_typed(studio, page):
    """A text that is wrong between two keys is marked without being sent back into the editor."""
    running = studio(SMALL)
    visit(page, running.address, "releases")
    for delay in (0, 40):
        editor(page).click()
        page.keyboard.press("Control+Home")
        page.keyboard.type("# one remark here\n# and another one\n", delay=delay)
    typed = "# one remark here\n# and another one\n" * 2
    says_saved(page, saved=False)
    page.keyboard.press("Control+s")
    says_saved(page, saved=True)
    assert running.file.read_text() == typed + SMALL


def test_two_tabs_write_into_one_text(studio, page, new_page):
    running = studio(SMALL)
    other = new_page()
    for each in (page, other):
        visit(each, running.address)
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# from the first\n", delay=20)
    expect(editor(other)).to_contain_text("# from the first")
    editor(other).click()
    other.keyboard.press("Control+End")
    other.keyboard.type("# from the second\n", delay=20)
    expect(editor(page)).to_contain_text("# from the second")
    expect(editor(other)).to_contain_text("# from the first")
    page.reload()
    expect(editor(page)).to_contain_text("# from the second")
    expect(editor(page)).to_contain_text("# from the first")


# A studio that ends in the middle of a release: a charge is made once, and nothing half-made is left.


ONE = SMALL.replace("  - {name: how old, cumulative: age, epsilon: 0.25}\n", "")

# The charge is made, and no noise is drawn yet.
SLOW = """
import time
import blowfish_privacy.release.run as running
draw = running.draw
def slow(*arguments):
    time.sleep(60)
    return draw(*arguments)
running.draw = slow
"""


@pytest.fixture
def people_folder(tmp_path):
    (tmp_path / "people.csv").write_text(people())
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    return tmp_path


def state(folder):
    """Check the ledger, and return how many charges and documents it has, and what was spent."""
    report = open_ledger(folder / "people.ledger", load_policy=load_policy).verify()
    assert report.problems == ()
    return report.entries, report.documents, report.spent


def wait_for_charge(folder):
    deadline = time.monotonic() + 30
    while state(folder)[0] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_studio_that_ends_in_the_middle_of_a_release(studio, page, traffic, people_folder, blow):
    traffic.expected += ["WebSocket", "ERR_CONNECTION"]
    running = studio(ONE, before=SLOW)
    publish(page, running.address)
    wait_for_charge(people_folder)
    begun = time.monotonic()
    assert running.stop(blow) == (-9 if blow == signal.SIGKILL else 128 + blow)
    assert time.monotonic() - begun < 10
    assert state(people_folder) == (1, 0, Fraction(1, 4))
    again = studio(ONE)
    publish(page, again.address)
    expect(page.locator(".nicegui-echart").first).to_be_visible()
    assert state(people_folder) == (1, 1, Fraction(1, 4))
    assert {path.name for path in people_folder.iterdir()} <= {
        "file.yaml", "people.csv", "people.ledger", "people.ledger-journal",
    }  # fmt: skip


def test_no_tab_need_be_open(studio, new_page, people_folder):
    page = new_page()
    running = studio(ONE, before=SLOW.replace("60", "3"))
    publish(page, running.address)
    wait_for_charge(people_folder)
    page.close()
    deadline = time.monotonic() + 30
    while state(people_folder)[1] == 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert state(people_folder) == (1, 1, Fraction(1, 4))
    other = new_page()
    visit(other, running.address, "publish")
    expect(other.locator(".nicegui-echart").first).to_be_visible()
