"""Nullity 1: besides cycles, records may flow from classes where a kernel vector is negative to where it is positive.

With d the primitive kernel vector of the facts, records that move together form a simple cycle, or a flow without
cycles whose net effect on the classes is d or -d (docs/proofs/known_facts.md). In such a flow T = |d|_1 / 2 units
travel; a unit may pass through other classes, entering and leaving each, and every pass counts with the span of the
class. The total is largest when all units queue up: sources first, those with large |d| per span outermost (Smith's
rule), then the classes where d is zero, then the sinks.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from blowfish_privacy.domain import Cell
from blowfish_privacy.known_facts.classes.change import LargestChange, Moves, change
from blowfish_privacy.known_facts.classes.fact_model import FactModel
from blowfish_privacy.known_facts.classes.scalars import Scalar, Whole
from blowfish_privacy.known_facts.classes.spans import Span, candidates
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers

METHOD = "one direction is left open by the known counts: cycles and flows of classes"
Place: TypeAlias = Callable[[int], Cell]
"""The value at which records leave or enter a class."""

_MOST_WITNESS = 4_000


def scalar_flow(model: FactModel, kernel: Integers, scalar: Scalar, form: LinearForm) -> LargestChange:
    """Bound the largest change of a number over all flows."""
    labels = model.live_classes
    low, high = scalar.low[labels], scalar.high[labels]
    passing = through(kernel, high - low)
    best = LargestChange(0, exact=True, method=METHOD)
    for net in (kernel, -kernel):
        ends = sum(int(d) * (high[c] if d > 0 else low[c]) for c, d in enumerate(net))
        moves = queue(model, net, high - low, scalar.lowest, scalar.highest)
        value = int(ends + passing)
        exact = _always(model, kernel) or (moves is not None and _attains(model, form, moves, value))
        if value > best.value or (value == best.value and exact):
            best = LargestChange(value, exact, METHOD, moves if exact else None)
    return best


def vector_flow(model: FactModel, kernel: Integers, form: LinearForm, span: Span) -> LargestChange:
    """Bound the change of several numbers over all flows; every unit may go anywhere."""
    diameters = span.diameters[model.live_classes]
    value = int(through(kernel, diameters) + abs(kernel).sum() // 2 * span.whole)
    for net in (kernel, -kernel):
        for moves in _guided(model, net, span):
            if moves is not None and _attains(model, form, moves, value):
                return LargestChange(value, exact=True, method=METHOD, moves=moves)
    return LargestChange(value, value == 0 or (span.injective and _always(model, kernel)), METHOD)


def _always(model: FactModel, kernel: Integers) -> bool:
    """Say whether every flow is possible: all pairs are secret, and there are enough records where needed."""
    enough = model.records is None or model.records >= most_moves(kernel)
    return model.crossing.graph.complete and model.free and enough


def through(kernel: Integers, spans: Whole) -> int:
    """Return the largest total that can pass through the classes, each pass weighted with the span of the class."""
    total = 0
    for side in (kernel < 0, kernel > 0):
        passed = 0
        for d, width in _outermost_first(abs(kernel[side]), spans[side]):
            total += passed * width
            passed += d
    units = int(abs(kernel).sum()) // 2
    return int(total + units * sum(spans[kernel == 0]))


def most_moves(kernel: Integers) -> int:
    """Return the largest number of records that move in one flow."""
    return through(kernel, _ones(kernel)) + int(abs(kernel).sum()) // 2


def _ones(kernel: Integers) -> Whole:
    return (kernel * 0 + 1).astype(object)


def _outermost_first(amounts: Integers, spans: Whole) -> list[tuple[int, int]]:
    pairs = [(int(d), int(width)) for d, width in zip(amounts, spans, strict=True)]
    return sorted(pairs, key=lambda pair: Fraction(pair[1], pair[0]))


def queue(model: FactModel, net: Integers, spans: Whole, leave: Place, enter: Place) -> Moves | None:
    """Let all units travel through the classes one after the other; None if there are too many moves to list."""
    labels = model.live_classes
    sides = [sorted(_where(net, sign), key=lambda c: Fraction(int(spans[c]), abs(int(net[c])))) for sign in (-1, 1)]
    order = [*sides[0], *(c for c in range(len(net)) if not net[c] and spans[c]), *reversed(sides[1])]
    moves: list[tuple[Cell, Cell]] = []
    units = 0
    for current, following in pairwise(order):
        units -= int(net[current])
        if len(moves) + units > _MOST_WITNESS:
            return None
        moves += [(leave(int(labels[current])), enter(int(labels[following])))] * units
    return tuple(moves)


def _where(net: Integers, sign: int) -> list[int]:
    return [c for c, d in enumerate(net) if d * sign > 0]


def _attains(model: FactModel, form: LinearForm, moves: Moves, value: int) -> bool:
    """Say whether these moves are possible, one of them along a secret pair, and change the query by ``value``."""
    if not model.free or (model.records is not None and len(moves) > model.records):
        return False
    secret = model.crossing.graph.adjacent
    return change(form, model.classes, moves) == value and any(secret(x, y) for x, y in moves)


def _guided(model: FactModel, net: Integers, span: Span) -> list[Moves | None]:
    spans = span.diameters[model.live_classes]
    if not span.guides:
        ends = {int(label): candidates(model.classes, int(label)) for label in model.live_classes}
        return [queue(model, net, spans, lambda c: ends[c][0], lambda c: ends[c][-1])]
    return [queue(model, net, spans, guide.lowest, guide.highest) for guide in span.guides]
