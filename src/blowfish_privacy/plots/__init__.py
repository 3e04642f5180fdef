"""Pictures. Everything drawn is public: a policy, a plan, or a release that is already noisy."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blowfish_privacy.files import write_atomically

if TYPE_CHECKING:
    from blowfish_privacy.plan import Plan
    from blowfish_privacy.results.cumulative import CumulativeResult
    from blowfish_privacy.results.histogram import HistogramResult
    from blowfish_privacy.results.result import Result

_MOST_BARS = 60
_MOST_PANELS = 12


def plain_text(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas."""
    return text.replace("$", r"\$")


def picture(result: Result, path: str | Path) -> None:
    """Draw a result and save it as PNG."""
    figure, axes = start_figure(8, 4.5)
    result.draw(axes)
    axes.set_title(plain_text(result.title()))
    figure.text(0.995, 0.005, result.statement, ha="right", va="bottom", fontsize=7, color="0.4")
    save_figure(figure, path)


def pictures(results: Sequence[Result], path: str | Path) -> None:
    """Draw several results below each other and save them as one PNG."""
    figure, axes = start_figure(8, 3.2 * min(len(results), _MOST_PANELS), rows=min(len(results), _MOST_PANELS))
    for result, panel in zip(results, np.atleast_1d(axes), strict=False):
        result.draw(panel)
        panel.set_title(plain_text(result.title()), fontsize=9)
    save_figure(figure, path)


def error_by_width(result: CumulativeResult, path: str | Path) -> None:
    """Draw the error of ranges by their width, beside that of plain differential privacy."""
    from blowfish_privacy.plan import make_plan
    from blowfish_privacy.policies import FullDomain, Policy

    figure, axes = start_figure(7, 4.2)
    by_width = result.error_by_width()
    widths = list(by_width)
    axes.plot(widths, [pair[0] for pair in by_width.values()], marker="o", label="this release, estimated")
    axes.plot(widths, [pair[1] for pair in by_width.values()], marker=".", ls="--", label="this policy, guaranteed")
    release = result.release
    full = Policy(release.policy.domain, secrets=FullDomain(), size=release.policy.size)
    rival = make_plan(release.query, full, epsilon=release.certificate.epsilon or 1, records=release.records)
    plain: Any = rival.expected_error()
    axes.plot(widths, plain.by_width(widths), marker=".", ls=":", label="plain differential privacy, guaranteed")
    axes.set_xscale("log")
    axes.set_xlabel("width of the range, in values")
    axes.set_ylabel("typical error (root mean squared)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    save_figure(figure, path)


def compare_plans(plans: Sequence[Plan], path: str | Path) -> None:
    """Draw the typical error of each plan beside that of plain differential privacy."""
    figure, axes = start_figure(7, 0.9 + 0.9 * len(plans))
    places = np.arange(len(plans))
    own = [plan.expected_error().rmse for plan in plans]
    plain = [error.rmse if (error := plan.plain_error()) is not None else 0.0 for plan in plans]
    for offset, errors, label in ((-0.2, plain, "plain differential privacy"), (0.2, own, "this policy")):
        bars = axes.barh(places + offset, errors, height=0.38, label=label)
        axes.bar_label(bars, [f"{error:.3g}" if error else "exact" for error in errors], padding=3, fontsize=8)
    axes.set_yticks(places, [plain_text(f"{plan.name}\n(epsilon {float(plan.epsilon):g})") for plan in plans])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_xlabel("typical error, root mean squared (log scale)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.3), ncols=2, fontsize=8)
    save_figure(figure, path)


def start_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Start a picture with panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns)


def save_figure(figure: Any, path: str | Path) -> None:
    """Save a picture as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_atomically(path, buffer.getvalue())


def draw_histogram(result: HistogramResult, axes: Any) -> None:
    """Draw bars for one attribute, grouped lines for a short second one, colours otherwise."""
    own = result.release.query.own_domain(result.release.policy.domain)
    counts, width = result.counts, result.error().interval("0.95")
    if len(own.shape) == 1:
        _bars(axes, counts, width, own.attributes[0], own.names[0])
    elif len(own.shape) == 2 and min(own.shape) <= 6:
        turned = counts if own.shape[0] >= own.shape[1] else counts.T
        along, lines = (0, 1) if own.shape[0] >= own.shape[1] else (1, 0)
        for place in range(own.shape[lines]):
            shown = plain_text(f"{own.names[lines]} {own.attributes[lines].show(place)}")
            line = turned[:, place]
            axes.fill_between(range(own.shape[along]), line - width, line + width, alpha=0.15)
            axes.plot(range(own.shape[along]), line, label=shown, marker=".", lw=1)
        axes.axhline(0, color="0.6", lw=0.8)
        _ticks(axes, own.attributes[along], own.names[along])
        axes.set_ylabel("count, with its 95 % interval")
        axes.legend()
    else:
        flat = counts.reshape(own.shape[0], -1)
        axes.figure.colorbar(axes.imshow(flat, aspect="auto", cmap="viridis"), ax=axes, label="noisy count")
        axes.set_ylabel(plain_text(own.names[0]))
        axes.set_xlabel(plain_text(" x ".join(own.names[1:])))


def _bars(axes: Any, counts: Any, width: float, attribute: Any, name: str) -> None:
    places = np.arange(len(counts))
    if len(counts) <= _MOST_BARS:
        axes.bar(places, counts, yerr=width, capsize=2, color="tab:blue", alpha=0.8, ecolor="0.3")
    else:
        axes.fill_between(places, counts - width, counts + width, alpha=0.25, label="95 % interval")
        axes.plot(places, counts, lw=0.8)
        axes.legend()
    axes.axhline(0, color="0.6", lw=0.8)
    _ticks(axes, attribute, name)
    axes.set_ylabel("count, with its 95 % interval")


def _ticks(axes: Any, attribute: Any, name: str) -> None:
    shown = range(0, attribute.size, max(1, attribute.size // 10))
    axes.set_xticks(list(shown), [plain_text(attribute.show(place)) for place in shown])
    axes.set_xlabel(plain_text(name))
