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

from blowfish_privacy.mechanisms.tables.kinds import Shape
from blowfish_privacy.mechanisms.tables.lattice import FloatArray, Lattice

MOST_CHANGES = 1 << 14
"""The largest number of shapes of changed sets that are all looked at."""
MOST_UNKNOWNS = 1500
"""The largest Newton system; beyond it multiplicative steps approach the optimum."""


@dataclass(frozen=True, eq=False)
class Precisions:
    """Precisions of the components for a largest squared change of 1, what they give, and what is best possible."""

    precisions: FloatArray
    objective: float
    bound: float


def best_precisions(lattice: Lattice) -> Precisions:
    """Solve the program with the changes that matter, found one after another."""
    changes, complete = _changes(lattice)
    costs = _costs(lattice, changes)
    if lattice.presence:
        costs = np.vstack([costs, _presence(lattice)])
    sound = np.ones(len(lattice.components)) if complete else costs.max(axis=0)
    chosen = _first(changes, len(costs))
    while True:
        precisions, bound = _solve(lattice, costs[chosen])
        loads = costs @ precisions
        worst = np.setdiff1d(np.argsort(loads)[-8:], chosen)
        if not len(worst) or loads[worst].max() <= 1 + 1e-11:
            break
        chosen = np.append(chosen, worst[loads[worst] > 1])
    precisions = precisions / (loads.max() if complete else precisions @ sound)
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


def _costs(lattice: Lattice, changes: list[Shape]) -> FloatArray:
    """Return by how much each change moves all components of each shape, squared, at precision 1.

    A change of the attributes D moves the component S by 2 prod_S (1 - 1/k) (1 - prod_{S and D} (-1 / (k - 1))).
    Over the sets S of one shape the product becomes, kind by kind, a sum over the size of the intersection.
    """
    kinds, components = lattice.kinds, lattice.components
    shares: dict[tuple[int, int], FloatArray] = {}
    for kind, count in {pair for shape in changes for pair in Counter(shape).items()}:
        inside = np.array([shape.count(kind) for shape in components])
        members, size = len(kinds.members[kind]), kinds.sizes[kind]
        table = [_overlap(members, size, count, chosen) for chosen in range(inside.max(initial=0) + 1)]
        shares[kind, count] = np.array(table)[inside]
    same = [np.prod([shares[pair] for pair in Counter(shape).items()], axis=0) for shape in changes]
    return _presence(lattice) * 2 * (1 - np.array(same).reshape(len(changes), len(components)))


def _overlap(members: int, size: int, changed: int, chosen: int) -> float:
    """Return the mean of (-1 / (k - 1))^overlap over the sets of chosen attributes of one kind, some of which change."""
    return sum(
        comb(changed, both) * comb(members - changed, chosen - both) / comb(members, chosen) * (-1 / (size - 1)) ** both
        for both in range(min(changed, chosen) + 1)
    )


def _presence(lattice: Lattice) -> FloatArray:
    return np.array([lattice.kinds.number(shape) * lattice.contrast(shape) for shape in lattice.components])


def _solve(lattice: Lattice, costs: FloatArray) -> tuple[FloatArray, float]:
    """Return precisions that are optimal for these costs, scaled to a largest cost of 1, and the dual value."""
    spread = lattice.spread.toarray() if lattice.importance is None else (lattice.importance @ lattice.spread)[None]
    used = spread.max(axis=0) > 0
    if len(costs) + len(spread) <= MOST_UNKNOWNS:
        tables, changes = _newton(spread[:, used], costs[:, used])
    else:
        tables, changes = _multiplicative(spread[:, used], costs[:, used])
    importance, prices = tables @ spread, changes @ costs
    precisions = np.sqrt(importance / prices)
    return precisions / (costs @ precisions).max(), float(np.sqrt(importance * prices).sum() ** 2)


def _newton(spread: FloatArray, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Maximise 2 sum sqrt(a b) - sum mu + barrier, with sum y = 1, by Newton steps along the central path."""
    tables, changes = len(spread), len(costs)
    both = np.vstack([spread, costs])
    x = np.concatenate([np.full(tables, 1 / tables), np.full(changes, 1 / changes)])
    scale = np.sqrt((x[:tables] @ spread) * (x[tables:] @ costs)).sum()
    both[:tables] /= scale**2
    linear = np.concatenate([np.zeros(tables), np.ones(changes)])
    ones = 1 - linear
    barrier = 1.0
    for _ in range(300):
        a, b = x[:tables] @ both[:tables], x[tables:] @ both[tables:]
        root = np.sqrt(a * b)
        slopes = np.concatenate([both[:tables] @ (root / a), both[tables:] @ (root / b)]) - linear
        gradient = slopes + barrier / x
        # second derivatives of 2 sqrt(a b): -root / (2 a^2), root / (2 a b), -root / (2 b^2): one square of rank 1
        factors = np.concatenate([both[:tables] * (np.sqrt(root / 2) / a), -both[tables:] * (np.sqrt(root / 2) / b)])
        scaled = factors * x[:, None]
        total = ones * x
        # the outer product changes no step that keeps sum y, and makes the matrix definite where both scales grow
        hessian = scaled @ scaled.T + np.outer(total, total) + np.diag(np.full(len(x), barrier))
        solved = np.linalg.solve(hessian, np.column_stack([gradient * x, total]))
        towards = solved[:, 0] - solved[:, 1] * (total @ solved[:, 0]) / (total @ solved[:, 1])
        length = np.sqrt(max(towards @ hessian @ towards / barrier, 0.0))
        x = x * (
            1 + towards * min(1.0, 0.95 / max(-towards.min(), 1e-300)) if length < 1 else 1 + towards / (1 + length)
        )
        if length < 0.5:
            if barrier < 1e-14:
                break
            barrier *= 0.2
    return x[:tables] / x[:tables].sum(), x[tables:] / x[tables:].sum()


def _multiplicative(spread: FloatArray, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Approach the optimum where Newton's method is too large: raise what is too large, by a power of its excess."""
    tables, changes = np.full(len(spread), 1 / len(spread)), np.full(len(costs), 1 / len(costs))
    for _ in range(1000):
        a, b = tables @ spread, changes @ costs
        root = np.sqrt(a * b)
        total = root.sum()
        tables = tables * (spread @ (root / a) / total) ** 0.9
        changes = changes * (costs @ (root / b) / total) ** 0.9
        tables, changes = tables / tables.sum(), changes / changes.sum()
    return tables, changes
