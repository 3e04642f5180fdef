"""Change values in a YAML text and leave the rest of it as it stands: comments, order, spelling, line ends."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from blowfish_privacy.errors import SpecError
from blowfish_privacy.support import yaml_text

# Where the values of a YAML text stand in it.


@dataclass(frozen=True)
class Node:
    """A value of a text, and from where to where its own characters go: comments that follow are not part of it."""

    value: Any
    start: int
    end: int
    inline: bool
    """Whether it is a scalar, or a collection between brackets."""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Part:
    """An entry of a collection: it starts with its key, or in a list in lines of their own with its dash."""

    name: Any
    start: int
    name_end: int
    node: Node


def read_nodes(text: str) -> Node | None:
    """Find the values of a valid text; None where there are none."""
    # The parser does not count the mark at the beginning that some editors write.
    skipped = 1 if text.startswith("\ufeff") else 0
    parser = yaml_text.Parser(text[skipped:])
    events: Iterator[Any] = iter(parser.get_event, None)
    next(events)
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    return _Nodes(text, skipped, events).node(next(events))


class _Nodes:
    """Reads nodes from the events of a parser."""

    def __init__(self, text: str, skipped: int, events: Iterator[Any]) -> None:
        self._text = text
        self._skipped = skipped
        self._events = events

    def node(self, event: Any) -> Node:
        start = self._skipped + event.start_mark.index
        if isinstance(event, yaml.ScalarEvent):
            # What follows lines of literal text up to the next entry is not part of it.
            own = self._text[start : self._skipped + event.end_mark.index].rstrip(" \t\r\n")
            return Node(yaml_text.scalar(event), start, start + len(own), inline=True)
        in_list = isinstance(event, yaml.SequenceStartEvent)
        closing, parts = (self._entries if in_list else self._pairs)(event, start)
        end = self._skipped + closing.end_mark.index if event.flow_style else max(part.node.end for part in parts)
        values = [(part.name, part.node.value) for part in parts]
        value = [value for _, value in values] if in_list else dict(values)
        return Node(value, start, end, bool(event.flow_style), tuple(parts))

    def _entries(self, event: Any, start: int) -> tuple[Any, list[Part]]:
        parts: list[Part] = []
        column = start - self._line_start(start)
        while not isinstance(following := next(self._events), yaml.SequenceEndEvent):
            node = self.node(following)
            dash = node.start if event.flow_style else self._dash(node.start, column)
            parts.append(Part(len(parts), dash, dash if event.flow_style else dash + 1, node))
        return following, parts

    def _pairs(self, event: Any, start: int) -> tuple[Any, list[Part]]:
        parts: list[Part] = []
        while not isinstance(following := next(self._events), yaml.MappingEndEvent):
            key = self.node(following)
            node = self.node(next(self._events))
            parts.append(Part(key.value, key.start, max(key.end, key.start), node))
        return following, parts

    def _dash(self, before: int, column: int) -> int:
        """Find the dash of an entry, which stands in the column of its list."""
        place = self._text.rindex("-", 0, before)
        while place - self._line_start(place) != column:
            place = self._text.rindex("-", 0, place)
        return place

    def _line_start(self, place: int) -> int:
        return self._text.rfind("\n", 0, place) + 1


# Which entries of a collection in a text become which entries of a new one.


def same(first: Any, second: Any) -> bool:
    """Compare plain values: entries of mappings have an order, and true is not 1."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def paired(node: Node, new: Any) -> list[Part | None]:
    """Find for each entry of a new collection the old one that becomes it, if any.

    In a mapping that is the one of the same key. In a list it is one of the same value, then of the same name, then the
    next one that is left.
    """
    if isinstance(new, dict):
        parts = {part.name: part for part in node.parts}
        return [parts.get(name) for name in new]
    matches: list[Part | None] = [None] * len(new)
    left = list(node.parts)
    for identity in (_frozen, _name, _kind):
        left = _pair(left, new, matches, identity)
    return matches


def _pair(
    left: list[Part], new: list[Any], matches: list[Part | None], identity: Callable[[Any], Hashable]
) -> list[Part]:
    waiting: defaultdict[Hashable, deque[Part]] = defaultdict(deque)
    for part in left:
        waiting[identity(part.node.value)].append(part)
    taken: set[int] = set()
    for number, value in enumerate(new):
        key = identity(value)
        if matches[number] is None and key is not None and waiting.get(key):
            part = matches[number] = waiting[key].popleft()
            taken.add(part.start)
    return [part for part in left if part.start not in taken]


