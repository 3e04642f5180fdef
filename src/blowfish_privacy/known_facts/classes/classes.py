"""Values that the known facts do not tell apart.

Two values are in one *class* when every known count counts both or neither: moving a record inside a class changes no
known count. Classes are derived from geometry, never by enumerating the domain: each attribute is cut into *groups* of
positions that all facts treat alike, and a *piece*, one group of each attribute, lies in one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from blowfish_privacy.domain import Box, Cell, Domain, Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.class_pairs import GroupOf, Pieces
from blowfish_privacy.known_facts.classes.rank import Incidence
from blowfish_privacy.known_facts.facts import KnownFact, KnownMarginal
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.limits import KNOWN_PIECES

_WORD = 62


@dataclass(frozen=True)
class Row:
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
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """The number of classes."""
        return self.incidence.columns

    @property
    def as_pieces(self) -> Pieces:
        """The pieces and their classes, in the form that secret graphs work with."""
        return Pieces(self.groups, self.labels, self.size)

    def of(self, cell: Cell) -> int:
        """Return the class of a value."""
        return int(self.labels[tuple(lookup(p) for lookup, p in zip(self._lookups, cell, strict=True))])

    def group_of(self, axis: int, position: int) -> int:
        """Return the number of the group that contains a position of an attribute."""
        return self._lookups[axis](position)

    @cached_property
    def pieces(self) -> Integers:
        """The class of each piece, as a flat array."""
        return self.labels.reshape(-1)

    def along(self, axis: int) -> Integers:
        """Return the number of each piece's group along an attribute."""
        shape = [1] * self.labels.ndim
        shape[axis] = -1
        numbers = np.arange(self.labels.shape[axis]).reshape(shape)
        return np.broadcast_to(numbers, self.labels.shape).reshape(-1)

    def piece(self, number: int) -> tuple[Subset, ...]:
        """Return the groups, one of each attribute, that make up a piece."""
        indices = np.unravel_index(number, self.labels.shape)
        return tuple(groups[int(index)] for groups, index in zip(self.groups, indices, strict=True))

    @cached_property
    def _lookups(self) -> tuple[GroupOf, ...]:
        return tuple(GroupOf(groups) for groups in self.groups)


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
    labels, first = _labels(cuts, shape, [name in by_value for name in domain])
    rows: list[Row] = []
    pairs: list[tuple[Integers, Integers]] = []
    for names, (fact, counts) in marginals.items():
        cells = _flat(domain, names, shape)
        pairs.append((cells + len(rows), labels.reshape(-1)))
        total = prod(domain[name].size for name in names)
        rows += [Row(fact, None if counts is None else counts[cell]) for cell in range(total)]
    masks = _masks(cuts, shape)[first] if boxes else np.zeros((len(first), 0), dtype=np.int64)
    for number, (_, fact, count) in enumerate(boxes):
        members = np.flatnonzero(masks[:, number // _WORD] >> (number % _WORD) & 1)
        pairs.append((np.full(len(members), len(rows)), members))
        rows.append(Row(fact, count))
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
            counts = fact.counts(domain)
            if counts is not None:
                shape = [domain[name].size for name in fact.attributes]
                order = [fact.attributes.index(name) for name in names]
                counts = tuple(np.array(counts, dtype=object).reshape(shape).transpose(order).reshape(-1).tolist())
            if names not in marginals or marginals[names][1] is None:
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
        alike: dict[int, list[tuple[int, int]]] = {}
        for mask, start, stop in zip(masks, starts, stops, strict=True):
            alike.setdefault(mask, []).append((start, stop))
        return cls(tuple(Subset.union(runs) for runs in alike.values()), _words(list(alike), len(boxes)))


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


def _labels(cuts: Sequence[_Cut], shape: tuple[int, ...], by_value: Sequence[bool]) -> tuple[Integers, Integers]:
    """Number the classes, one for each combination of boxes and of values that a marginal distinguishes."""
    pieces = np.arange(prod(shape)).reshape(shape)
    values = np.zeros(shape, dtype=np.int64)
    for axis, each_value in enumerate(by_value):
        if each_value:
            values = values * shape[axis] + np.arange(shape[axis]).reshape(
                [-1 if a == axis else 1 for a in range(len(shape))]
            )
    keys = values.reshape(-1, 1)
    if cuts[0].masks.shape[1]:
        keys = np.concatenate([keys, _masks(cuts, shape)], axis=1)
    flat = np.ascontiguousarray(keys).view([("", np.int64)] * keys.shape[1]).reshape(-1)
    _, first, labels = np.unique(flat, return_index=True, return_inverse=True)
    return labels.astype(np.int64).reshape(shape), pieces.reshape(-1)[first]


def _flat(domain: Domain, names: Sequence[str], shape: tuple[int, ...]) -> Integers:
    """Return the number of the marginal's cell that each piece lies in."""
    cells = np.zeros(shape, dtype=np.int64)
    for name in names:
        axis = domain.axis(name)
        cells = cells * shape[axis] + np.arange(shape[axis]).reshape(
            [-1 if a == axis else 1 for a in range(len(shape))]
        )
    return cells.reshape(-1)


def fact_names(known: Sequence[KnownFact]) -> Iterator[str]:
    """List the attributes that facts mention, with repetitions."""
    for fact in known:
        yield from fact.attributes
