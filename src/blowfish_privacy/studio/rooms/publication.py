"""A publication under way: how far it is, in every tab, and how it ended."""

from __future__ import annotations

from nicegui import ui

from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.words import note, notice, problem_card, section
from blowfish_privacy.studio.publishing import Progress, Publication
from blowfish_privacy.studio.workshop import Workshop

_TICK = 0.3
"""Seconds between two looks at how far it is."""


def show_progress(workshop: Workshop) -> None:
    """Show how far a publication is, in every tab, and how it ended."""
    live(
        lambda: _progress(workshop.publisher.publication),
        workshop.published,
        shows=lambda: _state(workshop.publisher.publication),
    ).classes("empty:hidden")


def _state(publication: Publication | None) -> object:
    if publication is None:
        return None
    return id(publication), publication.running, len(publication.published), publication.failed, publication.stopped


def _progress(publication: Publication | None) -> None:
    if publication is None:
        return
    if publication.running:
        with ui.column().classes("studio-card").props("aria-live=polite"):
            _under_way(publication)
        return
    if publication.failed is not None:
        failed = publication.failed
        problem_card(Problem(f"{failed.name}: {failed.message}", failed.hint))
    unfinished = publication.stopped or publication.failed is not None
    notice(publication.ending, icon="info" if unfinished else "check_circle")


def _under_way(publication: Publication) -> None:
    section("Publishing")
    words = ui.label()
    bar = ui.linear_progress(show_value=False, size="8px").props('rounded aria-label="Progress"')

    def tick() -> None:
        progress = publication.progress
        if progress is not None:
            words.text = _words(progress)
            done = progress.number - 1 + (progress.share or 0.0)
            bar.value = done / progress.of

    def stop() -> None:
        publication.stop()
        button.disable()

    note("It goes on when you close this page, and you find it here again.")
    button = ui.button("Stop after this release", on_click=stop).props("flat dense no-caps")
    button.set_enabled(not publication.stopped and len(publication.offer.names) > 1)
    tick()
    ui.timer(_TICK, tick)


def _words(progress: Progress) -> str:
    doing = f": {progress.doing.lower()}" if progress.doing else ""
    return f"Release {progress.number} of {progress.of}, {progress.name}{doing} ..."
