"""Releases: what will be published, how wrong the noise will make it, and what that draws on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from nicegui import background_tasks, run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.queries.query import split
from blowfish_privacy.statements.plan import budget_words
from blowfish_privacy.studio.charts import plans as charts
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.entries import Entry, Kind, available, begun, kind_of, names_of, new_name
from blowfish_privacy.studio.parts import (
    follow,
    greys,
    heading,
    live,
    note,
    notice,
    problem_card,
    redraw,
    spinner,
    try_change,
)
from blowfish_privacy.studio.planning import Outcome, Said
from blowfish_privacy.studio.rooms.release_form import ReleaseForm
from blowfish_privacy.studio.workshop import Signal, Workshop

# How wrong one release will be, in pictures that follow every change.

Option = dict[str, Any]
_PAUSE = 0.3


class ReleasePictures:
    """Shows the plan of one release; the picture of an earlier plan stays, greyed, until the next is there."""

    def __init__(self, workshop: Workshop, name: str) -> None:
        self._workshop, self._name = workshop, name

    def build(self) -> None:
        """Build what is shown, and keep it up to date."""
        container = live(self._words, self._workshop.planned, shows=self._said)
        greys(container, self._workshop.planned, lambda: self._workshop.stale)
        with (
            ui.element("div")
            .classes("w-full grid gap-6")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, max(17rem, 40%)), 1fr))") as pictures
        ):
            self._pictures = [
                _Picture("Beside plain differential privacy", _bars, 92, wide=True),
                _Picture("By size", _by_size, 280),
                _Picture("By table, the largest errors first", _by_part, 420, wide=True),
                _Picture("If you spent more or less", _by_amount, 280, patient=True),
            ]
        greys(pictures, self._workshop.planned, lambda: self._workshop.stale)
        self._container = pictures
        follow(pictures, self._refresh, self._workshop.planned)
        self._refresh()

    @property
    def _outcome(self) -> Outcome | None:
        return self._workshop.outcome(self._name)

    def _said(self) -> Any:
        outcome = self._outcome
        if outcome is None:
            return None
        problem = None if outcome.problem is None else (outcome.problem.message, outcome.problem.hint)
        return problem, outcome.paid is not None, None if outcome.said is None else dict(outcome.said.accuracy)

    def _words(self) -> None:
        outcome = self._outcome
        if outcome is None:
            note("Working out the plan.")
            return
        if outcome.problem is not None:
            problem_card(Problem(outcome.problem.message, outcome.problem.hint))
        if outcome.said is None:
            return
        view = outcome.said.accuracy
        with ui.column().classes("w-full gap-2"):
            ui.label(_sentence(view)).classes("text-base")
            if outcome.paid is not None:
                notice("The ledger holds this release already: publishing it again gives the same and costs nothing.")
            for said in view["notices"]:
                notice(said, icon="warning_amber")

    def _refresh(self) -> None:
        outcome = self._outcome
        if self._workshop.stale and outcome is not None:
            return
        background_tasks.create(self._draw(outcome), name="pictures of a release")

    async def _draw(self, outcome: Outcome | None) -> None:
        said = None if outcome is None else outcome.said
        for picture in self._pictures:
            if picture.patient:
                # Other amounts are planned anew, which nobody needs who is still choosing this one.
                await asyncio.sleep(_PAUSE)
                if self._outcome is not outcome:
                    return
            option = None if said is None else await run.io_bound(picture.option, said)
            if self._container.is_deleted or self._outcome is not outcome:
                return
            picture.show(option)


class _Picture:
    """A chart with a heading, which is there when there is something to show."""

    def __init__(
        self,
        title: str,
        option: Callable[[Said], Option | None],
        height: int,
        *,
        wide: bool = False,
        patient: bool = False,
    ) -> None:
        self.option, self.patient = option, patient
        with ui.column().classes("gap-1 min-w-0").style("grid-column: 1 / -1" if wide else "") as self._whole:
            TextElement(tag="h3", text=title).classes("text-base text-weight-medium m-0")
            self._chart = ui.echart({}, renderer="svg").classes("w-full").style(f"height: {height}px").props("role=img")
        self._whole.visible = False

    def show(self, option: Option | None) -> None:
        """Show other options, or nothing."""
        self._whole.visible = option is not None
        if option is not None and option != self._chart.options:
            redraw(self._chart, option)


def _sentence(view: Any) -> str:
    if view["exact"]:
        return view["words"]
    compared = {"the same": "as accurate as", "-": None}.get(view["comparison"], f"{view['comparison']} than")
    beside = "" if compared is None else f" This policy is {compared} plain differential privacy."
    if view["plain"] is None and compared is not None:
        beside = f" This policy is {view['comparison']}."
    return f"{view['words']}{beside} It draws on {view['draws_on']}."


def _bars(said: Said) -> Option | None:
    view = said.accuracy
    return None if view["exact"] or not view["rmse"] else charts.error_bars(view)


def _by_size(said: Said) -> Option | None:
    return None if said.by_size is None else charts.by_size(said.by_size)


def _by_part(said: Said) -> Option | None:
    return charts.by_part(said.by_part) if said.by_part else None


def _by_amount(said: Said) -> Option | None:
    rows = said.by_amount
    return charts.by_amount(rows) if len(rows) > 2 else None


def releases(workshop: Workshop) -> None:
    """Fill the room."""
    with ui.row().classes("w-full items-start justify-between no-wrap"):
        heading(
            "Releases",
            "What you will publish, and how wrong the noise will make it. No value is read and nothing is spent here.",
        )
        spinner(workshop.planned, lambda: workshop.stale)
    live(lambda: _room(workshop), workshop.changed, shows=lambda: workshop.file is None).classes("flex flex-col gap-4")
    # The data, which say how many records there are, may have changed since the plans were made.
    workshop.replan()


def _room(workshop: Workshop) -> None:
    if workshop.file is None:
        notice("First choose a table and declare its attributes: then there is something to release.")
        return
    _Releases(workshop)


class _Releases:
    """The releases of the file, one of them open."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop, self._chosen = workshop, Signal()
        entries = self._entries
        self._open: str | None = entries[0]["name"] if entries else None
        live(self._together, workshop.planned, shows=lambda: _together(workshop))
        live(self._build, workshop.changed, self._chosen, shows=lambda: (self._names, self._open))
        live(self._problem, workshop.planned, shows=lambda: workshop.planning_problem)
        self._adding()
        live(
            self._notes, workshop.planned, shows=lambda: None if workshop.planning is None else workshop.planning.notes
        )

    @property
    def _entries(self) -> list[Entry]:
        return self._workshop.good_body.get("releases") or []

    @property
    def _names(self) -> list[str]:
        return [entry["name"] for entry in self._entries]

    def _problem(self) -> None:
        problem = self._workshop.planning_problem
        if problem is not None:
            problem_card(problem)

    def _together(self) -> None:
        """Say what all releases take from the budget, so that no slider is moved without seeing it."""
        words, fits = _together(self._workshop)
        if words and fits:
            note(words)
        elif words:
            problem_card(Problem(words, "spend less on some, or see under Budget which fit."))

    def _notes(self) -> None:
        for said in () if self._workshop.planning is None else self._workshop.planning.notes:
            note(said)

    def _build(self) -> None:
        with ui.column().classes("w-full gap-3"):
            if not self._names:
                notice("There is no release yet. Add the first one: you will see its error before anything is spent.")
            for name in self._names:
                self._card(name)

    def _card(self, name: str) -> None:
        opened = name == self._open
        with ui.card().classes("studio-card").props("flat"):
            with ui.element("div").classes("w-full flex items-center gap-x-6 gap-y-1"):
                with ui.element("h2").classes("flex-1 m-0 text-base leading-normal").style("min-width: 14rem"):
                    self._handle(name, opened=opened)
                figures = live(
                    lambda: self._figures(name), self._workshop.planned, shows=lambda: _figures(self._workshop, name)
                )
                figures.classes(remove="w-full")
                greys(figures, self._workshop.planned, lambda: self._workshop.stale)
            if opened:
                self._body(name)

    def _handle(self, name: str, *, opened: bool) -> None:
        icon = "expand_less" if opened else "expand_more"
        button = ui.button(on_click=lambda: self._toggle(name)).props(
            f"flat no-caps align=left padding=xs aria-expanded={str(opened).lower()}"
        )
        with button.classes("w-full").style("color: inherit"), ui.row().classes("no-wrap items-center gap-2 w-full"):
            ui.icon(icon).props("aria-hidden=true")
            with ui.column().classes("gap-0 items-start text-left min-w-0"):
                TextElement(tag="span", text=name).classes("text-weight-bold")

                def small() -> None:
                    TextElement(tag="span", text=self._words(name)).classes("studio-note")

                live(small, self._workshop.changed, shows=lambda: self._words(name))

    def _figures(self, name: str) -> None:
        found = _figures(self._workshop, name)
        with ui.row().classes("gap-6 items-center"):
            for title, text in found:
                with ui.column().classes("gap-0"):
                    ui.label(text).classes("text-weight-medium")
                    ui.label(title).classes("studio-note")

    def _body(self, name: str) -> None:
        with ui.column().classes("w-full gap-5"):
            form = ReleaseForm(self._workshop, name, renamed=self._renamed)
            form.build()
            ui.separator()
            ReleasePictures(self._workshop, name).build()

    def _entry(self, name: str) -> Entry:
        return next((entry for entry in self._entries if entry["name"] == name), {"name": name})

    def _words(self, name: str) -> str:
        """Say in a few words what a release asks for."""
        file, kind = self._workshop.file, kind_of(self._entry(name))
        release = next((each for each in file.releases if each.name == name), None) if file else None
        if release is None or file is None:
            return ""
        query, selection = split(release.query)
        title = query.noun.capitalize() if kind is None else kind.title
        return f"{title} of {query.subject}{selection.words(file.policy.domain)}"

    def _toggle(self, name: str) -> None:
        self._open = None if name == self._open else name
        self._chosen.fire()

    def _renamed(self, name: str | None) -> None:
        self._open = name

    def _adding(self) -> None:
        button = (
            ui.button("Add a release", icon="add").props("outline no-caps aria-haspopup=menu").classes("self-start")
        )
        with button, ui.menu() as menu:
            menu.on("keydown", js_handler=_ARROWS)
            live(self._kinds, self._workshop.changed, shows=self._domain).style("min-width: 20rem")

    def _domain(self) -> Any:
        return None if self._workshop.file is None else self._workshop.file.policy.domain.names

    def _kinds(self) -> None:
        file = self._workshop.file
        for kind in () if file is None else available(file.policy.domain):
            item = ui.menu_item(on_click=partial(self._add, kind)).props("role=menuitem")
            with item, ui.column().classes("gap-0 py-1"):
                ui.label(kind.title).classes("text-weight-medium")
                ui.label(kind.says).classes("studio-note")

    def _add(self, kind: Kind) -> None:
        file, body = self._workshop.file, self._workshop.body
        if file is None:
            return
        asked = begun(kind, file.policy.domain)
        about_what = " ".join(dict.fromkeys(names_of(asked, kind)))
        name = new_name(f"{about_what} {kind.title.lower()}"[:60].replace("@", " "), self._names)
        pure = file.budget is None or file.budget.measure is EPSILON
        entry: Entry = {"name": name, **asked, **({"epsilon": _FIRST_EPSILON} if pure else {"rho": _FIRST_RHO})}
        body["releases"] = [*(body.get("releases") or []), entry]
        before, self._open = self._open, name
        if try_change(self._workshop, body) is not None:
            self._open = before


