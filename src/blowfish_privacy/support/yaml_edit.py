"""Change values in a YAML text and leave the rest of it as it stands: comments, order, spelling, line ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blowfish_privacy.errors import SpecError
from blowfish_privacy.support import yaml_style, yaml_text
from blowfish_privacy.support.yaml_nodes import Node, Part, read_nodes
from blowfish_privacy.support.yaml_pairing import paired, same


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
    return "".join(f"{line}\n" for line in yaml_style.block(body, 0, 0))


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
        if yaml_style.is_inline(new, level, column=column + after_name - part.start + 1, listed=in_list):
            written = yaml_style.inline(new, column, after_name - part.start + 1)
            if beside:
                return [self._in_place(node, written)]
            above = self._line_start(node.start) - 1
            return [_Splice(after_name, after_name, f" {written}"), _Splice(above, self._line_end(node.end), "")]
        if in_list or not beside:
            inner = self._column(node.start)
            return [self._in_place(node, self._indented(yaml_style.block(new, level, inner), inner))]
        lines = self._indented(["", *yaml_style.block(new, level, column + 2)], column + 2)
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
            return self._indented(yaml_style.listed(new[name], level + 1, column), column)
        return self._indented(yaml_style.entry(name, new[name], level + 1, column), column)

    def _rewritten_inline(
        self, node: Node, matches: list[Part | None], names: list[Any], new: Any, level: int
    ) -> list[_Splice]:
        """Do the same between brackets, with what stands between the entries, such as comments."""
        found = [match.start for match in matches if match]
        in_order = found == sorted(found)
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
        if one_line and self._column(node.start) + len(written) > yaml_style.WIDTH:
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
        return value if isinstance(new, list) else f"{yaml_style.inline(name)}: {value}"

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
        return yaml_style.inline(value, column, len(line) - column)
