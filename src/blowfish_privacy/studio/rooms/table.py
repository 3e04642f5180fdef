"""The room where a table is chosen, and what values its columns can have is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.engines import Column
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.release.checks import PolicyCheck
from blowfish_privacy.statements.data_check import HEADER, data_check_cells, data_check_words, fit_in_words
from blowfish_privacy.studio import declaring
from blowfish_privacy.studio.draft import Problem, from_folder
from blowfish_privacy.studio.parts import (
    focus_on,
    follow,
    heading,
    keyed,
    live,
    note,
    notice,
    plain_table,
    problem_card,
    problem_in,
    say_problem,
    section,
    showing,
    shows_later,
    try_change,
    typed_in,
)
from blowfish_privacy.studio.workshop import Signal, Workshop

# The form in which an attribute is declared: which values its column can have.

_NOT_FROM_DATA = "Choose them from what is known about such data, not from the table: they are published."


def declare(workshop: Workshop, name: str, column: Column | None) -> None:
    """Open the form for an attribute; without a name, it asks for one."""
    with ui.dialog().props('aria-label="Declare an attribute"') as dialog:
        form = _Form(workshop, name, column, dialog)
    dialog.on("hide", form.leave)
    dialog.open()


class _Form:
    """The fields of the form while they are filled in."""

    def __init__(self, workshop: Workshop, name: str, column: Column | None, dialog: ui.dialog) -> None:
        self._workshop, self._name, self._dialog = workshop, name, dialog
        written = workshop.body.get("policy", {}).get("domain", {}).get(name)
        self._known = written is not None
        form = declaring.first_form(column) if written is None else declaring.AttributeForm.of(written)
        self._foreign = form is None
        self._declared = ""
        self._fields: dict[str, Any] = asdict(form or declaring.AttributeForm())
        with ui.card().classes("studio-card studio-dialog"):
            section(f"Declare {self._name}" if self._name else "Declare an attribute")
            if self._foreign:
                notice("The file declares it in a way that this form does not know; saving replaces that.")
            if not self._name:
                self._text("name", "Name of the column").props("autofocus")
            self._kind = ui.select(dict(declaring.KINDS), label="It holds", value=self._fields["kind"])
            self._kind.classes("w-full").props("outlined dense" + (" autofocus" if self._name else ""))
            self._kind.on_value_change(self._turn)
            self._details = ui.column().classes("w-full gap-3")
            self._problem = ui.element("div").classes("w-full")
            with ui.row().classes("justify-end w-full gap-2"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                ui.button("Change" if self._known else "Declare", on_click=self._save).props("no-caps")
        self._turn()

    def leave(self) -> None:
        """Go back to the row of the attribute, which was built anew."""
        if self._declared:
            focus_on(f"Change {self._declared}")
        self._dialog.delete()

    def _turn(self) -> None:
        """Show the fields of the kind that is chosen."""
        self._fields["kind"] = self._kind.value
        self._details.clear()
        with self._details:
            self._fields_of(self._kind.value)
            if self._kind.value in declaring.CLAMPED:
                clamp = ui.checkbox("Values outside count as the nearest one", value=self._fields["clamp"])
                clamp.on_value_change(lambda: self._take("clamp", clamp.value))
            self._text("missing", "Missing values count as").props('hint="If empty, they are an error."')

    def _fields_of(self, kind: declaring.Kind) -> None:
        if kind in ("integer", "decimal", "date"):
            with ui.element("div").classes("studio-halves"):
                self._text("low", "First date" if kind == "date" else "Smallest value")
                self._text("high", "Last date" if kind == "date" else "Largest value")
        if kind == "integer":
            note(_NOT_FROM_DATA)
        elif kind == "decimal":
            self._text("step", "Step from each value to the next")
            note("Such as 0, 100 and 0.25. " + _NOT_FROM_DATA)
            self._choice("round", "Numbers between the steps", declaring.ROUNDS)
        elif kind == "date":
            self._choice("step", "Counted by", declaring.STEPS)
            note("Dates are written with the year first: 2020-01-31. " + _NOT_FROM_DATA)
        elif kind == "binned":
            self._bins()
        elif kind == "categorical":
            self._shown(ui.textarea, "categories", "Categories, in lines or with commas").props("rows=6")
            self._choice("values", "They are", declaring.VALUES)
            note("List every category that may occur, not only those in the table: the list is published.")
        else:
            self._shown(ui.textarea, "levels", "Lines of names, from the top level down").props("rows=6")
            note("First the names of the levels, such as state, county; then lines such as Bavaria, Munich.")
            path = self._text("file", "Or a CSV file with these lines")
            path.props('hint="Its path, from the folder of the policy file."')

    def _bins(self) -> None:
        def fill() -> None:
            try:
                edges.set_value(declaring.equal_edges(*(str(each.value or "") for each in asked)))
                self._problem.clear()
            except BlowfishError as error:
                problem_in(self._problem, error)

        edges = self._shown(ui.textarea, "edges", "Edges of the bins").props("autogrow")
        note("Edges have commas between, such as 0, 10, 20.5; a bin does not include its upper one. " + _NOT_FROM_DATA)
        with ui.row().classes("items-center gap-2 w-full"):
            asked = [ui.input(label).classes("w-24").props("outlined dense") for label in ("From", "To", "Width")]
            ui.button("Fill in equal bins", on_click=fill).props("flat dense no-caps")

    def _text(self, field: str, label: str) -> Any:
        return self._shown(ui.input, field, label).on("keydown.enter", self._save)

    def _choice(self, field: str, label: str, options: Mapping[Any, str]) -> None:
        chosen = self._fields[field] if self._fields[field] in options else next(iter(options))
        self._shown(partial(ui.select, dict(options)), field, label, chosen)

    def _shown(self, build: Callable[..., Any], field: str, label: str, value: Any = None) -> Any:
        """Show a field of the form, whose value is kept while it is filled in."""
        made = build(label=label, value=value or self._fields.get(field, "")).classes("w-full").props("outlined dense")
        made.on_value_change(lambda: self._take(field, made.value))
        return made

    def _take(self, field: str, value: Any) -> None:
        self._fields[field] = "" if value is None else value

    def _save(self) -> None:
        fields = dict(self._fields)
        name = self._name or str(fields.pop("name", "")).strip()
        try:
            body = declaring.with_attribute(self._workshop.body, name, declaring.AttributeForm(**fields).declaration())
        except BlowfishError as error:
            problem_in(self._problem, error)
            return
        problem = self._workshop.change(body)
        if problem is None:
            self._declared = name
            self._dialog.close()
        else:
            problem_in(self._problem, problem)


# The custodian's check of the data: exact counts, shown on demand to the one who asked, and gone with the room.


def data_check(workshop: Workshop) -> None:
    """Offer to check how the table fits what is declared."""

    def checked() -> Any:
        """What a check is about: when it changes, what was found before is no longer shown."""
        return workshop.data, workshop.file and workshop.file.policy.hash, workshop.broken

    def refresh() -> None:
        ready = workshop.data is not None and workshop.file is not None
        button.set_enabled(ready)
        needs.set_visibility(not ready)
        if about[0] != checked():
            about[0] = checked()
            place.clear()

    def check() -> None:
        data, file = workshop.data, workshop.file
        if data is None or file is None:
            return
        place.clear()
        with place:
            shows_later(lambda: declaring.check_of(data, file.policy), show, "Reading the table")

    def show(found: PolicyCheck | Problem) -> None:
        problem_card(found) if isinstance(found, Problem) else _fit(found, place)

    about = [checked()]
    with ui.column().classes("studio-card"):
        section("Check the data")
        note("Counts values that are missing or that the declarations do not cover, before anything is spent.")
        with ui.element("div").classes("studio-stack"):
            button = ui.button("Check the data", icon="fact_check", on_click=check)
            button.props("outline no-caps").classes("self-start")
            needs = note("Needs a table and at least one declared attribute.")
            place = ui.column().classes("w-full gap-3 empty:hidden")
            follow(place, refresh, workshop.changed)


def _fit(found: PolicyCheck, place: ui.column) -> None:
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


# Choosing the table: a file in one of the machine's folders, or a path or an address that is typed.


def table_source(workshop: Workshop, dialogs: ui.element) -> None:
    """Show which table is chosen, and let another one be."""

    def named() -> str:
        data = workshop.body.get("data")
        return data if isinstance(data, str) else ""

    def browse() -> None:
        with dialogs, ui.dialog().props('aria-label="Choose a table"') as dialog:
            _Browser(workshop, dialog)
        dialog.on("hide", dialog.delete)
        dialog.open()

    def said() -> None:
        if place := declaring.place_of(named() or None, workshop.draft.folder):
            note(f"In {place}").classes("studio-break")
        elif not named():
            note("A file of CSV, Parquet or DuckDB, or an address such as postgresql://host/database?table=people.")

    with ui.column().classes("studio-card"):
        section("Where it is")
        with ui.element("div").classes("studio-stack").style("gap: 6px"):
            with ui.row().classes("items-center gap-3 w-full"):
                field = ui.input("Path or address", value=named())
                field.classes("flex-1 min-w-56").props("outlined dense")
                typed_in(field, named, partial(_use, workshop), workshop.changed)
                ui.button("Browse", icon="folder_open", on_click=browse).props("outline no-caps")
            live(said, workshop.changed, shows=lambda: (named(), workshop.draft.folder))


def _use(workshop: Workshop, data: str) -> bool:
    """Name a table in the file; a relative path starts from the file's folder, or from where the studio was started."""
    try:
        declaring.check_place(data)
    except BlowfishError as error:
        say_problem(error)
        return False
    folder = workshop.draft.folder
    body, remark = declaring.with_other_data(workshop.body, from_folder(data, folder), folder)
    taken = try_change(workshop, body)
    if taken and remark:
        ui.notify(remark, type="info", multi_line=True, timeout=15_000, close_button="Close")
    return taken


