"""The plain hierarchical mechanism as the paper builds it: nodes are cut into equal children, down to single values.

Every node but the root gets noise of scale 2 h / epsilon. A record that moves changes two nodes on each of the h levels
by one, which loses epsilon; this part of the paper holds as printed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from statistics import geometric_mean
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_lab.paper import data
from blowfish_lab.paper.figure import (
    FULL,
    OURS,
    SOUND,
    Curves,
    FigureRun,
    Measured,
    Point,
    Row,
    are_numbers,
    ratios_to_ours,
    span,
)
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.graphs import DistanceThreshold, FullDomain
from blowfish_privacy.mechanisms import OrderedFamily, OrderedHierarchical
from blowfish_privacy.mechanisms.ordered.ordered_family import nearest_in_squares
from blowfish_privacy.mechanisms.ordered.ordered_hierarchical import Tree
from blowfish_privacy.noise import SystemSource, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Cumulative
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.support.arrays import Floats


def widths(size: int, fan_out: int) -> list[int]:
    """Return the widths of the nodes from the root down to single values."""
    levels = [size]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // fan_out))
    return levels


def prefix_errors(sizes: list[int], scale: Fraction) -> Floats:
    """Draw the noise of all nodes; return what it adds to the number of records below every cut point.

    It does not depend on the records: the answer is the exact count plus the noise of the nodes that make it up.
    """
    cuts = np.arange(sizes[0] + 1)
    errors = np.zeros(sizes[0] + 1)
    inside = cuts.copy()
    parent = np.zeros_like(cuts)
    for wide, narrow in pairwise(sizes):
        children = -(-wide // narrow)
        noise = discrete_laplace(scale, (int(parent.max()) + 1, children))
        before = np.concatenate([np.zeros((len(noise), 1)), np.cumsum(noise, axis=1)], axis=1)
        child = inside // narrow
        errors += before[parent, child]
        # A node that lies wholly before the cut is counted above; the cut goes on inside the next one.
        parent, inside = parent * (children + 1) + child, inside - child * narrow
    # The total is public.
    errors[-1] = 0.0
    return errors


def random_range_error(off: Floats, ranges: int, generator: np.random.Generator) -> float:
    """Return the mean squared error of random ranges, from the errors at all cut points."""
    ends = np.sort(generator.integers(0, len(off), (ranges, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return float(np.mean((off[ends[:, 1]] - off[ends[:, 0]]) ** 2))


# Random ranges over one ordered attribute: what Figures 2(b) and 2(c) have in common.

FAN_OUT = 16
SOUND_ORDERED = "paper's mechanism, sound and ordered"
UNORDERED = "ours, not ordered, expected"
_SHARES = 100


class OrderedCurves(Curves):
    """The mean squared error of random ranges."""

    thresholds: ClassVar[dict[str, int | None]]
    """The longest secret step of every policy, in values; None for the full domain."""
    at_one: ClassVar[dict[str, float]]
    """What the paper's figure shows at epsilon = 1."""
    quantity = "mean squared error of a random range"
    methods = (SOUND, SOUND_ORDERED, OURS)
    colours = {SOUND: "tab:orange", SOUND_ORDERED: "tab:brown"}

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self.thresholds)

    @property
    def read(self) -> int:
        return len(self.at_one)

    @abstractmethod
    def counts(self, run: FigureRun) -> npt.NDArray[np.int64]:
        """Return the histogram."""

    def published(self, policy: str, epsilon: str) -> float | None:
        return self.at_one[policy] / float(epsilon) ** 2

    def notes(self, run: FigureRun) -> list[str]:
        return [*self.drawn_notes(run), f"'{UNORDERED}' is ours without the ordering step."]

    def drawn_notes(self, run: FigureRun) -> list[str]:
        return [
            *super().notes(run),
            "Published: read off the figure at epsilon = 1, times 1/epsilon^2.",
            "Ours includes the ordering step (the estimate never decreases), which costs no privacy; the published "
            "values do not. With it the paper's mechanism is comparable to ours.",
        ]

    def measure(self, point: Point, run: FigureRun) -> Measured:
        method, policy, epsilon = point
        if method != OURS:
            return super().measure(point, run)
        counts = self.counts(run)
        mechanism = our_mechanism(len(counts), self.thresholds[policy], epsilon, int(counts.sum()))
        return {**super().measure(point, run), "expected": float(mechanism.expected_error().mse)}

    def complete(self, measured: Measured) -> bool:
        return super().complete(measured) and ("expected" not in measured or are_numbers(measured, "expected"))

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        made = super().rows(measured, run)
        for row in made:
            row[UNORDERED] = measured[OURS, row["policy"], f"{row['epsilon']:.1f}"].get("expected", "")
        return made

    def repeated(self, method: str, policy: str, epsilon: str, run: FigureRun) -> Floats:
        counts, theta = self.counts(run), self.thresholds[policy]
        truth = np.append(0, np.cumsum(counts))
        generator, errors = np.random.default_rng(), list[float]()
        for _ in range(run.repeats):
            estimate = self._estimate(method, counts, theta, epsilon)
            errors.append(random_range_error(estimate - truth, run.ranges, generator))
        return np.array(errors)

    def _estimate(self, method: str, counts: npt.NDArray[np.int64], theta: int | None, epsilon: str) -> Floats:
        """Release once; return the estimated number of records below every cut point."""
        size, records = len(counts), int(counts.sum())
        if method == OURS:
            mechanism = our_mechanism(size, theta, epsilon, records)
            return np.append(0.0, mechanism.shown_estimate(mechanism.measure(counts, SystemSource()), records))
        if theta is None:
            levels = widths(size, FAN_OUT)
            off = prefix_errors(levels, 2 * (len(levels) - 1) / Fraction(epsilon))
            estimate = np.append(0, np.cumsum(counts)) + off
        else:
            mechanism = paper_mechanism(size, theta, epsilon)
            estimate = np.append(0.0, mechanism.estimate(mechanism.measure(counts, SystemSource()), records))
        return estimate if method == SOUND else in_order(estimate, records)

    def summary(self, rows: list[Row]) -> list[str]:
        said: list[str] = []
        for policy in self.policies:
            ratios = ratios_to_ours([row for row in rows if row.get("policy") == policy], SOUND_ORDERED)
            if ratios:
                often = f"{geometric_mean(ratios):.2g} times the squared error of ours ({span(ratios)} by epsilon)"
                said.append(f"{policy}: the {SOUND_ORDERED}, has {often}.")
        return [*said, *super().summary(rows)]


