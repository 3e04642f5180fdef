"""What a release may do to a guess between two values: a sentence, and a bar from nought to certainty."""

from __future__ import annotations

from nicegui import ui

from blowfish_privacy.statements.policy import EVEN, Odds, percent_down, percent_up
from blowfish_privacy.studio.parts.words import note


def odds_bar(odds: Odds) -> None:
    """Show how far a guess at even odds may move."""
    with ui.column().classes("gap-2 w-full").props("aria-live=polite"):
        ui.label(odds.sentence)
        most, least = odds.most(EVEN), odds.least(EVEN)
        if odds.promise.promised in ("odds", "nothing", "unproved"):
            _bar(odds.guess(), least, most)
        if odds.guess():
            note(odds.guess())


def _bar(described: str, least: float | None, most: float | None) -> None:
    low, high = (0.0, 1.0) if least is None or most is None else (least, most)
    bounded = most is not None and least is not None
    kind = "studio-odds-range" if bounded else "studio-odds-range studio-odds-open"
    with ui.element("div").classes("studio-odds").props("role=img") as bar:
        bar.props["aria-label"] = described
        with ui.element("div").classes("studio-odds-line"):
            ui.element("div").classes(kind).style(f"left: {100 * low:.3f}%; width: {100 * (high - low):.3f}%")
            ui.element("div").classes("studio-odds-before").style("left: 50%")
        with ui.element("div").classes("studio-odds-scale"):
            ui.label("0 %" if least is None else f"at least {percent_down(least)}")
            ui.label("before: 50 %")
            ui.label("100 %" if most is None else f"at most {percent_up(most)}")
