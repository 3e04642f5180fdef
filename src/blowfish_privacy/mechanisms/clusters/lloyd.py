"""Lloyd's algorithm with noise in every round: for more attributes than a grid can serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Assignment, Decay
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.mechanisms.clusters.assigned_change import FINEST_WEIGHT, Assigning, Change
from blowfish_privacy.mechanisms.clusters.assigning_choice import Choice
from blowfish_privacy.mechanisms.clusters.centre_positions import Centres, is_position, spread_evenly, step_aside
from blowfish_privacy.mechanisms.clusters.grid_choice import MOST_DIMENSIONS
from blowfish_privacy.mechanisms.clusters.synopsis import Points, Synopsis, bound_clusters, to_points, whole_numbers
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE
from blowfish_privacy.noise import BitSource, checked_scale, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm, clusters_asked
from blowfish_privacy.support.exact import exact, rounded

_FEW, _MANY, _ENOUGH = 3, 5, 200
_USUAL_RECORDS = 10_000
"""Rounds and centres are chosen for so many records where their number is secret."""


@dataclass(frozen=True, eq=False)
class NoisyLloyd(Synopsis):
    """In every round the size of each cluster and the sums of its clipped offsets, with noise.

    Privacy: (epsilon, P)-Blowfish: the rounds' losses add up, each change of sizes / their scale, plus that of sums.
    Sensitivity: with hard assignment a record leaves one cluster and joins another: sizes change by 2, sums by 2 R in
        L1, R = all reaches. With soft assignment both change with the length of the move. The smaller noise is chosen.
    Error: variance 2 q / (1 - q)^2 per number, q = exp(-1 / scale), in positions.
    Cost: one scan for each round; time linear in rows times clusters times attributes.
    Numerics: whole-number positions, distances and sums; noise is an exact integer. The number of rounds is fixed.
    Proof: docs/proofs/lloyd.md
    """

    form: HistogramForm
    rounds: int
    start: Centres
    reaches: tuple[int, ...]
    size_scale: Fraction
    sum_scale: Fraction
    decay: Decay | None = None
    """How records are shared between clusters; None where each belongs to the nearest."""
    secret_size: bool = False
    """Whether the number of records is secret, and so taken from the noisy sizes."""

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
        """Require more attributes than a grid can serve."""
        return len(query.attributes) > MOST_DIMENSIONS

    @classmethod
    def calibrated(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> Self:
        """Share epsilon between the rounds; a sixth of each goes to the sizes.

        The rounds run with more centres than asked for, as many as can be placed despite the noise: fewer groups are
        missed, and the centres asked for are then found among them.
        """
        form, many = bound_clusters(query, policy, records, secret=True)
        secret = policy.size == "unknown"
        usual = _USUAL_RECORDS if secret else many
        k, sizes = clusters_asked(query), form.domain.shape
        rounds = _FEW if usual * epsilon < _ENOUGH * k * len(sizes) else _MANY
        reaches = tuple(max(1, size // 4) for size in sizes)
        if many * max(sizes) >= LARGEST_ANSWER or sum(size**2 for size in sizes) * FINEST_WEIGHT >= LARGEST_ANSWER:
            raise RefusalError(
                "the attributes have too many values for exact arithmetic.", hint="declare coarser ones."
            )
        neighbours = steps(policy, form.domain.names)
        if not neighbours.graph.has_edges and not secret:
            return cls(form, rounds, spread_evenly(k, sizes), reaches, Fraction(0), Fraction(0))
        choice = Choice(form, neighbours, reaches, rounds / epsilon, many, secret=secret)
        chosen = choice.assigning(k, usual)
        scale, start = choice.noise(chosen), spread_evenly(chosen.centres, sizes)
        return cls(form, rounds, start, reaches, scale / choice.share, scale, chosen.decay, secret)

    def certify(self, policy: Policy) -> Certificate:
        """Add up the losses of all rounds from the scales held."""
        neighbours = steps(policy, self.form.domain.names)
        moves, unknown = neighbours.graph.has_edges, policy.size == "unknown"
        secret = moves or unknown
        if secret and not (self.size_scale and self.sum_scale):
            raise PolicyError(NO_NOISE)
        change = self._assigning.largest(neighbours.graph)
        epsilon = self._lost(change) * neighbours.rows if moves else Fraction(0)
        sums = max(change.sums, self._assigning.presence.sums) if unknown else change.sums
        moved = neighbours.rows * sums / self._assigning.unit
        theorem = (
            "a record leaves one cluster and joins another [docs/proofs/lloyd.md]"
            if self.decay is None
            else "shares change with the length of a move [docs/proofs/lloyd.md]"
        )
        sensitivity = Sensitivity(moved, exact=not secret, theorem=theorem, witness=None)
        presence = neighbours.rows * self._lost(self._assigning.presence) if unknown else Fraction(0)
        loss = loss_seen(policy, self.form.domain.names, epsilon, presence)
        return self.certified(policy, loss, sensitivity, self.size_scale, self.sum_scale)

    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Bound the loss of a move by its length along every axis."""
        if x == y or not self.sum_scale:
            return Fraction(0)
        return self._lost(self._assigning.along([abs(a - b) for a, b in zip(x, y, strict=True)]))

    def presence(self, x: Cell) -> Fraction:
        """Bound the loss by that of a record with all offsets at their reach."""
        return self._lost(self._assigning.presence)

    def _lost(self, change: Change) -> Fraction:
        return self.rounds * (change.sizes / self.size_scale + change.sums / self.sum_scale)

    @cached_property
    def _assigning(self) -> Assigning:
        return Assigning(self.form, len(self.start), self.reaches, self.decay)

    @property
    def rows(self) -> int:
        """The size and the sums of offsets of every cluster, in every round."""
        return self.rounds * len(self.start) * (1 + len(self.reaches))

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Run the fixed number of rounds; the next centres follow from noisy numbers alone."""
        centres = self.start
        noisy_rounds: list[npt.NDArray[np.int64]] = []
        for _ in range(self.rounds):
            sums = aggregates.assignments(self.question(centres))
            records = None if self.secret_size else int(sums[:, 0].sum()) // self._assigning.unit
            if self.sum_scale:
                sums = sums.copy()
                sums[:, 0] += discrete_laplace(self.size_scale, len(sums), source=source)
                sums[:, 1:] += discrete_laplace(self.sum_scale, sums[:, 1:].shape, source=source)
            noisy_rounds.append(sums.reshape(-1))
            centres = self.moved(centres, noisy_rounds, records)
        return np.concatenate(noisy_rounds)

    def question(self, centres: Centres) -> Assignment:
        """Return what a round that starts from these centres asks of the records."""
        return Assignment(centres, self._assigning.weights, self.reaches, self.decay)

    def moved(self, centres: Any, noisy_rounds: Sequence[npt.NDArray[np.int64]], records: int | None) -> Centres:
        """Move the centres by their last noisy mean offsets, in whole positions inside the box.

        Centres without records start again beside a crowded one, except after the last round. It is all whole-number
        arithmetic on noisy numbers, so that every reader arrives at the same centres.
        """
        sums, top = noisy_rounds[-1].reshape(len(self.start), -1), np.array(self.form.domain.shape) - 1
        least = self._least(int(sums[:, 0].sum()) // self._assigning.unit if records is None else records)
        sizes = np.maximum(sums[:, :1], least)
        offsets = np.clip((2 * sums[:, 1:] + sizes) // (2 * sizes), -np.array(self.reaches), np.array(self.reaches))
        places = np.clip(np.array(centres) + offsets, 0, top)
        if len(noisy_rounds) < self.rounds:
            crowd = sums[:, 0].copy()
            for turn, lost in enumerate(np.flatnonzero(sums[:, 0] < least).tolist()):
                beside = int(crowd.argmax())
                crowd[beside] //= 2
                aside = step_aside(turn + 7 * len(noisy_rounds), self.form.domain.shape)
                places[lost] = np.clip(places[beside] + aside, 0, top)
        return tuple(tuple(int(each) for each in centre) for centre in places)

    def _least(self, records: int) -> int:
        """Return the size, in shares, below which a cluster counts as empty."""
        return max(1, records // (4 * len(self.start))) * self._assigning.unit

    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Return the centres of the last round, weighted by their noisy sizes."""
        centres = self.start
        rounds = noisy.reshape(self.rounds, len(self.start), -1)
        for many in range(1, self.rounds + 1):
            centres = self.moved(centres, list(rounds[:many]), records)
        sizes = np.maximum(rounds[-1][:, 0], 1).astype(np.float64)
        places = np.array(centres, dtype=np.float64)
        total = max(float(sizes.sum()) / self._assigning.unit, 1.0) if records is None else records
        return to_points(self.form.domain, places, places + 1, sizes * (total / sizes.sum()))

    def expected_error(self) -> ExpectedError:
        """Give the error of one sum of offsets, in positions."""
        unit = Fraction(1, self._assigning.unit)
        return ExpectedError(self.sum_scale, unit, "a cluster's sum of offsets, in positions")

    def words(self) -> str:
        """State rounds, centres and scales, and how records are assigned."""
        unit = self._assigning.unit
        how = "Every record counts for its nearest cluster" if self.decay is None else "Clusters share every record"
        return (
            f"{self.rounds} rounds with {len(self.start)} centres, from which those asked for are found. Noise of "
            f"scale {rounded(self.size_scale / unit)} on the size of every cluster and "
            f"{rounded(self.sum_scale / unit)} on the sums of its records' offsets, in positions. {how}."
        )

    def to_document(self) -> dict[str, Any]:
        """Write rounds, start, reaches, scales and how records are assigned."""
        return {
            "name": self.name,
            "rounds": self.rounds,
            "start": [list(centre) for centre in self.start],
            "reaches": list(self.reaches),
            "sizes": {"scale": str(self.size_scale)},
            "sums": {"scale": str(self.sum_scale)},
            "soft": None if self.decay is None else {"halving": self.decay.halving, "bits": self.decay.bits},
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read rounds, start, reaches, scales and how records are assigned."""
        form, many = bound_clusters(query, policy, records, secret=True)
        if type(written["rounds"]) is not int or not 1 <= written["rounds"] <= 100:
            raise SpecError("the document is damaged: its number of rounds is not a whole number from 1 to 100.")
        start = tuple(tuple(centre) for centre in written["start"])
        if len(start) < clusters_asked(query) or not all(is_position(centre, form.domain.shape) for centre in start):
            raise SpecError("the document is damaged: a centre lies outside the domain.")
        scales = (exact(written[part]["scale"], "a noise scale", error=SpecError) for part in ("sizes", "sums"))
        reaches, shared = whole_numbers(written["reaches"], form), written["soft"]
        decay = None if shared is None else Decay(shared["halving"], shared["bits"])
        if decay is not None and not decay.fits(len(start), many, max(reaches)):
            raise SpecError("the document is damaged: its shares do not fit exact arithmetic.")
        secret = policy.size == "unknown"
        return cls(form, written["rounds"], start, reaches, *scales, decay=decay, secret_size=secret)
