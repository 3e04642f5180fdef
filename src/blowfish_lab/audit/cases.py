"""What an audit looks at: mechanisms calibrated for random policies, each with two neighbouring tables."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_lab.audit.known_facts import random_facts, random_secrets
from blowfish_privacy.aggregates import Assignment, Lattice, TableAggregates
from blowfish_privacy.domain import Cell, Domain, Integer
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import DistanceThreshold
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.noise import BitSource, SystemSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import RHO, epsilon_of
from blowfish_privacy.queries import (
    Cumulative,
    Histogram,
    KMeans,
    Linear,
    Mean,
    Query,
    RangeGrid,
    Sum,
    Synthetic,
    Tables,
)
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.testing.oracle import moves_together

# Running a mechanism on a table: many times, or once without noise.

Counts = npt.NDArray[np.int64]


class Remembered(TableAggregates):
    """Aggregates that remember their answers: between outputs only the noise changes."""

    def lattice_sums(self, lattice: Lattice) -> Counts:
        return self._once(lattice, super().lattice_sums)

    def assignments(self, assignment: Assignment) -> Counts:
        return self._once(assignment, super().assignments)

    def _once(self, question: Any, answer: Callable[[Any], Counts]) -> Counts:
        if question not in self._answers:
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.clear()
            self._answers[question] = answer(question)
        return self._answers[question].copy()

    @cached_property
    def _answers(self) -> dict[Any, Counts]:
        return {}


_MOST_ANSWERS = 5_000


def outputs(
    mechanism: Mechanism, table: Remembered, many: int, source: BitSource | None = None
) -> list[npt.NDArray[Any]]:
    """Run a mechanism many times on one table."""
    source = SystemSource() if source is None else source
    return [np.asarray(mechanism.draw(table, source)).reshape(-1) for _ in range(many)]


def exact_rows(mechanism: Mechanism, table: Remembered) -> npt.NDArray[Any]:
    """Return what a mechanism shows of a table when all its draws of noise are 0; an attacker who knows it can tell."""
    return outputs(mechanism, table, 1, _Silence())[0]


class _Silence:
    """Words that draw no noise: below every threshold of the sampler's tables."""

    kind: ClassVar[str] = "silence"
    private: ClassVar[bool] = False

    def words(self, count: int) -> npt.NDArray[np.uint32]:
        return np.zeros(count, dtype=np.uint32)


Move = tuple[Cell, Cell | None]
"""A record's value before and after; None for a record that leaves."""

_SHAPES = [(2,), (3,), (5,), (8,), (16,), (40,), (120,), (2, 2), (2, 3), (3, 2), (4, 4), (6, 1), (1, 6), (12, 12)]
_LINES = [(6, 1), (1, 6), (2, 1), (1, 3)]
_SMALL = [(2, 2), (2, 3), (3, 2), (2, 2, 2)]
IN_ROUNDS = {"synthetic", "synthetic-laplace"}
"""They choose, measure and fit several times for one output."""
_ONE_WAY = {"gaussian-flow"}
"""Where a flow can take several ways at once, Gaussian noise hides far more than the one way of the certificate."""
_LARGEST_WITH_FACTS = 6
_TOGETHER = 4
_MOST_SETS = 5_000
_NOISE = re.compile(r'"(scale|variance|edge_loss)": "([^"]+)"')
_HALVED = {"scale": Fraction(1, 2), "variance": Fraction(1, 4), "edge_loss": Fraction(2)}
"""How mechanisms write their noise, and what half of it is: noise is inverse to the loss of an edge."""

DELTA = Fraction(1, 20)
"""The delta at which a loss in rho is looked at: with some thousand outputs, no smaller one shows more of it."""

_ONE_SCALE = {"laplace", "gaussian", "ordered", "gaussian-ordered", "soft-grid"}
"""All their rows get independent noise of the one scale that is certified."""


