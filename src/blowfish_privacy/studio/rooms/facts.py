"""The room of known facts: what everybody knows about the table already, what it costs, and what it gives back."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from blowfish_privacy.errors import SpecError
from blowfish_privacy.studio.fact_effects import FactEffects
from blowfish_privacy.studio.fact_entry import option_of, whole, with_option, without_fact
from blowfish_privacy.studio.last_good import last_good_body
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.problems import try_change
from blowfish_privacy.studio.parts.words import heading, note, notice, section
from blowfish_privacy.studio.rooms.fact_form import fact_form
from blowfish_privacy.studio.rooms.fact_table import effects_of_all, effects_of_one
from blowfish_privacy.studio.workshop import Workshop

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
    return None if workshop.file is None else last_good_body(workshop)["policy"]["domain"]


def _fill(workshop: Workshop, effects: FactEffects) -> None:
    if workshop.file is None:
        notice("Declare the attributes of your table first; then you can say what is known about them.")
        return
    with ui.element("div").classes("studio-stack"):
        live(lambda: _facts(workshop, effects), workshop.changed, effects.worked_out, shows=lambda: _known(effects))
        fact_form(workshop)
        _people(workshop)


def _known(effects: FactEffects) -> Any:
    return effects.stale, effects.turn


def _facts(workshop: Workshop, effects: FactEffects) -> None:
    file = workshop.file
    if file is None:
        return
    known = file.policy.known
    with ui.element("div").classes("studio-stack"):
        if not known:
            notice("No facts are listed. If some counts are public in truth, list them, or the promise weakens.")
        for number, fact in enumerate(known):
            words = fact.words(file.policy.domain)
            with ui.column().classes("studio-card"):
                with ui.row().classes("items-start justify-between w-full no-wrap gap-3"):
                    ui.label(f"{words[:1].upper()}{words[1:]}").classes("text-weight-medium")
                    remove = ui.button(icon="delete_outline", on_click=partial(_remove, workshop, number))
                    remove.props(f'flat round dense aria-label="Remove fact {number + 1}"').tooltip("Remove")
                if len(known) > 1:
                    effects_of_one(effects, number)
        if known:
            effects_of_all(effects)


def _remove(workshop: Workshop, number: int) -> None:
    try_change(workshop, without_fact(workshop.body, number))


def _people(workshop: Workshop) -> None:
    """Choose what is known about the number of records, and how many rows a person has."""
    with ui.column().classes("studio-card"):
        section("The number of records")
        live(lambda: _size(workshop), workshop.changed, shows=lambda: _options(workshop))
        section("Rows of a person")
        live(lambda: _rows(workshop), workshop.changed, shows=lambda: _options(workshop))
        with ui.expansion("More: how others move along", icon="tune").classes("w-full").props("dense"):
            live(lambda: _compensation(workshop), workshop.changed, shows=lambda: _options(workshop))


def _options(workshop: Workshop) -> Any:
    body = last_good_body(workshop)
    if not body:
        return None
    names = ("size", "rows_per_person", "compensation")
    return [option_of(body, name) for name in names], body["policy"]["secrets"] == "add_remove"


def _size(workshop: Workshop) -> None:
    (size, _, _), presence = _options(workshop)
    if presence:
        note("It is secret: presence is the secret that you chose.")
        return
    choice = ui.radio(_SIZES, value=size if size in _SIZES else "stated").classes("studio-radio")
    choice.props('aria-label="The number of records"')
    number = ui.input("Number of records", value="" if size in _SIZES else str(size)).classes("w-56")
    number.props("outlined dense").bind_visibility_from(choice, "value", value="stated")

    def take(value: Any) -> None:
        if value == "stated":
            _typed(workshop, number, "size", "the number of records")
        elif value != size and try_change(workshop, with_option(workshop.body, "size", value)):
            choice.set_value(size if size in _SIZES else "stated")

    choice.on_value_change(lambda event: event.value != "stated" and take(event.value))
    number.on("blur", lambda: take("stated"))
    number.on("keydown.enter", lambda: take("stated"))


def _rows(workshop: Workshop) -> None:
    (_, rows, _), _ = _options(workshop)
    note("The most rows that one person has in the table. The noise grows with it.")
    field = ui.input("Rows of a person, at most", value=str(rows)).classes("w-56").props("outlined dense")
    for event in ("blur", "keydown.enter"):
        field.on(event, lambda: _typed(workshop, field, "rows_per_person", "the number of rows"))


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
    (_, _, compensation), _ = _options(workshop)
    note("A known count stays true when one person's value changes only if other people's values change along.")
    choice = ui.radio(_COMPENSATION, value=compensation).classes("studio-radio")
    choice.props('aria-label="How others move along"')

    def take(value: Any) -> None:
        if value != compensation and try_change(workshop, with_option(workshop.body, "compensation", value)):
            choice.set_value(compensation)

    choice.on_value_change(lambda event: take(event.value))
