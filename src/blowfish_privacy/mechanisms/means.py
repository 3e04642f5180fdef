"""Means of which the divisor is measured too: noise on a sum of offsets, and on what it is divided by."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Numeric
from blowfish_privacy.errors import DataError, PolicyError, RefusalError, SpecError, brief
from blowfish_privacy.mechanisms.error import MeanError, no_mean
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE, Mechanism, check_secret_size
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import PRESENCE, Loss, PairClass
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity_by_class, sensitivity_of
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.linear import SumForm
from blowfish_privacy.queries.weights import WeightedValues
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import rounded


class Quotient(Mechanism):
    """Laplace noise on the sum of offsets from the middle of the range, and on what it is divided by.

    The sum is counted in halves of a step, so that it is a whole number.
    """

    form: Any
    sum_scale: Fraction
    """In halves of a step; 0 means no noise."""

    gives = ("numbers",)

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(self.sum_scale, self.divisor_scale)

    @property
    @abstractmethod
    def divisor_scale(self) -> Fraction:
        """The scale of the noise on what the sum is divided by; 0 means no noise."""

    @property
    def weight(self) -> Fraction | None:
        """The unit of the weights, where records have weights."""
        return None

    @property
    def attribute(self) -> Numeric:
        """The attribute whose mean it is."""
        return cast(Numeric, self.form.domain.attributes[0])

    @property
    def step(self) -> Fraction:
        """The distance between neighbouring values, or the unit of weighted ones."""
        return self.attribute.spacing if self.weight is None else self.attribute.unit

    @property
    def width(self) -> int:
        """The width of the range in steps: twice the largest offset."""
        return int((self.attribute.size - 1) * self.attribute.spacing / self.step)

    @property
    def rows(self) -> int:
        return 2

    @abstractmethod
    def answer(self, counts: Integers) -> Integers:
        """Return the exact sum of offsets, and what it is divided by."""

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        of_sum, divisor = np.split(self.answer(counts), 2)
        noisy = LAPLACE_ROWS.on(of_sum, self.sum_scale, source)
        return np.append(noisy, LAPLACE_ROWS.on(divisor, self.divisor_scale, source))

    def mean(self, noisy: Integers) -> float:
        """Divide the sum by its divisor, which is taken to be one unit at least; the mean lies in the range."""
        steps = min(max(self.width / 2 + self._offset(noisy), 0), self.width)
        return float(self.attribute.lowest) + steps * float(self.step)

    def _offset(self, noisy: Integers) -> float:
        return int(noisy[0]) / 2 / max(int(noisy[1]), 1)

    def expected_error(self) -> MeanError:
        """Return the error of the mean before its divisor is known."""
        step, weighted = self.step * (self.weight or 1), self.weight is not None
        return MeanError(self.sum_scale, self.divisor_scale, self.width, step=step, weighted=weighted)

    def error_of(self, noisy: Integers) -> MeanError:
        """Return the error of a mean that was released, at its own divisor and offset."""
        offset = min(abs(self._offset(noisy)), self.width / 2)
        # Exact weights that add up to nothing leave the mean open.
        least = 1 if self.divisor_scale else 0
        return replace(self.expected_error(), offset=offset, records=max(int(noisy[1]), least), step=self.step)

    def words(self) -> str:
        weight = self.weight or Fraction(1)
        summed, divisor = (
            ("The sum", "the number of records")
            if self.weight is None
            else ("The weighted sum", "the sum of the weights")
        )
        scale = rounded(self.sum_scale * self.step * weight / 2)
        of_sum = f"{summed} of offsets from the middle of the range gets Laplace noise of scale {scale}"
        if not self.divisor_scale:
            return f"{of_sum}; {divisor} is public."
        return f"{of_sum}, {divisor} of scale {rounded(self.divisor_scale * weight)}; the mean is their quotient."


# The mean of an attribute where the number of records is secret.

_SUM_SHARE = Fraction(591, 1000)
"""Least error of a mean that may lie anywhere in the range: share^3 is to (1 - share)^3 as 1/4 to 1/12."""


@dataclass(frozen=True, eq=False)
class MeanOffsets(Quotient):
    """Noise on how many records there are, and on the sum of their offsets from the middle of the range.

    Privacy: (epsilon, P)-Blowfish: a record that comes or goes loses 1 / count scale + half the range / sum scale, one
        that moves its move / sum scale; epsilon is the larger.
    Sensitivity: 1 and half the range when a record comes or goes; 0 and the longest secret move when it moves.
    Error: that of the sum minus the mean offset times that of the count, divided by the noisy count; the split is best
        for a mean that may lie anywhere in the range.
    Cost: time and memory linear in the number of values.
    Numerics: offsets are whole numbers of half steps, noise is an exact integer; floating point only afterwards.
    Proof: docs/proofs/mean_offsets.md
    """

    form: SumForm
    sum_scale: Fraction
    """In halves of a step; 0 means no noise."""
    count_scale: Fraction | None
    """None where the number of records is public, so that it has no noise."""

    name = "mean-offsets"
    proof = "docs/proofs/mean_offsets.md"

    @classmethod
    def answers(cls, query: Query) -> bool:
        return query.divided and super().answers(query)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        return policy.size == "unknown"

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form = _bound(query, policy)
        moved = max(_moves(form, policy).values(), default=Fraction(0))
        if policy.size != "unknown":
            return cls(form, 2 * moved / epsilon, None)
        width, amount = form.domain.size - 1, epsilon / policy.rows_per_person
        check_secret_size(policy, max(width, 1))
        if not width:
            # There is one value only, and nothing to learn from offsets that are all 0.
            return cls(form, 1 / amount, 1 / amount)
        share = min(_SUM_SHARE, width * policy.rows_per_person / (2 * moved)) if moved else _SUM_SHARE
        return cls(form, width / (share * amount), 1 / ((1 - share) * amount))

    def certify(self, policy: Policy) -> Certificate:
        moves, secret = _moves(self.form, policy), policy.size == "unknown"
        moved = max(moves.values(), default=Fraction(0))
        silent = (moved or (secret and self.width)) and not self.sum_scale
        if silent or (secret and not self.count_scale):
            raise PolicyError(NO_NOISE)
        losses = {pairs: 2 * change / self.sum_scale if change else Fraction(0) for pairs, change in moves.items()}
        sensitivity = sensitivity_of(self.form, policy)
        if secret:
            losses[PRESENCE] = policy.rows_per_person * self.presence((0,))
            where = "[docs/proofs/mean_offsets.md]"
            if losses[PRESENCE] == max(losses.values()):
                change = policy.rows_per_person * (1 + self.width * self.step / 2)
                theorem = f"a record that comes or goes counts one, and its offset is at most half the range {where}"
                witness = ((), (self.form.domain.record((0,)),))
                sensitivity = Sensitivity(change, exact=True, theorem=theorem, witness=witness)
            else:
                theorem = f"the longest secret move {where}"
                sensitivity = Sensitivity(moved * self.step, exact=False, theorem=theorem, witness=None)
        scales = (self.sum_scale, *([self.count_scale] if self.count_scale else []))
        return self.certified(policy, Loss.of(losses), sensitivity, *scales)

    @property
    def divisor_scale(self) -> Fraction:
        return self.count_scale or Fraction(0)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return 2 * abs(x[0] - y[0]) / self.sum_scale if self.sum_scale else Fraction(0)

    def presence(self, x: Cell) -> Fraction:
        of_sum = abs(2 * x[0] - self.width) / self.sum_scale if self.sum_scale else Fraction(0)
        return of_sum + (1 / self.count_scale if self.count_scale else 0)

    def answer(self, counts: Integers) -> Integers:
        records = int(counts.sum())
        if records * max(self.width, 1) >= LARGEST_ANSWER:
            raise DataError("the sum may be too large for 64-bit arithmetic.", hint="count in larger units.")
        offsets = 2 * np.arange(self.width + 1, dtype=np.int64) - self.width
        return np.array([counts.reshape(-1) @ offsets, records], dtype=np.int64)

    @property
    def notices(self) -> list[str]:
        return self.notices_for("The number of records")

    def notices_for(self, records: str, be: str = "will be") -> list[str]:
        if not self.count_scale:
            return []
        return [
            f"{records} is secret, so the mean is a noisy sum divided by a noisy count: how wrong it is "
            "follows from the count that is released. With few records it may be anywhere in the range."
        ]

    def to_document(self) -> dict[str, Any]:
        count = None if self.count_scale is None else LAPLACE_ROWS.to_document(self.count_scale)
        return {"name": self.name, "sum": LAPLACE_ROWS.to_document(self.sum_scale), "count": count}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        if (written["count"] is None) != (policy.size != "unknown"):
            raise SpecError("the document is damaged: the count has noise exactly where it is secret.")
        of_sum, count = LAPLACE_ROWS.from_document(written["sum"]), written["count"]
        return cls(_bound(query, policy), of_sum, None if count is None else LAPLACE_ROWS.from_document(count))


def _bound(query: Query, policy: Policy) -> SumForm:
    form = query.on(policy.domain)
    if not query.divided or not isinstance(form, SumForm):
        raise RefusalError(f"this mechanism answers means, not {brief(query)}.")
    return form


def _moves(form: SumForm, policy: Policy) -> dict[PairClass, Fraction]:
    """Bound by how many steps secret pairs of each class move the sum; offsets move as values do."""
    changes = sensitivity_by_class(form, policy, sensitivity_of(form, policy).value)
    return {pairs: change / form.attribute.spacing for pairs, change in changes.items() if pairs != PRESENCE}


# The weighted mean of an attribute: noise on the sum of the weights and on a weighted sum of offsets.

_SHARES = tuple(Fraction(share, 8) for share in range(1, 8))
"""How much of what may be lost the sum gets, of which the best is taken."""


@dataclass(frozen=True, eq=False)
class WeightedOffsets(Quotient):
    """Noise on the sum of the weights, and on the weighted sum of offsets from the middle of the range.

    Privacy: (epsilon, P)-Blowfish, epsilon = the largest |change of the sum| / sum scale + |change of the sum of the
        weights| / weights scale along a secret pair [he2014, Theorem 5.1].
    Sensitivity: that of the two rows divided by their scales, as one linear form; a row of sensitivity 0 gets no noise.
    Error: that of the sum minus the mean offset times that of the weights, divided by the noisy sum of the weights; the
        best of seven ways to share epsilon is taken, for a mean that may lie anywhere in the range.
    Cost: time and memory linear in the number of values times that of weights.
    Numerics: both rows are whole numbers, noise is an exact integer; floating point only afterwards.
    Proof: docs/proofs/weights.md
    """

    form: WeightedValues
    sum_scale: Fraction
    """In halves of a unit of the values times a unit of the weights; 0 means no noise."""
    weights_scale: Fraction
    """In units of the weights; 0 means no noise."""

    name = "weighted-offsets"
    proof = "docs/proofs/weights.md"

    @classmethod
    def answers(cls, query: Query) -> bool:
        return query.divisor_measured and super().answers(query)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        form = _weighted(query, policy)
        if records == 0:
            raise no_mean()
        check_secret_size(policy, _heaviest(form))
        alone = [sensitivity_of(replace(_rows(form), factors=only), policy).value for only in ((2, 0), (0, 1))]
        if not all(alone):
            # Where only the weights change, there is nothing to learn from offsets, and noise on them costs nothing.
            of_sum, of_weights = (change / epsilon for change in alone)
            return cls(form, of_sum or of_weights, of_weights)
        choices: list[Self] = []
        for share in _SHARES:
            scales = alone[0] / share, alone[1] / (1 - share)
            lost = sensitivity_of(_divided(form, *scales), policy).value / epsilon
            choices.append(cls(form, *(scale * lost for scale in scales)))
        return min(choices, key=lambda mechanism: mechanism.expected_error().mse)

    def certify(self, policy: Policy) -> Certificate:
        for scale, only in ((self.sum_scale, (2, 0)), (self.weights_scale, (0, 1))):
            if not scale and sensitivity_of(replace(_rows(self.form), factors=only), policy).value:
                raise PolicyError(NO_NOISE)
        divided = _divided(self.form, self.sum_scale, self.weights_scale)
        lost = sensitivity_of(divided, policy).value
        losses = sensitivity_by_class(divided, policy, lost) if lost else {}
        scales = [scale for scale in (self.sum_scale, self.weights_scale) if scale]
        return self.certified(policy, Loss.of(losses), sensitivity_of(self.form, policy), *scales)

    @property
    def divisor_scale(self) -> Fraction:
        return self.weights_scale

    @property
    def weight(self) -> Fraction:
        return self.form.weights.unit

    def loss(self, x: Cell, y: Cell) -> Fraction:
        return _divided(self.form, self.sum_scale, self.weights_scale).change(x, y)

    def presence(self, x: Cell) -> Fraction:
        return _divided(self.form, self.sum_scale, self.weights_scale).weight(x)

    def answer(self, counts: Integers) -> Integers:
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * _heaviest(self.form) >= LARGEST_ANSWER:
            raise DataError("the sums may be too large for 64-bit arithmetic.", hint="declare larger steps.")
        return _rows(self.form).answer(counts).astype(np.int64)

    @property
    def notices(self) -> list[str]:
        divisor = "a noisy" if self.weights_scale else "the exact"
        return [
            f"The weighted mean is a noisy sum divided by {divisor} sum of the weights: how wrong it is follows from "
            "that sum, which is released. With few records it may be anywhere in the range."
        ] * bool(self.sum_scale or self.weights_scale)

    def without_noise(self) -> str | None:
        return None if self.weights_scale or not self.sum_scale else "the sum of the weights, which is not secret"

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sum": LAPLACE_ROWS.to_document(self.sum_scale),
            "weights": LAPLACE_ROWS.to_document(self.weights_scale),
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        scales = (LAPLACE_ROWS.from_document(written[part]) for part in ("sum", "weights"))
        return cls(_weighted(query, policy), *scales)


def _weighted(query: Query, policy: Policy) -> WeightedValues:
    form = query.on(policy.domain)
    if not query.divisor_measured or not isinstance(form, WeightedValues):
        raise RefusalError(f"this mechanism answers weighted means, not {brief(query)}.")
    return form


def _rows(form: WeightedValues) -> WeightedValues:
    """Return the rows as they are measured: offsets in halves, and weights, both whole numbers."""
    return replace(form, factors=(2, 1), unit=Fraction(1))


def _divided(form: WeightedValues, sum_scale: Fraction, weights_scale: Fraction) -> WeightedValues:
    """Return the rows divided by their scales, those with a scale of 0 left out: its changes are what is lost."""
    of_sum, of_weights = (1 / scale if scale else Fraction(0) for scale in (sum_scale, weights_scale))
    shared = lcm(of_sum.denominator, of_weights.denominator)
    return replace(form, factors=(int(2 * of_sum * shared), int(of_weights * shared)), unit=Fraction(1, shared))


def _heaviest(form: WeightedValues) -> int:
    rows = _rows(form)
    return int(rows.weight(rows.heaviest()))
