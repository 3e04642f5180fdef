"""What tests do with the frame of the page: open a room, write into the editor, see what the header says."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

ROOMS = {
    "": "Table",
    "secrets": "Secrets",
    "facts": "Known facts",
    "releases": "Releases",
    "budget": "Budget",
    "publish": "Publish",
}


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
    """Open the dialog of a button with the keyboard."""
    expect(button).to_be_enabled()
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def in_room(page: Page, room: str) -> None:
    """Wait until a room is there."""
    expect(page).to_have_title(f"{ROOMS[room]} - Blowfish studio")
    expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()


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
