"""The best way to measure a set of tables: pure numerics on public numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, inf, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.tables.shapes import (
    Axes,
    Measurement,
    Measurements,
    Shape,
    TableLattice,
    WantedTables,
    apart,
    candidates,
    containment,
    exact_tables,
    lattice,
    measurements,
    unions,
)
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.support.arrays import FEW, Entries, Floats, Matrix, at, compact, dense, entries, stacked, turned

# Noise on given tables for pure epsilon, by alternating least squares, noise and multipliers.
#
# With w_q = 1/b_q the variances of generalised least squares are s_S = 1 / sum_q a_Sq w_q^2, and the problem is
#
#     minimise sum_S v_S s_S(w)   where every change D has sum_q c_Dq w_q <= 1.
#
# At given weights of least squares the objective is sum_q c_q / w_q^2, whose best w has w_q^3 = 2 c_q / (c' lambda)_q
# with a Lagrange multiplier lambda_D on every change: alternating the two never gets worse, and the multipliers follow
# multiplicatively.
# Where the worst table counts, so do the tables' shares in the objective. The problem is not convex: it prefers few
# measurements, and what is found depends on the start.

ROUNDS = 400
PATIENCE = 30
"""Rounds without gain after which alternating stops."""
NEGLIGIBLE = 1e-6
"""Measurements that have less than this share in what is known of every component are dropped."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights w = 1/b of all candidates for a largest loss of 1, where 0 means not measured, and what they give.

    ``shares`` are those of the tables in the objective that they were found with.
    """

    weights: Floats
    objective: float
    shares: Floats


Errors: TypeAlias = Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]
"""Returns, for weights, the variance of each table, and what turns the tables' shares in the objective into c above."""


