"""The custodian's check of the data: exact counts, shown on demand to the one who asked, and gone with the room."""

from __future__ import annotations

from typing import Any

from nicegui import run, ui

from blowfish_privacy.release.checks import PolicyCheck
from blowfish_privacy.statements.data_check import HEADER, data_check_cells, data_check_words, fit_in_words
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import note, notice, problem_card, section
from blowfish_privacy.studio.table_view import check_of
from blowfish_privacy.studio.workshop import Workshop


def data_check(workshop: Workshop) -> None:
    """Offer to check how the table fits what is declared."""
    with ui.column().classes("studio-card"):
        section("Check the data")
        note("Counts values that are missing or that the declarations do not cover, before anything is spent.")
        with ui.element("div").classes("studio-stack"):
            _check(workshop)


def _of(workshop: Workshop) -> Any:
    """What a check is about: when it changes, what was found before is no longer shown."""
    return workshop.data, None if workshop.file is None else workshop.file.policy.hash, workshop.broken


def _check(workshop: Workshop) -> None:
    def ready() -> bool:
        return workshop.data is not None and workshop.file is not None

    button = ui.button("Check the data", icon="fact_check").props("outline no-caps").classes("self-start")
    needs = note("Needs a table and at least one declared attribute.")
    place = ui.column().classes("w-full gap-3 empty:hidden")
    about = [_of(workshop)]

    def refresh() -> None:
        button.set_enabled(ready())
        needs.set_visibility(not ready())
        if about[0] != _of(workshop):
            about[0] = _of(workshop)
            place.clear()

    async def check() -> None:
        data, file, asked = workshop.data, workshop.file, _of(workshop)
        if data is None or file is None:
            return
        place.clear()
        with place, ui.row().classes("items-center gap-3"):
            ui.spinner()
            note("Reading the table")
        button.disable()
        found = await run.io_bound(check_of, data, file.policy)
        if place.is_deleted:
            return
        refresh()
        if found is not None and asked == _of(workshop):
            place.clear()
            with place:
                _shown(found, place)

    button.on_click(check)
    follow(place, refresh, workshop.changed)
    refresh()


def _shown(found: PolicyCheck | Problem, place: ui.column) -> None:
    if isinstance(found, Problem):
        problem_card(found)
        return
    notice(
        "For your eyes only: these counts and values are exact. Never publish them. They vanish when you leave.",
        icon="visibility_off",
    )
    plain_table(HEADER, data_check_cells(found.domain), caption=f"{found.domain.rows:,} rows")
    ui.label(fit_in_words(found.domain)).classes("text-weight-medium")
    for sentence in data_check_words(found.domain):
        ui.label(sentence)
    for fact in found.contradicted:
        problem_card(Problem(f"The data contradict what is known: {fact}.", "correct it in Known facts."))
    ui.button("Hide", on_click=place.clear).props("flat dense no-caps").classes("self-start")
