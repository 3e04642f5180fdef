"""Budget: what is spent, what the planned releases would take from each attribute's balance, and what is left."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from nicegui import background_tasks, run, ui

from blowfish_privacy.batch import ledger_location
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.statements.plan import budget_words
from blowfish_privacy.studio.charts.plans import balances
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.entries import in_file, read_amount, why_not, written
from blowfish_privacy.studio.parts import (
    follow,
    greys,
    heading,
    keeps_up,
    keyed,
    live,
    note,
    on_entered,
    plain_table,
    problem_card,
    redraw,
    say_problem,
    section,
    showing,
    spinner,
    try_change,
    with_policy,
)
from blowfish_privacy.studio.planning import Outcome, Planning
from blowfish_privacy.studio.workshop import Workshop
from blowfish_privacy.support.exact import rounded_down, rounded_up


def budget(workshop: Workshop) -> None:
    """Fill the room."""
    with ui.row().classes("w-full items-start justify-between no-wrap"):
        heading("Budget", "The most that all releases together may lose on any two values that nobody may tell apart.")
        spinner(workshop)

    def room() -> None:
        with ui.card().classes("studio-card").props("flat"):
            section("The ledger")
            with ui.column().classes("w-full gap-4 items-start"):
                _ledger(workshop)
        with ui.card().classes("studio-card").props("flat"):
            section("What the releases take")
            _Balances(workshop)

    needs = "First choose a table and declare its attributes: then there is something to budget for."
    with_policy(workshop, needs, room).classes("flex flex-col gap-5")
    # Others may have spent from the ledger, or made it, since the plans were made.
    workshop.replan()


def _ledger(workshop: Workshop) -> None:
    """Say where the ledger is, and what it holds; while there is none, let its budget be stated, and make it."""

    def name_one() -> None:
        body = workshop.body
        body["ledger"] = f"{workshop.suggested_path.stem}.ledger"
        if not body.get("budget"):
            body["budget"] = Decimal("1.0")
        try_change(workshop, body)

    def described() -> None:
        if (planning := workshop.planning) is None:
            note("Working out the plans.")
            return
        state = planning.state
        if state.location is None:
            note("A ledger keeps what was spent. Name one in the file: ledger: table.ledger.")
            ui.button("Name one", on_click=name_one).props("outline no-caps")
        if state.ledger is not None:
            many = len(state.entries)
            spent = f"It has {many:,} {'entry' if many == 1 else 'entries'}." if many else "Nothing is spent yet."
            ui.label(f"{state.name} has a budget of {state.ledger.terms.kept}, which is fixed. {spent}")
        elif state.problem is not None:
            problem_card(state.problem)

    def missing() -> str | None:
        planning = workshop.planning
        return planning.state.name if planning is not None and planning.state.missing else None

    def making(name: str) -> None:
        ui.label(f"There is no ledger {name} yet. It must be made before the first release; its budget is then fixed.")
        button = ui.button("Create the ledger", icon="add", on_click=lambda: _create(workshop)).props("no-caps")

        def refresh() -> None:
            button.set_enabled(workshop.file is not None and workshop.file.budget is not None)

        follow(button, refresh, workshop.changed)

    def form() -> str | None:
        """Return what form the budget is stated in while no ledger fixes it; None where one does."""
        if workshop.planning is None or workshop.planning.state.ledger is not None:
            return None
        stated = workshop.good_body.get("budget")
        return "epsilon and delta" if isinstance(stated, dict) and "rho" not in stated else "one number"

    def budget_field(form: str) -> None:
        if form == "one number":
            _budget_field(workshop)
        else:
            note("The budget is one of epsilon and delta: change it in the file.")

    live(described, workshop.planned, shows=lambda: workshop.planning and workshop.planning.state.shown)
    showing(form, budget_field, workshop.planned, workshop.changed)
    showing(missing, making, workshop.planned)


_COUNTS = {"epsilon": "epsilon", "rho": "rho (Gaussian noise too)"}


def _stated(workshop: Workshop) -> tuple[str, str]:
    stated = workshop.good_body.get("budget")
    unit, amount = ("rho", stated.get("rho")) if isinstance(stated, dict) else ("epsilon", stated)
    return unit, "" if amount is None else _shown(amount)


def _budget_field(workshop: Workshop) -> None:
    unit, amount = _stated(workshop)
    with ui.row().classes("items-center gap-4"):
        number = ui.input("Budget", value=amount).props("outlined dense").classes("w-32")
        counted = ui.select(_COUNTS, label="Counted in", value=unit).props("outlined dense").classes("w-56")

    def state() -> None:
        # Left empty, nothing was stated yet: there is nothing to complain about.
        number.error = why_not(number.value, "the budget") if number.value else None
        read = read_amount(number.value)
        if read is None or (counted.value, _shown(read)) == _stated(workshop):
            return
        body, value = workshop.body, in_file(read)
        body["budget"] = value if counted.value == "epsilon" else {"rho": value}
        try_change(workshop, body)

    keeps_up(number, lambda: _stated(workshop)[1], workshop.changed)
    keeps_up(counted, lambda: _stated(workshop)[0], workshop.changed)
    on_entered(number, state)
    counted.on_value_change(state)


def _shown(stated: object) -> str:
    read = read_amount(stated)
    return str(stated) if read is None else written(read)


def _create(workshop: Workshop) -> None:
    """Make the ledger that the file names now, as ``blowfish ledger create`` does."""
    file = workshop.file
    # The plans may be those of an earlier budget: what counts is the file.
    location = None if file is None or workshop.broken else ledger_location(file, workshop.draft.folder)
    terms = None if file is None else file.budget
    if location is None or terms is None:
        return
    try:
        made = create_ledger(location, budget=terms)
    except BlowfishError as error:
        say_problem(error)
        return
    ui.notify(f"Made the ledger {made.name} with a budget of {made.terms.kept}. Nothing is spent yet.", type="positive")
    workshop.replan()


class _Balances:
    """The balances as bars and as numbers, for the releases that are switched on."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._left_out: set[str] = set()

        def introduce() -> None:
            if self._listed():
                note("Switch releases off to see what the others leave. This changes nothing and spends nothing.")
            else:
                note("There is no release to spend on.")

        with ui.column().classes("w-full gap-1") as switches:
            live(introduce, workshop.planned, shows=lambda: bool(self._listed()))
            rows = keyed(
                lambda: [(name, possible) for name, _, possible in self._listed()], self._switch, workshop.planned
            )
            rows.classes("w-full flex flex-wrap gap-x-6 gap-y-1")
        self._whole = ui.column().classes("w-full gap-4")
        for element in (switches, self._whole):
            greys(element, workshop)
        with self._whole:
            self._words = ui.column().classes("w-full gap-1")
            self._chart = ui.echart({}, renderer="svg").classes("w-full").props("role=img")
            self._chart.visible = False
            self._table = ui.element("div").classes("w-full")
        follow(self._whole, self._refresh, workshop.planned)

    def _listed(self) -> list[tuple[str, str, bool]]:
        return [_switch(outcome) for outcome in self._workshop.outcomes]

    def _switch(self, key: tuple[str, bool]) -> None:
        name, possible = key

        def refresh() -> None:
            words = next((words for each, words, _ in self._listed() if each == name), "")
            switch.set_text(f"{name}: {words}")

        def turned(event: Any) -> None:
            (self._left_out.discard if event.value else self._left_out.add)(name)
            self._refresh()

        outcome = self._workshop.outcome(name)
        planned = outcome is not None and outcome.plan is not None
        switch = ui.switch(value=planned and name not in self._left_out)
        switch.set_enabled(possible)
        switch.on_value_change(turned)
        follow(switch, refresh, self._workshop.planned)

    def _refresh(self) -> None:
        if not self._workshop.stale and self._workshop.planning is not None:
            background_tasks.create(self._draw(self._workshop.planning), name="balances")

    async def _draw(self, planning: Planning) -> None:
        chosen = [outcome.name for outcome in planning.outcomes if outcome.name not in self._left_out]
        quote = await run.io_bound(planning.quoted, chosen)
        shares = await run.io_bound(planning.shares, chosen)
        now = [outcome.name for outcome in planning.outcomes if outcome.name not in self._left_out]
        if self._whole.is_deleted or planning is not self._workshop.planning or now != chosen:
            return
        self._words.clear()
        with self._words:
            if isinstance(quote, Quote):
                for number, sentence in enumerate(budget_words(quote)):
                    if number:
                        note(sentence)
                    else:
                        ui.label(sentence) if quote.fits else problem_card(Problem(sentence))
            elif quote is None:
                note("State a budget to see what is left of it.")
            else:
                problem_card(quote)
        drawn = shares if isinstance(shares, list) and isinstance(quote, Quote) else []
        self._chart.visible = self._table.visible = bool(drawn)
        if isinstance(quote, Quote) and drawn:
            taking = [outcome.name for outcome in planning.outcomes if outcome.due and outcome.name in chosen]
            self._show(drawn, taking, quote)

    def _show(self, shares: list[dict[str, Any]], taking: list[str], quote: Quote) -> None:
        unit = EPSILON.name if quote.terms.measure is EPSILON else quote.terms.measure.unit
        option = balances(shares, taking, str(quote.budget), unit)
        self._chart.style(f"height: {120 + 44 * len(shares)}px")
        redraw(self._chart, option)
        rows: list[tuple[str, ...]] = []
        for row in shares:
            taken = sum(map(Fraction, row["takes"].values()), Fraction(0))
            spent, left = Fraction(row["spent"]), Fraction(row["left"])
            rows.append((row["pairs"], rounded_up(spent), rounded_up(taken), rounded_down(left)))
        self._table.clear()
        with self._table:
            header = ("secret pairs that change", "spent", "these take", "left")
            plain_table(header, rows, caption="The same in numbers")


def _switch(outcome: Outcome) -> tuple[str, str, bool]:
    """Say what a release costs, and whether it can be switched off."""
    if outcome.plan is None or outcome.said is None:
        return outcome.name, "cannot be planned", False
    if outcome.paid is not None:
        return outcome.name, "paid for before", False
    view = outcome.said.accuracy
    return outcome.name, "costs nothing" if view["exact"] else f"{view['measure']} {view['amount']}", not view["exact"]
