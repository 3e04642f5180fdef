"""A studio that ends in the middle of a release: a charge is made once, and nothing half-made is left."""

from __future__ import annotations

import signal
import time
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from blowfish_privacy.ledger import create_ledger, open_ledger
from blowfish_privacy.session import load_policy
from studio.files import SMALL, people
from studio.frame import publish, visit

ONE = SMALL.replace("  - {name: how old, cumulative: age, epsilon: 0.25}\n", "")
# The charge is made, and no noise is drawn yet.
SLOW = """
import time
import blowfish_privacy.release.run as running
draw = running.draw
def slow(*arguments):
    time.sleep(60)
    return draw(*arguments)
running.draw = slow
"""


@pytest.fixture
def people_folder(tmp_path):
    (tmp_path / "people.csv").write_text(people())
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    return tmp_path


def state(folder):
    """Check the ledger, and return how many charges and documents it has, and what was spent."""
    report = open_ledger(folder / "people.ledger", load_policy=load_policy).verify()
    assert report.problems == ()
    return report.entries, report.documents, report.spent


def wait_for_charge(folder):
    deadline = time.monotonic() + 30
    while state(folder)[0] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_studio_that_ends_in_the_middle_of_a_release(studio, page, traffic, people_folder, blow):
    traffic.expected += ["WebSocket", "ERR_CONNECTION"]
    running = studio(ONE, before=SLOW)
    publish(page, running.address)
    wait_for_charge(people_folder)
    begun = time.monotonic()
    assert running.stop(blow) == (-9 if blow == signal.SIGKILL else 128 + blow)
    assert time.monotonic() - begun < 10
    assert state(people_folder) == (1, 0, Fraction(1, 4))
    again = studio(ONE)
    publish(page, again.address)
    expect(page.locator(".nicegui-echart").first).to_be_visible()
    assert state(people_folder) == (1, 1, Fraction(1, 4))
    assert {path.name for path in people_folder.iterdir()} <= {
        "file.yaml", "people.csv", "people.ledger", "people.ledger-journal",
    }  # fmt: skip


def test_no_tab_need_be_open(studio, new_page, people_folder):
    page = new_page()
    running = studio(ONE, before=SLOW.replace("60", "3"))
    publish(page, running.address)
    wait_for_charge(people_folder)
    page.close()
    deadline = time.monotonic() + 30
    while state(people_folder)[1] == 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert state(people_folder) == (1, 1, Fraction(1, 4))
    other = new_page()
    visit(other, running.address, "publish")
    expect(other.locator(".nicegui-echart").first).to_be_visible()
