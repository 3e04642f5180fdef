"""Independent noise of one scale on every output of a linear query: one mechanism, with the law of noise as a value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.error import ExpectedError, no_mean
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
from blowfish_privacy.mechanisms.row_noise import GAUSSIAN_ROWS, LAPLACE_ROWS, RowNoise
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.queries import LinearForm, Query
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import exact, rounded


@dataclass(frozen=True, eq=False)
class IndependentNoise(Mechanism):
    """Adds independent noise of one scale to every output."""

    form: LinearForm
    scale: Fraction
    """What the law calls its scale, in units; 0 means that no noise is added."""
    divisor: int = 1
    """What answers are divided by after the noise: the public number of records for a mean."""
    of: str = "an output"

    noise: ClassVar[RowNoise]
    gives = ("numbers", "cumulative", "grid")
    preferred_for = ("numbers",)

    def __post_init__(self) -> None:
        # Checked when planning, before anything is charged: not every scale can be drawn from.
        self.noise.check(self.scale)

    @classmethod
    def answers(cls, query: Query) -> bool:
        return super().answers(query) and not query.divisor_measured

    @classmethod
    def suits(cls, query: Query, policy: Policy, *args: Any, **public: Any) -> bool:
        return not (query.divided and policy.size == "unknown")

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, records: int | None, **amount: Fraction) -> Self:
        form = query.on(policy.domain)
        largest = cls.noise.sensitivity(form, policy).value / form.unit**cls.noise.power
        check_secret_size(policy, _heaviest(form))
        scale = cls.noise.lost(largest, amount[cls.counted_in.name])
        return cls(form, scale, _divisor(query, policy, records), query.error_of)

    def certify(self, policy: Policy) -> Certificate:
        sensitivity = self.noise.sensitivity(self.form, policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        changes = self.noise.by_class(self.form, policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: self._lost(change) for pairs, change in changes.items()}, self.counted_in)
        return self.certified(policy, loss, sensitivity, self.scale)

    @property
    def rows(self) -> int:
        return self.form.outputs

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self._lost(self.noise.moved(self.form, x, y))

    def presence(self, x: Cell) -> Fraction:
        return self._lost(self.noise.weighed(self.form, x))

    def _lost(self, change: Fraction) -> Fraction:
        """Return the loss on a change, which is not in units; where nothing needs noise, nothing is lost."""
        return self.noise.lost(change / self.form.unit**self.noise.power, self.scale) if self.scale else Fraction(0)

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * _heaviest(self.form) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="count in larger units.")
        return self.noise.on(self.form.answer(counts).astype(np.int64), self.scale, source)

    def expected_error(self) -> ExpectedError:
        return ExpectedError(self.scale, self.form.unit / self.divisor, self.of, self.noise.law)

    def to_document(self) -> dict[str, Any]:
        return {"name": self.name, self.noise.key: str(self.scale)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        scale = exact(written.get(cls.noise.key), f"the noise {cls.noise.key}", error=SpecError)
        return cls(query.on(policy.domain), scale, _divisor(query, policy, records), query.error_of)

    def words(self) -> str:
        unit = self.form.unit / self.divisor
        return f"Each number gets {self.noise.words(self.scale, unit)}, in whole multiples of {rounded(unit)}."


class Laplace(IndependentNoise):
    """Adds independent discrete Laplace noise of one scale to every output.

    Privacy: (epsilon, P)-Blowfish with epsilon = S(W, P) / scale [he2014, Theorem 5.1], noise as in [ghosh2009].
    Sensitivity: S(W, P), the worst secret pair of the projected graph; an output of sensitivity 0 gets no noise.
    Error: variance 2 q / (1 - q)^2 per output in units^2, q = exp(-1 / scale); below 2 scale^2.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/laplace.md
    """

    name = "laplace"
    proof = "docs/proofs/laplace.md"
    noise = LAPLACE_ROWS


class Gaussian(IndependentNoise):
    """Adds independent discrete Gaussian noise of one variance to every output.

    Privacy: (rho, P)-zero-concentrated Blowfish with rho = S / (2 variance) [bun2016, canonne2020].
    Sensitivity: S, the largest sum of squared changes along a secret pair of the projected graph.
    Error: the variance itself, in units^2, or a little less where it is small.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/gaussian.md
    """

    name = "gaussian"
    counted_in = RHO
    proof = "docs/proofs/gaussian.md"
    noise = GAUSSIAN_ROWS


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
        raise no_mean()
    return records
