"""Pictures of each room, on the demo table.

python tests/studio/screenshots.py [--narrow] docs/pictures/studio
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from PIL import Image
from playwright.sync_api import Locator, Page

from blowfish_privacy.cli.demo import POLICY, make_census
from blowfish_privacy.cli.main import run
from studio.browsing import Traffic, launch
from studio.frame import ROOMS, says_saved, visit, write
from studio.running import Running

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 420, "height": 800}
COLOURS = 128
"""A page has few colours, and a picture with few is small."""


def declared(page: Page) -> None:
    """Show the columns; the folder is that of some person."""
    page.get_by_text("In /").evaluate("place => { place.textContent = 'In /home/me/census'; }")


def compared(page: Page) -> None:
    """Compare two ages."""
    ages = page.locator(".studio-expansion").first
    for label, value in (("One value", "30"), ("Another", "42")):
        ages.get_by_label(label).click()
        page.get_by_role("option", name=value, exact=True).click()
    to_top(ages)


def known(page: Page) -> None:
    """Add that everybody knows how many earn little; the release of all tables at once is too large for facts."""
    write(page, "\n".join(line for line in POLICY.splitlines() if "name: tables" not in line) + "\n")
    says_saved(page, saved=False)
    page.get_by_role("radio", name="One count").click()
    page.get_by_label("wage, as in").fill("0 to 12")
    page.get_by_label("How many they are").fill("4000")
    page.get_by_role("button", name="Add this fact").click()
    page.get_by_role("row", name="wages").first.wait_for()
    page.locator(".q-notification").wait_for(state="hidden")
    page.evaluate("window.scrollTo(0, 0)")


def planned(page: Page) -> None:
    """Take back the fact, and open a distribution."""
    for _ in range(2):
        page.get_by_role("banner").get_by_role("button", name="Undo").click()
    says_saved(page, saved=True)
    page.get_by_role("button", name="wages").first.click()
    page.get_by_text("By size").wait_for()
    page.wait_for_timeout(1500)
    to_top(page.get_by_role("button", name="wages").first)


def published(page: Page) -> None:
    """Publish what the file lists, and show what came out."""
    page.get_by_role("button", name="Review and publish").click()
    page.get_by_role("button", name="Yes, spend and publish").click()
    page.locator(".nicegui-echart").first.wait_for()
    page.wait_for_timeout(1500)
    to_top(page.get_by_role("heading", name="Results"))


def to_top(element: Locator) -> None:
    """Scroll until an element is below the header."""
    element.evaluate("shown => window.scrollTo(0, shown.getBoundingClientRect().top + window.scrollY - 70)")


def nothing(page: Page) -> None:
    """Show a room as it is when it is opened."""


SHOWN: dict[str, Callable[[Page], None]] = {
    "": declared,
    "secrets": compared,
    "facts": known,
    "releases": planned,
    "publish": published,
}
"""What to do in a room before its picture is taken."""


def main(folder: Path, size: dict[str, int]) -> None:
    """Take the pictures, and say how large they are."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, launch() as browser:
        run(["ledger", "create", str(make_census(Path(work)))])
        running = Running(Path(work), opens="census.yaml")
        try:
            traffic = Traffic()
            context = browser.new_context(viewport=size, reduced_motion="reduce", device_scale_factor=1)
            traffic.watch(context)
            page = context.new_page()
            for room, title in ROOMS.items():
                visit(page, running.address, room)
                SHOWN.get(room, nothing)(page)
                page.wait_for_timeout(1500)
                name = folder / f"{room or title.lower()}.png"
                name.write_bytes(small(page.screenshot()))
                print(f"{name}: {name.stat().st_size // 1024} KiB")
            traffic.check()
        finally:
            running.stop()


def small(picture: bytes) -> bytes:
    """Write a picture with few colours."""
    written = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--narrow"]
    main(Path(given[0]), NARROW if "--narrow" in sys.argv else WIDE)
