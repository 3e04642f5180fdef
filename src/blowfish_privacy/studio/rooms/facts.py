"""The room of known facts: what everybody knows about the table already, what it costs, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from nicegui import ui

from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.studio import secret_choice as choices
from blowfish_privacy.studio.charts.plans import facts_chart
from blowfish_privacy.studio.entries import MOST_LISTED, read_value
from blowfish_privacy.studio.parts import (
    capitalised,
    chart,
    chosen_in,
    follow,
    heading,
    keyed,
    live,
    note,
    notice,
    plain_table,
    problem_card,
    problem_in,
    section,
    showing,
    try_change,
    typed_in,
    with_policy,
)
from blowfish_privacy.studio.workshop import FactEffects, Workshop
from blowfish_privacy.support.exact import about, show

# The form that adds a known fact: a table or a count, with its numbers or without.

Fact: TypeAlias = dict[str, Any]
"""A fact as a file has it."""
_KINDS = {"table": "A table of counts", "count": "One count"}


class _FactForm:
    """What one tab is entering."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop, self._domain = workshop, workshop.policy.domain
        self._place = ui.element("div").classes("w-full")
        self._begin()

    def _begin(self) -> None:
        """Build an empty form in place of the one that was filled in."""
        self._place.clear()
        with self._place, ui.column().classes("studio-card"):
            section("Add a fact")
            kind = ui.radio(_KINDS, value="table").props('inline aria-label="What is known"').classes("studio-radio")
            with ui.column().classes("w-full gap-3").bind_visibility_from(kind, "value", value="table"):
                table = self._table()
            with ui.column().classes("w-full gap-3").bind_visibility_from(kind, "value", value="count"):
                count = self._count()
            said = ui.element("div").classes("w-full")

            def add() -> None:
                fact = count() if kind.value == "count" else table()
                problem = self._workshop.change(choices.with_fact(self._workshop.body, fact))
                if problem is None:
                    ui.notify("Added. What it does to your releases is being worked out.", type="positive")
                    self._begin()
                else:
                    problem_in(said, problem)

            ui.button("Add this fact", icon="add", on_click=add).props("no-caps unelevated")

    def _table(self) -> Callable[[], Fact]:
        """Ask for a table, with a field for each count, or one for all; what is returned writes it as a file does."""
        note("Everybody knows how many people have each value, or each combination of values.")
        with ui.row().classes("items-center gap-4 w-full"):
            names = ui.select([*self._domain], label="Attributes of the table", multiple=True, value=[])
            names.classes("min-w-56 flex-1").props("outlined dense use-chips")
            stated = ui.checkbox("I know the numbers", value=True)
        cells, fields = ui.element("div").classes("w-full"), list[Any]()

        def refresh() -> None:
            cells.clear()
            fields.clear()
            if not names.value or not stated.value:
                return
            many, shown = self._domain.project(names.value).size, choices.cell_names(self._domain, names.value)
            with cells:
                if many <= choices.MOST_FIELDS:
                    with ui.element("div").classes("studio-boxes"):
                        fields.extend(ui.input(label).props("outlined dense inputmode=numeric") for label in shown)
                else:
                    note(f"{many:,} counts, in this order: {'; '.join(shown[:4])}; and so on.")
                    fields.append(ui.textarea("All counts, one on each line").classes("w-full").props("outlined"))

        def entered() -> Fact:
            counts = [str(field.value or "") for field in fields]
            if len(counts) == 1 and isinstance(fields[0], ui.textarea):
                counts = choices.split_counts(counts[0])
            return choices.table_fact(names.value or [], counts if stated.value else None)

        names.on_value_change(refresh)
        stated.on_value_change(refresh)
        return entered

    def _count(self) -> Callable[[], Fact]:
        """Ask for the count of some records; what is returned writes it as a file does."""
        note("Everybody knows how many people have some values. Leave open what does not matter.")
        with ui.element("div").classes("studio-boxes"):
            conditions = {name: self._condition(name) for name in self._domain}
        equals = ui.input("How many they are (may be left open)").classes("w-80 max-w-full")
        equals.props("outlined dense inputmode=numeric")

        def entered() -> Fact:
            given = {name: field.value for name, field in conditions.items()}
            return choices.count_fact(self._domain, given, str(equals.value or ""))

        return entered

    def _condition(self, name: str) -> Any:
        attribute = self._domain[name]
        if attribute.ordered:
            first, last = attribute.show(0), attribute.show(attribute.size // 4)
            if (bounds := getattr(attribute, "bounds", None)) is not None:
                first, last = show(bounds[0]), show(bounds[1])
            return ui.input(f"{name}, as in {first} to {last}").props("outlined dense")
        values = [attribute.value(at) for at in range(min(attribute.size, 20 * MOST_LISTED))]
        return ui.select(values, label=name, multiple=True, value=[]).props("outlined dense use-chips")


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


def facts(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Known facts",
        "Counts that everybody knows already: a census table, a total that was printed. Whoever wants to find out "
        "something about a person knows them too, so the noise must reckon with them.",
    )
    effects = FactEffects(workshop)

    def fill() -> None:
        with ui.element("div").classes("studio-stack"):
            _facts(workshop, effects)
            _FactForm(workshop)
            with ui.column().classes("studio-card"):
                _people(workshop)

    needs = "Declare the attributes of your table first; then you can say what is known about them."
    room = with_policy(workshop, needs, fill, lambda: workshop.good_body["policy"]["domain"])
    follow(room, effects.follow, workshop.changed, gone=effects.close)


def _facts(workshop: Workshop, effects: FactEffects) -> None:
    def listed() -> list[tuple[int, str]]:
        """Number the facts of the file, in words."""
        known = () if workshop.file is None else workshop.file.policy.known
        return [(at, fact.words(workshop.policy.domain)) for at, fact in enumerate(known)]

    def worked_out() -> Any:
        return (len(listed()), effects.stale, effects.turn) if listed() else None

    def none() -> None:
        if not listed():
            notice("No facts are listed. If some counts are in fact public, list them, or the promise weakens.")

    def of_one(number: int) -> None:
        """Show what one fact adds to what the others do."""
        view = None if effects.stale or effects.latest is None else effects.latest.view
        if view is None or not len(listed()) > 1 or number >= len(view.facts) or not view.facts[number]:
            return
        with ui.expansion("What this fact adds").classes("w-full").props("dense"):
            _table(view.facts[number], "it")

    def fact(known: tuple[int, str]) -> None:
        number, words = known
        with ui.column().classes("studio-card"):
            with ui.row().classes("items-start justify-between w-full no-wrap gap-3"):
                ui.label(capitalised(words)).classes("text-weight-medium")
                button = ui.button(icon="delete_outline").props("flat round dense").tooltip("Remove")
                button.props["aria-label"] = f"Remove fact {number + 1}"
                button.on_click(lambda: try_change(workshop, choices.without_fact(workshop.body, number)))
            showing(worked_out, lambda _: of_one(number), workshop.changed, effects.worked_out)

    with ui.element("div").classes("studio-stack"):
        live(none, workshop.changed, shows=lambda: not listed()).classes("empty:hidden")
        keyed(listed, fact, workshop.changed).classes("studio-stack empty:hidden")
        showing(worked_out, lambda _: _effects_of_all(effects), workshop.changed, effects.worked_out)


def _people(workshop: Workshop) -> None:
    """Choose what is known about the number of records, and how many rows a person has."""

    def stated(name: str) -> Any:
        """Return what the last valid file says of the size, the rows of a person or the compensation."""
        return choices.option_of(workshop.good_body, name) if workshop.file is not None else None

    def take(name: str, value: Any) -> bool:
        return try_change(workshop, choices.with_option(workshop.body, name, value))

    def offer(title: str, words: dict[str, str], now: Callable[[], Any], take: Callable[[Any], bool]) -> ui.radio:
        choice = ui.radio(words, value=now()).classes("studio-radio").props(f'aria-label="{title}"')
        chosen_in(choice, now, take, workshop.changed)
        return choice

    def ask_number(title: str, name: str) -> ui.input:
        def now() -> str:
            return "" if stated(name) in choices.SIZES else str(stated(name))

        def take(text: str) -> None:
            problem = workshop.change(choices.with_option(workshop.body, name, read_value(text)))
            field.error = None if problem is None else problem.message

        field = ui.input(title, value=now()).classes("w-56").props("outlined dense")
        typed_in(field, now, take, workshop.changed)
        return field

    def presence() -> bool:
        return workshop.file is not None and workshop.good_body["policy"]["secrets"] == "add_remove"

    def size() -> None:
        if presence():
            note("It is secret: presence is the secret that you chose.")
            return

        def now() -> str:
            return stated("size") if stated("size") in choices.SIZES else "stated"

        choice = offer(
            "The number of records", choices.SIZES, now, lambda value: value == "stated" or take("size", value)
        )
        ask_number("Number of records", "size").bind_visibility_from(choice, "value", value="stated")

    section("The number of records")
    live(size, workshop.changed, shows=presence)
    section("Rows of a person")
    note("The most rows that one person has in the table. The noise grows with it.")
    ask_number("Rows of a person, at most", "rows_per_person")
    with ui.expansion("Advanced: how other records may change", icon="tune").classes("w-full").props("dense"):
        note("A known count stays true when one person's value changes only if other people's values change along.")
        now = partial(stated, "compensation")
        offer("How other records may change", choices.COMPENSATION, now, partial(take, "compensation"))
