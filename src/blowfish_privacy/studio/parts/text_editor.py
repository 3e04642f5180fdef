"""An editor that several tabs share: it hands over whole texts, and nothing that is typed is lost.

The framework's own way sends each key as a change of the text before it, and sends the text back with whatever else
changes about the editor: a key pressed in between is then applied to another text than it was typed into. Here the
browser sends all of the text, with the number of the last text that it was given.

A text that was typed into an older one than the server's is not taken as it is: the newer one is on its way, and says
which text it replaces. What was typed meanwhile is kept where it does not touch what the newer text changes, both being
joined; where it does, what was typed wins, and the other is one undo away. The result is handed over again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Self

from nicegui import ui

from blowfish_privacy.support.limits import FILE_CHARACTERS

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
