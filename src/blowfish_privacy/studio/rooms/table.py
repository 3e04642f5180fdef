"""The room where a table is chosen, and what values its columns can have is declared."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.engines import Column
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.declaring import without_attribute
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import keyed, live
from blowfish_privacy.studio.parts.problems import try_change
from blowfish_privacy.studio.parts.words import heading, note, problem_card, section
from blowfish_privacy.studio.rooms.attribute_dialog import declare
from blowfish_privacy.studio.rooms.data_check import data_check
from blowfish_privacy.studio.rooms.table_source import table_source
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.table_view import Row, columns_of, first_rows, rows_of
from blowfish_privacy.studio.workshop import Workshop

_MOST_SHOWN, _MANY = 100, 20
"""How many columns are shown at once, and from how many on one can look for some."""


def table(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Table",
        "Choose the table, and say which values each column can have. The studio shows names and types of columns, "
        "never a value.",
    )
    _TableRoom(workshop).build()


class _TableRoom:
    """The columns of the table as one tab sees them."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._found: list[Column] | Problem | None = None
        self._known: tuple[Any, Any, dict[str, Row]] | None = None
        self._last: str | None = None
        self._looking = False
        self._looked = Signal()

    def build(self) -> None:
        # What is neither seen nor part of the room's order: the places of dialogs and of what waits for the table.
        with ui.element("div").classes("hidden") as self._dialogs:
            live(self._look, self._workshop.changed, shows=self._data)
        table_source(self._workshop, self._dialogs)
        with ui.column().classes("studio-card"):
            section("Columns")
            self._wanted = ui.input("Find a column").classes("w-full").props("outlined dense clearable")
            self._wanted.on_value_change(self._looked.fire)
            with ui.element("div").classes("studio-stack"):
                self._columns()
            self._by_name()
        data_check(self._workshop)

    def _data(self) -> str | None:
        """Where the table is; while the text is wrong, where it was before."""
        if not self._workshop.broken:
            self._last = self._workshop.data
        return self._last

    def _look(self) -> None:
        """Ask the table for its columns in the background."""
        data = self._last
        self._found, self._looking = None, data is not None
        if data is not None:

            async def look() -> None:
                found = await run.io_bound(columns_of, data)
                if data == self._last:
                    self._found, self._looking = found, False
                    self._looked.fire()

            ui.timer(0, look, once=True)

    def _rows(self) -> dict[str, Row]:
        file = self._workshop.file
        if self._known is None or self._known[0] is not self._found or self._known[1] is not file:
            attributes = {} if file is None else {name: file.policy.domain[name] for name in file.policy.domain}
            rows = rows_of(self._found if isinstance(self._found, list) else None, attributes)
            self._known = self._found, file, {row.name: row for row in rows}
        return self._known[2]

    def _columns(self) -> None:
        """Show what is declared, and a row for each column, which stays while more becomes known of it."""
        signals = (self._workshop.changed, self._looked)
        live(self._about, *signals, shows=self._counted).classes("studio-stack empty:hidden")
        rows = keyed(lambda: [row.name for row in self._shown()], self._row, *signals, tag="ul")
        rows.classes("studio-columns empty:hidden")
        live(self._left_out, *signals, shows=self._counted).classes("studio-stack empty:hidden")

    def _shown(self) -> list[Row]:
        return first_rows([*self._rows().values()], _MOST_SHOWN, str(self._wanted.value or ""))

    def _counted(self) -> Any:
        rows = self._rows()
        problem = self._found if isinstance(self._found, Problem) else None
        waiting = self._looking, self._last is None
        return len(rows), sum(bool(row.said) for row in rows.values()), len(self._shown()), problem, waiting

    def _about(self) -> None:
        rows, declared, _, problem, _ = self._counted()
        self._wanted.set_visibility(rows > _MANY)
        if rows:
            note(f"{declared:,} of {rows:,} declared")
        if problem is not None:
            problem_card(problem)
        if self._looking:
            with ui.row().classes("items-center gap-3"):
                ui.spinner()
                note("Looking at the columns")
        elif self._last is None:
            note("Choose a table to see its columns, or declare attributes by name.")

    def _left_out(self) -> None:
        rows, declared, shown, _, _ = self._counted()
        if shown < rows:
            note(f"{shown:,} of {rows:,} columns are shown.")
        if rows and not declared:
            note("Columns that are not declared are left out: nothing is ever published about them.")

    def _named(self, name: str) -> Row:
        return self._rows().get(name, Row(name, "", ""))

    def _row(self, name: str) -> None:
        def holds() -> None:
            row = self._named(name)
            TextElement(tag="span", text=name).classes("text-weight-medium studio-break")
            if row.holds and row.holds != "as declared":
                note(row.holds)

        def said() -> None:
            row = self._named(name)
            TextElement(tag="span", text=row.said or "not declared").classes("" if row.said else "studio-note")
            if not row.fits:
                with ui.row().classes("items-center gap-1 no-wrap studio-warning"):
                    ui.icon("warning_amber").props("aria-hidden=true")
                    TextElement(tag="span", text="The column is of another type")

        for part in (holds, said):
            live(part, self._workshop.changed, self._looked, shows=lambda: self._named(name)).classes("min-w-0")
        with ui.row().classes("gap-1 no-wrap"):
            self._actions(name)

    def _actions(self, name: str) -> None:
        button = ui.button(on_click=lambda: self._declare(name, self._named(name).column)).classes("q-px-sm")
        removal = ui.button(icon="close", on_click=partial(self._remove, name)).props("flat dense round")
        removal.props["aria-label"] = f"Leave out {name}"
        removal.tooltip("Leave out")

        def refresh() -> None:
            row = self._named(name)
            words = "Change" if row.said else "Declare"
            button.set_text(words)
            button.props(f"{'flat' if row.said else 'outline'} dense no-caps", remove="outline" if row.said else "flat")
            button.props["aria-label"] = f"{words} {name}"
            button.set_enabled(row.column is None or row.column.kind != "other" or bool(row.said))
            removal.set_visibility(bool(row.said))

        follow(button, refresh, self._workshop.changed, self._looked)
        refresh()

    def _by_name(self) -> None:
        ui.button("Declare an attribute by name", icon="add", on_click=partial(self._declare, "", None)).props(
            "flat dense no-caps"
        ).classes("self-start")

    def _declare(self, name: str, column: Column | None) -> None:
        with self._dialogs:
            declare(self._workshop, name, column)

    def _remove(self, name: str) -> None:
        try:
            body = without_attribute(self._workshop.body, name, self._workshop.draft.folder)
        except BlowfishError as error:
            ui.notify(str(error), type="negative", multi_line=True, timeout=10_000, close_button="Close")
        else:
            try_change(self._workshop, body)
