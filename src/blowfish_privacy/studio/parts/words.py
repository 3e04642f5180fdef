"""Headings, explanations, notices and problems, which look the same in every room."""

from __future__ import annotations

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.studio.draft import Problem


def heading(title: str, lead: str = "") -> None:
    """Head a room with its title, and a sentence that says what it is for."""
    with ui.column().classes("gap-1 w-full"):
        TextElement(tag="h1", text=title).classes("studio-title")
        if lead:
            ui.label(lead).classes("studio-lead")


def section(title: str) -> None:
    """Head a part of a room."""
    TextElement(tag="h2", text=title).classes("studio-section")


def note(words: str) -> ui.label:
    """Explain something in small, quiet type."""
    return ui.label(words).classes("studio-note")


def notice(words: str, *, icon: str = "info") -> None:
    """Say something that must not be overlooked."""
    with ui.row().classes("studio-notice").props("role=note"):
        ui.icon(icon).props("aria-hidden=true")
        ui.label(words)


def problem_card(problem: Problem) -> None:
    """Say what is wrong and what to do."""
    with ui.row().classes("studio-problem").props("role=alert"):
        ui.icon("error_outline").props("aria-hidden=true")
        with ui.column().classes("gap-1"):
            ui.label(problem.message)
            if problem.hint:
                ui.label(f"Hint: {problem.hint}").classes("studio-note")
