"""Headings, explanations, notices and problems, which look the same in every room."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.statements.policy import EVEN, Odds, percent_down, percent_up
from blowfish_privacy.studio.charts.look import Option, TitledChart
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.workshop import Workshop


def heading(title: str, lead: str = "") -> None:
    """Head a room with its title, and a sentence that says what it is for."""
    with ui.column().classes("gap-1 w-full"):
        TextElement(tag="h1", text=title).classes("studio-title")
        if lead:
            ui.label(lead).classes("studio-lead")


def section(title: str) -> None:
    """Head a part of a room."""
    TextElement(tag="h2", text=title).classes("studio-section")


def note(words: str) -> ui.label:
    """Explain something in small, quiet type."""
    return ui.label(words).classes("studio-note")


def notice(words: str, *, icon: str = "info") -> None:
    """Say something that must not be overlooked."""
    with ui.row().classes("studio-notice").props("role=note"):
        ui.icon(icon).props("aria-hidden=true")
        ui.label(words)


def problem_card(problem: Problem) -> None:
    """Say what is wrong and what to do."""
    with ui.row().classes("studio-problem").props("role=alert"):
        ui.icon("error_outline").props("aria-hidden=true")
        with ui.column().classes("gap-1"):
            ui.label(problem.message)
            if problem.hint:
                ui.label(f"Hint: {problem.hint}").classes("studio-note")


# Names for elements that a library makes by itself, for those who hear a page instead of seeing it.

_NAMING = """
for (const [selector, name] of Object.entries(%s)) {
  const give = () => {
    const element = document.querySelector(selector);
    if (!element) return setTimeout(give, 50);
    element.setAttribute("aria-label", name);
    if (element.isContentEditable) element.setAttribute("tabindex", "0");
  };
  give();
}
"""


def name_elements(names: Mapping[str, str]) -> None:
    """Name elements of this page by CSS selectors, as soon as they are there; an editor can be reached by Tab too."""
    script = _NAMING % json.dumps(dict(names))
    ui.context.client.on_connect(lambda: ui.run_javascript(script))


# A change that a form asks for, and what is said if it cannot be.


def try_change(workshop: Workshop, body: Any) -> Problem | None:
    """Hand new values to the file; if they are refused nothing changes, and a message says why."""
    problem = workshop.change(body)
    return None if problem is None else say_problem(problem)


def say_problem(problem: Problem) -> Problem:
    """Say in a message why something cannot be done."""
    said = f"{problem.message} Hint: {problem.hint}" if problem.hint else problem.message
    ui.notify(said, type="negative", multi_line=True, timeout=10_000, close_button="Close")
    return problem


# A table of texts, as HTML has it: screen readers know their way in it, and it scrolls by itself where it is wide.


def plain_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    actions: Callable[[int], None] | None = None,
) -> None:
    """Show rows below a header; ``actions`` fills a last cell of each row, which stays in sight, given its number."""
    with (
        ui.element("div").classes("studio-scroll").props("tabindex=0 role=region") as region,
        ui.element("table").classes("studio-table" if actions is None else "studio-table studio-acting"),
    ):
        region.props["aria-label"] = caption or ", ".join(header)
        if caption:
            TextElement(tag="caption", text=caption)
        with ui.element("thead"), ui.element("tr"):
            for name in header:
                TextElement(tag="th", text=name).props("scope=col")
            if actions is not None:
                with ui.element("th").props("scope=col"):
                    TextElement(tag="span", text="Actions").classes("sr-only")
        with ui.element("tbody"):
            for number, row in enumerate(rows):
                with ui.element("tr"):
                    for cell in row:
                        TextElement(tag="td", text=cell)
                    if actions is not None:
                        with ui.element("td"):
                            actions(number)


# What a release may do to a guess between two values: a sentence, and a bar from nought to certainty.


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


# A chart on the page, with its title and what must be said about it.


def chart(option: Option, height: int = 360) -> ui.echart:
    """Show a chart as wide as its place; it is described to those who cannot see it."""
    shown = ui.echart(option, renderer="svg").classes("w-full").style(f"height: {height}px").props("role=img")
    shown.props["aria-label"] = option["aria"]["label"]["description"]
    return shown


def picture(shown: TitledChart, *, titled: bool = True) -> None:
    """Show a picture: its title, unless it stands right above already, the chart, and its note."""
    with ui.column().classes("w-full gap-1"):
        if titled:
            TextElement(tag="h3", text=shown.title).classes("text-base font-semibold m-0")
        chart(shown.option, shown.height)
        if shown.note:
            note(shown.note)
