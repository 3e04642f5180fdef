"""The paper's data, from a folder; or synthetic stand-ins of the same shape, which are nobody's.

The folder holds ``adult.csv`` (a header with ``capital_loss``), ``twitter_256x256.npy`` (counts of tweets, columns from
south to north, rows from west to east) and ``skin.tsv`` (blue, green, red, class).
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from blowfish_lab.paper.figure import FigureRun
from blowfish_privacy.aggregates import Aggregates, RecordAggregates, TableAggregates
from blowfish_privacy.domain import Binned, Domain, Integer
from blowfish_privacy.errors import DataError
from blowfish_privacy.mechanisms.clusters.centres import nearest_centre
from blowfish_privacy.support.arrays import Floats, Integers

CAPITAL_LOSSES = 4357
SKIN_RECORDS = 245_057
LEAST_RECORDS = 10_000
"""All of the paper's data sets have more records."""
MOST_IN_A_CELL = 10**7
_ADULT_RECORDS, _TWEETS, _SIDE = 48_842, 193_563, 256


def fingerprints(run: FigureRun, names: Iterable[str]) -> dict[str, str]:
    """Return size and hash of data files, by name; stand-ins have none."""
    if run.data is None:
        return {}
    by_name: dict[str, str] = {}
    for name in names:
        with _reading(name), _file(run, name).open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
            by_name[name] = f"{file.tell()} bytes, sha256 {digest}"
    return by_name


@lru_cache(maxsize=8)
def capital_loss(run: FigureRun) -> Integers:
    """Count the records of every capital loss, 0 to 4356."""
    if run.data is None:
        return _synthetic_losses()
    with _reading("adult.csv"), _file(run, "adult.csv").open(newline="") as file:
        losses = np.array([int(row["capital_loss"]) for row in csv.DictReader(file)], dtype=np.int64)
    _check("adult.csv", losses, len(losses), CAPITAL_LOSSES - 1)
    return np.bincount(losses, minlength=CAPITAL_LOSSES).astype(np.int64)


@lru_cache(maxsize=8)
def tweets(run: FigureRun) -> Integers:
    """Count tweets on a grid: longitude from west to east, then latitude from south to north."""
    if run.data is None:
        return _synthetic_tweets()
    with _reading("twitter_256x256.npy"):
        loaded: Any = np.load(_file(run, "twitter_256x256.npy"), allow_pickle=False)
        if loaded.shape != (_SIDE, _SIDE) or loaded.dtype.kind not in "iuf" or (loaded != np.rint(loaded)).any():
            raise ValueError
        counts: Integers = loaded.astype(np.int64)
    _check("twitter_256x256.npy", counts, int(counts.sum()), MOST_IN_A_CELL)
    return counts


@lru_cache(maxsize=8)
def skin(run: FigureRun) -> Integers:
    """Return blue, green and red of every record."""
    if run.data is None:
        return _synthetic_skin()
    with _reading("skin.tsv"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        table: Any = np.loadtxt(_file(run, "skin.tsv"), dtype=np.int64, skiprows=1, usecols=(0, 1, 2), ndmin=2)
    _check("skin.tsv", table, len(table), 255)
    return table


@lru_cache(maxsize=1)
def points_in_a_box() -> npt.NDArray[np.float64]:
    """Make the paper's synthetic data: 1000 points around 4 random centres in (0, 1)^4, deviation 0.2."""
    generator = np.random.default_rng(11)
    centres = generator.uniform(0, 1, (4, 4))
    points = centres[generator.integers(0, 4, 1000)] + generator.normal(0, 0.2, (1000, 4))
    return np.clip(points, 0, 1 - 1e-9)


@contextmanager
def _reading(name: str) -> Generator[None, None, None]:
    """Turn whatever a damaged file makes its reader raise into one error."""
    try:
        yield
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or 'it is damaged'}.", hint=_HINT) from None
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
        csv.Error,
        BadZipFile,
    ):
        raise DataError(f"{name} does not hold {_HOLDS[name]}.", hint=_HINT) from None


def _check(name: str, values: Integers, records: int, largest: int) -> None:
    if records < LEAST_RECORDS:
        raise DataError(f"{name} has {records:,} records; the paper's data have {LEAST_RECORDS:,} or more.", hint=_HINT)
    if values.min() < 0 or values.max() > largest:
        raise DataError(f"{name} has values outside 0 to {largest:,}.", hint=_HINT)


_HINT = "get the file again, or leave --data out for synthetic stand-ins."
_HOLDS = {
    "adult.csv": "a column capital_loss of whole numbers",
    "twitter_256x256.npy": "256 x 256 whole numbers",
    "skin.tsv": "a header and rows of whole numbers: blue, green, red, class",
}


def _file(run: FigureRun, name: str) -> Path:
    path = Path(run.data or ".") / name
    if not path.is_file():
        raise DataError(f"{path} does not exist.", hint="leave --data out for synthetic stand-ins.")
    return path