class _Browser:
    """The folder that is open in the dialog."""

    def __init__(self, workshop: Workshop, dialog: ui.dialog) -> None:
        self._workshop, self._dialog = workshop, dialog
        self._folder: declaring.Folder | None = None
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
                self._folder = declaring.look_into(folder)
            except BlowfishError as error:
                problem_card(error)
                return
            path = self._folder.path
            if path.parent != path:
                self._entry("arrow_upward", "The folder above", partial(self._enter, path.parent))
            for name in self._folder.folders:
                self._entry("folder", name, partial(self._enter, path / name))
            for name in self._folder.tables:
                self._entry("table_chart", name, partial(self._choose, name))
            if not self._folder.tables:
                note("There is no table here: they end in .csv, .tsv, .parquet, .duckdb or .db.")
            if self._folder.more:
                note("There is more than can be listed: type the path instead.")
        self._path.set_value(str(path))
        self._whole.set_visibility(self._folder.is_table)

    def _entry(self, icon: str, name: str, act: Callable[[], None]) -> None:
        with ui.button(on_click=act).props("flat dense no-caps align=left").classes("w-full"):
            ui.icon(icon).props("aria-hidden=true").classes("q-mr-sm")
            TextElement(tag="span", text=name).classes("studio-break")

    def _choose(self, name: str) -> None:
        if self._folder is not None and _use(self._workshop, str(self._folder.path / name)):
            self._dialog.close()