def _name(value: Any) -> Hashable:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _kind(value: Any) -> Hashable:
    return isinstance(value, dict | list)


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return ("mapping", tuple((key, _frozen(each)) for key, each in value.items()))
    if isinstance(value, list):
        return ("list", tuple(map(_frozen, value)))
    return (isinstance(value, bool), value)


# How new values look in a policy file: small ones between brackets, the larger structure in lines of its own.

WIDTH = 110
"""How long a line may become."""
_STRUCTURE = 2
"""Down to which level mappings of mappings are written in lines: a policy's domain and its secrets."""
_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9_ ]*[A-Za-z0-9_])?")
_RESERVED = frozenset({"true", "false", "null"})


def inline(value: Any, column: int = 0, used: int = 0) -> str:
    """Write a value between brackets, after ``used`` characters of a line that begins in some column.

    Where it is long, it has several lines, which begin four columns further in.
    """
    pieces = _pieces(value)
    lines, length = [pieces[0]], column + used + len(pieces[0])
    for piece in pieces[1:]:
        if length + 1 + len(piece) > WIDTH:
            lines.append(" " * (column + 4) + piece)
            length = len(lines[-1])
        else:
            lines[-1] += f" {piece}"
            length += 1 + len(piece)
    return "\n".join(lines)


def _pieces(value: Any) -> list[str]:
    """Write a value as texts between which a line may end."""
    if not isinstance(value, dict | list) or not value:
        return [_scalar(value)]
    if isinstance(value, list):
        entries = [_pieces(each) for each in value]
    else:
        written = {name: _pieces(each) for name, each in value.items()}
        entries = [[f"{_scalar(name)}: {first}", *rest] for name, (first, *rest) in written.items()]
    pieces = [piece for *before, last in entries for piece in (*before, f"{last},")]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    pieces[0] = opening + pieces[0]
    pieces[-1] = pieces[-1].removesuffix(",") + closing
    return pieces


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.casefold() not in _RESERVED:
        return value
    return yaml_text.write_scalar(value)


def is_inline(value: Any, level: int, *, column: int, listed: bool = False) -> bool:
    """Decide whether a new value is written between brackets, at a level of nesting and a column."""
    if not isinstance(value, dict | list) or not value:
        return True
    if isinstance(value, list):
        return not any(isinstance(entry, dict) for entry in value)
    values = value.values()
    nested = any(isinstance(entry, dict) and entry for entry in values)
    if level == 0 or (nested and level <= _STRUCTURE and not listed):
        return False
    if nested and len(value) > 1 and not listed:
        return False
    simple = len(value) == 1 and not nested
    return simple or sum(len(piece) + 1 for piece in _pieces(value)) + column <= WIDTH


def entry(name: Any, value: Any, level: int, column: int) -> list[str]:
    """Write an entry of a mapping as lines, without the column of the mapping in front of them."""
    key = f"{inline(name)}:"
    if is_inline(value, level, column=column + len(key) + 1):
        return _beside(f"{key} ", value, column)
    return [key, *(f"  {line}" for line in block(value, level, column + 2))]


def listed(value: Any, level: int, column: int) -> list[str]:
    """Write an entry of a list as lines, without the column of the list in front of them."""
    if is_inline(value, level, column=column + 2, listed=True):
        return _beside("- ", value, column)
    first, *rest = block(value, level, column + 2)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def block(value: Any, level: int, column: int) -> list[str]:
    """Write a collection in lines of its own, without its column in front of them."""
    if isinstance(value, list):
        return [line for each in value for line in listed(each, level + 1, column)]
    return [line for name, each in value.items() for line in entry(name, each, level + 1, column)]


def _beside(lead: str, value: Any, column: int) -> list[str]:
    first, *rest = inline(value, column, len(lead)).split("\n")
    return [f"{lead}{first}", *(line[column:] for line in rest)]


