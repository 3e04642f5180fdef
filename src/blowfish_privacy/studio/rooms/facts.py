"""The room of known facts: what everybody knows about the table already, what it costs, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.studio import secret_choice as choices
from blowfish_privacy.studio.charts.plans import facts_chart
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.entries import MOST_LISTED
from blowfish_privacy.studio.parts import (
    capitalised,
    chart,
    follow,
    heading,
    keeps_up,
    keyed,
    live,
    note,
    notice,
    on_chosen,
    on_entered,
    plain_table,
    problem_card,
    problem_in,
    section,
    try_change,
)
from blowfish_privacy.studio.workshop import FactEffects, Workshop
from blowfish_privacy.support.exact import about, show

# The form that adds a known fact: a table or a count, with its numbers or without.

_KINDS = {"table": "A table of counts", "count": "One count"}


class _FactForm:
    """What one tab is entering."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop, self._domain = workshop, workshop.policy.domain
        self._place = ui.element("div").classes("w-full")
        self._begin()

    def _begin(self) -> None:
        """Build an empty form in place of the one that was filled in."""
        self._names: list[str] = []
        self._stated = True
        self._counts: list[ui.input] = []
        self._pasted: ui.textarea | None = None
        self._place.clear()
        with self._place, ui.column().classes("studio-card"):
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
                # What was entered and taken leaves an empty form, without a place for problems.
                if (problem := self._add(kind.value or "table")) is not None:
                    problem_in(said, problem)

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
        many, shown = self._domain.project(self._names).size, choices.cell_names(self._domain, self._names)
        if many <= choices.MOST_FIELDS:
            with ui.element("div").classes("studio-boxes"):
                self._counts = [ui.input(label).props("outlined dense inputmode=numeric") for label in shown]
            return
        note(f"{many:,} counts, in this order: {'; '.join(shown[:4])}; and so on.")
        self._pasted = ui.textarea("All counts, one on each line").classes("w-full").props("outlined")

    def _count(self) -> None:
        note("Everybody knows how many people have some values. Leave open what does not matter.")
        with ui.element("div").classes("studio-boxes"):
            self._conditions = {name: self._condition(name) for name in self._domain}
        self._equals = ui.input("How many they are (may be left open)").classes("w-80 max-w-full")
        self._equals.props("outlined dense inputmode=numeric")

    def _condition(self, name: str) -> Any:
        attribute = self._domain[name]
        if attribute.ordered:
            first, last = attribute.show(0), attribute.show(attribute.size // 4)
            if (bounds := getattr(attribute, "bounds", None)) is not None:
                first, last = show(bounds[0]), show(bounds[1])
            return ui.input(f"{name}, as in {first} to {last}").props("outlined dense")
        values = [attribute.value(at) for at in range(min(attribute.size, 20 * MOST_LISTED))]
        return ui.select(values, label=name, multiple=True, value=[]).props("outlined dense use-chips")

    def _add(self, kind: str) -> Problem | None:
        try:
            fact = self._entered(kind)
        except BlowfishError as error:
            return Problem.of(error)
        problem = self._workshop.change(choices.with_fact(self._workshop.body, fact))
        if problem is None:
            ui.notify("Added. What it does to your releases is being worked out.", type="positive")
            self._begin()
        return problem

    def _entered(self, kind: str) -> dict[str, Any]:
        if kind == "count":
            given = {name: field.value for name, field in self._conditions.items()}
            return choices.count_fact(self._domain, given, str(self._equals.value or ""))
        counts = [str(field.value or "") for field in self._counts]
        if self._pasted is not None:
            counts = choices.split_counts(str(self._pasted.value or ""))
        return choices.table_fact(self._domain, self._names, counts if self._stated else None)


# What facts do to each release, as a table: the typical error without them and with them.


def _effects_of_all(effects: FactEffects) -> None:
    """Show what all facts do together, in words and release by release."""
    latest = effects.latest
    with ui.column().classes("studio-card"):
        section("What this does to your releases")
        if effects.stale:
            with ui.row().classes("items-center gap-2").props("role=status"):
                ui.spinner(size="1.2em").props("aria-hidden=true")
                note("Planning your releases with and without the facts.")
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


def _table(effects: Sequence[FactEffect], what: str) -> None:
    def error(outlook: Outlook) -> str:
        if outlook.error is None:
            return "refused"
        return "none" if outlook.exact else about(outlook.error)

    header = ("Release", f"Error without {what}", f"Error with {what}", "In words")
    plain_table(header, [(each.release, error(each.without), error(each.given), each.words) for each in effects])


_SIZES = {
    "known": "Everybody may know it; the data are asked for it",
    "stated": "Everybody knows it, and it is",
    "unknown": "It is secret: whether a person is in the table at all must not show",
}
_COMPENSATION = {
    "anywhere": "Other people's values may be anything",
    "secret-moves": "Other people move along secret pairs only: weaker, see the words of the policy",
}


def facts(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Known facts",
        "Counts that everybody knows already: a census table, a total that was printed. Whoever wants to find out "
        "something about a person knows them too, so the noise must reckon with them.",
    )
    effects = FactEffects(workshop)
    room = ui.element("div").classes("w-full")
    follow(room, effects.follow, workshop.changed, gone=effects.close)

    def fill() -> None:
        if workshop.file is None:
            notice("Declare the attributes of your table first; then you can say what is known about them.")
            return
        with ui.element("div").classes("studio-stack"):
            _facts(workshop, effects)
            _FactForm(workshop)
            _people(workshop)

    with room:
        live(fill, workshop.changed, shows=lambda: workshop.file and workshop.good_body["policy"]["domain"])


def _facts(workshop: Workshop, effects: FactEffects) -> None:
    def listed() -> list[tuple[int, str]]:
        """Number the facts of the file, in words."""
        known = () if workshop.file is None else workshop.file.policy.known
        return [(at, fact.words(workshop.policy.domain)) for at, fact in enumerate(known)]

    def worked_out() -> Any:
        return len(listed()), effects.stale, effects.turn

    def none() -> None:
        if not listed():
            notice("No facts are listed. If some counts are public in truth, list them, or the promise weakens.")

    def of_all() -> None:
        if listed():
            _effects_of_all(effects)

    def of_one(number: int) -> None:
        """Show what one fact adds to what the others do."""
        view = None if effects.stale or effects.latest is None else effects.latest.view
        if view is None or not len(listed()) > 1 or number >= len(view.facts) or not view.facts[number]:
            return
        with ui.expansion("What this fact adds").classes("w-full").props("dense"):
            _table(view.facts[number], "it")

    def remove(number: int) -> None:
        try_change(workshop, choices.without_fact(workshop.body, number))

    def fact(known: tuple[int, str]) -> None:
        number, words = known
        with ui.column().classes("studio-card"):
            with ui.row().classes("items-start justify-between w-full no-wrap gap-3"):
                ui.label(capitalised(words)).classes("text-weight-medium")
                button = ui.button(icon="delete_outline", on_click=lambda: remove(number))
                button.props(f'flat round dense aria-label="Remove fact {number + 1}"').tooltip("Remove")
            adds = live(lambda: of_one(number), workshop.changed, effects.worked_out, shows=worked_out)
            adds.classes("empty:hidden")

    with ui.element("div").classes("studio-stack"):
        live(none, workshop.changed, shows=lambda: not listed()).classes("empty:hidden")
        keyed(listed, fact, workshop.changed).classes("studio-stack empty:hidden")
        live(of_all, workshop.changed, effects.worked_out, shows=worked_out).classes("empty:hidden")


def _people(workshop: Workshop) -> None:
    """Choose what is known about the number of records, and how many rows a person has."""
    with ui.column().classes("studio-card"):
        section("The number of records")
        live(lambda: _size(workshop), workshop.changed, shows=lambda: _presence(workshop))
        section("Rows of a person")
        note("The most rows that one person has in the table. The noise grows with it.")
        field = ui.input("Rows of a person, at most", value=str(_option(workshop, "rows_per_person")))
        field.classes("w-56").props("outlined dense")
        on_entered(field, lambda: _typed(workshop, field, "rows_per_person", "the number of rows"))
        keeps_up(field, lambda: str(_option(workshop, "rows_per_person")), workshop.changed)
        with ui.expansion("More: how others move along", icon="tune").classes("w-full").props("dense"):
            note("A known count stays true when one person's value changes only if other people's values change along.")
            take = partial(_take, workshop, "compensation")
            _radio(workshop, "How others move along", _COMPENSATION, lambda: _option(workshop, "compensation"), take)


def _presence(workshop: Workshop) -> bool:
    return workshop.good_body["policy"]["secrets"] == "add_remove" if workshop.file is not None else False


def _option(workshop: Workshop, name: str) -> Any:
    """Return what the last valid file says of the size, the rows of a person or the compensation."""
    body = workshop.good_body
    return choices.option_of(body, name) if body else None


def _take(workshop: Workshop, name: str, value: Any) -> bool:
    return try_change(workshop, choices.with_option(workshop.body, name, value))


def _radio(
    workshop: Workshop, title: str, options: dict[str, str], now: Callable[[], Any], take: Callable[[Any], bool]
) -> ui.radio:
    """Offer what the file may say; what it says now is chosen."""
    choice = ui.radio(options, value=now()).classes("studio-radio").props(f'aria-label="{title}"')
    on_chosen(choice, now, take)
    keeps_up(choice, now, workshop.changed)
    return choice


def _size(workshop: Workshop) -> None:
    if _presence(workshop):
        note("It is secret: presence is the secret that you chose.")
        return

    def kind() -> str:
        size = _option(workshop, "size")
        return size if size in _SIZES else "stated"

    def count() -> str:
        size = _option(workshop, "size")
        return "" if size in _SIZES else str(size)

    def take(value: Any) -> bool:
        return value == "stated" or _take(workshop, "size", value)

    choice = _radio(workshop, "The number of records", _SIZES, kind, take)
    number = ui.input("Number of records", value=count()).classes("w-56")
    number.props("outlined dense").bind_visibility_from(choice, "value", value="stated")
    on_entered(number, lambda: _typed(workshop, number, "size", "the number of records"))
    keeps_up(number, count, workshop.changed)


def _typed(workshop: Workshop, field: ui.input, option: str, what: str) -> None:
    text = str(field.value or "").strip()
    if not text:
        return
    try:
        number = choices.whole(text, what)
    except SpecError as error:
        field.error = error.message
        return
    field.error = None
    if number != choices.option_of(workshop.body, option):
        problem = workshop.change(choices.with_option(workshop.body, option, number))
        field.error = None if problem is None else problem.message
