"""How much a query changes under known facts: each theorem with its conditions, and the order they are tried in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.known_facts import atoms, secret_moves
from blowfish_privacy.known_facts.atoms import Atom, Move, moves_between, scalar_moves, vector_moves
from blowfish_privacy.known_facts.changes import (
    LargestChange,
    Moves,
    Scalar,
    Span,
    WholeNumbers,
    candidates,
    change,
    project,
    span_of,
)
from blowfish_privacy.known_facts.fact_model import Arc, FactModel, ends_of, fact_model
from blowfish_privacy.known_facts.facts import Assumptions, KnownMarginal, crosses
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers

# Nullity 0: records move around a simple cycle of classes.
#
# Where the known counts determine every class's count, records that move together form a simple cycle: one record
# leaves each class on it and one enters (docs/proofs/known_facts.md). One of the moves follows a secret pair from class
# a to class b; the others go anywhere. So a query changes by what lies between entering and leaving: the span of every
# class on the cycle, except that in a the leaving and in b the entering end are those of the secret pair.

SIMPLE_CYCLES = "known counts settle every class: simple cycles of classes"
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
                return LargestChange(int(changes.max()), model.decided, SIMPLE_CYCLES, ((neutral.x, neutral.y),))
        bound = best
    exact = bound == best and model.decided and largest.attainable
    moves = None
    if exact and arc is not None and len(labels) <= _MOST_WITNESS:
        moves = around(arc, largest.chosen(arc.source, arc.target), scalar.lowest, scalar.highest)
    return LargestChange(bound, exact, SIMPLE_CYCLES, moves)


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
        bound = largest.all() + min(0, span.largest + across - sum(two))
        neutral = min(widest, int(diameters[labels].max(initial=0)))
    else:
        pairs = dict.fromkeys((arc.source, arc.target) for arc in model.arcs)
        most = span.largest + across
        bound = max((min(diameters[a] + diameters[b], most) + largest.others(a, b) for a, b in pairs), default=0)
        neutral = max((change(form, model.classes, [(arc.x, arc.y)]) for arc in model.inner), default=0)
    bound = int(max(bound, neutral))
    if not model.decided:
        return LargestChange(bound, exact=False, method=SIMPLE_CYCLES)
    moves = _attaining(model, form, span, largest, bound)
    crossed = model.inner is not None or (bool(model.arcs) and bound > neutral)
    theorem = span.injective and largest.attainable and crossed
    return LargestChange(bound, theorem or moves is not None or bound == 0, SIMPLE_CYCLES, moves)


def around(secret: Arc, others: Iterable[int], leave: Callable[[int], Cell], enter: Callable[[int], Cell]) -> Moves:
    """Extend a secret pair to a cycle through some other classes."""
    chain = [secret.target, *others, secret.source]
    return ((secret.x, secret.y), *((leave(a), enter(b)) for a, b in pairwise(chain)))


class _LargestSpans:
    """The classes with the largest spans that a cycle can visit with a limited number of records."""

    def __init__(self, model: FactModel, spans: WholeNumbers) -> None:
        labels = model.live_classes
        self._spans, records = spans, model.records
        self._room = len(labels) if records is None else min(records, len(labels))
        self._order = sorted(labels.tolist(), key=lambda label: -spans[label])
        self._head = self._order[: self._room]
        self._sum = int(sum(spans[self._head]))
        kernel = model.incidence.kernel
        self._signs: dict[int, int] = {}
        if kernel is not None:
            self._signs = {int(label): int(np.sign(d)) for label, d in zip(labels, kernel, strict=True)}
        self.attainable = model.inner is not None or self._room == len(labels)
        """Whether the limit on the number of records is accounted for exactly."""

    def all(self) -> int:
        """Sum the largest spans, as many as there are records."""
        return self._sum

    def chosen(self, source: int, target: int) -> list[int]:
        """Choose the classes other than those of a secret pair, omitting those without a span."""
        rest = [label for label in self._head if label not in (source, target) and self._spans[label]]
        # Classes of one sign side by side: a cycle that alternates between the signs of a kernel vector falls apart.
        first = self._signs.get(target) or -self._signs.get(source, 1)
        return sorted(rest[: self._room - 2], key=lambda label: -self._signs.get(label, 0) * first)

    def besides(self, source: Integers, target: Integers) -> WholeNumbers:
        """Sum the spans of the other classes, for many pairs of classes."""
        if self._room == len(self._order):
            return self._sum - self._spans[source] - self._spans[target]
        pairs = [*zip(source.tolist(), target.tolist(), strict=True)]
        sums = {pair: self.others(*pair) for pair in {*pairs}}
        return np.array([sums[pair] for pair in pairs], dtype=object)

    def others(self, source: int, target: int) -> int:
        """Sum the spans of the classes other than those of a secret pair."""
        if self._room == len(self._order):
            return int(self._sum - self._spans[source] - self._spans[target])
        return int(sum(self._spans[label] for label in self.chosen(source, target)))


def _closest(low: WholeNumbers, high: WholeNumbers) -> int:
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
        others = largest.chosen(arc.source, arc.target)
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


# Nullity 1: besides cycles, records may flow from classes where a kernel vector is negative to where it is positive.
#
# With d the primitive kernel vector of the facts, records that move together form a simple cycle, or a flow without
# cycles whose net effect on the classes is d or -d (docs/proofs/known_facts.md). In such a flow T = |d|_1 / 2 units
# travel; a unit may pass through other classes, entering and leaving each, and every pass counts with the span of the
# class. The total is largest when all units queue up: sources first, those with large |d| per span outermost (Smith's
# rule), then the classes where d is zero, then the sinks.

CYCLES_AND_FLOWS = "one direction is left open by the known counts: cycles and flows of classes"
Place: TypeAlias = Callable[[int], Cell]
"""The value at which records leave or enter a class."""

_MOST_FLOW_WITNESS = 4_000


def scalar_flow(model: FactModel, kernel: Integers, scalar: Scalar, form: LinearForm) -> LargestChange:
    """Bound the largest change of a number over all flows."""
    labels = model.live_classes
    low, high = scalar.low[labels], scalar.high[labels]
    passing = through(kernel, high - low)
    best = LargestChange(0, exact=True, method=CYCLES_AND_FLOWS)
    for net in (kernel, -kernel):
        ends = sum(int(d) * (high[c] if d > 0 else low[c]) for c, d in enumerate(net))
        moves = queue(model, net, high - low, scalar.lowest, scalar.highest)
        value = int(ends + passing)
        exact = _always(model, kernel) or (moves is not None and _attains(model, form, moves, value))
        if value > best.value or (value == best.value and exact):
            best = LargestChange(value, exact, CYCLES_AND_FLOWS, moves if exact else None)
    return best


def vector_flow(model: FactModel, kernel: Integers, form: LinearForm, span: Span) -> LargestChange:
    """Bound the change of several numbers over all flows; every unit may go anywhere."""
    diameters = span.diameters[model.live_classes]
    value = int(through(kernel, diameters) + abs(kernel).sum() // 2 * span.largest)
    for net in (kernel, -kernel):
        for moves in _guided(model, net, diameters, span):
            if moves is not None and _attains(model, form, moves, value):
                return LargestChange(value, exact=True, method=CYCLES_AND_FLOWS, moves=moves)
    return LargestChange(value, value == 0 or (span.injective and _always(model, kernel)), CYCLES_AND_FLOWS)


def _always(model: FactModel, kernel: Integers) -> bool:
    """Say whether every flow is possible: all pairs are secret, and there are enough records where needed."""
    units = int(abs(kernel).sum()) // 2
    most = through(kernel, np.ones(len(kernel), dtype=object)) + units
    enough = model.records is None or model.records >= most
    return model.crossing.graph.complete and model.free and enough


def through(kernel: Integers, spans: WholeNumbers) -> int:
    """Return the largest total that can pass through the classes, each pass weighted with the span of the class."""
    total = 0
    for side in (kernel < 0, kernel > 0):
        passed = 0
        pairs = [(int(d), int(width)) for d, width in zip(abs(kernel[side]), spans[side], strict=True)]
        for d, width in sorted(pairs, key=lambda pair: Fraction(pair[1], pair[0])):
            total += passed * width
            passed += d
    units = int(abs(kernel).sum()) // 2
    return int(total + units * sum(spans[kernel == 0]))


def queue(model: FactModel, net: Integers, spans: WholeNumbers, leave: Place, enter: Place) -> Moves | None:
    """Let all units travel through the classes one after the other; None if there are too many moves to list."""
    labels = model.live_classes
    sources, sinks = (
        sorted(np.flatnonzero(side).tolist(), key=lambda c: Fraction(int(spans[c]), abs(int(net[c]))))
        for side in (net < 0, net > 0)
    )
    order = [*sources, *(c for c in range(len(net)) if not net[c] and spans[c]), *reversed(sinks)]
    moves: list[tuple[Cell, Cell]] = []
    units = 0
    for current, following in pairwise(order):
        units -= int(net[current])
        if len(moves) + units > _MOST_FLOW_WITNESS:
            return None
        moves += [(leave(int(labels[current])), enter(int(labels[following])))] * units
    return tuple(moves)


def _attains(model: FactModel, form: LinearForm, moves: Moves, value: int) -> bool:
    """Say whether these moves are possible, one of them along a secret pair, and change the query by ``value``."""
    if not model.free or (model.records is not None and len(moves) > model.records):
        return False
    secret = model.crossing.graph.adjacent
    return change(form, model.classes, moves) == value and any(secret(x, y) for x, y in moves)


def _guided(model: FactModel, net: Integers, spans: WholeNumbers, span: Span) -> list[Moves | None]:
    if not span.guides:
        ends = {int(label): candidates(model.classes, int(label)) for label in model.live_classes}
        return [queue(model, net, spans, lambda c: ends[c][0], lambda c: ends[c][-1])]
    return [queue(model, net, spans, guide.lowest, guide.highest) for guide in span.guides]


# How much a query can change under known facts: which theorem applies, in what order.
#
# 1. No secret pair crosses classes: the known facts make no difference.
# 2. Classes that the stated counts leave empty are dropped.
# 3. Nullity 0: simple cycles of classes. Nullity 1: cycles and flows. Few independent counts: all sets of moves.
# 4. Otherwise no theorem here applies, and the software refuses.
#
# Under secret-moves every moving record follows a secret pair. Such tables are neighbours under the default relation
# too, so each bound above holds; a sharper one is taken where there is one.

FOLLOWS = "the answer follows from a known marginal"
ALONE = "known counts leave single moves only, inside classes that may hold a record"


def under_facts(form: LinearForm, policy: Assumptions) -> LargestChange | None:
    """Find the largest change of a query between neighbours; None if the facts make no difference."""
    names = set(form.domain.names)
    if any(isinstance(fact, KnownMarginal) and names <= set(fact.attributes) for fact in policy.known):
        return LargestChange(0, exact=True, method=FOLLOWS)
    model = fact_model(policy, form.domain.names)
    if not model.crossing.exists and model.live.all():
        return None
    if not model.crossed:
        return _alone(model, form)
    span = span_of(form, model.classes)
    if policy.compensation == "secret-moves":
        bound = partial(_anywhere, model, form, span)
        return secret_moves.largest_change(model, form, span, widest=_widest(form, model), anywhere=bound)
    return _anywhere(model, form, span)


def _alone(model: FactModel, form: LinearForm) -> LargestChange:
    """Let one record move inside a class: no other move is possible."""
    if model.inner is None:
        return LargestChange(_widest(form, model), exact=False, method=ALONE, together=False)
    tried = [((arc.x, arc.y),) for arc in model.inner]
    changes = [(change(form, model.classes, moves), moves) for moves in tried]
    value, moves = max(changes, default=(0, None), key=lambda tried: tried[0])
    return LargestChange(value, model.decided, ALONE, moves if model.decided else None, together=False)


def most_secret_moves(policy: Assumptions, names: tuple[str, ...]) -> int | None:
    """Return how many records move together at most under secret-moves; None if no theorem bounds them."""
    model = fact_model(policy, names)
    if policy.compensation != "secret-moves":
        return None
    return secret_moves.most_moves(model) if model.crossed else 1


def _anywhere(model: FactModel, form: LinearForm, span: Span) -> LargestChange:
    widest = _widest(form, model)
    if span.scalars:
        largest = max(
            (_scalar(model, form, scalar, widest) for scalar in span.scalars), key=lambda change: change.value
        )
    else:
        largest = _vector(model, form, span, widest)
    # All records together contribute no more than this.
    most = None if model.records is None else model.records * span.largest
    return largest if most is None or largest.value <= most else replace(largest, value=most, exact=False, moves=None)


def _widest(form: LinearForm, model: FactModel) -> int:
    """Bound the change along a single secret pair."""
    edge, _ = form.worst_edge(model.policy.graph.project(form.domain.names))
    return 0 if edge is None else int(form.change(*edge) / form.unit)


def _scalar(model: FactModel, form: LinearForm, scalar: Scalar, widest: int) -> LargestChange:
    across = 0 if model.crossing.unchanged(form.domain.names) else widest

    def flow(kernel: Integers) -> LargestChange:
        return scalar_flow(model, kernel, scalar, form)

    def search(signs: Integers) -> LargestChange:
        atom = _searched(model, scalar_moves(model, signs, scalar, widest))
        ends = (move.secret or (scalar.lowest(move.classes[0]), scalar.highest(move.classes[1])) for move in atom.moves)
        certain = all(move.certain for move in atom.moves) and model.free
        return LargestChange(atom.value, certain, atoms.METHOD, tuple(ends) if certain else None)

    def between(a: int, b: int) -> int:
        return int(scalar.high[b] - scalar.low[a])

    cycle = scalar_cycle(model, scalar, across=across, widest=widest)
    return _first_that_applies(model, cycle, flow, search, scalar.high - scalar.low, between)


def _vector(model: FactModel, form: LinearForm, span: Span, widest: int) -> LargestChange:
    def flow(kernel: Integers) -> LargestChange:
        return vector_flow(model, kernel, form, span)

    def search(signs: Integers) -> LargestChange:
        atom = atoms.search(vector_moves(model, signs, form, span, widest), records=model.records)
        if atom is None and span.injective:
            # Without the net effect on single-valued classes there are fewer sets to search.
            coarse = replace(span, injective=False)
            atom = atoms.search(vector_moves(model, signs, form, coarse, widest), records=model.records)
        if atom is None:
            raise refusal(model)
        certain = atom.moves and model.free and all(move.certain for move in atom.moves)
        moves = _chosen(model, atom) if certain else None
        if moves is not None and change(form, model.classes, moves) == atom.value:
            return LargestChange(atom.value, exact=True, method=atoms.METHOD, moves=moves)
        for guide in span.guides:
            below = _scalar(model, form, guide, widest)
            if below.exact and below.value == atom.value:
                return below
        return LargestChange(atom.value, atom.value == 0, atoms.METHOD)

    cycle = vector_cycle(model, form, span, widest=widest)
    return _first_that_applies(model, cycle, flow, search, span.diameters, span.between)


def _first_that_applies(
    model: FactModel,
    cycle: LargestChange,
    flow: Callable[[Integers], LargestChange],
    search: Callable[[Integers], LargestChange],
    spans: WholeNumbers,
    between: Callable[[int, int], int],
) -> LargestChange:
    """Take the theorem of the nullity: cycles, cycles and flows along the kernel vector, or all sets of moves."""
    nullity, kernel = model.incidence.nullity, model.incidence.kernel
    if nullity == 0:
        return cycle
    signs = atoms.signatures(model.incidence)
    few = signs is not None and atoms.searchable(signs.shape[1], model.records)
    if nullity == 1 and kernel is not None:
        largest = flow(kernel)
        if cycle.value > largest.value or (cycle.value == largest.value and cycle.exact):
            largest = replace(cycle, method=CYCLES_AND_FLOWS)
        if largest.exact or not few or model.crossing.listed is None:
            return largest
    return search(signs) if signs is not None and few else _around_core(model, cycle, spans, between)


def _around_core(
    model: FactModel, cycle: LargestChange, spans: WholeNumbers, between: Callable[[int, int], int]
) -> LargestChange:
    """Search the classes that the counts do not settle; each move there may also pass once through every settled class.

    Contracting the settled classes of a set of moves without cycles leaves a set of moves of the others, and each of
    its moves has passed through a settled class at most once (docs/proofs/known_facts.md).
    """
    settled = model.incidence.settled
    signs = atoms.signatures(model.incidence.without(settled))
    if signs is None or not atoms.searchable(signs.shape[1], model.records):
        raise refusal(model)
    labels = model.live_classes[~settled].tolist()
    anywhere = ((), ())
    atom = _searched(
        model, (Move(effect, (), between(a, b), (a, b), anywhere) for a, b, effect in moves_between(labels, signs))
    )
    value = atom.value + atom.longest * int(sum(spans[model.live_classes[settled]]))
    return LargestChange(max(value, cycle.value), exact=False, method=atoms.METHOD)


def _searched(model: FactModel, moves: Iterable[Move]) -> Atom:
    atom = atoms.search(moves, records=model.records)
    if atom is None:
        raise refusal(model)
    return atom


def _chosen(model: FactModel, atom: Atom) -> Moves:
    """Choose where records enter and leave each class: at different values if it has two."""
    leave: dict[int, Cell] = {}
    enter: dict[int, Cell] = {}
    ends, (x, y) = next((move.classes, move.secret) for move in atom.moves if move.secret is not None)
    leave[ends[0]], enter[ends[1]] = x, y
    for label in {label for move in atom.moves for label in move.classes}:
        cells = candidates(model.classes, label)
        if label not in leave:
            leave[label] = next((cell for cell in cells if cell != enter.get(label)), cells[0])
        if label not in enter:
            enter[label] = next((cell for cell in cells if cell != leave[label]), cells[0])
    return tuple(move.secret or (leave[move.classes[0]], enter[move.classes[1]]) for move in atom.moves)


_MOST_ALONE = 20
"""The number of facts up to which each is looked at by itself."""


def _is_free(policy: Any, number: int) -> bool:
    with catch_warnings():
        simplefilter("ignore", BlowfishWarning)
        size = policy.size if policy.records is None else policy.records
        return not crosses(replace(policy, known=(policy.known[number],), size=size))


def refusal(model: FactModel) -> RefusalError:
    """Build the error that names the facts that cross each other and says what can be done."""
    policy = model.policy
    open_classes = ~model.incidence.settled
    facts = {
        model.classes.rows[number].fact
        for number, members in enumerate(model.incidence.members)
        if 0 < open_classes[members].sum() < open_classes.sum()
    }
    facts = {
        fact for fact in facts if any(policy.graph.changes(name) for name in policy.known[fact].attributes)
    } or facts
    if len(facts) <= _MOST_ALONE:
        # One that no secret pair changes is free, whatever others are known beside it.
        facts = {fact for fact in facts if not _is_free(policy, fact)} or facts
    sentences = [*dict.fromkeys(policy.known[fact].words(policy.domain) for fact in sorted(facts))]
    named = "; ".join(sentences[:4]) + (f"; and {len(sentences) - 4} more" if len(sentences) > 4 else "")
    hint = "replace the facts that cross by one joint marginal, or list fewer facts"
    if policy.compensation == "anywhere":
        hint += "; if attackers already know each record up to its secret pairs, compensation: secret-moves may be "
        hint += "enough"
    return RefusalError(
        f"these known facts cross each other, and no theorem bounds how many records move together: {named}.",
        hint=f"{hint}.",
    )