def edited(text: str, body: Any) -> str:
    """Write new plain values into a YAML text, with as few changed lines as possible.

    Comments in front of a part that is taken out stay; those beside it and in it go with it. Where a text is written in
    a way that cannot be changed in parts, the values are written anew.
    """
    before = yaml_text.parse(text)
    if same(before, body):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    written = _changed(text.replace("\r\n", "\n"), before, body).replace("\n", newline)
    return written if _reads(written, body) else _anew(body, newline)


def _changed(text: str, before: Any, body: Any) -> str:
    root = read_nodes(text)
    if root is None or not isinstance(before, dict | list) or not body or type(before) is not type(body):
        kept = "" if root is not None or not text or text.endswith("\n") else "\n"
        return (text if root is None else "") + kept + _lines(body)
    return _Editor(text).applied(0, len(text), _Editor(text).collection(root, body, 0))


def _anew(body: Any, newline: str) -> str:
    written = _lines(body).replace("\n", newline)
    return written if _reads(written, body) else yaml_text.write(body)


def _lines(body: Any) -> str:
    if not isinstance(body, dict | list) or not body:
        return yaml_text.write(body)
    return "".join(f"{line}\n" for line in block(body, 0, 0))


def _reads(text: str, body: Any) -> bool:
    try:
        return same(yaml_text.parse(text), body)
    except SpecError:
        return False


