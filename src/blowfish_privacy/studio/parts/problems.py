"""A change that a form asks for, and what is said if it cannot be."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.workshop import Workshop


def try_change(workshop: Workshop, body: Any) -> Problem | None:
    """Hand new values to the file; if they are refused nothing changes, and a message says why."""
    problem = workshop.change(body)
    return None if problem is None else say_problem(problem)


def say_problem(problem: Problem) -> Problem:
    """Say in a message why something cannot be done."""
    said = f"{problem.message} Hint: {problem.hint}" if problem.hint else problem.message
    ui.notify(said, type="negative", multi_line=True, timeout=10_000, close_button="Close")
    return problem
