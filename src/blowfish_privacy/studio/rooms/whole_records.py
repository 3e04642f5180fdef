"""Two whole records side by side, for policies whose secrets are not chosen attribute by attribute."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.policies import Policy
from blowfish_privacy.statements.policy import Odds, odds_between
from blowfish_privacy.studio.chosen_loss import ChosenLoss
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.odds_bar import odds_bar
from blowfish_privacy.studio.parts.words import note, section
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.value_text import MOST_LISTED, position_of
from blowfish_privacy.studio.workshop import Workshop

_MOST_ATTRIBUTES = 12


def compare_records(workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
    """Let somebody choose two records, and say what a release may teach about them."""
    if workshop.file is not None:
        _Records(workshop, loss, lost).build()


class _Records:
    """Two records that one tab compares."""

    def __init__(self, workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
        self._workshop, self._loss, self._lost = workshop, loss, lost
        self._moved = Signal()
        domain = self._policy.domain
        self._names = [*domain][:_MOST_ATTRIBUTES]
        self._chosen = [dict.fromkeys(domain, 0) for _ in range(2)]
        self._chosen[1][self._names[0]] = domain[self._names[0]].size - 1

    @property
    def _policy(self) -> Policy:
        if self._workshop.file is None:
            raise RuntimeError("records are compared under a policy only")
        return self._workshop.file.policy

    def build(self) -> None:
        with ui.column().classes("studio-card"):
            section("Compare two records")
            if len(self._names) < len(self._policy.domain.names):
                note(f"Of the attributes, the first {len(self._names)} are shown; the others are equal.")
            for name in self._names:
                with ui.row().classes("items-center gap-3 w-full"):
                    ui.label(name).classes("w-32 text-weight-medium")
                    for number, label in enumerate(("One person", "Another")):
                        self._field(name, number, f"{label}: {name}")
            signals = (self._workshop.changed, self._workshop.planned, self._moved, self._lost)
            live(self._said, *signals, shows=self._shows)

    def _field(self, name: str, number: int, label: str) -> None:
        attribute, chosen = self._policy.domain[name], self._chosen[number]
        listed = attribute.size <= MOST_LISTED
        if listed:
            field: Any = ui.select(dict(enumerate(attribute.texts())), value=chosen[name], label=label)
        else:
            field = ui.input(label, value=attribute.show(chosen[name]))
        field.classes("flex-1 min-w-28").props("outlined dense")

        def taken() -> None:
            at = field.value if listed else position_of(attribute, str(field.value or ""))
            if at is not None:
                chosen[name] = int(at)
                self._moved.fire()

        field.on_value_change(taken)

    def _odds(self) -> Odds | None:
        if self._workshop.file is None or {*self._policy.domain} != {*self._chosen[0]}:
            return None
        domain = self._policy.domain
        one, other = (
            {name: domain[name].value(min(at, domain[name].size - 1)) for name, at in chosen.items()}
            for chosen in self._chosen
        )
        differing = frozenset(name for name in one if one[name] != other[name])
        try:
            return odds_between(self._policy, one, other, self._loss.strength(differing))
        except BlowfishError:
            return None

    def _shows(self) -> Any:
        odds = self._odds()
        return None if odds is None else (odds.sentence, odds.guess())

    def _said(self) -> None:
        odds = self._odds()
        if odds is not None:
            odds_bar(odds)
