"""The room of known facts: what everybody knows about the table already, what it costs, and what it gives back."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from blowfish_privacy.errors import SpecError
from blowfish_privacy.studio.fact_effects import FactEffects
from blowfish_privacy.studio.fact_entry import option_of, whole, with_option, without_fact
from blowfish_privacy.studio.last_good import last_good_body
from blowfish_privacy.studio.parts.following import follow, keeps_up
from blowfish_privacy.studio.parts.live import keyed, live
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
                remove = ui.button(icon="delete_outline", on_click=partial(_remove, workshop, number))
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
    return last_good_body(workshop)["policy"]["secrets"] == "add_remove" if workshop.file is not None else False


def _option(workshop: Workshop, name: str) -> Any:
    """Return what the last valid file says of the size, the rows of a person or the compensation."""
    body = last_good_body(workshop)
    return option_of(body, name) if body else None


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

    def take(value: Any) -> None:
        if value not in ("stated", kind()) and try_change(workshop, with_option(workshop.body, "size", value)):
            choice.set_value(kind())

    choice.on_value_change(lambda event: take(event.value))
    for event in ("blur", "keydown.enter"):
        number.on(event, lambda: _typed(workshop, number, "size", "the number of records"))
    keeps_up(choice, kind, workshop.changed)
    keeps_up(number, count, workshop.changed)


def _rows(workshop: Workshop) -> None:
    note("The most rows that one person has in the table. The noise grows with it.")
    field = ui.input("Rows of a person, at most", value=str(_option(workshop, "rows_per_person")))
    field.classes("w-56").props("outlined dense")
    for event in ("blur", "keydown.enter"):
        field.on(event, lambda: _typed(workshop, field, "rows_per_person", "the number of rows"))
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

    def take(value: Any) -> None:
        if value != now() and try_change(workshop, with_option(workshop.body, "compensation", value)):
            choice.set_value(now())

    choice.on_value_change(lambda event: take(event.value))
    keeps_up(choice, now, workshop.changed)
