"""The interface and the promises of every mechanism.

A mechanism holds the noise scales it will use. It can prove from them, and from the policy, how much privacy it
spends (:meth:`certify`), and state the expected error before any data are read. It never sees a table: only the exact
counts that an engine computes, and a source of random bits. A new mechanism is one file beside this one, with
its proof in ``docs/proofs/``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import PolicyError, RefusalError
from blowfish_privacy.mechanisms.error import Error
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, is_differential_privacy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import EPSILON, Measure
from blowfish_privacy.privacy.sensitivity import Sensitivity
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import LARGEST_ANSWER
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import Number, rounded_up
from blowfish_privacy.support.file_forms import enter
from blowfish_privacy.support.on_demand import KindsOnDemand
from blowfish_privacy.support.progress import task


class Listed(NamedTuple):
    """Where a mechanism of this package is defined, and the kinds of answers that it gives."""

    module: str
    kind: str
    answers: tuple[str, ...]


_INDEPENDENT = ("numbers", "cumulative", "grid")
REGISTRY = {
    "counted-grid": Listed("clusters.soft_grid", "CountedGrid", ("clusters",)),
    "lloyd": Listed("clusters.lloyd", "NoisyLloyd", ("clusters",)),
    "soft-grid": Listed("clusters.soft_grid", "SoftGrid", ("clusters",)),
    "soft-mesh": Listed("clusters.soft_mesh", "SoftMesh", ("clusters",)),
    "gaussian": Listed("independent", "Gaussian", _INDEPENDENT),
    "laplace": Listed("independent", "Laplace", _INDEPENDENT),
    "adaptive-grid": Listed("grid.adaptive_grid", "AdaptiveGrid", ("grid",)),
    "gaussian-flow": Listed("grid.grid_flow", "GaussianFlow", ("grid",)),
    "gaussian-grid": Listed("grid.grid_hierarchy", "GaussianGrid", ("grid",)),
    "grid-flow": Listed("grid.grid_flow", "GridFlow", ("grid",)),
    "grid-hierarchy": Listed("grid.grid_hierarchy", "GridHierarchy", ("grid",)),
    "mean-offsets": Listed("means", "MeanOffsets", ("numbers",)),
    "weighted-offsets": Listed("means", "WeightedOffsets", ("numbers",)),
    "gaussian-hierarchy": Listed("ordered.smooth_hierarchy", "GaussianHierarchy", ("cumulative",)),
    "gaussian-ordered": Listed("ordered.smooth_hierarchy", "GaussianOrdered", ("cumulative",)),
    "smooth-hierarchy": Listed("ordered.smooth_hierarchy", "SmoothHierarchy", ("cumulative",)),
    "ordered": Listed("ordered.smooth_hierarchy", "Ordered", ("cumulative",)),
    "ordered-hierarchical": Listed("ordered.ordered_hierarchical", "OrderedHierarchical", ("cumulative",)),
    "synthetic": Listed("synthetic.synthetic", "GaussianSynthetic", ("records",)),
    "synthetic-laplace": Listed("synthetic.synthetic", "LaplaceSynthetic", ("records",)),
    "gaussian-marginals": Listed("tables.marginals", "GaussianMarginals", ("tables",)),
    "marginals": Listed("tables.marginals", "Marginals", ("tables",)),
}
"""The mechanisms of this package by name, imported when they are asked for; among equals the first is chosen."""


NO_NOISE = "this answer depends on secrets and has no noise: it certifies nothing."
MOST_SECRET_RECORDS = 2**40
"""Where the number of records is secret, every answer about so many must stay below :data:`LARGEST_ANSWER`."""


def check_secret_size(policy: Policy, heaviest: int) -> None:
    """Refuse weights for which an overflow while answering would reveal something about a secret number of records."""
    if policy.size == "unknown" and heaviest * MOST_SECRET_RECORDS >= LARGEST_ANSWER:
        raise RefusalError(
            "the weights are too large for a secret number of records.",
            hint="use larger units, or declare larger steps.",
        )


class Mechanism(ABC):
    """A way to answer a query with noise."""

    name: ClassVar[str]
    """What selects it: ``session.plan(query, epsilon=.., mechanism=name)``."""
    proof: ClassVar[str]
    """The page with its proof."""
    gives: ClassVar[tuple[str, ...]]
    """The kinds of answers it gives, as queries name them."""
    preferred_for: ClassVar[tuple[str, ...] | None] = None
    """The kinds for which it is considered when no mechanism is named; None means all of them."""
    kinds: ClassVar[KindsOnDemand[type[Mechanism]]] = KindsOnDemand(
        "blowfish_privacy.mechanisms", {name: listed.module for name, listed in REGISTRY.items()}
    )
    """Every mechanism defined anywhere, by name."""
    counted_in: ClassVar[Measure] = EPSILON
    """How its loss is counted."""
    independent_rows: ClassVar[bool] = True
    """Whether the release is exact rows plus independent noise on each."""
    stands_in_for: ClassVar[str] = ""
    """The mechanism in whose place it is taken where it suits: its error is typically smaller, but the error that it
    guarantees is larger. A plan for a stated error does not use it."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a mechanism under its name."""
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            enter(Mechanism.kinds, cls.name, cls)

    @classmethod
    def answers(cls, query: Query) -> bool:
        """Say whether the mechanism can answer a query."""
        return query.answer in cls.gives

    @classmethod
    def default_for(cls, query: Query) -> bool:
        """Say whether it is considered when no mechanism is named; the most accurate one is chosen."""
        return cls.answers(query) and (cls.preferred_for is None or query.answer in cls.preferred_for)

    @classmethod
    def suits(cls, query: Query, policy: Policy, *args: Any, **public: Any) -> bool:
        """Say whether it should be considered for a query that it answers; called as ``calibrated``."""
        return True

    @classmethod
    @abstractmethod
    def calibrated(cls, query: Query, policy: Policy, *args: Any, **public: Any) -> Self:
        """Choose noise scales from public information only, so that the certificate is exactly the amount given.

        That is ``epsilon``, or ``rho`` if that is its measure; ``records`` is the public number of records.
        """

    @abstractmethod
    def certify(self, policy: Policy) -> Certificate:
        """Derive the privacy loss from the scales held; never repeat the request."""

    def certified(self, policy: Policy, loss: Loss, sensitivity: Sensitivity, *scales: Fraction) -> Certificate:
        """Build the certificate that :meth:`certify` returns."""
        bounded = is_differential_privacy(policy)
        return Certificate(loss, policy.hash, self.name, scales, sensitivity, self.proof, bounded)

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of noisy numbers that :meth:`measure` returns."""

    @abstractmethod
    def loss(self, x: Cell, y: Cell) -> Fraction:
        """Return the privacy loss on a record that moves from x to y.

        In epsilon it is the sum of |change| / scale over all rows, in rho that of change^2 / (2 variance).
        """

    def presence(self, x: Cell) -> Fraction:
        """Return the privacy loss on a record at x that comes or goes."""
        raise PolicyError(f"{self.name} needs a public number of records: nobody comes or goes.")

    @abstractmethod
    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        """Turn exact counts into noisy answers: whole numbers of units."""

    def tables(self, query: Query) -> AttributeSets:
        """Return the sets of attributes whose counts it reads, each of which must fit in memory; by default, one."""
        return [query.attributes]

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Read the aggregates needed, all under one charge, and perturb them; by default, counts of all cells."""
        (counts,) = aggregates.counts()
        with task("Drawing noise"):
            return self.measure(counts, source)

    moves: ClassVar[str | None] = None
    """What a secret change moves, where that is something else than the query's answer."""
    drawn_in_pieces: ClassVar[bool] = False
    """Whether :meth:`pieces` needs less memory than :meth:`draw`."""

    def pieces(self, aggregates: Aggregates, source: BitSource) -> Iterator[npt.NDArray[Any]]:
        """Draw the same answers one piece after the other, for more of them than can be held; by default, at once."""
        yield self.draw(aggregates, source)

    def fits(self, noisy: Integers) -> bool:
        """Say whether a document's values can be what :meth:`draw` returned."""
        return len(noisy) == self.rows

    @property
    def blind(self) -> bool:
        """Whether the answer is the same for all data, although different data should give different answers."""
        return False

    @property
    def notices(self) -> list[str]:
        """The drawbacks of this choice that users must know."""
        return []

    def notices_for(self, records: str, be: str = "will be") -> list[str]:
        """Return the notices where ``records`` names the number of records that is meant; ``be`` says when."""
        return self.notices

    def for_free(self) -> str:
        """Say what the release gives at no extra cost, worded to follow the query."""
        return ""

    @property
    def exact_parts(self) -> int:
        """How many parts of the cells the release counts exactly by itself; one where only the total is."""
        return 1

    def without_noise(self) -> str | None:
        """Say what the release contains without noise, if anything."""
        return None

    def parts(self) -> list[tuple[str, int, float]]:
        """List the parts of an answer whose errors differ: what, how many numbers, and their typical error."""
        return []

    def within_by_size(self, level: Number = "0.95") -> dict[str, float]:
        """Bound the error with probability ``level`` by the size of what is asked for, where it depends on that."""
        return {}

    sized_in: ClassVar[str] = ""
    """What the sizes of :meth:`errors_by_size` count."""

    def errors_by_size(self) -> dict[int, float]:
        """Return the typical error of what is asked for by its size, where it depends on that; for a picture."""
        return {}

    def promises(self, policy: Policy, full_domain: Fraction | None = None) -> list[str]:
        """Say what else can be proved of the noise held, in sentences for a plan.

        ``full_domain`` is what the release loses under the full domain, where it hides a whole record at all.
        """
        return []

    @abstractmethod
    def expected_error(self) -> Error:
        """Return the error to expect, from the scales held."""

    def compared_error(self) -> float:
        """Return the mean squared error by which it is compared with others when no mechanism is named."""
        return self.expected_error().mse

    @abstractmethod
    def words(self) -> str:
        """Describe in a sentence or two which noise is added to what, and why."""

    @abstractmethod
    def to_document(self) -> dict[str, Any]:
        """Write the scales held, and whatever else certifying needs."""

    @classmethod
    @abstractmethod
    def from_document(cls, query: Query, policy: Policy, written: dict[str, Any], records: int | None) -> Self:
        """Read what :meth:`to_document` writes."""


# The refusal of clusters of so few records that noise would choose them.


class TooFewError(RefusalError):
    """There are too few records: any centres would be noise."""

    @classmethod
    def of(cls, records: int, epsilon: Fraction) -> TooFewError:
        """Refuse this number of records at this epsilon."""
        return cls(
            f"{records:,} records at epsilon {rounded_up(epsilon)} say too little: any centres would be noise.",
            hint="raise epsilon, or take fewer attributes.",
        )
