"""Which classes a secret pair joins.

Under ``secret-moves`` every record moves along a secret pair, so the classes it leaves and enters are joined. Found
from the geometry of the pieces, never by going through the domain: cliques (full domain, partitions) by the classes
each block meets, Cartesian products attribute by attribute, distances by rectangles, listed pairs one by one. For any
other graph on a large domain all classes are taken to be joined: more arcs only allow more, so bounds stay sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.known_facts.blocks import Meetings, meetings, separate
from blowfish_privacy.known_facts.classes import Classes, GroupOf
from blowfish_privacy.known_facts.rectangles import near
from blowfish_privacy.policies import SecretGraph
from blowfish_privacy.policies.distance_threshold import ThresholdGraph
from blowfish_privacy.policies.explicit import ExplicitEdges
from blowfish_privacy.policies.full_domain import FullDomainGraph
from blowfish_privacy.policies.graph import Edge
from blowfish_privacy.policies.partition import PartitionGraph
from blowfish_privacy.policies.per_attribute import CartesianGraph

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_MOST_ARCS = 1_000_000
_MOST_WORK = 300_000_000
_MOST_LISTED = 20_000
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Arcs:
    """The pairs of classes that secret pairs join."""

    pairs: tuple[tuple[int, int], ...]
    """In order, each with the smaller class first."""
    exact: bool
    """Whether each of these pairs is joined; every joined pair is here in any case."""
    ends: tuple[bool, ...]
    """For each class, whether secret pairs that leave it touch at least two of its values (or nobody knows).

    Values are those of the classes' domain: where records have further attributes, a class has more.
    """


@dataclass(frozen=True, eq=False)
class _Found:
    """Joined classes as one number each (smaller class times the number of classes, plus the larger), in order."""

    keys: Ints
    ends: Bools
    exact: bool = True
    pieces: Bools | None = None
    """The pieces with values that are touched, where they were looked for."""


def class_arcs(graph: SecretGraph, classes: Classes) -> Arcs:
    """Find the pairs of classes that the graph, already on the classes' domain, joins."""
    found = _find(graph, classes.groups, classes.labels, classes.size)
    pairs = zip((found.keys // classes.size).tolist(), (found.keys % classes.size).tolist(), strict=True)
    return Arcs(tuple(pairs), found.exact, tuple(found.ends.tolist()))


def _find(graph: SecretGraph, groups: Sequence[Sequence[Subset]], labels: Ints, size: int) -> _Found:
    match graph:
        case FullDomainGraph():
            return _cliques([Meetings.everything(own) for own in groups], labels, size)
        case PartitionGraph():
            return _cliques([meetings(cut, own) for cut, own in zip(graph.cuts, groups, strict=True)], labels, size)
        case CartesianGraph():
            return _product(graph, groups, labels, size)
        case ThresholdGraph():
            found = near(graph, groups, labels, size)
            return _everything(size) if found is None else _Found(_keys(found.first, found.second, size), found.ends)
        case ExplicitEdges():
            return _listed(graph.pairs, groups, labels, size)
        case _:
            few = graph.domain.size * (graph.domain.size - 1) // 2 <= _MOST_LISTED
            return _listed(graph.edges(), groups, labels, size) if few else _everything(size)


def _everything(size: int) -> _Found:
    """Take all classes to be joined."""
    _check(size * (size - 1) // 2)
    return _Found(_keys(*np.triu_indices(size, 1), size), np.ones(size, dtype=bool), exact=False)


def _check(arcs: int) -> None:
    if arcs > _MOST_ARCS:
        raise RefusalError(
            "secret pairs join too many pairs of classes of values to follow how records move.",
            hint="know fewer counts, or choose compensation='anywhere'.",
        )


def _keys(first: Ints, second: Ints, size: int) -> Ints:
    return np.unique(np.minimum(first, second) * size + np.maximum(first, second))


def _listed(pairs: Iterable[Edge], groups: Sequence[Sequence[Subset]], labels: Ints, size: int) -> _Found:
    """Look at each secret pair."""
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2, labels.ndim)
    places = tuple(GroupOf(own).many(ends[:, :, axis]) for axis, own in enumerate(groups))
    labelled = labels[places]
    crossing = labelled[:, 0] != labelled[:, 1]
    touched = np.column_stack([labelled[crossing].reshape(-1), ends[crossing].reshape(-1, labels.ndim)])
    values = np.bincount(np.unique(touched, axis=0)[:, 0], minlength=size)
    return _Found(_keys(labelled[crossing, 0], labelled[crossing, 1], size), values >= 2)


def _cliques(along: Sequence[Meetings], labels: Ints, size: int) -> _Found:
    """Join the classes that meet one block; a block is one kind of block for each attribute."""
    if prod(len(own.kind) for own in along) > _MOST_WORK // 10:
        return _everything(size)
    kind = np.ravel_multi_index(np.ix_(*(own.kind for own in along)), tuple(own.kinds for own in along)).reshape(-1)
    places = np.ravel_multi_index(np.ix_(*(own.group for own in along)), labels.shape).reshape(-1)
    met = labels.reshape(-1)[places]
    pairs, entry = np.unique(kind * size + met, return_inverse=True)
    _, block = np.unique(pairs // size, return_inverse=True)
    several = np.bincount(block) > 1
    mixed = several[block[entry]]
    values = reduce(np.multiply.outer, [own.values for own in along]).reshape(-1)
    touched = np.zeros(labels.size, dtype=bool)
    touched[places[mixed]] = True
    inside = several[block]
    keys = _together(block[inside], (pairs % size)[inside], size)
    return _Found(keys, np.bincount(met, values * mixed, size) >= 2, pieces=touched.reshape(labels.shape))


def _together(block: Ints, member: Ints, size: int) -> Ints:
    """Pair the members of each block."""
    counts = np.bincount(block)
    _check(int((counts * (counts - 1) // 2).max(initial=0)))
    shape = (int(block.max(initial=0)) + 1, size)
    incidence = csr_array((np.ones(len(block), dtype=np.int64), (block, member)), shape=shape)
    joined = (incidence.T @ incidence).tocoo()
    upper = joined.row < joined.col
    keys = _keys(joined.row[upper].astype(np.int64), joined.col[upper].astype(np.int64), size)
    _check(len(keys))
    return keys


def _product(graph: CartesianGraph, groups: Sequence[Sequence[Subset]], labels: Ints, size: int) -> _Found:
    """Go along each attribute, all other groups being equal."""
    parts = [_along(own, groups, labels, axis, size) for axis, own in enumerate(graph.graphs)]
    touched = np.zeros(labels.shape, dtype=bool)
    for part in parts:
        touched |= True if part.pieces is None else part.pieces
    extents = [np.array([min(len(group), 2) for group in own], dtype=np.int64) for own in groups]
    values = (reduce(np.multiply.outer, extents) * touched).reshape(-1)
    ends = np.bincount(labels.reshape(-1), values, size) >= 2
    return _Found(np.unique(np.concatenate([part.keys for part in parts])), ends, all(part.exact for part in parts))


def _along(graph: SecretGraph, groups: Sequence[Sequence[Subset]], labels: Ints, axis: int, size: int) -> _Found:
    own = groups[axis]
    if isinstance(graph, FullDomainGraph | PartitionGraph):
        met = meetings(graph.cuts[0], own) if isinstance(graph, PartitionGraph) else Meetings.everything(own)
        return _cliques([met if a == axis else separate(others) for a, others in enumerate(groups)], labels, size)
    joined = _find(graph, [own], np.arange(len(own)), len(own))
    turned = np.moveaxis(labels, axis, 0).reshape(len(own), -1)
    if len(joined.keys) * turned.shape[1] > _MOST_WORK:
        return _everything(size)
    keys: list[Ints] = [np.zeros(0, dtype=np.int64)]
    touched = np.zeros(turned.shape, dtype=bool)
    first, second = joined.keys // len(own), joined.keys % len(own)
    for part in np.array_split(np.arange(len(first)), len(first) * turned.shape[1] // _CHUNK + 1):
        one, two = turned[first[part]], turned[second[part]]
        differ = one != two
        keys.append(_keys(one[differ], two[differ], size))
        for numbers in (first[part], second[part]):
            for number in np.unique(numbers):
                touched[number] |= differ[numbers == number].any(axis=0)
    rest = labels.shape[:axis] + labels.shape[axis + 1 :]
    pieces = np.moveaxis(touched.reshape(len(own), *rest), 0, axis)
    return _Found(np.unique(np.concatenate(keys)), np.ones(size, dtype=bool), joined.exact, pieces)
