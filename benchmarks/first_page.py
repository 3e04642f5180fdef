"""How long it takes from the start of the studio to its first page, beside a page of the same framework with one word.

``python benchmarks/first_page.py [--rounds 5]``

Both are started anew in every round, in turns, in processes of their own; the browser has been started before, and a
first round is not counted. A round's time ends when the page shows its heading. Needs what ``make test-studio`` needs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

# The tests know how to start a studio and a browser: theirs is the room `studio`, not the benchmark beside this one.
sys.path.remove(str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Browser

from blowfish_privacy.cli.demo import make_census
from studio.browsing import launch
from studio.running import Running

BARE = """
import socket
import uvicorn
from fastapi import FastAPI
from nicegui import ui
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
@ui.page("/")
def page():
    ui.html("<h1>One</h1>")
app = FastAPI()
ui.run_with(app)
server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
server.run(sockets=[listening])
"""


COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""What is imported is compiled once and kept, as it is where somebody works."""


def main(rounds: int) -> None:
    """Measure, and print seconds and their ratio."""
    found: dict[str, list[float]] = {"studio": [], "bare page": []}
    with tempfile.TemporaryDirectory() as folder, launch() as browser:
        make_census(Path(folder))
        studio(browser, Path(folder))
        for _ in range(rounds):
            found["studio"].append(studio(browser, Path(folder)))
            found["bare page"].append(bare(browser))
    for name, seconds in found.items():
        print(f"{name}: {median(seconds):.2f} s to the first page ({min(seconds):.2f} - {max(seconds):.2f})")
    ratios = [ours / theirs for ours, theirs in zip(found["studio"], found["bare page"], strict=True)]
    print(f"studio / bare page: {median(ratios):.2f} ({min(ratios):.2f} - {max(ratios):.2f}), {rounds} rounds")


def studio(browser: Browser, folder: Path) -> float:
    """Start the studio on the demo table."""
    begun = perf_counter()
    running = Running(folder, opens="census.yaml", environment=COMPILED)
    try:
        return _shown(browser, running.address) - begun
    finally:
        running.stop()


def bare(browser: Browser) -> float:
    """Start a page with one word."""
    begun = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True, env={**os.environ, **COMPILED}
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        found = re.search(r"http://\S+", line)
        return _shown(browser, found[0] if found else "") - begun
    finally:
        process.terminate()
        process.wait()


def _shown(browser: Browser, address: str) -> float:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("heading", level=1).wait_for()
        return perf_counter()
    finally:
        context.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
