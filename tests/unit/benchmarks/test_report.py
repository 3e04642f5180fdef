"""The table of benchmarks says for every row who was compared, in which version, which way, and by which command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
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


def test_a_ratio_far_from_the_page_is_found(report):
    rows = [
        report.Row.of("seconds of 10^6 ranges", "numpy, indexing", "nothing", report.PRICE, [1.78]),
        report.Row.of("seconds of a distance", "search", "the same", report.AHEAD, [31_300.0]),
    ]
    # A table of quick runs follows, of which only what is not above counts.
    page = f"# Page\n\n{report.markdown({'one': rows[:1]})}\nText.\n\n{report.markdown({'--quick': [*rows]})}"
    page = page.replace("| 1.78 |", "| 1.79 |", 1)
    assert [*report.stated(page).values()] == [1.79, 31_300]

    def wrong(number, ratio):
        found = {"command": [replace(row, ratio=ratio) if row is rows[number] else row for row in rows]}
        lines, off = report.compared(found, page, 3)
        assert len(lines) == 2
        return off

    for fine in (1.78, 5.3, 0.6):
        assert not wrong(0, fine)
    for far in (5.4, 50.0, 0.59):
        assert len(wrong(0, far)) == 1
    assert not wrong(1, 31_300 / 2.9)
    assert "on the page" in wrong(1, 31_300 / 3.1)[0]
    _, missing = report.compared({"command": [replace(rows[0], claim="seconds of a new thing")]}, page, 3)
    assert "not on the page" in missing[0]


def test_the_check_fails_where_a_ratio_is_far_from_the_page(report, monkeypatch, tmp_path, capsys):
    import known_facts
    import run

    (claim, direction, peer), ratio = next(
        (key, ratio) for key, ratio in report.stated(run.PAGE.read_text()).items() if "sensitivity" in key[0]
    )
    monkeypatch.setattr("sys.argv", ["run.py", "--quick", "--check", "--only", "known_facts", "--out", str(tmp_path)])
    for times, failed in ((1.5, False), (10, True), (0.1, True)):
        row = report.Row.of(claim, peer, "the classes", direction, [times * ratio])
        monkeypatch.setattr(known_facts, "rows", lambda *, quick, data, row=row: [row])
        assert run.main() == failed
        assert f"1 ratios, {int(failed)} of them far" in capsys.readouterr().out


def test_the_picture_has_both_kinds_of_rows(report, tmp_path):
    ways = (report.AHEAD, report.PRICE)
    rows = [report.Row.of("seconds", "numpy", "nothing", way, [0.5, 20_000.0]) for way in ways]
    report.picture({"command": rows}, tmp_path / "both.svg")
    report.picture({"command": rows[:1]}, tmp_path / "one.svg")
    sizes = [(tmp_path / name).stat().st_size for name in ("both.svg", "one.svg")]
    assert sizes[0] > sizes[1] > 0
