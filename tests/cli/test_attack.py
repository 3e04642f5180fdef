"""The averaging attack: its arithmetic, its numbers against theory, and the command that shows it."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import blowfish_privacy as bp
from blowfish_lab.audit import averaging
from blowfish_privacy.cli.demo import LENGTHS
from blowfish_privacy.cli.main import run
from blowfish_privacy.mechanisms.independent import Laplace
from blowfish_privacy.testing.seeded import SeededSource

PAGE = Path(__file__).parents[2] / "docs/known-facts-attack.md"
RUNS = 4000


class Law:
    """The discrete Laplace distribution, written down here once more: P(z) proportional to exp(-|z| / scale)."""

    def __init__(self, scale):
        self.support = np.arange(-60 * int(scale) - 60, 60 * int(scale) + 61)
        weights = np.exp(-np.abs(self.support) / float(scale))
        self.probabilities = weights / weights.sum()

    def moment(self, power):
        return float(np.sum(self.probabilities * self.support.astype(float) ** power))

    def mean_of(self, cells):
        """The second and fourth moments of the mean of several draws."""
        second, fourth = self.moment(2), self.moment(4)
        return second / cells, (fourth + 3 * (cells - 1) * second**2) / cells**3

    def recovered(self, cells):
        """The probability that the sum of so many draws is below half their number in size."""
        size = 1 << (len(self.support) * cells).bit_length()
        transform = np.fft.rfft(self.probabilities, size) ** cells
        sums = np.arange(size) + cells * self.support[0]
        return float(np.fft.irfft(transform, size)[np.abs(sums) < cells / 2].sum())


# The mean of N squared errors is compared with its expectation and may be 6 of its standard errors away. N is at least
# 4000, and the skewness of a square at most 6.6 (for one Laplace draw). With fresh bits one comparison is then a false
# alarm less than once in 10^7 times, and all together less than once in 10^6. The seed makes the outcome repeatable.
STANDARD_ERRORS = 6
MUTANTS = (Fraction(3, 4), Fraction(5, 4))


def agrees(measured, second, fourth, draws):
    return abs(measured**2 - second) <= STANDARD_ERRORS * sqrt((fourth - second**2) / draws)


def attack_with(scale, cells, seed):
    mechanism = Laplace(averaging.CELLS.on(averaging.plain_policy(cells).domain), scale)
    return averaging.attacked(mechanism, averaging.synthetic_counts(cells), runs=RUNS, source=SeededSource(seed))


@pytest.mark.parametrize("cells", [2, 8, 64])
def test_measured_errors_are_what_theory_says_and_wrong_noise_is_noticed(cells):
    found = averaging.compare(cells, "1", runs=RUNS, source=SeededSource(cells))
    for one, scale in ((found.plain, 2), (found.known, cells)):
        law = Law(scale)
        assert one.scale == scale
        assert one.one_cell_expected**2 == pytest.approx(law.moment(2))
        assert one.averaged_expected**2 == pytest.approx(law.moment(2) / cells)
        assert agrees(one.one_cell, law.moment(2), law.moment(4), RUNS * cells)
        assert agrees(one.averaged, *law.mean_of(cells), RUNS)
        for factor in MUTANTS:
            mutant = attack_with(factor * scale, cells, seed=cells)
            assert not agrees(mutant.one_cell, law.moment(2), law.moment(4), RUNS * cells)
            assert not agrees(mutant.averaged, *law.mean_of(cells), RUNS)


# The number of recovered tables is binomial, with a probability computed exactly. A tail below 10^-8 fails: that is the
# false-alarm rate on each side.
TAIL = 1e-8


def plausible(share, probability):
    hits = round(share * RUNS)
    return min(binom.cdf(hits, RUNS, probability), binom.sf(hits - 1, RUNS, probability)) >= TAIL


@pytest.mark.parametrize(("policy", "cells", "epsilon"), [("plain", 64, 1), ("chain", 8, 8)])
def test_tables_are_recovered_as_often_as_theory_says_and_wrong_noise_is_noticed(policy, cells, epsilon):
    scale = Fraction(cells if policy == "chain" else 2, epsilon)
    probability = Law(scale).recovered(cells)
    assert 0.6 < probability < 0.9
    assert plausible(attack_with(scale, cells, seed=5).recovered, probability)
    for factor in MUTANTS:
        assert not plausible(attack_with(factor * scale, cells, seed=5).recovered, probability)


@pytest.mark.parametrize("cells", LENGTHS)
def test_the_plain_release_loses_half_the_number_of_cells_times_what_it_promised(cells):
    plain, known = averaging.plain_policy(cells), averaging.chain_policy(cells)
    assert bp.sensitivity(averaging.CELLS, known).value == cells
    mechanism = averaging.mechanism_for(plain, "0.5")
    loss = mechanism.certify(known).epsilon
    assert loss == Fraction(cells, 4)
    assert averaging.mechanism_for(known, "0.5").certify(known).epsilon == Fraction(1, 2)
    # No exaggeration: two tables with the same public sums, told apart by the first one's exact counts.
    counts = averaging.synthetic_counts(cells)
    other = counts + np.where(np.arange(cells) % 2, -1, 1)
    assert np.array_equal(averaging.adjacent_sums(counts), averaging.adjacent_sums(other))
    assert Fraction(int(np.abs(counts - other).sum())) / mechanism.certify(plain).scales[0] == loss


def test_from_4_cells_on_the_average_is_no_better_than_one_plain_count():
    for epsilon in ("0.1", "1", "5"):
        found = [averaging.compare(cells, epsilon, runs=1, source=SeededSource(1)) for cells in LENGTHS]
        errors = [row.known.averaged_expected for row in found]
        assert errors == sorted(errors)
        assert all(row.known.averaged_expected >= row.plain.one_cell_expected for row in found if row.cells >= 4)


def test_the_first_cell_alone_needs_little_noise():
    mechanism = averaging.first_cell_mechanism(128, "1")
    assert mechanism.certify(averaging.chain_policy(128)).epsilon == 1
    assert mechanism.certify(averaging.chain_policy(128)).scales == (1,)
    assert mechanism.expected_error().mse == pytest.approx(Law(1).moment(2))


def test_a_guess_spreads_the_noise_of_one_cell_over_all():
    counts = averaging.synthetic_counts(6)
    sums = averaging.adjacent_sums(counts)
    assert np.array_equal(averaging.guess(counts, sums), counts)
    for cell in range(6):
        noise = 12 * (np.arange(6) == cell)
        off = averaging.guess(np.stack([counts, counts + noise]), sums) - counts
        assert np.array_equal(off[0], np.zeros(6))
        assert np.array_equal(off[1], 2 * (-1.0) ** (np.arange(6) + cell))


def numbers(row):
    def pair(one, name):
        return f"{one[name]:.2f} ({one[f'{name}_expected']:.2f})"

    plain, known = row["plain"], row["known"]
    shown = [str(row["cells"]), pair(plain, "one_cell"), pair(plain, "averaged"), f"{plain['recovered']:.0%}"]
    return [*shown, plain["loss"], pair(known, "averaged"), f"{known['recovered']:.0%}"]


def test_the_command_prints_the_numbers_of_the_page_as_text_and_as_json(tmp_path, capsys):
    assert run(["demo", "attack", "--seed", "2014", "--out", str(tmp_path / "a")]) == 0
    text = capsys.readouterr().out
    assert run(["demo", "attack", "--seed", "2014", "--out", str(tmp_path / "a"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    table = re.search(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    assert table in text
    rows = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()[1:]]
    assert rows == [numbers(row) for row in found["sizes"]]
    assert [row["cells"] for row in found["sizes"]] == list(LENGTHS)
    assert found["randomness"] == "seeded, not private"
    assert f"typical error {found['first_cell_alone']['error_expected']:.2f}" in text
    for row in found["example"]:
        assert str(row["people"]) in text
        assert abs(row["plain_guess"] - row["people"]) < 1
    assert found["picture"] == str(tmp_path / "a-2/attack.png")
    assert str(tmp_path / "a/attack.png") in text
    for folder in ("a", "a-2"):
        assert (tmp_path / folder / "attack.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_seed_the_noise_is_real(tmp_path, capsys):
    seen = []
    for _ in range(2):
        assert run(["demo", "--out", str(tmp_path / "b"), "attack", "--runs", "2", "--json"]) == 0
        seen.append(json.loads(capsys.readouterr().out))
    assert seen[0]["randomness"] == "operating system"
    # 128 plain cells and 128 others: equal by chance less than once in 10^100.
    assert seen[0]["sizes"] != seen[1]["sizes"]
    assert (tmp_path / "b-2/attack.png").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "0"], "above 0"),
        (["--epsilon", "much"], "finite number"),
        (["--epsilon", "1e-30"], "too small"),
        (["--runs", "0"], "range"),
        (["--seed", "x"], "integer"),
    ],
)
def test_bad_options_are_usage_errors_and_leave_nothing(options, said, tmp_path, capsys):
    assert run(["demo", "attack", "--out", str(tmp_path / "c"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
    assert run(["demo", "attak"]) == 2


def test_hardly_any_noise_is_drawn_too(tmp_path):
    assert run(["demo", "attack", "--epsilon", "1000", "--runs", "2", "--out", str(tmp_path / "d")]) == 0
