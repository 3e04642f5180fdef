"""What the rooms of a page are built of, and how its parts follow what changes elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.domain import Attribute
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.statements.policy import EVEN, Odds, percent_down, percent_up
from blowfish_privacy.studio.charts.look import Option, TitledChart
from blowfish_privacy.studio.draft import OverwriteError, Problem
from blowfish_privacy.studio.entries import (
    MOST_LISTED,
    Amount,
    nearest,
    position_of,
    read_amount,
    why_not,
    written,
)
from blowfish_privacy.studio.workshop import Signal, Workshop
from blowfish_privacy.support.exact import readable
from blowfish_privacy.support.limits import FILE_CHARACTERS

# Parts of a page that are built anew when what they show has changed, and parts that stay what they are.
#
# What is built anew loses what is pressed or typed at that moment: the browser's event is on its way to an element that
# is there no more. So buttons and fields stand outside of what follows plans and other people, or are kept by a key.


# Elements that follow a signal for as long as they are on the page.


def _nothing() -> None:
    pass


def follow(
    element: ui.element, act: Callable[[], object], *signals: Signal, gone: Callable[[], None] = _nothing
) -> None:
    """Call ``act`` now and when one of the signals fires; once the element is gone, stop, and call ``gone`` once."""

    def heard() -> None:
        if element.is_deleted:
            leave()
        else:
            act()

    def leave() -> None:
        while leaves:
            leaves.pop()()
            if not leaves:
                gone()

    leaves = [signal.subscribe(heard) for signal in signals]
    element.client.on_delete(leave)
    act()


def keeps_up(field: Any, value: Callable[[], Any], *signals: Signal) -> None:
    """Show in a field what the file says, when that has changed; what is being typed stays until then."""
    seen = [value()]

    def refresh() -> None:
        if (now := value()) != seen[0]:
            seen[0] = now
            if field.value != now:
                field.value = now

    follow(field, refresh, *signals)


def on_entered(field: Any, act: Callable[[], None]) -> None:
    """Do something when a person leaves a field, or presses Enter in it."""
    field.on("blur", act)
    field.on("keydown.enter", act)


def on_chosen(field: Any, now: Callable[[], Any], take: Callable[[Any], bool]) -> None:
    """Hand over what a person chooses in a field; what is not taken goes back to what is true now."""

    def chosen() -> None:
        if field.value != now() and not take(field.value):
            field.value = now()

    field.on_value_change(chosen)


class ChoiceList(ui.select):
    """A list to choose from that may change under somebody's hand: the text that was pressed counts, not its place."""

    def _event_args_to_value(self, e: Any) -> Any:
        if not isinstance(e.args, dict):
            return super()._event_args_to_value(e)
        text = cast("dict[str, Any]", e.args)["label"]
        return self._values[self._labels.index(text)] if text in self._labels else self.value

    def _handle_value_change(self, value: Any) -> None:
        super()._handle_value_change(value)
        # The page may have drawn the list anew meanwhile, with what was chosen before.
        self.update()


async def worked_out(button: ui.button, work: Callable[[], Made]) -> Made | None:
    """Work something out in a thread of its own while a button turns; None if the button is gone by then."""
    button.props("loading")
    made = await run.io_bound(work)
    if button.is_deleted:
        return None
    button.props(remove="loading")
    return made


Made = TypeVar("Made")
Key = TypeVar("Key", bound=Hashable)


def live(build: Callable[[], object], *signals: Signal, shows: Callable[[], Any] | None = None) -> ui.element:
    """Build a part now, and again whenever one of the signals fires and what it ``shows`` has changed.

    ``shows`` returns plain values that can be compared; without it every signal counts. What a person is typing into
    is lost when it is built anew, so a part should show no more than it needs.
    """
    container = ui.element("div").classes("w-full")
    seen: list[Any] = [object()]

    def refresh() -> None:
        now = None if shows is None else shows()
        if shows is not None and now == seen[0]:
            return
        seen[0] = deepcopy(now)
        container.clear()
        with container:
            build()

    follow(container, refresh, *signals)
    return container