@dataclass(frozen=True, eq=False)
class Case:
    """A calibrated mechanism, what it certifies, and two tables that its policy makes neighbours."""

    mechanism: Mechanism
    query: Query
    policy: Policy
    claimed: Fraction
    tables: tuple[Counts, Counts]
    moves: tuple[Move, ...]
    """The records that move, from the first table to the second."""
    moved: Move | None
    """The values between which records move, as the query sees them, where they all make the same move."""

    @cached_property
    def aggregates(self) -> tuple[Remembered, ...]:
        """What a mechanism may ask of either table."""
        seen = self.query.own_domain(self.policy.domain)
        return tuple(Remembered(seen, table) for table in self.tables)

    @property
    def sharp(self) -> bool:
        """Whether the loss on these two tables is the certificate itself, as far as the mechanism knows its loss."""
        ways = self.mechanism.name in _ONE_WAY and min(self.policy.domain.shape) > 1
        return not ways and self.lost(self.mechanism) == self.claimed

    def lost(self, mechanism: Mechanism) -> Fraction:
        """Return what a mechanism loses on the two tables; 0 where neither it nor its rows tell."""
        if self.moved:
            x, y = self.moved
            lost = mechanism.presence(x) if y is None else mechanism.loss(x, y)
            return mechanism.counted_in.over(lost, self.policy.rows_per_person)
        if mechanism.name not in _ONE_SCALE:
            return Fraction(0)
        (scale,) = mechanism.certify(self.policy).scales
        first, second = (exact_rows(mechanism, table) for table in self.aggregates)
        if len(first) != len(second):
            return Fraction(0)
        if mechanism.counted_in is RHO:
            return int(((first - second) ** 2).sum()) / (2 * scale)
        return int(np.abs(first - second).sum()) / scale

    @property
    def delta(self) -> Fraction:
        """How often an output may lose more than is promised: never, unless losses are counted in rho."""
        return DELTA if self.mechanism.counted_in is RHO else Fraction(0)

    def promise(self, lost: Fraction) -> float:
        """Return the epsilon that a loss stands for, with :attr:`delta`."""
        return float(epsilon_of(lost, DELTA) if self.mechanism.counted_in is RHO else lost)

    @property
    def words(self) -> str:
        """Name the case in a report; everything in it is random, and nobody's."""
        known = f", {len(self.policy.known)} known facts ({self.policy.compensation})" if self.policy.known else ""
        shape = " x ".join(map(str, self.policy.domain.shape))
        return f"{self.query.keyword} on {shape}, {type(self.policy.graph).__name__}{known}"


def make_case(name: str, seed: int) -> Case | None:
    """Make a case for a mechanism; None when the seed's policy has nothing for it to hide, or it refuses."""
    source = random.Random(f"{name} {seed}")  # noqa: S311
    kind = MECHANISMS[name]
    shared = name in _STEADY and seed % 10 == _SHARED
    usual = _LINES if name in _ONE_WAY and seed % 2 else _SMALL if name in IN_ROUNDS else _SHAPES
    shape = (120,) if shared else source.choice(usual)
    domain = Domain({f"a{axis}": Integer(0, size - 1) for axis, size in enumerate(shape)})
    fitting = [query for query in _queries(source, domain, fewest=2 if shared else 1) if kind.answers(query)]
    if not fitting:
        return None
    with_facts = domain.size <= _LARGEST_WITH_FACTS and source.random() < 0.5 and name not in _OF_SECRET_SIZE
    options: dict[str, Any] = {"rows_per_person": source.choice([1, 1, 1, 2])}
    if with_facts:
        compensation = source.choice(["anywhere", "secret-moves"])
        options = {"known": random_facts(source, domain), "compensation": compensation}
    elif source.random() < 0.25 or name in _OF_SECRET_SIZE:
        options["size"] = "unknown"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        secrets = DistanceThreshold(1) if shared else random_secrets(source, domain)
        policy = Policy(domain, secrets=secrets, **options)
    return _calibrate(source, kind, source.choice(fitting), policy)


_OF_SECRET_SIZE = {"counted-grid"}
"""They have no use where the number of records is public."""


def _calibrate(source: random.Random, kind: type[Mechanism], query: Query, policy: Policy) -> Case | None:
    cells = [*policy.domain.cells()]
    base = [cell for cell in cells for _ in range(source.randint(0, 3))]
    if kind.name in _STEADY:
        # Rounds that follow each other stay near a crowd in the middle, so that each of them shows who moved.
        base = [cells[len(cells) // 2]]
    amount = source.choice(_RHOS if kind.counted_in is RHO else _LARGE_EPSILONS if kind.name in _FEW else _EPSILONS)
    crowd = _CROWD if kind.name in _STEADY else 1
    records = None if policy.size == "unknown" else crowd * len(base) + _TOGETHER
    try:
        mechanism = kind.calibrated(query, policy, **{kind.counted_in.name: amount}, records=records)
        certificate = mechanism.certify(policy)
        worst = _worst(mechanism, query, policy, source) if certificate.amount else []
    except BlowfishError:
        return None
    cases: list[Case] = []
    crowded = crowd * _counts(query, policy.domain, base)
    for moves, moved in worst:
        # Those who do not move fill the tables up to the public number of records.
        stay = [cells[0]] * (_TOGETHER - len(moves))
        sides = [x for x, _ in moves], [y for _, y in moves if y is not None]
        tables = [crowded + _counts(query, policy.domain, stay + side) for side in sides]
        cases.append(Case(mechanism, query, policy, certificate.amount, (tables[0], tables[1]), tuple(moves), moved))
    return max(cases, key=_shown) if len(cases) > 1 else cases[0] if cases else None


_STEADY, _CROWD = {"lloyd"}, 60
_FEW = {*_STEADY, *IN_ROUNDS}
"""Where outputs take time, larger losses show in fewer of them."""
_SHARED = 5
"""The last digit of seeds whose short threshold makes clusters share their records."""


def _shown(case: Case) -> float:
    """Return how much the rows differ between the two tables when there is no noise."""
    rows = [exact_rows(case.mechanism, table) for table in case.aggregates]
    return float(np.abs(rows[0] - rows[1]).sum()) if len(rows[0]) == len(rows[1]) else 0.0


_EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(1), Fraction(2))
_LARGE_EPSILONS = (Fraction(1), Fraction(2), Fraction(2), Fraction(2))
"""Where there are many rows of noise, larger losses are easier to see."""
_RHOS = (Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), Fraction(1))


