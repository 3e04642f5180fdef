"""The grid hierarchy with Gaussian noise, for budgets in rho."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any, Self

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.grid.flow_family import bound_grid
from blowfish_privacy.mechanisms.grid.product_family import Levels, Pair, ProductFamily
from blowfish_privacy.mechanisms.mechanism import check_secret_size
from blowfish_privacy.mechanisms.ordered.level_choice import precise_line
from blowfish_privacy.mechanisms.ordered.levels import DifferenceLevel
from blowfish_privacy.mechanisms.ordered.segment import level_to_document, levels_of_hats
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import squared_sensitivity, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.exact import exact


@dataclass(frozen=True, eq=False)
class GaussianGrid(ProductFamily):
    """Products of hats that overlap twice, with Gaussian noise: for every level along one attribute and the other.

    Privacy: (rho, P)-zero-concentrated Blowfish, rho = the sum over every two levels of squared change / (2 variance).
    Sensitivity: for every two levels twice the squares of a record's weights, at most, and less on short moves. Where
        the number of records is secret, the squares themselves and one for the noisy total when a record comes or goes.
    Error: separable: the sum over pairs of noise variance times the two mean squared weights of random ranges.
    Cost: time and memory linear in the number of cells times the number of pairs.
    Numerics: rows are whole numbers with exact integer noise; floating point only afterwards.
    Proof: docs/proofs/grid_flow.md
    """

    form: HistogramForm
    levels: Levels
    scale: Fraction
    """By what the product of the scales of two levels is multiplied: the variance of their rows. 0 means no noise."""
    total: Fraction | None = None
    """The variance of the noise on the number of records, where it is secret and so measured too."""

    name = "gaussian-grid"
    counted_in = RHO
    noise = GAUSSIAN_ROWS

    @property
    def sides(self) -> Levels:
        """The levels held."""
        return self.levels

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        """Choose the best levels along each attribute, or the cells alone, by the exact error."""
        form = bound_grid(query, policy)
        single = (DifferenceLevel(1, Fraction(1), GAUSSIAN_ROWS),)
        if not squared_sensitivity(form, policy).value:
            return cls(form, (single, single), Fraction(0))
        neighbours = steps(policy, form.domain.names)
        amount = rho / neighbours.rows**2
        first, second = (dict.fromkeys((single, precise_line(size))) for size in form.domain.shape)
        made = [
            cls(form, levels, *scales)
            for levels in product(first, second)
            for scales in cls.scales(levels, policy, neighbours.graph, amount)
        ]
        best = min(made, key=lambda each: each.expected_error().mse)
        check_secret_size(policy, best.heaviest)
        return best

    @classmethod
    def most_moved(cls, two: Pair, policy: Policy, graph: SecretGraph) -> Fraction:
        """Bound the squared change by twice the squared weights, or by what short moves change."""
        first, second = two
        share = graph.longest_move((Fraction(1, first.unit), Fraction(1, second.unit)))
        short = first.overlap * second.overlap * (share * first.unit * second.unit) ** 2
        return 2 * min(Fraction(first.weight(0, 1) * second.weight(0, 1)), short)

    def words(self) -> str:
        """State the bins along both attributes and how large the noise is."""
        along = (
            f"{[level.spacing for level in levels]} apart along {quoted(name)}"
            for name, levels in zip(self.form.domain.names, self.levels, strict=True)
        )
        deviations = [sqrt(self._variance(*two)) for two in product(*self.levels)]
        total = f", and of {sqrt(self.total):.4g} on the number of records" if self.total else ""
        return (
            f"Gaussian noise goes on products of overlapping bins {' and '.join(along)}, of standard deviation "
            f"{min(deviations):.4g} to {max(deviations):.4g} records{total}."
        )

    def to_document(self) -> dict[str, Any]:
        """Write the levels along both attributes, and the variance."""
        total = {} if self.total is None else {"total": {"variance": str(self.total)}}
        return {"name": self.name, "sides": [*map(_written, self.levels)], "variance": str(self.scale), **total}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the levels and the variance."""
        first, second = (levels_of_hats(side, cls.noise) for side in written["sides"])
        if ("total" in written) != (policy.size == "unknown"):
            raise SpecError("the document is damaged: the total is measured exactly where it is secret.")
        parts = (written, written["total"]) if "total" in written else (written,)
        scales = (exact(part["variance"], "a noise variance", error=SpecError) for part in parts)
        return cls(bound_grid(query, policy), (first, second), *scales)


def _written(levels: Sequence[DifferenceLevel]) -> list[dict[str, Any]]:
    return [level_to_document(level) for level in levels]