def keyed(
    keys: Callable[[], Iterable[Key]], build: Callable[[Key], None], *signals: Signal, tag: str = "div"
) -> ui.element:
    """Build a part for each key, once: it stays while its key is there, whatever else comes, goes or moves."""
    container = ui.element(tag)
    kept: dict[Key, ui.element] = {}

    def refresh() -> None:
        now = [*dict.fromkeys(keys())]
        for gone in [key for key in kept if key not in now]:
            kept.pop(gone).delete()
        for place, key in enumerate(now):
            if key not in kept:
                with container, ui.element("li" if tag == "ul" else "div") as kept[key]:
                    build(key)
            if container.default_slot.children[place] is not kept[key]:
                kept[key].move(target_index=place)

    follow(container, refresh, *signals)
    return container


# What is shown greyed, with a spinner, while it is worked out anew.

_PATIENT = "transition: opacity 0.15s ease 0.2s"

"""What is ready within a fifth of a second never turns grey."""


def greys(element: ui.element, workshop: Workshop) -> ui.element:
    """Grey an element, which shows plans, while these are being worked out anew."""
    element.style(_PATIENT)

    def refresh() -> None:
        if workshop.stale:
            element.classes("studio-stale").props("aria-busy=true")
        else:
            element.classes(remove="studio-stale").props(remove="aria-busy")

    follow(element, refresh, workshop.planned)
    return element


def spinner(workshop: Workshop) -> None:
    """Turn while plans are being worked out; it keeps its place when it does not."""
    turning = ui.spinner(size="1.2rem").props('aria-label="Working it out"').style(_PATIENT)
    follow(turning, lambda: turning.style(f"opacity: {1 if workshop.stale else 0}"), workshop.planned)


def once_open(expansion: ui.expansion, build: Callable[[], None]) -> None:
    """Build the inside of an expansion when it is open for the first time."""
    with expansion:
        inside = ui.element("div").classes("w-full")

    def fill() -> None:
        if expansion.value and not inside.default_slot.children:
            with inside:
                build()

    expansion.on_value_change(fill)
    fill()


# Where the keyboard is, after what it was on has been built anew.

_FOCUS = """
if (!document.activeElement?.closest("[role=dialog], .q-dialog, .q-menu"))
  for (const each of document.querySelectorAll("[aria-label]"))
    if (each.getAttribute("aria-label") === %s) { each.focus(); break; }
"""

"""Whoever has opened the next dialog by now is left there."""


def focus_on(label: str) -> None:
    """Put the focus on the control that has a label, after a dialog has closed."""
    ui.run_javascript(_FOCUS % json.dumps(label))


class AmountControl:
    """A slider that moves from stop to stop and a field for any number; ``choose`` is called when a person has chosen.

    ``choose`` says whether the file took it. ``preview`` is called while the handle moves, and may say something.
    """

    def __init__(
        self,
        title: str,
        stops: Sequence[Amount],
        amount: Amount,
        choose: Callable[[Amount], bool],
        preview: Callable[[Amount], str],
        *,
        name: str = "",
    ) -> None:
        self._title, self._stops, self._choose, self._preview = title, stops, choose, preview
        self._shown = amount
        with ui.row().classes("w-full items-center gap-x-4 gap-y-2"):
            least, most = written(stops[0]), written(stops[-1])
            ui.label(least).classes("studio-note").props("aria-hidden=true")
            self._slider = ui.slider(min=0, max=len(stops) - 1, step=1, value=self._stop).classes("flex-1 min-w-40")
            self._slider.props("label").props["aria-label"] = f"{name or title}, on a scale from {least} to {most}"
            ui.label(most).classes("studio-note").props("aria-hidden=true")
            self._field = ui.input(title, value=written(amount)).props("dense outlined no-error-icon hide-bottom-space")
            self._field.classes("w-44 max-w-full")
        self._words = ui.label().classes("studio-note").props("aria-live=polite").style("min-height: 1.3rem")
        self._say(amount)
        # While the handle moves only the number follows; the file changes when it is let go.
        self._slider.on("update:model-value", self._moving, throttle=0.05)
        self._slider.on("change", self._let_go)
        on_entered(self._field, self._typed)

    def show(self, amount: Amount) -> None:
        """Show another amount, which came from elsewhere."""
        if Fraction(amount) != Fraction(self._shown):
            self._shown = amount
            self._slider.value, self._field.value = self._stop, written(amount)
            self._say(amount)
            self._refuse(None)

    @property
    def _stop(self) -> int:
        return nearest(Fraction(self._shown), self._stops)

    def _say(self, amount: Amount) -> None:
        text = readable(Fraction(amount))
        self._slider.props(f'label-value="{text}" aria-valuetext="{text}"')

    def _moving(self, event: Any) -> None:
        stop = self._stops[int(event.args)]
        self._refuse(None)
        self._field.value, self._words.text = written(stop), self._preview(stop)
        self._say(stop)

    def _let_go(self, event: Any) -> None:
        self._words.text = ""
        self._take(self._stops[int(event.args)])

    def _typed(self) -> None:
        amount = read_amount(self._field.value)
        self._refuse(why_not(self._field.value, self._title))
        if amount is not None:
            self._take(amount)

    def _refuse(self, why: str | None) -> None:
        """Say why what was typed is not taken; it stays in its field, to be mended."""
        self._words.text = "" if why is None else f"{why} The file keeps {written(self._shown)}."
        if why is None:
            self._field.props(remove="error aria-invalid")
        else:
            self._field.props("error aria-invalid=true")

    def _take(self, amount: Amount) -> None:
        before = self._shown
        self.show(amount)
        if self._shown is not before and not self._choose(amount):
            self.show(before)


