"""The form that adds a known fact: a table or a count, with its numbers or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.fact_entry import (
    MOST_FIELDS,
    cell_names,
    count_fact,
    split_counts,
    table_fact,
    with_fact,
)
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.value_text import MOST_LISTED
from blowfish_privacy.studio.workshop import Workshop
from blowfish_privacy.support.exact import show

_KINDS = {"table": "A table of counts", "count": "One count"}


def fact_form(workshop: Workshop) -> None:
    """Offer to add a fact."""
    file = workshop.file
    if file is None:
        return
    place = ui.element("div").classes("w-full")

    def begin() -> None:
        place.clear()
        with place:
            _FactForm(workshop, file.policy.domain, begin).build()

    begin()


class _FactForm:
    """What one tab is entering."""

    def __init__(self, workshop: Workshop, domain: Domain, begin_again: Callable[[], None]) -> None:
        self._workshop, self._domain, self._begin_again = workshop, domain, begin_again
        self._names: list[str] = []
        self._stated = True
        self._counts: list[ui.input] = []
        self._pasted: ui.textarea | None = None
        self._conditions: dict[str, Any] = {}

    def build(self) -> None:
        with ui.column().classes("studio-card"):
            section("Add a fact")
            kind = ui.radio(_KINDS, value="table").props('inline aria-label="What is known"').classes("studio-radio")
            with ui.column().classes("w-full gap-3") as table:
                self._table()
            with ui.column().classes("w-full gap-3") as count:
                self._count()
            table.bind_visibility_from(kind, "value", value="table")
            count.bind_visibility_from(kind, "value", value="count")
            said = ui.element("div").classes("w-full")

            def add() -> None:
                said.clear()
                problem = self._add(kind.value or "table")
                if problem is not None:
                    with said:
                        problem_card(problem)

            ui.button("Add this fact", icon="add", on_click=add).props("no-caps unelevated")

    def _table(self) -> None:
        note("Everybody knows how many people have each value, or each combination of values.")
        with ui.row().classes("items-center gap-4 w-full"):
            names = ui.select([*self._domain], label="Attributes of the table", multiple=True, value=[])
            names.classes("min-w-56 flex-1").props("outlined dense use-chips")
            stated = ui.checkbox("I know the numbers", value=True)
        cells = ui.element("div").classes("w-full")

        def refresh() -> None:
            self._names, self._stated = list(names.value or []), bool(stated.value)
            cells.clear()
            self._counts, self._pasted = [], None
            if self._names and self._stated:
                with cells:
                    self._numbers()

        names.on_value_change(refresh)
        stated.on_value_change(refresh)

    def _numbers(self) -> None:
        """Ask for the counts: a field for each of a few, one field for many."""
        many, shown = self._domain.project(self._names).size, cell_names(self._domain, self._names)
        if many <= MOST_FIELDS:
            with ui.element("div").classes("studio-boxes"):
                self._counts = [ui.input(label).props("outlined dense inputmode=numeric") for label in shown]
            return
        note(f"{many:,} counts, in this order: {'; '.join(shown[:4])}; and so on.")
        self._pasted = ui.textarea("All counts, one on each line").classes("w-full").props("outlined")

    def _count(self) -> None:
        note("Everybody knows how many people have some values. Leave open what does not matter.")
        with ui.element("div").classes("studio-boxes"):
            for name in self._domain:
                self._conditions[name] = self._condition(name)
        self._equals = ui.input("How many they are (may be left open)").classes("w-80 max-w-full")
        self._equals.props("outlined dense inputmode=numeric")

    def _condition(self, name: str) -> Any:
        attribute = self._domain[name]
        if attribute.ordered:
            return ui.input(f"{name}, as in {_range(attribute)}").props("outlined dense")
        values = [attribute.value(at) for at in range(min(attribute.size, 20 * MOST_LISTED))]
        return ui.select(values, label=name, multiple=True, value=[]).props("outlined dense use-chips")

    def _add(self, kind: str) -> Problem | None:
        try:
            fact = self._entered_table() if kind == "table" else self._entered_count()
        except BlowfishError as error:
            return Problem.of(error)
        problem = self._workshop.change(with_fact(self._workshop.body, fact))
        if problem is None:
            ui.notify("Added. What it does to your releases is being worked out.", type="positive")
            self._begin_again()
        return problem

    def _entered_table(self) -> dict[str, Any]:
        if not self._stated:
            return table_fact(self._domain, self._names, None)
        pasted = None if self._pasted is None else split_counts(str(self._pasted.value or ""))
        counts = [str(field.value or "") for field in self._counts] if pasted is None else pasted
        return table_fact(self._domain, self._names, counts)

    def _entered_count(self) -> dict[str, Any]:
        given = {name: field.value for name, field in self._conditions.items()}
        return count_fact(self._domain, given, str(self._equals.value or ""))


def _range(attribute: Attribute) -> str:
    """Write a range of some values, as an example."""
    bounds = getattr(attribute, "bounds", None)
    if bounds is not None:
        return f"{show(bounds[0])} to {show(bounds[1])}"
    return f"{attribute.show(0)} to {attribute.show(attribute.size // 4)}"
