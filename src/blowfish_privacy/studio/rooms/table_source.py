"""Choosing the table: a file in one of the machine's folders, or a path or an address that is typed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.declaring import with_other_data
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.folders import Folder, check_place, look_into
from blowfish_privacy.studio.moving import from_folder
from blowfish_privacy.studio.parts.following import keeps_up
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.problems import say_problem, try_change
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.table_view import place_of
from blowfish_privacy.studio.workshop import Workshop


def table_source(workshop: Workshop, dialogs: ui.element) -> None:
    """Show which table is chosen, and let another one be."""
    with ui.column().classes("studio-card"):
        section("Where it is")
        with ui.element("div").classes("studio-stack").style("gap: 6px"):
            _place(workshop, dialogs)
            live(lambda: _said(workshop), workshop.changed, shows=lambda: (_named(workshop), workshop.draft.folder))


def _named(workshop: Workshop) -> str:
    named = workshop.body.get("data")
    return named if isinstance(named, str) else ""


def _place(workshop: Workshop, dialogs: ui.element) -> None:
    with ui.row().classes("items-center gap-3 w-full"):
        field = ui.input("Path or address", value=_named(workshop))
        field.classes("flex-1 min-w-56").props("outlined dense")

        def take() -> None:
            chosen = str(field.value or "").strip()
            if chosen and chosen != _named(workshop):
                use(workshop, chosen)

        field.on("keydown.enter", take)
        field.on("blur", take)
        keeps_up(field, lambda: _named(workshop), workshop.changed)
        ui.button("Browse", icon="folder_open", on_click=partial(browse, workshop, dialogs)).props("outline no-caps")


def _said(workshop: Workshop) -> None:
    place = place_of(_named(workshop) or None, workshop.draft.folder)
    if place:
        note(f"In {place}").classes("studio-break")
    elif not _named(workshop):
        note("A file of CSV, Parquet or DuckDB, or an address such as postgresql://host/database?table=people.")


def use(workshop: Workshop, data: str) -> Problem | None:
    """Name a table in the file; a relative path starts from the file's folder, or from where the studio was started."""
    try:
        check_place(data)
    except BlowfishError as error:
        return say_problem(Problem.of(error))
    folder = workshop.draft.folder
    body, remark = with_other_data(workshop.body, from_folder(data, folder), folder)
    problem = try_change(workshop, body)
    if problem is None and remark:
        ui.notify(remark, type="info", multi_line=True, timeout=15_000, close_button="Close")
    return problem


def browse(workshop: Workshop, dialogs: ui.element) -> None:
    """Let a table be chosen from the folders of this machine."""
    with dialogs, ui.dialog().props('aria-label="Choose a table"') as dialog:
        _Browser(workshop, dialog).build()
    dialog.on("hide", dialog.delete)
    dialog.open()


class _Browser:
    """The folder that is open in the dialog."""

    def __init__(self, workshop: Workshop, dialog: ui.dialog) -> None:
        self._workshop, self._dialog = workshop, dialog
        self._folder: Folder | None = None

    def build(self) -> None:
        with ui.card().classes("studio-card studio-browser"):
            section("Choose a table")
            self._path = ui.input("Folder").classes("w-full").props("outlined dense")
            self._path.on("keydown.enter", lambda: self._enter(str(self._path.value or "")))
            self._list = ui.column().classes("studio-files")
            with ui.row().classes("justify-end w-full gap-2"):
                self._whole = ui.button("Use the whole folder", on_click=lambda: self._choose(""))
                self._whole.props("flat no-caps").tooltip("All Parquet files in it are one table")
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
        self._enter(self._workshop.draft.folder)

    def _enter(self, folder: str | Path) -> None:
        self._list.clear()
        with self._list:
            try:
                self._folder = look_into(folder)
            except BlowfishError as error:
                problem_card(Problem.of(error))
                return
            self._fill(self._folder)
        self._path.set_value(str(self._folder.path))
        self._whole.set_visibility(self._folder.is_table)

    def _fill(self, folder: Folder) -> None:
        if folder.path.parent != folder.path:
            self._entry("arrow_upward", "The folder above", folder.path.parent, is_folder=True)
        for name in folder.folders:
            self._entry("folder", name, folder.path / name, is_folder=True)
        for name in folder.tables:
            self._entry("table_chart", name, folder.path / name, is_folder=False)
        if not folder.tables:
            note("There is no table here: they end in .csv, .tsv, .parquet, .duckdb or .db.")
        if folder.more:
            note("There is more than can be listed: type the path instead.")

    def _entry(self, icon: str, name: str, path: Path, *, is_folder: bool) -> None:
        act = partial(self._enter, path) if is_folder else partial(self._choose, path.name)
        with ui.button(on_click=act).props("flat dense no-caps align=left").classes("w-full"):
            ui.icon(icon).props("aria-hidden=true").classes("q-mr-sm")
            TextElement(tag="span", text=name).classes("studio-break")

    def _choose(self, name: str) -> None:
        if self._folder is not None and use(self._workshop, str(self._folder.path / name)) is None:
            self._dialog.close()
