"""The documentation site builds without a warning, and neither builds nor shows anything from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from docs.pages import ROOT

NO_NETWORK = """
import socket, sys
def refuse(*_, **__):
    raise OSError("the build asked for the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
# Not --quiet: it would silence the very warnings that --strict counts.
sys.argv = ["mkdocs", "build", "--strict", "--site-dir", sys.argv[1]]
cli()
"""


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-c", NO_NETWORK, str(folder)]
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


MISTAKES = {
    "[there](tutorial.md#nowhere) or [there](nowhere.md)": "Aborted with 2 warnings in strict mode",
    "::: blowfish_privacy.nowhere": "blowfish_privacy.nowhere could not be found",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_stops_the_build(mistake, tmp_path):
    """Two pages, set up as all are, take a fraction of the time."""
    shutil.copytree(ROOT / "docs/theme", tmp_path / "docs/theme")
    (tmp_path / "src").symlink_to(ROOT / "src")
    settings, _ = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav: [tutorial.md, glossary.md]\n")
    (tmp_path / "docs/tutorial.md").write_text("# Tutorial\n\n[Right](glossary.md#glossary)\n")
    (tmp_path / "docs/glossary.md").write_text(f"# Glossary\n\n{mistake}\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert MISTAKES[mistake] in done.stdout + done.stderr


class Page(HTMLParser):
    """What a page fetches by itself, what it links to, and the places inside it."""

    FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}

    def __init__(self, text: str):
        super().__init__()
        self.fetched, self.linked, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places.add(given.get("id"))
        if given.get(self.FETCHING.get(tag, "")) and given.get("rel") not in ("prev", "next", "canonical"):
            self.fetched.append(given[self.FETCHING[tag]])
        if tag == "a" and given.get("href"):
            self.linked.append(given["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_is_there(site, pages):
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert written == {path.relative_to(site) for path in pages}


def test_nothing_is_fetched_from_elsewhere(pages):
    for path, page in pages.items():
        for target in page.fetched:
            assert "://" not in target, f"{path.name} fetches {target}"
            assert target.startswith("data:") or (path.parent / unquote(urldefrag(target)[0].split("?")[0])).exists(), (
                f"{path.name} fetches {target}, which is not there"
            )
        assert "Content-Security-Policy" in path.read_text()


def test_styles_fetch_nothing_from_elsewhere(site):
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", style.read_text()), style.name


def test_links_and_anchors_lead_somewhere(pages):
    for path, page in pages.items():
        for target in page.linked:
            if "://" in target or target.startswith("mailto:"):
                continue
            file, anchor = urldefrag(target)
            led = (path.parent / unquote(file)).resolve() if file else path
            led = led / "index.html" if led.is_dir() else led
            assert led.exists(), f"{path.name} links to {target}"
            if anchor and led in pages:
                assert unquote(anchor) in pages[led].places, f"{path.name} links to {target}"


def test_the_search_is_local(site):
    assert "secret graph" in (site / "search/search_index.json").read_text()


def test_the_reference_has_docstrings_and_no_markup_of_another_kind(site):
    for path in Path(site / "reference").glob("*.html"):
        assert ":class:" not in path.read_text(), path.name
    session = (site / "reference/session.html").read_text()
    assert "Plans and releases over one table" in session
    assert "root mean squared" in session
    mechanisms = (site / "reference/mechanisms.html").read_text()
    for claim in ("Privacy", "Sensitivity", "Error", "Cost", "Numerics", "Proof"):
        assert mechanisms.count(f"<strong>{claim}</strong>: ") >= 6


INTERNAL = {"door", "draw", "text", "kinds", "header", "rows", "reads", "to_file", "from_file", "runner", "engine"}
LISTED = re.compile(r"^::: [\w.]+\.(\w+)\n +options: \{members: \[([^\]]*)\]", re.M)


def test_the_reference_lists_what_users_call_and_hides_what_they_do_not(site):
    for page in (ROOT / "docs/reference").glob("*.md"):
        if page.stem == "extending":
            continue
        html = (site / "reference" / f"{page.stem}.html").read_text()
        shown = set(re.findall(r'<h\d id="blowfish_privacy\.[\w.]+?\.(\w+\.\w+)"', html))
        for owner, members in LISTED.findall(page.read_text()):
            missing = {f"{owner}.{member}" for member in members.split(", ")} - shown
            assert not missing, f"{page.name} lists what is not there: {missing}"
        assert {name for name in shown if name.split(".")[1] in INTERNAL} == set(), page.name
