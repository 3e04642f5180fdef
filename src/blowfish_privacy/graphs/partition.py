"""Partitions: every two values inside one block are a secret pair, and no others. The full domain is a single block.

Two values of a level are joined if some block has leaves below both. The values that a block meets are a clique, so
these are blocks again wherever no two cliques overlap, as when the blocks are subtrees; elsewhere the pairs are listed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf, prod
from typing import Annotated, Any, TypeAlias

import numpy as np
from annotated_types import Len

from blowfish_privacy.domain import (
    BLOCK_FORM,
    Cell,
    Domain,
    Hierarchy,
    Positions,
    Subset,
    choice_from_file,
    choice_to_file,
    quoted,
)
from blowfish_privacy.errors import PolicyError, brief, located
from blowfish_privacy.graphs import class_pairs as cutting
from blowfish_privacy.graphs.class_pairs import (
    Blocks,
    ClassPairs,
    EqualBlocks,
    ListedBlocks,
    Pieces,
    cliques,
    meetings,
    meetings_along,
    single_block,
)
from blowfish_privacy.graphs.graph import (
    MOST_PAIRS,
    Edge,
    FrozenMapping,
    Hops,
    Keyword,
    Rows,
    Rule,
    SecretGraph,
    Secrets,
    Steepest,
    Stretches,
    Words,
    among_all,
    check_declared,
    edge_along,
    inside_blocks,
    joined,
    two_different,
)
from blowfish_privacy.support.file_forms import Above0, Bare, Form, InSchema, Wanted


@dataclass(frozen=True)
class FullDomain(Keyword):
    """Nobody may tell any two values apart, which is (bounded) differential privacy."""

    keyword = "full"
    file_form = Bare("full")

    def on(self, domain: Domain) -> PartitionGraph:
        return PartitionGraph(domain, tuple(map(single_block, domain.attributes)))


def cliques_on(cut: Blocks, view: Positions | None) -> Collection[frozenset[int]]:
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


def blocks_on(cut: Blocks, view: Positions) -> Blocks | None:
    """Return the sets of values of a level that blocks meet as blocks; None if two of them overlap."""
    cliques = [Subset.of(clique) for clique in cliques_on(cut, view)]
    if sum(map(len, cliques)) > int(view.max()) + 1:
        return None
    return ListedBlocks(tuple(sorted(cliques, key=lambda block: block.first)))


def pairs_on(domain: Domain, along: Sequence[tuple[Blocks, Positions | None]]) -> frozenset[Edge]:
    """List the pairs of cells that share a block along every attribute, or along a level of it."""
    size = domain.size
    if size * (size - 1) // 2 > MOST_PAIRS:
        raise PolicyError(
            "the blocks of the partition lie across the levels of a hierarchy, in more values than can be compared.",
            hint="ask for the lowest level, and add up; or choose blocks that are subtrees.",
        )
    joined = [{(a, b) for clique in cliques_on(cut, view) for a in clique for b in clique} for cut, view in along]
    pairs = combinations(domain.cells(), 2)
    return frozenset(
        (x, y) for x, y in pairs if all((a, b) in together for a, b, together in zip(x, y, joined, strict=True))
    )


_BLOCKS: TypeAlias = Annotated[list[BLOCK_FORM], Len(1)]
_CUTS = Form(
    {},
    {
        "blocks": Annotated[
            _BLOCKS | dict[str, _BLOCKS],
            Wanted("the blocks of each attribute, and a block is a list of values", "write {zip: [[A, B], [C]]}."),
        ],
        "widths": Annotated[
            Above0 | dict[str, Above0],
            Wanted("the width of the blocks of each attribute", "write {zone: 10}."),
        ],
    },
    example="partition: {widths: {zone: 10}}",
    schema={"minProperties": 1},
)


class Partition(Secrets):
    """Cut the domain into blocks: ``Partition(widths={"lat": 10})`` or ``Partition(blocks={"zip": [["10001"], ..]})``.

    The blocks of several attributes multiply; an attribute that is not named is one block, so all its changes are
    secret. If there is only one attribute, its name may be omitted: ``Partition(widths=10)``. A block is a list
    of values or, for ordered attributes, an inclusive ``(low, high)`` pair (for bins, a pair of edges).
    """

    keyword = "partition"
    file_form = Form({"partition": _CUTS}, example="{partition: {widths: {zone: 10}}}")

    def __init__(self, *, blocks: Any = None, widths: Any = None) -> None:
        if blocks is None and widths is None:
            raise PolicyError("a partition needs blocks or widths.", hint="Partition(widths={'zone': 10}).")
        self.blocks: Any = _listed(blocks)
        if isinstance(blocks, Mapping):
            self.blocks = FrozenMapping({name: _listed(given) for name, given in blocks.items()})
        self.widths: Any = FrozenMapping(deepcopy(dict(widths))) if isinstance(widths, Mapping) else widths

    def __repr__(self) -> str:
        return f"Partition({', '.join(f'{key}={given!r}' for key, given in vars(self).items() if given is not None)})"

    def on(self, domain: Domain) -> PartitionGraph:
        listed, widths = _named(self.blocks, domain, "blocks"), _named(self.widths, domain, "widths")
        check_declared([*listed, *widths], domain, "the partition names")
        both = sorted(set(listed) & set(widths))
        if both:
            raise PolicyError(f"{both[0]} has both blocks and widths.", hint="give only one of them.")
        empty = [name for name, given in [*listed.items(), *widths.items()] if given is None]
        if empty:
            raise PolicyError(f"the partition has neither blocks nor a width for {empty[0]}.")
        cut: list[Blocks] = []
        for name, attribute in zip(domain.names, domain.attributes, strict=True):
            with located(name):
                if name in listed:
                    cut.append(cutting.cut_by_list(attribute, listed[name]))
                elif name in widths:
                    cut.append(cutting.cut_by_width(attribute, widths[name]))
                else:
                    cut.append(single_block(attribute))
        return PartitionGraph(domain, tuple(cut))

    def to_file(self) -> dict[str, Any]:
        return {"partition": {key: _plain(given) for key, given in vars(self).items() if given is not None}}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Partition:
        blocks = {
            name: [choice_from_file(domain[name], block) for block in listed]
            if name in domain and isinstance(listed, list)
            else listed
            for name, listed in _named(body["partition"].get("blocks"), domain, "blocks").items()
        }
        return cls(blocks=blocks or None, widths=body["partition"].get("widths"))


def _listed(blocks: Any) -> Any:
    """Copy the blocks of an attribute; a tuple of them is a list, which a policy file can hold."""
    return list(deepcopy(blocks)) if isinstance(blocks, tuple) else deepcopy(blocks)


def _named(given: Any, domain: Domain, what: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    if len(domain.names) > 1:
        raise PolicyError(
            f"{what} must say which attribute they cut, got {brief(given)}.", hint=f"{what}={{'name': ..}}."
        )
    (name,) = domain
    return {name: given}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [choice_to_file(block) for block in value]
    return choice_to_file(value)


@dataclass(frozen=True)
class PartitionGraph(SecretGraph):
    """A union of cliques: the product of the attributes' blocks."""

    domain: Domain
    cuts: tuple[Blocks, ...]
    always_homogeneous = True

    @property
    def transitive(self) -> bool:
        return True

    def component(self, x: Cell) -> Hashable:
        return () if self._single else tuple(cut.label(position) for cut, position in zip(self.cuts, x, strict=True))

    def adjacent(self, x: Cell, y: Cell) -> bool:
        return x != y and self.component(x) == self.component(y)

    def hops(self, x: Cell, y: Cell) -> Hops:
        return 0 if x == y else 1 if self.adjacent(x, y) else inf

    @property
    def connected(self) -> bool:
        return self._single

    @cached_property
    def _single(self) -> bool:
        """Whether there is one block."""
        return all(cut.count == 1 for cut in self.cuts)

    def project(self, names: Sequence[str]) -> SecretGraph:
        domain, cuts = self.domain.project(names), [self.cuts[axis] for axis in self.domain.axes(names)]
        views = [self.domain.view(name) for name in names]
        seen = [cut if view is None else blocks_on(cut, view) for cut, view in zip(cuts, views, strict=True)]
        nested = tuple(cut for cut in seen if cut is not None)
        if len(nested) == len(seen):
            return PartitionGraph(domain, nested)
        from blowfish_privacy.graphs.explicit import graph_of  # listed pairs may turn out to be a partition

        return graph_of(domain, pairs_on(domain, [*zip(cuts, views, strict=True)]))

    def steepest(self, rows: Rows) -> Steepest:
        if self._single:
            return among_all(rows)
        sizes = enumerate(zip(self.cuts, self.domain.shape, strict=True))
        along = {axis: np.array([cut.label(position) for position in range(size)]) for axis, (cut, size) in sizes}
        return inside_blocks(rows, cutting.cell_labels(self.domain.shape, along))

    def widest_edge(self, name: str) -> Edge | None:
        block = self.cuts[self.domain.axis(name)].widest()
        return None if block.first == block.last else edge_along(self.domain, name, block.first, block.last)

    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        cut = self.cuts[self.domain.axis(name)]
        blocks = (cut.block(label) for label in cut.meeting(first))
        pairs = (two_different(block & first, block & second) for block in blocks)
        return next((pair for pair in pairs if pair is not None), None)

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        cut = self.cuts[self.domain.axis(name)]
        if isinstance(cut, EqualBlocks):
            count, rest = divmod(cut.size, cut.width)
            last = [Stretches(cut.size - rest, rest, 1, rest - 1)] if rest else []
            return (Stretches(0, cut.width, count, cut.width - 1), *last)
        blocks = (cut.block(label) for label in range(cut.count))
        return joined(((block.first, block.last) for block in blocks), self.domain[name].size)

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        return cliques([meetings(cut, groups) for cut, groups in zip(self.cuts, pieces.groups, strict=True)], pieces)

    def class_pairs_along(self, axis: int, pieces: Pieces) -> ClassPairs:
        along = meetings(self.cuts[0], pieces.groups[axis])
        return cliques(meetings_along(axis, along, pieces.groups), pieces)

    def _canonical(self) -> Any:
        if not self.has_edges:
            return "public"
        declared = zip(self.domain.names, self.domain.attributes, self.cuts, strict=True)
        cut = {name: cutting.canonical(attribute, blocks) for name, attribute, blocks in declared if blocks.count > 1}
        return {"partition": cut} if cut else "full"

    def _words(self) -> Words:
        cut = [name for name, blocks in zip(self.domain.names, self.cuts, strict=True) if blocks.count > 1]
        if not cut:
            *others, last = map(quoted, self.domain)
            if not others:
                return Words((Rule(f"{last}: every two values are a secret pair"),))
            return Words((Rule(f"Every two records are a secret pair, whatever their {', '.join(others)} and {last}"),))
        names, many = " and ".join(map(quoted, cut)), f"{prod(blocks.count for blocks in self.cuts):,}"
        inside: list[Rule] = []
        for name in filter(self.changes, cut):
            attribute, block = self.domain[name], self.cuts[self.domain.axis(name)].widest()
            example = f"{attribute.say(block.first)} and {attribute.say(block.last)}"
            inside.append(Rule(f"{quoted(name)}: every two values of the same block are a secret pair", example))
        free = [
            Rule(f"{quoted(name)}: every two values inside a block are a secret pair")
            for name in self.domain.names
            if name not in cut and self.changes(name)
        ]
        exposed = (
            f"Which of the {many} blocks of {names} a person is in is not protected at all; "
            "block counts may be released exactly."
        )
        return Words((*inside, *free), (exposed,))


