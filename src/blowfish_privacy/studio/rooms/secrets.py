"""The room of secrets: what nobody may find out about a person, and what that means for two values."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.policies.explain import not_protected
from blowfish_privacy.statements.policy import Odds, name_only_after, odds_between
from blowfish_privacy.studio.parts import (
    follow,
    heading,
    live,
    live_odds,
    note,
    notice,
    on_chosen,
    section,
    try_change,
    value_field,
)
from blowfish_privacy.studio.rooms.secret_card import SecretCards
from blowfish_privacy.studio.secret_choice import Mode, mode_of, weakens, with_mode
from blowfish_privacy.studio.workshop import OWN, ChosenLoss, Signal, Workshop
from blowfish_privacy.support.exact import show

# Two whole records side by side, for policies whose secrets are not chosen attribute by attribute.

_MOST_ATTRIBUTES = 12


def compare_records(workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
    """Let somebody choose two records, and say what a release may teach about them."""
    if workshop.file is not None:
        _Records(workshop, loss, lost).build()


class _Records:
    """Two records that one tab compares."""

    def __init__(self, workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
        self._workshop, self._loss, self._lost = workshop, loss, lost
        self._moved = Signal()
        domain = self._workshop.policy.domain
        self._names = [*domain][:_MOST_ATTRIBUTES]
        self._chosen = [dict.fromkeys(domain, 0) for _ in range(2)]
        self._chosen[1][self._names[0]] = domain[self._names[0]].size - 1

    def build(self) -> None:
        with ui.column().classes("studio-card"):
            section("Compare two records")
            domain = self._workshop.policy.domain
            if len(self._names) < len(domain.names):
                note(f"Of the attributes, the first {len(self._names)} are shown; the others are equal.")
            for name in self._names:
                with ui.row().classes("items-center gap-3 w-full"):
                    ui.label(name).classes("w-32 text-weight-medium")
                    for number, label in enumerate(("One person", "Another")):
                        now = partial(self._chosen[number].get, name)
                        value_field(domain[name], f"{label}: {name}", now, partial(self._choose, number, name))
            live_odds(self._odds, self._workshop.changed, self._workshop.planned, self._moved, self._lost)

    def _choose(self, number: int, name: str, at: int) -> None:
        self._chosen[number][name] = at
        self._moved.fire()

    def _odds(self) -> Odds | None:
        if self._workshop.file is None or {*self._workshop.policy.domain} != {*self._chosen[0]}:
            return None
        domain = self._workshop.policy.domain
        one, other = (
            {name: domain[name].value(min(at, domain[name].size - 1)) for name, at in chosen.items()}
            for chosen in self._chosen
        )
        differing = frozenset(name for name in one if one[name] != other[name])
        try:
            return odds_between(self._workshop.policy, one, other, self._loss.strength(differing))
        except BlowfishError:
            return None


_MODES: dict[Mode, str] = {
    "cards": "Attribute by attribute: I choose below what is secret about each",
    "attributes": "One attribute at a time: any two values of an attribute, while the others stay as they are",
    "full": "Every two records: differential privacy, the strongest, with the most noise",
    "presence": "Presence: whether a person is in the table at all (add-or-remove differential privacy)",
}
_BY_CARD = "A person's value of each attribute, as its card below says."
_QUESTIONS: dict[Mode, str] = {
    "cards": "Steps then add up over the attributes: two records that differ in several of them are "
    "protected less than two that differ in one. You choose below how far each attribute is protected.",
    "attributes": "Two records that differ in several attributes are then as many steps apart, and protected less.",
    "full": "The number of records then becomes public, and any two records are one step apart.",
    "presence": "The number of records then becomes secret, and any two records are two steps apart: an epsilon means "
    "something else than before. Known facts are not possible with it.",
}


def secrets(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Secrets",
        "Which values of a person must nobody be able to tell apart? The less you need to hide, the more exact your "
        "results.",
    )
    loss, lost = ChosenLoss(workshop), Signal()
    live(lambda: _fill(workshop, loss, lost), workshop.changed, shows=lambda: _outline(workshop))


def _outline(workshop: Workshop) -> Any:
    """Return what decides which parts the room has."""
    body = workshop.good_body
    return None if workshop.file is None else (mode_of(body), body["policy"]["domain"])


def _fill(workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
    if workshop.file is None:
        notice("Declare the attributes of your table first; then you can say what is secret about each.")
        return
    mode = mode_of(workshop.good_body)
    with ui.element("div").classes("studio-stack"):
        _choose_mode(workshop, mode)
        live(lambda: _words(workshop), workshop.changed, shows=lambda: _said(workshop))
        _choose_loss(loss, lost)
        if mode == "cards":
            SecretCards(workshop, loss, lost).build()
        else:
            compare_records(workshop, loss, lost)


def _choose_mode(workshop: Workshop, mode: Mode) -> None:
    single = len(workshop.good_body["policy"]["domain"]) == 1
    offered = {each: words for each, words in _MODES.items() if not single or each in ("cards", "presence")}
    if mode == "other":
        offered["other"] = "As it is written in the file"
    with ui.column().classes("studio-card"):
        section("What is secret about a person")
        choice = (
            ui.radio(offered, value=mode).props('aria-label="What is secret about a person"').classes("studio-radio")
        )

    def take(after: Mode) -> bool:
        if after != "other" and weakens(mode, after):
            _ask(workshop, after, lambda: choice.set_value(mode))
            return True
        return after == "other" or try_change(workshop, with_mode(workshop.body, after)) is None

    on_chosen(choice, lambda: mode, take)


def _ask(workshop: Workshop, after: Mode, back: Any) -> None:
    named = 'persistent aria-label="This changes what you promise"'
    with ui.dialog().props(named) as dialog, ui.card().classes("studio-card w-[34rem]"):
        section("This changes what you promise")
        ui.label(_QUESTIONS[after])
        note("A ledger that was begun with another policy may not fit any more. You can undo the change.")

        def keep() -> None:
            dialog.close()
            back()

        def change() -> None:
            dialog.close()
            if try_change(workshop, with_mode(workshop.body, after)):
                back()

        with ui.row().classes("justify-end w-full"):
            ui.button("Leave it", on_click=keep).props("flat no-caps autofocus")
            ui.button("Change it", on_click=change).props("no-caps")
    dialog.open()


def _said(workshop: Workshop) -> Any:
    if workshop.file is None:
        return None
    policy = workshop.file.policy
    mode, words = mode_of(workshop.good_body), policy.words()
    # Each card says what is protected of its attribute; what holds for all of them is said once.
    alone = mode == "cards" and words.protected
    protected = (_BY_CARD, *words.added) if alone else words.sentences
    return protected, not_protected(policy, name_only_after(policy, workshop.file.budget)), mode


def _words(workshop: Workshop) -> None:
    if workshop.file is None:
        return
    protected, exposed, mode = _said(workshop)
    with ui.element("div").classes("studio-stack"):
        if mode == "other":
            notice("The file has a choice that this form does not know; it is shown here, and changed in the file.")
        with ui.element("div").classes("studio-halves"):
            _sentences("Protected", protected or ("Nothing: the policy has no secret pairs.",), "lock_outline")
            _sentences("Not protected", exposed, "visibility")


def _sentences(title: str, sentences: tuple[str, ...], icon: str) -> None:
    with ui.column().classes("studio-card"):
        with ui.row().classes("items-center gap-2"):
            ui.icon(icon).props("aria-hidden=true").classes("text-lg text-primary")
            TextElement(tag="h2", text=title).classes("studio-section").style("margin: 0")
        for sentence in sentences[:8]:
            ui.label(sentence)
        if len(sentences) > 8:
            note(f"And {len(sentences) - 8:,} more sentences.")


def _choose_loss(loss: ChosenLoss, lost: Signal) -> None:
    """Let somebody choose the loss at which values are compared."""
    workshop = loss.workshop

    with ui.row().classes("items-end gap-4 w-full"):
        which = ui.select(loss.options(), value=loss.chosen, label="Compare values after a loss of")
        which.classes("w-80 max-w-full").props("outlined dense")
        own = ui.input("Epsilon", value=show(loss.own), validation=loss.wrong).classes("w-28")
        own.props("outlined dense").bind_visibility_from(which, "value", value=OWN)

    def chosen(value: str) -> None:
        # What a person chose comes back with the plan that it is about.
        if value != loss.chosen:
            loss.which = value
            lost.fire()

    def typed(text: str | None) -> None:
        if loss.take(text or ""):
            lost.fire()

    def refresh() -> None:
        if (options := loss.options()) != which.options:
            which.set_options(options, value=loss.chosen)

    which.on_value_change(lambda event: chosen(event.value))
    own.on_value_change(lambda event: typed(event.value))
    follow(which, refresh, workshop.changed, workshop.planned)