# Undo, redo and save, in the header of every room.

_KEYS = """<script>
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  const wish = {s: "save", y: "redo", z: event.shiftKey ? "redo" : "undo"}[key];
  const writes = event.target.closest("input, textarea, select, [contenteditable=true]");
  if (!wish || (writes && wish !== "save")) return;
  event.preventDefault();
  emitEvent(`studio-${wish}`);
});
</script>"""

"""Fields and the editor have an undo of their own. The browser's own is kept from doing it a second time."""

_PRESSES = """<script>
(() => {
  const pressable = "a, button, [role=button], [role=checkbox], [role=radio], [role=switch]";
  let pressed = null, x = 0, y = 0;
  document.addEventListener("pointerdown", (event) => {
    pressed = event.button === 0 ? event.target.closest(pressable) : null;
    x = event.clientX;
    y = event.clientY;
  }, true);
  document.addEventListener("pointerup", (event) => {
    const moved = pressed && pressed.isConnected && !pressed.contains(event.target);
    if (moved && Math.hypot(event.clientX - x, event.clientY - y) < 4) pressed.click();
    pressed = null;
  }, true);
})();
</script>"""

"""What is pressed counts, though the page moves it from under the pointer before that is let go."""


def header_buttons(workshop: Workshop) -> None:
    """Offer to take back, do again and save; the usual keys do the same outside of the editor."""
    with ui.row().classes("items-center gap-1 no-wrap"):
        undo, redo = _step("Undo", "undo", workshop.undo), _step("Redo", "redo", workshop.redo)
        ui.button("Save", icon="save", on_click=lambda: save(workshop)).props("outline dense no-caps")
        # A narrow window has room for the name of the file, or for this.
        _step("Save as ...", "save_as", lambda: ask_where(workshop)).classes("gt-xs")

    def refresh() -> None:
        undo.set_enabled(workshop.draft.can_undo)
        redo.set_enabled(workshop.draft.can_redo)

    # The buttons stay what they are, so that neither a click nor the focus is lost when something changes.
    follow(undo, refresh, workshop.changed)
    ui.add_body_html(_KEYS + _PRESSES)
    for wish, act in (("undo", workshop.undo), ("redo", workshop.redo), ("save", lambda: save(workshop))):
        ui.on(f"studio-{wish}", act)


def _step(words: str, icon: str, act: Callable[[], None]) -> ui.button:
    return ui.button(icon=icon, on_click=act).props(f'flat round dense aria-label="{words}"').tooltip(words)


def save(workshop: Workshop) -> None:
    """Save where the file lies; ask where, if it has no place yet."""
    if workshop.draft.path is None:
        ask_where(workshop)
    else:
        _save_to(workshop, workshop.draft.path)


