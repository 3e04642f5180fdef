"""The room of secrets: what nobody may find out about a person, and what that means for two values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.domain import Attribute, Hierarchy
from blowfish_privacy.errors import BlowfishError, PolicyError
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import about_attribute, not_protected
from blowfish_privacy.statements.policy import (
    MOST_VALUES,
    GraphView,
    Odds,
    graph_view,
    odds_between,
    reach,
    unprotected_after_budget,
)
from blowfish_privacy.studio import secret_choice as choices
from blowfish_privacy.studio.charts.look import plain
from blowfish_privacy.studio.charts.plans import graph_chart, graph_height, steps_chart
from blowfish_privacy.studio.entries import Amount, declared, position_of
from blowfish_privacy.studio.parts import (
    AmountControl,
    ChoiceList,
    chart,
    chosen_in,
    follow,
    heading,
    live,
    live_odds,
    note,
    notice,
    on_chosen,
    once_open,
    redraw,
    section,
    showing,
    try_change,
    value_field,
    with_policy,
)
from blowfish_privacy.studio.workshop import OWN, ChosenLoss, Signal, Workshop
from blowfish_privacy.support.exact import positive, show

# Two records side by side: of one attribute beside its picture, or of all, where none is chosen for itself.

_MOST_ATTRIBUTES = 12


class Pair:
    """Two records that somebody looks at, as positions of values; every tab has its own."""

    def __init__(self, loss: ChosenLoss, lost: Signal, first: dict[str, int], second: dict[str, int]) -> None:
        self._workshop, self._loss, self._lost = loss.workshop, loss, lost
        self.records = first, second
        self.moved = Signal()

    @property
    def exists(self) -> bool:
        """Whether the policy still has all of these values."""
        if self._workshop.file is None:
            return False
        domain = self._workshop.policy.domain
        values = [each for record in self.records for each in record.items()]
        return all(name in domain and at < domain[name].size for name, at in values)

    def choose(self, record: dict[str, int], name: str, at: int) -> None:
        """Look at another value."""
        record[name] = at
        self.moved.fire()

    def fields(self, name: str, labels: Sequence[str]) -> None:
        """Show a field for the value of each record."""
        attribute = self._workshop.policy.domain[name]

        def now(record: dict[str, int]) -> int | None:
            return record[name] if self.exists else None

        def wrong(text: Any) -> str | None:
            return None if position_of(attribute, str(text or "")) is not None else "no declared value"

        for record, label in zip(self.records, labels, strict=True):
            take = partial(self.choose, record, name)
            value_field(attribute, label, partial(now, record), take, self.moved, wrong=wrong)

    def odds(self) -> None:
        """Show what a release may teach about the two."""

        def now() -> Odds | None:
            if not self.exists:
                return None
            domain = self._workshop.policy.domain
            one, other = ({name: domain[name].value(at) for name, at in record.items()} for record in self.records)
            differing = [name for name in one if one[name] != other[name]]
            try:
                strength = self._loss.strength(frozenset(differing or one))
                return odds_between(self._workshop.policy, one, other, strength)
            except BlowfishError:
                return None

        live_odds(now, self._workshop.changed, self._workshop.planned, self.moved, self._lost)


def compare_records(workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
    """Let somebody choose two whole records, and say what a release may teach about them."""
    domain = workshop.policy.domain
    names = [*domain][:_MOST_ATTRIBUTES]
    first = dict.fromkeys(domain, 0)
    pair = Pair(loss, lost, first, first | {names[0]: domain[names[0]].size - 1})
    with ui.column().classes("studio-card"):
        section("Compare two records")
        if len(names) < len(domain.names):
            note(f"Of the attributes, the first {len(names)} are shown; the others are equal.")
        for name in names:
            with ui.row().classes("items-center gap-3 w-full"):
                ui.label(name).classes("w-32 text-weight-medium")
                pair.fields(name, (f"One person: {name}", f"Another: {name}"))
        pair.odds()


# Groups of categories: dragged from box to box, or moved by a menu, which works with the keyboard.


def groups_control(card: SecretCard) -> None:
    """Show the groups as boxes of categories, with an empty one for a new group."""
    note("Drag a category into another box, or press it to choose its group.")
    live(partial(_Boxes, card), card.workshop.changed, shows=lambda: card.exists and choices.groups_of(card.graph))


class _Boxes:
    """The boxes of one card, as the file has them."""

    def __init__(self, card: SecretCard) -> None:
        self._card = card
        self._attribute = card.attribute
        self._groups = choices.groups_of(card.graph)
        self._numbers: dict[int, int] = {}
        """The group of each box, by the element's id."""
        self._positions: dict[int, int] = {}
        """The category of each chip, by the element's id."""
        with ui.element("div").classes("studio-boxes"):
            for group in range(max(self._groups) + 2):
                members = [at for at, own in enumerate(self._groups) if own == group]
                title = f"Group {group + 1}" if members else "A new group"
                with ui.column().classes("studio-box" if members else "studio-box studio-box-new"):
                    TextElement(tag="span", text=title).classes("studio-note")
                    with ui.row().classes("studio-chips") as chips:
                        for at in members:
                            self._chip(at, group)
                self._numbers[chips.id] = group
                chips.make_sortable(group=f"groups of {self._card.name}", on_end=self._dropped)

    def _chip(self, at: int, group: int) -> None:
        text = self._attribute.show(at)
        with ui.button(text).props("flat dense no-caps").classes("studio-chip") as chip:
            chip.props["aria-label"] = f"{text}: choose its group"
            with ui.menu():
                for other in range(max(self._groups) + 2):
                    if other != group:
                        new = other > max(self._groups)
                        words = "Move to a new group" if new else f"Move to group {other + 1}"
                        ui.menu_item(words, on_click=partial(self._move, at, other)).props("role=menuitem")
        self._positions[chip.id] = at

    def _dropped(self, event: Any) -> None:
        group, at = self._numbers.get(event.target.id), self._positions.get(event.item.id)
        if group is not None and at is not None:
            self._move(at, group)

    def _move(self, at: int, group: int) -> None:
        if self._groups[at] == group:
            return
        moved = [*self._groups[:at], group, *self._groups[at + 1 :]]
        self._card.change(choices.groups_choice(self._attribute, moved))


