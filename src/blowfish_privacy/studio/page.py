"""The frame of the page: the header, the way from room to room, the file beside them, and the room that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.naming import name_elements
from blowfish_privacy.studio.parts.saving import header_buttons
from blowfish_privacy.studio.parts.words import notice, problem_card
from blowfish_privacy.studio.rooms.budget import budget
from blowfish_privacy.studio.rooms.facts import facts
from blowfish_privacy.studio.rooms.file import file_panel
from blowfish_privacy.studio.rooms.publish import publish
from blowfish_privacy.studio.rooms.releases import releases
from blowfish_privacy.studio.rooms.secrets import secrets
from blowfish_privacy.studio.rooms.table import table
from blowfish_privacy.studio.theme import COLOURS, STYLE
from blowfish_privacy.studio.workshop import Workshop


@dataclass(frozen=True)
class Room:
    """A step on the way from a table to a publication."""

    path: str
    title: str
    icon: str
    fill: Callable[[Workshop], None]


ROOMS = (
    Room("/", "Table", "table_chart", table),
    Room("/secrets", "Secrets", "lock_outline", secrets),
    Room("/facts", "Known facts", "public", facts),
    Room("/releases", "Releases", "insights", releases),
    Room("/budget", "Budget", "account_balance_wallet", budget),
    Room("/publish", "Publish", "outbox", publish),
)


def install(workshop: Workshop) -> None:
    """Make the pages of a studio; every tab looks at the same workshop."""

    def frame() -> None:
        _build(workshop)

    for room in ROOMS:
        ui.page(room.path, title="Blowfish studio", response_timeout=30)(frame)


def _build(workshop: Workshop) -> None:
    ui.colors(**COLOURS)
    ui.add_css(STYLE)
    with ui.header().classes("studio-header items-center"):
        menu = ui.button(icon="menu").props('flat round dense aria-label="Rooms"').classes("lt-md")
        TextElement(tag="span", text="Blowfish studio").classes("text-primary text-weight-bold gt-xs")
        live(lambda: _name(workshop), workshop.changed, shows=lambda: _title(workshop)).classes("flex-1 min-w-0")
        header_buttons(workshop)
        panel = ui.button("The file", icon="description").props("outline dense no-caps")
    with ui.left_drawer(bordered=True).classes("p-3 bg-white").props("width=208 breakpoint=1023") as rooms:
        navigation = _navigation()
    with ui.right_drawer(bordered=True, fixed=True).classes("p-0 bg-white").props("width=440 breakpoint=1250") as side:
        file_panel(workshop)
    menu.on_click(rooms.toggle)
    panel.on_click(side.toggle)
    with ui.element("div").classes("w-full") as main:
        live(lambda: _banner(workshop), workshop.changed, shows=lambda: workshop.draft.problem)
        live(lambda: _strangers(workshop), workshop.changed, shows=lambda: workshop.unconfirmed)
        pages = ui.sub_pages({room.path: _filled(room, workshop, navigation) for room in ROOMS})
        pages.classes("w-full")
    _rest_while_broken(workshop, pages)
    pages.client.on_connect(workshop.begin)
    for link in navigation.values():
        # Where there is no room for both, the way through the rooms makes place for the room.
        link.on("click", rooms.hide, js_handler="() => { if (window.innerWidth <= 1023) emit() }")
    name_elements({".q-drawer--left": "The way through the rooms", ".q-drawer--right": "The file"})
    ui.skip_link("Skip to the room", target=main)


def _rest_while_broken(workshop: Workshop, pages: ui.sub_pages) -> None:
    """Grey the rooms, and let nothing in them be pressed, while the text is wrong."""

    def refresh() -> None:
        if workshop.broken:
            pages.classes("studio-stale").props("inert")
        else:
            pages.classes(remove="studio-stale").props(remove="inert")

    pages.client.on_delete(workshop.changed.subscribe(refresh))
    refresh()


def _filled(room: Room, workshop: Workshop, navigation: dict[str, Any]) -> Callable[[], None]:
    def fill() -> None:
        for path, link in navigation.items():
            link.props("aria-current=page" if path == room.path else "", remove="aria-current=page")
        ui.page_title(f"{room.title} - Blowfish studio")
        with ui.column().classes("studio-room"):
            room.fill(workshop)
            _onward(room)

    return fill


def _onward(room: Room) -> None:
    """Lead to the next room."""
    following = ROOMS[ROOMS.index(room) + 1 :]
    if following:
        with ui.link(target=following[0].path).classes("studio-onward"):
            TextElement(tag="span", text=f"Next: {following[0].title}")
            ui.icon("arrow_forward").props("aria-hidden=true")


def _navigation() -> dict[str, Any]:
    links: dict[str, Any] = {}
    with (
        ui.element("nav").classes("studio-nav w-full").props('aria-label="Rooms"'),
        ui.column().classes("gap-1 w-full"),
    ):
        for room in ROOMS:
            with ui.link(target=room.path).classes("w-full") as link:
                ui.icon(room.icon).props("aria-hidden=true")
                TextElement(tag="span", text=room.title)
            links[room.path] = link
    return links


def _title(workshop: Workshop) -> tuple[str, str]:
    draft = workshop.draft
    if draft.path is None:
        return "A new file", "not saved" if draft.text else ""
    return draft.path.name, "saved" if draft.saved else "not saved"


def _name(workshop: Workshop) -> None:
    name, state = _title(workshop)
    with ui.row().classes("items-baseline gap-2 no-wrap min-w-0"):
        ui.label(name).classes("studio-name")
        ui.label(state).classes("studio-note")


def _banner(workshop: Workshop) -> None:
    """Say that the file is broken; rooms show it as it was when it was last valid."""
    problem = workshop.draft.problem
    if problem is None:
        return
    with ui.column().classes("studio-room").style("padding-bottom: 0"):
        problem_card(problem)
        with ui.row().classes("items-center gap-3"):
            before = "The rooms show the last valid file until this is mended in the file, or undone."
            ui.label("Mend this in the file." if workshop.file is None else before)
            if workshop.draft.can_undo:
                ui.button("Undo", on_click=workshop.undo).props("flat dense no-caps")


def _strangers(workshop: Workshop) -> None:
    """Ask about servers that the file names; nothing is sent to one before somebody says yes."""

    def known(server: str) -> None:
        try:
            workshop.confirm(server)
        except BlowfishError as error:
            ui.notify(str(error), type="negative", timeout=10_000, close_button="Close")
        else:
            # What could not be asked before is asked by the rooms when they are made.
            ui.navigate.reload()

    for server in workshop.unconfirmed:
        with ui.column().classes("studio-room").style("padding-bottom: 0"):
            notice(
                f"The file names the server {server}, to which nothing was sent yet. Whoever runs it learns who you "
                "are there: connect only if you know it. You are asked once.",
                icon="dns",
            )
            ui.button(f"Connect to {server}", on_click=partial(known, server)).props("outline no-caps")
