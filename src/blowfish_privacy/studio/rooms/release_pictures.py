"""How wrong one release will be, in pictures that follow every change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nicegui import background_tasks, run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.studio.charts import accuracy as charts
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.waiting import greys
from blowfish_privacy.studio.parts.words import note, notice, problem_card
from blowfish_privacy.studio.planning import Outcome, Said
from blowfish_privacy.studio.workshop import Workshop

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
        planning = self._workshop.planning
        return None if planning is None else planning.outcome(self._name)

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
            self._chart.options.clear()
            self._chart.options.update(option)
            self._chart.props["aria-label"] = option["aria"]["label"]["description"]
            self._chart.update()


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
