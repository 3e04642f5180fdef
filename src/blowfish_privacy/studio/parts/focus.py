"""Where the keyboard is, after what it was on has been built anew."""

from __future__ import annotations

import json

from nicegui import ui

_FOCUS = """
if (!document.activeElement?.closest("[role=dialog], .q-dialog, .q-menu"))
  for (const each of document.querySelectorAll("[aria-label]"))
    if (each.getAttribute("aria-label") === %s) { each.focus(); break; }
"""
"""Whoever has opened the next dialog by now is left there."""


def focus_on(label: str) -> None:
    """Put the focus on the control that has a label, after a dialog has closed."""
    ui.run_javascript(_FOCUS % json.dumps(label))
