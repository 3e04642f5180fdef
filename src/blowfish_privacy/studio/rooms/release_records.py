"""The fields that say of which records a release is, and for which groups."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blowfish_privacy.studio.conditions import condition_text, read_condition
from blowfish_privacy.studio.parts.following import keeps_up
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.words import note
from blowfish_privacy.studio.release_kinds import groups_of, kind_of, names_of, with_key
from blowfish_privacy.studio.rooms.release_questions import Form, shows


def record_fields(form: Form) -> None:
    """Build the fields: the groups, and a condition on each of some attributes."""
    with ui.column().classes("w-full gap-4 py-2"):
        live(lambda: _grouping(form), form.workshop.changed, shows=lambda: _asked(form))
        conditions = live(lambda: _conditions(form), form.workshop.changed, shows=lambda: [*_where(form)])
        conditions.classes("flex flex-col gap-3")


def _grouping(form: Form) -> None:
    # What the release looks at is the same within each group.
    others = [name for name in form.domain.names if name not in _asked(form)]
    options = [*dict.fromkeys([*others, *groups_of(form.entry)])]
    groups = ui.select(options, label="For each value of", value=groups_of(form.entry), multiple=True)
    groups.props("outlined use-chips clearable").classes("w-full max-w-xl")
    groups.on_value_change(lambda: _group(form, groups))
    shows(groups, lambda: groups_of(form.entry), form.workshop.changed)


def _group(form: Form, field: ui.select) -> None:
    chosen = [str(name) for name in field.value or []]
    if chosen != groups_of(form.entry) and not form.change(with_key(form.entry, "by", chosen)):
        field.value = groups_of(form.entry)


def _asked(form: Form) -> list[str]:
    kind = kind_of(form.entry)
    return names_of(form.entry, kind) if kind is not None else []


def _where(form: Form) -> dict[str, Any]:
    return form.entry.get("where") or {}


def _conditions(form: Form) -> None:
    where = _where(form)
    for name in where:
        with ui.row().classes("w-full items-center gap-3 no-wrap max-w-xl"):
            _condition(form, name)
    left = [name for name in form.domain.names if name not in where]
    if left:
        adding = ui.select(left, label="Only records with some values of").props("outlined").classes("w-full max-w-xl")
        adding.on_value_change(lambda event: _add(form, event.value) if event.value else None)
    note("Write one value, several with commas, or a range such as 25 to 54.")


def _condition(form: Form, name: str) -> None:
    attribute = form.domain[name]
    field = ui.input(f"Values of {name}", value=condition_text(_where(form)[name], attribute)).props("outlined")
    field.classes("flex-1")

    def done() -> None:
        if str(field.value).strip():
            form.change(
                with_key(form.entry, "where", {**_where(form), name: read_condition(str(field.value), attribute)})
            )

    field.on("blur", done)
    field.on("keydown.enter", done)
    remove = ui.button(icon="close", on_click=lambda: _remove(form, name))
    remove.props("flat round dense").props["aria-label"] = f"Leave out the condition on {name}"
    keeps_up(field, lambda: condition_text(_where(form).get(name, ""), attribute), form.workshop.changed)


def _add(form: Form, name: str) -> None:
    attribute = form.domain[name]
    first = attribute.show(0)
    value = read_condition(
        f"{first} to {attribute.show(attribute.size - 1)}" if attribute.ordered else first, attribute
    )
    form.change(with_key(form.entry, "where", {**_where(form), name: value}))


def _remove(form: Form, name: str) -> None:
    form.change(with_key(form.entry, "where", {each: old for each, old in _where(form).items() if each != name}))
