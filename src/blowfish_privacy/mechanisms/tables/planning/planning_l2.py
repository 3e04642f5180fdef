"""The best precisions of components for Gaussian noise, and the lower bound that they give for any noise.

With precision m_S on the component S the problem is convex: minimise sum_S v_S / m_S where every set D of attributes
that a secret pair changes has sum_S c_DS m_S <= 1 (that is, twice rho). Its dual has one number for each set D and,
where the worst table counts, one for each table: maximise (sum_S sqrt(a_S b_S))^2 with a = spread' y, b = c' mu, over
y and mu that sum to 1. This is concave in both together; Newton's method with a logarithmic barrier solves it, and
the dual value is a proof of how good the precisions are. Proof: ``docs/proofs/tables.md``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import comb, prod

import numpy as np

from blowfish_privacy.mechanisms.tables.planning.kinds import Shape
from blowfish_privacy.mechanisms.tables.planning.lattice import Lattice
from blowfish_privacy.support.arrays import FEW, Floats, Matrix, compact, dense, stacked, turned

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


@dataclass(frozen=True, eq=False)
class Precisions:
    """Precisions of the components for a largest squared change of 1, what they give, and what is best possible."""

    precisions: Floats
    objective: float
    bound: float


def best_precisions(lattice: Lattice) -> Precisions:
    """Solve the program with the changes that matter, found one after another."""
    changes, complete = _changes(lattice)
    costs = _costs(lattice, changes)
    chosen = _first(changes, costs.shape[0])
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
    precisions = precisions / ((costs @ precisions).max() if complete else dense(costs.max(axis=0)) @ precisions)
    return Precisions(precisions, lattice.objective(1 / precisions), bound)


def _changes(lattice: Lattice) -> tuple[list[Shape], bool]:
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


def _first(changes: list[Shape], rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Begin with the changes of a single attribute, of everything, and of presence."""
    longest = max((len(shape) for shape in changes), default=0)
    begin = [place for place, shape in enumerate(changes) if len(shape) in {1, longest}]
    return np.array([*begin, *range(len(changes), rows)])


def _costs(lattice: Lattice, changes: list[Shape]) -> Matrix:
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
    presence = _presence(lattice)
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


def _presence(lattice: Lattice) -> Floats:
    return np.array([lattice.kinds.number(shape) * lattice.contrast(shape) for shape in lattice.components])


def _solve(lattice: Lattice, costs: Matrix, accuracy: float) -> tuple[Floats, float]:
    """Return precisions that are optimal for these costs, scaled to a largest cost of 1, and the dual value."""
    spread = lattice.spread
    if lattice.importance is not None:
        spread = (lattice.importance @ spread)[None]
    if (costs.shape[0] + spread.shape[0]) ** 2 * len(lattice.components) <= MOST_WORK:
        tables, changes = _newton(spread, costs, accuracy)
    else:
        tables, changes = _multiplicative(spread, costs)
    importance, prices = tables @ spread, changes @ costs
    precisions = np.sqrt(importance / prices)
    return precisions / (costs @ precisions).max(), float(np.sqrt(importance * prices).sum() ** 2)


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
