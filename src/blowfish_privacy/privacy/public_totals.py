"""Totals of a query's cells that a policy makes public: the number of records, known facts, blocks of secrets.

A public total is a part of the cells and its exact count; totals of one origin are a partition of the cells. Stated
facts say their counts themselves. No secret pair leaves a block of the secret graph, so blocks may be counted exactly:
that their counts have sensitivity 0 under the policy is derived for each policy anew (docs/proofs/public_totals.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Box, Cell, Domain, Subset
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, Pieces, cell_labels
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.facts import KnownCount, KnownMarginal
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import stated_facts
from blowfish_privacy.privacy.sensitivity import once, sensitivity_of
from blowfish_privacy.queries.query import CountingForm
from blowfish_privacy.support.arrays import Integers

MOST_CELLS = 5_000_000
"""Of a query with more cells, the number of records is the only total that is used."""
MOST_BLOCKS = 50_000
"""Blocks beyond which a document does not list their counts."""
_MOST_LABELLED = 20_000
"""Up to this many values are asked one by one for the block that they are in."""


@dataclass(frozen=True, eq=False)
class Totals:
    """A partition of cells, and the exact number of records of each part."""

    labels: Integers
    """The part of each cell, in the order of the cells; parts are numbered from 0 without gaps."""
    counts: Integers

    @property
    def sizes(self) -> Integers:
        """The number of cells of each part."""
        return np.bincount(self.labels, minlength=len(self.counts))


def records_total(cells: int, records: int) -> Totals:
    """Make one part of all cells."""
    return Totals(np.zeros(cells, dtype=np.int64), np.array([records]))


def selected_totals(domain: Domain, box: Box, records: int) -> Totals:
    """Make one part of the cells that selected records may have; every other cell is empty."""
    sides = {name: subset for name, subset in box.items() if name in domain}
    if not sides or domain.size > MOST_CELLS:
        return records_total(domain.size, records)
    outside = ~_inside(domain, sides)
    labels = np.where(outside, np.cumsum(outside), 0)
    return Totals(labels, np.array([records, *[0] * int(outside.sum())]))


def stated_totals(policy: Policy, names: Sequence[str], records: int) -> Iterator[Totals]:
    """Go through the stated facts that say how many records some cells of a query's attributes hold together."""
    domain = policy.domain.project(names)
    if domain.size > MOST_CELLS:
        return
    for fact in stated_facts(policy):
        shared = [name for name in domain.names if name in fact.attributes]
        if isinstance(fact, KnownMarginal) and shared:
            # The marginal is summed down to the attributes that it shares with the query.
            labels = _product(domain, {name: np.arange(domain[name].size) for name in shared})
            yield Totals(labels, np.array(fact.summed(policy.domain, shared), dtype=np.int64).reshape(-1))
        if isinstance(fact, KnownCount) and fact.count is not None:
            box = fact.box(policy.domain)
            if box and set(box) <= set(domain.names):
                yield Totals(_inside(domain, box).astype(np.int64), np.array([records - fact.count, fact.count]))


def _inside(domain: Domain, box: Box) -> npt.NDArray[np.bool_]:
    """Say of each cell whether it lies in a box."""
    sides = {name: np.isin(np.arange(domain[name].size), [*subset]).astype(np.int64) for name, subset in box.items()}
    return np.all([_product(domain, {name: inside}) for name, inside in sides.items()], axis=0)


def blocks(policy: Policy, names: Sequence[str]) -> Integers | None:
    """Return the block of each cell of some attributes, where their counts are public and say more than the total.

    None if they are not: there is one block, every cell is one, the number of records is secret, or no proof is found
    that what moves together never changes the count of a block.
    """
    return once(_blocks, policy, tuple(names))


