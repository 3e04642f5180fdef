"""Results on a page: pictures with intervals, files to take away, and the first numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.studio.downloads import Download
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.chart import picture
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import note, notice, problem_card, section
from blowfish_privacy.studio.published import Published
from blowfish_privacy.studio.workshop import Workshop

_MOST_ROWS = 100


class Shelf:
    """The results on this page: of the last publication, and those that somebody took out of the ledger."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._taken: list[Published] = []
        self._filled: dict[str, ui.element] = {}
        self._container = ui.column().classes("w-full gap-4 empty:hidden")
        self._container.client.on_delete(workshop.published.subscribe(self.refresh))
        self.refresh()

    def take(self, published: Published) -> None:
        """Put a result on the shelf, in front."""
        if all(each.result.text != published.result.text for each in self._shown):
            self._taken.insert(0, published)
        self.refresh(opened=published.result.text)

    @property
    def _shown(self) -> list[Published]:
        publication = self._workshop.publisher.publication
        made = [] if publication is None else [*publication.published.values()]
        texts = {each.result.text for each in made}
        return [*(each for each in self._taken if each.result.text not in texts), *made]

    def refresh(self, opened: str | None = None) -> None:
        """Show what is new, and leave what is shown as it is."""
        if self._container.is_deleted:
            return
        shown = self._shown
        with self._container:
            if shown and not self._filled:
                section("Results")
            for each in shown:
                if each.result.text not in self._filled:
                    card = _result(each, opened=len(self._filled) == 0 or each.result.text == opened)
                    self._filled[each.result.text] = card


def _result(published: Published, *, opened: bool) -> ui.element:
    """Show a result when it is opened: pictures, downloads, what must be said, and the first numbers."""
    filled: list[bool] = []
    head = 'header-class="text-weight-bold text-subtitle1"'
    with ui.expansion(published.name).classes("studio-card").style("padding: 4px 6px").props(head) as card:
        inside = ui.column().classes("w-full gap-4 px-4 pb-4")

    async def fill() -> None:
        if filled or not card.value:
            return
        filled.append(True)
        with inside:
            waiting = ui.spinner(size="md")
        problem = await run.io_bound(_ready, published)
        if inside.is_deleted:
            return
        waiting.delete()
        with inside:
            _contents(published) if problem is None else problem_card(problem)

    card.on_value_change(fill)
    if opened:
        card.value = True
    return card


def _ready(published: Published) -> Problem | None:
    """Work out what takes a moment, in a thread of its own."""
    try:
        _ = published.pictures, published.remarks
    except BlowfishError as error:
        return Problem.of(error)
    except Exception as error:
        return Problem(f"the pictures cannot be drawn ({type(error).__name__}).", "the release is in the ledger.")
    return None


def _contents(published: Published) -> None:
    if published.paid_before is not None:
        note(f"Paid for before ({published.paid_before}); nothing was spent.")
    for words in published.result.notices:
        notice(words, icon="warning")
    _downloads(published)
    for shown in published.pictures:
        picture(shown, titled=shown.title != published.name)
    if not published.pictures:
        note("There is no interactive picture of this release; the files have its numbers.")
    for words in published.remarks:
        note(words)
    note(f"Guarantee: {published.result.statement}, derived again from the document.")
    with ui.expansion("The numbers").classes("w-full").props("dense") as numbers:
        _once_open(numbers, lambda: _numbers(published))


def _once_open(expansion: ui.expansion, build: Callable[[], None]) -> None:
    built: list[bool] = []

    def opened() -> None:
        if expansion.value and not built:
            built.append(True)
            with expansion:
                build()

    expansion.on_value_change(opened)


def _numbers(published: Published) -> None:
    result = published.result
    if getattr(result, "kept", None) is not None:
        note("The values have a file of their own beside the ledger.")
        return
    rows = [[_cell(cell) for cell in row] for row in islice(result.rows(), _MOST_ROWS + 1)]
    plain_table(result.header, rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        note(f"The first {_MOST_ROWS} rows; the files have all.")


def _cell(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _downloads(published: Published) -> None:
    with ui.row().classes("items-center gap-2"):
        TextElement(tag="span", text="Download").classes("studio-note")
        for file in published.files:
            download_button(file, published.name)


def download_button(file: Download, name: str) -> None:
    """Show a button that makes a file and hands it over."""

    async def hand_over() -> None:
        button.props("loading")
        made = await run.io_bound(_made, file)
        if button.is_deleted:
            return
        button.props(remove="loading")
        if isinstance(made, bytes):
            ui.download.content(made, file.name, file.media)
        elif made is not None:
            ui.notify(made.message, type="negative", timeout=10_000, close_button="Close")

    button = ui.button(file.label, icon="download", on_click=hand_over).props("outline dense no-caps")
    button.props["aria-label"] = f"{file.label} of {name}"


def _made(file: Download) -> bytes | Problem:
    try:
        return file.content()
    except BlowfishError as error:
        return Problem.of(error)
    except Exception as error:
        return Problem(f"the file cannot be made ({type(error).__name__}).")
