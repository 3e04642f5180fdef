"""The ordered hierarchical mechanism of the 2014 paper, with a sound budget for every subtree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily, ordered_form
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import CumulativeForm
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import rounded

# Blocks of an ordered attribute, each with a tree of counts inside.


@dataclass(frozen=True)
class Tree:
    """``size`` positions in blocks of ``block``; inside each, levels of nodes whose widths are powers of ``fan``.

    The root of a block is not counted: it is the difference of two prefixes.
    """

    size: int
    block: int
    fan: int

    @cached_property
    def height(self) -> int:
        """The number of levels below a block's root; 0 for blocks of one position."""
        height, width = 0, 1
        while width < self.block:
            width *= self.fan
            height += 1
        return height

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.block)

    @property
    def prefixes(self) -> int:
        """The number of noisy prefixes; the last is the public total."""
        return self.blocks - 1

    def width(self, level: int) -> int:
        """Return how many positions a node of a level covers."""
        return self.fan ** (self.height - level)

    def nodes(self, level: int) -> int:
        """Count the nodes of a level in all blocks; those of the last block may be empty."""
        return self.blocks * -(-self.block // self.width(level))

    def answer(self, counts: Integers) -> tuple[Integers, list[Integers]]:
        """Return the exact counts of the prefixes and of the nodes of each level."""
        padded = np.zeros(self.blocks * self.block, dtype=np.int64)
        padded[: self.size] = counts
        blocks = padded.reshape(self.blocks, self.block)
        nodes: list[Integers] = []
        for level in range(1, self.height + 1):
            starts = np.arange(0, self.block, self.width(level))
            nodes.append(np.add.reduceat(blocks, starts, axis=1).reshape(-1))
        return np.cumsum(blocks.sum(axis=1))[:-1], nodes

    def uses(self) -> Integers:
        """Return the positions (first, one past the last) that use each prefix, and each node, level by level.

        The estimate at a position uses the prefix of the block that holds the next position, and there the nodes left
        of that next position under each of its ancestors. The estimate at the last position is the public total.
        """
        ends = np.arange(self.block, self.block * self.blocks, self.block)
        parts, starts = [np.stack([ends, ends + self.block])], np.append(0, ends)[:, None]
        for level in range(1, self.height + 1):
            width = self.width(level)
            parent = self.block if level == 1 else width * self.fan
            offsets = np.arange(0, self.block, width)
            after = starts + np.minimum(offsets + width, self.block)
            stops = starts + np.minimum(offsets - offsets % parent + parent, self.block)
            parts.append(np.stack([after.reshape(-1), stops.reshape(-1)]))
        return np.minimum(np.concatenate(parts, axis=1) - 1, self.size - 1)

    def cumulative(self, rows: Integers) -> Integers:
        """Combine prefixes and nodes into the number of records at or below each position but the last."""
        first, last = self.uses()
        changes = np.zeros(self.size, dtype=np.int64)
        np.add.at(changes, first, rows)
        np.subtract.at(changes, last, rows)
        return np.cumsum(changes)

    def change(self, x: int, y: int) -> tuple[int, int]:
        """Count the block ends between two positions, and the nodes whose count a move between them changes."""
        crossed = abs(x // self.block - y // self.block)
        widths = [self.width(level) for level in range(1, self.height + 1)]
        differing = sum(crossed > 0 or x % self.block // width != y % self.block // width for width in widths)
        return crossed, 2 * differing

    def most_crossed(self, theta: int) -> int:
        """Return the most block ends that a move of at most theta crosses."""
        (x,), (y,) = self.worst_move(theta)
        return y // self.block - x // self.block

    def worst_move(self, theta: int) -> tuple[tuple[int], tuple[int]]:
        """Return a move of at most theta that crosses most block ends and changes every level."""
        theta = min(theta, self.size - 1)
        if self.blocks == 1:
            # Next to the border between the first two nodes of the top level all levels change.
            border = self.width(1) if self.height else 1
            return ((border - 1,), (border,)) if theta and border < self.size else ((0,), (0,))
        starts = np.arange(min(self.block, self.size - theta))
        best = int(starts[np.argmax((starts + theta) // self.block - starts // self.block)])
        return (best,), (best + theta,)


_FANS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32)
_SHARES = 1000
_MANY = 20_000


@dataclass(frozen=True, eq=False)
class OrderedHierarchical(OrderedFamily):
    """Noisy prefixes at block ends, and a tree of noisy counts inside every block [he2014, section 7.2, corrected].

    Privacy: (epsilon, P)-Blowfish with epsilon = (block ends crossed) / prefix scale + 2 h / node scale. The printed
        mechanism gives the first block's tree a budget of its own and overspends (docs/errata.md).
    Sensitivity: a move of theta crosses at most ceil(theta / B) block ends and changes two nodes on each of h levels.
    Error: counted from the nodes: a node used by l of K cut points adds its variance times l (K - l) / (K (K - 1) / 2).
    Cost: time and memory linear in the number of values times h.
    Numerics: whole numbers with exact integer noise; sums of them are exact.
    Proof: docs/proofs/ordered_hierarchical.md
    """

    form: CumulativeForm
    tree: Tree
    prefix_scale: Fraction
    node_scale: Fraction

    name = "ordered-hierarchical"
    preferred_for = ()
    proof = "docs/proofs/ordered_hierarchical.md"

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(self.prefix_scale, self.node_scale)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form = ordered_form(query, policy)
        neighbours = steps(policy, form.domain.names)
        theta = neighbours.graph.largest_move(form.domain.names[0])
        if theta == 0:
            return cls(form, Tree(form.domain.size, 1, 2), Fraction(0), Fraction(0))
        amount = epsilon / neighbours.rows
        plans = [_split(form, tree, theta, amount) for tree in _trees(form.domain.size, theta)]
        return cls(form, *min(plans, key=lambda plan: plan[0])[1:])

    def certify(self, policy: Policy) -> Certificate:
        neighbours = steps(policy, self.form.domain.names)
        theta = neighbours.graph.largest_move(self.form.domain.names[0])
        crossed, levels = self.tree.most_crossed(theta), self.tree.height if theta else 0
        epsilon = self._lost(crossed, 2 * levels)
        worst = self.tree.worst_move(theta)
        attained = not theta or (
            not neighbours.forced and neighbours.graph.adjacent(*worst) and self.loss(*worst) == epsilon
        )
        sensitivity = replace(sensitivity_of(self.form, policy), exact=attained)
        scales = tuple(scale for scale in (self.prefix_scale, self.node_scale) if scale)
        loss = loss_seen(policy, self.form.domain.names, neighbours.rows * epsilon)
        return self.certified(policy, loss, sensitivity, *scales)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self._lost(*self.tree.change(x[0], y[0]))

    def _lost(self, crossed: int, changed: int) -> Fraction:
        return LAPLACE_ROWS.lost(crossed, self.prefix_scale) + LAPLACE_ROWS.lost(changed, self.node_scale)

    @property
    def rows(self) -> int:
        return self.tree.prefixes + sum(self.tree.nodes(level) for level in range(1, self.tree.height + 1))

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        if int(counts.sum()) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")
        prefixes, nodes = self.tree.answer(counts)
        noisy = LAPLACE_ROWS.on(prefixes, self.prefix_scale, source)
        return np.concatenate([noisy, *(LAPLACE_ROWS.on(level, self.node_scale, source) for level in nodes)])

    def estimate(self, noisy: Integers, records: int | None) -> Floats:
        sums = self.tree.cumulative(noisy).astype(np.float64)
        sums[-1] = records or 0
        return sums

    @property
    def _variances(self) -> tuple[float, float]:
        return LAPLACE_ROWS.variance(self.prefix_scale), LAPLACE_ROWS.variance(self.node_scale)

    @property
    def _uses(self) -> list[Integers]:
        """The positions that use each prefix, and those that use each node."""
        return np.split(self.tree.uses(), [self.tree.prefixes], axis=1)

    def moments(self) -> tuple[float, float, float]:
        trace = together = 0.0
        for (first, last), spread in zip(self._uses, self._variances, strict=True):
            uses = last - first
            trace += spread * float(uses.sum())
            together += spread * float((uses.astype(np.float64) ** 2).sum())
        return trace, together, 0.0

    def covariance(self) -> Floats:
        spread = np.zeros((self.size, self.size))
        for uses, noise in zip(self._uses, self._variances, strict=True):
            for first, last in uses.T.tolist():
                spread[first:last, first:last] += noise
        return spread

    def words(self) -> str:
        block, prefix, node = f"{self.tree.block:,}", rounded(self.prefix_scale), rounded(self.node_scale)
        parts = [f"Counts up to the end of every block of {block} values get noise of scale {prefix}"]
        if self.tree.height:
            parts.append(f"counts inside each block, in a tree of fan-out {self.tree.fan}, noise of scale {node}")
        return f"{'; '.join(parts)}. Block size and fan-out are those with the smallest error of a random range."

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "block": self.tree.block,
            "fan": self.tree.fan,
            "prefixes": LAPLACE_ROWS.to_document(self.prefix_scale),
            "nodes": LAPLACE_ROWS.to_document(self.node_scale),
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form = ordered_form(query, policy)
        scales = (LAPLACE_ROWS.from_document(written[part]) for part in ("prefixes", "nodes"))
        block, fan = written["block"], written["fan"]
        if type(block) is not int or type(fan) is not int or not 1 <= block <= form.domain.size or fan < 2:
            raise SpecError("the document is damaged: its block size or fan-out is not possible.")
        return cls(form, Tree(form.domain.size, block, fan), *scales)


def _trees(size: int, theta: int) -> list[Tree]:
    """List block sizes to try; blocks of 1 make the ordered mechanism, one block a plain tree."""
    blocks = {1, size, min(theta, size)}
    fans = _FANS if size <= _MANY else (4, 16)
    for fan in fans:
        width = fan
        while width < size:
            blocks |= {width, min(size, 2 * width)}
            width *= fan
    return [Tree(size, block, fan) for block in sorted(blocks) for fan in fans if fan == fans[0] or fan <= block]


def _split(form: CumulativeForm, tree: Tree, theta: int, epsilon: Fraction) -> tuple[float, Tree, Fraction, Fraction]:
    """Split epsilon so that the error, prefix part / share^2 + node part / (1 - share)^2, is smallest."""
    crossed, levels = tree.most_crossed(theta), tree.height
    one, none = Fraction(1), Fraction(0)
    unit = [OrderedHierarchical(form, tree, one, none), OrderedHierarchical(form, tree, none, one)]
    costs = [part.expected_error().mse * weight**2 for part, weight in zip(unit, (crossed, 2 * levels), strict=True)]
    roots = [cost ** (1 / 3) for cost in costs]
    share = 1 if not levels else 0 if not crossed else min(max(roots[0] / sum(roots), 0.001), 0.999)
    prefix = Fraction(round(share * _SHARES), _SHARES)
    scales = (LAPLACE_ROWS.lost(crossed, prefix * epsilon), LAPLACE_ROWS.lost(2 * levels, (1 - prefix) * epsilon))
    return OrderedHierarchical(form, tree, *scales).expected_error().mse, tree, *scales
