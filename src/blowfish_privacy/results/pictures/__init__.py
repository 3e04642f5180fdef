"""Pictures. Everything drawn is public: a policy, a plan, or a release that is already noisy."""

from __future__ import annotations

import io
from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blowfish_privacy.domain import Domain
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.printable import printable

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan
    from blowfish_privacy.results.cumulative import CumulativeResult
    from blowfish_privacy.results.histogram import HistogramResult
    from blowfish_privacy.results.result import Result

_MOST_BARS = 60
_MOST_PANELS = 12
_MOST_LABELS = 11
_ROOM = 70
"""How many letters stand side by side below a picture."""
_ORIGIN = "Drawn from the blowfish-privacy release document with SHA-256"


def plain_text(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas, and from drawing control characters."""
    return printable(text).replace("$", r"\$")


def picture(result: Result, path: str | Path) -> None:
    """Draw a result and save it as PNG."""
    figure, axes = start_figure(8, 4.5)
    result.draw(axes)
    axes.set_title(plain_text(result.title()))
    state(figure, result)
    save_figure(figure, path, document=result.text)


def state(figure: Any, result: Result) -> None:
    """Write the guarantee below a picture, with room of its own."""
    figure.supxlabel(result.statement, x=0.995, ha="right", fontsize=7, color="0.4")


def pictures(results: Sequence[Result], path: str | Path) -> None:
    """Draw several results below each other and save them as one PNG."""
    figure, axes = start_figure(8, 3.2 * min(len(results), _MOST_PANELS), rows=min(len(results), _MOST_PANELS))
    for result, panel in zip(results, np.atleast_1d(axes), strict=False):
        result.draw(panel)
        panel.set_title(plain_text(result.title()), fontsize=9)
    if len(results) > _MOST_PANELS:
        figure.suptitle(f"the first {_MOST_PANELS} of {len(results):,} parts", fontsize=9, color="0.4")
    save_figure(figure, path, document=results[0].text)


def error_by_width(result: CumulativeResult, path: str | Path) -> None:
    """Draw the error of ranges by their width, beside that of plain differential privacy."""
    from blowfish_privacy.release.plan import Plan

    figure, axes = start_figure(7, 4.2)
    by_width = result.error_by_width()
    widths = list(by_width)
    axes.plot(widths, [pair[0] for pair in by_width.values()], marker="o", label="this release, estimated")
    axes.plot(widths, [pair[1] for pair in by_width.values()], marker=".", ls="--", label="this policy, guaranteed")
    made = result.release
    plain: Any = Plan(made.query, made.policy, made.mechanism, made.certificate, made.records).plain_error()
    if plain is not None:
        axes.plot(widths, plain.by_width(widths), marker=".", ls=":", label="plain differential privacy, guaranteed")
    axes.set_title(plain_text(f"{result.title()}: how wrong a range is, by its width"), fontsize=10)
    axes.set_xscale("log")
    axes.set_xticks(widths, [f"{width:,}" for width in widths], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("width of the range, in values")
    axes.set_ylabel("typical error (root mean squared)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    save_figure(figure, path)


def compare_plans(plans: Sequence[Plan], path: str | Path) -> None:
    """Draw the typical error of each plan beside that of plain differential privacy."""
    figure, axes = start_figure(7, 0.9 + 0.9 * len(plans))
    places = np.arange(len(plans))
    own = [plan.expected_error() for plan in plans]
    plain = [plan.plain_error() for plan in plans]
    for offset, errors, label in ((-0.2, plain, "plain differential privacy"), (0.2, own, "this policy")):
        bars = axes.barh(places + offset, [error.rmse if error else 0.0 for error in errors], height=0.38, label=label)
        shown = ["" if error is None or not error.rmse else f"{error.rmse:.3g}" for error in errors]
        axes.bar_label(bars, shown, padding=3, fontsize=8)
    for place, error in zip(places, own, strict=True):
        if not error.rmse:
            # There is no place for zero on a logarithmic scale.
            axes.text(0.01, place + 0.2, "exact", transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set_yticks(places, [plain_text(f"{plan.name}\n(epsilon {float(plan.epsilon):g})") for plan in plans])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_xlabel("typical error, root mean squared (log scale)")
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    save_figure(figure, path)


def start_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Start a picture with panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns)


def save_figure(figure: Any, path: str | Path, *, document: str | None = None) -> None:
    """Save a picture as PNG; that of a release says which document it was drawn from."""
    buffer = io.BytesIO()
    origin = {} if document is None else {_ORIGIN: _fingerprint(document)}
    figure.savefig(buffer, format="png", dpi=120, metadata=origin)
    write_atomically(path, buffer.getvalue())


def drawn_from(document: str, png: bytes) -> bool:
    """Say whether a picture was drawn from a release document."""
    return f"{_ORIGIN}\0{_fingerprint(document)}".encode() in png


def _fingerprint(document: str) -> str:
    return sha256(document.encode()).hexdigest()


def draw_histogram(result: HistogramResult, axes: Any) -> None:
    """Draw bars for one attribute, grouped lines for a short second one, colours otherwise."""
    own = result.release.query.own_domain(result.release.policy.domain)
    counts, width = result.counts, result.error().interval("0.95")
    if len(own.shape) == 1:
        _bars(axes, counts, width, own)
    elif len(own.shape) == 2 and min(own.shape) <= 6:
        turned = counts if own.shape[0] >= own.shape[1] else counts.T
        along, lines = (0, 1) if own.shape[0] >= own.shape[1] else (1, 0)
        for place in range(own.shape[lines]):
            shown = plain_text(f"{own.names[lines]} {own.attributes[lines].show(place)}")
            line = turned[:, place]
            axes.fill_between(range(own.shape[along]), line - width, line + width, alpha=0.15)
            axes.plot(range(own.shape[along]), line, label=shown, marker=".", lw=1)
        axes.axhline(0, color="0.6", lw=0.8)
        label_values(axes.xaxis, own.project([own.names[along]]))
        axes.set_ylabel(_counts(width))
        axes.legend()
    else:
        draw_map(axes, counts, own, "noisy count" if width else "exact count")


def draw_map(axes: Any, counts: Any, own: Domain, quantity: str) -> None:
    """Draw counts in colours: the first attribute upwards, all others to the right."""
    flat = counts.reshape(own.shape[0], -1)
    shown = axes.imshow(flat, aspect="auto", origin="lower", cmap="viridis", interpolation="nearest")
    axes.figure.colorbar(shown, ax=axes, label=quantity)
    label_values(axes.yaxis, own.project(own.names[:1]))
    label_values(axes.xaxis, own.project(own.names[1:]))


def label_values(axis: Any, own: Domain) -> None:
    """Name some of the places along an axis by the values that they stand for, and the axis by its attributes."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    places = range(0, own.size, next(step for step in steps if own.size <= _MOST_LABELS * step))
    labels = [
        shorten(", ".join(a.show(p) for a, p in zip(own.attributes, own.unflat(place), strict=True)), 24)
        for place in places
    ]
    crowded = axis.axis_name == "x" and sum(map(len, labels)) > _ROOM
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks(list(places), [plain_text(label) for label in labels], **turned)
    axis.set_label_text(plain_text(" x ".join(own.names)))


def shorten(text: str, most: int) -> str:
    """Cut a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _counts(width: float) -> str:
    return "count, with its 95 % interval" if width else "exact count"


def _bars(axes: Any, counts: Any, width: float, own: Domain) -> None:
    places = np.arange(len(counts))
    if len(counts) <= _MOST_BARS:
        axes.bar(places, counts, yerr=width or None, capsize=2, color="tab:blue", alpha=0.8, ecolor="0.3")
    else:
        axes.fill_between(places, counts - width, counts + width, alpha=0.25)
        axes.plot(places, counts, lw=0.8)
    axes.axhline(0, color="0.6", lw=0.8)
    label_values(axes.xaxis, own)
    axes.set_ylabel(_counts(width))
