"""How much a query can change under known facts: which theorem applies, in what order.

1. No secret pair crosses classes: the known facts make no difference.
2. Classes that the stated counts leave empty are dropped.
3. Nullity 0: simple cycles of classes. Nullity 1: cycles and flows. Few independent counts: all sets of moves.
4. Otherwise no theorem here applies, and the software refuses.

Under secret-moves every moving record follows a secret pair. Such tables are neighbours under the default relation
too, so each bound above holds; a sharper one is taken where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from warnings import catch_warnings, simplefilter

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.change import LargestChange, Moves, change
from blowfish_privacy.known_facts.classes.fact_model import FactModel, fact_model
from blowfish_privacy.known_facts.classes.scalars import Scalar, Whole
from blowfish_privacy.known_facts.classes.spans import Span, candidates, span_of
from blowfish_privacy.known_facts.crossed import crosses
from blowfish_privacy.known_facts.facts import KnownMarginal
from blowfish_privacy.known_facts.facts.assumptions import Assumptions
from blowfish_privacy.known_facts.search import atoms
from blowfish_privacy.known_facts.search.atoms import Atom, Move
from blowfish_privacy.known_facts.search.moves import scalar_moves, vector_moves
from blowfish_privacy.known_facts.theorems import kernel, secret_moves, simple_cycles
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers

FOLLOWS = "the answer follows from a known marginal"
ALONE = "known counts leave single moves only, inside classes that may hold a record"


def under_facts(form: LinearForm, policy: Assumptions) -> LargestChange | None:
    """Find the largest change of a query between neighbours; None if the facts make no difference."""
    asked = set(form.domain.names)
    if any(isinstance(fact, KnownMarginal) and asked <= set(fact.attributes) for fact in policy.known):
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
    value, moves = max(changes, default=(0, None), key=lambda each: each[0])
    return LargestChange(
        value, exact=model.decided, method=ALONE, moves=moves if model.decided else None, together=False
    )


def most_secret_moves(policy: Assumptions, names: tuple[str, ...]) -> int | None:
    """Return how many records move together at most under secret-moves; None if no theorem bounds them."""
    model = fact_model(policy, names)
    if policy.compensation != "secret-moves":
        return None
    return secret_moves.most_moves(model) if model.crossed else 1


def _anywhere(model: FactModel, form: LinearForm, span: Span) -> LargestChange:
    widest = _widest(form, model)
    if span.scalars:
        best = max((_scalar(model, form, scalar, widest) for scalar in span.scalars), key=lambda each: each.value)
        return _capped(model, span, best)
    return _capped(model, span, _vector(model, form, span, widest))


def _capped(model: FactModel, span: Span, largest: LargestChange) -> LargestChange:
    """Cap the change by what all records can contribute."""
    most = None if model.records is None else model.records * span.whole
    if most is not None and most < largest.value:
        return replace(largest, value=most, exact=False, moves=None)
    return largest


def _widest(form: LinearForm, model: FactModel) -> int:
    """Bound the change along a single secret pair."""
    edge, _ = form.worst_edge(model.policy.graph.project(form.domain.names))
    return 0 if edge is None else int(form.change(*edge) / form.unit)


def _scalar(model: FactModel, form: LinearForm, scalar: Scalar, widest: int) -> LargestChange:
    nullity = model.incidence.nullity
    across = 0 if model.crossing.unchanged(form.domain.names) else widest
    cycle = simple_cycles.scalar_cycle(model, scalar, across=across, widest=widest)
    if nullity == 0:
        return cycle
    vector = model.incidence.kernel
    if nullity == 1 and vector is not None:
        open_way = _larger(cycle, kernel.scalar_flow(model, vector, scalar, form), kernel.METHOD)
        if open_way.exact or not _few(model):
            return open_way
    if not _searchable(model):
        ranges = scalar.high - scalar.low
        return _around_core(model, cycle, ranges, lambda a, b: int(scalar.high[b] - scalar.low[a]))
    atom = _searched(
        model, atoms.search(scalar_moves(model, _signatures(model), scalar, widest), records=model.records)
    )
    certain = all(move.certain for move in atom.moves) and model.free
    moves = tuple(_along_scalar(scalar, move) for move in atom.moves)
    return LargestChange(atom.value, certain, atoms.METHOD, moves if certain else None)


def _vector(model: FactModel, form: LinearForm, span: Span, widest: int) -> LargestChange:
    nullity = model.incidence.nullity
    cycle = simple_cycles.vector_cycle(model, form, span, widest=widest)
    if nullity == 0:
        return cycle
    vector = model.incidence.kernel
    if nullity == 1 and vector is not None:
        open_way = _larger(cycle, kernel.vector_flow(model, vector, form, span), kernel.METHOD)
        if open_way.exact or not _few(model):
            return open_way
    if not _searchable(model):
        return _around_core(model, cycle, span.diameters, span.between)
    atom = _search_vector(model, form, span, widest)
    moves = _chosen(model, atom) if atom.moves and model.free and all(move.certain for move in atom.moves) else None
    if moves is not None and change(form, model.classes, moves) == atom.value:
        return LargestChange(atom.value, exact=True, method=atoms.METHOD, moves=moves)
    for guide in span.guides:
        below = _scalar(model, form, guide, widest)
        if below.exact and below.value == atom.value:
            return below
    return LargestChange(atom.value, atom.value == 0, atoms.METHOD)


def _few(model: FactModel) -> bool:
    """Say whether all sets of moves can be searched with every secret pair listed."""
    return model.crossing.listed is not None and _searchable(model)


def _searchable(model: FactModel) -> bool:
    signs = atoms.signatures(model.incidence)
    return signs is not None and atoms.searchable(signs.shape[1], model.records)


def _around_core(
    model: FactModel, cycle: LargestChange, spans: Whole, between: Callable[[int, int], int]
) -> LargestChange:
    """Search the classes that the counts do not settle; each move there may also pass once through every settled class.

    Contracting the settled classes of a set of moves without cycles leaves a set of moves of the others, and each of
    its moves has passed through a settled class at most once (docs/proofs/known_facts.md).
    """
    settled = model.incidence.settled
    core = model.incidence.without(settled)
    signs = atoms.signatures(core)
    if signs is None or not atoms.searchable(signs.shape[1], model.records):
        raise refusal(model)
    labels = model.live_classes[~settled].tolist()
    anywhere = ((), ())
    moves = [
        Move(tuple((signs[j] - signs[i]).tolist()), (), between(a, b), (a, b), anywhere)
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        if a != b
    ]
    atom = _searched(model, atoms.search(moves, records=model.records))
    value = atom.value + atom.longest * int(sum(spans[model.live_classes[settled]]))
    return LargestChange(max(value, cycle.value), exact=False, method=atoms.METHOD)


def _search_vector(model: FactModel, form: LinearForm, span: Span, widest: int) -> Atom:
    """Search with the net effect on single-valued classes, or without it if that is too expensive."""
    signs = _signatures(model)
    atom = atoms.search(vector_moves(model, signs, form, span, widest), records=model.records)
    if atom is not None or not span.injective:
        return _searched(model, atom)
    coarse = replace(span, injective=False)
    return _searched(model, atoms.search(vector_moves(model, signs, form, coarse, widest), records=model.records))


def _larger(cycle: LargestChange, flow: LargestChange, method: str) -> LargestChange:
    best = cycle if cycle.value > flow.value or (cycle.value == flow.value and cycle.exact) else flow
    return replace(best, method=method)


def _searched(model: FactModel, atom: Atom | None) -> Atom:
    if atom is None:
        raise refusal(model)
    return atom


def _signatures(model: FactModel) -> Integers:
    signs = atoms.signatures(model.incidence)
    if signs is None:
        raise refusal(model)
    return signs


def _along_scalar(scalar: Scalar, move: Move) -> Edge:
    return move.secret or (scalar.lowest(move.classes[0]), scalar.highest(move.classes[1]))


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


_MOST_ASKED = 20
"""Facts of which each is asked whether it is free by itself."""


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
    if len(facts) <= _MOST_ASKED:
        # One that no secret pair changes is free, whatever others are known beside it.
        facts = {fact for fact in facts if not _is_free(policy, fact)} or facts
    said = [*dict.fromkeys(policy.known[fact].words(policy.domain) for fact in sorted(facts))]
    named = "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")
    return RefusalError(
        f"these known facts cross each other, and no theorem bounds how many records move together: {named}.",
        hint="replace the facts that cross by one joint marginal, or list fewer facts"
        + (
            "; if attackers already know each record up to its secret pairs, compensation: secret-moves may be enough."
            if policy.compensation == "anywhere"
            else "."
        ),
    )
