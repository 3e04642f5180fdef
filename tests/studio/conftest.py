"""The rig of the studio's tests: the real command in a process of its own, and a browser that lets nothing pass.

    def test_something(studio, page):
        running = studio(FILE_TEXT)              # or studio(demo=True), studio(opens="people.csv"), studio()
        page.goto(running.address + "secrets")
        ...
        running.folder, running.file             # where it works

``page`` is a Playwright page. A request that leaves the machine, a message of an error on the browser's console and an
uncaught error of a script fail the test at its end; ``traffic`` has all that went over the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from studio.browsing import Traffic
    from studio.running import Running

READY = all(find_spec(name) for name in ("playwright", "axe_playwright_python", "nicegui"))
collect_ignore_glob = [] if READY else ["test_*.py"]

WIDE = {"width": 1400, "height": 900}
ERROR = "The studio met an unexpected error"
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.studio)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start studios; each is ended with the test."""
    from studio.running import Running

    started: list[Running] = []

    def start(text: str | None = None, **options: Any) -> Running:
        started.append(Running(tmp_path, text, **options))
        return started[-1]

    yield start
    for each in started:
        each.stop()
        assert ERROR not in each.output or each.may_err, each.output


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect

    from studio.browsing import launch

    # A machine that does much else at the same time is no error.
    expect.set_options(timeout=20_000)
    with launch() as started:
        yield started


@pytest.fixture
def traffic() -> Traffic:
    from studio.browsing import Traffic

    return Traffic()


@pytest.fixture
def new_page(
    browser: Browser, traffic: Traffic, studio: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Open further pages: tabs of one browser, watched like the first one. They close before their studio ends."""
    from studio.browsing import evidence

    context = browser.new_context(viewport=WIDE, accept_downloads=True, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    traffic.watch(context)
    yield context.new_page
    if request.node.stash.get(FAILED, False):
        # A failure that comes once in a hundred runs must say enough the first time.
        print(*evidence(context, traffic, tmp_path), sep="\n")
    context.close()
    traffic.check()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
