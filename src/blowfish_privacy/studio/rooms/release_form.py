"""The form of one release: what is asked, of which records, and what it may spend."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from nicegui import ui

from blowfish_privacy.domain import Domain
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.studio.amounts import Amount, read_amount, rounded_to_stop
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.last_good import last_good_body
from blowfish_privacy.studio.parts.amount_control import AmountControl
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.words import note, problem_card
from blowfish_privacy.studio.release_kinds import (
    AMOUNTS,
    BY_TITLE,
    Entry,
    amount_of,
    available,
    changed_kind,
    kind_of,
    with_amount,
    with_key,
)
from blowfish_privacy.studio.rooms.release_questions import question_fields
from blowfish_privacy.studio.rooms.release_records import record_fields
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.workshop import Workshop

_TITLES = {"epsilon": "Epsilon", "rho": "Rho", "error": "Typical error"}
_WAYS = {"epsilon": "spend epsilon", "rho": "spend rho", "error": "reach an error"}
_NOISES = {"": "the more accurate", "laplace": "Laplace", "gaussian": "Gaussian"}
_AUTOMATIC = "chosen for you"
_PLACE = re.compile(r"^(line [\d,]+: )?releases\[\d+\](: |\.)?")


class ReleaseForm:
    """Changes one release of the file; what the file does not take is said under the form, and changes nothing."""

    def __init__(self, workshop: Workshop, name: str, *, renamed: Callable[[str | None], None]) -> None:
        self.workshop, self.name = workshop, name
        self._renamed = renamed
        self._refused, self._problem = Signal(), None

    def build(self) -> None:
        """Build the form; parts are built anew only when what they are made of changes elsewhere."""
        with ui.column().classes("w-full gap-4"):
            live(self._question, self.workshop.changed, shows=lambda: (self._title, self.domain.names))
            self._spending()
            live(self._refusal, self._refused)
            with ui.element("div").classes("w-full"):
                live(self._records, self.workshop.changed, shows=lambda: self._of_parts)
                with ui.expansion("More: name, noise, mechanism", icon="tune").classes("w-full"):
                    self._more()

    @property
    def domain(self) -> Domain:
        """The domain of the file."""
        if self.workshop.file is None:
            raise RuntimeError("a form stands on a file that has a policy.")
        return self.workshop.file.policy.domain

    @property
    def entry(self) -> Entry:
        """The release as the file has it now."""
        entries = last_good_body(self.workshop).get("releases") or []
        return next((entry for entry in entries if entry["name"] == self.name), {"name": self.name})

    def change(self, entry: Entry) -> bool:
        """Write the release into the file; say whether the file took it."""
        body = self.workshop.body
        entries = body.get("releases") or []
        if not any(each["name"] == self.name for each in entries) or entry == self.entry:
            return False
        body["releases"] = [entry if each["name"] == self.name else each for each in entries]
        return self._take(body)

    def _take(self, body: dict[str, Any]) -> bool:
        self._problem = self.workshop.change(body)
        self._refused.fire()
        return self._problem is None

    def refuse(self, problem: Problem) -> None:
        """Say what is wrong with something that was typed; the file stays as it is."""
        self._problem = problem
        self._refused.fire()

    @property
    def _of_parts(self) -> bool:
        return self._title is None or BY_TITLE[self._title].of_parts

    def _records(self) -> None:
        if self._of_parts:
            with ui.expansion("Some records only, or for each group", icon="filter_alt").classes("w-full"):
                record_fields(self)

    def _refusal(self) -> None:
        if self._problem is not None:
            # The form stands for one release: where it is in the file is no news here.
            said = _PLACE.sub("", self._problem.message)
            problem_card(Problem(f"{said[:1].upper()}{said[1:]}", self._problem.hint))

    @property
    def _title(self) -> str | None:
        kind = kind_of(self.entry)
        return None if kind is None else kind.title

    def _question(self) -> None:
        kind = kind_of(self.entry)
        if kind is None:
            note("What this release asks for is more than a form can show: change it in the file.")
            return
        with (
            ui.element("div")
            .classes("w-full grid gap-4")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr))")
        ):
            kinds = [each.title for each in dict.fromkeys([*available(self.domain), kind])]
            chosen = ui.select(kinds, label="What to publish", value=kind.title).props("outlined")
            chosen.on_value_change(lambda: self._ask(chosen))
            question_fields(self, kind)
        note(kind.says).classes("pt-2")

    def _ask(self, field: ui.select) -> None:
        kind = BY_TITLE[str(field.value)]
        if kind.title != self._title and not self.change(changed_kind(self.entry, kind, self.domain)):
            field.value = self._title

    def _spending(self) -> None:
        def state() -> Any:
            return amount_of(self.entry)[0], self._by_group

        live(self._amount, self.workshop.changed, shows=state)

    @property
    def _by_group(self) -> bool:
        return isinstance(amount_of(self.entry)[1], dict)

    def _amount(self) -> None:
        key, stated = amount_of(self.entry)
        if self._by_group:
            note("Groups may spend different amounts here: change them in the file.")
            return
        amount = read_amount(stated) or Decimal("0.1")
        with ui.column().classes("w-full gap-1"):
            ways = ui.radio({each: _WAYS[each] for each in self._ways(key)}, value=key).props("inline dense")
            ways.props('aria-label="How the noise is chosen"')
            ways.on_value_change(lambda event: self._choose_way(event.value))
            control = AmountControl(
                key,
                _TITLES[key],
                amount,
                lambda chosen: self._spend(key, chosen),
                lambda moved: self._preview(key, moved),
            )

        def keep_up() -> None:
            now, changed = amount_of(self.entry)
            read = None if isinstance(changed, dict) else read_amount(changed)
            if now == key and read is not None:
                control.show(read)

        follow(ways, keep_up, self.workshop.changed)

    def _ways(self, key: str) -> list[str]:
        file = self.workshop.file
        pure = file is None or file.budget is None or file.budget.measure is EPSILON
        return [each for each in AMOUNTS if each == key or each != "rho" or not pure]

    def _choose_way(self, key: str) -> None:
        if key == amount_of(self.entry)[0]:
            return
        planning = self.workshop.planning
        outcome = None if planning is None else planning.outcome(self.name)
        amount = Fraction(1, 10)
        if outcome is not None and outcome.plan is not None and outcome.plan.amount:
            amount = outcome.plan.amount
            if key == "error":
                amount = Fraction(outcome.plan.expected_error().rmse)
        self._spend(key, rounded_to_stop(amount, key))

    def _preview(self, key: str, amount: Amount) -> str:
        planning = self.workshop.planning
        outcome = None if planning is None else planning.outcome(self.name)
        return "" if outcome is None or outcome.said is None else outcome.said.preview(key, float(amount))

    def _spend(self, key: str, amount: Amount) -> None:
        self.change(with_amount(self.entry, key, amount))

    def _more(self) -> None:
        def state() -> Any:
            return self._title, self.entry.get("noise"), self.entry.get("mechanism")

        live(self._details, self.workshop.changed, shows=state)

    def _details(self) -> None:
        entry = self.entry
        with (
            ui.element("div")
            .classes("w-full grid gap-4 py-2")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr))")
        ):
            named = ui.input("Name", value=self.name).props("outlined")
            named.on("keydown.enter", lambda: self._rename(str(named.value)))
            named.on("blur", lambda: self._rename(str(named.value)))
            noise = ui.select(_NOISES, label="Noise", value=entry.get("noise") or "").props("outlined")
            noise.on_value_change(lambda: self._choose(noise, "noise"))
            names = {"": _AUTOMATIC, **{each: each for each in self._mechanisms()}}
            chosen = entry.get("mechanism") or ""
            mechanism = ui.select({chosen: chosen, **names}, label="Mechanism", value=chosen).props("outlined")
            mechanism.on_value_change(lambda: self._choose(mechanism, "mechanism"))
        ui.button("Remove this release", icon="delete_outline", on_click=self._remove).props(
            "flat no-caps color=negative"
        )

    def _choose(self, field: ui.select, key: str) -> None:
        """Write a choice into the file; one that is refused is taken back."""
        if not self.change(with_key(self.entry, key, field.value)):
            field.value = self.entry.get(key) or ""

    def _mechanisms(self) -> list[str]:
        file = self.workshop.file
        release = next((each for each in file.releases if each.name == self.name), None) if file else None
        if release is None:
            return []
        from blowfish_privacy.mechanisms import MECHANISMS
        from blowfish_privacy.queries.query import split

        query, _ = split(release.query)
        return sorted(name for name, kind in MECHANISMS.items() if kind.answers(query))

    def _rename(self, name: str) -> None:
        name = name.strip()
        if not name or name == self.name:
            return
        body, old = self.workshop.body, self.name
        body["releases"] = [{**each, "name": name} if each["name"] == old else each for each in body["releases"]]
        self._renamed(name)
        if not self._take(body):
            self._renamed(old)

    def _remove(self) -> None:
        body = self.workshop.body
        body["releases"] = [each for each in body["releases"] if each["name"] != self.name]
        self._renamed(None)
        if self._take(body):
            ui.notify(f"{self.name} is removed. Undo brings it back.")