def in_order(estimate: Floats, records: int) -> Floats:
    """Return the nearest estimate that never decreases, from nobody below the first cut point to all below the last."""
    return np.concatenate([[0.0], np.clip(nearest_in_squares(estimate[1:]), 0.0, records)[:-1], [float(records)]])


def policy_of(size: int, theta: int | None) -> Policy:
    """Make a policy on one ordered attribute."""
    secrets = FullDomain() if theta is None else DistanceThreshold(theta)
    return Policy(Domain(value=Integer(0, size - 1)), secrets=secrets)


@lru_cache(maxsize=64)
def our_mechanism(size: int, theta: int | None, epsilon: str, records: int) -> OrderedFamily:
    """Return the mechanism that the library chooses by default."""
    mechanism = make_plan(Cumulative("value"), policy_of(size, theta), epsilon=epsilon, records=records).mechanism
    if not isinstance(mechanism, OrderedFamily):
        raise TypeError(f"{mechanism.name} does not order its estimate.")
    return mechanism


@lru_cache(maxsize=64)
def paper_mechanism(size: int, theta: int | None, epsilon: str) -> OrderedFamily:
    """Return the paper's ordered hierarchical mechanism, blocks of theta and fan-out 16, with a sound budget.

    The split between prefixes and trees is the one with the smallest error, as in the paper.
    """
    policy, amount = policy_of(size, theta), Fraction(epsilon)
    block = min(theta or size, size)
    tree, form = Tree(size, block, FAN_OUT), Cumulative("value").on(policy.domain)
    reach = min(theta or size - 1, size - 1)
    crossed, levels = tree.most_crossed(reach), tree.height
    shares = (
        [Fraction(share, _SHARES) for share in range(1, _SHARES)] if crossed and levels else [Fraction(bool(crossed))]
    )
    made = [
        OrderedHierarchical(
            form,
            tree,
            crossed / (share * amount) if crossed else Fraction(0),
            2 * levels / ((1 - share) * amount) if levels else Fraction(0),
        )
        for share in shares
    ]
    best = min(made, key=_range_error)
    if best.certify(policy).amount != amount:
        raise ArithmeticError("the paper's mechanism must be compared at the same loss.")
    return best


def _range_error(mechanism: OrderedHierarchical) -> float:
    trace, together, _ = mechanism.moments()
    return (mechanism.size + 1) * trace - together


class Figure2b(OrderedCurves):
    """4,357 values, seven thresholds."""

    name = "2b"
    title = "Figure 2(b): ranges of capital loss (Adult)"
    real_data = ("adult.csv",)
    thresholds = {FULL: None, **{f"theta {theta}": theta for theta in (1000, 500, 100, 50, 10, 1)}}
    at_one = dict(zip(thresholds, (3500, 3000, 2900, 1000, 850, 200, 4), strict=True))

    def counts(self, run: FigureRun) -> npt.NDArray[np.int64]:
        return data.capital_loss(run)


class Figure2c(OrderedCurves):
    """256 cells of 8.7 km stand for the paper's 400 of 5.6 km; distances are rounded up, to protect no less."""

    name = "2c"
    title = "Figure 2(c): ranges of latitude (Twitter)"
    meaning = "km: places at most so far apart are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    thresholds = {FULL: None, "500 km": 58, "50 km": 6, "5 km": 1}
    at_one = dict(zip(thresholds, (1200, 900, 190, 4), strict=True))

    def counts(self, run: FigureRun) -> npt.NDArray[np.int64]:
        return data.tweets(run).sum(axis=0)

    def drawn_notes(self, run: FigureRun) -> list[str]:
        return [
            *super().drawn_notes(run),
            "256 latitudes stand for the paper's 400; distances in km are the same. A tree of fan-out 16 needs "
            "2 levels over 256 values and 3 over 400, so the plain tree does better here than in the paper.",
        ]