def _blocks(policy: Policy, names: tuple[str, ...]) -> Integers | None:
    domain = policy.domain.project(names)
    graph = policy.graph.project(names)
    if policy.size == "unknown" or domain.size > MOST_CELLS or graph.connected:
        return None
    labels = _components(graph)
    count = int(labels.max()) + 1
    if not 1 < count < domain.size or count > MOST_BLOCKS:
        return None
    try:
        return None if sensitivity_of(BlockForm(domain, labels), policy).value else labels
    except BlowfishError:
        # Known facts may cut the domain into too many pieces to find out: then nothing is published.
        return None


def _components(graph: SecretGraph) -> Integers:
    """Number blocks that no edge leaves, in the order of their first cells.

    An edge is an edge or a loop along each attribute, so products of the attributes' blocks will do for any graph.
    """
    domain = graph.domain
    if not graph.homogeneous and domain.size <= _MOST_LABELLED:
        return _numbered(graph, domain)
    return _in_order(_product(domain, {name: _along(graph.project([name])) for name in domain}))


def _along(graph: SecretGraph) -> Integers:
    """Number the blocks along one attribute."""
    if graph.domain.size <= _MOST_LABELLED:
        return _numbered(graph, graph.domain)
    (name,) = graph.domain.names
    starts = np.concatenate([np.arange(run.start, run.stop, run.width) for run in graph.stretches(name)])
    return np.searchsorted(starts, np.arange(graph.domain.size), side="right") - 1


def _numbered(graph: SecretGraph, domain: Domain) -> Integers:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(graph.component(cell), len(numbers)) for cell in domain.cells()])


def _product(domain: Domain, along: Mapping[str, Integers]) -> Integers:
    """Label each cell by the labels of its positions along some attributes."""
    return cell_labels(domain.shape, {domain.axis(name): labels for name, labels in along.items()}).reshape(-1)


def _in_order(labels: Integers) -> Integers:
    """Number labels from 0 in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


@dataclass(frozen=True, eq=False)
class BlockForm(CountingForm):
    """How many records each part of the cells holds."""

    domain: Domain
    labels: Integers

    @property
    def outputs(self) -> int:
        return int(self.labels.max()) + 1

    def column(self, x: Cell) -> Sequence[int]:
        label = self.labels[self.domain.flat(x)]
        return [int(part == label) for part in range(self.outputs)]

    def change(self, x: Cell, y: Cell) -> Fraction:
        return Fraction(0 if self.labels[self.domain.flat(x)] == self.labels[self.domain.flat(y)] else 2)

    def worst_edge(self, graph: SecretGraph) -> tuple[Edge | None, bool]:
        size = self.domain.size
        if graph.enumerated is not None or size * (size - 1) // 2 <= MOST_LISTED:
            listed = graph.edges() if graph.enumerated is None else graph.enumerated
            return next((edge for edge in listed if self.change(*edge)), None), True
        joined = graph.class_pairs(self._pieces()).keys
        if not len(joined):
            return None, True
        labels = divmod(int(joined[0]), self.outputs)
        first, second = (self.domain.unflat(int(np.argmax(self.labels == label))) for label in labels)
        return (first, second), False

    def _pieces(self) -> Pieces:
        """Put positions together that all cells of the other attributes label alike."""
        table = self.labels.reshape(self.domain.shape)
        groups: list[list[Subset]] = []
        for axis in range(table.ndim):
            rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
            _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            group = inverse.reshape(-1)
            ends = np.cumsum(np.bincount(group, minlength=len(first)))[:-1]
            members = np.split(np.argsort(group, kind="stable"), ends)
            groups.append([Subset.of(positions.tolist()) for positions in members])
            table = np.take(table, first, axis=axis)
        return Pieces(groups, table, self.outputs)

    def heaviest(self) -> Cell:
        return self.domain.unflat(0)

    def answer(self, counts: npt.NDArray[np.int64]) -> Integers:
        totals = np.zeros(self.outputs, dtype=np.int64)
        np.add.at(totals, self.labels, counts.reshape(-1))
        return totals
