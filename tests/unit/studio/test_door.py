"""The door alone, without a server, a framework or a browser."""

from __future__ import annotations

import asyncio
import base64
import hashlib

import pytest

from blowfish_privacy.studio.door import Door, new_token, page_policy

PORT, TOKEN = 4711, "the-token"
HOST, ORIGIN = b"127.0.0.1:4711", b"http://127.0.0.1:4711"
OPENED = [(b"sec-fetch-mode", b"navigate"), (b"sec-fetch-dest", b"document")]


class Room:
    """What is behind the door: says what came in, and answers with a page in pieces."""

    def __init__(self, kind: bytes = b"text/html; charset=utf-8", cache: bytes | None = None) -> None:
        self.came_in: list[str] = []
        self.headers = [(b"content-type", kind)] + ([] if cache is None else [(b"Cache-Control", cache)])

    async def __call__(self, scope, receive, send):
        self.came_in.append(scope.get("path", scope["type"]))
        self.headers_seen = scope.get("headers")
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": self.headers})
            await send({"type": "http.response.body", "body": b"<script>one()</scr", "more_body": True})
            await send({"type": "http.response.body", "body": b'ipt><script src="x.js"></script>'})


def ask(door, path=f"/{TOKEN}/", *, method="GET", kind="http", host=HOST, headers=()):
    """Send one request; return its status (0 for a socket that is let in, 1 for one that is not), headers and body."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {}

    hosts = [] if host is None else [(b"host", host)]
    scope = {"type": kind, "method": method, "path": path, "headers": [*hosts, *headers]}
    asyncio.run(door(scope, receive, send))
    if kind != "http":
        return int(bool(sent)), {}, b""
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body


@pytest.fixture
def room():
    return Room()


@pytest.fixture
def door(room):
    return Door(room, PORT, TOKEN)


def test_a_token_is_long_and_never_the_same():
    assert len(new_token()) >= 43
    assert len({new_token() for _ in range(100)}) == 100


@pytest.mark.parametrize("host", [HOST, b"localhost:4711"])
@pytest.mark.parametrize("path", [f"/{TOKEN}/", f"/{TOKEN}", f"/{TOKEN}/secrets"])
def test_who_knows_the_token_comes_in(door, room, host, path):
    assert ask(door, path, host=host)[0] == 200
    assert room.came_in == [path]


@pytest.mark.parametrize(
    "path",
    ["/", "", "/x", "/the-toke", "/the-token-", "/THE-TOKEN/", "//the-token/", "/x/the-token/", "/\udcff/", "/é"],
)
def test_who_does_not_know_the_token_does_not(door, room, path):
    status, headers, body = ask(door, path)
    assert (status, body, room.came_in) == (404, b"", [])
    assert TOKEN not in repr(headers)
    assert ask(door, path, kind="websocket", headers=[(b"origin", ORIGIN)])[0] == 1
    assert room.came_in == []


@pytest.mark.parametrize(
    "host",
    [None, b"", b"evil.example", b"evil.example:4711", b"127.0.0.1", b"127.0.0.1:4712", b"127.0.0.1:47110",
     b"127.0.0.1.evil.example:4711", b"[::1]:4711", b"LOCALHOST.evil.example:4711", b"\xff:4711"],
)  # fmt: skip
def test_another_host_is_refused(door, room, host):
    assert ask(door, host=host)[0] == 403
    assert ask(door, host=host, kind="websocket", headers=[(b"origin", ORIGIN)])[0] == 1
    assert room.came_in == []


def test_two_hosts_are_refused(door, room):
    assert ask(door, headers=[(b"Host", HOST)])[0] == 403
    assert room.came_in == []


FOREIGN = [
    b"http://evil.example",
    b"null",
    b"http://127.0.0.1:9999",
    b"https://127.0.0.1:4711",
    b"",
    b"http://localhost:4711",
]


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize(("kind", "method"), [("http", "GET"), ("http", "POST"), ("websocket", "GET")])
def test_another_origin_is_refused(door, room, origin, kind, method):
    assert ask(door, kind=kind, method=method, headers=[(b"origin", origin)])[0] in (403, 1)
    assert room.came_in == []


def test_what_changes_something_must_say_where_it_comes_from(door, room):
    assert ask(door, method="POST")[0] == 403
    assert ask(door, kind="websocket")[0] == 1
    assert ask(door, kind="websocket", headers=[(b"origin", ORIGIN), (b"Origin", ORIGIN)])[0] == 1
    assert room.came_in == []
    assert ask(door, method="POST", headers=[(b"origin", ORIGIN)])[0] == 200
    assert ask(door, kind="websocket", headers=[(b"origin", ORIGIN)])[0] == 0


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"", b"anything"])
def test_another_page_may_link_here_and_no_more(door, room, site):
    headers = [(b"sec-fetch-site", site)]
    for mode, destination in (
        (b"no-cors", b"image"),
        (b"cors", b"empty"),
        (b"navigate", b"iframe"),
        (b"no-cors", b"script"),
    ):
        assert ask(door, headers=[*headers, (b"sec-fetch-mode", mode), (b"sec-fetch-dest", destination)])[0] == 403
    assert ask(door, headers=headers)[0] == 403
    assert ask(door, method="POST", headers=[*headers, *OPENED, (b"origin", ORIGIN)])[0] == 403
    assert room.came_in == []
    assert ask(door, headers=[*headers, *OPENED])[0] == 200


@pytest.mark.parametrize("site", [b"same-origin", b"none"])
def test_our_own_page_comes_in(door, site):
    assert ask(door, headers=[(b"sec-fetch-site", site)])[0] == 200


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "get"])
def test_other_methods_are_refused(door, room, method):
    assert ask(door, method=method, headers=[(b"origin", ORIGIN)])[0] == 405
    assert room.came_in == []


def test_what_belongs_to_the_socket_goes_over_a_socket(door, room):
    path = f"/{TOKEN}/_nicegui_ws/socket.io/"
    assert ask(door, path)[0] == ask(door, path, method="POST", headers=[(b"origin", ORIGIN)])[0] == 404
    assert room.came_in == []
    assert ask(door, path, kind="websocket", headers=[(b"origin", ORIGIN)])[0] == 0


def test_an_invitation_is_good_once(door, room):
    path = door.invitation().removeprefix("http://127.0.0.1:4711")
    assert TOKEN not in path
    assert door.inviting
    assert ask(door, path, method="POST", headers=[(b"origin", ORIGIN)])[0] == 404
    status, headers, _ = ask(door, path)
    assert (status, headers[b"location"]) == (303, b"/the-token/")
    assert not door.inviting
    assert ask(door, path)[0] == 404
    assert room.came_in == []


def test_an_invitation_is_good_for_a_while(room):
    now = [0.0]
    door = Door(room, PORT, TOKEN, clock=lambda: now[0])
    path = door.invitation().removeprefix("http://127.0.0.1:4711")
    now[0] = 600
    assert not door.inviting
    assert ask(door, path)[0] == 404


def test_what_a_proxy_would_say_is_not_believed(door, room):
    ask(door, headers=[(b"X-Forwarded-Prefix", b"/elsewhere"), (b"accept", b"*/*")])
    assert room.headers_seen == [(b"host", HOST), (b"accept", b"*/*")]


def test_every_answer_keeps_the_browser_within_bounds(door):
    for path in (f"/{TOKEN}/", "/elsewhere"):
        headers = ask(door, path)[1]
        assert headers[b"cache-control"] == b"no-store"
        assert headers[b"referrer-policy"] == b"no-referrer"
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"cross-origin-opener-policy"] == headers[b"cross-origin-resource-policy"] == b"same-origin"
        assert b"default-src 'none'" in headers[b"content-security-policy"]
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]


def test_a_page_names_its_own_scripts_and_arrives_whole(door):
    _, headers, body = ask(door)
    assert body == b'<script>one()</script><script src="x.js"></script>'
    allowed = base64.b64encode(hashlib.sha256(b"one()").digest())
    assert b"'sha256-" + allowed + b"'" in headers[b"content-security-policy"]
    assert headers[b"content-security-policy"].count(b"sha256-") == 1
    scripts = headers[b"content-security-policy"].partition(b"script-src")[2].partition(b";")[0]
    assert b"unsafe-inline" not in scripts


def test_scripts_with_attributes_are_named():
    policy = page_policy(b'<SCRIPT type="importmap">\n{"a": 1}\n</SCRIPT>', ("127.0.0.1:1",))
    assert base64.b64encode(hashlib.sha256(b'\n{"a": 1}\n').digest()) in policy


@pytest.mark.parametrize(("path", "kept"), [("_nicegui/3/x.js", b"public"), ("results.csv", b"no-store")])
def test_only_files_of_the_framework_may_be_kept(path, kept):
    headers = ask(Door(Room(b"text/javascript", b"public"), PORT, TOKEN), f"/{TOKEN}/{path}")[1]
    assert [value for name, value in headers.items() if name.lower() == b"cache-control"] == [kept]


def test_the_start_and_the_end_of_the_server_pass(door, room):
    ask(door, kind="lifespan")
    assert room.came_in == ["/the-token/"]
