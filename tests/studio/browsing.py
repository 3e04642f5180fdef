"""Debian's Chromium, told to talk to nobody, and a record of what it says all the same."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Response, WebSocket, WebSocketRoute

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--font-render-hinting=none",
)  # fmt: skip
HARMLESS = ("Cannot read properties of undefined (reading 'dispose')",)
"""The framework's own: it says so of a chart that is taken away before it was drawn, and goes on."""
_LOCAL = {"127.0.0.1", "localhost", ""}


@contextmanager
def launch() -> Generator[Browser]:
    """Start the browser, and end it."""
    found = os.environ.get("BLOWFISH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise RuntimeError("there is no Chromium. Hint: tests/studio/install")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


class Traffic:
    """All that pages asked for, were given, and were told over their sockets."""

    def __init__(self) -> None:
        self.responses: list[tuple[str, str]] = []
        """Addresses and bodies, without the files of the framework."""
        self.frames: list[tuple[str, str]] = []
        """What went over sockets: "sent" or "received", and the text."""
        self.times: list[float] = []
        """When each of these did."""
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        self.expected: list[str] = []
        """Parts of error messages that a test brings about on purpose."""

    def watch(self, context: BrowserContext) -> None:
        """Record everything from now on."""
        context.on("request", lambda request: self._leaves(request.url))
        context.on("response", self._record)
        context.on("page", self._watch_page)

    def check(self) -> None:
        """Fail if anything left this machine, or a page met an error that the test did not expect."""
        assert not self.elsewhere, f"requests left the machine: {self.elsewhere}"
        known = [*HARMLESS, *self.expected]
        errors = [error for error in self.errors if not any(part in error for part in known)]
        assert not errors, f"the browser's console has errors: {errors}"

    @property
    def text(self) -> str:
        """Everything in one text, to be searched."""
        return "\n".join([*(f"{url}\n{body}" for url, body in self.responses), *(frame for _, frame in self.frames)])

    def _watch_page(self, page: Page) -> None:
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("websocket", self._listen)

    def _leaves(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about", "file") and parts.hostname not in _LOCAL:
            self.elsewhere.append(url)

    def _listen(self, socket: WebSocket) -> None:
        self._leaves(socket.url)
        socket.on("framesent", lambda frame: self._frame("sent", frame))
        socket.on("framereceived", lambda frame: self._frame("received", frame))

    def _frame(self, way: str, frame: Any) -> None:
        self.frames.append((way, frame if isinstance(frame, str) else bytes(frame).decode("utf-8", "replace")))
        self.times.append(monotonic())

    def _record(self, response: Response) -> None:
        if "/_nicegui/" in response.url or response.url.startswith(("data:", "blob:")):
            return
        try:
            body = response.body().decode("utf-8", "replace")
        except Error:  # a redirection has no body
            body = ""
        self.responses.append((response.url, body))


_STATE = """() => ({
  address: location.pathname.split("/").slice(2).join("/"), visible: document.visibilityState,
  connected: window.socket?.connected, shaken: window.did_handshake,
  focus: document.activeElement?.outerHTML.slice(0, 200),
  header: document.querySelector("header")?.innerText, editor: document.querySelector(".cm-content")?.innerText,
  given: document.querySelector(".studio-editor")?.dataset.given,
})"""


def evidence(context: BrowserContext, traffic: Traffic, folder: Path) -> Iterator[str]:
    """Say what the pages of a test that failed show, and what went over their sockets last."""
    for number, page in enumerate(context.pages):
        try:
            page.screenshot(path=folder / f"page-{number}.png", timeout=5_000)
            yield f"page {number}, drawn in {folder}: {page.evaluate(_STATE)}"
        except Error as error:
            yield f"page {number} says nothing: {error}"
    now = monotonic()
    for (way, frame), when in [*zip(traffic.frames, traffic.times, strict=True)][-60:]:
        yield f"{when - now:8.2f} s {way:8} {frame[:300]}"


class Wire:
    """The socket of one page, on which messages can be held back: what is slow in the world is slow here on purpose."""

    def __init__(self, page: Page) -> None:
        """Stand between the page and its studio; call it before the page is opened."""
        self._page = page
        self._to_page: list[Callable[[], None]] | None = None
        self._to_studio: list[Callable[[], None]] | None = None
        page.route_web_socket(re.compile("socket.io"), self._connect)

    def hold_news(self) -> None:
        """Keep from the page what the studio says, until :meth:`release`."""
        self._connected()
        self._to_page = []

    def hold_acts(self) -> None:
        """Keep from the studio what is done on the page, until :meth:`release`."""
        self._connected()
        self._to_studio = []

    def release(self) -> None:
        """Hand over what was held, in its order, and hold nothing any more."""
        held = [*(self._to_page or ()), *(self._to_studio or ())]
        self._to_page = self._to_studio = None
        for each in held:
            each()

    def _connected(self) -> None:
        """Wait until page and studio have met: of what is held before that neither ever hears."""
        self._page.wait_for_function("window.did_handshake")

    def _connect(self, page: WebSocketRoute) -> None:
        studio = page.connect_to_server()

        def news(message: str | bytes) -> None:
            act = partial(page.send, message)
            act() if self._to_page is None else self._to_page.append(act)

        def acts(message: str | bytes) -> None:
            act = partial(studio.send, message)
            act() if self._to_studio is None else self._to_studio.append(act)

        studio.on_message(news)
        page.on_message(acts)
