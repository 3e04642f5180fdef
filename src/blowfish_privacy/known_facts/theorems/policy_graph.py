"""The policy graph of the paper [he2014, Definition 8.3], for ``compensation="secret-moves"``.

Its nodes are the known counts and two special ones, v+ and v-. A secret move that lowers one count and lifts another
is an arc between them; one that only lifts a count comes from v+, one that only lowers it goes to v-. Where every
secret move lifts at most one count and lowers at most one (the facts are *sparse*), records that move together form a
cycle or a path from v+ to v-, so at most max(alpha, xi) records move, and the histogram changes by at most twice that.
Proof, and which part of the printed theorem fails: ``docs/proofs/policy_graph.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from blowfish_privacy.domain import Attribute, Subset
from blowfish_privacy.known_facts.classes.classes import Classes, classes_of, fact_names
from blowfish_privacy.known_facts.classes.joined_classes import joined_classes
from blowfish_privacy.known_facts.facts import KnownMarginal
from blowfish_privacy.known_facts.facts.assumptions import Assumptions
from blowfish_privacy.known_facts.search.cycles import Cycle, heaviest_cycle

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
    names = [name for name in policy.domain if name in set(fact_names(policy.known))]
    if not names:
        return PolicyGraph(("v+", "v-"), ((0, 1),), sparse=True, exact=True)
    classes = classes_of(policy.domain.project(names), policy.known)
    joined = joined_classes(policy.graph.project(names), classes)
    rows = _different(classes)
    counted = _counting(classes, rows)
    above, below = len(rows), len(rows) + 1
    arcs = {(above, below)}
    sparse = True
    for pair in joined.pairs:
        for source, target in (pair, pair[::-1]):
            lowered, lifted = counted[source] - counted[target], counted[target] - counted[source]
            sparse &= len(lowered) <= 1 and len(lifted) <= 1
            arcs |= {(a, b) for a in lowered or {above} for b in lifted or {below}}
    said = list(_names(policy, classes))
    named = (*(said[row] for row in rows), "v+", "v-")
    return PolicyGraph(named, tuple(sorted(arcs)), sparse=sparse, exact=joined.exact)


def _different(classes: Classes) -> list[int]:
    """List the known counts; of those that count the same values, only the first."""
    first: dict[bytes, int] = {}
    for row, members in enumerate(classes.incidence.members):
        first.setdefault(members.tobytes(), row)
    return sorted(first.values())


def _counting(classes: Classes, rows: Sequence[int]) -> list[frozenset[int]]:
    """Return the known counts that count each class."""
    counting: list[set[int]] = [set() for _ in range(classes.size)]
    for number, row in enumerate(rows):
        for member in classes.incidence.members[row].tolist():
            counting[member].add(number)
    return [frozenset(numbers) for numbers in counting]


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
    said = [low if low == high else f"{low} to {high}" for low, high in ends]
    return " or ".join(said) + (" or .." if len(runs) > _MOST_RUNS else "")