@dataclass(frozen=True)
class _Splice:
    """Characters to be replaced."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Editor:
    """Finds what to replace in one text."""

    text: str

    def applied(self, start: int, end: int, splices: list[_Splice]) -> str:
        """Return a stretch of the text with what lies in it replaced."""
        pieces: list[str] = []
        for splice in sorted(splices, key=lambda each: (each.start, each.end)):
            pieces += [self.text[start : splice.start], splice.text]
            start = splice.end
        return "".join([*pieces, self.text[start:end]])

    def collection(self, node: Node, new: Any, level: int) -> list[_Splice]:
        """Change a collection into another one of its kind; neither is empty."""
        names = list(new) if isinstance(new, dict) else list(range(len(new)))
        matches = paired(node, new)
        if [match and match.start for match in matches] == [part.start for part in node.parts]:
            pairs = zip(node.parts, names, strict=True)
            return [splice for part, name in pairs for splice in self._part(node, part, new[name], level + 1)]
        if node.inline:
            return self._rewritten_inline(node, matches, names, new, level)
        return [self._rewritten_lines(node, matches, names, new, level)]

    def _part(self, parent: Node, part: Part, new: Any, level: int) -> list[_Splice]:
        node = part.node
        if same(node.value, new):
            return []
        collections = isinstance(new, dict | list) and new and node.parts and type(new) is type(node.value)
        if collections and (not node.inline or self.text[node.start] in "[{"):
            return self.collection(node, new, level)
        if parent.inline:
            return [self._in_place(node, self._inline(node.start, new))]
        return self._replaced(parent, part, new, level)

    def _replaced(self, parent: Node, part: Part, new: Any, level: int) -> list[_Splice]:
        """Put another kind of value in the place of one that stands in lines."""
        node, column = part.node, self._column(part.start)
        in_list = isinstance(parent.value, list)
        after_name = part.name_end if in_list else self.text.index(":", part.name_end) + 1
        beside = "\n" not in self.text[after_name : node.start]
        if is_inline(new, level, column=column + after_name - part.start + 1, listed=in_list):
            written = inline(new, column, after_name - part.start + 1)
            if beside:
                return [self._in_place(node, written)]
            above = self._line_start(node.start) - 1
            return [_Splice(after_name, after_name, f" {written}"), _Splice(above, self._line_end(node.end), "")]
        if in_list or not beside:
            inner = self._column(node.start)
            return [self._in_place(node, self._indented(block(new, level, inner), inner))]
        lines = self._indented(["", *block(new, level, column + 2)], column + 2)
        place = self._line_end(node.end)
        # The comment beside the old value stays beside the key.
        return [_Splice(after_name, node.end, ""), _Splice(place, place, lines)]

    def _in_place(self, node: Node, written: str) -> _Splice:
        apart = " " if node.start == node.end and self.text[node.start - 1 : node.start] not in ("", " ") else ""
        return _Splice(node.start, node.end, apart + written)

    def _rewritten_lines(
        self, node: Node, matches: list[Part | None], names: list[Any], new: Any, level: int
    ) -> _Splice:
        """Put the entries of a collection into another order, with new ones between them and some left out."""
        start = node.parts[0].start
        column = self._column(start)
        alone = not self.text[self._line_start(start) : start].strip()
        leads, trailing = self._leads(node, matches)
        pieces: list[str] = []
        waiting = ""
        for name, match in zip(names, matches, strict=True):
            lead = waiting + (leads[match.start] if match else "")
            # Nothing can stand above an entry that begins beside the dash of a list.
            waiting, lead = (lead, "") if not pieces and not alone else ("", lead)
            pieces.append(
                f"{lead}{' ' * column if pieces or alone else ''}{self._entry(node, match, name, new, level)}"
            )
        written = "\n".join(pieces)
        after = (waiting + trailing).removesuffix("\n")
        begin = self._line_start(start) if alone else start
        return _Splice(begin, self._line_end(node.end), f"{written}\n{after}" if after else written)

    def _leads(self, node: Node, matches: list[Part | None]) -> tuple[dict[int, str], str]:
        """Find the lines of comments above each entry that stays, with those above entries that do not."""
        kept = {match.start for match in matches if match}
        leads: dict[int, str] = {}
        waiting = ""
        for number, part in enumerate(node.parts):
            if number:
                above = self._line_end(node.parts[number - 1].node.end) + 1
                waiting += self.text[above : self._line_start(part.start)]
            if part.start in kept:
                leads[part.start], waiting = waiting, ""
        return leads, waiting

    def _entry(self, node: Node, match: Part | None, name: Any, new: Any, level: int) -> str:
        column = self._column(node.parts[0].start)
        if match:
            splices = self._part(node, match, new[name], level + 1)
            return self.applied(match.start, self._line_end(match.node.end), splices)
        if isinstance(new, list):
            return self._indented(listed(new[name], level + 1, column), column)
        return self._indented(entry(name, new[name], level + 1, column), column)

    def _rewritten_inline(
        self, node: Node, matches: list[Part | None], names: list[Any], new: Any, level: int
    ) -> list[_Splice]:
        """Do the same between brackets, with what stands between the entries, such as comments."""
        starts = [match.start for match in matches if match]
        in_order = starts == sorted(starts)
        numbers = {part.start: number for number, part in enumerate(node.parts)}
        pieces: list[str] = []
        previous = 0
        for name, match in zip(names, matches, strict=True):
            if pieces:
                number = numbers[match.start] if match and in_order else 0
                pieces.append(self._between(node, previous, number) if number else ", ")
            previous = numbers[match.start] if match else previous
            pieces.append(self._inline_entry(node, match, name, new, level))
        written = "".join(pieces)
        one_line = "\n" not in self.text[node.start : node.end]
        if one_line and self._column(node.start) + len(written) > WIDTH:
            return [_Splice(node.start, node.end, self._inline(node.start, new))]
        return [_Splice(node.parts[0].start, node.parts[-1].node.end, written)]

    def _between(self, node: Node, previous: int, number: int) -> str:
        """Return what stands between two entries, with the comments beside entries between them that are left out."""
        gaps = [self.text[node.parts[i].node.end : node.parts[i + 1].start] for i in range(previous, number)]
        if not any("#" in gap for gap in gaps):
            return gaps[-1]
        return gaps[0] + "".join(gap.replace(",", " ", 1) for gap in gaps[1:])

    def _inline_entry(self, node: Node, match: Part | None, name: Any, new: Any, level: int) -> str:
        if match:
            splices = self._part(node, match, new[name], level + 1)
            return self.applied(match.start, match.node.end, splices)
        value = self._inline(node.start, new[name])
        return value if isinstance(new, list) else f"{inline(name)}: {value}"

    def _indented(self, lines: list[str], column: int) -> str:
        return ("\n" + " " * column).join(lines).replace(f"\n{' ' * column}\n", "\n\n")

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        end = self.text.find("\n", place)
        return len(self.text) if end < 0 else end

    def _column(self, place: int) -> int:
        return place - self._line_start(place)

    def _inline(self, place: int, value: Any) -> str:
        line = self.text[self._line_start(place) : place]
        column = len(line) - len(line.lstrip(" "))
        return inline(value, column, len(line) - column)
