"""The room of known facts: what everybody knows about the table already, what it costs, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.studio.charts.plans import facts_chart
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.entries import MOST_LISTED
from blowfish_privacy.studio.parts import (
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
from blowfish_privacy.studio.secret_choice import (
    MOST_FIELDS,
    cell_names,
    count_fact,
    option_of,
    split_counts,
    table_fact,
    whole,
    with_fact,
    with_option,
    without_fact,
)
from blowfish_privacy.studio.workshop import FactEffects, Workshop
from blowfish_privacy.support.exact import about, show

# The form that adds a known fact: a table or a count, with its numbers or without.

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


# What facts do to each release, as a table: the typical error without them and with them.


def effects_of_all(effects: FactEffects) -> None:
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


def effects_of_one(effects: FactEffects, number: int) -> None:
    """Show what one fact adds to what the others do."""
    view = None if effects.stale or effects.latest is None else effects.latest.view
    if view is not None and number < len(view.facts) and view.facts[number].effects:
        with ui.expansion("What this fact adds").classes("w-full").props("dense"):
            _table(view.facts[number].effects, "it")


def _table(effects: Sequence[FactEffect], what: str) -> None:
    header = ("Release", f"Error without {what}", f"Error with {what}", "In words")
    rows = [(each.release, _error(each.without), _error(each.given), each.words) for each in effects]
    plain_table(header, rows)


def _error(outlook: Outlook) -> str:
    if outlook.error is None:
        return "refused"
    return "none" if outlook.exact else about(outlook.error)


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
    with room:
        live(lambda: _fill(workshop, effects), workshop.changed, shows=lambda: _domain(workshop))


def _domain(workshop: Workshop) -> Any:
    return None if workshop.file is None else workshop.good_body["policy"]["domain"]


def _fill(workshop: Workshop, effects: FactEffects) -> None:
    if workshop.file is None:
        notice("Declare the attributes of your table first; then you can say what is known about them.")
        return
    with ui.element("div").classes("studio-stack"):
        _facts(workshop, effects)
        fact_form(workshop)
        _people(workshop)


def _known(workshop: Workshop) -> list[tuple[int, str]]:
    """Number the facts of the file, in words."""
    file = workshop.file
    return [] if file is None else [(at, fact.words(file.policy.domain)) for at, fact in enumerate(file.policy.known)]


def _facts(workshop: Workshop, effects: FactEffects) -> None:
    def worked_out() -> Any:
        return len(_known(workshop)), effects.stale, effects.turn

    def none() -> None:
        if not _known(workshop):
            notice("No facts are listed. If some counts are public in truth, list them, or the promise weakens.")

    def of_all() -> None:
        if _known(workshop):
            effects_of_all(effects)

    def of_one(number: int) -> None:
        if len(_known(workshop)) > 1:
            effects_of_one(effects, number)

    def fact(known: tuple[int, str]) -> None:
        number, words = known
        with ui.column().classes("studio-card"):
            with ui.row().classes("items-start justify-between w-full no-wrap gap-3"):
                ui.label(f"{words[:1].upper()}{words[1:]}").classes("text-weight-medium")
                remove = ui.button(icon="delete_outline", on_click=lambda: _remove(workshop, number))
                remove.props(f'flat round dense aria-label="Remove fact {number + 1}"').tooltip("Remove")
            adds = live(lambda: of_one(number), workshop.changed, effects.worked_out, shows=worked_out)
            adds.classes("empty:hidden")

    with ui.element("div").classes("studio-stack"):
        live(none, workshop.changed, shows=lambda: not _known(workshop)).classes("empty:hidden")
        keyed(lambda: _known(workshop), fact, workshop.changed).classes("studio-stack empty:hidden")
        live(of_all, workshop.changed, effects.worked_out, shows=worked_out).classes("empty:hidden")


def _remove(workshop: Workshop, number: int) -> None:
    try_change(workshop, without_fact(workshop.body, number))


def _people(workshop: Workshop) -> None:
    """Choose what is known about the number of records, and how many rows a person has."""
    with ui.column().classes("studio-card"):
        section("The number of records")
        live(lambda: _size(workshop), workshop.changed, shows=lambda: _presence(workshop))
        section("Rows of a person")
        _rows(workshop)
        with ui.expansion("More: how others move along", icon="tune").classes("w-full").props("dense"):
            _compensation(workshop)


def _presence(workshop: Workshop) -> bool:
    return workshop.good_body["policy"]["secrets"] == "add_remove" if workshop.file is not None else False


def _option(workshop: Workshop, name: str) -> Any:
    """Return what the last valid file says of the size, the rows of a person or the compensation."""
    body = workshop.good_body
    return option_of(body, name) if body else None


def _take(workshop: Workshop, name: str, value: Any) -> bool:
    return try_change(workshop, with_option(workshop.body, name, value)) is None


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

    choice = ui.radio(_SIZES, value=kind()).classes("studio-radio")
    choice.props('aria-label="The number of records"')
    number = ui.input("Number of records", value=count()).classes("w-56")
    number.props("outlined dense").bind_visibility_from(choice, "value", value="stated")

    def take(value: Any) -> bool:
        return value == "stated" or _take(workshop, "size", value)

    on_chosen(choice, kind, take)
    on_entered(number, lambda: _typed(workshop, number, "size", "the number of records"))
    keeps_up(choice, kind, workshop.changed)
    keeps_up(number, count, workshop.changed)


def _rows(workshop: Workshop) -> None:
    note("The most rows that one person has in the table. The noise grows with it.")
    field = ui.input("Rows of a person, at most", value=str(_option(workshop, "rows_per_person")))
    field.classes("w-56").props("outlined dense")
    on_entered(field, lambda: _typed(workshop, field, "rows_per_person", "the number of rows"))
    keeps_up(field, lambda: str(_option(workshop, "rows_per_person")), workshop.changed)


def _typed(workshop: Workshop, field: ui.input, option: str, what: str) -> None:
    text = str(field.value or "").strip()
    if not text:
        return
    try:
        number = whole(text, what)
    except SpecError as error:
        field.error = error.message
        return
    field.error = None
    if number != option_of(workshop.body, option):
        problem = workshop.change(with_option(workshop.body, option, number))
        field.error = None if problem is None else problem.message


def _compensation(workshop: Workshop) -> None:
    def now() -> Any:
        return _option(workshop, "compensation")

    note("A known count stays true when one person's value changes only if other people's values change along.")
    choice = ui.radio(_COMPENSATION, value=now()).classes("studio-radio")
    choice.props('aria-label="How others move along"')
    on_chosen(choice, now, partial(_take, workshop, "compensation"))
    keeps_up(choice, now, workshop.changed)
