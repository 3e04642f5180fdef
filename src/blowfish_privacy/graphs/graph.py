"""What every secret graph answers.

A user writes :class:`Secrets` (``DistanceThreshold(5)``); a policy binds it to a domain, and the bound
:class:`SecretGraph` answers questions. An edge (x, y) means: nobody may tell whether a person's value is x or y
[he2014, section 3.1]. A graph is never materialised; a new one is one file beside this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

from blowfish_privacy.domain import Cell, Domain, Subset
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.class_pairs import MOST_LISTED, ClassPairs, Pieces, everything, joined_along, listed
from blowfish_privacy.graphs.stretches import Stretches
from blowfish_privacy.support.file_kinds import Anything, OneOf, kind_of, register

Edge: TypeAlias = tuple[Cell, Cell]
"""A secret pair of values."""
Hops: TypeAlias = int | float
"""A number of steps; ``math.inf`` between values that no chain of secret pairs connects."""

MOST_PAIRS = 2_000_000
"""Edges are listed only where the domain has at most this many pairs of values."""


@dataclass(frozen=True)
class Rule:
    """Which pairs are secret: a sentence for a reader who is no privacy expert, with an example where there is one."""

    said: str
    example: str | None = None
    more: str = ""

    def __str__(self) -> str:
        return f"{self.said}{f', such as {self.example}' if self.example else ''}{self.more}."


@dataclass(frozen=True)
class Words:
    """What a graph protects and what it does not, in sentences."""

    protected: tuple[Rule, ...] = ()
    unprotected: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """What holds beside the rules, and must not be left out where these are many."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is protected."""
        return (*map(str, self.protected), *self.added)


class Secrets(ABC):
    """A choice of secret pairs, not yet tied to a domain."""

    keyword: ClassVar[str]
    """How the choice is spelt in a policy file."""
    file_form: ClassVar[Any]
    """The form of that spelling; unless stated, anything may follow the keyword."""
    kinds: ClassVar[dict[str, type[Secrets]]] = {}
    """Every kind of secrets that is defined, by its keyword."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a kind of secrets known by its keyword."""
        super().__init_subclass__(**options)
        register(Secrets.kinds, cls, Anything)

    @abstractmethod
    def on(self, domain: Domain) -> SecretGraph:
        """Bind the choice to a domain, or say why it does not fit."""

    @abstractmethod
    def to_file(self) -> Any:
        """Write the choice as it stands in a policy file."""

    @classmethod
    @abstractmethod
    def from_file(cls, body: Any, domain: Domain) -> Secrets:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, body: Any, domain: Domain) -> Secrets:
        """Read secrets of whatever kind a policy file names."""
        return kind_of(Secrets.kinds, body).from_file(body, domain)


SECRETS_FORM = OneOf("Secrets", Secrets.kinds, "a choice of secrets", "full, or {threshold: 5}")


