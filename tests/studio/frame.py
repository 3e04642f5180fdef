"""What tests do with the frame of the page: open a room, write into the editor, see what the header says."""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import Locator, Page, expect

ROOMS = {
    "": "Table",
    "secrets": "Secrets",
    "facts": "Known facts",
    "releases": "Releases",
    "budget": "Budget",
    "publish": "Publish",
}

# What plans say arrives after a room is there, and parts that are drawn anew then lose what is pressed meanwhile.
_QUIET = """() => new Promise(done => {
    const finish = () => { watching.disconnect(); clearTimeout(last); done(true); };
    let calm = setTimeout(finish, 400);
    const last = setTimeout(finish, 8000);
    const watching = new MutationObserver(() => { clearTimeout(calm); calm = setTimeout(finish, 400); });
    watching.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
})"""


def visit(page: Page, address: str, room: str = "") -> None:
    """Open a room by its address, and wait until it is there."""
    page.goto(f"{address}{room}")
    in_room(page, room)


def walk(page: Page, room: str) -> None:
    """Go to a room by the navigation, which keeps the page."""
    page.get_by_role("navigation").get_by_role("link", name=ROOMS[room]).click()
    in_room(page, room)


def publish(page: Page, address: str) -> None:
    """Publish all that the file lists."""
    visit(page, address, "publish")
    page.get_by_role("button", name="Review and publish").click()
    page.get_by_role("button", name="Yes", exact=False).click()


def open_by_key(page: Page, button: Locator) -> Locator:
    """Open the dialog of a button with the keyboard; a page that is still being drawn may lose a key."""
    dialog = page.get_by_role("dialog")
    for _ in range(5):
        button.focus()
        page.keyboard.press("Enter")
        with suppress(AssertionError):
            expect(dialog).to_be_visible(timeout=3_000)
            break
    expect(dialog).to_be_visible()
    return dialog


def in_room(page: Page, room: str) -> None:
    """Wait until a room is there, and nothing in it changes any more."""
    expect(page).to_have_title(f"{ROOMS[room]} - Blowfish studio")
    expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
    page.evaluate(_QUIET)


def editor(page: Page) -> Locator:
    """The editor of the file."""
    return page.locator(".cm-content")


def write(page: Page, text: str) -> None:
    """Replace the whole text of the file by hand."""
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def says_saved(page: Page, *, saved: bool) -> None:
    """Wait until the header says that the file is saved, or not."""
    header = page.get_by_role("banner")
    expect(header.get_by_text("saved" if saved else "not saved", exact=True)).to_be_visible()
