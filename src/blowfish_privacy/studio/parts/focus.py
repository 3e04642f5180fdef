"""Where the keyboard is, after what it was on has been built anew."""

from __future__ import annotations

import json

from nicegui import ui

_FOCUS = """
setTimeout(() => {
  for (const each of document.querySelectorAll("[aria-label]"))
    if (each.getAttribute("aria-label") === %s) { each.focus(); break; }
}, 400);
"""
"""A dialog takes some time to close, and puts the focus back where it was."""


def focus_on(label: str) -> None:
    """Put the focus on the control that has a label, once a dialog has closed."""
    ui.run_javascript(_FOCUS % json.dumps(label))
