"""What each class of secret pairs has lost, against the budget that holds for every one of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from blowfish_privacy.results.pictures.figure import plain_text, start_figure, state_below, svg
from blowfish_privacy.support.exact import readable, rounded_up
from blowfish_privacy.support.files import write_atomically


def draw_balances(balances: Mapping[str, Fraction], budget: Fraction, words: str | None = None) -> Any:
    """Draw a bar for each class, by the attribute its pairs change, and a line where the budget ends.

    ``words`` say what the budget is, where it is not one of epsilon.
    """
    figure, axes = start_figure(7, 1.6 + 0.4 * len(balances))
    lost = [float(amount) for amount in balances.values()]
    axes.barh(range(len(lost)), [float(budget)] * len(lost), height=0.7, color="0.92")
    bars = axes.barh(range(len(lost)), lost, height=0.7)
    axes.bar_label(bars, [rounded_up(amount) for amount in balances.values()], padding=3, fontsize=8)
    axes.axvline(float(budget), color="0.2", ls="--", lw=1)
    axes.set_yticks(range(len(lost)), [plain_text(name) for name in balances])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12 * float(budget))
    axes.set_xlabel(f"the most that a secret pair has lost, of a budget of {words or readable(budget)}", fontsize=9)
    state_below(figure, "Each secret pair has the whole budget: bars do not add up.")
    return figure


EXAMPLE = {"age": Fraction(7, 10), "sex": Fraction(7, 10), "region": Fraction(3, 10), "wage": Fraction(3, 10)}
"""The balances of the example in docs/budget.md."""


if __name__ == "__main__":
    write_atomically(Path(sys.argv[1]) / "balances.svg", svg(draw_balances(EXAMPLE, Fraction(1))))
