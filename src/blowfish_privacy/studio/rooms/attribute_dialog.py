"""The form in which an attribute is declared: which values its column can have."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nicegui import ui

from blowfish_privacy.engines import Column
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.attribute_form import CLAMPED, KINDS, ROUNDS, STEPS, VALUES, AttributeForm, equal_edges
from blowfish_privacy.studio.declaring import with_attribute
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.focus import focus_on
from blowfish_privacy.studio.parts.words import note, notice, problem_card, section
from blowfish_privacy.studio.table_view import first_form
from blowfish_privacy.studio.workshop import Workshop

_NOT_FROM_DATA = "Choose them from what is known about such data, not from the table: they are published."


def declare(workshop: Workshop, name: str, column: Column | None) -> None:
    """Open the form for an attribute; without a name, it asks for one."""
    with ui.dialog().props('aria-label="Declare an attribute"') as dialog:
        form = _Form(workshop, name, column, dialog)
        form.build()
    dialog.on("hide", form.leave)
    dialog.open()


class _Form:
    """The fields of the form while they are filled in."""

    def __init__(self, workshop: Workshop, name: str, column: Column | None, dialog: ui.dialog) -> None:
        self._workshop, self._name, self._dialog = workshop, name, dialog
        written = workshop.body.get("policy", {}).get("domain", {}).get(name)
        self._known = written is not None
        form = first_form(column) if written is None else AttributeForm.of(written)
        self._foreign = form is None
        self._declared = ""
        self._fields: dict[str, Any] = asdict(form or AttributeForm())

    def build(self) -> None:
        with ui.card().classes("studio-card studio-dialog"):
            section(f"Declare {self._name}" if self._name else "Declare an attribute")
            if self._foreign:
                notice("The file declares it in a way that this form does not know; saving replaces that.")
            if not self._name:
                self._text("name", "Name of the column").props("autofocus")
            self._kind = ui.select(dict(KINDS), label="It holds", value=self._fields["kind"])
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
        build = {"integer": self._integer, "decimal": self._decimal, "binned": self._binned, "date": self._date}
        build |= {"categorical": self._categorical}
        with self._details:
            build.get(str(self._kind.value), self._hierarchy)()
            if self._kind.value in CLAMPED:
                self._box("clamp", "Values outside count as the nearest one")
            self._text("missing", "Missing values count as").props('hint="If empty, they are an error."')

    def _integer(self) -> None:
        with ui.element("div").classes("studio-halves"):
            self._text("low", "Smallest value")
            self._text("high", "Largest value")
        note(_NOT_FROM_DATA)

    def _decimal(self) -> None:
        with ui.element("div").classes("studio-halves"):
            self._text("low", "Smallest value")
            self._text("high", "Largest value")
        self._text("step", "Step from each value to the next")
        note("Such as 0, 100 and 0.25. " + _NOT_FROM_DATA)
        chosen = self._fields["round"] if self._fields["round"] in ROUNDS else "error"
        between = ui.select(dict(ROUNDS), label="Numbers between the steps", value=chosen).classes("w-full")
        between.props("outlined dense").on_value_change(lambda: self._take("round", between.value))

    def _date(self) -> None:
        with ui.element("div").classes("studio-halves"):
            self._text("low", "First date")
            self._text("high", "Last date")
        chosen = self._fields["step"] if self._fields["step"] in STEPS else "day"
        step = ui.select(dict(STEPS), label="Counted by", value=chosen).classes("w-full")
        step.props("outlined dense").on_value_change(lambda: self._take("step", step.value))
        note("Dates are written with the year first: 2020-01-31. " + _NOT_FROM_DATA)

    def _binned(self) -> None:
        edges = ui.textarea("Edges of the bins", value=self._fields["edges"]).classes("w-full")
        edges.props("outlined dense autogrow")
        edges.on_value_change(lambda: self._take("edges", edges.value))
        note("Edges have commas between, such as 0, 10, 20.5; a bin does not include its upper one. " + _NOT_FROM_DATA)
        with ui.row().classes("items-center gap-2 w-full"):
            asked = [ui.input(label).classes("w-24").props("outlined dense") for label in ("From", "To", "Width")]

            def fill() -> None:
                try:
                    edges.set_value(equal_edges(*(str(each.value or "") for each in asked)))
                    self._problem.clear()
                except BlowfishError as error:
                    self._say(Problem.of(error))

            ui.button("Fill in equal bins", on_click=fill).props("flat dense no-caps")

    def _categorical(self) -> None:
        self._area("categories", "Categories, in lines or with commas")
        values = ui.select(dict(VALUES), label="They are", value=self._fields["values"]).classes("w-full")
        values.props("outlined dense").on_value_change(lambda: self._take("values", values.value))
        note("List every category that may occur, not only those in the table: the list is published.")

    def _hierarchy(self) -> None:
        self._area("levels", "Lines of names, from the top level down")
        note("First the names of the levels, such as state, county; then lines such as Bavaria, Munich.")
        self._text("file", "Or a CSV file with these lines").props(
            'hint="Its path, from the folder of the policy file."'
        )

    def _text(self, field: str, label: str) -> ui.input:
        made = ui.input(label, value=self._fields.get(field, "")).classes("w-full").props("outlined dense")
        made.on_value_change(lambda: self._take(field, made.value))
        made.on("keydown.enter", self._save)
        return made

    def _area(self, field: str, label: str) -> ui.textarea:
        made = ui.textarea(label, value=self._fields[field]).classes("w-full").props("outlined dense rows=6")
        made.on_value_change(lambda: self._take(field, made.value))
        return made

    def _box(self, field: str, label: str) -> None:
        made = ui.checkbox(label, value=self._fields[field])
        made.on_value_change(lambda: self._take(field, made.value))

    def _take(self, field: str, value: Any) -> None:
        self._fields[field] = "" if value is None else value

    def _save(self) -> None:
        fields = dict(self._fields)
        name = self._name or str(fields.pop("name", "")).strip()
        try:
            body = with_attribute(self._workshop.body, name, AttributeForm(**fields).declaration())
        except BlowfishError as error:
            self._say(Problem.of(error))
            return
        problem = self._workshop.change(body)
        if problem is None:
            self._declared = name
            self._dialog.close()
        else:
            self._say(problem)

    def _say(self, problem: Problem) -> None:
        self._problem.clear()
        with self._problem:
            problem_card(problem)
