"""Releases: what will be published, how wrong the noise will make it, and what that draws on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from nicegui import background_tasks, run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.domain import Domain
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.queries.query import split
from blowfish_privacy.release.spec import PlannedRelease
from blowfish_privacy.statements.plan import budget_words
from blowfish_privacy.studio import entries as forms
from blowfish_privacy.studio.charts import plans as charts
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts import (
    AmountControl,
    capitalised,
    chosen_in,
    follow,
    greys,
    heading,
    live,
    note,
    notice,
    on_chosen,
    problem_card,
    redraw,
    showing,
    spinner,
    try_change,
    typed_in,
    with_policy,
)
from blowfish_privacy.studio.planning import Outcome, Said
from blowfish_privacy.studio.workshop import Signal, Workshop

# The form of one release: what is asked, of which records, and what it may spend.

_TITLES = {"epsilon": "Epsilon", "rho": "Rho", "error": "Typical error"}
_WAYS = {"epsilon": "spend epsilon", "rho": "spend rho", "error": "reach an error"}
_AUTOMATIC = "chosen for you"


class ReleaseForm:
    """Changes one release of the file; what the file does not take is said under the form, and changes nothing."""

    def __init__(self, workshop: Workshop, name: str, *, renamed: Callable[[str | None], None]) -> None:
        self._workshop, self._name = workshop, name
        self._renamed = renamed
        self._refused, self._problem = Signal(), None
        changed = workshop.changed
        # Parts are built anew only when what they are made of changes elsewhere.
        with ui.column().classes("w-full gap-4"):
            live(self._question, changed, shows=lambda: (self._title, self._domain.names))
            live(self._amount, changed, shows=lambda: (forms.amount_of(self._entry)[0], self._by_group))
            live(self._refusal, self._refused)
            with ui.element("div").classes("w-full"):
                live(self._records, changed, shows=lambda: self._kind is None or self._kind.of_parts)
                with ui.expansion("More: name, noise, mechanism", icon="tune").classes("w-full"):
                    details = "noise", "mechanism"
                    live(self._details, changed, shows=lambda: (self._title, *map(self._entry.get, details)))

    @property
    def _domain(self) -> Domain:
        return self._workshop.policy.domain

    @property
    def _entry(self) -> forms.Entry:
        """The release as the file has it now."""
        entries = self._workshop.good_body.get("releases") or []
        return next((entry for entry in entries if entry["name"] == self._name), {"name": self._name})

    @property
    def _kind(self) -> forms.Kind | None:
        return forms.kind_of(self._entry)

    @property
    def _title(self) -> str | None:
        return None if self._kind is None else self._kind.title

    def _change(self, entry: forms.Entry) -> bool:
        """Write the release into the file; say whether the file took it."""
        body = self._workshop.body
        entries = body.get("releases") or []
        if not any(each["name"] == self._name for each in entries) or entry == self._entry:
            return False
        body["releases"] = [entry if each["name"] == self._name else each for each in entries]
        return self._take(body)

    def _take(self, body: dict[str, Any]) -> bool:
        self._problem = self._workshop.change(body)
        self._refused.fire()
        return self._problem is None

    def _set(self, key: str, value: Any) -> bool:
        return self._change(forms.with_key(self._entry, key, value))

    def _refusal(self) -> None:
        if self._problem is not None:
            problem_card(Problem(capitalised(self._problem.message), self._problem.hint))

    # Fields: what is chosen or written in them goes into the file, and what the file says is shown in them.

    def _choose(
        self,
        title: str,
        options: Sequence[str] | dict[str, str],
        now: Callable[[], Any],
        take: Callable[[Any], bool],
        **more: Any,
    ) -> ui.select:
        offered = options if isinstance(options, dict) else [*options]
        field = ui.select(offered, label=title, value=now(), **more).props("outlined")
        chosen_in(field, now, take, self._workshop.changed)
        return field

    def _write(self, title: str, now: Callable[[], str], take: Callable[[str], object], *, lines: bool = False) -> Any:
        field = ui.textarea(title, value=now()).props("autogrow") if lines else ui.input(title, value=now())
        typed_in(field.props("outlined"), now, take, self._workshop.changed)
        return field

    # What is asked: the kind of release, and attributes, tables, shares or numbers of clusters.

    def _question(self) -> None:
        kind = self._kind
        if kind is None:
            note("What this release asks for is more than a form can show: change it in the file.")
            return

        def ask(title: str) -> bool:
            return self._change(forms.changed_kind(self._entry, forms.BY_TITLE[title], self._domain))

        with _grid("gap-4", "15rem"):
            kinds = [each.title for each in dict.fromkeys([*forms.available(self._domain), kind])]
            self._choose("What to publish", kinds, lambda: self._title, ask)
            self._attributes(kind)
            for key, (words, write, read) in forms.WRITTEN.items():
                if key in kind.also:
                    self._key(key, words, write, read)
        note(kind.says).classes("pt-2")

    def _key(self, key: str, title: str, write: Callable[[Any], str], read: Callable[[str], Any], **more: Any) -> None:
        """Show a field for what is written at a key of the release."""
        self._write(title, lambda: write(self._entry.get(key, [])), lambda text: self._set(key, read(text)), **more)

    def _attributes(self, kind: forms.Kind) -> None:
        """Ask for attributes in the way that a kind of release takes them."""

        def asked() -> list[str]:
            return forms.names_of(self._entry, kind)

        def place(number: int) -> str:
            return [*asked(), "", ""][number]

        def ask(names: Sequence[str]) -> bool:
            return bool(names) and self._change(forms.with_names(self._entry, kind, names))

        def replace(number: int, name: str) -> bool:
            """Put another attribute in one place; one that stands in the other place already gets this one's."""
            names = [*asked(), "", ""][:2]
            if name == names[1 - number]:
                names.reverse()
            names[number] = name
            return ask(names)

        options = [*dict.fromkeys([*forms.possible(kind, self._domain), *asked()])]
        if kind.takes == "tables":
            self._key(kind.keyword, "Tables, one in each line", forms.tables_text, forms.read_tables, lines=True)
        elif kind.takes == "one":
            self._choose("Attribute", options, lambda: asked()[0], lambda name: ask([name]))
        elif kind.takes == "two":
            for number, title in enumerate(("Down", "Across")):
                self._choose(title, options, partial(place, number), partial(replace, number))
        else:
            self._choose("Attributes", options, asked, ask, multiple=True).props("use-chips")
        if kind.takes == "ways":

            def ways() -> str:
                return str(self._entry.get(kind.keyword, {}).get("ways", 2))

            def take(text: str) -> None:
                self._set(kind.keyword, {**self._entry[kind.keyword], "ways": forms.read_value(text)})

            self._write("Attributes in each table", ways, take)

    # Of which records the release is, and for which groups.

    def _records(self) -> None:
        if self._kind is not None and not self._kind.of_parts:
            return

        def asked_about() -> list[str]:
            return [] if self._kind is None else forms.names_of(self._entry, self._kind)

        def now() -> list[str]:
            return forms.groups_of(self._entry)

        def grouping() -> None:
            # What the release looks at is the same within each group.
            options = [*dict.fromkeys([*(name for name in self._domain.names if name not in asked_about()), *now()])]
            groups = self._choose("For each value of", options, now, partial(self._set, "by"), multiple=True)
            groups.props("use-chips clearable").classes("w-full max-w-xl")

        with (
            ui.expansion("Some records only, or for each group", icon="filter_alt").classes("w-full"),
            ui.column().classes("w-full gap-4 py-2"),
        ):
            live(grouping, self._workshop.changed, shows=asked_about)
            conditions = live(self._conditions, self._workshop.changed, shows=lambda: [*self._where])
            conditions.classes("flex flex-col gap-3")

    @property
    def _where(self) -> dict[str, Any]:
        return self._entry.get("where") or {}

    def _conditions(self) -> None:
        for name in self._where:
            with ui.row().classes("w-full items-center gap-3 no-wrap max-w-xl"):
                self._condition(name)
        left = [name for name in self._domain.names if name not in self._where]
        if left:
            adding = ui.select(left, label="Only records with some values of").props("outlined")
            adding.classes("w-full max-w-xl").on_value_change(lambda event: event.value and self._add(event.value))
        note("Write one value, several with commas, or a range such as 25 to 54.")

    def _condition(self, name: str) -> None:
        attribute = self._domain[name]

        def now() -> str:
            return forms.condition_text(self._where.get(name, ""), attribute)

        def done(text: str) -> None:
            self._set("where", {**self._where, name: forms.read_condition(text, attribute)})

        def remove() -> None:
            self._set("where", {each: old for each, old in self._where.items() if each != name})

        self._write(f"Values of {name}", now, done).classes("flex-1")
        button = ui.button(icon="close", on_click=remove).props("flat round dense")
        button.props["aria-label"] = f"Leave out the condition on {name}"

    def _add(self, name: str) -> None:
        """Begin a condition: on all values of an ordered attribute, on the first of another."""
        attribute = self._domain[name]
        first, last = attribute.show(0), attribute.show(attribute.size - 1)
        value = forms.read_condition(f"{first} to {last}" if attribute.ordered else first, attribute)
        self._set("where", {**self._where, name: value})

    # What it may spend.

    @property
    def _by_group(self) -> bool:
        return isinstance(forms.amount_of(self._entry)[1], dict)

    def _amount(self) -> None:
        key, stated = forms.amount_of(self._entry)
        if self._by_group:
            note("Groups may spend different amounts here: change them in the file.")
            return
        file = self._workshop.file
        pure = file is None or file.budget is None or file.budget.measure is EPSILON
        offered = {each: words for each, words in _WAYS.items() if each == key or each != "rho" or not pure}

        def preview(amount: forms.Amount) -> str:
            outcome = self._workshop.outcome(self._name)
            return "" if outcome is None or outcome.said is None else outcome.said.preview(key, float(amount))

        def spend(key: str, amount: forms.Amount) -> bool:
            return self._change(forms.with_amount(self._entry, key, amount))

        def choose_way(way: str) -> bool:
            outcome, amount = self._workshop.outcome(self._name), Fraction(1, 10)
            if outcome is not None and outcome.plan is not None and outcome.plan.amount:
                plan = outcome.plan
                amount = Fraction(plan.expected_error().rmse) if way == "error" else plan.amount
            return spend(way, forms.rounded_to_stop(amount, way))

        with ui.column().classes("w-full gap-1"):
            ways = ui.radio(offered, value=key).props('inline dense aria-label="How the noise is chosen"')
            on_chosen(ways, lambda: forms.amount_of(self._entry)[0], choose_way)
            amount = forms.read_amount(stated) or Decimal("0.1")
            control = AmountControl(_TITLES[key], forms.amounts(key), amount, partial(spend, key), preview)

        def keep_up() -> None:
            now, changed = forms.amount_of(self._entry)
            read = None if isinstance(changed, dict) else forms.read_amount(changed)
            if now == key and read is not None:
                control.show(read)

        follow(ways, keep_up, self._workshop.changed)

    # The name, the noise and the mechanism.

    def _details(self) -> None:
        def detail(key: str, title: str, options: dict[str, str]) -> None:
            self._choose(title, options, lambda: self._entry.get(key) or "", partial(self._set, key))

        with _grid("gap-4 py-2", "13rem"):
            self._write("Name", lambda: self._name, self._rename)
            detail("noise", "Noise", forms.NOISES)
            chosen = self._entry.get("mechanism") or ""
            mechanisms = dict.fromkeys([chosen, "", *self._mechanisms()])
            detail("mechanism", "Mechanism", {name: name or _AUTOMATIC for name in mechanisms})
        remove = ui.button("Remove this release", icon="delete_outline", on_click=self._remove)
        remove.props("flat no-caps color=negative")

    def _mechanisms(self) -> list[str]:
        release = _read(self._workshop, self._name)
        if release is None:
            return []
        from blowfish_privacy.mechanisms import MECHANISMS

        query, _ = split(release.query)
        return sorted(name for name, kind in MECHANISMS.items() if kind.answers(query))

    def _rename(self, name: str) -> None:
        body, old = self._workshop.body, self._name
        body["releases"] = [{**each, "name": name} if each["name"] == old else each for each in body["releases"]]
        self._renamed(name)
        if not self._take(body):
            self._renamed(old)

    def _remove(self) -> None:
        body = self._workshop.body
        body["releases"] = [each for each in body["releases"] if each["name"] != self._name]
        self._renamed(None)
        # The button that was pressed goes with the release, the page does not.
        page = ui.context.client.content
        if self._take(body):
            with page:
                ui.notify(f"{self._name} is removed. Undo brings it back.")


