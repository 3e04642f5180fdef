"""The policy graph of the paper [he2014, Definition 8.3], for ``compensation="secret-moves"``.

Its nodes are the known counts and two special ones, v+ and v-. A secret move that lowers one count and lifts another
is an arc between them; one that only lifts a count comes from v+, one that only lowers it goes to v-. Where every
secret move lifts at most one count and lowers at most one (the facts are *sparse*), records that move together form a
cycle or a path from v+ to v-, so at most max(alpha, xi) records move, and the histogram changes by at most twice that.
Proof, and which part of the printed theorem fails: ``docs/proofs/policy_graph.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import TypeAlias

from blowfish_privacy.domain import Attribute, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.class_pairs import ClassPairs
from blowfish_privacy.known_facts import atoms
from blowfish_privacy.known_facts.atoms import Weigh, weigh_all, weigh_by
from blowfish_privacy.known_facts.changes import LargestChange, Moves, Span, change
from blowfish_privacy.known_facts.cycles import Cycle, heaviest_cycle
from blowfish_privacy.known_facts.fact_model import Arc, Classes, FactModel, classes_of, joined_classes
from blowfish_privacy.known_facts.facts import Assumptions, KnownMarginal, fact_names
from blowfish_privacy.queries.query import LinearForm

_SECONDS = 20.0
_MOST_RUNS = 4


@dataclass(frozen=True)
class PolicyGraph:
    """Which known counts secret moves lift and lower together."""

    nodes: tuple[str, ...]
    """The known counts in words, then ``v+`` and ``v-``."""
    arcs: tuple[tuple[int, int], ...]
    """From the count lowered to the count lifted, sorted; the arc from v+ to v- is always present."""
    sparse: bool
    """Whether each secret move lifts at most one count and lowers at most one [he2014, Definition 8.2]."""
    exact: bool
    """Whether every arc belongs to a secret move; if not, some may not exist, and alpha and xi are upper bounds."""

    @property
    def counts(self) -> int:
        """The number of known counts."""
        return len(self.nodes) - 2

    @property
    def alpha(self) -> int:
        """The length of a longest cycle, 0 if there is none; see :attr:`proven`."""
        return 0 if self._cycle is None else self._cycle.weight

    @property
    def xi(self) -> int:
        """The length of a longest path from v+ to v-; see :attr:`proven`."""
        # A path is a cycle once v+ and v- are one node, which weighs so much that the heaviest cycle has it if any has.
        return max(1, self._path.weight - self.counts) if self._path is not None else 1

    @property
    def proven(self) -> bool:
        """Whether alpha and xi are exact; otherwise they are proven upper bounds."""
        return self.exact and all(cycle is None or cycle.exact for cycle in (self._cycle, self._path))

    @property
    def bound(self) -> int | None:
        """The most that the histogram changes under ``secret-moves``, 2 max(alpha, xi); None if not sparse."""
        return 2 * max(self.alpha, self.xi) if self.sparse else None

    @cached_property
    def _cycle(self) -> Cycle | None:
        arcs = {arc: 0 for arc in self.arcs if max(arc) < self.counts}
        return heaviest_cycle(self.counts, arcs, [1] * self.counts, seconds=_SECONDS)

    @cached_property
    def _path(self) -> Cycle | None:
        outside = self.counts
        arcs = {(min(a, outside), min(b, outside)): 0 for a, b in self.arcs if a < outside or b < outside}
        return heaviest_cycle(outside + 1, arcs, [1] * outside + [outside + 1], seconds=_SECONDS)


def policy_graph(policy: Assumptions) -> PolicyGraph:
    """Build the policy graph; if it is not sparse, with an arc from every count lowered to every count lifted."""
    names = [name for name in policy.domain if name in fact_names(policy.known)]
    if not names:
        return PolicyGraph(("v+", "v-"), ((0, 1),), sparse=True, exact=True)
    classes = classes_of(policy.domain.project(names), policy.known)
    joined = joined_classes(policy.graph.project(names), classes)
    first: dict[bytes, int] = {}
    for row, members in enumerate(classes.incidence.members):
        first.setdefault(members.tobytes(), row)
    # Of known counts that count the same values, only the first is a node.
    rows = sorted(first.values())
    counted: list[set[int]] = [set() for _ in range(classes.size)]
    for number, row in enumerate(rows):
        for member in classes.incidence.members[row].tolist():
            counted[member].add(number)
    above, below = len(rows), len(rows) + 1
    arcs = {(above, below)}
    sparse = True
    for pair in joined.pairs:
        for source, target in (pair, pair[::-1]):
            lowered, lifted = counted[source] - counted[target], counted[target] - counted[source]
            sparse &= len(lowered) <= 1 and len(lifted) <= 1
            arcs |= {(a, b) for a in lowered or {above} for b in lifted or {below}}
    names_of_rows = [*_names(policy, classes)]
    nodes = (*(names_of_rows[row] for row in rows), "v+", "v-")
    return PolicyGraph(nodes, tuple(sorted(arcs)), sparse=sparse, exact=joined.exact)


def _names(policy: Assumptions, classes: Classes) -> Iterator[str]:
    """Describe the values that each known count counts."""
    next_cell: Counter[int] = Counter()
    for row in classes.rows:
        fact = policy.known[row.fact]
        if isinstance(fact, KnownMarginal):
            marginal = classes.domain.project([name for name in classes.domain if name in fact.attributes])
            yield marginal.show(marginal.unflat(next_cell[row.fact]))
            next_cell[row.fact] += 1
        else:
            yield ", ".join(
                f"{name} {_shown(policy.domain[name], subset)}" for name, subset in fact.box(policy.domain).items()
            )


def _shown(attribute: Attribute, chosen: Subset) -> str:
    singles = ((position, position + 1) for position in islice(chosen, _MOST_RUNS + 1))
    runs = chosen.runs if attribute.ordered else tuple(singles)
    ends = [(attribute.show(start), attribute.show(stop - 1)) for start, stop in runs[:_MOST_RUNS]]
    ranges = [low if low == high else f"{low} to {high}" for low, high in ends]
    return " or ".join(ranges) + (" or .." if len(runs) > _MOST_RUNS else "")


# Under ``secret-moves`` every moving record follows a secret pair: a weaker promise, which a policy has to ask for.
#
# Then classes are joined only by secret pairs. At nullity 0 records move around a simple cycle of classes that secret
# pairs join, so the heaviest cycle bounds the change: arcs weigh what a query changes along them, or, for a histogram,
# classes weigh 2 where a record can enter and another leave at different values. With few independent counts all sets
# of secret moves are searched. Neighbours under this relation are neighbours under the default one too, so its bound
# holds in every case.

METHOD = "secret moves only: cycles of classes that secret pairs join"
SPARSE = "secret moves only: cycles and paths of the policy graph [he2014, Theorem 8.2, corrected]"
Bound: TypeAlias = Callable[[], LargestChange]

_MOST_EDGES = 40


def largest_change(model: FactModel, form: LinearForm, span: Span, *, widest: int, anywhere: Bound) -> LargestChange:
    """Find the largest change of a query when all records that move follow secret pairs."""
    if model.incidence.nullity != 0:
        largest = _searched(model, form, span)
    elif model.inner is None:
        largest = _unlisted(model, form, span, widest)
    else:
        around = [_listed(model, form, weigh, by_class=span.injective) for weigh in _weights(model, form, span)]
        largest = max(around, key=lambda cycle: cycle.value)
    if largest is None:
        largest = _sparse(model, widest)
    if largest is None:
        return _bound(anywhere())
    try:
        other = _bound(anywhere()) if not largest.exact else largest
    except RefusalError:
        return largest
    return other if other.value < largest.value else largest


def most_moves(model: FactModel) -> int | None:
    """Return how many records move together at most; None if no theorem bounds them."""
    if model.incidence.nullity == 0:
        joined = _joined(model)
        if joined is None:
            return None
        cycle = _cycle(model, dict.fromkeys(joined[1], 1), {})
        return 1 if cycle is None else max(1, cycle.weight)
    signs = atoms.signatures(model.incidence)
    if signs is None or model.crossing.listed is None:
        return None
    atom = atoms.search(atoms.secret_moves(model, signs, lambda _: 1), records=model.records)
    return None if atom is None else max(1, atom.longest)


def _sparse(model: FactModel, widest: int) -> LargestChange | None:
    """Bound how many records move by cycles and paths of the policy graph; None if the facts are not sparse."""
    try:
        bound = policy_graph(model.policy).bound
    except RefusalError:
        return None
    return None if bound is None else LargestChange(bound // 2 * widest, exact=False, method=SPARSE)


def _bound(largest: LargestChange) -> LargestChange:
    """Reuse a bound for the default relation: it holds here too, but may not be attained."""
    return LargestChange(largest.value, largest.value == 0, largest.method)


def _weights(model: FactModel, form: LinearForm, span: Span) -> list[Weigh]:
    return [*map(weigh_by, span.scalars)] or [weigh_all(form, model)]


def _listed(model: FactModel, form: LinearForm, weigh: Weigh, *, by_class: bool) -> LargestChange:
    """Weigh every secret pair, or, for a histogram, every class."""
    neutral = max(model.inner or (), key=weigh, default=None)
    inside = 0 if neutral is None else max(0, weigh(neutral))
    best: dict[tuple[int, int], Arc] = {}
    for arc in model.arcs:
        key = (arc.source, arc.target)
        if key not in best or weigh(arc) > weigh(best[key]):
            best[key] = arc
    if by_class:
        cycle = _cycle(model, dict.fromkeys(best, 0), _touched_twice(model.arcs))
    else:
        cycle = _cycle(model, {key: weigh(arc) for key, arc in best.items()}, {})
    if cycle is None or cycle.weight <= inside:
        moves = None if neutral is None or not inside else ((neutral.x, neutral.y),)
        return LargestChange(inside, model.decided, METHOD, moves)
    chosen = _spread(model.arcs, cycle) if by_class else tuple(best[pair] for pair in _pairs(cycle))
    moves = tuple((arc.x, arc.y) for arc in chosen)
    exact = model.decided and change(form, model.classes, moves) == cycle.weight
    return LargestChange(cycle.weight, exact, METHOD, moves if exact else None)


def _unlisted(model: FactModel, form: LinearForm, span: Span, widest: int) -> LargestChange | None:
    """Bound the change where there are too many secret pairs to list; None if they join too many classes."""
    joined = _joined(model)
    if joined is None:
        return None
    pairs, arcs = joined
    labels = model.live_classes.tolist()
    inside = min(widest, max((int(span.diameters[label]) for label in labels), default=0))
    if span.injective:
        cycle = _cycle(model, dict.fromkeys(arcs, 0), {c: int(span.diameters[c]) for c in labels if pairs.ends[c]})
    else:
        across = 0 if model.crossing.unchanged(form.domain.names) else widest
        cycle = _cycle(model, dict.fromkeys(arcs, across), {})
    return LargestChange(max(inside, 0 if cycle is None else cycle.weight), exact=False, method=METHOD)


def _joined(model: FactModel) -> tuple[ClassPairs, list[tuple[int, int]]] | None:
    """Find the classes that secret pairs join, and both ways between the live ones; None if they are too many."""
    try:
        joined = joined_classes(model.crossing.graph, model.classes)
    except RefusalError:
        return None
    return joined, [arc for a, b in joined.pairs if model.live[a] and model.live[b] for arc in ((a, b), (b, a))]


def _cycle(model: FactModel, arcs: dict[tuple[int, int], int], nodes: dict[int, int]) -> Cycle | None:
    """Find the heaviest cycle over the live classes."""
    index = {label: number for number, label in enumerate(model.live_classes.tolist())}
    cycle = heaviest_cycle(
        len(index),
        {(index[a], index[b]): weight for (a, b), weight in arcs.items()},
        [nodes.get(label, 0) for label in index],
        longest=model.records,
    )
    if cycle is None:
        return None
    return Cycle(cycle.weight, cycle.exact, tuple(int(model.live_classes[number]) for number in cycle.nodes))


def _pairs(cycle: Cycle) -> Iterator[tuple[int, int]]:
    return pairwise((*cycle.nodes, cycle.nodes[0]))


def _touched_twice(arcs: tuple[Arc, ...]) -> dict[int, int]:
    """Give weight 2 to the classes that secret pairs leave or enter at two different values."""
    ends: dict[int, set[object]] = {}
    for arc in arcs:
        ends.setdefault(arc.source, set()).add(arc.x)
    return {label: 2 for label, values in ends.items() if len(values) > 1}


def _spread(arcs: tuple[Arc, ...], cycle: Cycle) -> tuple[Arc, ...]:
    """Choose secret pairs along a cycle so that few classes are left at the value at which they were entered."""
    choices = [[a for a in arcs if (a.source, a.target) == pair][:_MOST_EDGES] for pair in _pairs(cycle)]
    best: tuple[int, tuple[Arc, ...]] = (-1, ())
    for first in choices[0]:
        paths = {first: (0, (first,))}
        for options in choices[1:]:
            grown: dict[Arc, tuple[int, tuple[Arc, ...]]] = {}
            for arc in options:
                grown[arc] = max(
                    ((count + (last.y != arc.x), (*path, arc)) for last, (count, path) in paths.items()),
                    key=lambda path: path[0],
                )
            paths = grown
        for last, (count, path) in paths.items():
            best = max(best, (count + (last.y != first.x), path), key=lambda chosen: chosen[0])
    return best[1]


def _searched(model: FactModel, form: LinearForm, span: Span) -> LargestChange | None:
    """Search all sets of secret moves; None if they are not listed or too many counts are independent."""
    signs = atoms.signatures(model.incidence)
    if signs is None or model.crossing.listed is None:
        return None
    alone = [int(label) for label in model.live_classes if span.injective and not span.diameters[label]]
    weights = _weights(model, form, span)
    counted = alone if span.injective else None
    tried = [atoms.search(atoms.secret_moves(model, signs, weigh, counted), records=model.records) for weigh in weights]
    if any(atom is None for atom in tried):
        return None
    best = max((atom for atom in tried if atom is not None), key=lambda atom: atom.value)
    chosen: Moves = tuple(move.secret for move in best.moves if move.secret is not None)
    exact = best.value == 0 or (model.free and change(form, model.classes, chosen) == best.value)
    return LargestChange(best.value, exact, atoms.METHOD, chosen if exact else None)