def ask_where(workshop: Workshop, then: Callable[[], object] = _nothing) -> None:
    """Ask for the path of the file, and do something once it is saved there."""
    # What was pressed may be gone by the time of the answer; the page is not.
    with (
        ui.context.client.content,
        ui.dialog().props('aria-label="Save the file as"') as dialog,
        ui.card().classes("studio-card w-[32rem]"),
    ):
        ui.label("Save the file as").classes("studio-section")
        path = ui.input("Path of the file", value=str(workshop.another_path)).classes("w-full").props("autofocus")

        def done() -> None:
            chosen = str(path.value or "").strip()
            if chosen:
                _save_to(workshop, Path(chosen).expanduser(), asked=dialog, then=then)

        path.on("keydown.enter", done)
        with ui.row().classes("justify-end w-full"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
            ui.button("Save", on_click=done).props("no-caps")
    dialog.open()


def _save_to(
    workshop: Workshop,
    path: Path,
    *,
    asked: ui.dialog | None = None,
    replace: bool = False,
    then: Callable[[], object] = _nothing,
) -> None:
    """Save; the dialog that asked for the path closes once that has succeeded."""
    try:
        workshop.save(path, replace=replace)
    except OverwriteError as error:
        refused = error
    except BlowfishError as error:
        say_problem(error)
        return
    else:
        ui.notify(f"Saved as {path.name}.", type="positive")
        if asked is not None:
            asked.close()
        then()
        return

    def replace_it() -> None:
        dialog.close()
        _save_to(workshop, path, asked=asked, replace=True, then=then)

    def save_as() -> None:
        dialog.close()
        # Where a path was asked for just now, the question is still open below this one.
        if asked is None:
            ask_where(workshop)

    with ui.dialog().props('aria-label="Replace the file?"') as dialog, ui.card().classes("studio-card"):
        ui.label(capitalised(refused.message))
        note("Replacing it cannot be undone.")
        with ui.row().classes("justify-end w-full"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps autofocus")
            ui.button("Save as ...", on_click=save_as).props("outline no-caps")
            ui.button("Replace it", on_click=replace_it).props("no-caps color=negative")
    dialog.open()


# An editor that several tabs share: it hands over whole texts, and nothing that is typed is lost.
#
# The framework's own way sends each key as a change of the text before it, and sends the text back with whatever else
# changes about the editor: a key pressed in between is then applied to another text than it was typed into. Here the
# browser sends all of the text, with the number of the last text that it was given.
#
# A text that was typed into an older one than the server's is not taken as it is: the newer one is on its way, and says
# which text it replaces. What was typed meanwhile is kept where it does not touch what the newer text changes, both
# being joined; where it does, what was typed wins, and the other is one undo away. The result is handed over again.

_PAUSE = 120

"""Milliseconds: what is written after a pause is handed over at once, what is written faster at the next pause."""

_SENT = f"""
(event) => {{
  const box = getHtmlElement(%(id)d);
  const send = () => {{
    clearTimeout(box.pending);
    box.pending = undefined;
    box.sent = performance.now();
    const text = getElement(%(id)d).editor.state.doc.toString();
    const long = text.length > {FILE_CHARACTERS // 2};
    emit({{ text: long ? null : text, given: Number(box.dataset.given || 0) }});
  }};
  %(act)s
}}
"""

_TYPED = f"""
  if (box.pending === undefined && !(performance.now() - box.sent < {_PAUSE})) return send();
  clearTimeout(box.pending);
  box.pending = setTimeout(send, {_PAUSE});
"""

_LEFT = "if (box.pending !== undefined) send();"

_COMMANDED = "if (box.pending !== undefined && (event.ctrlKey || event.metaKey)) send();"

"""Whoever saves by a key saves what was typed before it."""

_GIVE = """
const box = getHtmlElement(%(id)d), part = getElement(%(id)d);
const lines = (text) => text.replace(/\\r\\n?/g, "\\n");
const before = lines(%(before)s), given = lines(%(text)s), now = part.editor.state.doc.toString();
const change = (old, text) => {
  let start = 0, end = old.length, stop = text.length;
  while (start < end && start < stop && old[start] === text[start]) start++;
  while (end > start && stop > start && old[end - 1] === text[stop - 1]) { end--; stop--; }
  return { start, end, put: text.slice(start, stop) };
};
const join = (first, second) =>
  before.slice(0, first.start) + first.put + before.slice(first.end, second.start) +
  second.put + before.slice(second.end);
const typed = change(before, now), other = change(before, given);
const joined =
  now === before || now === given ? given
  : typed.end <= other.start ? join(typed, other)
  : other.end <= typed.start ? join(other, typed)
  : now;
box.dataset.given = %(number)d;
if (joined !== now) {
  // A step of its own for the editor's undo: joined to the one before it, the two might cancel each other out.
  const { start, end, put } = change(now, joined);
  part.emitting = false;
  part.editor.dispatch({ changes: { from: start, to: end, insert: put }, userEvent: "given" });
  part.emitting = true;
}
if (joined !== given) part.$emit("update:value");
else {
  clearTimeout(box.pending);
  box.pending = undefined;
}
"""

_MARK = "getElement(%d)?.setDecorations?.(%s)"

_BUILT_IN = "update:value"


class TextEditor(ui.codemirror):
    """An editor for YAML. ``typed`` is called with each text that a person wrote, or None where it is too long."""

    def __init__(self, text: str, typed: Callable[[str | None], None]) -> None:
        super().__init__(text, language="YAML", theme="vscodeLight", indent="  ", line_wrapping=True)
        self._given = 0
        self._typed = typed
        self._shown = text
        for event, act in ((_BUILT_IN, _TYPED), ("focusout", _LEFT), ("keydown", _COMMANDED)):
            super().on(event, self._take, js_handler=_SENT % {"id": self.id, "act": act})

    def on(self, type: str, *arguments: Any, **options: Any) -> Self:  # noqa: A002
        """Listen to an event; the framework's own way to follow the text is left out."""
        return self if type == _BUILT_IN else super().on(type, *arguments, **options)

    def show(self, text: str) -> None:
        """Show a text that came from elsewhere, unless it is the one that is shown."""
        if text == self._shown:
            return
        self._given += 1
        given = {"id": self.id, "number": self._given, "before": json.dumps(self._shown), "text": json.dumps(text)}
        self._shown = text
        self.client.run_javascript(_GIVE % given)

    def mark_line(self, line: int | None, style: str) -> None:
        """Mark a line, or none."""
        marks = [] if line is None else [{"kind": "line", "line": line, "class": style}]
        self.client.run_javascript(_MARK % (self.id, json.dumps(marks)))

    def _take(self, event: Any) -> None:
        text, given = event.args["text"], event.args["given"]
        if given != self._given or (text is not None and text == self._shown):
            return
        if text is not None:
            self._shown = text
        self._typed(text)


# Headings, explanations, notices and problems, which look the same in every room.


def capitalised(sentence: str) -> str:
    """Begin a sentence with a capital, whatever follows."""
    return sentence[:1].upper() + sentence[1:]


def heading(title: str, lead: str = "") -> None:
    """Head a room with its title, and a sentence that says what it is for."""
    with ui.column().classes("gap-1 w-full"):
        TextElement(tag="h1", text=title).classes("studio-title")
        if lead:
            ui.label(lead).classes("studio-lead")


def section(title: str) -> None:
    """Head a part of a room."""
    TextElement(tag="h2", text=title).classes("studio-section")


def note(words: str) -> ui.label:
    """Explain something in small, quiet type."""
    return ui.label(words).classes("studio-note")


def notice(words: str, *, icon: str = "info") -> None:
    """Say something that must not be overlooked."""
    with ui.row().classes("studio-notice").props("role=note"):
        ui.icon(icon).props("aria-hidden=true")
        ui.label(words)


def problem_card(problem: Problem | BlowfishError) -> None:
    """Say what is wrong and what to do."""
    with ui.row().classes("studio-problem").props("role=alert"):
        ui.icon("error_outline").props("aria-hidden=true")
        with ui.column().classes("gap-1"):
            ui.label(problem.message)
            if problem.hint:
                note(f"Hint: {problem.hint}")


def problem_in(place: ui.element, problem: Problem | BlowfishError) -> None:
    """Say in a place what is wrong, in place of what it said before."""
    place.clear()
    with place:
        problem_card(problem)


# Names for elements that a library makes by itself, for those who hear a page instead of seeing it.

_NAMING = """
for (const [selector, name] of Object.entries(%s)) {
  const give = () => {
    const element = document.querySelector(selector);
    if (!element) return setTimeout(give, 50);
    element.setAttribute("aria-label", name);
    if (element.isContentEditable) element.setAttribute("tabindex", "0");
  };
  give();
}
"""


def name_elements(names: Mapping[str, str]) -> None:
    """Name elements of this page by CSS selectors, as soon as they are there; an editor can be reached by Tab too."""
    script = _NAMING % json.dumps(dict(names))
    ui.context.client.on_connect(lambda: ui.run_javascript(script))


# A change that a form asks for, and what is said if it cannot be.


def try_change(workshop: Workshop, body: Any) -> bool:
    """Hand new values to the file, and say whether it took them; if not, nothing changes, and a message says why."""
    problem = workshop.change(body)
    if problem is not None:
        say_problem(problem)
    return problem is None


def say_problem(problem: Problem | BlowfishError) -> None:
    """Say in a message why something cannot be done."""
    said = f"{problem.message} Hint: {problem.hint}" if problem.hint else problem.message
    ui.notify(said, type="negative", multi_line=True, timeout=10_000, close_button="Close")


# A table of texts, as HTML has it: screen readers know their way in it, and it scrolls by itself where it is wide.


def plain_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    actions: Callable[[int], None] | None = None,
) -> None:
    """Show rows below a header; ``actions`` fills a last cell of each row, which stays in sight, given its number."""
    with (
        ui.element("div").classes("studio-scroll").props("tabindex=0 role=region") as region,
        ui.element("table").classes("studio-table" if actions is None else "studio-table studio-acting"),
    ):
        region.props["aria-label"] = caption or ", ".join(header)
        if caption:
            TextElement(tag="caption", text=caption)
        with ui.element("thead"), ui.element("tr"):
            for name in header:
                TextElement(tag="th", text=name).props("scope=col")
            if actions is not None:
                with ui.element("th").props("scope=col"):
                    TextElement(tag="span", text="Actions").classes("sr-only")
        with ui.element("tbody"):
            for number, row in enumerate(rows):
                with ui.element("tr"):
                    for cell in row:
                        TextElement(tag="td", text=cell)
                    if actions is not None:
                        with ui.element("td"):
                            actions(number)


# What a release may do to a guess between two values: a sentence, and a bar from nought to certainty.


def live_odds(odds: Callable[[], Odds | None], *signals: Signal) -> None:
    """Show how far a guess at even odds may move, as it is whenever one of the signals fires."""

    def shows() -> Any:
        now = odds()
        return None if now is None else (now.sentence, now.guess())

    def build() -> None:
        if (now := odds()) is not None:
            with ui.column().classes("gap-2 w-full").props("aria-live=polite"):
                ui.label(now.sentence)
                if now.promise.promised in ("odds", "nothing", "unproved"):
                    _bar(now)
                if now.guess():
                    note(now.guess())

    live(build, *signals, shows=shows)


def _bar(odds: Odds) -> None:
    least, most = odds.least(EVEN), odds.most(EVEN)
    low, high, kind = 0.0, 1.0, "studio-odds-range studio-odds-open"
    if least is not None and most is not None:
        low, high, kind = least, most, "studio-odds-range"
    with ui.element("div").classes("studio-odds").props("role=img") as bar:
        bar.props["aria-label"] = odds.guess()
        with ui.element("div").classes("studio-odds-line"):
            ui.element("div").classes(kind).style(f"left: {100 * low:.3f}%; width: {100 * (high - low):.3f}%")
            ui.element("div").classes("studio-odds-before").style("left: 50%")
        with ui.element("div").classes("studio-odds-scale"):
            ui.label("0 %" if least is None else f"at least {percent_down(least)}")
            ui.label("before: 50 %")
            ui.label("100 %" if most is None else f"at most {percent_up(most)}")


# A chart on the page, with its title and what must be said about it.


def redraw(shown: ui.echart, option: Option) -> None:
    """Show other options in a chart."""
    shown.options.clear()
    shown.options.update(option)
    shown.props["aria-label"] = option["aria"]["label"]["description"]
    shown.update()


def value_field(
    attribute: Attribute,
    label: str,
    now: Callable[[], int | None],
    take: Callable[[int], None],
    *signals: Signal,
    wrong: Callable[[Any], str | None] | None = None,
) -> None:
    """Let a value be chosen from a list, or written where there are many; the field follows what is true ``now``."""
    listed = attribute.size <= MOST_LISTED

    def shown(at: int | None) -> Any:
        return at if listed or at is None else attribute.show(at)

    if listed:
        field: Any = ui.select(dict(enumerate(attribute.texts())), value=now(), label=label)
    else:
        field = ui.input(label, value=shown(now()), validation=wrong)
    field.classes("flex-1 min-w-28").props("outlined dense")

    def taken() -> None:
        at = field.value if listed else position_of(attribute, str(field.value or ""))
        if at is not None and at != now():
            take(int(at))

    def in_step() -> None:
        if (at := now()) is not None:
            field.set_value(shown(at))

    field.on_value_change(taken)
    follow(field, in_step, *signals)


def chart(option: Option, height: int = 360) -> ui.echart:
    """Show a chart as wide as its place; it is described to those who cannot see it."""
    shown = ui.echart(option, renderer="svg").classes("w-full").style(f"height: {height}px").props("role=img")
    shown.props["aria-label"] = option["aria"]["label"]["description"]
    return shown


def picture(shown: TitledChart, *, titled: bool = True) -> None:
    """Show a picture: its title, unless it stands right above already, the chart, and its note."""
    with ui.column().classes("w-full gap-1"):
        if titled:
            TextElement(tag="h3", text=shown.title).classes("text-base font-semibold m-0")
        chart(shown.option, shown.height)
        if shown.note:
            note(shown.note)


# Parts that show a value, and nothing while there is none.


def showing(
    value: Callable[[], Made | None], build: Callable[[Made], object], *signals: Signal, classes: str = ""
) -> ui.element:
    """Build a part of a value, which is plain and can be compared, and again whenever a signal fires and it changed."""

    def fill() -> None:
        if (now := value()) is not None:
            build(now)

    return live(fill, *signals, shows=value).classes(f"{classes} empty:hidden")


def with_policy(
    workshop: Workshop, needs: str, fill: Callable[[], object], shows: Callable[[], Any] = lambda: ()
) -> ui.element:
    """Fill a room once the file has a policy, and anew when what it ``shows`` has changed; say before what it needs."""
    return live(
        lambda: notice(needs) if workshop.file is None else fill(),
        workshop.changed,
        shows=lambda: None if workshop.file is None else (shows(),),
    )


# Fields that show what the file says, and hand over what a person chooses or writes instead.


def chosen_in(field: Any, now: Callable[[], Any], take: Callable[[Any], bool], signal: Signal) -> None:
    """Let something be chosen; what is not taken goes back to what is true now."""
    on_chosen(field, now, take)
    keeps_up(field, now, signal)


def typed_in(field: Any, now: Callable[[], str], take: Callable[[str], object], signal: Signal) -> None:
    """Let something be written; it is taken when the person leaves the field, unless that is empty."""

    def entered() -> None:
        text = str(field.value or "").strip()
        field.error = None
        if text and text != now():
            take(text)

    if isinstance(field, ui.textarea):
        field.on("blur", entered)
    else:
        on_entered(field, entered)
    keeps_up(field, now, signal)


# What takes a moment: worked out in a thread of its own, and shown when it is there.


def shows_later(work: Callable[[], Made], build: Callable[[Made], object], doing: str = "") -> None:
    """Build a part with what some work gives; a spinner turns until then, beside what is being done."""
    with ui.column().classes("w-full gap-3") as place, ui.row().classes("items-center gap-3"):
        ui.spinner()
        note(doing)

    async def fill() -> None:
        made = await run.io_bound(work)
        if made is not None and not place.is_deleted:
            place.clear()
            with place:
                build(made)

    # Beside the place, not in it: a timer that goes takes its work along.
    ui.timer(0, fill, once=True)
