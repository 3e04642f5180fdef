"""What a partition looks like to a query that looks at a level of a hierarchy instead of its leaves.

Two values of a level are joined if some block has leaves below both. The values that a block meets are a clique, so
these are blocks again wherever no two cliques overlap, as when the blocks are subtrees; elsewhere the pairs are listed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TypeAlias

from blowfish_privacy.domain import Domain, Positions, Subset
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.blocks import Blocks, ListedBlocks
from blowfish_privacy.graphs.graph import MOST_PAIRS, Edge

Cliques: TypeAlias = Collection[frozenset[int]]


def cliques_on(cut: Blocks, view: Positions | None) -> Cliques:
    """Return the sets of values of a level that blocks meet, without those that others contain."""
    blocks = (cut.block(label) for label in range(cut.count))
    met = {frozenset(block) if view is None else frozenset(view[[*block]].tolist()) for block in blocks}
    largest: list[frozenset[int]] = []
    containing: dict[int, list[frozenset[int]]] = {}
    for clique in sorted(met, key=lambda clique: (-len(clique), sorted(clique))):
        if not any(clique <= larger for larger in containing.get(min(clique), ())):
            largest.append(clique)
            for value in clique:
                containing.setdefault(value, []).append(clique)
    return largest


def as_blocks(cliques: Cliques, size: int) -> Blocks | None:
    """Return cliques that together hold each of so many values as blocks; None if two of them overlap."""
    if sum(map(len, cliques)) > size:
        return None
    return ListedBlocks(tuple(sorted(map(Subset.of, cliques), key=lambda block: block.first)))


def pairs_on(domain: Domain, along: Sequence[Cliques]) -> frozenset[Edge]:
    """List the pairs of cells that share a clique along every attribute."""
    size = domain.size
    if size * (size - 1) // 2 > MOST_PAIRS:
        raise PolicyError(
            "the blocks of the partition lie across the levels of a hierarchy, in more values than can be compared.",
            hint="ask for the lowest level, and add up; or choose blocks that are subtrees.",
        )
    joined = [{(a, b) for clique in cliques for a in clique for b in clique} for cliques in along]
    pairs = combinations(domain.cells(), 2)
    return frozenset(
        (x, y) for x, y in pairs if all(pair in own for pair, own in zip(zip(x, y, strict=True), joined, strict=True))
    )
