"""How much a query can change under known facts: which theorem applies, in what order.

1. No secret pair crosses classes: the known facts change nothing.
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

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.classes import Ints
from blowfish_privacy.known_facts.classes.setting import Found, Moves, Setting, change, setting
from blowfish_privacy.known_facts.classes.spans import Scalar, Span, Whole, candidates, span
from blowfish_privacy.known_facts.facts import KnownMarginal
from blowfish_privacy.known_facts.facts.assumptions import Assumptions
from blowfish_privacy.known_facts.search import atoms
from blowfish_privacy.known_facts.search.atoms import Atom, Move
from blowfish_privacy.known_facts.search.moves import scalar_moves, vector_moves
from blowfish_privacy.known_facts.theorems import kernel, secret_moves, simple_cycles
from blowfish_privacy.queries.query import LinearForm

FOLLOWS = "the answer follows from a known marginal"
ALONE = "known counts leave single moves only, inside classes that may hold a record"


def crosses(policy: Assumptions) -> bool:
    """Say whether a secret pair changes a known count, so that records have to move together."""
    return bool(policy.known) and setting(policy, ()).crossing.exists


def under_facts(form: LinearForm, policy: Assumptions) -> Found | None:
    """Find the largest change of a query between neighbours, in units; None where the facts change nothing."""
    asked = set(form.domain.names)
    if any(isinstance(fact, KnownMarginal) and asked <= set(fact.attributes) for fact in policy.known):
        return Found(0, exact=True, method=FOLLOWS)
    here = setting(policy, form.domain.names)
    if not here.crossing.exists and here.live.all():
        return None
    if not here.crossed:
        return _alone(here, form)
    seen = span(form, here.classes)
    if policy.compensation == "secret-moves":
        bound = partial(_anywhere, here, form, seen)
        return secret_moves.largest_change(here, form, seen, widest=_widest(form, here), anywhere=bound)
    return _anywhere(here, form, seen)


def _alone(here: Setting, form: LinearForm) -> Found:
    """Let one record move inside a class that may hold one: no other move is possible."""
    if here.inner is None:
        return Found(_widest(form, here), exact=False, method=ALONE, together=False)
    tried = [((arc.x, arc.y),) for arc in here.inner]
    changes = [(change(form, here.classes, moves), moves) for moves in tried]
    value, moves = max(changes, default=(0, None), key=lambda each: each[0])
    return Found(value, exact=here.decided, method=ALONE, moves=moves if here.decided else None, together=False)


def most_secret_moves(policy: Assumptions, names: tuple[str, ...]) -> int | None:
    """Return the most records that move together under secret-moves; None when no theorem bounds them."""
    here = setting(policy, names)
    if policy.compensation != "secret-moves":
        return None
    return secret_moves.most_moves(here) if here.crossed else 1


def _anywhere(here: Setting, form: LinearForm, seen: Span) -> Found:
    widest = _widest(form, here)
    if seen.scalars:
        best = max((_scalar(here, form, scalar, widest) for scalar in seen.scalars), key=lambda each: each.value)
        return _capped(here, seen, best)
    return _capped(here, seen, _vector(here, form, seen, widest))


def _capped(here: Setting, seen: Span, found: Found) -> Found:
    """No more records move than there are."""
    most = None if here.records is None else here.records * seen.whole
    if most is not None and most < found.value:
        return replace(found, value=most, exact=False, moves=None)
    return found


def _widest(form: LinearForm, here: Setting) -> int:
    """Bound the change along a secret pair."""
    edge, _ = form.worst_edge(here.policy.graph.project(form.domain.names))
    return 0 if edge is None else int(form.change(*edge) / form.unit)


def _scalar(here: Setting, form: LinearForm, scalar: Scalar, widest: int) -> Found:
    nullity = here.incidence.nullity
    across = 0 if here.crossing.unchanged(form.domain.names) else widest
    cycle = simple_cycles.scalar_cycle(here, scalar, across=across, widest=widest)
    if nullity == 0:
        return cycle
    vector = here.incidence.kernel
    if nullity == 1 and vector is not None:
        open_way = _larger(cycle, kernel.scalar_flow(here, vector, scalar, form), kernel.METHOD)
        if open_way.exact or not _few(here):
            return open_way
    if not _searchable(here):
        ranges = scalar.high - scalar.low
        return _around_core(here, cycle, ranges, lambda a, b: int(scalar.high[b] - scalar.low[a]))
    atom = _searched(here, atoms.search(scalar_moves(here, _signatures(here), scalar, widest), records=here.records))
    certain = all(move.certain for move in atom.moves) and here.free
    moves = tuple(_along_scalar(scalar, move) for move in atom.moves)
    return Found(atom.value, certain, atoms.METHOD, moves if certain else None)


def _vector(here: Setting, form: LinearForm, seen: Span, widest: int) -> Found:
    nullity = here.incidence.nullity
    cycle = simple_cycles.vector_cycle(here, form, seen, widest=widest)
    if nullity == 0:
        return cycle
    vector = here.incidence.kernel
    if nullity == 1 and vector is not None:
        open_way = _larger(cycle, kernel.vector_flow(here, vector, form, seen), kernel.METHOD)
        if open_way.exact or not _few(here):
            return open_way
    if not _searchable(here):
        return _around_core(here, cycle, seen.diameters, seen.between)
    atom = _search_vector(here, form, seen, widest)
    moves = _chosen(here, atom) if atom.moves and here.free and all(move.certain for move in atom.moves) else None
    if moves is not None and change(form, here.classes, moves) == atom.value:
        return Found(atom.value, exact=True, method=atoms.METHOD, moves=moves)
    for guide in seen.guides:
        below = _scalar(here, form, guide, widest)
        if below.exact and below.value == atom.value:
            return below
    return Found(atom.value, atom.value == 0, atoms.METHOD)


def _few(here: Setting) -> bool:
    """Whether all sets of moves can be searched, with every secret pair in sight."""
    return here.crossing.listed is not None and _searchable(here)


def _searchable(here: Setting) -> bool:
    signs = atoms.signatures(here.incidence)
    return signs is not None and atoms.searchable(signs.shape[1], here.records)


def _around_core(here: Setting, cycle: Found, spans: Whole, between: Callable[[int, int], int]) -> Found:
    """Search the classes that the counts do not settle; whatever moves there may pass once through each of the others.

    Contracting the settled classes of a set of moves without cycles leaves a set of moves of the others, and each of
    its moves has passed through a settled class at most once (docs/proofs/known_facts.md).
    """
    settled = here.incidence.settled
    core = here.incidence.without(settled)
    signs = atoms.signatures(core)
    if signs is None or not atoms.searchable(signs.shape[1], here.records):
        raise refusal(here)
    labels = here.labels[~settled].tolist()
    anywhere = ((), ())
    moves = [
        Move(tuple((signs[j] - signs[i]).tolist()), (), between(a, b), (a, b), anywhere)
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        if a != b
    ]
    atom = _searched(here, atoms.search(moves, records=here.records))
    value = atom.value + atom.longest * int(sum(spans[here.labels[settled]]))
    return Found(max(value, cycle.value), exact=False, method=atoms.METHOD)


def _search_vector(here: Setting, form: LinearForm, seen: Span, widest: int) -> Atom:
    """Search with the net effect on single-valued classes, and without it where that is too much."""
    signs = _signatures(here)
    found = atoms.search(vector_moves(here, signs, form, seen, widest), records=here.records)
    if found is not None or not seen.injective:
        return _searched(here, found)
    coarse = replace(seen, injective=False)
    return _searched(here, atoms.search(vector_moves(here, signs, form, coarse, widest), records=here.records))


def _larger(cycle: Found, flow: Found, method: str) -> Found:
    best = cycle if cycle.value > flow.value or (cycle.value == flow.value and cycle.exact) else flow
    return replace(best, method=method)


def _searched(here: Setting, found: Atom | None) -> Atom:
    if found is None:
        raise refusal(here)
    return found


def _signatures(here: Setting) -> Ints:
    found = atoms.signatures(here.incidence)
    if found is None:
        raise refusal(here)
    return found


def _along_scalar(scalar: Scalar, move: Move) -> Edge:
    return move.secret or (scalar.lowest(move.classes[0]), scalar.highest(move.classes[1]))


def _chosen(here: Setting, atom: Atom) -> Moves:
    """Choose where records enter and leave each class: never at the same value if it has two."""
    leave: dict[int, Cell] = {}
    enter: dict[int, Cell] = {}
    ends, (x, y) = next((move.classes, move.secret) for move in atom.moves if move.secret is not None)
    leave[ends[0]], enter[ends[1]] = x, y
    for label in {label for move in atom.moves for label in move.classes}:
        own = candidates(here.classes, label)
        if label not in leave:
            leave[label] = next((cell for cell in own if cell != enter.get(label)), own[0])
        if label not in enter:
            enter[label] = next((cell for cell in own if cell != leave[label]), own[0])
    return tuple(move.secret or (leave[move.classes[0]], enter[move.classes[1]]) for move in atom.moves)


def refusal(here: Setting) -> RefusalError:
    """Say which facts cross each other, and what can be done."""
    policy = here.policy
    open_classes = ~here.incidence.settled
    facts = {
        here.classes.rows[number].fact
        for number, members in enumerate(here.incidence.members)
        if 0 < open_classes[members].sum() < open_classes.sum()
    }
    facts = {
        fact for fact in facts if any(policy.graph.changes(name) for name in policy.known[fact].attributes)
    } or facts
    said = [policy.known[fact].words(policy.domain) for fact in sorted(facts)]
    named = "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")
    return RefusalError(
        f"these known facts cross each other, and no theorem bounds how many records move together: {named}.",
        hint="know one joint marginal instead of facts that cross, or fewer facts"
        + (
            "; if attackers already know each record up to its secret pairs, compensation: secret-moves may do."
            if policy.compensation == "anywhere"
            else "."
        ),
    )