class SecretGraph(ABC):
    """A secret graph on the cells of a domain."""

    domain: Domain

    @property
    def homogeneous(self) -> bool:
        """Whether what joins two values of an attribute does so whatever the other attributes are.

        Then hops depend on nothing but the attributes in which two values differ, and an edge of the projection onto
        one attribute is an edge with all other attributes fixed.
        """
        return len(self.domain.names) == 1

    @property
    def complete(self) -> bool:
        """Whether every two values are a secret pair."""
        return self.canonical() == "full"

    @property
    def transitive(self) -> bool:
        """Whether values that a chain of secret pairs connects are known to be secret pairs themselves."""
        return self.complete

    @property
    def one_at_a_time(self) -> bool:
        """Whether every secret pair is known to differ in one attribute only."""
        return sum(attribute.size > 1 for attribute in self.domain.attributes) <= 1

    @property
    def enumerated(self) -> Collection[Edge] | None:
        """The edges, each once, where the graph holds a list of them."""
        return None

    @abstractmethod
    def adjacent(self, x: Cell, y: Cell) -> bool:
        """Say whether a pair is secret. This is the definition; all else follows from it."""

    @abstractmethod
    def hops(self, x: Cell, y: Cell) -> Hops:
        """Count the steps of a shortest chain of secret pairs, d_G(x, y)."""

    @abstractmethod
    def component(self, x: Cell) -> Hashable:
        """Label a value so that two values have one label exactly when a chain of secret pairs connects them."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether a chain of secret pairs connects every two values."""

    @abstractmethod
    def project(self, names: Sequence[str]) -> SecretGraph:
        """Return the graph that a query sees which looks at some attributes only."""

    @abstractmethod
    def widest_edge(self, name: str) -> Edge | None:
        """Return an edge that moves furthest along an attribute; None when no edge changes it."""

    @abstractmethod
    def joins(self, name: str, first: Subset, second: Subset) -> tuple[int, int] | None:
        """Return positions in two sets of one attribute between which an edge of its projection leads, if any does.

        The sets are equal or disjoint. Where the graph is homogeneous, such an edge exists whatever the values of
        the other attributes are.
        """

    @abstractmethod
    def _canonical(self) -> Any:
        """Return one spelling of the graph, on a domain whose attributes all have at least two values."""

    def canonical(self) -> Any:
        """Return one spelling, in plain JSON values, for all equivalent ways to write this graph."""
        varied = [name for name in self.domain.names if self.domain[name].size > 1]
        if not varied:
            return "public"
        return (self if len(varied) == len(self.domain.names) else self.project(varied))._canonical()

    @abstractmethod
    def _words(self) -> Words:
        """Say what the graph protects and what it does not, on a domain with at least two values."""

    def words(self) -> Words:
        """Say what the graph protects and what it does not."""
        # Where a record has only one possible value there is neither a secret nor anything to find out.
        return self._words() if self.domain.size > 1 else Words()

    def furthest(self) -> Edge:
        """Return two values that are many steps apart: the first and the last, where no others are further."""
        shape = self.domain.shape
        return tuple(0 for _ in shape), tuple(size - 1 for size in shape)

    def largest_move(self, name: str) -> int:
        """Return the most positions that one edge moves along an attribute."""
        edge = self.widest_edge(name)
        axis = self.domain.axis(name)
        return 0 if edge is None else abs(edge[0][axis] - edge[1][axis])

    def changes(self, name: str) -> bool:
        """Say whether some edge changes an attribute."""
        return self.widest_edge(name) is not None

    def changing(self, name: str) -> SecretGraph:
        """Return a graph with every edge that changes an attribute, where edges change one; others may be in it."""
        return self

    def stretches(self, name: str) -> tuple[Stretches, ...]:
        """Cut an attribute where no secret pair lies across, into as many stretches as the graph can tell."""
        size = self.domain[name].size
        reach = self.largest_move(name)
        return (Stretches(0, size, 1, reach) if reach else Stretches(0, 1, size, 0),)

    def longest_move(self, prices: Sequence[Fraction | int]) -> Fraction:
        """Bound how far one edge leads, where each position along an attribute has a price."""
        alone = [price * self.largest_move(name) for name, price in zip(self.domain.names, prices, strict=True)]
        return Fraction(max(alone) if self.one_at_a_time else sum(alone))

    def covers(self, other: SecretGraph) -> bool:
        """Say whether every edge of another graph on the same domain is easily seen to be an edge of this one."""
        return not other.has_edges or self.canonical() in ("full", other.canonical())

    def steps_along(self, other: SecretGraph) -> Hops | None:
        """Bound the steps that an edge of another graph on the same single attribute takes, where that is quick.

        The ends of the other graph's edges are connected here.
        """
        return 1 if self.transitive else None

    def class_pairs(self, pieces: Pieces) -> ClassPairs:
        """Find the classes of values that some edge joins; at worst, take all to be joined."""
        few = self.domain.size * (self.domain.size - 1) // 2 <= MOST_LISTED
        return listed(self.edges(), pieces) if few else everything(pieces)

    def class_pairs_along(self, axis: int, pieces: Pieces) -> ClassPairs:
        """Find the classes that some edge joins, for a graph on one of the attributes, all others being equal."""
        return joined_along(self.class_pairs(pieces.along(axis)), axis, pieces)

    @property
    def has_edges(self) -> bool:
        """Whether anything at all is secret."""
        return any(self.changes(name) for name in self.domain)

    def edges(self) -> Iterator[Edge]:
        """Go through all edges, each once; only where the domain is small."""
        size = self.domain.size
        if size * (size - 1) // 2 > MOST_PAIRS:
            raise PolicyError(f"a domain of {size} values has too many pairs to list its secret ones.")
        return (pair for pair in combinations(self.domain.cells(), 2) if self.adjacent(*pair))


def differing(x: Cell, y: Cell) -> list[int]:
    """List the places in which two cells differ."""
    return [axis for axis, (a, b) in enumerate(zip(x, y, strict=True)) if a != b]


def two_different(first: Subset, second: Subset) -> tuple[int, int] | None:
    """Choose one position of each of two sets, the two being different."""
    if not first.runs or not second.runs:
        return None
    if first.first != second.first:
        return first.first, second.first
    pair = (first.first, second.last) if len(second) > 1 else (first.last, second.first)
    return pair if pair[0] != pair[1] else None
