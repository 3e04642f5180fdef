"""Lloyd's algorithm with noise in every round: for more attributes than a grid can serve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Assignment, Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.exact import exact as exactly
from blowfish_privacy.exact import show
from blowfish_privacy.mechanisms.certificate import Certificate, is_differential_privacy
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.exact import Exact
from blowfish_privacy.mechanisms.grid_choice import MOST_DIMENSIONS, widths
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER
from blowfish_privacy.mechanisms.soft_grid import NO_NOISE, whole_numbers
from blowfish_privacy.mechanisms.synopsis import Points, Synopsis, bound_clusters, to_points
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import KMeans, Query
from blowfish_privacy.queries.histogram import HistogramForm
from blowfish_privacy.sensitivities import Sensitivity, steps

_FEW, _MANY, _ENOUGH = 3, 5, 200
_SIZE_SHARE = Fraction(1, 5)
_FINEST_WEIGHT = 64


@dataclass(frozen=True, eq=False)
class NoisyLloyd(Synopsis):
    """In every round the size of each cluster and the sums of its clipped offsets, with noise.

    Privacy: (epsilon, P)-Blowfish: the rounds' losses add up, each 2 / size scale + 2 R / sum scale, R = all reaches.
    Sensitivity: a record that moves leaves one cluster and joins another: sizes change by 2, sums by at most 2 R in L1.
    Error: variance 2 q / (1 - q)^2 per number, q = exp(-1 / scale), in positions.
    Cost: one scan for each round; time linear in rows times clusters times attributes.
    Numerics: whole-number positions, distances and sums; noise is an exact integer. The number of rounds is fixed.
    Proof: docs/proofs/lloyd.md
    """

    form: HistogramForm
    rounds: int
    start: tuple[tuple[int, ...], ...]
    reaches: tuple[int, ...]
    size_scale: Fraction
    sum_scale: Fraction

    name = "lloyd"
    proof = "docs/proofs/lloyd.md"
    independent_rows: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for scale in (self.size_scale, self.sum_scale):
            if scale:
                checked_scale(scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
        """More attributes than a grid serves."""
        return len(query.attributes) > MOST_DIMENSIONS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Share epsilon between the rounds; a sixth of each goes to the sizes."""
        form, many = bound_clusters(query, policy, records)
        k, sizes = query.k if isinstance(query, KMeans) else 1, form.domain.shape
        rounds = _FEW if many * epsilon < _ENOUGH * k * len(sizes) else _MANY
        reaches = tuple(max(1, size // 4) for size in sizes)
        if many * max(sizes) >= LARGEST_ANSWER or sum(size**2 for size in sizes) * _FINEST_WEIGHT >= LARGEST_ANSWER:
            raise RefusalError(
                "the attributes have too many values for exact arithmetic.", hint="declare coarser ones."
            )
        own = steps(policy, form.domain.names)
        if not own.graph.has_edges:
            return cls(form, rounds, _start(k, sizes), reaches, Fraction(0), Fraction(0))
        total = Fraction(sum(reaches))
        scale = 2 * total * (1 + _SIZE_SHARE) * rounds * own.rows / epsilon
        return cls(form, rounds, _start(k, sizes), reaches, scale / (_SIZE_SHARE * total), scale)

    def certify(self, policy: Policy) -> Certificate:
        """Add up the losses of all rounds from the scales held."""
        own = steps(policy, self.form.domain.names)
        secret = own.graph.has_edges
        if secret and not (self.size_scale and self.sum_scale):
            raise PolicyError(NO_NOISE)
        moved = 2 * sum(self.reaches) * own.rows if secret else 0
        epsilon = self.rounds * (2 * own.rows / self.size_scale + moved / self.sum_scale) if secret else Fraction(0)
        theorem = "a record leaves one cluster and joins another [docs/proofs/lloyd.md]"
        found = Sensitivity(Fraction(moved), exact=not secret, theorem=theorem, witness=None)
        scales, bounded = (self.size_scale, self.sum_scale), is_differential_privacy(policy)
        return Certificate(epsilon, policy.hash, self.name, scales, found, self.proof, bounded)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Bound the loss of any move."""
        if x == y or not self.sum_scale:
            return Fraction(0)
        return self.rounds * (2 / self.size_scale + 2 * sum(self.reaches) / self.sum_scale)

    @property
    def rows(self) -> int:
        """A size and the offsets of every cluster in every round."""
        return self.rounds * len(self.start) * (1 + len(self.reaches))

    @property
    def _weights(self) -> tuple[int, ...]:
        """Weigh a step along each axis by its squared width in the units of the values, in whole numbers."""
        steps = [float(w) / s for w, s in zip(widths(self.form.domain.attributes), self.form.domain.shape, strict=True)]
        return tuple(max(1, round(_FINEST_WEIGHT * (step / max(steps)) ** 2)) for step in steps)

    def draw(self, exact: Exact, source: BitSource) -> npt.NDArray[Any]:
        """Run the fixed number of rounds; the next centres follow from noisy numbers alone."""
        centres, found = self.start, []
        for _ in range(self.rounds):
            sums = exact.assigned(Assignment(centres, self._weights, self.reaches))
            records = int(sums[:, 0].sum())
            if self.sum_scale:
                sums = sums.copy()
                sums[:, 0] += discrete_laplace(self.size_scale, len(sums), source=source)
                sums[:, 1:] += discrete_laplace(self.sum_scale, sums[:, 1:].shape, source=source)
            found.append(sums.reshape(-1))
            centres = self.moved(centres, sums, records)
        return np.concatenate(found)

    def moved(self, centres: Any, sums: npt.NDArray[np.int64], records: int) -> tuple[tuple[int, ...], ...]:
        """Move the centres by their noisy mean offsets, in whole positions inside the box."""
        least = max(1, records // (4 * len(self.start)))
        sizes = np.maximum(sums[:, :1], least)
        offsets = np.clip((2 * sums[:, 1:] + sizes) // (2 * sizes), -np.array(self.reaches), np.array(self.reaches))
        places = np.clip(np.array(centres) + offsets, 0, np.array(self.form.domain.shape) - 1)
        return tuple(tuple(int(each) for each in place) for place in places)

    def points(self, noisy: npt.NDArray[np.int64], records: int) -> Points:
        """Return the centres of the last round, weighted by their noisy sizes."""
        centres = self.start
        rounds = noisy.reshape(self.rounds, len(self.start), -1)
        for sums in rounds:
            centres = self.moved(centres, sums, records)
        sizes = np.maximum(rounds[-1][:, 0], max(1, records // (4 * len(self.start)))).astype(np.float64)
        places = np.array(centres, dtype=np.float64)
        return to_points(self.form.domain, places, places + 1, sizes * (records / sizes.sum()))

    def expected_error(self) -> ExpectedError:
        """Give the error of one sum of offsets, in positions."""
        return ExpectedError(self.sum_scale, Fraction(1), "a cluster's sum of offsets, in positions")

    def words(self) -> str:
        """Describe the rounds."""
        return (
            f"{self.rounds} rounds, each with noise of scale {show(self.size_scale)} on the size of every cluster and "
            f"{show(self.sum_scale)} on the sums of its records' offsets, in positions."
        )

    def to_document(self) -> dict[str, Any]:
        """Write rounds, start, reaches and scales."""
        return {
            "name": self.name,
            "rounds": self.rounds,
            "start": [list(centre) for centre in self.start],
            "reaches": list(self.reaches),
            "sizes": {"scale": str(self.size_scale)},
            "sums": {"scale": str(self.sum_scale)},
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read rounds, start, reaches and scales."""
        form, _ = bound_clusters(query, policy, records)
        if type(written["rounds"]) is not int or not 1 <= written["rounds"] <= 100:
            raise SpecError("the document is damaged: its number of rounds is not possible.")
        start = tuple(tuple(int(each) for each in centre) for centre in written["start"])
        if not start or any(len(centre) != len(form.domain.shape) for centre in start):
            raise SpecError("the document is damaged: its centres have another form.")
        scales = (exactly(written[part]["scale"], "a noise scale", error=SpecError) for part in ("sizes", "sums"))
        return cls(form, written["rounds"], start, whole_numbers(written["reaches"], form), *scales)


def _start(k: int, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Spread the first centres evenly over the box: multiples of the generalised golden ratio, public and fixed."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (len(sizes) + 1))
    return tuple(
        tuple(int(size * ((0.5 + (number + 1) * ratio ** -(axis + 1)) % 1.0)) for axis, size in enumerate(sizes))
        for number in range(k)
    )
