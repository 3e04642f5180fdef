"""Room 6, Publish: choose, confirm, watch, and take away what was made."""

from __future__ import annotations

from itertools import islice
from typing import Any

from nicegui import background_tasks, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.statements.ledger import HistoryRow
from blowfish_privacy.statements.plan import HEADER, Confirmation, asked_words, budget_words, error_words
from blowfish_privacy.studio.draft import Problem, tried
from blowfish_privacy.studio.parts import (
    ask_where,
    follow,
    greys,
    heading,
    keyed,
    live,
    note,
    notice,
    once_open,
    picture,
    plain_table,
    problem_card,
    problem_in,
    say_problem,
    section,
    showing,
    shows_later,
    worked_out,
)
from blowfish_privacy.studio.planning import Outcome
from blowfish_privacy.studio.publishing import Download, LedgerHistory, Offer, Publication, Published
from blowfish_privacy.studio.workshop import Signal, Workshop

# Results on a page: pictures with intervals, files to take away, and the first numbers.

_MOST_ROWS = 100
_UNREAD = "the ledger cannot be read"


class Shelf:
    """The results on this page: of the last publication, and those that somebody took out of the ledger."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._taken: list[Published] = []
        self._filled: dict[str, ui.element] = {}
        self._container = ui.column().classes("w-full gap-4 empty:hidden")
        follow(self._container, self.refresh, workshop.published)

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
    head = 'header-class="text-weight-bold text-subtitle1"'
    card = ui.expansion(published.name, value=opened).classes("studio-card").style("padding: 4px 6px").props(head)

    def drawn() -> object:
        """Work out what is kept from then on."""
        return published.pictures, published.remarks

    def fill() -> None:
        failure = "the pictures cannot be drawn", "the release is in the ledger."
        with ui.column().classes("w-full px-4 pb-4"):
            shows_later(lambda: tried(drawn, *failure), contents)

    def contents(found: object) -> None:
        problem_card(found) if isinstance(found, Problem) else _contents(published)

    once_open(card, fill)
    return card


def _contents(published: Published) -> None:
    if published.paid_before is not None:
        note(f"Paid for before ({published.paid_before}); nothing was spent.")
    for words in published.result.notices:
        notice(words, icon="warning")
    with ui.row().classes("items-center gap-2"):
        TextElement(tag="span", text="Download").classes("studio-note")
        for file in published.files:
            download_button(file, published.name)
    for shown in published.pictures:
        picture(shown, titled=shown.title != published.name)
    if not published.pictures:
        note("There is no interactive picture of this release; the files have its numbers.")
    for words in published.remarks:
        note(words)
    note(f"Guarantee: {published.result.statement}, derived again from the document.")

    def numbers() -> None:
        result = published.result
        if getattr(result, "kept", None) is not None:
            note("The values have a file of their own beside the ledger.")
            return
        listed = islice(result.rows(), _MOST_ROWS + 1)
        rows = [[f"{cell:,.6g}" if isinstance(cell, float) else str(cell) for cell in row] for row in listed]
        plain_table(result.header, rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            note(f"The first {_MOST_ROWS} rows; the files have all.")

    with ui.expansion("The numbers").classes("w-full").props("dense") as expansion:
        once_open(expansion, numbers)


def download_button(file: Download, name: str) -> None:
    """Show a button that makes a file and hands it over."""

    async def hand_over() -> None:
        made = await worked_out(button, lambda: tried(file.content, "the file cannot be made"))
        if isinstance(made, bytes):
            ui.download.content(made, file.name, file.media)
        elif made is not None:
            say_problem(made)

    button = ui.button(file.label, icon="download", on_click=hand_over).props("outline dense no-caps")
    button.props["aria-label"] = f"{file.label} of {name}"


# The history of a ledger: what was charged when and for what, and each result again for nothing.


def show_history(workshop: Workshop, shelf: Shelf) -> None:
    """Show what the ledger holds; each entry can be taken out again for nothing."""

    def build(_: object) -> None:
        ledger = None if workshop.planning is None else workshop.planning.state.ledger
        if ledger is not None:
            # A ledger may be far away: the page does not wait for it.
            shows_later(lambda: tried(lambda: LedgerHistory.of(ledger), _UNREAD), lambda told: _entries(told, shelf))

    showing(lambda: workshop.planning and workshop.planning.state.shown, build, workshop.planned)


def _entries(told: LedgerHistory | Problem, shelf: Shelf) -> None:
    section("History of the ledger")
    if isinstance(told, Problem):
        problem_card(told)
    elif not told.rows:
        note("Nothing was charged yet.")
    else:
        rows, header = told.rows[:_MOST_ROWS], ["entry", "time (UTC)", "release", "charged", "on"]
        with ui.column().classes("studio-card"):
            plain_table(header, [*map(_cells, rows)], actions=lambda number: _show_button(told, rows[number], shelf))
            if len(told.rows) > len(rows):
                note(f"The last {len(rows)} of {len(told.rows):,} entries; blowfish ledger show lists all.")
        note("What all releases lost together, what that means, and what is not protected, for publication:")
        with ui.row().classes("items-center gap-2"):
            for file in told.statements:
                download_button(file, "all releases")


def _cells(row: HistoryRow) -> tuple[str, ...]:
    """Write the cells of a row; times and amounts stay on one line."""
    made, charged = (words.replace(" ", "\N{NO-BREAK SPACE}") for words in (row.made, row.charged))
    failed = "" if row.failed is None else f" (the data contradicted the stated facts, {row.failed})"
    return str(row.number), made, f"{row.release}{failed}", charged, row.lost_on


def _show_button(told: LedgerHistory, row: HistoryRow, shelf: Shelf) -> None:
    async def show() -> None:
        found = await worked_out(button, lambda: tried(lambda: told.again(row), _UNREAD))
        if isinstance(found, Published):
            shelf.take(found)
            ui.notify(f"{found.name} is shown under Results.", type="positive")
        elif found is not None:
            say_problem(found)

    button = ui.button("Show", on_click=show).props("flat dense no-caps").style("margin: -6px 0")
    button.props["aria-label"] = f"Show entry {row.number} again"


# A publication under way: how far it is, in every tab, and how it ended.

_TICK = 0.3
"""Seconds between two looks at how far it is."""


def show_progress(workshop: Workshop) -> None:
    """Show how far a publication is, in every tab, and how it ended."""

    def state() -> Any:
        now = workshop.publisher.publication
        return now and (id(now), now.running, len(now.published), now.failed, now.stopped)

    def build(_: object) -> None:
        publication = workshop.publisher.publication
        if publication is None:
            return
        if publication.running:
            with ui.column().classes("studio-card").props("aria-live=polite"):
                _under_way(publication)
            return
        failed = publication.failed
        if failed is not None:
            problem_card(Problem(f"{failed.name}: {failed.message}", failed.hint))
        unfinished = publication.stopped or failed is not None
        notice(publication.ending, icon="info" if unfinished else "check_circle")

    showing(state, build, workshop.published)


def _under_way(publication: Publication) -> None:
    section("Publishing")
    words = ui.label()
    bar = ui.linear_progress(show_value=False, size="8px").props('rounded aria-label="Progress"')

    def tick() -> None:
        progress = publication.progress
        if progress is not None:
            doing = f": {progress.doing.lower()}" if progress.doing else ""
            words.text = f"Release {progress.number} of {progress.of}, {progress.name}{doing} ..."
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


# The question before anything is spent: for what, how much, and what stays unprotected.

_SIZE = "width: 46rem; max-width: 94vw; max-height: 90vh; overflow: hidden; flex-wrap: nowrap"
_SCROLLING = "flex: 1 1 auto; min-height: 6rem; overflow: auto"


def confirm(workshop: Workshop, offer: Offer, text: str) -> None:
    """Ask about what was offered for a text of the file; yes saves the file and begins to publish."""
    said = offer.confirmation
    with ui.dialog().props('aria-label="Confirm"') as dialog, ui.card().classes("studio-card").style(_SIZE):
        with ui.column().classes("w-full gap-3 no-wrap studio-more").style(_SCROLLING) as read:
            read.props("tabindex=0 role=region").props["aria-label"] = "What you confirm"
            # What is spent comes first: the lists below it may be longer than the window.
            _spent(said)
            if not workshop.draft.saved:
                notice("The file has changes that are not saved: it is saved first.", icon="save")
            section("What is not protected")
            with ui.element("ul").classes("m-0 pl-5 list-disc"):
                for sentence in said.unprotected:
                    TextElement(tag="li", text=sentence)
            for each in said.releases:
                for words in each.notices:
                    notice(f"{each.name}: {words}", icon="warning")
            section("What will be published")
            rows = [(each.name, each.query, each.cost, each.error) for each in said.releases]
            plain_table(["release", "what", "costs", "typical error"], rows)

        def begin() -> None:
            try:
                workshop.publish(offer, text)
            except BlowfishError as error:
                problem_in(problems, error)
            else:
                dialog.close()

        # The question stays in sight however long the rest is.
        problems = ui.column().classes("w-full empty:hidden")
        ui.separator()
        ui.label(said.question).classes("text-lg font-semibold")
        with ui.row().classes("w-full justify-end gap-3"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps autofocus")
            words = "Yes, spend and publish" if said.spends else "Yes, hand it out"
            ui.button(words, icon="outbox", on_click=begin).props("no-caps")
    dialog.open()


def _spent(said: Confirmation) -> None:
    section("What is spent")
    for sentence in said.spending:
        ui.label(sentence)
    if said.balances:
        plain_table(HEADER, said.balances)
    if said.spends:
        ui.label("It cannot be undone: what is published is known, and what is spent stays spent.")
        ui.label("A row that does not fit the declarations stops a release after it is charged: check the data first.")


def publish(workshop: Workshop) -> None:
    """Choose what to publish, confirm it, watch it being made, and see what was made before."""
    heading("Publish", "Choose what to publish, and read once more what it costs and what it does not protect.")
    # The ledger may have changed elsewhere.
    workshop.replan()
    show_progress(workshop)
    left_out: set[str] = set()

    def outline() -> Any:
        """Return what decides which parts the room has."""
        lists = workshop.file and bool(workshop.file.releases)
        return lists, workshop.planning_problem, workshop.publisher.busy, workshop.planning is None

    def offer() -> None:
        if workshop.file is None:
            notice("There is no policy yet. Begin under Table.")
        elif not workshop.file.releases:
            notice("The file lists no releases yet. Add some under Releases.")
        elif workshop.planning_problem is not None:
            problem_card(workshop.planning_problem)
        elif workshop.publisher.busy:
            # What a plan would cost now changes with every charge; the progress says what is going on.
            return
        elif workshop.planning is None:
            with ui.row().classes("items-center gap-3"):
                ui.spinner(size="md")
                ui.label("Planning ...")
        else:
            _Choice(workshop, left_out)

    signals = (workshop.planned, workshop.changed, workshop.published)
    live(offer, *signals, shows=outline).classes("empty:hidden")
    show_history(workshop, Shelf(workshop))


class _Choice:
    """What to publish: boxes and a button that stay, and beside them what the latest plans say."""

    def __init__(self, workshop: Workshop, left_out: set[str]) -> None:
        self._workshop, self._left_out, self._chosen = workshop, left_out, Signal()
        planned = workshop.planned
        with ui.column().classes("studio-card"):
            section("Releases of the file")
            # The old plans stay visible, greyed, while new ones are worked out.
            with ui.column().classes("w-full gap-4") as plans:
                boxes = keyed(
                    lambda: [(each.name, each.plan is not None) for each in workshop.outcomes], self._release, planned
                )
                boxes.classes("w-full flex flex-col gap-4")
                ui.separator()
                live(self._totals, planned, self._chosen, shows=lambda: (id(workshop.planning), self._names))
            greys(plans, workshop)
            live(self._obstacles, planned, workshop.changed, shows=self._missing).classes("flex flex-col gap-2")
            self._review_button()

    @property
    def _names(self) -> list[str]:
        planned = [each.name for each in self._workshop.outcomes if each.plan is not None]
        return [name for name in planned if name not in self._left_out]

    def _release(self, key: tuple[str, bool]) -> None:
        name, possible = key

        def chosen(event: Any) -> None:
            (self._left_out.discard if event.value else self._left_out.add)(name)
            self._chosen.fire()

        def outcome() -> Outcome | None:
            return self._workshop.outcome(name)

        with ui.row().classes("w-full items-start gap-x-4 gap-y-0 flex-wrap"):
            box = ui.checkbox(name, value=possible and name not in self._left_out)
            box.on_value_change(chosen).classes("min-w-[11rem] font-medium")
            box.set_enabled(possible)
            with ui.element("div").classes("flex-1 min-w-[14rem] pt-2 max-sm:pl-10 max-sm:pt-0"):
                live(lambda: _said(outcome()), self._workshop.planned, shows=lambda: id(outcome()))

    def _totals(self) -> None:
        planning, names = self._workshop.planning, self._names
        if planning is None:
            return
        quote = planning.quoted(names)
        with ui.column().classes("w-full gap-2"):
            if not names:
                note("Nothing is chosen.")
            elif isinstance(quote, BlowfishError):
                problem_card(quote)
            elif quote is not None and any(each.due for each in planning.outcomes if each.name in names):
                for sentence in budget_words(quote):
                    ui.label(sentence)
            elif quote is not None:
                ui.label("All of it is paid for: nothing more is spent.")

    def _missing(self) -> Any:
        planning, draft = self._workshop.planning, self._workshop.draft
        return planning and (planning.file.data, planning.state.shown, draft.path is None, draft.saved)

    def _obstacles(self) -> None:
        """Say what is missing before anything can be published."""
        planning, draft = self._workshop.planning, self._workshop.draft
        if planning is None:
            return
        if planning.file.data is None:
            notice("The file names no data. Choose a table under Table.")
        if planning.state.problem is not None:
            problem_card(planning.state.problem)
        elif planning.state.missing:
            with ui.row().classes("items-center gap-3"):
                notice("There is no ledger yet, which keeps the budget.")
                ui.link("Make it under Budget", "/budget")
        elif planning.state.ledger is None:
            notice("The file names no ledger. Add one, and a budget, under Budget.")
        if draft.path is None:
            notice("The file is not saved yet. Save it first: what is published belongs to it.")
        elif not draft.saved:
            notice("The file has changes that are not saved. They are saved before anything is published.")

    def _review_button(self) -> None:
        workshop, client = self._workshop, ui.context.client
        problems = ui.column().classes("w-full")

        def refresh() -> None:
            planning = workshop.planning
            ready = planning is not None and planning.state.ledger is not None and bool(planning.plans)
            button.set_enabled(ready and workshop.data is not None and not workshop.stale)

        async def review() -> None:
            problems.clear()
            if workshop.draft.path is None:
                ask_where(workshop, then=go_on)
                return
            file, text = workshop.file, workshop.draft.text
            if file is None or workshop.broken:
                return
            names = self._names

            def prepared() -> Offer:
                """Plan what is chosen with its ledger and its data; no value is read."""
                workshop.draft.check_on_disk()
                offer = workshop.publisher.offer(file, workshop.draft.folder, names)
                _ = offer.confirmation
                return offer

            made = await worked_out(button, lambda: tried(prepared, "planning failed"))
            if isinstance(made, Offer):
                with client.content:
                    confirm(workshop, made, text)
            elif made is not None:
                problem_in(problems, made)

        def go_on() -> None:
            background_tasks.create(review(), name="review")

        button = ui.button("Review and publish", icon="fact_check", on_click=review).props("no-caps")
        follow(button, refresh, workshop.planned, workshop.changed)


def _said(outcome: Outcome | None) -> None:
    """Say what a release asks, what it costs and how wrong it will be, or why it cannot be planned."""
    if outcome is None:
        return
    if outcome.problem is not None:
        problem_card(outcome.problem)
    elif (plan := outcome.plan) is not None and outcome.said is not None:
        ui.label(asked_words(plan))
        cost = "costs nothing"
        if outcome.paid is not None:
            cost = f"paid for (entry {outcome.paid.number} of the ledger): costs nothing more"
        elif plan.amount:
            cost = f"costs {plan.certificate.loss.measure.words(plan.amount)} on {outcome.said.accuracy['lost_on']}"
        error = f"typical error {error_words(plan)}" if plan.amount else "exact"
        note(f"{cost}; {error}")
