"""Lloyd's algorithm with noise in every round: for more attributes than a grid can serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, Assignment, Decay
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError, SpecError
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.mechanisms.clusters.synopsis import (
    MOST_DIMENSIONS,
    Points,
    Synopsis,
    bound_clusters,
    to_points,
    whole_numbers,
    widths,
)
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, NO_NOISE
from blowfish_privacy.mechanisms.row_noise import LAPLACE_ROWS
from blowfish_privacy.noise import LARGEST_SCALE, BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import Sensitivity, Steps, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm, clusters_asked
from blowfish_privacy.support.exact import rounded

# How much one secret move can change the sizes of clusters and the sums of offsets in a round.
#
# With hard assignment a record takes itself and its offsets from one cluster to another. With soft assignment its
# shares change with the distance it moves, and its offsets by no more than the move. See docs/proofs/lloyd.md.

FINEST_WEIGHT = 64
_ROUNDING = 8
_HALVINGS = 120
"""How often shares halve between opposite corners of the box."""


@dataclass(frozen=True)
class Change:
    """The largest L1 change of all sizes, and of all sums of offsets, in shares of a record."""

    sizes: Fraction
    sums: Fraction


@dataclass(frozen=True, eq=False)
class Assigning:
    """How records are assigned to a number of centres, wherever the centres are."""

    form: HistogramForm
    centres: int
    reaches: tuple[int, ...]
    decay: Decay | None

    @property
    def unit(self) -> int:
        """The number of shares that a record is divided into."""
        return 1 if self.decay is None else self.decay.unit

    @property
    def weights(self) -> tuple[int, ...]:
        """Weigh a step along each axis by its width in the units of the values, squared where assignment is hard."""
        shape = self.form.domain.shape
        steps = [width / size for width, size in zip(widths(self.form.domain.attributes), shape, strict=True)]
        power = 2 if self.decay is None else 1
        return tuple(max(1, round(FINEST_WEIGHT * (step / max(steps)) ** power)) for step in steps)

    def soft(self, bits: int) -> Assigning:
        """Share records softly instead, with shares that halve over a 120th of the way between opposite corners."""
        shares = replace(self, decay=Decay(1, bits))
        across = sum(weight * size for weight, size in zip(shares.weights, self.form.domain.shape, strict=True))
        return replace(shares, decay=Decay(max(1, across // _HALVINGS), bits))

    def largest(self, graph: SecretGraph) -> Change:
        """Bound the change over all secret moves of one record."""
        return self._change(graph.longest_move(self.weights), graph.longest_move([1] * len(self.reaches)))

    @property
    def presence(self) -> Change:
        """The change when a record comes or goes: all its shares, and its offsets."""
        return Change(Fraction(self.unit), Fraction(self.unit * sum(self.reaches)))

    def along(self, moves: Sequence[int]) -> Change:
        """Bound the change when a record moves by this many positions along each axis."""
        far = sum(weight * move for weight, move in zip(self.weights, moves, strict=True))
        return self._change(Fraction(far), Fraction(sum(moves)))

    def _change(self, far: Fraction, positions: Fraction) -> Change:
        total, unit = sum(self.reaches), self.unit
        # With one centre nobody crosses over, and its size is the public number of records.
        sizes = Fraction(2 * unit if self.centres > 1 else 0)
        if self.decay is not None:
            sizes = min(sizes, unit * far / self.decay.halving + _ROUNDING * (self.centres - 1))
        return Change(sizes, min(Fraction(2 * total * unit), sizes * total + unit * positions))


# How noisy Lloyd assigns records, and to how many centres: as needs the least noise, from public numbers only.

_CENTRE_ERROR = Fraction(8, 141)
"""Centres are added while their standard error, the root of 2 times the scale, is below 8 % of the box."""
_MOST_FOR_EACH, _MOST_CENTRES = 4, 32
_SIZE_SHARE = Fraction(1, 5)
_MOST_BITS = 20


@dataclass(frozen=True, eq=False)
class Choice:
    """What the choice depends on."""

    form: HistogramForm
    neighbours: Steps
    reaches: tuple[int, ...]
    times: Fraction
    """The rounds, divided by epsilon."""
    most: int
    """The most records that there may be."""
    secret: bool
    """Whether records come and go."""

    @property
    def share(self) -> Fraction:
        """How much of a round's loss a change of the sizes is worth, against one of the sums."""
        return _SIZE_SHARE * sum(self.reaches)

    def noise(self, way: Assigning) -> Fraction:
        """Return the scale of the sums that one way to assign records needs."""
        graph = self.neighbours.graph
        changes = [*([way.largest(graph)] if graph.has_edges else []), *([way.presence] if self.secret else [])]
        worst = max(change.sums + self.share * change.sizes for change in changes)
        return worst * self.times * self.neighbours.rows

    def _possible(self, way: Assigning) -> bool:
        fits = way.decay is not None and way.decay.fits(way.centres, self.most, max(self.reaches))
        return fits and self.noise(way) * max(1, 1 / self.share) <= LARGEST_SCALE

    def _best(self, centres: int) -> Assigning:
        hard = Assigning(self.form, centres, self.reaches, None)
        soft = next(filter(self._possible, map(hard.soft, range(_MOST_BITS, 0, -1))), hard)
        return soft if self.noise(soft) / soft.unit < self.noise(hard) else hard

    def assigning(self, k: int, records: int) -> Assigning:
        """Choose how to assign about so many records, to k centres or to more, as many as can be told apart."""
        few, sizes = self._best(k), self.form.domain.shape
        # A single centre needs less noise than several.
        if k == 1:
            return few
        wide = Fraction(sum(sizes), len(sizes))
        seen = int(_CENTRE_ERROR * records * wide * few.unit / self.noise(few))
        return self._best(max(k, min(seen, _MOST_FOR_EACH * k, _MOST_CENTRES)))