_MOST_SHOWN, _MANY = 100, 20
"""How many columns are shown at once, and from how many on one can look for some."""


def table(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Table",
        "Choose the table, and say which values each column can have. The studio shows names and types of columns, "
        "never a value.",
    )
    # What is neither seen nor part of the room's order: the places of dialogs and of what waits for the table.
    dialogs = ui.element("div").classes("hidden")
    columns = _Columns(workshop, dialogs)
    table_source(workshop, dialogs)
    columns.build()
    data_check(workshop)


class _Columns:
    """The columns of the table as one tab sees them."""

    def __init__(self, workshop: Workshop, dialogs: ui.element) -> None:
        self._workshop, self._dialogs = workshop, dialogs
        self._found: list[Column] | Problem | None = None
        self._known: tuple[Any, Any, dict[str, declaring.Row]] | None = None
        self._last: str | None = None
        self._looking = False
        self._looked = Signal()
        with dialogs:
            live(self._look, workshop.changed, shows=self._data)

    def build(self) -> None:
        """Show what is declared, and a row for each column, which stays while more becomes known of it."""
        signals = (self._workshop.changed, self._looked)
        with ui.column().classes("studio-card"):
            section("Columns")
            self._wanted = ui.input("Find a column").classes("w-full").props("outlined dense clearable")
            self._wanted.on_value_change(self._looked.fire)
            with ui.element("div").classes("studio-stack"):
                live(self._about, *signals, shows=self._counted).classes("studio-stack empty:hidden")
                rows = keyed(lambda: [row.name for row in self._shown()], self._row, *signals, tag="ul")
                rows.classes("studio-columns empty:hidden")
                live(self._left_out, *signals, shows=self._counted).classes("studio-stack empty:hidden")
            by_name = ui.button("Declare an attribute by name", icon="add", on_click=lambda: self._declare("", None))
            by_name.props("flat dense no-caps").classes("self-start")

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
                found = await run.io_bound(declaring.columns_of, data)
                if data == self._last:
                    self._found, self._looking = found, False
                    self._looked.fire()

            ui.timer(0, look, once=True)

    def _rows(self) -> dict[str, declaring.Row]:
        file = self._workshop.file
        if self._known is None or self._known[0] is not self._found or self._known[1] is not file:
            attributes = {} if file is None else {name: file.policy.domain[name] for name in file.policy.domain}
            rows = declaring.rows_of(self._found if isinstance(self._found, list) else None, attributes)
            self._known = self._found, file, {row.name: row for row in rows}
        return self._known[2]

    def _shown(self) -> list[declaring.Row]:
        return declaring.first_rows([*self._rows().values()], _MOST_SHOWN, str(self._wanted.value or ""))

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

    def _named(self, name: str) -> declaring.Row:
        return self._rows().get(name, declaring.Row(name, "", ""))

    def _row(self, name: str) -> None:
        def holds(row: declaring.Row) -> None:
            TextElement(tag="span", text=name).classes("text-weight-medium studio-break")
            if row.holds and row.holds != "as declared":
                note(row.holds)

        def said(row: declaring.Row) -> None:
            TextElement(tag="span", text=row.said or "not declared").classes("" if row.said else "studio-note")
            if not row.fits:
                with ui.row().classes("items-center gap-1 no-wrap studio-warning"):
                    ui.icon("warning_amber").props("aria-hidden=true")
                    TextElement(tag="span", text="The column is of another type")

        for part in (holds, said):
            showing(lambda: self._named(name), part, self._workshop.changed, self._looked, classes="min-w-0")
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

    def _declare(self, name: str, column: Column | None) -> None:
        with self._dialogs:
            declare(self._workshop, name, column)

    def _remove(self, name: str) -> None:
        try:
            body = declaring.without_attribute(self._workshop.body, name, self._workshop.draft.folder)
        except BlowfishError as error:
            say_problem(error)
        else:
            try_change(self._workshop, body)
