"""How wrong answers are: by the width of a range, and plan by plan, beside plain differential privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blowfish_privacy.release.plan import Plan
from blowfish_privacy.results.pictures.figure import plain_text, start_figure


def draw_error_by_width(title: str, curves: Mapping[str, Sequence[float]], widths: Sequence[int]) -> Any:
    """Draw the error of ranges by their width, one curve for each way to release them."""
    figure, axes = start_figure(7, 4.2)
    for (label, errors), (marker, style) in zip(curves.items(), _LOOKS, strict=False):
        axes.plot(widths, errors, marker=marker, ls=style, label=label)
    axes.set_title(plain_text(title), fontsize=10)
    axes.set_xscale("log")
    axes.set_xticks(widths, [f"{width:,}" for width in widths], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("width of the range, in values")
    axes.set_ylabel("typical error (root mean squared)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return figure


_LOOKS = (("o", "-"), (".", "--"), (".", ":"))


def compare_plans(plans: Sequence[Plan]) -> Any:
    """Draw the typical error of each plan beside that of plain differential privacy."""
    figure, axes = start_figure(7, 0.9 + 0.9 * len(plans))
    positions = np.arange(len(plans))
    ours = [plan.expected_error() for plan in plans]
    plain = [plan.plain_error() for plan in plans]
    for offset, errors, label in ((-0.2, plain, "plain differential privacy"), (0.2, ours, "this policy")):
        bars = axes.barh(
            positions + offset, [error.rmse if error else 0.0 for error in errors], height=0.38, label=label
        )
        labels = ["" if error is None or not error.rmse else f"{error.rmse:.3g}" for error in errors]
        axes.bar_label(bars, labels, padding=3, fontsize=8)
    for position, error in zip(positions, ours, strict=True):
        if not error.rmse:
            # There is no place for zero on a logarithmic scale.
            axes.text(0.01, position + 0.2, "exact", transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set_yticks(
        positions,
        [plain_text(f"{plan.name}\n({plan.certificate.loss.measure.name} {float(plan.amount):g})") for plan in plans],
    )
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_xlabel("typical error, root mean squared (log scale)")
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    return figure