# Where the centres of noisy Lloyd start, and where those without records start again: public and fixed.

Centres = tuple[tuple[int, ...], ...]
"""The whole-number position of every centre along every axis."""


def spread_evenly(centres: int, sizes: tuple[int, ...]) -> Centres:
    """Spread the first centres evenly over the box, at multiples of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (len(sizes) + 1))
    return tuple(
        tuple(int(size * ((0.5 + (number + 1) * ratio ** -(axis + 1)) % 1.0)) for axis, size in enumerate(sizes))
        for number in range(centres)
    )


def step_aside(turn: int, sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return a step of up to 15 % of the box along every axis, a different one every turn."""
    # Multiples of irrational numbers, the roots of 2, 5, 8, ..., to 16 binary places.
    parts = ((turn + 1) * isqrt((3 * axis + 2) << 32) % 2**16 - 2**15 for axis in range(len(sizes)))
    return np.array([3 * part * size // (10 * 2**16) for part, size in zip(parts, sizes, strict=True)], dtype=np.int64)


def is_position(centre: tuple[Any, ...], sizes: tuple[int, ...]) -> bool:
    """Say whether what a document holds is a position in the box."""
    whole = len(centre) == len(sizes) and all(type(each) is int for each in centre)
    return whole and all(0 <= each < size for each, size in zip(centre, sizes, strict=True))


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
    whole: ClassVar[bool] = False
    moves = "the clusters' sums of offsets"

    def __post_init__(self) -> None:
        LAPLACE_ROWS.check(self.size_scale, self.sum_scale)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *, epsilon: Fraction, records: int | None) -> bool:
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
        if x == y or not self.sum_scale:
            return Fraction(0)
        return self._lost(self._assigning.along([abs(a - b) for a, b in zip(x, y, strict=True)]))

    def presence(self, x: Cell) -> Fraction:
        return self._lost(self._assigning.presence)

    def _lost(self, change: Change) -> Fraction:
        return self.rounds * (change.sizes / self.size_scale + change.sums / self.sum_scale)

    @cached_property
    def _assigning(self) -> Assigning:
        return Assigning(self.form, len(self.start), self.reaches, self.decay)

    @property
    def rows(self) -> int:
        return self.rounds * len(self.start) * (1 + len(self.reaches))

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        centres = self.start
        noisy_rounds: list[npt.NDArray[np.int64]] = []
        for _ in range(self.rounds):
            sums = aggregates.assignments(self.question(centres))
            records = None if self.secret_size else int(sums[:, 0].sum()) // self._assigning.unit
            if self.sum_scale:
                sums = sums.copy()
                sums[:, 0] += LAPLACE_ROWS.draw(self.size_scale, len(sums), source)
                sums[:, 1:] += LAPLACE_ROWS.draw(self.sum_scale, sums[:, 1:].shape, source)
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
        centres = self.start
        rounds = noisy.reshape(self.rounds, len(self.start), -1)
        for many in range(1, self.rounds + 1):
            centres = self.moved(centres, list(rounds[:many]), records)
        sizes = np.maximum(rounds[-1][:, 0], 1).astype(np.float64)
        places = np.array(centres, dtype=np.float64)
        total = max(float(sizes.sum()) / self._assigning.unit, 1.0) if records is None else records
        return to_points(self.form.domain, places, places + 1, sizes * (total / sizes.sum()))

    def expected_error(self) -> ExpectedError:
        unit = Fraction(1, self._assigning.unit)
        return ExpectedError(self.sum_scale, unit, "a cluster's sum of offsets, in positions")

    def words(self) -> str:
        unit = self._assigning.unit
        how = "Every record counts for its nearest cluster" if self.decay is None else "Clusters share every record"
        return (
            f"{self.rounds} rounds with {len(self.start)} centres, from which those asked for are found. Noise of "
            f"scale {rounded(self.size_scale / unit)} on the size of every cluster and "
            f"{rounded(self.sum_scale / unit)} on the sums of its records' offsets, in positions. {how}."
        )

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": self.rounds,
            "start": [list(centre) for centre in self.start],
            "reaches": list(self.reaches),
            "sizes": LAPLACE_ROWS.to_document(self.size_scale),
            "sums": LAPLACE_ROWS.to_document(self.sum_scale),
            "soft": None if self.decay is None else {"halving": self.decay.halving, "bits": self.decay.bits},
        }

    @classmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        form, many = bound_clusters(query, policy, records, secret=True)
        if type(written["rounds"]) is not int or not 1 <= written["rounds"] <= 100:
            raise SpecError("the document is damaged: its number of rounds is not a whole number from 1 to 100.")
        start = tuple(tuple(centre) for centre in written["start"])
        if len(start) < clusters_asked(query) or not all(is_position(centre, form.domain.shape) for centre in start):
            raise SpecError("the document is damaged: a centre lies outside the domain.")
        scales = (LAPLACE_ROWS.from_document(written[part]) for part in ("sizes", "sums"))
        reaches, shared = whole_numbers(written["reaches"], form), written["soft"]
        decay = None if shared is None else Decay(shared["halving"], shared["bits"])
        if decay is not None and not decay.fits(len(start), many, max(reaches)):
            raise SpecError("the document is damaged: its shares do not fit exact arithmetic.")
        secret = policy.size == "unknown"
        return cls(form, written["rounds"], start, reaches, *scales, decay=decay, secret_size=secret)
