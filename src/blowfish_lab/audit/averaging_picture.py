"""The picture of the averaging attack. All data in it are synthetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blowfish_privacy.results.pictures.figure import start_figure
from blowfish_privacy.support.exact import show

if TYPE_CHECKING:
    from blowfish_lab.audit.averaging import Comparison

_RECOVERED = 0.5


def draw_averaging_attack(comparisons: Sequence[Comparison]) -> Any:
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
