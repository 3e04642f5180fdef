"""Independent noise of one scale on every output of a linear query, whichever law it follows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.error import ExpectedError, no_mean
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
from blowfish_privacy.noise import BitSource, checked_scale, checked_variance, discrete_gaussian, discrete_laplace
from blowfish_privacy.noise.law import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Law
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import Loss, PairClass
from blowfish_privacy.privacy.measure import RHO
from blowfish_privacy.privacy.sensitivity import (
    Sensitivity,
    sensitivity_by_class,
    sensitivity_of,
    squared_by_class,
    squared_sensitivity,
)
from blowfish_privacy.queries import LinearForm, Query
from blowfish_privacy.support.exact import about, exact, rounded


@dataclass(frozen=True, eq=False)
class NoiseAlike(Mechanism):
    """Adds independent noise of one scale to every output; subclasses say of which law, and what that hides."""

    form: LinearForm
    scale: Fraction
    """What the law calls its scale, in units; 0 means that no noise is added."""
    divisor: int = 1
    """What answers are divided by after the noise: the public number of records for a mean."""
    of: str = "an output"

    law: ClassVar[Law]
    scale_key: ClassVar[str]
    """What a document calls the scale."""
    gives = ("numbers", "cumulative", "grid")

    @abstractmethod
    def sensitivity(self, policy: Policy) -> Sensitivity:
        """Derive how much the answers change between neighbours."""

    @abstractmethod
    def changes(self, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        """Derive how much the answers change along the secret pairs of each class."""

    @abstractmethod
    def change(self, x: Cell, y: Cell | None) -> Fraction:
        """Say how much the answers change when a record moves, or comes or goes."""

    @abstractmethod
    def hidden(self, change: Fraction) -> Fraction:
        """Say what is lost on a change, which is not in units."""

    @abstractmethod
    def noise(self, count: int, source: BitSource) -> npt.NDArray[np.int64]:
        """Draw noise of the scale held."""

    @classmethod
    def answers(cls, query: Query) -> bool:
        return super().answers(query) and not query.divisor_measured

    @classmethod
    def suits(cls, query: Query, policy: Policy, *args: Any, **public: Any) -> bool:
        return not (query.divided and policy.size == "unknown")

    @classmethod
    def of_query(cls, query: Query, policy: Policy, scale: Fraction, records: int | None) -> Self:
        """Put together what answers a query with noise of a scale."""
        form = query.on(policy.domain)
        check_secret_size(policy, _heaviest(form))
        return cls(form, scale, _divisor(query, policy, records), query.error_of)

    def certify(self, policy: Policy) -> Certificate:
        sensitivity = self.sensitivity(policy)
        if sensitivity.value and not self.scale:
            raise PolicyError(NO_NOISE)
        changes = self.changes(policy, sensitivity.value) if sensitivity.value else {}
        loss = Loss.of({pairs: self.hidden(change) for pairs, change in changes.items()}, self.counted_in)
        return self.certified(policy, loss, sensitivity, self.scale)

    @property
    def rows(self) -> int:
        return self.form.outputs

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return self.hidden(self.change(x, y)) if self.scale else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        return self.hidden(self.change(x, None)) if self.scale else Fraction(0)

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * _heaviest(self.form) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="count in larger units.")
        answers = self.form.answer(counts).astype(np.int64)
        return answers + self.noise(len(answers), source) if self.scale else answers

    def expected_error(self) -> ExpectedError:
        return ExpectedError(self.scale, self.form.unit / self.divisor, self.of, self.law)

    def to_document(self) -> dict[str, Any]:
        return {"name": self.name, self.scale_key: str(self.scale)}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        scale = exact(written.get(cls.scale_key), f"the noise {cls.scale_key}", error=SpecError)
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
        raise no_mean()
    return records


# Discrete Laplace noise on every output of a linear query.


@dataclass(frozen=True, eq=False)
class Laplace(NoiseAlike):
    """Adds independent discrete Laplace noise of one scale to every output.

    Privacy: (epsilon, P)-Blowfish with epsilon = S(W, P) / scale [he2014, Theorem 5.1], noise as in [ghosh2009].
    Sensitivity: S(W, P), the worst secret pair of the projected graph; an output of sensitivity 0 gets no noise.
    Error: variance 2 q / (1 - q)^2 per output in units^2, q = exp(-1 / scale); below 2 scale^2.
    Cost: time and memory linear in the number of outputs.
    Numerics: answers are whole numbers of a unit, noise is an exact integer, and their sum is exact.
    Proof: docs/proofs/laplace.md
    """

    name = "laplace"
    preferred_for = ("numbers",)
    proof = "docs/proofs/laplace.md"
    law = DISCRETE_LAPLACE
    scale_key = "scale"

    def __post_init__(self) -> None:
        if self.scale:
            # Checked when planning, before anything is charged: not every scale can be drawn from.
            checked_scale(self.scale)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form = query.on(policy.domain)
        return cls.of_query(query, policy, sensitivity_of(form, policy).value / form.unit / epsilon, records)

    def sensitivity(self, policy: Policy) -> Sensitivity:
        return sensitivity_of(self.form, policy)

    def changes(self, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        return sensitivity_by_class(self.form, policy, largest)

    def change(self, x: Cell, y: Cell | None) -> Fraction:
        return self.form.weight(x) if y is None else self.form.change(x, y)

    def hidden(self, change: Fraction) -> Fraction:
        return change / self.form.unit / self.scale

    def noise(self, count: int, source: BitSource) -> npt.NDArray[np.int64]:
        return discrete_laplace(self.scale, count, source=source)

    def words(self) -> str:
        unit = self.form.unit / self.divisor
        scale = rounded(self.scale * unit)
        return f"Each number gets Laplace noise of scale {scale}, in whole multiples of {rounded(unit)}."


# Discrete Gaussian noise on every output of a linear query.


@dataclass(frozen=True, eq=False)
class Gaussian(NoiseAlike):
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
    preferred_for = ("numbers",)
    proof = "docs/proofs/gaussian.md"
    law = DISCRETE_GAUSSIAN
    scale_key = "variance"

    def __post_init__(self) -> None:
        if self.scale:
            # Checked when planning, before anything is charged: not every variance can be drawn from.
            checked_variance(self.scale)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, rho: Fraction, records: int | None) -> Self:
        form = query.on(policy.domain)
        return cls.of_query(query, policy, squared_sensitivity(form, policy).value / form.unit**2 / (2 * rho), records)

    def sensitivity(self, policy: Policy) -> Sensitivity:
        return squared_sensitivity(self.form, policy)

    def changes(self, policy: Policy, largest: Fraction) -> dict[PairClass, Fraction]:
        return squared_by_class(self.form, policy, largest)

    def change(self, x: Cell, y: Cell | None) -> Fraction:
        return self.form.squared_weight(x) if y is None else self.form.squared_change(x, y)

    def hidden(self, change: Fraction) -> Fraction:
        return change / self.form.unit**2 / (2 * self.scale)

    def noise(self, count: int, source: BitSource) -> npt.NDArray[np.int64]:
        return discrete_gaussian(self.scale, count, source=source)

    def words(self) -> str:
        unit = self.form.unit / self.divisor
        deviation = about(sqrt(self.scale) * float(unit))
        return (
            f"Each number gets Gaussian noise of standard deviation {deviation}, in whole multiples of {rounded(unit)}."
        )
