"""Nullity 2 and more: search all sets of records that can move together.

The effect of a move is what it does to a few independent known counts: -1, 0 or +1 each. Records that move together
are a multiset of effects that adds up to zero while no proper part of it does. All of them are found by growing
multisets from a secret effect: some order keeps every next effect at an obtuse angle to the sum so far
[contejean1994], and no part may already be the opposite of the next effect. Only the sum of a multiset and the set of
sums of its parts matter, so among all that share both, only the one with the largest change is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.changes import Scalar, Span, candidates, change
from blowfish_privacy.known_facts.fact_model import Arc, FactModel, Incidence, reduced
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers

Effect: TypeAlias = tuple[int, ...]
Weigh: TypeAlias = Callable[[Arc], int]
"""What a secret pair adds to the change of a query."""
METHOD = "several directions are left open by the known counts: all sets of moves searched"
MOST_INDEPENDENT = 4
_PROVEN = {0: 1, 1: 2, 2: 4, 3: 10}
"""The most moves in a set, by number of independent counts; beyond three, only few records can be searched."""
_MOST_RECORDS = 8
_MOST_STATES = 60_000


@dataclass(frozen=True)
class Move:
    """A kind of move: its effect on the known counts and on single-valued classes, and what it adds to the change."""

    effect: Effect
    single: Effect
    """Its effect on the number of records of each class in which the query distinguishes a single value only."""
    weight: int
    classes: tuple[int, int]
    """The class it leaves and the class it enters."""
    secret: Edge | None = None
    """The secret pair it follows; None for a move that may go anywhere."""
    certain: bool = True
    """Whether a record can really move this way; a bound over secret pairs that were not enumerated is not certain."""


@dataclass(frozen=True)
class Atom:
    """The set of moves with the largest change, and the change."""

    value: int
    moves: tuple[Move, ...]
    longest: int
    """The largest number of records in any set of moves."""


def signatures(incidence: Incidence) -> Integers | None:
    """Return which of the independent known counts count each class, one row per class; None if there are too many."""
    if incidence.columns > 1 << MOST_INDEPENDENT:
        return None
    dense = np.unique(incidence.matrix.toarray(), axis=0)[::-1]
    dense = np.concatenate([np.ones((1, dense.shape[1]), dtype=np.int64), dense])
    _, pivots = reduced(dense.T.copy())
    kept = [row for row in pivots if row]
    return dense[kept].T if len(kept) <= MOST_INDEPENDENT else None


def searchable(rank: int, records: int | None) -> bool:
    """Say whether a search over all sets of moves is feasible, given the number of independent counts."""
    return rank in _PROVEN or (records is not None and records <= _MOST_RECORDS)


def search(moves: Iterable[Move], *, records: int | None) -> Atom | None:
    """Find the largest change over all sets of at most ``records`` moves, one of them secret; None if too many.

    The change of a set is the sum of the weights plus, over single-valued classes, what the moves do to each, summed
    in absolute value.
    """
    kinds = _best_of_each(moves)
    rank = len(kinds[0].effect) if kinds else 0
    if not searchable(rank, records):
        return None
    most = _PROVEN.get(rank, _MOST_RECORDS)
    most = most if records is None else min(most, records)
    codes = _Codes(rank, most)
    best, frontier, states = Atom(0, (), 0), dict[_Key, _Best](), 0
    for move in kinds:
        if move.secret is not None and not any(move.effect):
            best = _better(best, move.weight + _spread(move.single), (move,))
        elif move.secret is not None:
            code = codes.of(move.effect)
            _keep(frontier, (code, codes.bit(code), move.single), _Best(move.weight, (move,), move.effect))
    steps = [(move, codes.of(move.effect)) for move in kinds if any(move.effect)]
    for _ in range(most - 1):
        states += len(frontier)
        if states > _MOST_STATES:
            return None
        grown: dict[_Key, _Best] = {}
        for (code, sums, single), state in frontier.items():
            for move, step in steps:
                if sum(a * b for a, b in zip(state.total, move.effect, strict=True)) >= 0:
                    continue
                together = tuple(a + b for a, b in zip(single, move.single, strict=True))
                value, grown_by = state.value + move.weight, (*state.moves, move)
                if step == -code:
                    best = _better(best, value + _spread(together), grown_by)
                elif not codes.has(sums, -step):
                    total = tuple(a + b for a, b in zip(state.total, move.effect, strict=True))
                    _keep(grown, (code + step, codes.grown(sums, step), together), _Best(value, grown_by, total))
        frontier = grown
    return best


_Key: TypeAlias = tuple[int, int, Effect]
"""The sum of the effects, the sums of all parts, and what happens to single-valued classes."""


@dataclass(frozen=True)
class _Best:
    value: int
    moves: tuple[Move, ...]
    total: Effect


class _Codes:
    """Encodes vectors as numbers that add up like the vectors, and sets of vectors as bit masks."""

    def __init__(self, rank: int, largest: int) -> None:
        self._base = 2 * largest + 1
        self._origin = self._base**rank

    def of(self, effect: Effect) -> int:
        """Encode a vector."""
        code = 0
        for part in effect:
            code = code * self._base + part
        return code

    def bit(self, code: int) -> int:
        """Return the set that contains one vector."""
        return 1 << (self._origin + code)

    def has(self, sums: int, code: int) -> bool:
        """Say whether a set contains a vector."""
        return bool(sums >> (self._origin + code) & 1)

    def grown(self, sums: int, step: int) -> int:
        """Return the sums of all parts once an effect has been added."""
        moved = sums << step if step >= 0 else sums >> -step
        return sums | moved | self.bit(step)


def _best_of_each(moves: Iterable[Move]) -> list[Move]:
    best: dict[tuple[Effect, Effect, bool], Move] = {}
    for move in moves:
        key = (move.effect, move.single, move.secret is not None)
        if key not in best or move.weight > best[key].weight:
            best[key] = move
    return [*best.values()]


def _better(best: Atom, value: int, moves: tuple[Move, ...]) -> Atom:
    longest = max(best.longest, len(moves))
    return Atom(value, moves, longest) if value > best.value else Atom(best.value, best.moves, longest)


def _keep(states: dict[_Key, _Best], key: _Key, state: _Best) -> None:
    if key not in states or states[key].value < state.value:
        states[key] = state


def _spread(single: Effect) -> int:
    return sum(map(abs, single))


# The possible moves of a record between classes, with effect, weight and secret pair, for :mod:`.atoms`.


def moves_between(labels: Sequence[int], signs: Integers) -> Iterator[tuple[int, int, Effect]]:
    """Yield the moves between some classes, with their effects."""
    for one, a in enumerate(labels):
        for other, b in enumerate(labels):
            if a != b:
                yield a, b, tuple((signs[other] - signs[one]).tolist())


def weigh_by(scalar: Scalar) -> Weigh:
    """Weigh secret pairs by the change of a number along them."""
    return lambda arc: scalar.value(arc.y) - scalar.value(arc.x)


def weigh_all(form: LinearForm, model: FactModel) -> Weigh:
    """Weigh secret pairs by the change of a whole query along them."""
    return lambda arc: change(form, model.classes, [(arc.x, arc.y)])


def secret_moves(model: FactModel, signs: Integers, weigh: Weigh, alone: Sequence[int] | None = None) -> Iterator[Move]:
    """Weigh the listed secret pairs; for a histogram, by their effect on the single-valued classes ``alone``."""
    number = {label: index for index, label in enumerate(model.live_classes.tolist())}
    for arc in model.crossing.listed or ():
        if arc.source in number and arc.target in number:
            effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
            ends, edge = (arc.source, arc.target), (arc.x, arc.y)
            if alone is None or arc.source == arc.target:
                yield Move(effect, (0,) * len(alone or ()), weigh(arc), ends, edge)
            else:
                yield Move(effect, _single(alone, *ends), sum(end not in alone for end in ends), ends, edge)


def _single(alone: Sequence[int], source: int, target: int) -> Effect:
    return tuple((label == target) - (label == source) for label in alone)


def scalar_moves(model: FactModel, signs: Integers, scalar: Scalar, widest: int) -> Iterator[Move]:
    """Weigh a move by the largest change of a number between its classes, and a secret pair by its own change."""
    labels, listed = model.live_classes.tolist(), model.crossing.listed is not None
    for a, b, effect in moves_between(labels, signs):
        weight = int(scalar.high[b] - scalar.low[a])
        yield Move(effect, (), weight, (a, b))
        if not listed:
            edge = (scalar.lowest(a), scalar.highest(b))
            sure = model.crossing.graph.adjacent(*edge)
            yield Move(effect, (), weight if sure else min(widest, weight), (a, b), edge, sure)
    for a in [] if listed else labels:
        edge, weight = (scalar.lowest(a), scalar.highest(a)), int(scalar.high[a] - scalar.low[a])
        yield Move((0,) * signs.shape[1], (), min(widest, weight), (a, a), edge, certain=False)
    yield from secret_moves(model, signs, weigh_by(scalar))


def vector_moves(model: FactModel, signs: Integers, form: LinearForm, span: Span, widest: int) -> Iterator[Move]:
    """Weigh a move by the largest change between its classes; if injective, count the classes it changes."""
    labels, listed = model.live_classes.tolist(), model.crossing.listed is not None
    alone = [label for label in labels if span.injective and not span.diameters[label]]

    def between(a: int, b: int) -> Edge:
        return candidates(model.classes, a)[0], candidates(model.classes, b)[-1]

    for a, b, effect in moves_between(labels, signs):
        single, most = _single(alone, a, b), span.between(a, b)
        entered = (a not in alone) + (b not in alone)
        yield Move(effect, single, entered if span.injective else most, (a, b))
        if not listed:
            weight = entered if span.injective else min(widest, most)
            yield Move(effect, single, weight, (a, b), between(a, b), certain=False)
    for a in [] if listed else labels:
        most = min(widest, int(span.diameters[a]))
        yield Move((0,) * signs.shape[1], (0,) * len(alone), most, (a, a), between(a, a), certain=False)
    yield from secret_moves(model, signs, weigh_all(form, model), alone if span.injective else None)
