"""The grid hierarchy: products of overlapping bins along two attributes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any, Self, TypeAlias

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.flow_family import bound_grid
from blowfish_privacy.mechanisms.grid.product_family import Levels, Pair, ProductFamily
from blowfish_privacy.mechanisms.mechanism import check_secret_size
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import sensitivity_of, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.exact import exact, rounded

Spacings: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class GridHierarchy(ProductFamily):
    """Noisy products of hats: for every spacing along one attribute and every spacing along the other.

    Privacy: (epsilon, P)-Blowfish with epsilon = 2 (pairs of spacings) / loss scale: a record's weights in one pair of
        levels are non-negative and add up to a constant, so a move changes them by at most twice that constant.
    Sensitivity: 2 for every pair of spacings, in records; attained by a move to cells without a common node. Where the
        number of records is secret, 1 for every pair and for the noisy total when a record comes or goes, and
        2 min(1, |d1| / g1 + |d2| / g2) for a pair when it moves by (d1, d2).
    Error: separable: the sum over pairs of noise variance times the two mean squared weights of random ranges.
    Cost: time and memory linear in the number of cells times the number of pairs.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/grid_flow.md
    """

    form: HistogramForm
    spacings: Spacings
    scale: Fraction
    """The noise scale of a row counted in records; whole-number rows get it times both spacings. 0 means no noise."""
    total: Fraction | None = None
    """The noise scale of the number of records, where it is secret and so measured too."""

    name = "grid-hierarchy"
    noise = LAPLACE_ROWS

    @property
    def sides(self) -> Levels:
        """Hats of the spacings, whose whole-number rows have noise in proportion to them."""
        return _levels(self.spacings)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose one coarse spacing along each attribute, or none, by the exact error."""
        form = bound_grid(query, policy)
        if not sensitivity_of(form, policy).value:
            return cls(form, ((1,), (1,)), Fraction(0))
        neighbours = steps(policy, form.domain.names)
        amount = epsilon / neighbours.rows
        first, second = (_spacings(size) for size in form.domain.shape)
        made = [
            cls(form, side, *scales)
            for side in product(first, second)
            for scales in cls.scales(_levels(side), policy, neighbours.graph, amount)
        ]
        best = min(made, key=lambda each: each.expected_error().mse)
        check_secret_size(policy, best.heaviest)
        return best

    @classmethod
    def most_moved(cls, two: Pair, policy: Policy, graph: SecretGraph) -> Fraction:
        """Bound the change by twice the weights, or less on short moves where the number of records is secret."""
        (first, second), share = two, Fraction(1)
        if policy.size == "unknown":
            share = min(share, graph.longest_move((Fraction(1, first.unit), Fraction(1, second.unit))))
        return 2 * share * first.unit * second.unit

    def words(self) -> str:
        """State the spacings along both attributes and the scale."""
        first, second = map(quoted, self.form.domain.names)
        return (
            f"Noise of scale {rounded(self.scale)} records goes on products of overlapping bins "
            f"{list(self.spacings[0])} apart along {first} and {list(self.spacings[1])} along {second}"
            + (f", and of scale {rounded(self.total)} on the number of records." if self.total else ".")
        )

    def to_document(self) -> dict[str, Any]:
        """Write spacings and scales."""
        total = {} if self.total is None else {"total": {"scale": str(self.total)}}
        spacings = [list(spacings) for spacings in self.spacings]
        return {"name": self.name, "spacings": spacings, "scale": str(self.scale), **total}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read spacings and scales."""
        first, second = (tuple(spacings) for spacings in written["spacings"])
        if not first or not second or any(type(g) is not int or g < 1 for g in (*first, *second)):
            raise SpecError("the document is damaged: a spacing is not a positive whole number.")
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        parts = (written, written["total"]) if "total" in written else (written,)
        scales = (exact(part["scale"], "a noise scale", error=SpecError) for part in parts)
        return cls(bound_grid(query, policy), (first, second), *scales)


def _levels(spacings: Spacings) -> Levels:
    first, second = (tuple(DifferenceLevel(g, Fraction(g)) for g in along) for along in spacings)
    return first, second


def _spacings(size: int) -> list[tuple[int, ...]]:
    root = sqrt(size)
    coarse = sorted({round(root * factor) for factor in (0.8, 1.2)})
    return [(1,), *((1, g) for g in coarse if 2 < g < size)]
