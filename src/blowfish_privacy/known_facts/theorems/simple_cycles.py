"""Nullity 0: records move around a simple cycle of classes.

Where the known counts determine every class's count, records that move together form a simple cycle: one record leaves
each class on it and one enters (docs/proofs/known_facts.md). One of the moves follows a secret pair from class a to
class b; the others go anywhere. So a query changes by what lies between entering and leaving: the span of every class
on the cycle, except that in a the leaving and in b the entering end are those of the secret pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.known_facts.classes.change import LargestChange, Moves, change, project
from blowfish_privacy.known_facts.classes.crossing import Arc
from blowfish_privacy.known_facts.classes.fact_model import FactModel, ends_of
from blowfish_privacy.known_facts.classes.scalars import Scalar, Whole
from blowfish_privacy.known_facts.classes.spans import Span, candidates
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers

METHOD = "known counts settle every class: simple cycles of classes"
_MOST_WITNESS = 400
_MOST_TRIED = 60


def scalar_cycle(model: FactModel, scalar: Scalar, *, across: int, widest: int) -> LargestChange:
    """Find the largest change of a number; ``across`` bounds it along crossing secret pairs, ``widest`` along any."""
    labels = model.live_classes
    ranges = scalar.high - scalar.low
    largest = _LargestSpans(model, ranges)
    best, arc = _best_arc(model, scalar, largest)
    inner = model.inner
    if inner is None:
        low, high = scalar.low[labels], scalar.high[labels]
        gap = _closest(low, high)
        bound = largest.all() + min(0, across - gap)
        bound = max(bound, min(widest, int(ranges[labels].max(initial=0))))
    else:
        if inner:
            x, y = model.inner_ends
            changes = scalar.values(y) - scalar.values(x)
            neutral = inner[int(changes.argmax())]
            if int(changes.max()) > best:
                return LargestChange(int(changes.max()), model.decided, METHOD, ((neutral.x, neutral.y),))
        bound = best
    exact = bound == best and model.decided and largest.attainable
    moves = None
    if exact and arc is not None and len(labels) <= _MOST_WITNESS:
        moves = around(arc, largest.chosen(arc), scalar.lowest, scalar.highest)
    return LargestChange(bound, exact, METHOD, moves)


def _best_arc(model: FactModel, scalar: Scalar, largest: _LargestSpans) -> tuple[int, Arc | None]:
    """Find the largest change of a number over cycles through a crossing edge, and that edge."""
    listed = model.inner is not None
    arcs = model.arcs if listed else tuple(_tried(model, scalar))
    if not arcs:
        return 0, None
    x, y = model.arc_ends if listed else ends_of(arcs)
    source, target = (np.array(ends) for ends in zip(*((arc.source, arc.target) for arc in arcs), strict=True))
    totals = scalar.high[source] - scalar.values(x) + scalar.values(y) - scalar.low[target]
    totals = totals + largest.besides(source, target)
    best = int(np.argmax(totals))
    return int(totals[best]), arcs[best]


def vector_cycle(model: FactModel, form: LinearForm, span: Span, *, widest: int) -> LargestChange:
    """Bound the change of several numbers by the diameters of the classes; exact where a cycle attains it."""
    labels, diameters = model.live_classes, span.diameters
    largest = _LargestSpans(model, diameters)
    across = 0 if model.crossing.unchanged(form.domain.names) else widest
    if model.inner is None:
        two = sorted(diameters[labels].tolist())[:2]
        bound = largest.all() + min(0, span.whole + across - sum(two))
        neutral = min(widest, int(diameters[labels].max(initial=0)))
    else:
        pairs = {(arc.source, arc.target): arc for arc in model.arcs}
        totals = [_pair(diameters, arc, span.whole + across) + largest.others(arc) for arc in pairs.values()]
        bound = max(totals, default=0)
        neutral = max((change(form, model.classes, [(arc.x, arc.y)]) for arc in model.inner), default=0)
    bound = int(max(bound, neutral))
    if not model.decided:
        return LargestChange(bound, exact=False, method=METHOD)
    moves = _attaining(model, form, span, largest, bound)
    crossed = model.inner is not None or (bool(model.arcs) and bound > neutral)
    theorem = span.injective and largest.attainable and crossed
    return LargestChange(bound, theorem or moves is not None or bound == 0, METHOD, moves)


def around(secret: Arc, others: Iterable[int], leave: Callable[[int], Cell], enter: Callable[[int], Cell]) -> Moves:
    """Extend a secret pair to a cycle through some other classes."""
    chain = [secret.target, *others, secret.source]
    return ((secret.x, secret.y), *((leave(a), enter(b)) for a, b in pairwise(chain)))


class _LargestSpans:
    """The classes with the largest spans that a cycle can visit with a limited number of records."""

    def __init__(self, model: FactModel, spans: Whole) -> None:
        labels = model.live_classes
        self._spans, records = spans, model.records
        self._room = len(labels) if records is None else min(records, len(labels))
        order = sorted(labels.tolist(), key=lambda label: -spans[label])
        self._order = order
        self._head = order[: self._room]
        self._sum = int(sum(spans[self._head]))
        kernel = model.incidence.kernel
        self._signs: dict[int, int] = {}
        if kernel is not None:
            self._signs = {int(label): int(np.sign(d)) for label, d in zip(labels, kernel, strict=True)}
        self.attainable = True
        """Whether the limit on the number of records is accounted for exactly."""
        if model.inner is None and self._room < len(labels):
            self.attainable = False

    def all(self) -> int:
        """Sum the largest spans, as many as there are records."""
        return self._sum

    def chosen(self, arc: Arc) -> list[int]:
        """Choose the classes other than those of a secret pair, omitting those without a span."""
        room = self._room - 2
        head = self._order[: self._room]
        rest = [label for label in head if label not in (arc.source, arc.target) and self._spans[label]]
        # Classes of one sign side by side: a cycle that alternates between the signs of a kernel vector falls apart.
        first = self._signs.get(arc.target) or -self._signs.get(arc.source, 1)
        return sorted(rest[:room], key=lambda label: -self._signs.get(label, 0) * first)

    def besides(self, source: Integers, target: Integers) -> Whole:
        """Sum the spans of the other classes, for many pairs of classes."""
        if self._room == len(self._order):
            return self._sum - self._spans[source] - self._spans[target]
        pairs = dict.fromkeys(zip(source.tolist(), target.tolist(), strict=True), 0)
        for a, b in pairs:
            pairs[a, b] = self.others(Arc((), (), a, b))
        return np.array([pairs[pair] for pair in zip(source.tolist(), target.tolist(), strict=True)], dtype=object)

    def others(self, arc: Arc) -> int:
        """Sum the spans of the classes other than those of a secret pair."""
        if self._room == len(self._order):
            return int(self._sum - self._spans[arc.source] - self._spans[arc.target])
        return int(sum(self._spans[label] for label in self.chosen(arc)))


def _pair(diameters: Whole, arc: Arc, most: int) -> int:
    return min(diameters[arc.source] + diameters[arc.target], most)


def _closest(low: Whole, high: Whole) -> int:
    """Return the smallest difference between the highest number of one class and the lowest of another."""
    by_high, by_low = np.argsort(high)[:2], np.argsort(-low)[:2]
    pairs = [(h, lo) for h in by_high for lo in by_low if h != lo]
    return int(min((high[h] - low[lo] for h, lo in pairs), default=0))


def _tried(model: FactModel, scalar: Scalar) -> Iterator[Arc]:
    """Yield the sampled crossing edges, and the edges between the extremes of their classes, if there are any."""
    for arc in model.arcs:
        yield arc
        x, y = scalar.lowest(arc.source), scalar.highest(arc.target)
        if model.crossing.graph.adjacent(x, y):
            yield Arc(x, y, arc.source, arc.target)


def _attaining(model: FactModel, form: LinearForm, span: Span, largest: _LargestSpans, bound: int) -> Moves | None:
    """Look for a cycle that changes the query by the bound."""
    classes = model.classes
    if len(model.live_classes) > _MOST_WITNESS:
        return None
    tried: list[Moves] = [((arc.x, arc.y),) for arc in (model.inner or ())[:_MOST_TRIED]]
    arcs = {(project(form, classes, a.x), project(form, classes, a.y), a.source, a.target): a for a in model.arcs}
    for arc in [*arcs.values()][:_MOST_TRIED]:
        others = largest.chosen(arc)
        for guide in span.guides:
            tried.append(around(arc, others, guide.lowest, guide.highest))
            tried.append(around(arc, others, guide.highest, guide.lowest))
        if not span.guides:
            tried.append(_coloured(model, form, arc, others))
    return next((moves for moves in tried if change(form, classes, moves) == bound), None)


def _coloured(model: FactModel, form: LinearForm, secret: Arc, others: Sequence[int]) -> Moves:
    """Choose where records enter and leave each class so that no cell both gains and loses."""
    classes = model.classes
    choices = {label: candidates(classes, label) for label in {secret.source, secret.target, *others}}
    gains, losses = {project(form, classes, secret.y)}, {project(form, classes, secret.x)}
    enter: dict[int, Cell] = {}
    leave: dict[int, Cell] = {}

    def choose(label: int, taken: set[Cell], against: set[Cell]) -> Cell:
        pairs = [(project(form, classes, cell), cell) for cell in choices[label]]
        fit = [pair for pair in pairs if pair[0] in taken] + [pair for pair in pairs if pair[0] not in against]
        projected, cell = next((pair for pair in fit if pair[0] not in against), pairs[0])
        taken.add(projected)
        return cell

    enter[secret.source] = choose(secret.source, gains, losses)
    leave[secret.target] = choose(secret.target, losses, gains)
    for label in others:
        enter[label] = choose(label, gains, losses)
        leave[label] = choose(label, losses, gains)
    return around(secret, others, leave.__getitem__, enter.__getitem__)
