"""Why DAWA's rows of the benchmarks promise nothing: the first step of its program, as distributed, in closed form."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise, product
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[3] / "docs/benchmarks.md"

SIZE = 4


def cost(values):
    """How far the values of a bucket are from their mean, added up."""
    mean = sum(values) / len(values)
    return sum(abs(value - mean) for value in values)


def above(bound, scale):
    """The probability that Laplace noise exceeds a bound."""
    return exp(-bound / scale) / 2 if bound >= 0 else 1 - exp(bound / scale) / 2


def all_alone(histogram, first, second):
    """The probability that no values are merged.

    A bucket scores its cost, its share 1 / second of the later noise, and here Laplace noise of scale
    (2 - 1 / width - 1 / size) / first, except that a bucket of a single value gets none. The program merges two or four
    adjacent values where that scores no more than what was best without it; all the noises are independent.
    """
    likely = 1.0
    for width in (2, 4):
        scale = (2 - 1 / width - 1 / SIZE) / first
        for start in range(SIZE - width + 1):
            # All alone score width / second; merged, the cost, the noise and one share.
            likely *= above((width - 1) / second - cost(histogram[start : start + width]), scale)
    return likely


def test_one_record_changes_the_first_step_by_more_than_its_epsilon():
    before, after = (all_alone(histogram, first=1, second=1) for histogram in ((0, 0, 0, 0), (0, 1, 0, 0)))
    # Two pairs cost 1 more at scale 5/4, all four values 3/2 more at scale 3/2: 4/5 + 4/5 + 1.
    assert log(after / before) == pytest.approx(2.6)
    assert log(after / before) > 1
    assert f"{exp(2.6):.0f} times (e^2.6)" in " ".join(PAGE.read_text().split())


def test_no_row_says_that_it_is_private(monkeypatch):
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and "DAWA" in line]
    monkeypatch.syspath_prepend(str(PAGE.parents[1] / "benchmarks"))
    import ordered

    measured = [row for row in rows if re.search(r"DAWA.* \[[0-9]+\] \|$", row)]
    peers = [row for row in rows if row not in measured]
    assert len(measured) == 15
    assert len(peers) == 1
    assert peers[0].endswith(f"| {ordered.AS_DISTRIBUTED} |")
    assert all(f"[{peers[0].split()[1]}] |" in row for row in measured)


# Peers in the benchmarks know what ours knows, and their guarantees are stated as they are.


BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def ordered(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import ordered

    return ordered


@pytest.mark.parametrize("name", ["hierarchy_b", "privelet"])
def test_peers_use_the_public_number_of_records(ordered, name):
    counts = np.arange(64)
    for _ in range(5):
        found = getattr(ordered, name)(counts, Fraction(1, 10))
        assert found[-1] == pytest.approx(counts.sum())
        assert abs(found[:-1] - np.cumsum(counts)[:-1]).max() > 0.5


def test_figure_2b_is_compared_at_the_papers_number_of_records(ordered):
    rows = [row for row in ordered.expected() if row["theta"] == "full"]
    own = ordered.calibrated(ordered.SmoothHierarchy, 4357, None, Fraction(1), 48_842).expected_error().mse
    assert rows[0]["smooth hierarchy"] == round(own, 1)


def test_what_the_paper_prints_is_judged_for_each_threshold(ordered):
    assert "holds" in ordered.printed_promise(None)
    assert "without noise" in ordered.printed_promise(1)
    assert "overspends" in ordered.printed_promise(100)


# The table of benchmarks says for every row who was compared, in which version, which way, and by which command.


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
    parts = report.markdown(found).split("\n`")
    assert [(part.split("`")[0], part.count("1,120")) for part in parts[1:]] == [
        ("first command", 1),
        ("second command", 2),
    ]
    assert [row["command"] for row in json.loads(report.as_json(found))] == ["first command", *["second command"] * 2]


def test_the_page_shows_tables_of_this_form(report):
    row = report.Row.of("seconds", "numpy", "nothing", report.AHEAD, [1.0])
    lines = report.markdown({"some command": [row]}).splitlines()
    header, peers = lines[lines.index("`some command`") + 2], lines[-3]
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for part in page.split("\n## ")[2:]:
        listed = {}
        for line in part[part.index(peers) :].split("\n\n")[0].splitlines()[2:]:
            number, peer, its_version, guarantee = [cell.strip() for cell in line.split("|")[1:-1]]
            assert all((its_version, guarantee))
            listed[f"{peer} [{number}]"] = guarantee
        tables = part.split(header)[1:]
        assert len(tables) > 5
        for before, table in pairwise(part.split(header)):
            command = before.rstrip().splitlines()[-1]
            assert re.fullmatch(r"`python benchmarks/run\.py --only \w+ (--quick|--data FOLDER)`", command)
            assert (ROOT / "benchmarks" / f"{command.split()[3]}.py").is_file()
            for line in table.split("\n\n")[0].splitlines()[2:]:
                claim, direction, ratio, _, peer = [cell.strip() for cell in line.split("|")[1:-1]]
                assert all((claim, ratio))
                assert peer in listed
                assert direction in (report.AHEAD, report.PRICE)
    assert len(report.stated(page)) > 90


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


def test_every_benchmark_of_the_table_finds_what_it_measures(report):
    import run

    assert all(callable(import_module(name).rows) for name in run.BENCHMARKS)


def test_the_picture_has_both_kinds_of_rows(report, tmp_path):
    ways = (report.AHEAD, report.PRICE)
    rows = [report.Row.of("seconds", "numpy", "nothing", way, [0.5, 20_000.0]) for way in ways]
    report.picture({"command": rows}, tmp_path / "both.svg")
    report.picture({"command": rows[:1]}, tmp_path / "one.svg")
    sizes = [(tmp_path / name).stat().st_size for name in ("both.svg", "one.svg")]
    assert sizes[0] > sizes[1] > 0


# The peers of synthetic records spend what they are given, and no more, for a record that is changed.


SHAPE = (2, 3, 4, 2)


@pytest.fixture
def published(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from baselines import published_synthesis

    return published_synthesis


@pytest.fixture
def smartnoise(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from baselines import smartnoise

    return smartnoise


class Independent:
    """A model that knows the single attributes only."""

    def __init__(self, measured):
        self.shares = {axes[0]: np.maximum(noisy, 0.1) for axes, noisy, _ in measured if len(axes) == 1}
        self.total = sum(self.shares[0])

    def table(self, axes):
        found = np.array(float(self.total))
        for axis in axes:
            found = np.multiply.outer(found, self.shares[axis] / self.shares[axis].sum())
        return found


def records():
    generator = np.random.default_rng(1)
    first = generator.integers(0, 2, 2000)
    return np.column_stack([first, first + generator.integers(0, 2, 2000), generator.integers(0, 4, 2000), 1 - first])


@pytest.mark.parametrize("way", ["aim", "mst"])
@pytest.mark.parametrize("rho", [0.01, 0.5])
def test_they_spend_their_rho(published, way, rho):
    curator = published.Curator(records(), SHAPE, np.random.default_rng(2))
    getattr(published, way)(curator, rho, Independent)
    assert curator.spent == pytest.approx(rho)
    measured = sum(1 / variance for _, _, variance in curator.measured)
    assert measured == pytest.approx((0.9 if way == "aim" else 2 / 3) * rho, rel=0.02)


def test_they_find_what_depends(published):
    curator = published.Curator(records(), SHAPE, np.random.default_rng(3))
    published.mst(curator, 10.0, Independent)
    assert (0, 1) in [axes for axes, _, _ in curator.measured]
    assert (0, 3) in [axes for axes, _, _ in curator.measured] or (1, 3) in [axes for axes, _, _ in curator.measured]


def test_the_size_of_a_tree_is_that_of_its_cliques(published):
    assert published.tree_cells(SHAPE, []) == 2 + 3 + 4 + 2
    # A chain 0 - 1 - 2: eliminating 3, 0 and 1, whose cliques are (3), (0, 1) and (1, 2), leaves 2.
    assert published.tree_cells(SHAPE, [(0, 1), (1, 2)]) == 2 + 6 + 12 + 4
    whole = published.tree_cells(SHAPE, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert whole > published.tree_cells(SHAPE, [(0, 1), (1, 2), (2, 3)])


def test_changing_a_record_costs_smartnoise_as_much_as_stated(published, smartnoise):
    """A change moves two cells of a table by one and the score of a choice by two: twice, and four times, the loss."""
    before = np.array(list(product(*map(range, SHAPE))))
    after = before.copy()
    after[0] = [1, 2, 3, 1]
    curators = [published.Curator(each, SHAPE, np.random.default_rng(4)) for each in (before, after)]
    change = curators[0].table((0, 1)) - curators[1].table((0, 1))
    assert (change**2).sum() == 2
    assert np.abs(change).sum() == 2
    assert smartnoise.CHANGE_COSTS["aim"] == pytest.approx(0.9 * 2 + 0.1 * 2**2)
    assert smartnoise.CHANGE_COSTS["mst"] == pytest.approx((2 * 2 + 2**2) / 3)