# The details of a choice: how far, how wide, where to cut, which groups, which level.

_MOST_SHOWN = 30


def threshold_control(card: SecretCard) -> None:
    """Choose how far apart values may be and still be secret from each other: a handle on a ruler, and a number."""
    attribute = card.attribute
    stops = _stops(attribute.gap(0, attribute.size - 1)) if attribute.gap(0, 1) == 1 else _gaps(attribute)
    _ruler(card, "At most so far apart", stops, lambda choice: choice["threshold"], choices.threshold_choice)


def width_control(card: SecretCard) -> None:
    """Choose how wide blocks are."""
    stops = _stops(Fraction(card.attribute.size))
    _ruler(card, "Width of a block", stops, lambda choice: _only(choice["partition"]["widths"]), choices.width_choice)


def _only(stated: Any) -> Any:
    """Return what a file states of the one attribute, which it may name."""
    return next(iter(stated.values())) if isinstance(stated, dict) else stated


def _ruler(
    card: SecretCard,
    label: str,
    stops: Sequence[Fraction],
    read: Callable[[Any], Any],
    write: Callable[[Fraction], Any],
) -> None:
    """Offer a handle that moves from stop to stop, and a field for any number."""
    kind = card.kind

    def now() -> Fraction:
        return positive(read(card.choice), label, error=PolicyError)

    def preview(number: Amount) -> str:
        card.preview(write(Fraction(number)))
        return ""

    def choose(number: Amount) -> bool:
        taken = card.change(write(Fraction(number)))
        if not taken:
            card.redraw()
        return taken

    def follow_file() -> None:
        if card.exists and card.kind == kind:
            control.show(now())

    with ui.column().classes("gap-1 w-full") as place:
        control = AmountControl(label, stops, now(), choose, preview, name=f"{label}: {card.name}")
    follow(place, follow_file, card.workshop.changed)


def cuts_control(card: SecretCard) -> None:
    """Cut an ordered attribute into blocks: add a cut, or join a block with the one before."""
    attribute = card.attribute

    def cut() -> None:
        at = position_of(attribute, str(field.value or ""))
        if not at:
            field.error = f"choose a value after {attribute.show(0)}, up to {attribute.show(attribute.size - 1)}"
            return
        field.error = None
        if card.change(choices.cuts_choice(attribute, [*(choices.cuts_of(card.graph) or []), at])):
            field.set_value("")

    with ui.row().classes("items-start gap-3 w-full no-wrap"):
        field = ui.input("Cut before").classes("flex-1").props("outlined dense")
        ui.button("Cut", icon="content_cut", on_click=cut).props("outline no-caps")
    field.on("keydown.enter", cut)
    live(lambda: _blocks(card), card.workshop.changed, shows=lambda: card.exists and choices.cuts_of(card.graph))


