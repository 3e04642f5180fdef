"""Discrete Laplace noise on every output of a linear query."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.sensitivity import sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries import LinearForm, Query
from blowfish_privacy.support.exact import exact, rounded


@dataclass(frozen=True, eq=False)
class Laplace(Mechanism):
    """Adds independent discrete Laplace noise of one scale to every output.

    Privacy: (epsilon, P)-Blowfish with epsilon = S(W, P) / scale [he2014, Theorem 5.1], noise as in [ghosh2009].
    Sensitivity: S(W, P), the worst secret pair of the projected graph; an output of sensitivity 0 gets no noise.
    Error: variance 2 q / (1 - q)^2 per output in units^2, q = exp(-1 / scale); below 2 scale^2.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/laplace.md
    """

    form: LinearForm
    scale: Fraction
    """In units; 0 means that no noise is added."""
    divisor: int = 1
    """What answers are divided by after the noise: the public number of records for a mean."""
    of: str = "an output"

    name = "laplace"
    gives = ("numbers", "cumulative", "grid")
    preferred_for = ("numbers",)
    proof = "docs/proofs/laplace.md"

    def __post_init__(self) -> None:
        if self.scale:
            # Checked when planning, before anything is charged: not every scale can be drawn from.
            checked_scale(self.scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Leave means to others where the number of records is secret."""
        return not (query.divided and policy.size == "unknown")

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Set the scale to S / epsilon, S the sensitivity in units."""
        form = query.on(policy.domain)
        sensitivity = sensitivity_of(form, policy)
        check_secret_size(policy, _heaviest(form))
        return cls(form, sensitivity.value / form.unit / epsilon, _divisor(query, policy, records), query.error_of)

    def certify(self, policy: Policy) -> Certificate:
        """Derive the sensitivity again and divide it by the scale held."""
        sensitivity = sensitivity_of(self.form, policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        changes = sensitivity_by_class(self.form, policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: change / self.form.unit / self.scale for pairs, change in changes.items()})
        return self.certified(policy, loss, sensitivity, self.scale)

    @property
    def rows(self) -> int:
        """As many as the query has outputs."""
        return self.form.outputs

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Divide the L1 change of the answers by the scale."""
        return self.form.change(x, y) / self.form.unit / self.scale if self.scale else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        """Divide what a record adds to the answers by the scale."""
        return self.form.weight(x) / self.form.unit / self.scale if self.scale else Fraction(0)

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Answer exactly, then add the noise."""
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * _heaviest(self.form) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="count in larger units.")
        answers = self.form.answer(counts).astype(np.int64)
        return answers + discrete_laplace(self.scale, len(answers), source=source) if self.scale else answers

    def expected_error(self) -> ExpectedError:
        """Give the error of one output."""
        return ExpectedError(self.scale, self.form.unit / self.divisor, self.of)

    def words(self) -> str:
        """State the scale and the unit of the noise."""
        unit = self.form.unit / self.divisor
        scale = rounded(self.scale * unit)
        return f"Each number gets Laplace noise of scale {scale}, in whole multiples of {rounded(unit)}."

    def to_document(self) -> dict[str, Any]:
        """Write the scale."""
        return {"name": self.name, "scale": str(self.scale)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the scale; the certificate is derived from it, not from what the document claims."""
        scale = exact(written.get("scale"), "the noise scale", error=SpecError)
        return cls(query.on(policy.domain), scale, _divisor(query, policy, records), query.error_of)


def _heaviest(form: LinearForm) -> int:
    return int(form.weight(form.heaviest()) / form.unit)


def _divisor(query: Query, policy: Policy, records: int | None) -> int:
    if not query.divided:
        return 1
    if policy.size == "unknown":
        raise RefusalError(
            "a mean divides by the number of records, which this policy keeps secret.",
            hint='use mechanism="mean-offsets", which measures it too.',
        )
    if records is None:
        raise RefusalError(
            "a mean divides by the number of records, which is not known here.",
            hint="state size, or give data that can be read.",
        )
    if not isinstance(records, int) or isinstance(records, bool) or records < 1:
        raise RefusalError("a mean of no records does not exist.", hint="state size, or give data with rows.")
    return records