def _read(workshop: Workshop, name: str) -> PlannedRelease | None:
    """Return a release of the last valid file, as it was read."""
    releases = () if workshop.file is None else workshop.file.releases
    return next((each for each in releases if each.name == name), None)


def _grid(classes: str, least: str) -> ui.element:
    """Lay fields out in as many columns as have room."""
    columns = f"repeat(auto-fit, minmax(min(100%, {least}), 1fr))"
    return ui.element("div").classes(f"w-full grid {classes}").style(f"grid-template-columns: {columns}")


# How wrong one release will be, in pictures that follow every change.

Option = dict[str, Any]
_PAUSE = 0.3


class ReleasePictures:
    """Shows the plan of one release; the picture of an earlier plan stays, greyed, until the next is there."""

    def __init__(self, workshop: Workshop, name: str) -> None:
        self._workshop, self._name = workshop, name

        def said() -> Any:
            """Return what decides the words."""
            outcome = self._outcome
            if outcome is None:
                return None
            problem = None if outcome.problem is None else (outcome.problem.message, outcome.problem.hint)
            return problem, outcome.paid is not None, None if outcome.said is None else dict(outcome.said.accuracy)

        words = live(self._words, workshop.planned, shows=said)
        with _grid("gap-6", "max(17rem, 40%)") as self._container:
            self._pictures = [
                _Picture("Beside plain differential privacy", _bars, 92, wide=True),
                _Picture("By size", lambda said: charts.by_size(said.by_size) if said.by_size else None, 280),
                _Picture("By table, the largest errors first", _by_part, 420, wide=True),
                _Picture("If you spent more or less", _by_amount, 280, patient=True),
            ]
        for element in (words, self._container):
            greys(element, workshop)
        follow(self._container, self._refresh, workshop.planned)

    @property
    def _outcome(self) -> Outcome | None:
        return self._workshop.outcome(self._name)

    def _words(self) -> None:
        outcome = self._outcome
        if outcome is None:
            note("Working out the plan.")
            return
        if outcome.problem is not None:
            problem_card(outcome.problem)
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
        spinner(workshop)

    needs = "First choose a table and declare its attributes: then there is something to release."
    with_policy(workshop, needs, lambda: _Releases(workshop)).classes("flex flex-col gap-4")
    # The data, which say how many records there are, may have changed since the plans were made.
    workshop.replan()


