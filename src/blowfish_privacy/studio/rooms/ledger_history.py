"""The history of a ledger: what was charged when and for what, and each result again for nothing."""

from __future__ import annotations

from nicegui import run, ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.statements.history import HistoryRow
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.published import LedgerHistory, Published
from blowfish_privacy.studio.rooms.results_shelf import Shelf
from blowfish_privacy.studio.workshop import Workshop


def show_history(workshop: Workshop, shelf: Shelf) -> None:
    """Show what the ledger holds; each entry can be taken out again for nothing."""
    live(
        lambda: _history(workshop, shelf),
        workshop.planned,
        shows=lambda: None if workshop.planning is None else (len(workshop.planning.state.entries), _ledger(workshop)),
    )


def _ledger(workshop: Workshop) -> str:
    return "" if workshop.planning is None else str(workshop.planning.state.location)


def _history(workshop: Workshop, shelf: Shelf) -> None:
    planning = workshop.planning
    if planning is None or planning.state.ledger is None:
        return
    try:
        told = LedgerHistory.of(planning.file, workshop.draft.folder)
    except BlowfishError as error:
        problem_card(Problem.of(error))
        return
    section("History of the ledger")
    if told is None or not told.rows:
        note("Nothing was charged yet.")
        return
    with ui.column().classes("studio-card"):
        plain_table(
            ["entry", "time (UTC)", "release", "charged", "on"],
            [_cells(row) for row in told.rows],
            actions=lambda number: _show_button(told, told.rows[number], shelf),
        )


def _cells(row: HistoryRow) -> tuple[str, ...]:
    """Write the cells of a row; times and amounts stay on one line."""
    made, charged = (words.replace(" ", "\N{NO-BREAK SPACE}") for words in (row.made, row.charged))
    return str(row.number), made, _released(row), charged, row.lost_on or "-"


def _released(row: HistoryRow) -> str:
    failed = "" if row.failed is None else f" (the data contradicted the stated facts, {row.failed})"
    return f"{row.release}{failed}"


def _show_button(told: LedgerHistory, row: HistoryRow, shelf: Shelf) -> None:
    async def show() -> None:
        button.props("loading")
        found = await run.io_bound(_again, told, row)
        if button.is_deleted:
            return
        button.props(remove="loading")
        if isinstance(found, Published):
            shelf.take(found)
            ui.notify(f"{found.name} is shown under Results.", type="positive")
        elif found is not None:
            ui.notify(found.message, type="negative", timeout=10_000, close_button="Close")

    button = ui.button("Show", on_click=show).props("flat dense no-caps")
    button.props["aria-label"] = f"Show entry {row.number} again"
    button.set_enabled(row.handed_out)


def _again(told: LedgerHistory, row: HistoryRow) -> Published | Problem:
    try:
        return told.again(row)
    except BlowfishError as error:
        return Problem.of(error)
