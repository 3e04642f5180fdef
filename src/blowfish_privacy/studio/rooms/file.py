"""The file: the text of everything, beside every room, in step in both directions."""

from __future__ import annotations

from nicegui import ui

from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.naming import name_elements
from blowfish_privacy.studio.parts.text_editor import TextEditor
from blowfish_privacy.studio.parts.words import note, problem_card, section
from blowfish_privacy.studio.workshop import Workshop

_WRONG = "studio-wrong-line"
_TOO_LONG = "The text is too long for the page and was not taken. Undo it there, and edit such a file elsewhere."


def file_panel(workshop: Workshop) -> None:
    """Show the text in an editor; what is typed is taken over as it is, and the line of a problem is marked."""

    def typed(text: str | None) -> None:
        if text is None:
            ui.notify(_TOO_LONG, type="negative", timeout=0, close_button="Close")
        elif text != workshop.draft.text:
            workshop.write(text)

    with ui.column().classes("w-full h-full gap-3 p-4 no-wrap"):
        section("The file")
        note("Everything you choose is written here, and what you write here shows in the rooms.")
        editor = TextEditor(workshop.draft.text, typed)
        editor.classes("studio-editor")
        live(
            lambda: _problem(workshop, editor),
            workshop.changed,
            shows=lambda: (workshop.draft.problem, workshop.unfinished),
        )

    def changed() -> None:
        if not editor.is_deleted:
            editor.show(workshop.draft.text)

    editor.client.on_delete(workshop.changed.subscribe(changed))
    name_elements({".studio-editor .cm-content": "The text of the policy file"})


def _problem(workshop: Workshop, editor: TextEditor) -> None:
    problem = workshop.draft.problem
    line = None if problem is None else problem.line
    editor.mark_line(line, _WRONG)
    if problem is None:
        note("Nothing is declared yet." if workshop.unfinished else "The file is valid.")
    else:
        problem_card(problem)
        if line is not None:
            ui.button(f"Show line {line}", on_click=lambda: editor.reveal_line(line)).props("flat dense no-caps")
