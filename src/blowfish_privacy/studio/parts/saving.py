"""Undo, redo and save, in the header of every room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.draft import OverwriteError
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.workshop import Workshop

_KEYS = """<script>
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  const wish = {s: "save", y: "redo", z: event.shiftKey ? "redo" : "undo"}[key];
  const writes = event.target.closest("input, textarea, select, [contenteditable=true]");
  if (!wish || (writes && wish !== "save")) return;
  event.preventDefault();
  emitEvent(`studio-${wish}`);
});
</script>"""
"""Fields and the editor have an undo of their own. The browser's own is kept from doing it a second time."""


def header_buttons(workshop: Workshop) -> None:
    """Offer to take back, do again and save; the usual keys do the same outside of the editor."""
    with ui.row().classes("items-center gap-1 no-wrap"):
        undo, redo = _step("Undo", "undo", workshop.undo), _step("Redo", "redo", workshop.redo)
        ui.button("Save", icon="save", on_click=lambda: save(workshop)).props("outline dense no-caps")
        # A narrow window has room for the name of the file, or for this.
        _step("Save as ...", "save_as", lambda: ask_where(workshop)).classes("gt-xs")

    def refresh() -> None:
        undo.set_enabled(workshop.draft.can_undo)
        redo.set_enabled(workshop.draft.can_redo)

    # The buttons stay what they are, so that neither a click nor the focus is lost when something changes.
    follow(undo, refresh, workshop.changed)
    refresh()
    ui.add_body_html(_KEYS)
    for wish, act in (("undo", workshop.undo), ("redo", workshop.redo), ("save", lambda: save(workshop))):
        ui.on(f"studio-{wish}", act)


def _step(words: str, icon: str, act: Callable[[], None]) -> ui.button:
    return ui.button(icon=icon, on_click=act).props(f'flat round dense aria-label="{words}"').tooltip(words)


def save(workshop: Workshop) -> None:
    """Save where the file lies; ask where, if it has no place yet."""
    if workshop.draft.path is None:
        ask_where(workshop)
    else:
        _save_to(workshop, workshop.draft.path)


def _nothing() -> None:
    pass


def ask_where(workshop: Workshop, then: Callable[[], object] = _nothing) -> None:
    """Ask for the path of the file, and do something once it is saved there."""
    # What was pressed may be gone by the time of the answer; the page is not.
    with (
        ui.context.client.content,
        ui.dialog().props('aria-label="Save the file as"') as dialog,
        ui.card().classes("studio-card w-[32rem]"),
    ):
        ui.label("Save the file as").classes("studio-section")
        path = ui.input("Path of the file", value=str(workshop.another_path)).classes("w-full").props("autofocus")

        def done() -> None:
            chosen = str(path.value or "").strip()
            if chosen:
                _save_to(workshop, Path(chosen).expanduser(), asked=dialog, then=then)

        path.on("keydown.enter", done)
        with ui.row().classes("justify-end w-full"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
            ui.button("Save", on_click=done).props("no-caps")
    dialog.open()


def _save_to(
    workshop: Workshop,
    path: Path,
    *,
    asked: ui.dialog | None = None,
    replace: bool = False,
    then: Callable[[], object] = _nothing,
) -> None:
    """Save; the dialog that asked for the path closes once that has succeeded."""
    try:
        workshop.save(path, replace=replace)
    except OverwriteError as error:
        _ask_to_replace(workshop, path, asked, error, then)
    except BlowfishError as error:
        ui.notify(str(error), type="negative", timeout=10_000, close_button="Close")
    else:
        ui.notify(f"Saved as {path.name}.", type="positive")
        if asked is not None:
            asked.close()
        then()


def _ask_to_replace(
    workshop: Workshop, path: Path, asked: ui.dialog | None, error: OverwriteError, then: Callable[[], object]
) -> None:
    with ui.dialog().props('aria-label="Replace the file?"') as dialog, ui.card().classes("studio-card"):
        ui.label(f"{error.message[:1].upper()}{error.message[1:]}")
        ui.label("Replacing it cannot be undone.").classes("studio-note")

        def replace() -> None:
            dialog.close()
            _save_to(workshop, path, asked=asked, replace=True, then=then)

        def save_as() -> None:
            dialog.close()
            # Where a path was asked for just now, the question is still open below this one.
            if asked is None:
                ask_where(workshop)

        with ui.row().classes("justify-end w-full"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps autofocus")
            ui.button("Save as ...", on_click=save_as).props("outline no-caps")
            ui.button("Replace it", on_click=replace).props("no-caps color=negative")
    dialog.open()
