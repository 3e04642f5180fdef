"""The form of one release: what is asked, of which records, and what it may spend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from nicegui import ui

from blowfish_privacy.domain import Domain
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.entries import (
    AMOUNTS,
    BY_TITLE,
    Amount,
    Entry,
    Kind,
    amount_of,
    asked_for,
    available,
    changed_kind,
    condition_text,
    groups_of,
    kind_of,
    names_of,
    numbers_text,
    possible,
    read_amount,
    read_condition,
    read_list,
    read_tables,
    rounded_to_stop,
    tables_text,
    with_amount,
    with_key,
)
from blowfish_privacy.studio.parts import AmountControl, follow, keeps_up, live, note, problem_card
from blowfish_privacy.studio.workshop import Signal, Workshop

# The fields that say what a release asks about: attributes, tables, shares, numbers of clusters.


class ReleaseFields(Protocol):
    """What the fields need of the form that they are in."""

    workshop: Workshop

    @property
    def domain(self) -> Domain:
        """The domain of the file."""
        ...

    @property
    def entry(self) -> Entry:
        """The release as the file has it now."""
        ...

    def change(self, entry: Entry) -> bool:
        """Write the release into the file; say whether the file took it."""
        ...


def question_fields(form: ReleaseFields, kind: Kind) -> None:
    """Build the fields of one kind of release."""
    if kind.takes == "tables":
        _text(form, kind.keyword, "Tables, one in each line", tables_text, read_tables, lines=True)
    elif kind.takes == "one":
        _one(form, kind)
    elif kind.takes == "two":
        _two(form, kind)
    else:
        _several(form, kind)
    if kind.keyword == "quantiles":
        _text(form, "at", "Shares", numbers_text, read_list)
    if kind.keyword == "kmeans":
        _whole(form, "Clusters", lambda: form.entry.get("k", 4), lambda number: _set(form, "k", number))
    if kind.takes == "ways":
        _whole(form, "Attributes in each table", lambda: _ways(form), lambda number: _set_ways(form, number))


def _whole(form: ReleaseFields, title: str, value: Callable[[], int], choose: Callable[[int], None]) -> None:
    """Build a field for a whole number."""
    field = ui.number(title, value=int(value()), min=1, precision=0).props("outlined")
    field.on_value_change(lambda event: choose(int(event.value)) if event.value else None)
    _follow(form, field, value)


def _ways(form: ReleaseFields) -> int:
    return form.entry.get("tables", {}).get("ways", 2)


def _set_ways(form: ReleaseFields, number: int) -> None:
    _set(form, "tables", {**form.entry["tables"], "ways": number})


def _one(form: ReleaseFields, kind: Kind) -> None:
    field = ui.select(_options(form, kind), label="Attribute", value=_asked(form, kind)[0]).props("outlined")
    field.on_value_change(lambda event: _ask(form, kind, [event.value]) or _restore(field, _asked(form, kind)[0]))
    _follow(form, field, lambda: _asked(form, kind)[0])


def _two(form: ReleaseFields, kind: Kind) -> None:
    for number, title in enumerate(("Down", "Across")):
        field = ui.select(_options(form, kind), label=title, value=_asked(form, kind)[number]).props("outlined")
        field.on_value_change(lambda event, number=number: _replace(form, kind, number, event.value))
        _follow(form, field, lambda number=number: _asked(form, kind)[number])


def _several(form: ReleaseFields, kind: Kind) -> None:
    field = ui.select(_options(form, kind), label="Attributes", value=_asked(form, kind), multiple=True)
    field.props("outlined use-chips")
    field.on_value_change(lambda event: _ask(form, kind, event.value) if event.value else None)
    _follow(form, field, lambda: _asked(form, kind))


def _options(form: ReleaseFields, kind: Kind) -> list[str]:
    return [*dict.fromkeys([*possible(kind, form.domain), *_asked(form, kind)])]


def _asked(form: ReleaseFields, kind: Kind) -> list[str]:
    found = names_of(form.entry, kind)
    return found if kind.takes != "two" or len(found) == 2 else [*found, "", ""][:2]


def _replace(form: ReleaseFields, kind: Kind, number: int, name: str) -> None:
    """Put another attribute in one place; the one that was there takes the other place, if it is the same."""
    names = _asked(form, kind)
    if name == names[1 - number]:
        names[1 - number] = names[number]
    names[number] = name
    _ask(form, kind, names)


def _restore(field: Any, value: Any) -> None:
    """Take back a choice that the file refused."""
    field.value = value


def _ask(form: ReleaseFields, kind: Kind, names: Sequence[str]) -> bool:
    """Ask about other attributes; say whether the file took it."""
    if list(names) == _asked(form, kind):
        return True
    asked = asked_for(kind, names)
    if kind.takes == "ways":
        asked = {"ways": min(_ways(form), len(names)), "of": list(names)}
    entry = with_key(form.entry, kind.keyword, asked)
    # What is asked about is no group any more.
    return form.change(with_key(entry, "by", [name for name in groups_of(entry) if name not in names]))


def _set(form: ReleaseFields, key: str, value: Any) -> None:
    if value != form.entry.get(key):
        form.change(with_key(form.entry, key, value))


def _text(
    form: ReleaseFields,
    key: str,
    title: str,
    write: Callable[[Any], str],
    read: Callable[[str], Any],
    *,
    lines: bool = False,
) -> None:
    """Build a field for what is written as text; it is read when a person leaves it."""
    shown = write(form.entry.get(key, []))
    field = ui.textarea(title, value=shown).props("outlined autogrow") if lines else ui.input(title, value=shown)
    field.props("outlined")

    def done() -> None:
        if read(str(field.value)):
            _set(form, key, read(str(field.value)))

    field.on("blur", done)
    if not lines:
        field.on("keydown.enter", done)
    keeps_up(field, lambda: write(form.entry.get(key, [])), form.workshop.changed)


def _follow(form: ReleaseFields, field: Any, value: Callable[[], Any]) -> None:
    """Show in a field what the file says, whoever changed it."""
    shows(field, value, form.workshop.changed)


def shows(field: Any, value: Callable[[], Any], signal: Signal) -> None:
    """Show in a field what is true now, whenever a signal fires."""

    def refresh() -> None:
        if field.value != (now := value()):
            field.value = now

    follow(field, refresh, signal)


# The fields that say of which records a release is, and for which groups.


def record_fields(form: ReleaseFields) -> None:
    """Build the fields: the groups, and a condition on each of some attributes."""
    with ui.column().classes("w-full gap-4 py-2"):
        live(lambda: _grouping(form), form.workshop.changed, shows=lambda: _asked_about(form))
        conditions = live(lambda: _conditions(form), form.workshop.changed, shows=lambda: [*_where(form)])
        conditions.classes("flex flex-col gap-3")


def _grouping(form: ReleaseFields) -> None:
    # What the release looks at is the same within each group.
    others = [name for name in form.domain.names if name not in _asked_about(form)]
    options = [*dict.fromkeys([*others, *groups_of(form.entry)])]
    groups = ui.select(options, label="For each value of", value=groups_of(form.entry), multiple=True)
    groups.props("outlined use-chips clearable").classes("w-full max-w-xl")
    groups.on_value_change(lambda: _group(form, groups))
    shows(groups, lambda: groups_of(form.entry), form.workshop.changed)


def _group(form: ReleaseFields, field: ui.select) -> None:
    chosen = [str(name) for name in field.value or []]
    if chosen != groups_of(form.entry) and not form.change(with_key(form.entry, "by", chosen)):
        field.value = groups_of(form.entry)


def _asked_about(form: ReleaseFields) -> list[str]:
    kind = kind_of(form.entry)
    return names_of(form.entry, kind) if kind is not None else []


def _where(form: ReleaseFields) -> dict[str, Any]:
    return form.entry.get("where") or {}


def _conditions(form: ReleaseFields) -> None:
    where = _where(form)
    for name in where:
        with ui.row().classes("w-full items-center gap-3 no-wrap max-w-xl"):
            _condition(form, name)
    left = [name for name in form.domain.names if name not in where]
    if left:
        adding = ui.select(left, label="Only records with some values of").props("outlined").classes("w-full max-w-xl")
        adding.on_value_change(lambda event: _add(form, event.value) if event.value else None)
    note("Write one value, several with commas, or a range such as 25 to 54.")


def _condition(form: ReleaseFields, name: str) -> None:
    attribute = form.domain[name]
    field = ui.input(f"Values of {name}", value=condition_text(_where(form)[name], attribute)).props("outlined")
    field.classes("flex-1")

    def done() -> None:
        if str(field.value).strip():
            form.change(
                with_key(form.entry, "where", {**_where(form), name: read_condition(str(field.value), attribute)})
            )

    field.on("blur", done)
    field.on("keydown.enter", done)
    remove = ui.button(icon="close", on_click=lambda: _remove(form, name))
    remove.props("flat round dense").props["aria-label"] = f"Leave out the condition on {name}"
    keeps_up(field, lambda: condition_text(_where(form).get(name, ""), attribute), form.workshop.changed)


def _add(form: ReleaseFields, name: str) -> None:
    attribute = form.domain[name]
    first = attribute.show(0)
    value = read_condition(
        f"{first} to {attribute.show(attribute.size - 1)}" if attribute.ordered else first, attribute
    )
    form.change(with_key(form.entry, "where", {**_where(form), name: value}))


def _remove(form: ReleaseFields, name: str) -> None:
    form.change(with_key(form.entry, "where", {each: old for each, old in _where(form).items() if each != name}))


_TITLES = {"epsilon": "Epsilon", "rho": "Rho", "error": "Typical error"}
_WAYS = {"epsilon": "spend epsilon", "rho": "spend rho", "error": "reach an error"}
_NOISES = {"": "the more accurate", "laplace": "Laplace", "gaussian": "Gaussian"}
_AUTOMATIC = "chosen for you"


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
        entries = self.workshop.good_body.get("releases") or []
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
            said = self._problem.message
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
