"""Damaged policy files: each is made from a sound one by a few changes, and is the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from blowfish_lab.audit.file_corpus import CORPUS

_NUMBERS = [
    0, -1, 1, 2, 3, 10, 256, 10**4, 10**5, 10**6, 10**6 + 1, 5 * 10**6, 10**9, 2**31, 2**31 - 1, 2**53, 2**61, 2**62,
    2**63, 2**64, 10**12, -(10**12), 10**18, 10**30, 10**300, -(10**300), 0.1, -0.5, 1e-9, 1e-300, 1e300, 5e-324, 1e16,
    float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
_TEXTS = [
    "", " ", "~", "x", "full", "public", "0", "-0", "1/3", "1/0", "0x10", "1e400", "1e-400", "1e999", "nan", "inf",
    ".5", "5.", "1_000", "010", "12:30", "yes", "null", "a\tb", "a\nb", "a\0b", "\x1b[31mred\x1b[0m", "\x07", "\x85",
    "\u2028", "\u202e", "\ufeff", "é", "😀", "\ud800", "x" * 300, "9" * 2000, "(" * 5000, "'; DROP TABLE t; --",
    "../../etc/passwd", "%s%n", "{x}", "a: b", "- a", "# a", "&a", "*a", "!!str", "?", "=1+1", "@", "`",
]  # fmt: skip
_TOKENS = [
    b"&a ", b"*a", b"!!str ", b"!x ", b": ", b"- ", b"? ", b"#", b"\n---\n", b"\n...\n", b"%YAML 1.1\n", b"\t", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}", b",", b"'", b'"', b"\\", b"|", b">", b"\n", b"\r\n", b"<<: ",
    b"e999", b"-", b".", b"0", b"9" * 5000, b"\xed\xa0\x80", b"\xe2\x80\xa8", b"[" * 200, b"x" * 30_000,
]  # fmt: skip

_MOST_SLOTS = 40_000


@dataclass(frozen=True)
class Slot:
    """Where a value is inside a file: what holds it, and its key or index there."""

    holder: Any
    key: Any

    def get(self) -> Any:
        """Return the value."""
        return self.holder[self.key]

    def put(self, value: Any) -> None:
        """Replace the value."""
        self.holder[self.key] = value


def mutated_file(seed: int, number: int, corpus: Sequence[dict[str, Any]] = CORPUS) -> bytes:
    """Make one file, always the same for the same seed and number."""
    source = random.Random(f"{seed}:{number}")  # noqa: S311
    body = deepcopy(source.choice(corpus))
    for _ in range(source.choice([0, 1, 1, 1, 1, 2, 2, 4])):
        slots = [*_slots(body)]
        if not slots:
            break
        source.choice(_CHANGES)(source, slots)
    written = _written(source, body)
    for _ in range(source.choice([0, 0, 0, 0, 0, 0, 1, 3])):
        written = source.choice(_DAMAGES)(source, written)
    return written


def _slots(value: Any) -> Iterator[Slot]:
    keys = [*value] if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield Slot(value, key)
        yield from _slots(value[key])


def _replace(source: random.Random, slots: list[Slot]) -> None:
    odd = [*_NUMBERS, *_TEXTS, None, True, False, [], {}, [[]], [None], {"": None}]
    source.choice(slots).put(source.choice(odd))


def _number(source: random.Random, slots: list[Slot]) -> None:
    """Change a number by a little or by very much; make a bound far away."""
    numbers = [each for each in slots if isinstance(each.get(), int | float) and not isinstance(each.get(), bool)]
    chosen = source.choice(numbers or slots)
    old = chosen.get() if numbers else 1
    factor = source.choice([-1, 2, 10, 1000, 10**6, 10**9, 10**12])
    chosen.put(source.choice([old + 1, old - 1, old * factor, source.choice(_NUMBERS), str(old), f"{old}e{factor}"]))


def _drop(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    del chosen.holder[chosen.key]


def _rename(source: random.Random, slots: list[Slot]) -> None:
    keys = [each for each in slots if isinstance(each.holder, dict)]
    if not keys:
        return
    chosen, other = source.choice(keys), source.choice(keys)
    name = source.choice([other.key, other.key, source.choice(_TEXTS), str(chosen.key)[:-1], str(chosen.key).upper()])
    chosen.holder[name] = chosen.get()
    if name != chosen.key:
        del chosen.holder[chosen.key]


def _graft(source: random.Random, slots: list[Slot]) -> None:
    """Replace a value by a part of this or another file."""
    others = slots if source.random() < 0.5 else [*_slots(source.choice(CORPUS))]
    source.choice(slots).put(deepcopy(source.choice(others).get()))


def _repeat(source: random.Random, slots: list[Slot]) -> None:
    lists = [each.get() for each in slots if isinstance(each.get(), list) and each.get()]
    if lists:
        chosen, times = source.choice(lists), source.choice([2, 2, 3, 50, 2000])
        most = max(1, min(times, _MOST_SLOTS // sum(1 for _ in _slots(chosen))))
        chosen[:] = [deepcopy(part) for _ in range(most) for part in chosen]


def _lengthen(source: random.Random, slots: list[Slot]) -> None:
    """Make a list of many different values."""
    many = source.choice([3, 30, 1000, 20_000])
    made: list[list[Any]] = [[*range(many)], [f"v{n}" for n in range(many)], [[n, n + 1] for n in range(many)]]
    source.choice(slots).put(source.choice(made))


def _widen(source: random.Random, slots: list[Slot]) -> None:
    """Declare very many values."""
    bounds = [each for each in slots if each.key == "integer"]
    if bounds:
        source.choice(bounds).put([0, source.choice([10**3, 10**4, 10**5, 10**6, 10**7, 2**31, 10**12, 10**18])])


def _wrap(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    value = chosen.get()
    for _ in range(source.choice([1, 1, 2, 40, 150])):
        value = [value] if source.random() < 0.5 else {source.choice(["x", "full", "values", "range"]): value}
    chosen.put(value)


def _unwrap(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    value = chosen.get()
    if value and isinstance(value, list | dict):
        chosen.put(source.choice([*value.values()] if isinstance(value, dict) else value))


_CHANGES: tuple[Callable[[random.Random, list[Slot]], None], ...] = (
    _replace, _number, _number, _number, _drop, _rename, _graft, _graft, _repeat, _lengthen, _widen, _widen, _wrap,
    _unwrap,
)  # fmt: skip


def _written(source: random.Random, body: Any) -> bytes:
    large = sum(1 for _ in _slots(body)) > _MOST_SLOTS // 10
    if large or source.random() < 0.5:
        text = json.dumps(body, ensure_ascii=source.random() < 0.5, indent=source.choice([None, 1]))
    else:
        text = yaml.safe_dump(json.loads(json.dumps(body)), allow_unicode=source.random() < 0.5, sort_keys=False)
    return text.encode("utf-8", "surrogatepass")


def _flip(source: random.Random, written: bytes) -> bytes:
    position = source.randrange(len(written) or 1)
    return written[:position] + bytes([source.randrange(256)]) + written[position + 1 :]


def _insert(source: random.Random, written: bytes) -> bytes:
    position = source.randrange(len(written) + 1)
    return written[:position] + source.choice(_TOKENS) + written[position:]


def _cut(source: random.Random, written: bytes) -> bytes:
    start = source.randrange(len(written) + 1)
    return written[:start] + written[start + source.choice([1, 1, 10, 100, len(written)]) :]


def _copy(source: random.Random, written: bytes) -> bytes:
    lines = written.split(b"\n")
    chosen = source.randrange(len(lines))
    return b"\n".join([*lines[:chosen], *[lines[chosen]] * source.choice([2, 2, 10]), *lines[chosen + 1 :]])


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_flip, _flip, _insert, _insert, _cut, _copy)
