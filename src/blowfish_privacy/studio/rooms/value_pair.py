"""Two values of an attribute: the picture to choose them in, and what a release may teach about them."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blowfish_privacy.domain import Attribute
from blowfish_privacy.policies import Policy
from blowfish_privacy.statements.policy import MOST_VALUES, GraphView, graph_view, odds_between, reach
from blowfish_privacy.studio.charts.look import plain
from blowfish_privacy.studio.charts.secrets import graph_chart, graph_height, steps_chart
from blowfish_privacy.studio.chosen_loss import ChosenLoss
from blowfish_privacy.studio.parts.chart import chart
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.odds_bar import odds_bar
from blowfish_privacy.studio.parts.words import note
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.value_text import MOST_LISTED, position_of
from blowfish_privacy.studio.workshop import Workshop


class ValuePair:
    """Two values of one attribute that somebody looks at; every tab has its own."""

    def __init__(self, workshop: Workshop, name: str, loss: ChosenLoss, lost: Signal) -> None:
        self._workshop, self._name, self._loss, self._lost = workshop, name, loss, lost
        self._moved = Signal()
        self._next_is_first = True
        self._drawn: ui.echart | None = None
        size = self._attribute.size
        self._first = size // 3 if self._attribute.ordered else 0
        self._second = min(size - 1, self._first + max(1, size // 10))

    def build(self) -> None:
        """Build the picture, the fields of the two values, and what is said of them."""
        signals = (self._workshop.changed, self._moved)
        self._chart()
        with ui.row().classes("items-start gap-3 w-full"):
            self._field("One value", first=True)
            self._field("Another", first=False)
        live(self._said, *signals, self._workshop.planned, self._lost, shows=self._shows)

    @property
    def _policy(self) -> Policy:
        if self._workshop.file is None:
            raise RuntimeError("values are compared under a policy only")
        return self._workshop.file.policy

    @property
    def _attribute(self) -> Attribute:
        return self._policy.domain[self._name]

    @property
    def _exists(self) -> bool:
        file = self._workshop.file
        if file is None or self._name not in file.policy.domain or not file.policy.graph.homogeneous:
            return False
        return max(self._first, self._second) < self._attribute.size

    def _chart(self) -> None:
        ordered = self._attribute.ordered
        drawn = self._drawn = chart(self._options(self._policy), 260 if ordered else graph_height(self._attribute.size))
        drawn.on_point_click(self._clicked)
        with ui.column().classes("gap-0 w-full"):
            note("Press a bar to choose the other value." if ordered else "Press one value, then another.")
            live(self._partly, self._workshop.changed, self._moved, shows=self._left_out)
        seen = [self._seen]

        def refresh() -> None:
            if self._exists and seen[0] != self._seen:
                seen[0] = self._seen
                _draw(drawn, self._options(self._policy))

        follow(drawn, refresh, self._workshop.changed, self._moved)

    def preview(self, policy: Policy) -> None:
        """Draw an ordered attribute as it would be under another policy."""
        if self._drawn is not None and not self._drawn.is_deleted and self._attribute.ordered:
            _draw(self._drawn, self._options(policy))

    def _options(self, policy: Policy) -> dict[str, Any]:
        if self._attribute.ordered:
            return steps_chart(reach(policy, self._name, self._first), self._name, self._second)
        return graph_chart(self._graph, self._first, self._second)

    @property
    def _graph(self) -> GraphView:
        return graph_view(self._policy, self._name, self._first, also=self._second)

    @property
    def _seen(self) -> tuple[str, int, int]:
        """What decides the picture."""
        return self._policy.hash, self._first, self._second

    def _left_out(self) -> str:
        """Say how much of a large attribute the picture shows."""
        if not self._exists or self._attribute.ordered or self._attribute.size <= MOST_VALUES:
            return ""
        return f"Shown: {self._graph.sentence}"

    def _partly(self) -> None:
        if self._left_out():
            note(self._left_out())

    def _clicked(self, event: Any) -> None:
        if event.series_type == "graph":
            if event.data_type == "node":
                self._choose(int(event.data["id"]), first=self._next_is_first)
                self._next_is_first = not self._next_is_first
            return
        at = position_of(self._attribute, plain(str(event.name)))
        if at is not None:
            self._choose(at, first=False)

    def _choose(self, at: int, *, first: bool) -> None:
        if first:
            self._first = at
        else:
            self._second = at
        self._moved.fire()

    def _field(self, label: str, *, first: bool) -> None:
        attribute = self._attribute
        listed = attribute.size <= MOST_LISTED
        if listed:
            field: Any = ui.select(dict(enumerate(attribute.texts())), value=self._value(first=first), label=label)
        else:
            field = ui.input(label, value=attribute.show(self._value(first=first)), validation=self._wrong)
        field.classes("flex-1 min-w-28").props("outlined dense")

        def taken() -> None:
            at = field.value if listed else position_of(attribute, str(field.value or ""))
            if at is not None and at != self._value(first=first):
                self._choose(int(at), first=first)

        def in_step() -> None:
            if self._exists:
                field.set_value(self._value(first=first) if listed else attribute.show(self._value(first=first)))

        field.on_value_change(taken)
        follow(field, in_step, self._moved)

    def _wrong(self, text: Any) -> str | None:
        return None if position_of(self._attribute, str(text or "")) is not None else "no declared value"

    def _value(self, *, first: bool) -> int:
        return self._first if first else self._second

    def _odds(self) -> Any:
        if not self._exists:
            return None
        one, other = ({self._name: self._attribute.value(at)} for at in (self._first, self._second))
        return odds_between(self._policy, one, other, self._loss.strength(frozenset({self._name})))

    def _shows(self) -> Any:
        odds = self._odds()
        return None if odds is None else (odds.sentence, odds.guess())

    def _said(self) -> None:
        odds = self._odds()
        if odds is not None:
            odds_bar(odds)


def _draw(chart: ui.echart, options: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.props["aria-label"] = options["aria"]["label"]["description"]
    chart.update()
