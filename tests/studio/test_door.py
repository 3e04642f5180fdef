"""The door of a running studio, for a browser and for whoever else can reach this machine's loopback interface."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from servers.greedy import Greedy
from studio.files import SMALL
from studio.frame import ROOMS, visit

FOREIGN_PAGE = """<!doctype html><title>elsewhere</title><link rel="icon" href="data:,"><script>
const settled = (act) => new Promise((done) => { act(done); setTimeout(() => done('nothing'), 3000); });
const loads = (tag, place) => settled((done) => {
  const element = document.createElement(tag);
  element.onload = () => done('came');
  element.onerror = () => done('refused');
  element[place[0]] = place[1];
  document.body.append(element);
});
async function attempt(address) {
  const socket = address.replace('http', 'ws') + '_nicegui_ws/socket.io/?EIO=4&transport=websocket';
  const library = address + 'LIBRARY';
  const outcome = {};
  const asked = (to, how) => fetch(to, how).then((answer) => answer.type, () => 'refused');
  outcome.read = await asked(address);
  outcome.blind = await asked(address, {mode: 'no-cors', method: 'POST', body: 'x'});
  outcome.polling = await asked(address + '_nicegui_ws/socket.io/?EIO=4&transport=polling');
  outcome.image = await loads('img', ['src', address + 'favicon.ico']);
  outcome.script = await loads('script', ['src', library]);
  outcome.socket = await settled((done) => {
    const opened = new WebSocket(socket);
    opened.onopen = () => done('came');
    opened.onmessage = () => done('came');
    opened.onerror = () => done('refused');
  });
  const frame = document.createElement('iframe');
  await settled((done) => { frame.onload = done; frame.src = address; document.body.append(frame); });
  try { outcome.frame = frame.contentWindow.document.title; } catch (error) { outcome.frame = 'refused'; }
  return outcome;
}
</script><body>"""


class Elsewhere(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FOREIGN_PAGE.replace("LIBRARY", self.server.library).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def elsewhere():
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(running, path, **headers):
    """Send a request as any program may; return the status, the headers and the body."""
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        for name, value in ({"Host": f"127.0.0.1:{running.port}"} | headers).items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def upgrade(running, path, **headers):
    wanted = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    return ask(running, path, **wanted, **{"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}, **headers)[0]


def test_nobody_comes_in_without_the_token_or_from_elsewhere(studio):
    running = studio(SMALL)
    inside = f"/{running.token}/"
    events = "_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    ours, foreign = f"http://127.0.0.1:{running.port}", "http://evil.example"
    status, _, body = ask(running, inside)
    assert status == 200
    assert b"Blowfish studio" in body
    for path in (
        "/",
        "/docs",
        "/openapi.json",
        "/favicon.ico",
        f"/{running.token[:-1]}/",
        f"/x{inside}",
        "/_nicegui/x",
    ):
        status, others, body = ask(running, path)
        assert (status, body) == (404, b"")
        assert running.token not in repr(others)
    for host in ("evil.example", f"evil.example:{running.port}", "127.0.0.1", f"127.0.0.1:{running.port + 1}"):
        assert ask(running, inside, Host=host)[0] == 403
    assert ask(running, inside, Origin=foreign)[0] == 403
    assert ask(running, inside, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image")[0] == 403
    assert ask(running, f"{inside}openapi.json")[0] == ask(running, f"{inside}docs")[0] == 404
    assert upgrade(running, inside + events, Origin=ours) == 101
    polling = inside + events.replace("websocket", "polling")
    assert ask(running, polling)[0] == ask(running, polling, Origin=ours)[0] == 404
    assert upgrade(running, inside + events, Origin=foreign) == 403
    assert upgrade(running, inside + events) == 403
    assert upgrade(running, f"/{events}", Origin=ours) == 403
    assert upgrade(running, inside + events, Origin=ours, Host="evil.example") == 403


def test_every_page_and_file_is_kept_within_bounds(studio, page):
    running, answers = studio(SMALL), []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(running.address)
    page.get_by_role("navigation").wait_for()
    assert len(answers) > 10
    for answer in answers:
        headers = answer.headers
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert {"set-cookie", "server", "access-control-allow-origin"}.isdisjoint(headers)
    pages = [answer for answer in answers if "/_nicegui/" not in answer.url]
    assert {answer.headers["cache-control"] for answer in pages} == {"no-store"}
    assert page.context.cookies() == []
    assert page.evaluate("document.cookie") == ""


def test_what_gets_into_a_page_runs_no_script(studio, page, traffic):
    running = studio(SMALL)
    traffic.expected.append("Content Security Policy")
    page.goto(running.address)
    page.get_by_role("navigation").wait_for()
    put_in = """(html) => {
      const place = document.createElement('div'); document.body.append(place); place.innerHTML = html;
      const script = document.createElement('script'); script.textContent = 'window.ran = 1'; place.append(script);
      return new Promise((done) => setTimeout(() => done(window.ran ?? 'nothing'), 300));
    }"""
    assert page.evaluate(put_in, '<img src="data:," onerror="window.ran = 1">') == "nothing"


def test_a_page_sends_nothing_elsewhere(studio, page, elsewhere, traffic):
    running = studio(SMALL)
    traffic.expected += ["Content Security Policy", "Failed to fetch"]
    page.goto(running.address)
    page.get_by_role("navigation").wait_for()
    sent = "(to) => fetch(to, {mode: 'no-cors'}).then(() => 'sent', () => 'held')"
    assert page.evaluate(sent, f"http://127.0.0.1:{elsewhere.server_port}/") == "held"


def test_a_foreign_page_gets_nothing_even_with_the_token(studio, browser, elsewhere):
    running = studio(SMALL)
    with closing(browser.new_context()) as context:
        ours = context.new_page()
        ours.goto(running.address)
        ours.get_by_role("navigation").wait_for()
        library = ours.locator("script[src*='nicegui.js']").get_attribute("src")
        elsewhere.library = library.removeprefix(f"/{running.token}/")
        page = context.new_page()
        for name in ("127.0.0.1", "localhost"):
            page.goto(f"http://{name}:{elsewhere.server_port}/")
            outcome = page.evaluate("(address) => attempt(address)", running.address)
            # Its answer is nothing that a page may see; the unit tests of the door have what it is.
            assert outcome.pop("blind") in ("opaque", "refused")
            assert set(outcome.values()) == {"refused"}, outcome


def test_a_window_that_a_foreign_page_opens_is_out_of_its_reach(studio, browser, elsewhere):
    running = studio(SMALL)
    elsewhere.library = "x"
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{elsewhere.server_port}/")
        with context.expect_page() as opened:
            page.evaluate("(address) => { window.other = window.open(address); }", running.address)
        opened.value.get_by_role("navigation").wait_for()
        assert page.evaluate("window.other.closed")
        assert opened.value.evaluate("window.opener === null")


def half_open(running, said=b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
    begun = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    begun.sendall(said)
    return begun


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_connections_that_say_nothing_keep_nobody_out(studio, page):
    # Fewer files than connections, so that all of them cannot be kept open.
    running = studio(SMALL, before="import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))")
    begun = [half_open(running, said) for said in (b"", b"GET / HTTP/1.1\r\nHost: ") for _ in range(250)]
    try:
        assert ask(running, f"/{running.token}/")[0] == 200
        assert all(is_closed(each) for each in begun[:400])
        page.goto(running.address)
        page.get_by_role("navigation").wait_for()
    finally:
        for each in begun:
            each.close()


def test_a_request_that_is_never_finished_is_turned_away(studio):
    running = studio(SMALL, before="from blowfish_privacy.studio import launch; launch._HEAD_WITHIN = 0.2")
    for said in (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET /" + b"x" * 70_000):
        with half_open(running, said) as begun:
            assert is_closed(begun)
    # Those who are refused do not stay, either.
    with half_open(running, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n") as begun:
        answer = b"".join(iter(lambda: begun.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 403")
    # A head in pieces is one.
    with half_open(running, f"GET /{running.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r".encode()) as begun:
        begun.sendall(b"\n\r")
        begun.sendall(b"\n")
        assert begun.recv(12) == b"HTTP/1.1 200"


def opened_browser(studio, folder):
    """Start a studio with a browser that stays open, and says what it was started with; return both and a pause."""
    note, home = folder / "opened", folder / "home"
    home.mkdir()
    seen = folder / "browser.py"
    seen.write_text(
        f"import os, sys, time\nopen({str(note)!r} + '.part', 'w').write(str(os.getpid()))\n"
        f"os.rename({str(note)!r} + '.part', {str(note)!r})\ntime.sleep(60)"
    )
    environment = {"BROWSER": f"{sys.executable} {seen} %s", "HOME": str(home)}
    running = studio(SMALL, options=(), environment=environment)
    wait_until(note.exists)
    return running, int(note.read_text()), home


def wait_until(happens):
    deadline = time.monotonic() + 20
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_who_lists_the_processes_does_not_get_in(studio, tmp_path, page):
    running, browser, home = opened_browser(studio, tmp_path)
    try:
        listed = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path)]
        arguments = next(
            each for each in listed if str(tmp_path / "browser.py").encode() in each and b"open.html" in each
        )
        (letter,) = [Path(urlsplit(each).path) for each in arguments.decode().split("\0") if each.startswith("file:")]
        # Whatever others see of any process may be tried, and used before the browser does.
        words = {word for each in listed for word in re.findall(r"[\w-]{20,}", each.decode(errors="replace"))}
        assert running.token not in words
        assert {ask(running, f"/{word}/")[0] for word in words} <= {404}
        # What is named there, others cannot read.
        assert stat.S_IMODE(letter.stat().st_mode) == 0o600
        assert stat.S_IMODE(letter.parent.stat().st_mode) == 0o700
        assert letter.parent.parent == home
        if os.geteuid() == 0:
            for folder in (*tmp_path.parents, tmp_path, home):
                if folder.is_relative_to(tempfile.gettempdir()) and folder != Path(tempfile.gettempdir()):
                    folder.chmod(0o755)
            assert subprocess.run(["cat", str(letter)], user="nobody", capture_output=True, check=False).returncode == 1
        invitation = re.search(r"url=(http[^\"]+)", letter.read_text())[1]
        assert running.token not in letter.read_text()
        page.goto(letter.as_uri())
        page.wait_for_url(running.address)
        page.get_by_role("navigation").wait_for()
        assert page.evaluate("document.referrer") == ""
        assert ask(running, "/" + invitation.split("/", 3)[3])[0] == 404
        wait_until(lambda: list(home.iterdir()) == [])
    finally:
        os.kill(browser, signal.SIGKILL)


def readable(path):
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


def test_an_invitation_that_nobody_used_does_not_outlive_the_studio(studio, tmp_path):
    running, browser, home = opened_browser(studio, tmp_path)
    try:
        assert len(list(home.iterdir())) == 1
        running.stop()
        assert list(home.iterdir()) == []
    finally:
        os.kill(browser, signal.SIGKILL)


def test_a_port_that_is_taken_is_an_error(studio):
    running = studio(SMALL)
    with pytest.raises(RuntimeError, match=f"the studio cannot use port {running.port}"):
        studio(SMALL, options=("--no-browser", "--port", str(running.port)))
    assert ask(running, f"/{running.token}/")[0] == 200


def test_the_address_is_said_once_and_nothing_else_is(studio, page, traffic):
    running = studio(SMALL)
    traffic.expected.append("404")
    page.goto(f"{running.address}nothing-here")
    ask(running, f"/{running.token}/_nicegui/nothing")
    ask(running, "/x")
    page.close()
    running.stop()
    assert running.output.count(running.token) == 1
    assert len(running.output.splitlines()) <= 4, running.output


def test_a_server_that_the_file_names_hears_nothing_before_somebody_says_so(studio, page, tmp_path):
    server = Greedy()
    try:
        address = f"postgresql://somebody@127.0.0.1:{server.port}/db"
        text = SMALL.replace("people.csv", f"{address}?table=people").replace("people.ledger", f"{address}?ledger=l")
        environment = {"PGPASSWORD": "CANARY-77", "XDG_CONFIG_HOME": str(tmp_path), "BLOWFISH_TRUSTED_SERVERS": ""}
        running = studio(text, environment=environment)
        for room in ROOMS:
            visit(page, running.address, room)
            expect(page.get_by_text(f"names the server 127.0.0.1:{server.port}", exact=False).first).to_be_visible()
        assert server.heard == []
        connect = page.get_by_role("button", name=f"Connect to 127.0.0.1:{server.port}")
        connect.click()
        expect(connect).to_have_count(0)
        wait_until(lambda: b"somebody" in b"".join(server.heard))
        visit(page, running.address)
        expect(page.get_by_text("refused the login", exact=False).first).to_be_visible()
        assert b"CANARY-77" not in b"".join(server.heard)
    finally:
        server.close()
