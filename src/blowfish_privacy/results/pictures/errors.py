"""How wrong answers are: by the width of a range, and plan by plan, beside plain differential privacy."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from textwrap import fill
from typing import Any

from blowfish_privacy.release.explain import compare
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.results.pictures.figure import (
    BLUE,
    label_numbers,
    plain_text,
    shorten,
    start_figure,
    state_below,
    svg,
)
from blowfish_privacy.support.exact import about, readable, rounded, rounded_up
from blowfish_privacy.support.files import write_atomically

_LOOKS = (("o", "-", BLUE), (".", "--", BLUE), (".", ":", "0.3"))

_IN_VALUES = ("mean", "sum")

"""Queries whose answers are counted like the values of an attribute; the others count records."""

_NARROW = 17
"""Characters in a line beside a chart."""

_PLAIN, _OURS = "plain differential privacy", "this policy"


def draw_error_by_width(title: str, curves: Mapping[str, Sequence[float]], widths: Sequence[int]) -> Any:
    """Draw the error of ranges by their width, one curve for each way to release them."""
    figure, axes = start_figure(7, 4.2)
    for (label, errors), (marker, style, colour) in zip(curves.items(), _LOOKS, strict=False):
        axes.plot(widths, errors, marker=marker, ls=style, color=colour, label=label)
    figure.suptitle(plain_text(title), fontsize=10)
    axes.set_xscale("log")
    ticks = [10**power for power in range(len(str(max(widths))))]
    axes.set_xticks(ticks, [f"{width:,}" for width in ticks])
    axes.minorticks_off()
    axes.set_xlabel("width of the range, in values (logarithmic scale)", fontsize=9)
    label_numbers(axes.yaxis, "typical error (root mean squared), in records")
    axes.set_ylim(bottom=0)
    axes.grid(color="0.92")
    axes.legend(fontsize=8, frameon=False)
    return figure


def compare_plans(plans: Sequence[Plan], caption: str = "") -> Any:
    """Draw the typical error of each plan beside that of plain differential privacy, the largest gain first.

    Errors of a count and of a mean have nothing in common but their ratio: each plan has an axis of its own, and what
    it gains is written beside it. The ``caption`` says below what was given up for it.
    """
    figure, grid = start_figure(9, 1.0 + 1.05 * len(plans), rows=len(plans), squeeze=False)
    for plan, axes in zip(sorted(plans, key=_ratio, reverse=True), grid[:, 0], strict=True):
        error, plain = plan.expected_error(), plan.plain_error()
        draw_errors(axes, {_PLAIN: None if plain is None else plain.rmse, _OURS: error.rmse}, ("0.65", BLUE))
        amount = f"{plan.certificate.loss.measure.name} {rounded(plan.amount)}"
        unit = f" in units of {plan.query.attributes[0]}" if plan.query.keyword in _IN_VALUES else " in records"
        counted = "" if plan.query.keyword == "linear" else unit
        title = f"{shorten(plan.name, 40)}: error of {error.of}{counted}, at {amount}"
        axes.set_title(plain_text(title), loc="left", fontsize=9)
        look = {"va": "center", "fontsize": 11, "fontweight": "bold", "color": BLUE}
        axes.text(1.02, 0.5, fill(compare(plan), _NARROW), transform=axes.transAxes, **look)
    figure.suptitle("Typical error of each release: the shorter the bar, the more accurate", fontsize=12)
    if caption:
        figure.supxlabel(fill(plain_text(caption), 130), x=0.01, ha="left", fontsize=8, color="0.25")
    return figure


def draw_errors(axes: Any, errors: Mapping[str, float | None], colours: Sequence[str]) -> None:
    """Draw errors of one unit as bars from zero, and write them beside the bars; None is one that is not known."""
    longest = max(*(error or 0.0 for error in errors.values()), 1e-300)
    for place, (error, colour) in enumerate(zip(errors.values(), colours, strict=True)):
        axes.barh(place, error or 0.0, height=0.8, color=colour)
        said = "not known" if error is None else about(error) if error else "exact"
        axes.text((error or 0.0) + 0.01 * longest, place, said, va="center", fontsize=9)
    axes.set_yticks(range(len(errors)), [plain_text(name) for name in errors])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.1 * longest)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _ratio(plan: Plan) -> float:
    plain, error = plan.plain_error(), plan.expected_error().rmse
    return plain.rmse / error if plain is not None and error else 0.0


# What each class of secret pairs has lost, against the budget that holds for every one of them.


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