def _together(workshop: Workshop) -> tuple[str, bool]:
    quote = None if workshop.planning is None or not workshop.planning.outcomes else workshop.planning.quote
    return ("", True) if quote is None else (next(budget_words(quote)), quote.fits)


def _figures(workshop: Workshop, name: str) -> list[tuple[str, str]]:
    """List the numbers of a release that a person compares: the error, the price, and what it draws on."""
    outcome = workshop.outcome(name)
    if outcome is None:
        return []
    if outcome.said is None:
        return [("see below", "cannot be planned")]
    view = outcome.said.accuracy
    if view["exact"]:
        return [("error", "exact"), ("cost", "nothing")]
    cost = "paid for" if outcome.paid is not None else view["amount"]
    lost = view["lost_on"] if len(view["lost"]) <= _FEW else f"{len(view['lost'])} attributes"
    assumed = "typical error" if view["assumed"] is None else "typical error, in groups of the same size"
    return [(assumed, view["typical"]), (f"{view['measure']}, on {lost}", cost)]


_ARROWS = """(event) => {
  const items = [...event.currentTarget.querySelectorAll("[role=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const to = {ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1}[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items[(to + items.length) % items.length].focus();
}"""
_FEW = 2
_FIRST_EPSILON, _FIRST_RHO = Decimal("0.1"), Decimal("0.005")
