"""The fields that say what a release asks about: attributes, tables, shares, numbers of clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nicegui import ui

from blowfish_privacy.domain import Domain
from blowfish_privacy.studio.conditions import numbers_text, read_list, read_tables, tables_text
from blowfish_privacy.studio.parts.following import follow, keeps_up
from blowfish_privacy.studio.release_kinds import Entry, Kind, asked_for, groups_of, names_of, possible, with_key
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.workshop import Workshop


class Form(Protocol):
    """What the fields need of the form that they are in."""

    workshop: Workshop

    @property
    def domain(self) -> Domain:
        """The domain of the file."""
        ...

    @property
    def entry(self) -> Entry:
        """The release as the file has it now."""
        ...

    def change(self, entry: Entry) -> bool:
        """Write the release into the file; say whether the file took it."""
        ...


def question_fields(form: Form, kind: Kind) -> None:
    """Build the fields of one kind of release."""
    if kind.takes == "tables":
        _text(form, kind.keyword, "Tables, one in each line", tables_text, read_tables, lines=True)
    elif kind.takes == "one":
        _one(form, kind)
    elif kind.takes == "two":
        _two(form, kind)
    else:
        _several(form, kind)
    if kind.keyword == "quantiles":
        _text(form, "at", "Shares", numbers_text, read_list)
    if kind.keyword == "kmeans":
        _whole(form, "Clusters", lambda: form.entry.get("k", 4), lambda number: _set(form, "k", number))
    if kind.takes == "ways":
        _whole(form, "Attributes in each table", lambda: _ways(form), lambda number: _set_ways(form, number))


def _whole(form: Form, title: str, value: Callable[[], int], choose: Callable[[int], None]) -> None:
    """Build a field for a whole number."""
    field = ui.number(title, value=int(value()), min=1, precision=0).props("outlined")
    field.on_value_change(lambda event: choose(int(event.value)) if event.value else None)
    _follow(form, field, value)


def _ways(form: Form) -> int:
    return form.entry.get("tables", {}).get("ways", 2)


def _set_ways(form: Form, number: int) -> None:
    _set(form, "tables", {**form.entry["tables"], "ways": number})


def _one(form: Form, kind: Kind) -> None:
    field = ui.select(_options(form, kind), label="Attribute", value=_asked(form, kind)[0]).props("outlined")
    field.on_value_change(lambda event: _ask(form, kind, [event.value]) or _restore(field, _asked(form, kind)[0]))
    _follow(form, field, lambda: _asked(form, kind)[0])


def _two(form: Form, kind: Kind) -> None:
    for number, title in enumerate(("Down", "Across")):
        field = ui.select(_options(form, kind), label=title, value=_asked(form, kind)[number]).props("outlined")
        field.on_value_change(lambda event, number=number: _replace(form, kind, number, event.value))
        _follow(form, field, lambda number=number: _asked(form, kind)[number])


def _several(form: Form, kind: Kind) -> None:
    field = ui.select(_options(form, kind), label="Attributes", value=_asked(form, kind), multiple=True)
    field.props("outlined use-chips")
    field.on_value_change(lambda event: _ask(form, kind, event.value) if event.value else None)
    _follow(form, field, lambda: _asked(form, kind))


def _options(form: Form, kind: Kind) -> list[str]:
    return [*dict.fromkeys([*possible(kind, form.domain), *_asked(form, kind)])]


def _asked(form: Form, kind: Kind) -> list[str]:
    found = names_of(form.entry, kind)
    return found if kind.takes != "two" or len(found) == 2 else [*found, "", ""][:2]


def _replace(form: Form, kind: Kind, number: int, name: str) -> None:
    """Put another attribute in one place; the one that was there takes the other place, if it is the same."""
    names = _asked(form, kind)
    if name == names[1 - number]:
        names[1 - number] = names[number]
    names[number] = name
    _ask(form, kind, names)


def _restore(field: Any, value: Any) -> None:
    """Take back a choice that the file refused."""
    field.value = value


def _ask(form: Form, kind: Kind, names: Sequence[str]) -> bool:
    """Ask about other attributes; say whether the file took it."""
    if list(names) == _asked(form, kind):
        return True
    asked = asked_for(kind, names)
    if kind.takes == "ways":
        asked = {"ways": min(_ways(form), len(names)), "of": list(names)}
    entry = with_key(form.entry, kind.keyword, asked)
    # What is asked about is no group any more.
    return form.change(with_key(entry, "by", [name for name in groups_of(entry) if name not in names]))


def _set(form: Form, key: str, value: Any) -> None:
    if value != form.entry.get(key):
        form.change(with_key(form.entry, key, value))


def _text(
    form: Form,
    key: str,
    title: str,
    write: Callable[[Any], str],
    read: Callable[[str], Any],
    *,
    lines: bool = False,
) -> None:
    """Build a field for what is written as text; it is read when a person leaves it."""
    shown = write(form.entry.get(key, []))
    field = ui.textarea(title, value=shown).props("outlined autogrow") if lines else ui.input(title, value=shown)
    field.props("outlined")

    def done() -> None:
        if read(str(field.value)):
            _set(form, key, read(str(field.value)))

    field.on("blur", done)
    if not lines:
        field.on("keydown.enter", done)
    keeps_up(field, lambda: write(form.entry.get(key, [])), form.workshop.changed)


def _follow(form: Form, field: Any, value: Callable[[], Any]) -> None:
    """Show in a field what the file says, whoever changed it."""
    shows(field, value, form.workshop.changed)


def shows(field: Any, value: Callable[[], Any], signal: Signal) -> None:
    """Show in a field what is true now, whenever a signal fires."""

    def refresh() -> None:
        if field.value != (now := value()):
            field.value = now

    follow(field, refresh, signal)