def _blocks(card: SecretCard) -> None:
    attribute = card.attribute
    cuts = (choices.cuts_of(card.graph) or []) if card.exists else []
    starts = [0, *cuts]
    ends = [*(cut - 1 for cut in cuts), attribute.size - 1]
    with ui.column().classes("gap-1 w-full"):
        for first, last in [*zip(starts, ends, strict=True)][:_MOST_SHOWN]:
            said = attribute.show(first) if first == last else f"{attribute.show(first)} to {attribute.show(last)}"
            with ui.row().classes("studio-block items-center w-full no-wrap"):
                ui.label(said).classes("flex-1")
                if first:
                    joined = choices.cuts_choice(attribute, [cut for cut in cuts if cut != first])
                    join = ui.button(icon="vertical_align_top", on_click=partial(card.change, joined))
                    join.props("flat round dense").props["aria-label"] = f"Join {said} with the block before"
                    join.tooltip("Join with the block before")
    if len(starts) > _MOST_SHOWN:
        note(f"And {len(starts) - _MOST_SHOWN:,} more blocks.")


def within_control(card: SecretCard) -> None:
    """Choose the level of the hierarchy below whose names values are secret from each other."""
    attribute = card.attribute
    if not isinstance(attribute, Hierarchy):
        return
    levels = {name: f"{name} ({many:,})" for name, many in [*attribute.level_sizes.items()][:-1]}
    field = ui.select(levels, value=_only(card.choice["within"]), label="Below the same")
    field.classes("w-full").props("outlined dense")

    def now() -> Any:
        return _only(card.choice["within"]) if card.exists and card.kind == "within" else field.value

    chosen_in(field, now, lambda level: card.change({"within": level}), card.workshop.changed)


CONTROLS: dict[choices.Kind, Callable[[SecretCard], None]] = {
    "threshold": threshold_control,
    "width": width_control,
    "cuts": cuts_control,
    "groups": groups_control,
    "within": within_control,
}


def _stops(longest: Fraction) -> list[Fraction]:
    """Return the places of a handle: every whole number, or round ones where there are many."""
    if longest <= 100:
        return [Fraction(stop) for stop in range(1, max(2, int(longest) + 1))]
    stops: list[Fraction] = []
    power = Fraction(1)
    while power <= longest:
        stops += [times * power for times in (1, 2, 3, 5, 7) if times * power <= longest]
        power *= 10
    return stops


def _gaps(attribute: Attribute) -> list[Fraction]:
    """Return the distances between bins: only there a threshold changes anything."""
    starts = range(attribute.size) if attribute.size <= _MOST_SHOWN else range(1)
    gaps = {attribute.gap(start, end) for start in starts for end in range(start + 1, attribute.size)}
    return sorted(gap for gap in gaps if gap) or [Fraction(1)]


# Two values of an attribute: the picture to choose them in, and what a release may teach about them.


