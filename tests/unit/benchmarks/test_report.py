"""The table of benchmarks says for every row who was compared, in which version, which way, and by which command."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import report

    return report


def test_a_row_has_the_median_and_the_spread_of_its_rounds(report):
    row = report.Row.of("seconds", "numpy, indexing", report.NOTHING, report.PRICE, [4.0, 1.0, 2.0])
    assert (row.ratio, row.low, row.high) == (2.0, 1.0, 4.0)


@pytest.mark.parametrize(
    ("peer", "published", "said"),
    [
        ("numpy, indexing", "", version("numpy")),
        ("HB tree", "", f"blowfish-privacy {version('blowfish-privacy')}"),
        ("Figure 2(b), read off", "SIGMOD 2014", "SIGMOD 2014"),
    ],
)
def test_every_peer_has_a_version(report, peer, published, said):
    assert report.Row.of("seconds", peer, "nothing", report.AHEAD, [1.0], published).version == said


def test_both_forms_name_the_command_of_every_row(report):
    rows = [report.Row.of("seconds", "numpy", "nothing", report.AHEAD, [1234.5, 1000.0])]
    found = {"first command": rows, "second command": rows * 2}
    lines = report.markdown(found).splitlines()
    assert [line.rsplit("`")[1] for line in lines if "1,120" in line] == ["first command", *["second command"] * 2]
    assert [row["command"] for row in json.loads(report.as_json(found))] == ["first command", *["second command"] * 2]


def test_the_page_shows_a_table_of_this_form(report):
    header = report.markdown({}).splitlines()[-2:]
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert "\n".join(header) in page
    table = page[page.index(header[0]) :].split("\n\n")[0].splitlines()[2:]
    assert len(table) > 50
    for line in table:
        claim, direction, ratio, _, peer, its_version, guarantee, command = [c.strip() for c in line.split("|")[1:-1]]
        assert all((claim, ratio, peer, its_version, guarantee))
        assert direction in (report.AHEAD, report.PRICE)
        assert re.fullmatch(r"`python benchmarks/run\.py --only \w+ --data FOLDER`", command)
        assert (ROOT / "benchmarks" / f"{command.split()[3]}.py").is_file()


def test_the_picture_has_both_kinds_of_rows(report, tmp_path):
    ways = (report.AHEAD, report.PRICE)
    rows = [report.Row.of("seconds", "numpy", "nothing", way, [0.5, 20_000.0]) for way in ways]
    report.picture({"command": rows}, tmp_path / "both.svg")
    report.picture({"command": rows[:1]}, tmp_path / "one.svg")
    sizes = [(tmp_path / name).stat().st_size for name in ("both.svg", "one.svg")]
    assert sizes[0] > sizes[1] > 0