_LEVEL = {"type": "string"}


class Within(Secrets):
    """Nobody may tell apart two values that lie below the same value of a level: ``Within("state")``.

    Two leaves are a secret pair if their lowest common ancestor is at the level or below it. This is the partition into
    the subtrees of the level: which state a person is in is not protected at all. With several attributes, say which of
    them has the level, ``Within({"place": "state"})``; one that is not named is one block: all its changes are secret.
    """

    keyword = "within"
    file_form = Form(
        {
            "within": Annotated[
                Annotated[
                    str | dict[str, str],
                    InSchema(
                        {"anyOf": [_LEVEL, {"type": "object", "additionalProperties": _LEVEL, "minProperties": 1}]}
                    ),
                ],
                Wanted("the name of a level, or a mapping from attributes to levels", "write within: state."),
            ]
        },
        example="{within: state}",
    )

    def __init__(self, level: str | Mapping[str, str]) -> None:
        if not isinstance(level, str | Mapping) or not level:
            raise PolicyError(f"secrets lie within a level, got {brief(level)}.", hint='Within("state").')
        self.level: str | Mapping[str, str] = level if isinstance(level, str) else FrozenMapping(level)

    def __repr__(self) -> str:
        return f"Within({self.level!r})"

    def on(self, domain: Domain) -> PartitionGraph:
        if isinstance(self.level, str) and len(domain.names) > 1:
            raise PolicyError(
                f"the secrets must say which attribute has the level {brief(self.level)}.",
                hint=f"{{within: {{place: {self.level}}}}}, or per_attribute.",
            )
        levels = {next(iter(domain)): self.level} if isinstance(self.level, str) else self.level
        check_declared(levels, domain, "secrets name")
        cuts: list[Blocks] = []
        for name, attribute in zip(domain.names, domain.attributes, strict=True):
            level = levels.get(name)
            if level is None:
                cuts.append(single_block(attribute))
                continue
            if not isinstance(attribute, Hierarchy):
                raise PolicyError(
                    f"{name} is not a hierarchy, so it has no level {brief(level)}.", hint="use partition."
                )
            with located(name, PolicyError):
                cuts.append(ListedBlocks(tuple(Subset((run,)) for run in attribute.at(level).subtrees)))
        return PartitionGraph(domain, tuple(cuts))

    def to_file(self) -> dict[str, Any]:
        return {"within": self.level if isinstance(self.level, str) else dict(self.level)}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Within:
        return cls(body["within"])
