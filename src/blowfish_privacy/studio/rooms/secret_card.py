"""A card for each attribute: what is secret about it, the picture of that, and what it means for two values."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import about_attribute
from blowfish_privacy.studio.chosen_loss import ChosenLoss
from blowfish_privacy.studio.last_good import last_good_body
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.problems import try_change
from blowfish_privacy.studio.parts.words import note
from blowfish_privacy.studio.rooms.secret_controls import CONTROLS
from blowfish_privacy.studio.rooms.value_pair import ValuePair
from blowfish_privacy.studio.secret_choice import (
    Kind,
    choice_of,
    first_choice,
    kind_of_choice,
    kinds_for,
    policy_with,
    with_choice,
)
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.value_text import declared
from blowfish_privacy.studio.workshop import Workshop

KINDS: dict[Kind, str] = {
    "full": "Every two values",
    "threshold": "Values close to each other",
    "width": "Values in one block, all equally wide",
    "cuts": "Values in one block, cut where I say",
    "groups": "Values in one group",
    "within": "Values below one name of a level",
    "public": "Nothing: everybody may know it",
    "other": "As it is written in the file",
}
_ONLY_PRESENCE = "Nothing but whether a person is in the table"
"""What ``public`` means where the number of records is secret."""
_OPEN_AT_ONCE = 3


class SecretCards:
    """The cards of one tab; those that are closed cost nothing."""

    def __init__(self, workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
        self._workshop, self._loss, self._lost = workshop, loss, lost

    def build(self) -> None:
        """Build a card for each attribute; only the first few are open."""
        if self._workshop.file is None:
            return
        for number, name in enumerate(self._workshop.file.policy.domain):
            self._card(name, opened=number < _OPEN_AT_ONCE)

    def _card(self, name: str, *, opened: bool) -> None:
        card = SecretCard(self._workshop, name, self._loss, self._lost)
        with ui.expansion(value=opened).classes("studio-expansion") as expansion:
            with expansion.add_slot("header"):
                card.title()
            inside = ui.column().classes("w-full")

        def fill() -> None:
            if expansion.value and not inside.default_slot.children:
                with inside:
                    card.build()

        expansion.on_value_change(fill)
        fill()


class SecretCard:
    """What is secret about one attribute."""

    def __init__(self, workshop: Workshop, name: str, loss: ChosenLoss, lost: Signal) -> None:
        self.workshop, self.name = workshop, name
        self._pair = ValuePair(workshop, name, loss, lost)

    @property
    def policy(self) -> Policy:
        """The policy of the last valid file."""
        if self.workshop.file is None:
            raise RuntimeError("cards are shown for a policy only")
        return self.workshop.file.policy

    @property
    def graph(self) -> SecretGraph:
        """The secret graph of the attribute."""
        return self.policy.graph.project([self.name])

    @property
    def exists(self) -> bool:
        """Whether the policy still has the attribute, and cards."""
        return self.workshop.file is not None and self.name in self.policy.domain and self.policy.graph.homogeneous

    @property
    def choice(self) -> Any:
        """What the file says about the attribute."""
        return choice_of(last_good_body(self.workshop), self.name)

    @property
    def kind(self) -> Kind:
        """Which of the choices that is."""
        return kind_of_choice(self.choice, self.policy.domain[self.name], self.graph)

    def _chosen(self) -> Any:
        return self.exists and (self.kind, self._words_for("public"))

    def _words_for(self, kind: Kind) -> str:
        return _ONLY_PRESENCE if kind == "public" and self.policy.size == "unknown" else KINDS[kind]

    def change(self, choice: Any) -> bool:
        """Say something else about the attribute; return whether it could be."""
        return try_change(self.workshop, with_choice(self.workshop.body, self.name, choice)) is None

    def preview(self, choice: Any) -> None:
        """Show in the picture what a choice would mean that is not made yet; the file stays as it is."""
        try:
            self._pair.preview(policy_with(self.policy, self.name, choice))
        except BlowfishError:
            # What is wrong with it is said when it is chosen.
            self.redraw()

    def redraw(self) -> None:
        """Show in the picture what the file says."""
        self._pair.preview(self.policy)

    def title(self) -> None:
        """Head the card: the attribute, its values, and what is secret, in a word."""
        with ui.row().classes("items-baseline gap-3 w-full"):
            TextElement(tag="h2", text=self.name).classes("studio-section").style("margin: 0")
            note(declared(self.policy.domain[self.name]))

        def summary() -> None:
            if self.exists:
                ui.label(self._words_for(self.kind)).classes("studio-chip")

        live(summary, self.workshop.changed, shows=self._chosen).classes(remove="w-full")

    def build(self) -> None:
        """Build the inside: the choice and its details on the left, the picture and two values on the right."""
        with ui.element("div").classes("studio-card-halves"):
            with ui.column().classes("gap-4 w-full"):
                live(self._choices, self.workshop.changed, shows=self._chosen)
                live(self._words, self.workshop.changed, shows=self._said)
            with ui.column().classes("gap-3 w-full min-w-0"):
                self._pair.build()

    def _choices(self) -> None:
        if not self.exists:
            return
        attribute, kind = self.policy.domain[self.name], self.kind
        offered = {each: self._words_for(each) for each in kinds_for(attribute)}
        if kind not in offered:
            offered[kind] = self._words_for(kind)
        options = ui.radio(offered, value=kind).classes("studio-radio")
        options.props["aria-label"] = f"What is secret about {self.name}"
        if kind in CONTROLS:
            with ui.column().classes("gap-3 w-full pt-2"):
                CONTROLS[kind](self)

        def chosen(after: Kind) -> None:
            if after not in (kind, "other") and not self.change(first_choice(after, attribute)):
                options.set_value(kind)

        options.on_value_change(lambda event: chosen(event.value))

    def _said(self) -> Any:
        return self.exists and about_attribute(self.policy, self.name)

    def _words(self) -> None:
        for sentence in self._said() or ():
            note(sentence)