class PairPicture:
    """The picture of an attribute beside the fields of two values, which can be chosen in it."""

    def __init__(self, card: SecretCard, loss: ChosenLoss, lost: Signal) -> None:
        self._card, self._workshop, self._name = card, card.workshop, card.name
        self._next_is_first = True
        self._drawn: ui.echart | None = None
        size = card.attribute.size
        first = size // 3 if card.attribute.ordered else 0
        second = min(size - 1, first + max(1, size // 10))
        self._pair = Pair(loss, lost, {self._name: first}, {self._name: second})

    def build(self) -> None:
        """Build the picture, the fields of the two values, and what is said of them."""
        self._chart()
        with ui.row().classes("items-start gap-3 w-full"):
            self._pair.fields(self._name, ("One value", "Another"))
        self._pair.odds()

    @property
    def _exists(self) -> bool:
        return self._card.exists and self._pair.exists

    @property
    def _places(self) -> tuple[int, int]:
        first, second = self._pair.records
        return first[self._name], second[self._name]

    def _chart(self) -> None:
        ordered = self._card.attribute.ordered
        height = 260 if ordered else graph_height(self._card.attribute.size)
        drawn = self._drawn = chart(self._options(self._workshop.policy), height)
        drawn.on_point_click(self._clicked)

        def left_out() -> str | None:
            """Say how much of a large attribute the picture shows."""
            if not self._exists or self._card.attribute.ordered or self._card.attribute.size <= MOST_VALUES:
                return None
            return f"Shown: {self._graph.sentence}"

        def seen() -> tuple[str, int, int]:
            """Return what decides the picture."""
            return self._workshop.policy.hash, *self._places

        signals = self._workshop.changed, self._pair.moved
        with ui.column().classes("gap-0 w-full"):
            note("Press a bar to choose the other value." if ordered else "Press one value, then another.")
            showing(left_out, note, *signals)
        before = [seen()]

        def refresh() -> None:
            if self._exists and before[0] != seen():
                before[0] = seen()
                redraw(drawn, self._options(self._workshop.policy))

        follow(drawn, refresh, *signals)

    def preview(self, policy: Policy) -> None:
        """Draw an ordered attribute as it would be under another policy."""
        if self._drawn is not None and not self._drawn.is_deleted and self._card.attribute.ordered:
            redraw(self._drawn, self._options(policy))

    def _options(self, policy: Policy) -> dict[str, Any]:
        first, second = self._places
        if self._card.attribute.ordered:
            return steps_chart(reach(policy, self._name, first), self._name, second)
        return graph_chart(self._graph, first, second)

    @property
    def _graph(self) -> GraphView:
        first, second = self._places
        return graph_view(self._workshop.policy, self._name, first, also=second)

    def _clicked(self, event: Any) -> None:
        first, second = self._pair.records
        if event.series_type == "graph":
            if event.data_type == "node":
                self._pair.choose(first if self._next_is_first else second, self._name, int(event.data["id"]))
                self._next_is_first = not self._next_is_first
            return
        at = position_of(self._card.attribute, plain(str(event.name)))
        if at is not None:
            self._pair.choose(second, self._name, at)


KINDS: dict[choices.Kind, str] = {
    "full": "Every two values",
    "threshold": "Values close to each other",
    "width": "Values in one block, all equally wide",
    "cuts": "Values in one block, cut where I say",
    "groups": "Values in one group",
    "within": "Values below one name of a level",
    "public": "Nothing: everybody may know it",
    "other": "As it is written in the file",
}
_ONLY_PRESENCE = "Nothing but whether a person is in the table"
"""What ``public`` means where the number of records is secret."""
_OPEN_AT_ONCE = 3


def secret_cards(workshop: Workshop, loss: ChosenLoss, lost: Signal) -> None:
    """Build a card for each attribute; only the first few are open, and those that are closed cost nothing."""
    for number, name in enumerate(workshop.policy.domain):
        card = SecretCard(workshop, name, loss, lost)
        expansion = ui.expansion(value=number < _OPEN_AT_ONCE).classes("studio-expansion")
        with expansion.add_slot("header"):
            card.title()
        once_open(expansion, card.build)


class SecretCard:
    """What is secret about one attribute."""

    def __init__(self, workshop: Workshop, name: str, loss: ChosenLoss, lost: Signal) -> None:
        self.workshop, self.name = workshop, name
        self._picture = PairPicture(self, loss, lost)

    @property
    def policy(self) -> Policy:
        """The policy of the last valid file."""
        return self.workshop.policy

    @property
    def attribute(self) -> Attribute:
        """The attribute as it is declared."""
        return self.policy.domain[self.name]

    @property
    def graph(self) -> SecretGraph:
        """The secret graph of the attribute."""
        return self.policy.graph.project([self.name])

    @property
    def exists(self) -> bool:
        """Whether the policy still has the attribute, and cards."""
        known = self.workshop.file is not None and self.name in self.policy.domain
        return known and self.policy.graph.homogeneous

    @property
    def choice(self) -> Any:
        """What the file says about the attribute."""
        return choices.choice_of(self.workshop.good_body, self.name)

    @property
    def kind(self) -> choices.Kind:
        """Which of the choices that is."""
        return choices.kind_of_choice(self.choice, self.attribute, self.graph)

    def _chosen(self) -> Any:
        return self.exists and (self.kind, self._words_for("public"))

    def _words_for(self, kind: choices.Kind) -> str:
        return _ONLY_PRESENCE if kind == "public" and self.policy.size == "unknown" else KINDS[kind]

    def change(self, choice: Any) -> bool:
        """Say something else about the attribute; return whether it could be."""
        return try_change(self.workshop, choices.with_choice(self.workshop.body, self.name, choice))

    def preview(self, choice: Any) -> None:
        """Show in the picture what a choice would mean that is not made yet; the file stays as it is."""
        try:
            self._picture.preview(choices.policy_with(self.policy, self.name, choice))
        except BlowfishError:
            # What is wrong with it is said when it is chosen.
            self.redraw()

    def redraw(self) -> None:
        """Show in the picture what the file says."""
        self._picture.preview(self.policy)

    def title(self) -> None:
        """Head the card: the attribute, its values, and what is secret, in a word."""
        with ui.row().classes("items-baseline gap-3 w-full"):
            TextElement(tag="h2", text=self.name).classes("studio-section").style("margin: 0")
            note(declared(self.attribute))

        def chosen() -> str | None:
            return self._words_for(self.kind) if self.exists else None

        def summary(words: str) -> None:
            ui.label(words).classes("studio-chip")

        showing(chosen, summary, self.workshop.changed).classes(remove="w-full")

    def build(self) -> None:
        """Build the inside: the choice and its details on the left, the picture and two values on the right."""
        with ui.element("div").classes("studio-card-halves"):
            with ui.column().classes("gap-4 w-full"):
                live(self._choices, self.workshop.changed, shows=self._chosen)
                showing(self._said, self._words, self.workshop.changed)
            with ui.column().classes("gap-3 w-full min-w-0"):
                self._picture.build()

    def _choices(self) -> None:
        if not self.exists:
            return
        attribute, kind = self.attribute, self.kind
        offered = {each: self._words_for(each) for each in choices.kinds_for(attribute)}
        if kind not in offered:
            offered[kind] = self._words_for(kind)
        options = ui.radio(offered, value=kind).classes("studio-radio")
        options.props["aria-label"] = f"What is secret about {self.name}"
        if kind in CONTROLS:
            with ui.column().classes("gap-3 w-full pt-2"):
                CONTROLS[kind](self)

        def take(after: choices.Kind) -> bool:
            return after == "other" or self.change(choices.first_choice(after, attribute))

        on_chosen(options, lambda: kind, take)

    def _said(self) -> Sequence[str] | None:
        return about_attribute(self.policy, self.name) if self.exists else None

    def _words(self, sentences: Sequence[str]) -> None:
        for sentence in sentences:
            note(sentence)


# The room.

_MODES: dict[choices.Mode, str] = {
    "cards": "Attribute by attribute: I choose below what is secret about each",
    "attributes": "One attribute at a time: any two values of an attribute, while the others stay as they are",
    "full": "Every two records: differential privacy, the strongest, with the most noise",
    "presence": "Presence: whether a person is in the table at all (add-or-remove differential privacy)",
}
_BY_CARD = "A person's value of each attribute, as its card below says."
_QUESTIONS: dict[choices.Mode, str] = {
    "cards": "Steps then add up over the attributes: two records that differ in several of them are "
    "protected less than two that differ in one. You choose below how far each attribute is protected.",
    "attributes": "Two records that differ in several attributes are then as many steps apart, and protected less.",
    "full": "The number of records then becomes public, and any two records are one step apart.",
    "presence": "The number of records then becomes secret, and any two records are two steps apart: an epsilon means "
    "something else than before. Known facts are not possible with it.",
}


def secrets(workshop: Workshop) -> None:
    """Fill the room."""
    heading(
        "Secrets",
        "Which values of a person must nobody be able to tell apart? The less you need to hide, the more accurate "
        "your results.",
    )
    loss, lost = ChosenLoss(workshop), Signal()

    def outline() -> Any:
        """Return what decides which parts the room has."""
        body = workshop.good_body
        return choices.mode_of(body), body["policy"]["domain"]

    def fill() -> None:
        mode = choices.mode_of(workshop.good_body)
        with ui.element("div").classes("studio-stack"):
            _choose_mode(workshop, mode)
            showing(lambda: _said(workshop), _words, workshop.changed)
            _choose_loss(loss, lost)
            (secret_cards if mode == "cards" else compare_records)(workshop, loss, lost)

    needs = "Declare the attributes of your table first; then you can say what is secret about each."
    with_policy(workshop, needs, fill, outline)


def _choose_mode(workshop: Workshop, mode: choices.Mode) -> None:
    single = len(workshop.good_body["policy"]["domain"]) == 1
    offered = {each: words for each, words in _MODES.items() if not single or each in ("cards", "presence")}
    if mode == "other":
        offered["other"] = "As it is written in the file"
    title = "What is secret about a person"
    with ui.column().classes("studio-card"):
        section(title)
        choice = ui.radio(offered, value=mode).props(f'aria-label="{title}"').classes("studio-radio")

    def take(after: choices.Mode) -> bool:
        if after != "other" and choices.weakens(mode, after):
            _ask(workshop, after, lambda: choice.set_value(mode))
            return True
        return after == "other" or try_change(workshop, choices.with_mode(workshop.body, after))

    on_chosen(choice, lambda: mode, take)


def _ask(workshop: Workshop, after: choices.Mode, back: Any) -> None:
    named = 'persistent aria-label="This changes what you promise"'
    with ui.dialog().props(named) as dialog, ui.card().classes("studio-card w-[34rem]"):
        section("This changes what you promise")
        ui.label(_QUESTIONS[after])
        note("A ledger that was begun with another policy may not fit any more. You can undo the change.")

        def keep() -> None:
            dialog.close()
            back()

        def change() -> None:
            dialog.close()
            if not try_change(workshop, choices.with_mode(workshop.body, after)):
                back()

        with ui.row().classes("justify-end w-full"):
            ui.button("Leave it", on_click=keep).props("flat no-caps autofocus")
            ui.button("Change it", on_click=change).props("no-caps")
    dialog.open()


def _said(workshop: Workshop) -> tuple[Sequence[str], Sequence[str], choices.Mode] | None:
    if workshop.file is None:
        return None
    policy = workshop.file.policy
    mode, words = choices.mode_of(workshop.good_body), policy.words()
    # Each card says what is protected of its attribute; what holds for all of them is said once.
    alone = mode == "cards" and words.protected
    protected = (_BY_CARD, *words.added) if alone else words.sentences
    return protected, not_protected(policy, unprotected_after_budget(policy, workshop.file.budget)), mode


def _words(said: tuple[Sequence[str], Sequence[str], choices.Mode]) -> None:
    protected, exposed, mode = said
    with ui.element("div").classes("studio-stack"):
        if mode == "other":
            notice("The file has a choice that this form does not know; it is shown here, and changed in the file.")
        with ui.element("div").classes("studio-halves"):
            _sentences("Protected", protected or ("Nothing: the policy has no secret pairs.",), "lock_outline")
            _sentences("Not protected", exposed, "visibility")


def _sentences(title: str, sentences: Sequence[str], icon: str) -> None:
    with ui.column().classes("studio-card"):
        with ui.row().classes("items-center gap-2"):
            ui.icon(icon).props("aria-hidden=true").classes("text-lg text-primary")
            TextElement(tag="h2", text=title).classes("studio-section").style("margin: 0")
        for sentence in sentences[:8]:
            ui.label(sentence)
        if len(sentences) > 8:
            note(f"And {len(sentences) - 8:,} more sentences.")


def _choose_loss(loss: ChosenLoss, lost: Signal) -> None:
    """Let somebody choose the loss at which values are compared."""
    workshop = loss.workshop

    with ui.row().classes("items-end gap-4 w-full"):
        which = ChoiceList(loss.options(), value=loss.chosen, label="Compare values after a loss of")
        which.classes("w-80 max-w-full").props("outlined dense")
        own = ui.input("Epsilon", value=show(loss.own), validation=loss.wrong).classes("w-28")
        own.props("outlined dense").bind_visibility_from(which, "value", value=OWN)

    def chosen(value: str) -> None:
        # What a person chose comes back with the plan that it is about.
        if value != loss.chosen:
            loss.which = value
            lost.fire()

    def typed(text: str | None) -> None:
        if loss.take(text or ""):
            lost.fire()

    def refresh() -> None:
        if (options := loss.options()) != which.options:
            which.set_options(options, value=loss.chosen)

    which.on_value_change(lambda event: chosen(event.value))
    own.on_value_change(lambda event: typed(event.value))
    follow(which, refresh, workshop.changed, workshop.planned)
