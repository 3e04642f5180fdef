"""Sets of tables: how long planning takes as they grow, what error is expected, and how good that is at most.

    python benchmarks/tables.py [--quick]

Errors are root mean squared errors of a cell at epsilon 1 (rho 1/2 for L2), over all cells of all tables, or of the
worst cell; they depend on the sizes of the attributes only. The gap is how far the variance is above a proven lower
bound: that of the best Gaussian strategy, or (L1) one that no Laplace strategy can pass. After the plans follow what
``gaussian-marginals`` makes of them: seconds to plan and to certify, errors at rho 1/2 and at epsilon 1 with delta
1e-9, the gap, and how many times rho a whole record loses.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import prod, sqrt
from time import perf_counter

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import GaussianMarginals
from blowfish_privacy.mechanisms.tables.planning import PlanningProblem, WantedTables, best_design
from blowfish_privacy.mechanisms.tables.shapes import lattice, measurements
from blowfish_privacy.privacy.measure import rho_of
from blowfish_privacy.privacy.sensitivity import Norm
from report import AHEAD, OURS, Row

ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)
"""The sizes of 13 attributes of Adult."""
PUBLISHED = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
"""The sizes that ResidualPlanner was published for: 3.0468, 6.3587 and 10.5153 under add-or-remove privacy."""
MANY = 51
SECRETS = {"full": bp.FullDomain(), "attributes": bp.Attributes(), "add-remove": bp.AddRemove()}
STRONGER = "bounded differential privacy, which protects whole records: a stronger promise than attribute secrets"


def wanted(sizes: Sequence[int], ways: Sequence[int], objective: str, secrets: str) -> WantedTables:
    """Ask for all tables of so many attributes."""
    axes = range(len(sizes))
    tables = tuple(chain.from_iterable(combinations(axes, count) for count in ways))
    changed = (frozenset(axes),) if secrets == "full" else tuple(frozenset({axis}) for axis in axes)
    return WantedTables(tuple(sizes), tables, "worst" if objective == "worst" else "mean", changed, presence=False)


def timed(asked: WantedTables, norm: Norm) -> tuple[float, float, float]:
    """Return seconds, error and gap of a plan."""
    start = perf_counter()
    design = best_design(asked, norm)
    return perf_counter() - start, sqrt(design.objective), design.objective / design.bound - 1


def each_alone(asked: WantedTables) -> float:
    """Return the error where every table has the same noise and is left as it is."""
    loss = max(sum(2 for table in asked.tables if changed & set(table)) for changed in asked.changed)
    return sqrt(2) * loss


def weighted_marginals(asked: WantedTables) -> float:
    """Return the error of HDMM's way with marginals: the best weights on all tables within those asked for."""
    arranged = lattice(asked)
    listed = [(shape, ()) for shape in arranged.components]
    shares = arranged.importance
    if shares is None:
        shares = np.full(len(arranged.tables), 1 / len(arranged.tables))
    problem = PlanningProblem(arranged, measurements(arranged, listed))
    starts = (np.ones(len(listed)), np.array([float(shape in arranged.tables) for shape, _ in listed]))
    return sqrt(min(problem.settle(start, shares).objective for start in starts))


def gaussian(sizes: Sequence[int], ways: Sequence[int], objective: str, secrets: str) -> list[float]:
    """Plan and certify with Gaussian noise on components."""
    domain = bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(sizes)})
    policy = bp.Policy(domain, secrets=SECRETS[secrets])
    tables = chain.from_iterable(combinations(domain.names, count) for count in ways)
    query, records = bp.Tables(list(tables), objective=objective), None if secrets == "add-remove" else 10_000
    start = perf_counter()
    mechanism = GaussianMarginals.calibrated(query, policy, rho=Fraction(1, 2), records=records)
    planned = perf_counter()
    certificate = mechanism.certify(policy)
    certified = perf_counter()
    error = mechanism.expected_error().rmse
    whole = mechanism.certify(bp.Policy(domain, secrets=bp.FullDomain())).amount / certificate.amount
    small = error * sqrt(certificate.amount / rho_of(Fraction(1), Fraction(1, 10**9)))
    return [planned - start, certified - planned, error, small, mechanism.gap or 0.0, float(whole)]


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
            error = gaussian(ADULT, [ways], "mean", secrets)[2]
            # The squared change of each table is 2: at rho 1/2, so many tables need noise of twice that variance.
            alone = sqrt(each_alone(asked) / sqrt(2))
            at_rho = f"{claim}, rho 1/2"
            found += [
                Row.of(claim, "each table alone, own version", OURS, AHEAD, [each_alone(asked) / ours]),
                Row.of(claim, "HDMM-like weights of marginals, own version", promise, AHEAD, [marginals / ours]),
                Row.of(at_rho, "each table alone, Gaussian noise, own version", OURS, AHEAD, [alone / error]),
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
    print("\nattributes           objective secrets     plan     certify  rho 1/2  (1, 1e-9) gap      whole record")
    cases = [case for case in cases if "unlike" not in case[0] and case[1][0] in (ADULT[0], 10)]
    listed = [(*case, objective, "attributes") for case in cases for objective in ("mean", "worst")]
    listed += [(*case, "mean", "full") for case in cases]
    listed += [(f"published, {count}-way", PUBLISHED, [count], "mean", "add-remove") for count in (1, 2, 3)]
    for name, sizes, ways, objective, secrets in listed:
        if len(sizes) < (MANY if quick or objective == "worst" else 2 * MANY):
            figures = gaussian(sizes, ways, objective, secrets)
            shown = " ".join(f"{figure:<8.4g}" for figure in figures)
            print(f"{name:<20} {objective:<9} {secrets:<11} {shown}", flush=True)


if __name__ == "__main__":
    main()