def _queries(source: random.Random, domain: Domain, fewest: int) -> Iterator[Query]:
    """Generate queries of every kind on a domain."""
    weights = [[source.randint(-2, 3) for _ in range(domain.size)] for _ in range(2)]
    grids = [RangeGrid(a, b) for a in domain.names for b in domain.names if a != b]
    many = [fewest, fewest, 2]
    clusters = [KMeans(list(domain.names), k=source.choice(many))]
    singles = [kind(domain.names[-1]) for kind in (Histogram, Cumulative, Sum, Mean)]
    tables = [Tables([domain.names[:1], *combinations(domain.names, 2)])]
    # With nothing to choose from, all is lost in two steps, and shows.
    records = [Synthetic(domain.names, workload=ways) for ways in (1, 2) if len(domain.names) > 1]
    pairs = [*combinations(domain.names, 2)]
    weighted = [kind(value).weighted(weight) for kind in (Histogram, Sum, Mean) for value, weight in pairs]
    general = [*singles, *singles, Linear(weights, domain.names), *weighted]
    for query in (*general, *grids, *clusters, *tables, *records):
        try:
            query.on(domain)
        except BlowfishError:
            continue
        yield query


def _worst(
    mechanism: Mechanism, query: Query, policy: Policy, source: random.Random
) -> list[tuple[Sequence[Move], Move | None]]:
    """List sets of records that move so that most is lost; with the move they make, where it is the same."""
    form: Any = query.on(policy.domain)
    axes = [policy.domain.axis(name) for name in form.domain.names]

    def seen(cell: Cell) -> Cell:
        return tuple(cell[axis] for axis in axes)

    if policy.known:
        sets = [*islice(moves_together(policy, _TOGETHER), _MOST_SETS)]
        power = 2 if mechanism.counted_in is RHO else 1
        return [(max(sets, key=lambda moves: _change(form, seen, moves, power)), None)] if sets else []
    cells = [*policy.domain.cells()]
    edges = [(x, y) for x in cells for y in cells if x < y and policy.graph.adjacent(x, y)]
    losses = [mechanism.loss(seen(x), seen(y)) for x, y in edges]
    rows, most = policy.rows_per_person, max(losses, default=Fraction(0))
    if policy.size == "unknown":
        heaviest = max(cells, key=lambda cell: mechanism.presence(seen(cell)))
        # Where both lose alike, half of the cases look at either.
        presence = mechanism.presence(seen(heaviest))
        if presence > most or (presence == most and source.random() < 0.5):
            return [([(heaviest, None)] * rows, (seen(heaviest), None))]
    if not most:
        return []
    worst = [edge for edge, loss in zip(edges, losses, strict=True) if loss == most]
    tried = source.sample(worst, min(_TRIED.get(mechanism.name, 1), len(worst)))
    return [([(x, y)] * rows, (seen(x), seen(y))) for x, y in tried]


_TRIED = {"grid-flow": 12, "gaussian-flow": 12, "lloyd": 12}
"""Where the loss is a bound, some of the worst pairs show more of it than others."""


def _change(form: LinearForm, seen: Any, moves: Sequence[tuple[Cell, Cell]], power: int) -> int:
    net = [0] * form.outputs
    for x, y in moves:
        net = [a + b - c for a, b, c in zip(net, form.column(seen(y)), form.column(seen(x)), strict=True)]
    return sum(abs(each) ** power for each in net)


def _counts(query: Query, domain: Domain, table: Sequence[Cell]) -> Counts:
    seen = query.own_domain(domain)
    axes = [domain.axis(name) for name in seen.names]
    counts = np.zeros(seen.shape, dtype=np.int64)
    for cell in table:
        counts[tuple(cell[axis] for axis in axes)] += 1
    return counts


def parts(mechanism: Mechanism) -> int:
    """Return how many noise scales a mechanism writes down."""
    return len(_NOISE.findall(json.dumps(mechanism.to_document())))


def weakened(case: Case, part: int | None) -> Mechanism:
    """Return the mechanism with half the noise on one of its parts (None: on all), as a mistake in it would draw."""
    numbers = iter(range(10**6))

    def replacement(match: re.Match[str]) -> str:
        times = _HALVED[match[1]] if part in (None, next(numbers)) else Fraction(1)
        return f'"{match[1]}": "{Fraction(match[2]) * times}"'

    written = json.loads(_NOISE.sub(replacement, json.dumps(case.mechanism.to_document())))
    if "limits" in written:
        # What may be lost is what all the noise follows from.
        times = 4 if case.mechanism.counted_in is RHO else 2
        written["limits"] = [[*which, str(times * Fraction(limit))] for *which, limit in written["limits"]]
    records = None if case.policy.size == "unknown" else int(case.tables[0].sum())
    return type(case.mechanism).from_document(case.query, case.policy, written, records)
