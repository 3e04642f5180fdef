"""What facts do to each release, as a table: the typical error without them and with them."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.studio.charts.facts import facts_chart
from blowfish_privacy.studio.fact_effects import FactEffects
from blowfish_privacy.studio.parts.chart import chart
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.support.exact import about


def effects_of_all(effects: FactEffects) -> None:
    """Show what all facts do together, in words and release by release."""
    latest = effects.latest
    with ui.column().classes("studio-card"):
        section("What this does to your releases")
        if effects.stale:
            _waiting()
        if latest is None:
            return
        with ui.column().classes("gap-3 w-full studio-stale" if effects.stale else "gap-3 w-full"):
            if latest.problem is not None:
                problem_card(latest.problem)
            for sentence in latest.words:
                ui.label(sentence)
            for problem in latest.refusals:
                problem_card(problem)
            if latest.view is not None and latest.view.together:
                drawn = facts_chart(latest.view.together)
                if drawn is not None:
                    chart(drawn, 110 + 46 * len(drawn["yAxis"]["data"]))
                _table(latest.view.together, "the facts")
            elif latest.view is not None:
                note("There are no releases yet.")


def effects_of_one(effects: FactEffects, number: int) -> None:
    """Show what one fact adds to what the others do."""
    view = None if effects.stale or effects.latest is None else effects.latest.view
    if view is not None and number < len(view.facts) and view.facts[number].effects:
        with ui.expansion("What this fact adds").classes("w-full").props("dense"):
            _table(view.facts[number].effects, "it")


def _waiting() -> None:
    with ui.row().classes("items-center gap-2").props("role=status"):
        ui.spinner(size="1.2em").props("aria-hidden=true")
        note("Planning your releases with and without the facts.")


def _table(effects: Sequence[FactEffect], what: str) -> None:
    header = ("Release", f"Error without {what}", f"Error with {what}", "In words")
    rows = [(each.release, _error(each.without), _error(each.given), each.words) for each in effects]
    plain_table(header, rows)


def _error(outlook: Outlook) -> str:
    if outlook.error is None:
        return "refused"
    return "none" if outlook.exact else about(outlook.error)