def _synthetic_losses() -> Integers:
    generator = np.random.default_rng(1)
    some = generator.normal(1870, 250, _ADULT_RECORDS // 21)
    chosen = np.clip(np.round(some / 13) * 13, 1, CAPITAL_LOSSES - 1).astype(np.int64)
    counts = np.bincount(chosen, minlength=CAPITAL_LOSSES)
    counts[0] = _ADULT_RECORDS - len(chosen)
    return counts.astype(np.int64)


def _synthetic_tweets() -> Integers:
    generator = np.random.default_rng(2)
    towns = generator.uniform(10, _SIDE - 10, (40, 2))
    shares = generator.dirichlet(np.full(40, 0.3))
    chosen = towns[generator.choice(40, _TWEETS, p=shares)] + generator.normal(0, 2.5, (_TWEETS, 2))
    cells = np.clip(np.rint(chosen), 0, _SIDE - 1).astype(np.int64)
    return np.bincount(cells[:, 0] * _SIDE + cells[:, 1], minlength=_SIDE**2).reshape(_SIDE, _SIDE)


def _synthetic_skin() -> Integers:
    generator = np.random.default_rng(3)
    centres = generator.uniform(40, 215, (8, 3))
    chosen = centres[generator.choice(8, SKIN_RECORDS, p=generator.dirichlet(np.full(8, 1.0)))]
    return np.clip(np.rint(chosen + generator.normal(0, 22, chosen.shape)), 0, 255).astype(np.int64)


# The data of the k-means figures, and what centres are compared with.

K = 4
ROUNDS = 10
_REFERENCES = 50
_BINS = 1024


def cluster_sums(points: Floats, centres: Floats, weights: Integers | None = None) -> tuple[Floats, Floats]:
    """Return the sizes and the sums of the clusters of points: what SuLQ perturbs in every round."""
    weights = np.ones(len(points), dtype=np.int64) if weights is None else weights
    labels, many = nearest_centre(points, centres), len(centres)
    sizes = np.bincount(labels, weights, minlength=many).astype(np.float64)
    sums = [np.bincount(labels, weights * column, minlength=many) for column in points.T]
    return sizes, np.stack(sums, axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ClusteringData:
    """Records as positions in a box, each standing for so many people."""

    domain: Domain
    aggregates: Aggregates
    positions: Integers
    weights: Integers

    @property
    def records(self) -> int:
        """The number of people."""
        return int(self.weights.sum())

    @cached_property
    def points(self) -> Floats:
        """The values at the positions."""
        return self.values(self.positions.astype(np.float64))

    def values(self, positions: Floats) -> Floats:
        """Turn positions, also between two of them, into values."""
        low, width = self._scale
        return low + positions * width

    @cached_property
    def _scale(self) -> tuple[float, float]:
        first: Any = self.domain.attributes[0]
        return (float(first.low), 1.0) if isinstance(first, Integer) else (0.5 / _BINS, 1.0 / _BINS)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The ends of the box, in values."""
        sizes = np.array(self.domain.shape, dtype=np.float64)
        return self.values(np.zeros(len(sizes))), self.values(sizes - 1)

    def objective(self, centres: Floats) -> float:
        """Add up the squared distances of all records to the nearest centre."""
        near = centres[nearest_centre(self.points, centres)]
        return float(self.weights @ ((self.points - near) ** 2).sum(axis=1))

    @cached_property
    def reference(self) -> float:
        """The mean objective of the non-private algorithm: ten rounds from a uniform start, fifty runs."""
        generator = np.random.default_rng(0)
        return float(np.mean([self.objective(self.lloyd(generator)) for _ in range(_REFERENCES)]))

    def lloyd(self, generator: np.random.Generator) -> Floats:
        """Run the non-private algorithm once."""
        centres: Floats = generator.uniform(*self.box, (K, len(self.domain.names)))
        for _ in range(ROUNDS):
            sizes, sums = cluster_sums(self.points, centres, self.weights)
            centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-12)[:, None], centres)
        return centres


@lru_cache(maxsize=8)
def clustering_data(name: str, run: FigureRun) -> ClusteringData:
    """Load one of the data sets: twitter, skin, skin10, skin01, synthetic."""
    if name == "twitter":
        counts = tweets(run)
        domain = Domain(longitude=Integer(0, counts.shape[0] - 1), latitude=Integer(0, counts.shape[1] - 1))
        return ClusteringData(domain, TableAggregates(domain, counts), np.argwhere(counts > 0), counts[counts > 0])
    if name == "synthetic":
        edges = [Fraction(number, _BINS) for number in range(_BINS + 1)]
        return _placed(Domain({axis: Binned(edges) for axis in "abcd"}), (points_in_a_box() * _BINS).astype(np.int64))
    table, share = skin(run), {"skin": 1, "skin10": 10, "skin01": 100}[name]
    chosen = np.random.default_rng(7).permutation(len(table))[: len(table) // share]
    return _placed(Domain({colour: Integer(0, 255) for colour in ("blue", "green", "red")}), table[chosen])


def _placed(domain: Domain, positions: Integers) -> ClusteringData:
    aggregates = RecordAggregates(domain, tuple(positions.T))
    return ClusteringData(domain, aggregates, positions, np.ones(len(positions), dtype=np.int64))
