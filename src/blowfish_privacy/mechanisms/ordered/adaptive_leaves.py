"""Adaptive leaves: a look at where records lie unevenly, then a hierarchy on leaves that are narrow only there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import DataError, PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.constraints import Constraints, Correction
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE
from blowfish_privacy.mechanisms.ordered.leaf_choice import LOOK_SHARE, calibrated_look, leaf_ends, pays
from blowfish_privacy.mechanisms.ordered.ordered_family import OrderedFamily, ordered_form
from blowfish_privacy.mechanisms.ordered.range_error import RangeError
from blowfish_privacy.mechanisms.ordered.roughness import Roughness
from blowfish_privacy.mechanisms.ordered.segment import Segment, Stretch, stretches
from blowfish_privacy.mechanisms.ordered.spacings import choose_levels
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.steps import steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.cumulative import CumulativeForm
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import exact, rounded


@dataclass(frozen=True, eq=False)
class AdaptiveLeaves(OrderedFamily):
    """Noisy roughness of bins says which of them to cut; the leaves are measured by a smooth hierarchy.

    Privacy: (epsilon, P)-Blowfish: the loss of the look plus that of the hierarchy, which is the same whatever leaves
        the noisy look leads to.
    Sensitivity: a move changes the roughness of bins of width w by at most w sqrt(w - 1) inside one bin, and by twice
        sqrt((w - 1) w (2 w - 1) / 6) between two, rounded up; the hierarchy on leaves by that of the full domain.
    Error: the hierarchy's on leaves of single values, plus twice what interpolation inside uncut bins may add at most.
    Cost: time and memory linear in the number of values for each width; one sparse solve.
    Numerics: whole numbers throughout, roots rounded down; floating point only on noisy numbers.
    Proof: docs/proofs/adaptive_leaves.md
    """

    form: CumulativeForm
    look: tuple[Roughness, ...]
    scale: Fraction
    """The scale that noise on the counts of leaves alone would have: two of them change by one on a move."""
    records: int

    name = "adaptive-leaves"
    proof = "docs/proofs/adaptive_leaves.md"
    independent_rows: ClassVar[bool] = False
    stands_in_for: ClassVar[str] = "smooth-hierarchy"

    def __post_init__(self) -> None:
        for scale in (self.scale, *(level.scale for level in self.look)):
            if scale:
                checked_scale(scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """Require a public number of records, one stretch that no secret pair leaves, and a look that pays."""
        if records is None or policy.size == "unknown" or not cls.answers(query):
            return False
        neighbours = steps(policy, query.attributes)
        if len(neighbours.graph.domain.names) != 1 or not neighbours.graph.has_edges:
            return False
        pieces = stretches(neighbours.graph)
        return len(pieces) == 1 and pays(pieces[0].size, pieces[0].theta, records * epsilon / neighbours.rows)

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Give a tenth of epsilon to the look and the rest to the hierarchy, whatever its leaves will be."""
        form = ordered_form(query, policy, total=False)
        neighbours = steps(policy, form.domain.names)
        if records is None or policy.size == "unknown" or not neighbours.graph.has_edges:
            raise RefusalError(
                "leaves adapt to a public number of records, some of whose values are secret.",
                hint='use mechanism="smooth-hierarchy".',
            )
        amount = epsilon / neighbours.rows
        look = calibrated_look(form.domain.size, records * amount, LOOK_SHARE * amount)
        return cls(form, look, 2 / ((1 - LOOK_SHARE) * amount if look else amount), records)

    def certify(self, policy: Policy) -> Certificate:
        """Add the largest losses of the look's levels, and that of the hierarchy, for any move of one record."""
        if policy.size == "unknown":
            raise PolicyError("leaves adapt to a public number of records.", hint='use mechanism="smooth-hierarchy".')
        neighbours = steps(policy, self.form.domain.names)
        moved = neighbours.rows * self._most if neighbours.graph.has_edges else Fraction(0)
        sensitivity = replace(LAPLACE_ROWS.sensitivity(self.form, policy), exact=False)
        loss = loss_seen(policy, self.form.domain.names, moved)
        return self.certified(policy, loss, sensitivity, *(level.scale for level in self.look), self.scale)

    @property
    def _most(self) -> Fraction:
        return sum((level.lost(level.most(self.size)) for level in self.look), self._second)

    @property
    def _second(self) -> Fraction:
        """What the hierarchy loses on a move between two leaves."""
        if not self.scale:
            raise PolicyError(NO_NOISE)
        return 2 / self.scale

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Bound the loss by that of a move between two leaves."""
        if x == y:
            return Fraction(0)
        return sum((level.lost(level.change(x[0], y[0], self.size)) for level in self.look), self._second)

    @property
    def rows(self) -> int:
        """The numbers of the look; those of the hierarchy on the leaves come after them."""
        return sum(level.rows(self.size) for level in self.look)

    def fits(self, noisy: npt.NDArray[np.int64]) -> bool:
        """Find the leaves, and compare the numbers that follow with the rows of their hierarchy."""
        return len(noisy) >= self.rows and len(noisy) == self.rows + self.hierarchy(self.leaves(noisy)).rows

    def leaves(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions (exclusive) at which the leaves end, which follow from the noisy look."""
        return leaf_ends(self.look, noisy[: self.rows], self.size)

    def hierarchy(self, ends: npt.NDArray[np.int64]) -> Segment:
        """Return the levels over leaves, between any two of which a record may move."""
        many = len(ends)
        return Segment(Stretch(0, many, many - 1), choose_levels(many, many - 1, self._second, self.records))

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        """Take the look, find the leaves from its noisy numbers, and measure the hierarchy on their counts."""
        if int(counts.sum()) * max((level.width**2 for level in self.look), default=1) >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.", hint="use smooth-hierarchy.")
        exact = self.roughness(counts)
        noise = [discrete_laplace(level.scale, level.rows(self.size), source=source) for level in self.look]
        look = np.concatenate(exact) + np.concatenate([np.zeros(0, dtype=np.int64), *noise])
        ends = self.leaves(look)
        return np.concatenate([look, *self.hierarchy(ends).measure(self.sums(counts, ends), source)])

    def roughness(self, counts: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """Return the exact roughness of the bins of every width, after an empty part where there are none."""
        return [np.zeros(0, dtype=np.int64), *(level.answer(counts, self.records) for level in self.look)]

    @staticmethod
    def sums(counts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the exact counts of leaves."""
        return np.add.reduceat(counts, np.append(0, ends[:-1]))

    def _at_leaves(self, noisy: npt.NDArray[np.int64], records: int | None) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return where leaves end, and the linear estimate there."""
        ends = self.leaves(noisy)
        return ends, self.hierarchy(ends).estimate(noisy[self.rows :], records or 0)

    def _interpolated(self, ends: npt.NDArray[np.int64], below: Floats) -> Floats:
        places = np.arange(1, self.size + 1)
        return np.interp(places, np.append(0, ends), np.append(0.0, below))

    def estimate(self, noisy: npt.NDArray[np.int64], records: int | None) -> Floats:
        """Return the linear estimate: unbiased at the ends of leaves, interpolated inside them."""
        return self._interpolated(*self._at_leaves(noisy, records))

    def ordered_estimate(
        self,
        noisy: npt.NDArray[np.int64],
        records: int | None,
        totals: Correction | None = None,
        stated: Constraints | None = None,
    ) -> Floats:
        """Order the estimate at the ends of leaves, so that a wide leaf weighs no more than a narrow one."""
        if totals is not None:
            return super().ordered_estimate(noisy, records, totals, stated)
        ends, below = self._at_leaves(noisy, records)
        ordered = np.clip(self.nearest(below), 0, records or 0)
        return self._interpolated(ends, np.append(ordered[:-1], records or 0))

    @cached_property
    def _finest(self) -> Segment:
        return self.hierarchy(np.arange(1, self.size + 1))

    @cached_property
    def _left(self) -> float:
        """What interpolation adds to the mean squared error of a cumulative count, at most."""
        return sum(level.left(self.size, self.records) for level in self.look)

    def moments(self) -> tuple[float, float, float]:
        """Add what interpolation may leave at every position, as if independent, to the noise on single values."""
        trace, together, precision = self._finest.moments()
        left = (self.size - 1) * self._left
        return trace + left, together + left, precision

    @property
    def exact(self) -> bool:
        """Whether that is so of a hierarchy on single values."""
        return self._finest.exact

    def covariance(self) -> Floats:
        """Return the covariance on single values, and what interpolation may add at every position but the last."""
        spread = self._finest.covariance()
        return spread + np.diag(np.append(np.full(self.size - 1, self._left), 0.0))

    def spread(self, weights: Floats) -> Floats:
        """Leave weights as they are: which leaves a release has is not known to the mechanism."""
        return weights

    def simulated_error(self, source: BitSource) -> Floats:
        """Draw the noise on single values, and at every position the most that interpolation may add, up or down."""
        signs = 1.0 - 2.0 * (source.words(self.size) % np.uint64(2)).astype(np.float64)
        signs[-1] = 0.0
        return self._finest.simulated_error(source) + self._left**0.5 * signs

    @cached_property
    def _error(self) -> RangeError:
        return RangeError(self)

    def words(self) -> str:
        """Describe the look and the hierarchy."""
        bins = ", ".join(
            f"{level.width:,} (scale {rounded(level.scale / level.most(self.size))})" for level in self.look
        )
        return (
            f"A look at how unevenly records lie in bins of {bins} values, with noise in units of what one record may "
            "change, says which bins to cut. The counts of the leaves that are left get noise of scale "
            f"{rounded(self.scale)} divided among overlapping bins of several widths. Inside a leaf records are taken "
            "to lie evenly."
        )

    def to_document(self) -> dict[str, Any]:
        """Write widths, scales and limits of the look, and the scale of the leaves."""
        look = [{"width": level.width, "scale": str(level.scale), "limit": level.limit} for level in self.look]
        return {"name": self.name, "look": look, "leaves": {"scale": str(self.scale)}}

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read the look and the scale of the leaves."""
        look = tuple(_level(each) for each in written["look"])
        widths = [level.width for level in look]
        form = ordered_form(query, policy)
        nested = all(a > b > 0 and a % b == 0 for a, b in pairwise([*widths, 1]))
        if not nested or max(widths, default=0) > form.domain.size or records is None:
            raise SpecError("the document is damaged: its bins are not parts of each other.")
        scale = exact(written["leaves"]["scale"], "a noise scale", error=SpecError)
        return cls(form, look, scale, records)


def _level(written: dict[str, Any]) -> Roughness:
    width, limit = written["width"], written["limit"]
    if type(width) is not int or type(limit) is not int:
        raise SpecError("the document is damaged: a width or a limit is not a whole number.")
    return Roughness(width, exact(written["scale"], "a noise scale", error=SpecError), limit)
