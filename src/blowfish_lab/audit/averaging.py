"""The averaging attack: what known facts do to noise that does not know them [he2014, section 3.2].

A chain is a table of cells of which everybody knows how many people each has together with the next. From any one cell
the sums lead to all others, so k noisy cells are k estimates of one number, and their average is sqrt(k) times more
accurate than each of them. :func:`attacked` lets this attacker loose on a mechanism, many times, and measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.graphs import FullDomain
from blowfish_privacy.known_facts.facts import KnownCount
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Histogram, Linear
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.support.exact import show

Counts: TypeAlias = npt.NDArray[np.int64]
Guesses: TypeAlias = npt.NDArray[np.float64]

CELLS = Histogram("cell")
"""The query under attack: how many people each cell has."""


@dataclass(frozen=True)
class Attacked:
    """How one way of adding noise stands up to the attacker; errors are root mean squared, in people."""

    scale: Fraction
    """The scale of the noise on each cell."""
    loss: Fraction
    """The privacy loss of one release against those who know the sums."""
    one_cell: float
    """The error of a released cell, measured."""
    one_cell_expected: float
    averaged: float
    """The error of the attacker's guess of a cell, measured."""
    averaged_expected: float
    recovered: float
    """The share of the releases in which the guesses, rounded, were all the true counts."""


@dataclass(frozen=True)
class AttackComparison:
    """The attack on a chain of some length: on plain differential privacy, and on the policy that names the sums."""

    cells: int
    plain: Attacked
    known: Attacked


def synthetic_counts(cells: int) -> Counts:
    """Make counts between 20 and 59 that are nobody's: points of a regular sequence."""
    return (20 + 40 * (np.arange(1, cells + 1) * 0.6180339887 % 1.0)).astype(np.int64)


def adjacent_sums(counts: Counts) -> Counts:
    """Return what everybody knows: each cell's count together with the next one's."""
    return counts[:-1] + counts[1:]


def plain_policy(cells: int) -> Policy:
    """Return (bounded) differential privacy: everything is secret, and nothing is said about what is known."""
    return Policy(Domain(cell=Integer(1, cells)), secrets=FullDomain())


def chain_policy(cells: int) -> Policy:
    """Return the same policy, naming the sums that everybody knows."""
    known = [KnownCount({"cell": (cell, cell + 1)}) for cell in range(1, cells)]
    return Policy(Domain(cell=Integer(1, cells)), secrets=FullDomain(), known=known)


def mechanism_for(policy: Policy, epsilon: Any) -> Mechanism:
    """Calibrate the noise for the counts of all cells, as a release would."""
    return make_plan(CELLS, policy, epsilon=epsilon).mechanism


def first_cell_mechanism(cells: int, epsilon: Any) -> Mechanism:
    """Calibrate the noise for the first cell alone, from which everybody who knows the sums has all others."""
    first_cell = Linear([[1] + [0] * (cells - 1)], attributes=["cell"])
    return make_plan(first_cell, chain_policy(cells), epsilon=epsilon).mechanism


def guess(noisy: npt.NDArray[Any], sums: Counts) -> Guesses:
    """Attack noisy counts (one release per row): from each cell work out the first, average, and work back.

    With c the counts and a the sums, the first count is c1 = a1 - c2 = a1 - a2 + c3 = ...: one estimate from each
    cell, all with the same noise.
    """
    signs = np.where(np.arange(noisy.shape[-1]) % 2, -1, 1)
    known_part = np.concatenate([[0], np.cumsum(signs[:-1] * sums)])
    first = (known_part + signs * noisy).mean(axis=-1, keepdims=True)
    return signs * (first - known_part)


def attacked(mechanism: Mechanism, counts: Counts, *, runs: int, source: BitSource) -> Attacked:
    """Release the counts ``runs`` times, attack each release by itself, and measure the errors."""
    noisy = np.stack([mechanism.measure(counts, source) for _ in range(runs)])
    off = guess(noisy, adjacent_sums(counts)) - counts
    certificate = mechanism.certify(chain_policy(len(counts)))
    expected = mechanism.expected_error().mse
    return Attacked(
        scale=certificate.scales[0],
        loss=certificate.amount,
        one_cell=_root_mean_square(noisy - counts),
        one_cell_expected=sqrt(expected),
        averaged=_root_mean_square(off),
        averaged_expected=sqrt(expected / len(counts)),
        # The sums tie all cells together: a guess is as far off for one as for any other.
        recovered=float(np.mean(np.abs(off).max(axis=-1) < 0.5)),
    )


def compare(cells: int, epsilon: Any, *, runs: int, source: BitSource) -> AttackComparison:
    """Attack both ways of adding noise on a synthetic chain."""
    counts = synthetic_counts(cells)
    plain, known = (
        attacked(mechanism_for(policy, epsilon), counts, runs=runs, source=source)
        for policy in (plain_policy(cells), chain_policy(cells))
    )
    return AttackComparison(cells, plain, known)


def _root_mean_square(errors: npt.NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(errors, dtype=np.float64))))


# The picture of the averaging attack. All data in it are synthetic.

_RECOVERED = 0.5


def draw_averaging_attack(comparisons: Sequence[AttackComparison]) -> Any:
    """Draw the attacker's error against the number of cells: lines are what theory expects, marks were measured."""
    figure, axes = start_figure(8, 5)
    cells = [row.cells for row in comparisons]
    promised = comparisons[0].known.loss
    plain, known = [row.plain for row in comparisons], [row.known for row in comparisons]
    before = [one.one_cell_expected for one in plain]
    axes.plot(cells, before, color="0.45", ls=":", label="one plain count, not averaged")
    for ways, colour, mark, label in (
        (plain, "tab:red", "o", "plain differential privacy, averaged"),
        (known, "tab:blue", "s", "noise that knows the sums (Blowfish), averaged"),
    ):
        axes.plot(cells, [one.averaged_expected for one in ways], color=colour, lw=1)
        axes.plot(cells, [one.averaged for one in ways], color=colour, marker=mark, ls="none", label=label)
    axes.axhspan(0, _RECOVERED, color="tab:red", alpha=0.08)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    lowest = min(plain[-1].averaged, _RECOVERED)
    axes.set_ylim(bottom=lowest / 2.5 if lowest else None)
    axes.yaxis.set_major_formatter("{x:g}")
    note = "below half a person: rounding mostly gives the true count"
    axes.text(cells[0], _RECOVERED / 1.08, note, va="top", fontsize=8, color="tab:red")
    axes.set_xticks(cells, [f"{number}\n{show(one.loss)}" for number, one in zip(cells, plain, strict=True)])
    axes.set_xlabel(f"number of cells\nreal privacy loss of the plain release (it promised {show(promised)})")
    axes.set_ylabel("typical error of the guess, in people (log scale)")
    axes.set_title(
        "Everybody knows the sums of adjacent cells: who can average the noise away? (synthetic counts)", fontsize=11
    )
    axes.legend(fontsize=8, loc="upper left", title="lines: expected; marks: measured", title_fontsize=8)
    return figure