class _Releases:
    """The releases of the file, one of them open."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop, self._chosen = workshop, Signal()
        entries = self._entries
        self._open: str | None = entries[0]["name"] if entries else None

        def notes() -> Sequence[str] | None:
            return None if workshop.planning is None else workshop.planning.notes

        def noted(sentences: Sequence[str]) -> None:
            for said in sentences:
                note(said)

        showing(lambda: _together(workshop), _together_words, workshop.planned)
        live(self._build, workshop.changed, self._chosen, shows=lambda: (self._names, self._open))
        showing(lambda: workshop.planning_problem, problem_card, workshop.planned)
        self._adding()
        showing(notes, noted, workshop.planned)

    @property
    def _entries(self) -> list[forms.Entry]:
        return self._workshop.good_body.get("releases") or []

    @property
    def _names(self) -> list[str]:
        return [entry["name"] for entry in self._entries]

    def _build(self) -> None:
        with ui.column().classes("w-full gap-3"):
            if not self._names:
                notice("There is no release yet. Add the first one: you will see its error before anything is spent.")
            for name in self._names:
                self._card(name)

    def _card(self, name: str) -> None:
        workshop, opened = self._workshop, name == self._open

        def figures(shown: list[tuple[str, str]]) -> None:
            with ui.row().classes("gap-6 items-center"):
                for title, text in shown:
                    with ui.column().classes("gap-0"):
                        ui.label(text).classes("text-weight-medium")
                        note(title)

        with ui.card().classes("studio-card").props("flat"):
            with ui.element("div").classes("w-full flex items-center gap-x-6 gap-y-1"):
                with ui.element("h2").classes("flex-1 m-0 text-base leading-normal").style("min-width: 14rem"):
                    self._handle(name, opened=opened)
                shown = showing(lambda: _figures(workshop, name), figures, workshop.planned)
                greys(shown.classes(remove="w-full"), workshop)
            if opened:
                with ui.column().classes("w-full gap-5"):
                    ReleaseForm(workshop, name, renamed=self._renamed)
                    ui.separator()
                    ReleasePictures(workshop, name)

    def _handle(self, name: str, *, opened: bool) -> None:
        icon = "expand_less" if opened else "expand_more"

        def toggle() -> None:
            self._open = None if opened else name
            self._chosen.fire()

        button = ui.button(on_click=toggle)
        button.props(f"flat no-caps align=left padding=xs aria-expanded={str(opened).lower()}")
        with button.classes("w-full").style("color: inherit"), ui.row().classes("no-wrap items-center gap-2 w-full"):
            ui.icon(icon).props("aria-hidden=true")
            with ui.column().classes("gap-0 items-start text-left min-w-0"):
                TextElement(tag="span", text=name).classes("text-weight-bold")

                def small(words: str) -> None:
                    TextElement(tag="span", text=words).classes("studio-note")

                showing(lambda: self._words(name), small, self._workshop.changed)

    def _words(self, name: str) -> str:
        """Say in a few words what a release asks for."""
        entry = next((entry for entry in self._entries if entry["name"] == name), {"name": name})
        kind, release = forms.kind_of(entry), _read(self._workshop, name)
        if release is None:
            return ""
        query, selection = split(release.query)
        title = query.noun.capitalize() if kind is None else kind.title
        return f"{title} of {query.subject}{selection.words(self._workshop.policy.domain)}"

    def _renamed(self, name: str | None) -> None:
        self._open = name

    def _adding(self) -> None:
        workshop = self._workshop

        def kinds() -> None:
            for kind in () if workshop.file is None else forms.available(workshop.policy.domain):
                item = ui.menu_item(on_click=partial(self._add, kind)).props("role=menuitem")
                with item, ui.column().classes("gap-0 py-1"):
                    ui.label(kind.title).classes("text-weight-medium")
                    note(kind.says)

        button = ui.button("Add a release", icon="add").props("outline no-caps aria-haspopup=menu")
        with button.classes("self-start"), ui.menu() as menu:
            menu.on("keydown", js_handler=_ARROWS)
            listed = live(kinds, workshop.changed, shows=lambda: workshop.file and workshop.policy.domain.names)
            listed.style("min-width: 20rem")

    def _add(self, kind: forms.Kind) -> None:
        file, body = self._workshop.file, self._workshop.body
        if file is None:
            return
        asked = forms.begun(kind, file.policy.domain)
        about_what = " ".join(dict.fromkeys(forms.names_of(asked, kind)))
        name = forms.new_name(f"{about_what} {kind.title.lower()}"[:60].replace("@", " "), self._names)
        pure = file.budget is None or file.budget.measure is EPSILON
        entry: forms.Entry = {"name": name, **asked, **({"epsilon": _FIRST_EPSILON} if pure else {"rho": _FIRST_RHO})}
        body["releases"] = [*(body.get("releases") or []), entry]
        before, self._open = self._open, name
        if not try_change(self._workshop, body):
            self._open = before


def _together(workshop: Workshop) -> tuple[str, bool] | None:
    quote = None if workshop.planning is None or not workshop.planning.outcomes else workshop.planning.quote
    return None if quote is None else (next(budget_words(quote)), quote.fits)


def _together_words(said: tuple[str, bool]) -> None:
    """Say what all releases take from the budget, so that no slider is moved without seeing it."""
    words, fits = said
    if fits:
        note(words)
    else:
        problem_card(Problem(words, "spend less on some, or see under Budget which fit."))


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
