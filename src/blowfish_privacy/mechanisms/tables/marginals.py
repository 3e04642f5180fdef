"""Noisy tables from which all tables asked for are estimated together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE, check_secret_size
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.design import chosen_blocks, with_blocks
from blowfish_privacy.mechanisms.tables.estimating import check_told, components_of, error_of
from blowfish_privacy.mechanisms.tables.measured import check_ranges, read_blocks, written_blocks
from blowfish_privacy.mechanisms.tables.noisy_pieces import noisy_pieces
from blowfish_privacy.mechanisms.tables.tables_error import TablesError
from blowfish_privacy.mechanisms.tables.tables_mechanism import TablesMechanism, counting
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, is_differential_privacy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.sensitivity import sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries import Query, Tables
from blowfish_privacy.queries.tables import MOST_CELLS, TablesForm
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import about, exact, rounded, rounded_up


@dataclass(frozen=True, eq=False)
class Marginals(TablesMechanism[TablesForm]):
    """Adds discrete Laplace noise to the cells of some tables, each with a scale of its own.

    Privacy: (epsilon, P)-Blowfish, epsilon the largest sum over the tables of 2 / scale that a secret pair changes.
    Sensitivity: of all tables together, each weighted by how precisely it is measured, by the worst secret pair.
    Error: in closed form for every cell, every sum of cells and a random range, after least squares.
    Cost: time and memory linear in the cells of the measured tables; the product of all attributes is never built.
    Numerics: counts are whole numbers, noise is an exact integer; weights are whole numbers of one scale.
    Proof: docs/proofs/tables.md
    """

    form: TablesForm
    """The tables that get noise, each with its weight; those of weight 0 are exact."""
    scale: Fraction
    """A table of weight w gets noise of scale ``scale / w``."""
    asked: TablesForm
    worst: bool
    secret_size: bool = False
    ratio: float | None = None
    """How many times the error is that of a bound that no such plan is below, if it was just planned."""

    name = "marginals"

    def __post_init__(self) -> None:
        for scale in {*self.scales} - {0}:
            checked_scale(scale)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The noise scale of each measured table; 0 where it is exact."""
        factors = [self.form.factor(block) for block in self.form.blocks]
        by_factor = {factor: self.scale / factor if factor else Fraction(0) for factor in {*factors}}
        return tuple(by_factor[factor] for factor in factors)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Choose the tables to measure and their weights for the least error, and the scale for epsilon."""
        asked, objective = _asked(query, policy)
        blocks, ratio = chosen_blocks(asked, policy, objective)
        form = asked.of(blocks)
        sensitivity = sensitivity_of(form, policy)
        check_secret_size(policy, max((block.heaviest(form.shape) for block in blocks), default=1))
        scale = sensitivity.value / form.unit / epsilon
        made = cls(form, scale, asked, objective == "worst", policy.size == "unknown", ratio)
        if form.views:
            made.components.check()
        return made

    def certify(self, policy: Policy) -> Certificate:
        """Derive again how much the weighted tables change together, and divide it by the scale held."""
        sensitivity = sensitivity_of(self.form, policy)
        exact = self.exact_blocks
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        if exact and sensitivity_of(self.form.of(counting(exact)), policy).value:
            raise PolicyError(NO_NOISE)
        changes = sensitivity_by_class(self.form, policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: change / self.form.unit / self.scale for pairs, change in changes.items()})
        return self.certified(policy, loss, sensitivity, *sorted({*self.scales} - {0}))

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Divide the weighted change of the tables by the scale."""
        return self.form.net_change({x: 1, y: -1}) / self.scale if self.scale and x != y else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        """Divide what a record adds to the tables by the scale."""
        return self.form.weight(x) / self.form.unit / self.scale if self.scale else Fraction(0)

    def noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        """Add Laplace noise of the scale of each table."""
        return noisy_pieces(discrete_laplace, self.scales, tables, source)

    def told(self) -> Components:
        """Work out how precisely the components of the tables asked for are known."""
        return components_of(self.form, self.scales, self.asked, counted=not self.secret_size)

    def expected_error(self) -> TablesError:
        """Give the error of a cell, or of a range where such are asked for."""
        return error_of(self.components, self.scales, worst=self.worst)

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        """Say what the noise means for a whole record, and how near to the best possible the plan is."""
        said: list[str] = []
        if full_domain is not None and not is_differential_privacy(policy):
            said.append(
                "The accuracy is that of a promise about secret pairs. Against somebody who doubts a person's whole "
                f"record, the same noise keeps epsilon {rounded_up(full_domain)} (full domain)."
            )
        if self.scale and self.ratio is not None:
            best = self.expected_error().rmse / self.ratio
            said.append(
                f"No unbiased estimate from Laplace noise at this epsilon has an error below {about(best)} (proved); "
                f"this plan has {about(self.ratio)} times that."
            )
        return said

    def words(self) -> str:
        """State how many tables get noise of which scales."""
        held = zip(self.scales, self.form.blocks, strict=True)
        noisy = sorted({scale / block.spacing for scale, block in held if scale})
        exact = sum(not block.weight for block in self.form.blocks)
        scales = rounded(noisy[0]) if len(noisy) == 1 else f"{rounded(noisy[0])} to {rounded(noisy[-1])}"
        many = len(self.form.blocks) - exact
        read = sorted({self.form.title(axis) for block in self.form.blocks for axis in block.reading})
        rows = f", some of them sums over neighbouring values of {' and '.join(read)}," if read else ""
        said = f"The cells of {many:,} table{'s' if many > 1 else ''}{rows} get Laplace noise of scale {scales}"
        free = f", and {exact:,} without secrets get{'s' * (exact == 1)} none" if exact else ""
        return f"{said}{free}; all tables asked for are estimated from these together, and agree."

    def to_document(self) -> dict[str, Any]:
        """Write the tables that were measured, with their signs and weights, and the scale."""
        return {"name": self.name, "scale": str(self.scale), "measured": written_blocks(self.form)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the tables and the scale; the certificate is derived from them, not from what the document claims."""
        asked, objective = _asked(query, policy)
        scale = exact(written.get("scale"), "the noise scale", error=SpecError)
        if scale < 0:
            raise SpecError("the document is damaged: the noise scale is below 0.")
        form = asked.of(read_blocks(asked, written["measured"]))
        if max(form.sizes, default=0) > MOST_CELLS:
            raise SpecError("the document is damaged: a table that was measured is too large.")
        made = cls(form, scale, asked, objective == "worst", policy.size == "unknown")
        if asked.ranges:
            check_told(form, made.scales, asked, counted=not made.secret_size)
        return made


def _asked(query: Query, policy: Policy) -> tuple[TablesForm, Any]:
    if not isinstance(query, Tables):
        raise QueryError(f"marginals answers sets of tables, not {query.keyword}.", hint='Tables([["age", "sex"]]).')
    form = query.on(policy.domain)
    if form.ranges:
        check_ranges(form)
    return with_blocks(form, policy), query.objective
