"""The file: the text of everything, beside every room, in step in both directions."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.naming import name_elements
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.workshop import Workshop

_WRONG = "studio-wrong-line"


def file_panel(workshop: Workshop) -> None:
    """Show the text in an editor; what is typed is taken over as it is, and the line of a problem is marked."""
    with ui.column().classes("w-full h-full gap-3 p-4 no-wrap"):
        section("The file")
        note("Everything you choose is written here, and what you write here shows in the rooms.")
        editor = ui.codemirror(
            workshop.draft.text, language="YAML", theme="vscodeLight", indent="  ", line_wrapping=True
        ).classes("studio-editor")
        live(
            lambda: _problem(workshop, editor),
            workshop.changed,
            shows=lambda: (workshop.draft.problem, workshop.unfinished),
        )
    _keep_in_step(workshop, editor)
    name_elements({".studio-editor .cm-content": "The text of the policy file"})


def _problem(workshop: Workshop, editor: ui.codemirror) -> None:
    problem = workshop.draft.problem
    line = None if problem is None else problem.line
    editor.decorations = [] if line is None else [{"kind": "line", "line": line, "class": _WRONG}]
    if problem is None:
        note("Nothing is declared yet." if workshop.unfinished else "The file is valid.")
    else:
        problem_card(problem)
        if line is not None:
            ui.button(f"Show line {line}", on_click=lambda: editor.reveal_line(line)).props("flat dense no-caps")


def _keep_in_step(workshop: Workshop, editor: ui.codemirror) -> None:
    def typed(event: Any) -> None:
        if event.value != workshop.draft.text:
            workshop.write(event.value)

    def changed() -> None:
        if not editor.is_deleted and editor.value != workshop.draft.text:
            editor.value = workshop.draft.text

    editor.on_value_change(typed)
    editor.client.on_delete(workshop.changed.subscribe(changed))
