"""The door of the studio: who may come in, and what the browser is told to keep out.

Other people on this machine can reach its loopback interface, and so can every page that is open in the same browser.
What they lack is the token, which is the first part of every path; what a browser says about where a request comes
from is checked besides, so that a page that learnt the token could not use it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

_INVITED = 120.0
"""Seconds that an invitation is good for."""
_SOCKET = "/_nicegui_ws/"
_METHODS = {"GET", "HEAD", "POST"}
_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
_FIXED: Headers = [
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NOTHING = b"default-src 'none'; frame-ancestors 'none'"


def new_token() -> str:
    """Make a token that nobody can guess: 256 random bits, in characters that need no quoting in an address."""
    return token_urlsafe(32)


class Door:
    """An ASGI application in front of another one, which sees only the requests of its own pages.

    Everything lives below ``/token/``. A browser that is opened is led there by :meth:`invitation`, an address that is
    good once; it is written where only this user can read it, and is worth nothing to whoever finds it later.
    """

    def __init__(self, app: Application, port: int, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.token = token
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._clock = clock
        self._invitation: tuple[str, float] | None = None

    @property
    def address(self) -> str:
        """Where the studio is; who knows this may come in."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def invitation(self) -> str:
        """Make an address that leads to the studio the first time it is asked for, soon, and never again."""
        made = new_token()
        self._invitation = made, self._clock() + _INVITED
        return f"http://{self.hosts[0]}/{made}/"

    @property
    def inviting(self) -> bool:
        """Whether the last invitation is still good."""
        return self._invitation is not None and self._clock() < self._invitation[1]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with nothing but a number."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is None:
            # What a proxy would say about where the page lies would be written into the page; there is no proxy.
            headers = [each for each in scope["headers"] if not each[0].lower().startswith(b"x-forwarded-")]
            scope = {**scope, "headers": headers}
            await self.app(scope, receive, send if scope["type"] == "websocket" else _Guarded(scope, self.hosts, send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif refused == 404 and self._invited(scope):
            await _answer(send, 303, [(b"location", f"/{self.token}/".encode())])
        else:
            # Who may not come in keeps no connection either.
            await _answer(send, refused, [(b"connection", b"close")])

    def _refused(self, scope: Message) -> int | None:
        """Return the status that a request is refused with."""
        if scope["type"] not in ("http", "websocket"):
            return 403
        headers = _Headers(scope)
        host = headers.only(b"host")
        if host not in self.hosts or not headers.from_here(f"http://{host}", scope):
            return 403
        if scope["type"] == "http" and scope["method"] not in _METHODS:
            return 405
        if not _same(_first_part(scope), self.token):
            return 404
        # What belongs to a socket goes over a socket; requests that wait for an answer would do, too.
        return 404 if scope["type"] == "http" and _SOCKET in scope["path"] else None

    def _invited(self, scope: Message) -> bool:
        if self._invitation is None or not self.inviting or scope["method"] != "GET":
            return False
        if not _same(_first_part(scope), self._invitation[0]):
            return False
        self._invitation = None
        return True


class _Headers:
    """The headers of a request."""

    def __init__(self, scope: Message) -> None:
        self._all: Headers = [(name.lower(), value) for name, value in scope["headers"]]

    def only(self, name: bytes) -> str | None:
        """Return a header that is there once; one that is there twice has no value that all would agree on."""
        values = [value for given, value in self._all if given == name]
        with suppress(ValueError):
            return values[0].decode("ascii") if len(values) == 1 else None
        return None

    def has(self, name: bytes) -> bool:
        return any(given == name for given, _ in self._all)

    def from_here(self, origin: str, scope: Message) -> bool:
        """Say whether our own page asks, or a person opens the page: by an address, a bookmark or a link."""
        asks_to_change = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (asks_to_change or self.has(b"origin")) and self.only(b"origin") != origin:
            return False
        # Browsers have said this since 2023; of older ones the origin must do.
        if not self.has(b"sec-fetch-site") or self.only(b"sec-fetch-site") in ("same-origin", "none"):
            return True
        opened = (self.only(b"sec-fetch-mode"), self.only(b"sec-fetch-dest")) == ("navigate", "document")
        return opened and not asks_to_change


class _Guarded:
    """Sends a response with the headers that keep a browser within bounds."""

    def __init__(self, scope: Message, hosts: tuple[str, ...], send: Send) -> None:
        self._library = "/_nicegui/" in scope["path"]
        self._hosts, self._send = hosts, send
        self._page: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        """Send on a message; those of a page are kept until it is whole, since its policy names its scripts."""
        if message["type"] == "http.response.start":
            headers: Headers = message["headers"]
            if any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers):
                self._page = message
                return
            message = {**message, "headers": self._with_policy(headers, _NOTHING)}
        elif self._page is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            policy = page_policy(self._body, self._hosts)
            await self._send({**self._page, "headers": self._with_policy(self._page["headers"], policy)})
            message = {"type": "http.response.body", "body": self._body}
        await self._send(message)

    def _with_policy(self, headers: Headers, policy: bytes) -> Headers:
        # The files of the library may stay in the browser's cache as long as the token is good; nothing else may.
        kept = [(name, value) for name, value in headers if self._library or name.lower() != b"cache-control"]
        kept += [] if any(name.lower() == b"cache-control" for name, _ in kept) else [(b"cache-control", b"no-store")]
        return [*kept, *_FIXED, (b"content-security-policy", policy)]


def page_policy(body: bytes, hosts: tuple[str, ...]) -> bytes:
    """Write the content security policy of a page.

    Nothing may come from elsewhere or go there. Scripts are our own files and those written in the page as it left
    here, by their hashes: what gets into the page later, however, runs nothing. Two things the framework cannot do
    without: templates are compiled in the browser (``'unsafe-eval'``), and styles are written in the page
    (``'unsafe-inline'``, for styles only).
    """
    hashes = sorted({base64.b64encode(hashlib.sha256(script).digest()) for script in _INLINE_SCRIPT.findall(body)})
    scripts = b" ".join([b"'self' 'unsafe-eval'", *(b"'sha256-" + each + b"'" for each in hashes)])
    sockets = " ".join(f"ws://{host}" for host in hosts).encode()
    rules = [
        b"default-src 'none'",
        b"script-src " + scripts,
        b"style-src 'self' 'unsafe-inline'",
        b"img-src 'self' data: blob:",
        b"font-src 'self' data:",
        b"connect-src 'self' " + sockets,
        b"base-uri 'none'",
        b"form-action 'none'",
        b"frame-ancestors 'none'",
    ]
    return b"; ".join(rules)


async def _answer(send: Send, status: int, headers: Headers) -> None:
    more = [(b"content-length", b"0"), (b"cache-control", b"no-store"), (b"content-security-policy", _NOTHING)]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more, *_FIXED]})
    await send({"type": "http.response.body", "body": b""})


def _first_part(scope: Message) -> str:
    return str(scope["path"]).removeprefix("/").partition("/")[0]


def _same(given: str, expected: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())
