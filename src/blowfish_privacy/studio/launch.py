"""Starting the studio: a server on the loopback interface, behind its door, until somebody ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread
from typing import Any, ClassVar

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from nicegui import app as framework
from nicegui import ui
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from blowfish_privacy.errors import SpecError
from blowfish_privacy.studio import page
from blowfish_privacy.studio.door import Door, new_token
from blowfish_privacy.studio.workshop import Workshop

_LOOPBACK = "127.0.0.1"
_PATIENCE = 2
"""Seconds that a server that is told to stop may take; what takes longer ends with the process."""
_RECONNECT = 30.0
"""Seconds for which a page that lost its connection finds everything as it was."""
_HEAD_WITHIN = 10.0
"""Seconds within which the head of a request must be there."""
_LONGEST_HEAD = 2**16
_WAITING = 100
"""How many connections may wait for the head of their first request."""
_LETTER = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Blowfish studio</title>'
    '<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}">'
    '<p><a href="{address}">Open the studio</a></p></html>\n'
)
_APOLOGY = (
    '<!doctype html><html lang="en"><title>Blowfish studio</title><link rel="icon" href="data:,">'
    "<h1>The studio met an unexpected error.</h1>"
    "<p>Nothing was lost: go back, or reload. What happened is said where the studio was started.</p>"
)


class Anteroom(asyncio.Protocol):
    """Lets a connection wait for the head of its first request, before the server spends anything on it.

    It may not wait long, and where many wait, the one that came first makes room: connections that say nothing keep
    nobody out, since a browser asks as soon as it is connected.
    """

    _waiting: ClassVar[dict[Anteroom, None]] = {}

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._head = b""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        self._transport: asyncio.Transport = transport
        self._waiting[self] = None
        self._timer = asyncio.get_running_loop().call_later(_HEAD_WITHIN, transport.abort)
        if len(self._waiting) > _WAITING:
            first = next(iter(self._waiting))
            first._leave()
            first._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Hand the connection over to the server once the head of a request is there."""
        self._head += data
        if b"\r\n\r\n" in self._head:
            self._leave()
            served = AutoHTTPProtocol(**self._options)
            served.connection_made(self._transport)
            self._transport.set_protocol(served)
            served.data_received(self._head)
        elif len(self._head) > _LONGEST_HEAD:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._leave()

    def _leave(self) -> None:
        self._waiting.pop(self, None)
        self._timer.cancel()


def serve(workshop: Workshop, *, port: int = 0, show: bool = True, tell: Callable[[str], None]) -> None:
    """Serve a workshop to a browser until this process is interrupted.

    ``tell`` is told the address, with its token: the one place where it is written. ``show`` opens a browser.
    """
    listening = _listen(port)
    page.install(workshop)
    framework.on_startup(lambda: _join(workshop))
    door = Door(_application(token := new_token()), listening.getsockname()[1], token)
    settings = uvicorn.Config(
        door, log_config=None, log_level="critical", access_log=False, server_header=False, proxy_headers=False,
        lifespan="on", timeout_graceful_shutdown=1, http=Anteroom, backlog=_WAITING,
    )  # fmt: skip
    server, ended = uvicorn.Server(settings), Event()
    letter: Path | None = None

    def run() -> None:
        try:
            server.run(sockets=[listening])
        finally:
            ended.set()

    # The signals stop the main thread, which only waits; a request that is being answered is not cut in the middle.
    Thread(target=run, daemon=True, name="studio").start()
    try:
        while not server.started:
            if ended.wait(0.02):
                raise SpecError("the studio's server did not start.", hint="try again, with another --port.")
        tell(door.address)
        if show and _has_display():
            # If the page cannot be written, the address printed above is enough.
            with suppress(OSError):
                letter = _letter(door.invitation())
                # Some browsers come back only when they are closed.
                Thread(target=webbrowser.open, args=(letter.as_uri(),), daemon=True, name="browser").start()
        while not ended.wait(1):
            if letter is not None and not door.inviting:
                shutil.rmtree(letter.parent, ignore_errors=True)
                letter = None
    finally:
        if letter is not None:
            shutil.rmtree(letter.parent, ignore_errors=True)
        server.should_exit = True
        ended.wait(_PATIENCE)
        workshop.close()


def _has_display() -> bool:
    """Say whether a browser has somewhere to appear; one in the terminal would be in the way of everything else."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _letter(address: str) -> Path:
    """Write a page that leads to an address, in a new folder that only this user can enter.

    Everybody on the machine can read the arguments that a browser is started with, so it gets the place of this page.
    """
    # The user's own folder, since browsers in a snap cannot look into the system's temporary one.
    home = os.path.expanduser("~")
    readable = sys.platform == "linux" and os.path.isdir(home) and os.access(home, os.W_OK)
    folder = Path(mkdtemp(prefix="blowfish-studio-", dir=home if readable else None))
    page = folder / "open.html"
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(_LETTER.format(address=address))
    return page


def _join(workshop: Workshop) -> None:
    """Let what happens in other threads be told in the one that the pages live in."""
    loop = asyncio.get_running_loop()

    def told(act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # whatever it is, the log says so, and the next one is told
            framework.handle_exception(error)

    def post(act: Callable[[], None]) -> None:
        # Once the server has stopped there is nobody to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(told, act)

    workshop.post = post


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        # A port can be used again at once; elsewhere the same option would let others share a port that is in use.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_LOOPBACK, port))
        return listening
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or "there is no such port"
    raise SpecError(f"the studio cannot use port {port}: {reason}.", hint="leave out --port, and a free one is used.")


def _application(token: str) -> FastAPI:
    outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    # Pages are compared with their hash on the way out, so they leave uncompressed; it is not far to the browser.
    ui.run_with(
        outer, mount_path=f"/{token}", title="Blowfish studio", language="en-US", reconnect_timeout=_RECONNECT,
        show_welcome_message=False, gzip_middleware_factory=None,
    )  # fmt: skip
    # The other way, by requests that wait, is a second door to guard; the door lets nobody take it.
    framework.config.socket_io_js_transports = ["websocket"]
    framework.add_exception_handler(Exception, _apologise)
    _say_nothing_private()
    return outer


async def _apologise(request: Request, error: Exception) -> HTMLResponse:  # noqa: ARG001  # as all handlers
    """Answer where a page could not be made; the framework's own page would quote the error."""
    framework.handle_exception(error)
    return HTMLResponse(_APOLOGY, status_code=500)


class _Unspoken(logging.Formatter):
    """Says of an error what it is and where, not its message: a library's message may quote a value or the token."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        where = f"{record.module}:{record.lineno}"
        if record.exc_info and record.exc_info[0] is not None:
            trace = record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
            return f"The studio met an unexpected error: {record.exc_info[0].__name__} at {where}"
        return f"The studio's framework has a remark: {record.levelname.lower()} at {where}"


def _say_nothing_private() -> None:
    """Let the framework's log name errors without their messages, and its server and sockets log nothing."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Unspoken())
    handler.setLevel(logging.ERROR)
    log = logging.getLogger("nicegui")
    log.handlers, log.propagate = [handler], False
    for quiet in ("uvicorn", "uvicorn.error", "uvicorn.access", "socketio", "engineio", "asyncio"):
        logging.getLogger(quiet).setLevel(logging.CRITICAL)
