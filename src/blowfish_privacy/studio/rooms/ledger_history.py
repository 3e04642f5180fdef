"""The history of a ledger: what was charged when and for what, and each result again for nothing."""

from __future__ import annotations

from nicegui import run, ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.statements.ledger import HistoryRow
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.published import LedgerHistory, Published
from blowfish_privacy.studio.rooms.results_shelf import Shelf, download_button
from blowfish_privacy.studio.workshop import Workshop

_MOST_ROWS = 100


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
    ledger = None if workshop.planning is None else workshop.planning.state.ledger
    if ledger is None:
        return
    container = ui.column().classes("w-full gap-3")

    async def fill() -> None:
        told = await run.io_bound(_told, ledger)
        if told is not None and not container.is_deleted:
            with container:
                _entries(told, shelf)

    # A ledger may be far away: the page does not wait for it.
    ui.timer(0, fill, once=True)


def _told(ledger: Ledger) -> LedgerHistory | Problem:
    try:
        return LedgerHistory.of(ledger)
    except BlowfishError as error:
        return Problem.of(error)


def _entries(told: LedgerHistory | Problem, shelf: Shelf) -> None:
    section("History of the ledger")
    if isinstance(told, Problem):
        problem_card(told)
    elif not told.rows:
        note("Nothing was charged yet.")
    else:
        rows = told.rows[:_MOST_ROWS]
        with ui.column().classes("studio-card"):
            plain_table(
                ["entry", "time (UTC)", "release", "charged", "on"],
                [_cells(row) for row in rows],
                actions=lambda number: _show_button(told, rows[number], shelf),
            )
            if len(told.rows) > len(rows):
                note(f"The last {len(rows)} of {len(told.rows):,} entries; blowfish ledger show lists all.")
        note("What all releases lost together, what that means, and what is not protected, for publication:")
        with ui.row().classes("items-center gap-2"):
            for file in told.statements:
                download_button(file, "all releases")


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
            ui.notify(f"{found.message} {found.hint or ''}", type="negative", timeout=10_000, close_button="Close")

    button = ui.button("Show", on_click=show).props("flat dense no-caps").style("margin: -6px 0")
    button.props["aria-label"] = f"Show entry {row.number} again"


def _again(told: LedgerHistory, row: HistoryRow) -> Published | Problem:
    try:
        return told.again(row)
    except BlowfishError as error:
        return Problem.of(error)
