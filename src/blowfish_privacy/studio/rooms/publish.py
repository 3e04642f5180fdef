"""Room 6, Publish: choose, confirm, watch, and take away what was made."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import run, ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger.quote import Quote
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.statements.accuracy import error_words
from blowfish_privacy.statements.asked import asked_words
from blowfish_privacy.statements.budget import budget_words
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.saving import ask_where
from blowfish_privacy.studio.parts.words import heading, note, notice, problem_card, section
from blowfish_privacy.studio.planning import Outcome, Planning
from blowfish_privacy.studio.publishing import Offer
from blowfish_privacy.studio.rooms.confirming import confirm
from blowfish_privacy.studio.rooms.ledger_history import show_history
from blowfish_privacy.studio.rooms.publication import show_progress
from blowfish_privacy.studio.rooms.results_shelf import Shelf
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
        shows=lambda: (id(workshop.planning), workshop.stale, workshop.draft.saved, workshop.publisher.busy),
    ).classes("empty:hidden")
    shelf = Shelf(workshop)
    show_history(workshop, shelf)


def _offer(workshop: Workshop, left_out: set[str]) -> None:
    file, planning = workshop.file, workshop.planning
    if file is None:
        notice("There is no policy yet. Begin under Table.")
    elif not file.releases:
        notice("The file lists no releases yet. Add some under Releases.")
    elif workshop.planning_problem is not None:
        problem_card(workshop.planning_problem)
    elif workshop.publisher.busy:
        # What a plan would cost now changes with every charge; the progress says what is going on.
        return
    elif planning is None:
        with ui.row().classes("items-center gap-3"):
            ui.spinner(size="md")
            ui.label("Planning ...")
    else:
        # The old plans stay visible, greyed, while new ones are worked out.
        with ui.column().classes(f"w-full gap-4 {'studio-stale' if workshop.stale else ''}"):
            _choice(workshop, planning, left_out)


def _choice(workshop: Workshop, planning: Planning, left_out: set[str]) -> None:
    with ui.column().classes("studio-card"):
        section("Releases of the file")
        totals: list[ui.element] = []

        def retotal() -> None:
            for each in totals:
                each.clear()
                with each:
                    _totals(planning, _names(planning, left_out))

        for outcome in planning.outcomes:
            _release(outcome, left_out, retotal)
        ui.separator()
        if workshop.stale:
            note("Planning ...")
        else:
            totals.append(ui.column().classes("w-full gap-2"))
            retotal()
        _obstacles(workshop, planning)
        _review_button(workshop, planning, left_out)


def _names(planning: Planning, left_out: set[str]) -> list[str]:
    return [each.name for each in planning.outcomes if each.plan is not None and each.name not in left_out]


def _release(outcome: Outcome, left_out: set[str], retotal: Callable[[], None]) -> None:
    def chosen(event: object) -> None:
        (left_out.discard if getattr(event, "value", False) else left_out.add)(outcome.name)
        retotal()

    with ui.row().classes("w-full items-start gap-x-4 gap-y-0 flex-wrap"):
        box = ui.checkbox(outcome.name, value=outcome.plan is not None and outcome.name not in left_out)
        box.on_value_change(chosen).classes("min-w-[11rem] font-medium")
        box.set_enabled(outcome.plan is not None)
        with ui.column().classes("flex-1 min-w-[14rem] gap-0 pt-2 max-sm:pl-10 max-sm:pt-0"):
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


def _review_button(workshop: Workshop, planning: Planning, left_out: set[str]) -> None:
    problems = ui.column().classes("w-full")

    async def review() -> None:
        problems.clear()
        if workshop.draft.path is None:
            ask_where(workshop)
            return
        button.props("loading")
        made = await run.io_bound(_prepared, workshop, planning.file, _names(planning, left_out))
        if button.is_deleted:
            return
        button.props(remove="loading")
        if isinstance(made, Offer):
            with ui.context.client.content:
                confirm(workshop, made)
        elif made is not None:
            with problems:
                problem_card(made)

    button = ui.button("Review and publish", icon="fact_check", on_click=review).props("no-caps")
    ready = planning.state.ledger is not None and planning.file.data is not None and bool(planning.plans)
    button.set_enabled(ready and not workshop.stale and not workshop.publisher.busy)


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
