"""The frame of the page: the header, the way from room to room, the file beside them, and the room that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.parts import (
    TextEditor,
    follow,
    header_buttons,
    live,
    name_elements,
    note,
    notice,
    problem_card,
    say_problem,
    section,
)
from blowfish_privacy.studio.rooms.budget import budget
from blowfish_privacy.studio.rooms.facts import facts
from blowfish_privacy.studio.rooms.publish import publish
from blowfish_privacy.studio.rooms.releases import releases
from blowfish_privacy.studio.rooms.secrets import secrets
from blowfish_privacy.studio.rooms.table import table
from blowfish_privacy.studio.workshop import Workshop

# How the studio looks: one style sheet, a few colours that keep their contrast, nothing from elsewhere.

COLOURS = {"primary": "#1a5f9e", "secondary": "#3d4a5c", "accent": "#b3541e", "positive": "#1b7f4b"} | {
    "negative": "#b3261e",
    "warning": "#9a5b00",
    "info": "#1a5f9e",
}
"""Quasar's names of colours; each has a contrast of at least 4.5 to white."""

STYLE = """
:root { --ink: #1f2733; --quiet: #566070; --line: #d9dee6; --paper: #ffffff; --ground: #f5f7fa; }
body { background: var(--ground); color: var(--ink); }
.nicegui-content { padding: 0; }
.nicegui-link { color: #1a5f9e; }
.studio-room { width: 100%; max-width: 1080px; margin: 0 auto; padding: 28px 28px 80px; gap: 20px; }
.studio-title { font-size: 1.65rem; line-height: 1.25; font-weight: 600; margin: 0; }
.studio-lead { color: var(--quiet); font-size: 1.02rem; max-width: 46rem; }
.studio-section { font-size: 1.15rem; line-height: 1.3; font-weight: 600; margin: 8px 0 0; }
.studio-note { color: var(--quiet); font-size: 0.875rem; }
.studio-card { width: 100%; background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 20px; gap: 12px; box-shadow: none; }
.studio-notice, .studio-problem { width: 100%; border-radius: 8px; padding: 10px 14px; gap: 10px; flex-wrap: nowrap;
  align-items: flex-start; border: 1px solid; }
.studio-notice { background: #eef4fb; border-color: #c3d7ec; }
.studio-problem { background: #fdf0ef; border-color: #eac1be; }
.studio-notice .q-icon { color: #1a5f9e; font-size: 1.25rem; margin-top: 1px; }
.studio-problem .q-icon { color: #b3261e; font-size: 1.25rem; margin-top: 1px; }
.studio-stale { opacity: 0.45; transition: opacity 0.15s; }
.studio-header { background: var(--paper); color: var(--ink); border-bottom: 1px solid var(--line); box-shadow: none;
  padding: 6px 14px; gap: 10px; min-height: 52px; flex-wrap: nowrap; }
.studio-name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.studio-nav a { display: flex; gap: 12px; align-items: center; padding: 9px 14px; border-radius: 8px; color: var(--ink);
  text-decoration: none; }
.studio-nav a:hover { background: #eef1f5; }
.studio-nav a[aria-current=page] { background: #e3edf7; color: #12487a; font-weight: 600; }
.studio-nav .q-icon { font-size: 1.3rem; }
.studio-editor { width: 100%; flex: 1 1 auto; min-height: 0; border: 1px solid var(--line); border-radius: 8px;
  overflow: hidden; background: var(--paper); font-size: 0.82rem; }
.studio-editor .cm-editor { height: 100%; }
.studio-wrong-line { background: #fbdcd9 !important; box-shadow: inset 3px 0 #b3261e; }
.studio-wrong-line span { color: var(--ink) !important; }
.studio-onward { display: inline-flex; gap: 8px; align-items: center; align-self: flex-end; padding: 8px 4px;
  color: #1a5f9e; font-weight: 500; text-decoration: none; }
.studio-onward:hover { text-decoration: underline; }
.studio-table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.studio-table th { text-align: left; font-weight: 600; color: var(--quiet); }
.studio-table th, .studio-table td { padding: 7px 18px 7px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
.studio-table caption { text-align: left; color: var(--quiet); padding-bottom: 6px; }
.studio-more { background:
    linear-gradient(var(--paper) 40%, transparent) top / 100% 40px no-repeat local,
    linear-gradient(transparent, var(--paper) 60%) bottom / 100% 40px no-repeat local,
    linear-gradient(#c3cad4, transparent) top / 100% 12px no-repeat scroll,
    linear-gradient(transparent, #c3cad4) bottom / 100% 12px no-repeat scroll; }
.studio-acting tr > :last-child { position: sticky; right: 0; background: var(--paper); padding: 7px 0 7px 10px; }
.studio-scroll { width: 100%; overflow-x: auto; flex: none; }
a:focus-visible, button:focus-visible, .q-btn:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid #1a5f9e; outline-offset: 2px; }
.studio-halves { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; width: 100%; }
.studio-card-halves { display: grid; grid-template-columns: minmax(15rem, 2fr) minmax(0, 3fr); gap: 28px; width: 100%; }
.studio-expansion { width: 100%; background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }
.studio-expansion > .q-expansion-item__container > .q-item { padding: 12px 20px; border-radius: 10px; gap: 12px;
  align-items: center; }
.studio-expansion .q-expansion-item__content { padding: 4px 20px 20px; }
.studio-stack { display: flex; flex-direction: column; gap: 16px; width: 100%; }
.studio-radio { margin-left: -8px; }
.studio-radio .q-radio__label { line-height: 1.3; padding: 3px 0; }
.studio-chip { background: #e3edf7; color: #12487a; border-radius: 14px; padding: 3px 12px; font-size: 0.85rem;
  white-space: nowrap; }
.studio-boxes { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 10px; width: 100%; }
.studio-box { border: 1px solid var(--line); border-radius: 8px; padding: 8px; gap: 6px; background: var(--ground); }
.studio-box-new { border-style: dashed; background: var(--paper); }
.studio-chips { width: 100%; min-height: 34px; gap: 6px; }
.studio-chips .studio-chip { cursor: grab; }
.studio-block { border: 1px solid var(--line); border-radius: 8px; padding: 2px 4px 2px 12px; min-height: 36px; }
.studio-odds { width: 100%; padding: 4px 0 0; }
.studio-odds-line { position: relative; height: 14px; border-radius: 7px; background: #e8ebf0; overflow: hidden; }
.studio-odds-range { position: absolute; top: 0; bottom: 0; background: #1a5f9e; }
.studio-odds-open { background: repeating-linear-gradient(45deg, #b3261e 0 6px, #d98984 6px 12px); }
.studio-odds-before { position: absolute; top: 0; bottom: 0; width: 3px; margin-left: -1px; background: #ffffff; }
.studio-odds-scale { display: grid; grid-template-columns: 1fr auto 1fr; padding-top: 3px; font-size: 0.8rem;
  color: var(--quiet); }
.studio-odds-scale > :last-child { text-align: right; }
.q-notification__actions { color: #ffffff !important; }
.studio-break { overflow-wrap: anywhere; }
.studio-columns { list-style: none; margin: 0; padding: 0; width: 100%; }
.studio-columns li { display: grid; grid-template-columns: minmax(8rem, 2fr) minmax(0, 3fr) 8rem; gap: 4px 20px;
  align-items: center; padding: 10px 0; border-top: 1px solid var(--line); }
.studio-columns li > :last-child { justify-self: end; }
.studio-warning { color: #9a5b00; font-size: 0.875rem; }
.studio-dialog { width: 34rem; max-width: 100%; }
.studio-browser { width: 40rem; max-width: 100%; flex-wrap: nowrap; }
.studio-files { width: 100%; gap: 0; overflow-y: auto; max-height: 50vh; flex-wrap: nowrap;
  border: 1px solid var(--line); border-radius: 8px; padding: 6px; }
.q-field__label { color: var(--quiet); }
@media (max-width: 900px) { .studio-halves, .studio-card-halves { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 700px) { .studio-columns li { grid-template-columns: minmax(0, 1fr) auto; }
  .studio-columns li > :nth-child(2) { grid-column: 1; grid-row: 2; } }
@media (max-width: 700px) { .studio-acting tr > :last-child { box-shadow: inset 2px 0 var(--line); } }
@media (max-width: 700px) { .studio-room { padding: 18px 14px 60px; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""


# The file: the text of everything, beside every room, in step in both directions.

_WRONG = "studio-wrong-line"
_TOO_LONG = "The text is too long for the page and was not taken. Undo it there, and edit such a file elsewhere."


def file_panel(workshop: Workshop) -> None:
    """Show the text in an editor; what is typed is taken over as it is, and the line of a problem is marked."""

    def typed(text: str | None) -> None:
        if text is None:
            ui.notify(_TOO_LONG, type="negative", timeout=0, close_button="Close")
        elif text != workshop.draft.text:
            workshop.write(text)

    def verdict() -> None:
        problem = workshop.draft.problem
        line = None if problem is None else problem.line
        editor.mark_line(line, _WRONG)
        if problem is None:
            note("Nothing is declared yet." if workshop.unfinished else "The file is valid.")
        else:
            problem_card(problem)
            if line is not None:
                ui.button(f"Show line {line}", on_click=lambda: editor.reveal_line(line)).props("flat dense no-caps")

    with ui.column().classes("w-full h-full gap-3 p-4 no-wrap"):
        section("The file")
        note("Everything you choose is written here, and what you write here shows in the rooms.")
        editor = TextEditor(workshop.draft.text, typed)
        editor.classes("studio-editor")
        live(verdict, workshop.changed, shows=lambda: (workshop.draft.problem, workshop.unfinished))
    follow(editor, lambda: editor.show(workshop.draft.text), workshop.changed)
    name_elements({".studio-editor .cm-content": "The text of the policy file"})


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
        _name(workshop)
        header_buttons(workshop)
        panel = ui.button("The file", icon="description").props("outline dense no-caps")
    with ui.left_drawer(value=True, bordered=True).classes("p-3 bg-white").props("width=208 breakpoint=1023") as rooms:
        navigation = _navigation()
    with ui.right_drawer(value=True, bordered=True).classes("p-0 bg-white").props("width=440 breakpoint=1250") as side:
        file_panel(workshop)
    for drawer in (rooms, side):
        # The page shows it where there is room. Made without a value, the framework would ask the page once it is
        # connected, and open or close what somebody has begun to use.
        drawer.value = None
    menu.on_click(rooms.toggle)
    panel.on_click(side.toggle)
    with ui.element("div").classes("w-full") as main:
        live(lambda: _banner(workshop), workshop.changed, shows=lambda: workshop.draft.problem)
        live(lambda: _strangers(workshop), workshop.changed, shows=lambda: workshop.unconfirmed)
        pages = ui.sub_pages({room.path: _filled(room, workshop, navigation) for room in ROOMS})
        pages.classes("w-full")

    def rest_while_broken() -> None:
        """Grey the rooms, and let nothing in them be pressed, while the text is wrong."""
        if workshop.broken:
            pages.classes("studio-stale").props("inert")
        else:
            pages.classes(remove="studio-stale").props(remove="inert")

    follow(pages, rest_while_broken, workshop.changed)
    pages.client.on_connect(workshop.begin)
    for link in navigation.values():
        # Where there is no room for both, the way through the rooms makes place for the room.
        link.on("click", rooms.hide, js_handler="() => { if (window.innerWidth <= 1023) emit() }")
    name_elements({".q-drawer--left": "The way through the rooms", ".q-drawer--right": "The file"})
    ui.skip_link("Skip to the room", target=main)


def _filled(room: Room, workshop: Workshop, navigation: dict[str, Any]) -> Callable[[], None]:
    def fill() -> None:
        for path, link in navigation.items():
            link.props("aria-current=page" if path == room.path else "", remove="aria-current=page")
        ui.page_title(f"{room.title} - Blowfish studio")
        with ui.column().classes("studio-room"):
            room.fill(workshop)
            if following := ROOMS[ROOMS.index(room) + 1 :]:
                with ui.link(target=following[0].path).classes("studio-onward"):
                    TextElement(tag="span", text=f"Next: {following[0].title}")
                    ui.icon("arrow_forward").props("aria-hidden=true")

    return fill


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


def _name(workshop: Workshop) -> None:
    def title() -> tuple[str, str]:
        draft = workshop.draft
        if draft.path is None:
            return "A new file", "not saved" if draft.text else ""
        return draft.path.name, "saved" if draft.saved else "not saved"

    def build() -> None:
        name, state = title()
        with ui.row().classes("items-baseline gap-2 no-wrap min-w-0"):
            ui.label(name).classes("studio-name")
            note(state)

    live(build, workshop.changed, shows=title).classes("flex-1 min-w-0")


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
        # The question goes with the answer, the page does not.
        page = ui.context.client.content
        try:
            workshop.confirm(server)
        except BlowfishError as error:
            say_problem(error)
        else:
            with page:
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
