"""Sets of tables: how long planning takes as they grow, what error is expected, and how good that is at most.

    python benchmarks/tables.py [--quick]

Errors are root mean squared errors of a cell at epsilon 1 (rho 1/2 for L2), over all cells of all tables, or of the
worst cell; they depend on the sizes of the attributes only. The gap is how far the variance is above a proven lower
bound: that of the best Gaussian strategy, or (L1) one that no Laplace strategy can pass.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain, combinations
from math import prod, sqrt
from time import perf_counter

import numpy as np

from blowfish_privacy.mechanisms.tables.planning.alternating import Problem
from blowfish_privacy.mechanisms.tables.planning.candidates import measurements
from blowfish_privacy.mechanisms.tables.planning.lattice import lattice
from blowfish_privacy.mechanisms.tables.planning.planning import Wanted, best_design
from blowfish_privacy.privacy.sensitivity import Norm
from report import AHEAD, OURS, Row

ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)
"""The sizes of 13 attributes of Adult."""
STRONGER = "bounded differential privacy, which protects whole records: a stronger promise than attribute secrets"


def wanted(sizes: Sequence[int], ways: Sequence[int], objective: str, secrets: str) -> Wanted:
    """Ask for all tables of so many attributes."""
    axes = range(len(sizes))
    tables = tuple(chain.from_iterable(combinations(axes, count) for count in ways))
    changed = (frozenset(axes),) if secrets == "full" else tuple(frozenset({axis}) for axis in axes)
    return Wanted(tuple(sizes), tables, "worst" if objective == "worst" else "mean", changed, presence=False)


def timed(asked: Wanted, norm: Norm) -> tuple[float, float, float]:
    """Return seconds, error and gap of a plan."""
    start = perf_counter()
    design = best_design(asked, norm)
    return perf_counter() - start, sqrt(design.objective), design.objective / design.bound - 1


def each_alone(asked: Wanted) -> float:
    """Return the error where every table has the same noise and is left as it is."""
    loss = max(sum(2 for table in asked.tables if changed & set(table)) for changed in asked.changed)
    return sqrt(2) * loss


def weighted_marginals(asked: Wanted) -> float:
    """Return the error of HDMM's way with marginals: the best weights on all tables within those asked for."""
    arranged = lattice(asked)
    listed = [(shape, ()) for shape in arranged.components]
    shares = arranged.importance
    if shares is None:
        shares = np.full(len(arranged.tables), 1 / len(arranged.tables))
    problem = Problem(arranged, measurements(arranged, listed))
    starts = (np.ones(len(listed)), np.array([float(shape in arranged.tables) for shape, _ in listed]))
    return sqrt(min(problem.settle(start, shares).objective for start in starts))


def rows(*, quick: bool = False, data: str | None = None) -> list[Row]:
    """Compare the expected error with tables alone and with weighted marginals."""
    found = []
    for ways in (1, 2) if quick else (1, 2, 3):
        for secrets in ("full", "attributes"):
            asked = wanted(ADULT, [ways], "mean", secrets)
            ours = timed(asked, Norm.L1)[1]
            claim = f"root mean squared error of a cell, all {ways}-way tables of Adult, expected, secrets: {secrets}"
            marginals = weighted_marginals(wanted(ADULT, [ways], "mean", "full"))
            promise = OURS if secrets == "full" else STRONGER
            found += [
                Row.of(claim, "each table alone, own version", OURS, AHEAD, [each_alone(asked) / ours]),
                Row.of(claim, "HDMM-like weights of marginals, own version", promise, AHEAD, [marginals / ours]),
            ]
    return found


def main() -> None:
    """Print growth in the number of attributes, of values and of ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print("attributes            tables  cells        objective secrets     noise  seconds  error     gap")
    cases = [(f"Adult, {k}-way", ADULT, [k]) for k in (1, 2, 3)]
    cases += [(f"{d} of {k}, <= 3-way", (k,) * d, [1, 2, 3]) for d in (14, 25, 50, 100) for k in (2, 10, 100)]
    cases += [(f"{d} unlike, 3-way", tuple(range(2, d + 2)), [3]) for d in (10, 20, 40)]
    for name, sizes, ways in cases[:6] if quick else cases:
        for secrets in ("attributes", "full"):
            for objective in ("mean", "worst"):
                asked = wanted(sizes, ways, objective, secrets)
                cells = sum(prod(sizes[axis] for axis in table) for table in asked.tables)
                for norm in (Norm.L1, Norm.L2):
                    seconds, error, gap = timed(asked, norm)
                    print(
                        f"{name:<20} {len(asked.tables):>7}  {cells:<12.3g} {objective:<9} {secrets:<11} {norm.name:<6}"
                        f" {seconds:<8.2f} {error:<9.4g} {gap:.1e}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
