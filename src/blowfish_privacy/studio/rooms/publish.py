"""Room 6, Publish: choose, confirm, watch, and take away what was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import background_tasks, run, ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.statements.plan import asked_words, budget_words, error_words
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import keyed, live
from blowfish_privacy.studio.parts.saving import ask_where
from blowfish_privacy.studio.parts.waiting import greys
from blowfish_privacy.studio.parts.words import heading, note, notice, problem_card, section
from blowfish_privacy.studio.planning import Outcome, Planning
from blowfish_privacy.studio.publishing import Offer
from blowfish_privacy.studio.rooms.confirming import confirm
from blowfish_privacy.studio.rooms.ledger_history import show_history
from blowfish_privacy.studio.rooms.publication import show_progress
from blowfish_privacy.studio.rooms.results_shelf import Shelf
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.workshop import Workshop


def publish(workshop: Workshop) -> None:
    """Choose what to publish, confirm it, watch it being made, and see what was made before."""
    heading("Publish", "Choose what to publish, and read once more what it costs and what it does not protect.")
    # The ledger may have changed elsewhere.
    workshop.replan()
    show_progress(workshop)
    left_out: set[str] = set()
    live(
        lambda: _offer(workshop, left_out),
        workshop.planned,
        workshop.changed,
        workshop.published,
        shows=lambda: _outline(workshop),
    ).classes("empty:hidden")
    shelf = Shelf(workshop)
    show_history(workshop, shelf)


def _outline(workshop: Workshop) -> Any:
    """Return what decides which parts the room has."""
    file = workshop.file
    lists = None if file is None else bool(file.releases)
    return lists, workshop.planning_problem, workshop.publisher.busy, workshop.planning is None


def _offer(workshop: Workshop, left_out: set[str]) -> None:
    file = workshop.file
    if file is None:
        notice("There is no policy yet. Begin under Table.")
    elif not file.releases:
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
                    lambda: [(each.name, each.plan is not None) for each in self._outcomes], self._release, planned
                )
                boxes.classes("w-full flex flex-col gap-4")
                ui.separator()
                live(self._totals, planned, self._chosen, shows=lambda: (id(workshop.planning), self._names))
            greys(plans, planned, lambda: workshop.stale)
            live(self._obstacles, planned, workshop.changed, shows=self._missing).classes("flex flex-col gap-2")
            self._review_button()

    @property
    def _outcomes(self) -> Sequence[Outcome]:
        return () if self._workshop.planning is None else self._workshop.planning.outcomes

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self._outcomes if each.plan is not None and each.name not in self._left_out]

    def _release(self, key: tuple[str, bool]) -> None:
        name, possible = key

        def chosen(event: Any) -> None:
            (self._left_out.discard if event.value else self._left_out.add)(name)
            self._chosen.fire()

        def outcome() -> Outcome | None:
            return next((each for each in self._outcomes if each.name == name), None)

        with ui.row().classes("w-full items-start gap-x-4 gap-y-0 flex-wrap"):
            box = ui.checkbox(name, value=possible and name not in self._left_out)
            box.on_value_change(chosen).classes("min-w-[11rem] font-medium")
            box.set_enabled(possible)
            with ui.element("div").classes("flex-1 min-w-[14rem] pt-2 max-sm:pl-10 max-sm:pt-0"):
                live(lambda: _said(outcome()), self._workshop.planned, shows=lambda: id(outcome()))

    def _totals(self) -> None:
        if self._workshop.planning is not None:
            with ui.column().classes("w-full gap-2"):
                _totals(self._workshop.planning, self._names)

    def _missing(self) -> Any:
        planning, draft = self._workshop.planning, self._workshop.draft
        if planning is None:
            return None
        state = planning.state
        problem = None if state.problem is None else Problem.of(state.problem)
        return planning.file.data, problem, state.missing, state.ledger is None, draft.path is None, draft.saved

    def _obstacles(self) -> None:
        if self._workshop.planning is not None:
            _obstacles(self._workshop, self._workshop.planning)

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
            button.props("loading")
            made = await run.io_bound(_prepared, workshop, file, self._names)
            if button.is_deleted:
                return
            button.props(remove="loading")
            if isinstance(made, Offer):
                with client.content:
                    confirm(workshop, made, text)
            elif made is not None:
                with problems:
                    problem_card(made)

        def go_on() -> None:
            background_tasks.create(review(), name="review")

        button = ui.button("Review and publish", icon="fact_check", on_click=review).props("no-caps")
        follow(button, refresh, workshop.planned, workshop.changed)
        refresh()


def _said(outcome: Outcome | None) -> None:
    """Say what a release asks, what it costs and how wrong it will be, or why it cannot be planned."""
    if outcome is None:
        return
    if outcome.problem is not None:
        problem_card(Problem.of(outcome.problem))
    elif outcome.plan is not None and outcome.view is not None:
        ui.label(asked_words(outcome.plan))
        error = f"typical error {error_words(outcome.plan)}" if outcome.plan.amount else "exact"
        note(f"{_cost(outcome)}; {error}")


def _cost(outcome: Outcome) -> str:
    if outcome.paid is not None:
        return f"paid for (entry {outcome.paid.number} of the ledger): costs nothing more"
    if outcome.plan is None or outcome.view is None or not outcome.plan.amount:
        return "costs nothing"
    words = outcome.plan.certificate.loss.measure.words(outcome.plan.amount)
    return f"costs {words} on {outcome.view['lost_on']}"


def _totals(planning: Planning, names: list[str]) -> None:
    quote = planning.quoted(names)
    if not names:
        note("Nothing is chosen.")
    elif isinstance(quote, BlowfishError):
        problem_card(Problem.of(quote))
    elif isinstance(quote, Quote):
        if any(each.due for each in planning.outcomes if each.name in names):
            for sentence in budget_words(quote):
                ui.label(sentence)
        else:
            ui.label("All of it is paid for: nothing more is spent.")


def _obstacles(workshop: Workshop, planning: Planning) -> None:
    """Say what is missing before anything can be published."""
    if planning.file.data is None:
        notice("The file names no data. Choose a table under Table.")
    if planning.state.problem is not None:
        problem_card(Problem.of(planning.state.problem))
    elif planning.state.missing:
        with ui.row().classes("items-center gap-3"):
            notice("There is no ledger yet, which keeps the budget.")
            ui.link("Make it under Budget", "/budget")
    elif planning.state.ledger is None:
        notice("The file names no ledger. Add one, and a budget, under Budget.")
    if workshop.draft.path is None:
        notice("The file is not saved yet. Save it first: what is published belongs to it.")
    elif not workshop.draft.saved:
        notice("The file has changes that are not saved. They are saved before anything is published.")


def _prepared(workshop: Workshop, file: PolicyFile, names: list[str]) -> Offer | Problem:
    """Plan what is chosen with its ledger and its data, in a thread of its own; no value is read."""
    try:
        workshop.draft.check_on_disk()
        offer = workshop.publisher.offer(file, workshop.draft.folder, names)
        _ = offer.confirmation
    except BlowfishError as error:
        return Problem.of(error)
    except Exception as error:  # only its kind is said: a message that is not ours may quote anything
        return Problem(f"planning failed ({type(error).__name__}).")
    return offer
