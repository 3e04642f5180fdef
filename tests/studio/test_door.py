"""The door of a running studio, for a browser and for whoever else can reach this machine's loopback interface."""

from __future__ import annotations

import http.client
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from studio.files import SMALL

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
    socket = "_nicegui_ws/socket.io/?EIO=4&transport=websocket"
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
    assert upgrade(running, inside + socket, Origin=ours) == 101
    assert upgrade(running, inside + socket, Origin=foreign) == 403
    assert upgrade(running, inside + socket) == 403
    assert upgrade(running, f"/{socket}", Origin=ours) == 403
    assert upgrade(running, inside + socket, Origin=ours, Host="evil.example") == 403


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


def test_the_browser_is_opened_with_an_address_that_is_good_once(studio, tmp_path, page):
    note = tmp_path / "opened"
    seen = tmp_path / "browser.py"
    seen.write_text(f"import sys; open({str(note)!r}, 'w').write(sys.argv[1])")
    running = studio(SMALL, options=(), environment={"BROWSER": f"{sys.executable} {seen} %s"})
    for _ in range(100):
        if note.exists() and note.read_text():
            break
        page.wait_for_timeout(50)
    invitation = note.read_text()
    assert running.token not in invitation
    page.goto(invitation)
    assert page.url == running.address
    page.get_by_role("navigation").wait_for()
    assert ask(running, "/" + invitation.split("/", 3)[3])[0] == 404


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
