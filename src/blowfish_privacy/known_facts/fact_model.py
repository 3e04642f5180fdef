"""What known facts mean for a query: classes of values, secret pairs between them, and how many records each may hold.

This is the model in which the theorems look for the largest change. Attributes that neither the facts nor the query
look at are left out: a move along them changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, inf, isqrt, lcm, prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Box, Cell, Domain, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.graphs.class_pairs import ClassPairs, GroupOf, Pieces, cell_labels
from blowfish_privacy.graphs.graph import Hops, differing
from blowfish_privacy.known_facts.facts import Assumptions, KnownFact, KnownMarginal, contradiction, relevant_domain
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.limits import KNOWN_PIECES
from blowfish_privacy.support.progress import task

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# How far known counts determine the counts of the classes: the rank of the facts.
#
# Phi is the 0/1 matrix of known counts by classes, with a row of ones on top for the public number of records. Its
# *nullity* is the number of classes minus its rank; at nullity 0 every class's count follows from the known counts. A
# count that covers a single class settles that class, which can then be removed from all others: peeling. What remains
# is eliminated modulo a prime. The rank found there is never larger than the true one, so a nullity of 0 is certain;
# for nullity 1 a kernel vector is reconstructed in whole numbers and checked exactly.

PRIME = 2_147_483_629
"""Below 2^31, so that products fit 63 bits."""
_MOST_WORK = 3_000_000_000


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which known count (row) counts which class (column); the row of ones is implied."""

    rows: int
    columns: int
    members: tuple[Integers, ...]
    """The classes that each row counts."""

    @classmethod
    def of(cls, rows: int, columns: int, pairs: Sequence[tuple[Integers, Integers]]) -> Incidence:
        """Build it from pairs of row and column, which may contain duplicates."""
        if not pairs:
            return cls(rows, columns, ())
        keys = np.unique(np.concatenate([row * columns + column for row, column in pairs]))
        split = np.searchsorted(keys // columns, np.arange(1, rows))
        return cls(rows, columns, tuple(np.split(keys % columns, split)))

    def without(self, dead: npt.NDArray[np.bool_]) -> Incidence:
        """Remove classes that must be empty, and renumber the others."""
        number = np.cumsum(~dead) - 1
        return Incidence(self.rows, int((~dead).sum()), tuple(number[m[~dead[m]]] for m in self.members))

    @cached_property
    def matrix(self) -> csr_array:
        """The rows as a sparse matrix, with the row of ones first."""
        from scipy.sparse import csr_array

        everybody = np.arange(self.columns)
        indices = np.concatenate([everybody, *self.members])
        lengths = np.cumsum([0, self.columns, *map(len, self.members)])
        return csr_array((np.ones(len(indices), dtype=np.int64), indices, lengths), shape=(self.rows + 1, self.columns))

    @cached_property
    def settled(self) -> npt.NDArray[np.bool_]:
        """Which classes peeling settles: every kernel vector is zero there."""
        matrix = self.matrix
        done = np.zeros(self.columns, dtype=bool)
        while not done.all():
            left = matrix @ (~done).astype(np.int64)
            single = matrix[left == 1]
            if not single.shape[0]:
                break
            hit = np.asarray(single.sum(axis=0)).reshape(-1) > 0
            fresh = hit & ~done
            if not fresh.any():
                break
            done |= fresh
        return done

    @cached_property
    def core(self) -> Integers:
        """What peeling leaves: the distinct rows, restricted to the classes that are not settled."""
        rest = self.matrix[:, np.flatnonzero(~self.settled)]
        dense = rest.toarray() if rest.shape[0] * rest.shape[1] <= 50_000_000 else np.zeros((0, rest.shape[1]))
        return np.unique(dense.astype(np.int64), axis=0)

    @cached_property
    def core_size(self) -> tuple[int, int]:
        """The number of rows, before duplicates are removed, and of columns of the core."""
        return self.rows + 1, int((~self.settled).sum())

    @cached_property
    def _reduced(self) -> tuple[Integers, list[int]] | None:
        rows, columns = self.core.shape
        if not columns:
            return np.zeros((0, 0), dtype=np.int64), []
        if not rows or rows * min(rows, columns) * columns > _MOST_WORK:
            return None
        return reduced(self.core)

    @property
    def nullity(self) -> int | None:
        """The nullity: never too small, and exact if 0 or 1; None if there are too many facts to compute it."""
        echelon = self._reduced
        if echelon is None:
            return None
        columns = self.core_size[1]
        left = columns - len(echelon[1])
        return left if left != 1 or self.kernel is not None else None

    @cached_property
    def kernel(self) -> Integers | None:
        """The primitive kernel vector over all classes if the nullity is 1, unique up to sign; None otherwise."""
        echelon = self._reduced
        columns = self.core_size[1]
        if echelon is None or columns - len(echelon[1]) != 1:
            return None
        table, pivots = echelon
        (free,) = set(range(columns)) - set(pivots)
        residues = np.zeros(columns, dtype=np.int64)
        residues[free] = 1
        for row, pivot in enumerate(pivots):
            residues[pivot] = -table[row, free] % PRIME
        fractions = [_fraction(int(residue)) for residue in residues]
        exact = [fraction for fraction in fractions if fraction is not None]
        if len(exact) < len(fractions):
            return None
        scale = lcm(*(low for _, low in exact))
        multiples = [high * (scale // low) for high, low in exact]
        common = gcd(*multiples)
        vector = np.zeros(self.columns, dtype=np.int64)
        vector[~self.settled] = [number // common for number in multiples]
        return vector if not (self.matrix @ vector).any() else None


def reduced(matrix: Integers) -> tuple[Integers, list[int]]:
    """Return the reduced row echelon form modulo the prime and its pivot columns."""
    table = matrix % PRIME
    pivots: list[int] = []
    for column in range(table.shape[1]):
        row = len(pivots)
        if row == table.shape[0]:
            break
        candidates = np.flatnonzero(table[row:, column])
        if not len(candidates):
            continue
        other = row + int(candidates[0])
        if other != row:
            table[[row, other]] = table[[other, row]]
        table[row] = table[row] * pow(int(table[row, column]), -1, PRIME) % PRIME
        touched = np.flatnonzero(table[:, column])
        touched = touched[touched != row]
        table[touched] = (table[touched] - table[touched, column][:, None] * table[row]) % PRIME
        pivots.append(column)
    return table, pivots


def _fraction(residue: int) -> tuple[int, int] | None:
    """Find a fraction with a small numerator and denominator that has this residue modulo the prime."""
    bound = isqrt(PRIME // 2)
    before, remainder, low_before, low = PRIME, residue, 0, 1
    while remainder > bound:
        quotient = before // remainder
        before, remainder, low_before, low = remainder, before - quotient * remainder, low, low_before - quotient * low
    if not low or abs(low) > bound:
        return None
    return (remainder, low) if low > 0 else (-remainder, -low)


# Values that the known facts do not tell apart.
#
# Two values are in one *class* when every known count counts both or neither: moving a record inside a class changes no
# known count. Classes are derived from geometry, never by enumerating the domain: each attribute is cut into *groups*
# of positions that all facts treat alike, and a *piece*, one group of each attribute, lies in one class.

_WORD = 62


@dataclass(frozen=True)
class FactRow:
    """One known count: the fact it comes from, and its value if stated."""

    fact: int
    count: int | None


@dataclass(frozen=True, eq=False)
class Classes:
    """A domain cut into the classes that some known facts distinguish."""

    domain: Domain
    groups: tuple[tuple[Subset, ...], ...]
    """For each attribute, the sets of positions that all facts treat alike."""
    labels: Integers
    """The class of each piece, in the shape of the groups."""
    incidence: Incidence
    """Which known count counts which class."""
    rows: tuple[FactRow, ...]

    @property
    def size(self) -> int:
        """The number of classes."""
        return self.incidence.columns

    def of(self, cell: Cell) -> int:
        """Return the class of a value."""
        return int(self.labels[tuple(group_of(p) for group_of, p in zip(self.group_of, cell, strict=True))])

    @cached_property
    def pieces(self) -> Integers:
        """The class of each piece, as a flat array."""
        return self.labels.reshape(-1)

    def along(self, axis: int) -> Integers:
        """Return the number of each piece's group along an attribute."""
        return projections(self.labels.shape, [axis])

    def piece(self, number: int) -> tuple[Subset, ...]:
        """Return the groups, one of each attribute, that make up a piece."""
        indices = np.unravel_index(number, self.labels.shape)
        return tuple(groups[int(index)] for groups, index in zip(self.groups, indices, strict=True))

    @cached_property
    def group_of(self) -> tuple[GroupOf, ...]:
        """For each attribute, what finds the group that contains a position."""
        return tuple(map(GroupOf, self.groups))


def classes_of(domain: Domain, known: Sequence[KnownFact]) -> Classes:
    """Cut a domain into classes; it must contain every attribute that the facts mention."""
    marginals = _marginals(domain, known)
    boxes = _boxes(domain, known)
    by_value = {name for names in marginals for name in names}
    words = -(-len(boxes) // _WORD)
    # Checked for the marginals alone first, because a cut at every value takes memory for every value.
    _check_pieces(prod(domain[name].size for name in by_value), words)
    cuts = [_Cut.make(domain, name, boxes, every_value=name in by_value) for name in domain]
    shape = tuple(len(cut.groups) for cut in cuts)
    _check_pieces(prod(shape), words)
    keys = projections(shape, [domain.axis(name) for name in domain if name in by_value]).reshape(-1, 1)
    masks = _masks(cuts, shape) if boxes else np.zeros((len(keys), 0), dtype=np.int64)
    keys = np.ascontiguousarray(np.concatenate([keys, masks], axis=1))
    # A class is a combination of boxes and of values that a marginal distinguishes.
    flat = keys.view([("", np.int64)] * keys.shape[1]).reshape(-1)
    _, first, labels = np.unique(flat, return_index=True, return_inverse=True)
    labels = labels.astype(np.int64).reshape(shape)
    rows: list[FactRow] = []
    pairs: list[tuple[Integers, Integers]] = []
    for names, (fact, counts) in marginals.items():
        cells = projections(shape, [domain.axis(name) for name in names])
        pairs.append((cells + len(rows), labels.reshape(-1)))
        total = prod(domain[name].size for name in names)
        rows += [FactRow(fact, None if counts is None else counts[cell]) for cell in range(total)]
    for number, (_, fact, count) in enumerate(boxes):
        members = np.flatnonzero(masks[first, number // _WORD] >> (number % _WORD) & 1)
        pairs.append((np.full(len(members), len(rows)), members))
        rows.append(FactRow(fact, count))
    incidence = Incidence.of(len(rows), len(first), pairs)
    return Classes(domain, tuple(cut.groups for cut in cuts), labels, incidence, tuple(rows))


def _check_pieces(pieces: int, words: int) -> None:
    if pieces * (words + 1) > KNOWN_PIECES:
        raise RefusalError(
            f"the known facts cut the domain into {pieces:,} pieces, too many to calibrate noise for.",
            hint="list fewer or coarser known counts; declare bins where an attribute has very many values.",
        )


def _marginals(domain: Domain, known: Sequence[KnownFact]) -> dict[tuple[str, ...], tuple[int, tuple[int, ...] | None]]:
    """Collect the known marginals, one for each set of attributes, with any stated counts in the domain's order."""
    marginals: dict[tuple[str, ...], tuple[int, tuple[int, ...] | None]] = {}
    for number, fact in enumerate(known):
        if isinstance(fact, KnownMarginal):
            names = tuple(name for name in domain if name in fact.attributes)
            table = fact.summed(domain, names)
            if names not in marginals or marginals[names][1] is None:
                counts = None if table is None else tuple(table.reshape(-1).tolist())
                marginals[names] = (marginals.get(names, (number,))[0], counts)
    return marginals


def _boxes(domain: Domain, known: Sequence[KnownFact]) -> list[tuple[Box, int, int | None]]:
    """Collect the known counts of boxes, each box once; a count of everybody only states the total."""
    boxes: dict[tuple[tuple[str, Subset], ...], tuple[Box, int, int | None]] = {}
    for number, fact in enumerate(known):
        if not isinstance(fact, KnownMarginal):
            for counted in fact.counted(domain):
                key = tuple(sorted(counted.box.items(), key=lambda item: item[0]))
                earlier = boxes.get(key)
                if key and (earlier is None or earlier[2] is None):
                    boxes[key] = (counted.box, number if earlier is None else earlier[1], counted.count)
    return list(boxes.values())


@dataclass(frozen=True)
class _Cut:
    """The groups of one attribute and, as a bit mask in words, the boxes that do not exclude each group."""

    groups: tuple[Subset, ...]
    masks: Integers

    @classmethod
    def make(
        cls, domain: Domain, name: str, boxes: Sequence[tuple[Box, int, int | None]], *, every_value: bool
    ) -> _Cut:
        size = domain[name].size
        free = sum(1 << number for number, (box, _, _) in enumerate(boxes) if name not in box)
        turns: dict[int, int] = {}
        for number, (box, _, _) in enumerate(boxes):
            for run in box[name].runs if name in box else ():
                for end in run:
                    turns[end] = turns.get(end, 0) ^ (1 << number)
        starts = sorted({0, *(end for end in turns if end < size)})
        masks: list[int] = []
        current = free
        for start in starts:
            current ^= turns.get(start, 0)
            masks.append(current)
        stops = [*starts[1:], size]
        if every_value:
            groups = tuple(Subset.span(p, p + 1) for p in range(size))
            spread = [mask for mask, start, stop in zip(masks, starts, stops, strict=True) for _ in range(start, stop)]
            return cls(groups, _words(spread, len(boxes)))
        by_mask: dict[int, list[tuple[int, int]]] = {}
        for mask, start, stop in zip(masks, starts, stops, strict=True):
            by_mask.setdefault(mask, []).append((start, stop))
        return cls(tuple(map(Subset.union, by_mask.values())), _words([*by_mask], len(boxes)))


def _words(masks: Sequence[int], bits: int) -> Integers:
    words = -(-bits // _WORD)
    part = (1 << _WORD) - 1
    split = [[mask >> (_WORD * word) & part for word in range(words)] for mask in masks]
    return np.array(split, dtype=np.int64).reshape(len(masks), words)


def _masks(cuts: Sequence[_Cut], shape: tuple[int, ...]) -> Integers:
    """Return the boxes that contain each piece, as a bit mask."""
    words = cuts[0].masks.shape[1]
    total = np.full((*shape, words), (1 << _WORD) - 1, dtype=np.int64)
    for axis, cut in enumerate(cuts):
        total &= cut.masks.reshape([*(-1 if a == axis else 1 for a in range(len(shape))), words])
    return total.reshape(-1, words)


def projections(shape: tuple[int, ...], axes: Iterable[int]) -> Integers:
    """Number the projection of each piece onto some attributes, where pieces have a shape."""
    return cell_labels(shape, {axis: np.arange(shape[axis]) for axis in axes}).reshape(-1)


# Secret pairs that lead from one class to another.
#
# If there are none, a single record can move along any secret pair without changing a known count, and the known facts
# make no difference. Edges are listed where they are few. On large domains geometry decides: in a homogeneous
# graph an edge along one attribute exists whatever the other attributes are, so an edge between two groups of an
# attribute crosses classes wherever a fact tells the two groups apart, and some fact does.

_MOST_PAIRS = 100_000


@dataclass(frozen=True)
class Arc:
    """A directed edge and the classes of its two ends."""

    x: Cell
    y: Cell
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class Crossing:
    """The edges of a secret graph as seen from the classes."""

    classes: Classes
    graph: SecretGraph
    listed: tuple[Arc, ...] | None
    """Every edge in both directions, where they are few."""
    along: tuple[str, ...]
    """The attributes along which some edge crosses, or may do so where edges are neither listed nor homogeneous."""
    samples: tuple[Arc, ...]
    """Edges that cross: all of them if edges are listed, otherwise one for each attribute along which one was found."""

    @property
    def exists(self) -> bool:
        """Whether any edge leads from one class to another, or may do so."""
        return bool(self.along)

    def unchanged(self, names: tuple[str, ...]) -> bool:
        """Say whether no crossing edge changes these attributes."""
        if self.listed is not None:
            axes = [self.classes.domain.axis(name) for name in names]
            return all(arc.x[axis] == arc.y[axis] for arc in self.samples for axis in axes)
        return self.graph.homogeneous and self.graph.one_at_a_time and not set(names) & set(self.along)


def crossing(graph: SecretGraph, classes: Classes) -> Crossing:
    """Classify the edges of a graph on the domain of the classes."""
    size = classes.domain.size
    few = graph.enumerated is not None or size * (size - 1) // 2 <= _MOST_PAIRS
    if few:
        edges = [(x, y, classes.of(x), classes.of(y)) for x, y in graph.edges()]
        listed = tuple(Arc(*arc) for x, y, a, b in edges for arc in ((x, y, a, b), (y, x, b, a)))
        across = tuple(arc for arc in listed if arc.source != arc.target)
        moved = {axis for arc in across for axis in range(len(arc.x)) if arc.x[axis] != arc.y[axis]}
        along = tuple(name for axis, name in enumerate(classes.domain.names) if axis in moved)
        return Crossing(classes, graph, listed, along, across)
    samples = dict(_across(graph, classes))
    # Where the other attributes decide which edges there are, what was lifted may be none.
    sure = [arc for arc in samples.values() if graph.homogeneous or graph.adjacent(arc.x, arc.y)]
    both = [a for arc in sure for a in (arc, Arc(arc.y, arc.x, arc.target, arc.source))]
    return Crossing(classes, graph, None, tuple(samples), tuple(both))


def _across(graph: SecretGraph, classes: Classes) -> Iterator[tuple[str, Arc]]:
    for axis, name in enumerate(classes.domain.names):
        if len(classes.groups[axis]) > 1 and graph.changes(name):
            for group in classes.groups[axis]:
                pair = graph.joins(name, group, group.complement(classes.domain[name].size))
                if pair is not None:
                    yield name, _lifted(classes, axis, pair)
                    break


def _lifted(classes: Classes, axis: int, pair: tuple[int, int]) -> Arc:
    """Choose the other attributes such that a fact distinguishes the two positions."""
    first, second = map(classes.group_of[axis], pair)
    one, other = (np.moveaxis(classes.labels, axis, 0)[number] for number in (first, second))
    indices = [int(number) for number in np.argwhere(one != other)[0]]
    others = classes.groups[:axis] + classes.groups[axis + 1 :]
    rest = [groups[number].first for groups, number in zip(others, indices, strict=True)]
    x, y = ((*rest[:axis], position, *rest[axis:]) for position in pair)
    return Arc(x, y, int(one[tuple(indices)]), int(other[tuple(indices)]))


# Which classes secret pairs join; under ``secret-moves`` records move between these only.


def joined_classes(graph: SecretGraph, classes: Classes) -> ClassPairs:
    """Find the pairs of classes that a graph joins; it must be on the domain of the classes.

    ``ends`` is about values of that domain: where records have further attributes, a class has more.
    """
    return graph.class_pairs(Pieces(classes.groups, classes.labels, classes.size))


# What is left of the classes where counts are stated.


@dataclass(frozen=True, eq=False)
class FactModel:
    """The classes that known facts tell apart, the edges between them, and the counts that are still possible."""

    policy: Assumptions
    classes: Classes
    crossing: Crossing
    live: npt.NDArray[np.bool_]
    """The classes that the stated counts allow to hold a record."""
    counts: Integers
    """The number of records of each class; -1 where it does not follow from the stated counts."""

    @property
    def records(self) -> int | None:
        """The number of records, if it is stated or follows from the facts."""
        return self.policy.records

    @cached_property
    def incidence(self) -> Incidence:
        """The known counts, restricted to the live classes."""
        return self.classes.incidence.without(~self.live)

    @cached_property
    def live_classes(self) -> Integers:
        """The numbers of the live classes."""
        return np.flatnonzero(self.live)

    @property
    def free(self) -> bool:
        """Whether no count is stated, so that any number of records may be in any class."""
        return all(row.count is None for row in self.classes.rows)

    @property
    def decided(self) -> bool:
        """Whether it is certain which tables are possible: no count is stated, or every class's count follows."""
        return self.free or bool((self.counts >= 0).all())

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Edges between live classes: all of them if edges are listed, otherwise samples."""
        return tuple(arc for arc in self.crossing.samples if self.live[arc.source] and self.live[arc.target])

    @cached_property
    def inner(self) -> tuple[Arc, ...] | None:
        """All edges inside live classes; None if edges are not listed."""
        if self.crossing.listed is None:
            return None
        return tuple(arc for arc in self.crossing.listed if arc.source == arc.target and self.live[arc.source])

    @cached_property
    def arc_ends(self) -> tuple[Integers, Integers]:
        """The cells at which the edges between live classes start and end, as two arrays."""
        return ends_of(self.arcs)

    @cached_property
    def inner_ends(self) -> tuple[Integers, Integers]:
        """The cells at which the edges inside live classes start and end, as two arrays."""
        return ends_of(self.inner or ())

    @property
    def crossed(self) -> bool:
        """Whether a secret pair may lead from class to class."""
        if self.records is not None and self.records < 2:
            return False
        return bool(self.arcs) if self.crossing.listed is not None else self.crossing.exists


def ends_of(arcs: Sequence[Arc]) -> tuple[Integers, Integers]:
    """Return the cells at which edges start and end, as two arrays with one row for each edge."""
    return np.array([arc.x for arc in arcs], dtype=np.int64), np.array([arc.y for arc in arcs], dtype=np.int64)


@lru_cache(maxsize=64)
def fact_model(policy: Assumptions, names: tuple[str, ...]) -> FactModel:
    """Work out what a policy's known facts mean for a query of some attributes."""
    domain = relevant_domain(policy, names)
    with task("Working out what the known facts leave open"):
        classes = classes_of(domain, policy.known)
        counts = _class_counts(classes.incidence, classes.rows, policy.records)
        if policy.records == 0:
            counts[:] = 0
        edges = crossing(policy.graph.project(domain.names), classes)
        model = FactModel(policy, classes, edges, counts != 0, counts)
        _ = model.incidence.nullity
    return model


def _class_counts(incidence: Incidence, rows: Sequence[FactRow], records: int | None) -> Integers:
    """Derive the number of records of each class from the stated counts; -1 where it does not follow."""
    counts = np.full(incidence.columns, -1, dtype=np.int64)
    stated = [(number + 1, row.count) for number, row in enumerate(rows) if row.count is not None]
    stated += [] if records is None else [(0, records)]
    if not stated:
        return counts
    matrix = incidence.matrix[[number for number, _ in stated]]
    totals = np.array([count for _, count in stated], dtype=np.int64)
    while True:
        unknown = counts < 0
        left = matrix @ unknown.astype(np.int64)
        rest = totals - matrix @ np.where(unknown, 0, counts)
        if (rest < 0).any() or (rest[left == 0] != 0).any():
            raise contradiction("no table satisfies all of them together")
        empty = (matrix[(rest == 0) & (left > 0)].sum(axis=0) > 0) & unknown
        single = np.flatnonzero(left == 1)
        if not empty.any() and not len(single):
            return counts
        counts[empty] = 0
        # In a row with one unknown class, the sum of the labels of its unknown classes is the label of that class.
        counts[matrix[single] @ np.where(unknown, np.arange(len(unknown)), 0)] = rest[single]


# How many steps apart two values are when facts are known (docs/proofs/odds.md).
#
# Without known facts the odds between two values change by at most e^epsilon once for every step. With them a step may
# lead through a value that nobody can have, or force other records to move too, so steps are counted only where a proof
# says that they add up. Everywhere else, values that are not a secret pair are not protected from each other.


def steps(policy: Assumptions, x: Cell, y: Cell) -> Hops:
    """Count the steps between two values, as far as the promise is proved for them; ``math.inf`` if it is not."""
    hops = policy.graph.hops(x, y)
    model = _facts_alone(policy)
    if hops == 0 or model is None:
        return hops if hops <= 1 else inf
    axes = [policy.domain.axis(name) for name in model.classes.domain.names]
    ends = [model.classes.of(tuple(cell[axis] for axis in axes)) for cell in (x, y)]
    if not model.live[ends].all():
        return inf
    return hops if hops == 1 or _add_up(policy, model, ends) or _beside_the_facts(policy, model, x, y) else inf


def steps_add_up(policy: Assumptions) -> bool:
    """Say whether steps may be counted between all values that anybody can have."""
    if policy.graph.complete:
        # No two values are several steps apart.
        return True
    model = _facts_alone(policy)
    return model is not None and _add_up(policy, model, [])


def _add_up(policy: Assumptions, model: FactModel, ends: list[int]) -> bool:
    """Say whether steps add up between two non-empty classes or, if none are given, between any two."""
    if not model.crossing.exists:
        # A chain of secret pairs stays in one class: if one of its values is possible, all are.
        return True
    held = model.counts > 0
    held[ends] = True
    return bool(held.all()) and policy.compensation == "anywhere" and model.incidence.nullity == 0


@lru_cache(maxsize=64)
def _facts_alone(policy: Assumptions) -> FactModel | None:
    try:
        return fact_model(policy, ())
    except RefusalError:
        return None


def _beside_the_facts(policy: Assumptions, model: FactModel, x: Cell, y: Cell) -> bool:
    """Say whether a shortest chain changes no known count, since none depends on the attributes that differ."""
    if not policy.graph.homogeneous:
        return False
    names = policy.domain.names
    counted = tuple(names[axis] for axis in differing(x, y) if names[axis] in model.classes.domain.names)
    return not counted or model.crossing.unchanged(counted)
