"""Where the values of a YAML text stand in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from blowfish_privacy.support import yaml_text


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
