"""Groups of categories: dragged from box to box, or moved by a menu, which works with the keyboard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.words import note
from blowfish_privacy.studio.secret_choice import groups_choice, groups_of

if TYPE_CHECKING:
    from blowfish_privacy.studio.rooms.secret_card import SecretCard


def groups_control(card: SecretCard) -> None:
    """Show the groups as boxes of categories, with an empty one for a new group."""
    note("Drag a category into another box, or press it to choose its group.")
    live(lambda: _Boxes(card).build(), card.workshop.changed, shows=lambda: card.exists and groups_of(card.graph))


class _Boxes:
    """The boxes of one card, as the file has them."""

    def __init__(self, card: SecretCard) -> None:
        self._card = card
        self._attribute = card.policy.domain[card.name]
        self._groups = groups_of(card.graph)
        self._numbers: dict[int, int] = {}
        """The group of each box, by the element's id."""
        self._positions: dict[int, int] = {}
        """The category of each chip, by the element's id."""

    def build(self) -> None:
        with ui.element("div").classes("studio-boxes"):
            for group in range(max(self._groups) + 2):
                self._box(group)

    def _box(self, group: int) -> None:
        members = [at for at, own in enumerate(self._groups) if own == group]
        title = f"Group {group + 1}" if members else "A new group"
        with ui.column().classes("studio-box" if members else "studio-box studio-box-new"):
            TextElement(tag="span", text=title).classes("studio-note")
            with ui.row().classes("studio-chips") as chips:
                for at in members:
                    self._chip(at, group)
        self._numbers[chips.id] = group
        chips.make_sortable(group=f"groups of {self._card.name}", on_end=self._dropped)

    def _chip(self, at: int, group: int) -> None:
        text = self._attribute.show(at)
        with ui.button(text).props("flat dense no-caps").classes("studio-chip") as chip:
            chip.props["aria-label"] = f"{text}: choose its group"
            with ui.menu():
                for other in range(max(self._groups) + 2):
                    if other != group:
                        new = other > max(self._groups)
                        words = "Move to a new group" if new else f"Move to group {other + 1}"
                        ui.menu_item(words, on_click=partial(self._move, at, other)).props("role=menuitem")
        self._positions[chip.id] = at

    def _dropped(self, event: Any) -> None:
        group = self._numbers.get(event.target.id)
        at = self._positions.get(event.item.id)
        if group is not None and at is not None:
            self._move(at, group)

    def _move(self, at: int, group: int) -> None:
        if self._groups[at] == group:
            return
        moved = [*self._groups[:at], group, *self._groups[at + 1 :]]
        self._card.change(groups_choice(self._attribute, moved))