def alternated(
    weights: Floats, loss: Matrix, shares: Floats, errors: Errors, *, worst: bool, gain: float, rounds: int
) -> tuple[Floats, Floats]:
    """Alternate from weights, and return the best ones and their shares, which move only if the worst table counts.

    It ends after some rounds of less than a relative ``gain``.
    """
    paid, multipliers = turned(loss), np.ones(loss.shape[0])
    best, least, at, since = weights, inf, shares, 0
    for _ in range(rounds):
        by_table, slopes = errors(weights)
        value = float(by_table.max() if worst else by_table @ shares)
        since = 0 if value < least * (1 - gain) else since + 1
        if value < least:
            best, least, at = weights, value, shares
        if since > PATIENCE:
            break
        if worst:
            shares = np.maximum(shares * by_table / value, 1e-30)
            shares = shares / shares.sum()
        weights = np.cbrt(2 * slopes(shares) / (paid @ multipliers))
        losses = loss @ weights
        largest = losses.max()
        weights, multipliers = weights / largest, np.maximum(multipliers * losses * largest**3, 1e-200)
    return best, at


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """Candidates for measuring and their precisions; alternating finds weights for them."""

    lattice: TableLattice
    known: Measurements

    def settle(self, start: Floats, shares: Floats, rounds: int = ROUNDS) -> Weights:
        """Alternate from a start, in which 0 means not measured; drop what adds next to nothing to any component."""
        used = np.flatnonzero(start)
        precision, loss, spread = self.known.precision[:, used], self.known.loss[:, used], self.lattice.spread
        by_table, gathered = turned(precision), turned(spread)

        def errors(weights: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
            variances = 1 / (precision @ (weights * weights))
            return (
                spread @ variances,
                lambda shares: weights**4 * (by_table @ ((gathered @ shares) * variances * variances)),
            )

        first, worst = start[used] / (loss @ start[used]).max(), self.lattice.importance is None
        best, shares = alternated(first, loss, shares, errors, worst=worst, gain=1e-7, rounds=rounds)
        squares = best * best
        known: Any = (precision * squares) * (1 / (precision @ squares))[:, None]
        weights = np.zeros(len(self.known.shapes))
        weights[used] = np.where(dense(known.max(axis=0)) > NEGLIGIBLE, best, 0.0)
        weights = weights / (self.known.loss @ weights).max()
        return Weights(weights, self.lattice.objective(1 / (self.known.precision @ (weights * weights))), shares)


# Larger tables in place of the smaller ones that they contain.
#
# One table with all of the smaller ones' loss may be more precise than these are, above all where attributes have few
# values and one secret pair changes many of them. Alternating from a start with all tables does not find this, as small
# tables win while they are few: so single exchanges are tried, all at once by formula, and the best are made.

EXCHANGES = 16
"""The most exchanges that are made at once."""
_LARGER_ROUNDS = 100
SMALL = 100
"""Cells of the larger tables that are tried first: early exchanges for much larger ones stand in the way of better."""
SCALES = (0.6, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0)
"""Weights of a larger table that are tried, in units of the root of the sum of squares of those it replaces."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Tables that may be measured in place of those they contain.

    ``places`` numbers them among the candidates, ``contained`` has those in each, ``precision`` how precise each is.
    """

    problem: PlanningProblem
    places: NDArray[np.intp]
    cells: Floats
    contained: Matrix
    precision: Entries

    @classmethod
    def of(cls, problem: PlanningProblem) -> Exchanges:
        """List all tables without signs."""
        shapes = problem.known.shapes
        places = np.array([place for place, (_, signs) in enumerate(shapes) if not signs])
        cells = np.array([float(problem.lattice.kinds.cells(shapes[place][0])) for place in places])
        precision = entries(turned(problem.known.precision[:, places]))
        return cls(problem, places, cells, containment(shapes, places.tolist()), precision)

    def all_made(self, best: Weights, cells: float) -> Weights:
        """Make exchanges while they help, many at once if possible."""
        most = EXCHANGES
        while most:
            start = self.made(best, cells, most)
            if start is None:
                break
            found = self.problem.settle(start, best.shares, _LARGER_ROUNDS)
            if found.objective < best.objective * (1 - 1e-4):
                best = found
            else:
                most //= 4
        return best

    def made(self, now: Weights, cells: float, most: int) -> Floats | None:
        """Make the best exchanges that do not touch the same tables; None if none helps."""
        values, weights, value = self._values(now)
        values = np.where(self.cells <= cells, values, inf)
        start = now.weights.copy()
        gone: set[int] = set()
        made = 0
        for row in np.argsort(values).tolist():
            if values[row] >= value * (1 - 1e-5) or made == most:
                break
            inside = entries(self.contained[[row]])[1]
            replaced = {one for one in inside.tolist() if now.weights[one]}
            if gone.isdisjoint(replaced):
                gone |= replaced
                start[list(replaced)] = 0.0
                start[self.places[row]] = weights[row]
                made += 1
        return start if made else None

    def _values(self, now: Weights) -> tuple[Floats, Floats, float]:
        """Return the objective after each exchange, the best weight of the larger table in it, and the value now."""
        known, lattice, squares = self.problem.known, self.problem.lattice, now.weights * now.weights
        rows, columns, added = self.precision
        precision = known.precision @ squares
        # what an exchange removes lies within the pattern of what it adds
        removed = at((self.contained * squares) @ turned(known.precision), rows, columns)
        left = np.maximum(precision[columns] - removed, 1e-9 * precision[columns])
        value = turned(lattice.spread) @ now.shares
        total, value = float(value @ (1 / precision)), value[columns]
        losses = dense(turned(known.loss))
        spent = (known.loss @ now.weights) - (self.contained * now.weights) @ losses
        costs = losses[self.places]
        unit = np.sqrt(self.contained @ squares)
        values, weights = np.full(len(unit), np.inf), unit
        for scale in SCALES:
            weight = scale * unit
            gains = value / (left + weight[rows] ** 2 * added) - value / precision[columns]
            after = (total + np.bincount(rows, gains, len(unit))) * ((spent + weight[:, None] * costs).max(axis=1) ** 2)
            after = np.where((now.weights[self.places] == 0) & (unit > 0), after, np.inf)
            values, weights = np.minimum(values, after), np.where(after < values, weight, weights)
        return values, weights, total


# The best noise on tables for pure epsilon: several starts, then larger tables in place of smaller ones.


def best_weights(lattice: TableLattice) -> tuple[list[Measurement], Floats, float]:
    """Return what to measure, its weights for a largest loss of 1, and what it gives."""
    smaller = candidates(lattice)
    listed = [*smaller, *unions(lattice, smaller)]
    problem = PlanningProblem(lattice, measurements(lattice, listed))
    wanted = frozenset(lattice.tables)
    alone = np.array([1.0 if not signs and shape in wanted else 0.0 for shape, signs in listed])
    first = np.arange(len(listed)) < len(smaller)
    lengths = np.array([len(shape) for shape, _ in listed])
    starts: tuple[Floats, ...] = (alone, np.where(first, 1.0, 0.0), np.where(first, 0.25**lengths, 0.0))
    shares = np.full(len(wanted), 1 / len(wanted)) if lattice.importance is None else lattice.importance
    best = min((problem.settle(start, shares) for start in starts), key=lambda found: found.objective)
    # Exchanges for larger tables, while they help: for any, or at first only for small ones.
    exchanges = Exchanges.of(problem)
    exchanged = [best, exchanges.all_made(best, inf), exchanges.all_made(exchanges.all_made(best, SMALL), inf)]
    best = min(exchanged, key=lambda found: found.objective)
    best = min(best, problem.settle(best.weights, best.shares), key=lambda found: found.objective)
    used = np.flatnonzero(best.weights)
    return [listed[place] for place in used], best.weights[used], best.objective


# The best precisions of components for Gaussian noise, and the lower bound that they give for any noise.
#
# With precision m_S on the component S the problem is convex: minimise sum_S v_S / m_S where every set D of attributes
# that a secret pair changes has sum_S c_DS m_S <= 1 (that is, twice rho). Its dual has one number for each set D and,
# where the worst table counts, one for each table: maximise (sum_S sqrt(a_S b_S))^2 with a = spread' y, b = c' mu, over
# y and mu that sum to 1. This is concave in both together; Newton's method with a logarithmic barrier solves it, and
# the dual value is a proof of how good the precisions are. Proof: ``docs/proofs/tables.md``.

MOST_CHANGES = 1 << 14
"""The largest number of shapes of changed sets that are all looked at."""
MOST_ADDED = 24
"""The most broken limits that are added at once."""
MOST_CHOSEN = 250
"""The number of limits from which on no more are added: the bound stays valid, and precisions are scaled to all."""
FINEST = {False: 1e-13, True: 1e-8}
"""The accuracy of the mean, and of the worst table."""
FLOOR = 1e-8
MOST_WORK = 300_000_000
"""The most multiplications in a Newton step; beyond it multiplicative steps approach the optimum."""
BLOCK = 1 << 20


def best_precisions(lattice: TableLattice) -> tuple[Floats, float]:
    """Solve the program with the changes that matter, found one after another.

    Return the precisions of the components for a largest squared change of 1, and what is best possible.
    """
    changes, complete = _changes(lattice)
    costs = _costs(lattice, changes)
    # Begin with the changes of a single attribute, of everything, and of presence.
    longest = max(map(len, changes), default=0)
    begin = [place for place, shape in enumerate(changes) if len(shape) in {1, longest}]
    chosen = np.array([*begin, *range(len(changes), costs.shape[0])])
    accuracy = 1e-3
    while True:
        precisions, bound = _solve(lattice, costs[chosen], accuracy)
        loads = costs @ precisions
        loads[chosen] = 0.0
        broken = np.argsort(loads)[-MOST_ADDED:]
        broken = broken[loads[broken] > 1 + accuracy]
        if len(broken) and len(chosen) < MOST_CHOSEN:
            chosen = np.append(chosen, broken)
        elif accuracy <= FINEST[lattice.importance is None]:
            break
        else:
            accuracy = max(accuracy * 1e-3, FINEST[lattice.importance is None])
    # not all changes were looked at if they are very many: the sum of the largest costs is at least the cost of any
    return precisions / ((costs @ precisions).max() if complete else dense(costs.max(axis=0)) @ precisions), bound


def _changes(lattice: TableLattice) -> tuple[list[Shape], bool]:
    """List what may change: every part of the sets in ``changed`` if these are few, else parts of one and all."""
    found: dict[Shape, None] = {}
    few = sum(prod(count + 1 for count in Counter(shape).values()) for shape in lattice.changed) <= MOST_CHANGES
    for shape in lattice.changed:
        counts = Counter(shape)
        if few:
            for choice in product(*(range(count + 1) for count in counts.values())):
                part = tuple(kind for kind, times in zip(counts, choice, strict=True) for _ in range(times))
                found[part] = None
        else:
            found.update(dict.fromkeys([*((kind,) for kind in counts), shape]))
    found.pop((), None)
    return list(found), few


def _costs(lattice: TableLattice, changes: list[Shape]) -> Matrix:
    """Return by how much each change, and presence last, moves all components of each shape, squared, at precision 1.

    A change of the attributes D moves the component S by 2 prod_S (1 - 1/k) (1 - prod_{S and D} (-1 / (k - 1))).
    Over the sets S of one shape the product becomes, kind by kind, a sum over the size of the intersection.
    """
    kinds, components = lattice.kinds, lattice.components
    shares: dict[tuple[int, int], Floats] = {}
    for kind, count in {pair for shape in changes for pair in Counter(shape).items()}:
        inside = np.array([shape.count(kind) for shape in components])
        members, ratio = len(kinds.members[kind]), lattice.along[kind].ratio
        table = [_overlap(members, ratio, count, chosen) for chosen in range(inside.max(initial=0) + 1)]
        shares[kind, count] = np.array(table)[inside]
    presence = np.array(
        [kinds.number(shape) * prod(lattice.along[kind].norm for kind in shape) for shape in components]
    )
    rows = [np.zeros((0, len(components))), *([presence[None]] if lattice.presence else [])]
    block = max(1, BLOCK // len(components))
    for first in reversed(range(0, len(changes), block)):
        same = [np.prod([shares[pair] for pair in Counter(shape).items()], axis=0) for shape in changes[first:][:block]]
        rows.insert(0, compact(presence * 2 * (1 - np.array(same))))
    return compact(stacked(rows))


def _overlap(members: int, ratio: float, changed: int, chosen: int) -> float:
    """Return the mean of ratio^overlap over the sets of chosen attributes of a kind, some of which change."""
    return sum(
        comb(changed, both) * comb(members - changed, chosen - both) / comb(members, chosen) * ratio**both
        for both in range(min(changed, chosen) + 1)
    )


def _solve(lattice: TableLattice, costs: Matrix, accuracy: float) -> tuple[Floats, float]:
    """Return precisions that are optimal for these costs, scaled to a largest cost of 1, and the dual value."""
    spread = lattice.spread
    if lattice.importance is not None:
        spread = (lattice.importance @ spread)[None]
    if (costs.shape[0] + spread.shape[0]) ** 2 * len(lattice.components) <= MOST_WORK:
        tables, changes = _newton(spread, costs, accuracy)
    else:
        tables, changes = _multiplicative(spread, costs)
    importance, multipliers = tables @ spread, changes @ costs
    precisions = np.sqrt(importance / multipliers)
    return precisions / (costs @ precisions).max(), float(np.sqrt(importance * multipliers).sum() ** 2)


def _newton(spread: Matrix, costs: Matrix, accuracy: float) -> tuple[Floats, Floats]:
    """Maximise 2 sum sqrt(a b) - sum mu over y and mu >= 0 with sum y = 1, by a primal-dual interior method.

    Steps are relative, t = dx / x. With slacks z of x >= 0 the equations are (X (-H) X + X Z) t = X gradient + barrier.
    Sparse routines do the algebra: on a busy machine the threads of dense ones wait for each other, for seconds.
    """
    tables, changes = spread.shape[0], costs.shape[0]
    y, mu = np.full(tables, 1 / tables), np.full(changes, 1 / changes)
    spread = spread / np.sqrt((y @ spread) * (mu @ costs)).sum() ** 2
    slacks = 0.1 / np.concatenate([y, mu])
    # no table's share is 0: else the precisions of components that only slack tables need would be 0/0
    least = FLOOR / tables if tables > 1 else 0.0
    for _ in range(200):
        a, b = (y + least) @ spread, mu @ costs
        root = np.sqrt(a * b)
        cells, loads = spread @ (root / a), costs @ (root / b)
        if cells.max() * loads.max() * mu.sum() <= root.sum() ** 2 * (1 + accuracy):
            break
        x, total = np.concatenate([y, mu]), np.concatenate([y, np.zeros(changes)])
        barrier = 0.1 * (x @ slacks) / len(x)
        # the outer product changes no step that keeps sum y, and makes the matrix definite where both scales grow
        matrix = _curvature(
            spread * (np.sqrt(root / 2) / a) * y[:, None], costs * (np.sqrt(root / 2) / b) * mu[:, None]
        )
        matrix += np.outer(total, total) + np.diag(x * slacks)
        right = np.concatenate([y * cells, mu * (loads - 1)]) + barrier
        solved = _solved(matrix, np.column_stack([right, total]))
        step = solved[:, 0] - solved[:, 1] * (total @ solved[:, 0]) / (total @ solved[:, 1])
        change = barrier / (x * slacks) - 1 - step
        x = x * (1 + step * min(1.0, -0.9 / min(step.min(), -1e-300)))
        y, mu = x[:tables], x[tables:]
        slacks = slacks * (1 + change * min(1.0, -0.9 / min(change.min(), -1e-300)))
    shares = y + least
    return shares / shares.sum(), mu / mu.sum()


def _solved(matrix: Floats, right: Floats) -> Floats:
    if len(matrix) <= FEW:
        return np.linalg.solve(matrix, right).astype(np.float64)
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    return splu(csc_array(matrix)).solve(right)


def _curvature(tables: Matrix, changes: Matrix) -> Floats:
    """Return minus the second derivatives of 2 sum sqrt(a b): for each component the square of one vector."""
    every = dense(changes)
    both = -(tables @ every.T)
    return np.block([[dense(tables @ turned(tables)), both], [both.T, np.einsum("is,js->ij", every, every)]])


def _multiplicative(spread: Matrix, costs: Matrix) -> tuple[Floats, Floats]:
    """Approach the optimum where Newton's method is too large: raise what is too large, by a power of its excess."""
    tables, changes = (np.full(rows, 1 / rows) for rows in (spread.shape[0], costs.shape[0]))
    for _ in range(300):
        a, b = tables @ spread, changes @ costs
        root = np.sqrt(a * b)
        tables = tables * (spread @ (root / a)) ** 0.9
        changes = changes * (costs @ (root / b)) ** 0.9
        tables, changes = tables / tables.sum(), changes / changes.sum()
    return tables, changes


# The best way to measure a set of tables together.
#
# Pure numerics on public numbers: sizes, tables, and which attributes are secret together. What is certified is derived
# again from the weights that the mechanism holds, so nothing here can break a promise; it can only make noise larger.
# Proof: ``docs/proofs/tables.md``.

MOST_APART = 1000
"""Up to this number of components interchangeable attributes may be treated differently, which can gain a little."""


@dataclass(frozen=True, eq=False)
class Design:
    """What is measured, how precisely, and how good that is.

    ``measured`` has the attributes of each measurement, and those of them (binary) that are measured as a sign. For
    pure epsilon (L1) ``weights`` are 1/b for a largest loss of exactly 1; for L2 the measurements are components, and
    the weights their precisions for a largest squared change of 1. An infinite weight means exact: no secret pair
    changes the table, which is listed because tables asked for need it. (Where records do not come and go the empty
    table, the number of records, is known and not listed.)

    ``objective`` is the variance asked to be small, and no unbiased linear strategy of the same noise has a smaller
    one than ``bound``: for L2 the optimum, for L1 twice that. This takes any two values that differ within a set of
    ``changed`` to be a secret pair (full-domain and attribute secrets, public attributes, records that come and go);
    where only some are (thresholds, partitions), it holds for strategies that treat all values of an attribute equally
    if every part of a changed set is changed by some pair.
    """

    measured: tuple[tuple[Axes, Axes], ...]
    weights: Floats
    bound: float
    objective: float


def best_design(wanted: WantedTables, norm: Norm = Norm.L1) -> Design:
    """Plan how to measure the tables."""
    arranged = lattice(wanted)
    exact = [(axes, ()) for axes in exact_tables(wanted)]
    if not arranged.components:
        return Design(tuple(exact), np.full(len(exact), np.inf), 0.0, 0.0)
    weights, bound = best_precisions(arranged)
    if norm is Norm.L2:
        shapes, objective = [(shape, ()) for shape in arranged.components], arranged.objective(1 / weights)
    else:
        if sum(map(arranged.kinds.number, arranged.components)) <= MOST_APART:
            arranged = lattice(wanted, apart)
        shapes, weights, objective = best_weights(arranged)
        bound *= 2
    members = [_members(arranged, shape) for shape in shapes]
    measured = [one for several in members for one in several]
    repeated = np.repeat(weights, [len(several) for several in members])
    return Design((*measured, *exact), np.append(repeated, np.full(len(exact), np.inf)), bound, objective)


def _members(arranged: TableLattice, measurement: Measurement) -> list[tuple[Axes, Axes]]:
    """List the measurements of a shape."""
    shape, signs = measurement
    kind = {axis: number for number, axes in enumerate(arranged.kinds.members) for axis in axes}
    if not signs:
        return [(axes, ()) for axes in arranged.kinds.sets(shape)]
    return [
        (axes, chosen)
        for axes in arranged.kinds.sets(shape)
        for chosen in combinations(axes, len(signs))
        if tuple(sorted(kind[axis] for axis in chosen)) == signs
    ]
