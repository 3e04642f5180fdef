"""Which entries of a collection in a text become which entries of a new one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from typing import Any

from blowfish_privacy.support.yaml_nodes import Node, Part


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
    found: list[Part | None] = [None] * len(new)
    left = list(node.parts)
    for identity in (_frozen, _name, _kind):
        left = _pair(left, new, found, identity)
    return found


def _pair(
    left: list[Part], new: list[Any], found: list[Part | None], identity: Callable[[Any], Hashable]
) -> list[Part]:
    waiting: defaultdict[Hashable, deque[Part]] = defaultdict(deque)
    for part in left:
        waiting[identity(part.node.value)].append(part)
    taken: set[int] = set()
    for number, value in enumerate(new):
        key = identity(value)
        if found[number] is None and key is not None and waiting.get(key):
            part = found[number] = waiting[key].popleft()
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
