"""Every moving record follows a secret pair: a weaker promise, asked for by name.

Then classes are joined only by secret pairs. At nullity 0 records move around a simple cycle of classes that secret
pairs join, so the heaviest cycle bounds the change: arcs weigh what a query changes along them, or, for a histogram,
classes weigh 2 where a record can enter and another leave at different values. With few independent counts all sets of
secret moves are searched. Neighbours under this relation are neighbours under the default one too, so its bound
holds in every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.known_facts.classes.arcs import class_arcs
from blowfish_privacy.known_facts.classes.crossing import Arc
from blowfish_privacy.known_facts.classes.setting import Found, Moves, Setting, change
from blowfish_privacy.known_facts.classes.spans import Scalar, Span
from blowfish_privacy.known_facts.search import atoms
from blowfish_privacy.known_facts.search.atoms import Move
from blowfish_privacy.known_facts.search.cycles import Cycle, heaviest_cycle
from blowfish_privacy.queries.query import LinearForm

METHOD = "secret moves only: cycles of classes that secret pairs join"
SPARSE = "secret moves only: cycles and paths of the policy graph [he2014, Theorem 8.2, corrected]"
Bound: TypeAlias = Callable[[], Found]
Weigh: TypeAlias = Callable[[Arc], int]

_MOST_EDGES = 40


def largest_change(here: Setting, form: LinearForm, seen: Span, *, widest: int, anywhere: Bound) -> Found:
    """Find the largest change of a query when all records that move follow secret pairs."""
    found = _around(here, form, seen, widest) if here.incidence.nullity == 0 else _searched(here, form, seen)
    if found is None:
        found = _sparse(here, widest)
    if found is None:
        return _bound(anywhere())
    try:
        other = _bound(anywhere()) if not found.exact else found
    except RefusalError:
        return found
    return other if other.value < found.value else found


def most_moves(here: Setting) -> int | None:
    """Return the most records that move together; None when no theorem bounds them."""
    if here.incidence.nullity == 0:
        try:
            joined = class_arcs(here.crossing.graph, here.classes).pairs
        except RefusalError:
            return None
        both = [pair for a, b in joined if here.live[a] and here.live[b] for pair in ((a, b), (b, a))]
        cycle = _cycle(here, dict.fromkeys(both, 1), {})
        return 1 if cycle is None else max(1, cycle.weight)
    signs = atoms.signatures(here.incidence)
    if signs is None or here.crossing.listed is None:
        return None
    found = atoms.search(_secret_moves(here, lambda _: 1), records=here.records)
    return None if found is None else max(1, found.longest)


def _sparse(here: Setting, widest: int) -> Found | None:
    """Bound the records that move by cycles and paths of the policy graph, where secret pairs touch few counts."""
    from blowfish_privacy.known_facts.theorems.policy_graph import policy_graph

    try:
        bound = policy_graph(here.policy).bound
    except RefusalError:
        return None
    return None if bound is None else Found(bound // 2 * widest, exact=False, method=SPARSE)


def _bound(found: Found) -> Found:
    """Take over a bound for the default relation."""
    return Found(found.value, found.value == 0, found.method)


def _around(here: Setting, form: LinearForm, seen: Span, widest: int) -> Found | None:
    if here.inner is None:
        return _unlisted(here, form, seen, widest)
    if seen.scalars:
        tried = [_listed(here, form, _weigh(scalar)) for scalar in seen.scalars]
        return max(tried, key=lambda each: each.value)
    return _listed(here, form, _changed(here, form), by_class=seen.injective)


def _changed(here: Setting, form: LinearForm) -> Weigh:
    return lambda arc: change(form, here.classes, [(arc.x, arc.y)])


def _weigh(scalar: Scalar) -> Weigh:
    return lambda arc: scalar.value(arc.y) - scalar.value(arc.x)


def _listed(here: Setting, form: LinearForm, weigh: Weigh, *, by_class: bool = False) -> Found:
    """Weigh every secret pair, or, for a histogram, every class."""
    neutral = max(here.inner or (), key=weigh, default=None)
    inside = 0 if neutral is None else max(0, weigh(neutral))
    best: dict[tuple[int, int], Arc] = {}
    for arc in here.arcs:
        key = (arc.source, arc.target)
        if key not in best or weigh(arc) > weigh(best[key]):
            best[key] = arc
    if by_class:
        cycle = _cycle(here, dict.fromkeys(best, 0), _touched_twice(here.arcs))
    else:
        cycle = _cycle(here, {key: weigh(arc) for key, arc in best.items()}, {})
    if cycle is None or cycle.weight <= inside:
        moves = None if neutral is None or not inside else ((neutral.x, neutral.y),)
        return Found(inside, here.decided and (cycle is None or cycle.exact or cycle.weight <= inside), METHOD, moves)
    chosen = _spread(here.arcs, cycle) if by_class else tuple(best[pair] for pair in _pairs(cycle))
    moves = tuple((arc.x, arc.y) for arc in chosen)
    exact = here.decided and change(form, here.classes, moves) == cycle.weight
    return Found(cycle.weight, exact, METHOD, moves if exact else None)


def _unlisted(here: Setting, form: LinearForm, seen: Span, widest: int) -> Found | None:
    """Bound what secret pairs change where they are too many to look at one by one; None for too many classes."""
    try:
        joined = class_arcs(here.crossing.graph, here.classes)
    except RefusalError:
        return None
    both = [pair for a, b in joined.pairs if here.live[a] and here.live[b] for pair in ((a, b), (b, a))]
    labels = here.labels.tolist()
    inside = min(widest, max((int(seen.diameters[label]) for label in labels), default=0))
    if seen.injective:
        cycle = _cycle(here, dict.fromkeys(both, 0), {c: int(seen.diameters[c]) for c in labels if joined.ends[c]})
    else:
        across = 0 if here.crossing.unchanged(form.domain.names) else widest
        cycle = _cycle(here, dict.fromkeys(both, across), {})
    return Found(max(inside, 0 if cycle is None else cycle.weight), exact=False, method=METHOD)


def _cycle(here: Setting, arcs: dict[tuple[int, int], int], nodes: dict[int, int]) -> Cycle | None:
    """Find the heaviest cycle over the live classes."""
    place = {label: number for number, label in enumerate(here.labels.tolist())}
    found = heaviest_cycle(
        len(place),
        {(place[a], place[b]): weight for (a, b), weight in arcs.items()},
        [nodes.get(label, 0) for label in place],
        longest=here.records,
    )
    if found is None:
        return None
    return Cycle(found.weight, found.exact, tuple(int(here.labels[number]) for number in found.nodes))


def _pairs(cycle: Cycle) -> Iterator[tuple[int, int]]:
    return pairwise((*cycle.nodes, cycle.nodes[0]))


def _touched_twice(arcs: tuple[Arc, ...]) -> dict[int, int]:
    """Weigh classes 2 that secret pairs leave or enter at two different values."""
    ends: dict[int, set[object]] = {}
    for arc in arcs:
        ends.setdefault(arc.source, set()).add(arc.x)
    return {label: 2 for label, values in ends.items() if len(values) > 1}


def _spread(arcs: tuple[Arc, ...], cycle: Cycle) -> tuple[Arc, ...]:
    """Choose secret pairs along a cycle so that few classes are left where they were entered."""
    choices = [[a for a in arcs if (a.source, a.target) == pair][:_MOST_EDGES] for pair in _pairs(cycle)]
    best: tuple[int, tuple[Arc, ...]] = (-1, ())
    for first in choices[0]:
        paths = {first: (0, (first,))}
        for options in choices[1:]:
            grown: dict[Arc, tuple[int, tuple[Arc, ...]]] = {}
            for arc in options:
                grown[arc] = max(
                    ((count + (last.y != arc.x), (*path, arc)) for last, (count, path) in paths.items()),
                    key=lambda each: each[0],
                )
            paths = grown
        for last, (count, path) in paths.items():
            best = max(best, (count + (last.y != first.x), path), key=lambda each: each[0])
    return best[1]


def _secret_moves(here: Setting, weigh: Weigh, alone: Sequence[int] | None = None) -> Iterator[Move]:
    """Go through all secret moves; for a histogram, name the single-valued classes and count the other ends."""
    signs = atoms.signatures(here.incidence)
    number = {int(label): place for place, label in enumerate(here.labels)}
    for arc in here.crossing.listed or ():
        if signs is not None and arc.source in number and arc.target in number:
            effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
            ends = (arc.source, arc.target)
            if alone is None or arc.source == arc.target:
                yield Move(effect, (0,) * len(alone or ()), weigh(arc), ends, (arc.x, arc.y))
            else:
                single = tuple((c == arc.target) - (c == arc.source) for c in alone)
                yield Move(effect, single, sum(end not in alone for end in ends), ends, (arc.x, arc.y))


def _searched(here: Setting, form: LinearForm, seen: Span) -> Found | None:
    """Search all sets of secret moves, where they can be listed and few counts are independent."""
    signs = atoms.signatures(here.incidence)
    if signs is None or here.crossing.listed is None:
        return None
    alone = [int(label) for label in here.labels if seen.injective and not seen.diameters[label]]
    weights = [_weigh(scalar) for scalar in seen.scalars] or [_changed(here, form)]
    counted = alone if seen.injective else None
    tried = [atoms.search(_secret_moves(here, weigh, counted), records=here.records) for weigh in weights]
    if any(atom is None for atom in tried):
        return None
    best = max((atom for atom in tried if atom is not None), key=lambda atom: atom.value)
    chosen: Moves = tuple(move.secret for move in best.moves if move.secret is not None)
    exact = best.value == 0 or (here.free and change(form, here.classes, chosen) == best.value)
    return Found(best.value, exact, atoms.METHOD, chosen if exact else None)
