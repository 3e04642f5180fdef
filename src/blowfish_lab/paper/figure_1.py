"""The policies of Figure 1: on which data, which pairs are secret, and what sensitivity the paper claims for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from blowfish_lab.paper.data import ROUNDS, ClusteringData, K, cluster_sums, clustering_data
from blowfish_lab.paper.figure import (
    CLIPPED,
    FULL,
    MEDIAN,
    OURS,
    PRINTED,
    PUBLISHED,
    QUICK_EPSILONS,
    SOUND,
    Curves,
    FigureRun,
    Measured,
    Point,
    Row,
    readable,
)
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.graphs import Attributes, DistanceThreshold, FullDomain, Partition, Secrets
from blowfish_privacy.mechanisms import Synopsis
from blowfish_privacy.mechanisms.clusters.centres import cluster, nearest_centre
from blowfish_privacy.noise import SystemSource, discrete_laplace
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import KMeans
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.support.arrays import Floats, Integers

MAP_SCALE = {"longitude": Fraction(1442, 256), "latitude": Fraction(2222, 256)}
"""The kilometres of one cell along each side of the map."""


@dataclass(frozen=True)
class Named:
    """A policy of the paper on one of its data sets."""

    data: str
    secrets: Secrets
    claimed: Callable[[ClusteringData], float]
    """The sensitivity of the cluster sums according to the paper, which is too small; in the units of the values."""
    exact: bool = False
    """Whether nothing is secret: sizes and sums have sensitivity 0, and no noise is added to either."""


def _diameter(data_set: ClusteringData) -> float:
    low, high = data_set.box
    return float((high - low).sum())


def everything(data: str) -> Named:
    """Full-domain secrets: the paper's Laplace mechanism."""
    return Named(data, FullDomain(), lambda data_set: 2 * _diameter(data_set))


def within(data: str, theta: Any, **scale: Any) -> Named:
    """Secrets of pairs at most theta apart."""
    # Distances on a map are in kilometres, the values in cells; the claim is 2 theta in the units of the values.
    widest = max((Fraction(1) / Fraction(each) for each in scale.values()), default=Fraction(1))
    secrets = DistanceThreshold(theta, scale=scale or None)
    return Named(data, secrets, lambda data_set: 2 * float(Fraction(str(theta)) * widest))


def attributes(data: str) -> Named:
    """Secrets of pairs that differ in one attribute."""
    return Named(
        data, Attributes(), lambda data_set: 2 * float(max(high - low for low, high in zip(*data_set.box, strict=True)))
    )


def blocks(width: int) -> Named:
    """Secrets inside square blocks of the map, given the width of a block in cells."""
    secrets = Partition(widths={"longitude": width, "latitude": width})
    return Named("twitter", secrets, lambda data_set: 4.0 * (width - 1), exact=width == 1)


# SuLQ k-means with the published noise [he2014, section 6]: NOT PRIVATE, kept to compare with the paper's figure.
#
# The paper's lemma says that under a threshold theta the cluster sums have sensitivity 2 theta (2 max |A| under
# attribute secrets, 2 max d(P) under partitions). A record that crosses from one cluster to another takes its whole
# value along, so the sums change by far more. See docs/errata.md.
#
# As printed, a centre is a noisy sum divided by a noisy size, wherever that lies. A size close to zero throws it far
# out of the box, and records that are left with such centres count with the whole squared distance: a few runs make up
# most of the mean objective, which then differs from one experiment to the next, and the median says more. With
# ``clipped`` centres stay in the box, which the paper does not say.

Division: TypeAlias = Callable[[Floats, Floats, Floats, Floats], Floats]
"""Makes centres of noisy sums and noisy sizes, in a box from low to high."""


def as_printed(sums: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:  # noqa: ARG001
    """Divide, and let centres lie where they may."""
    return sums / sizes


def clipped(sums: Floats, sizes: Floats, low: Floats, high: Floats) -> Floats:
    """Take sizes as one at least, and clip centres into the box: the paper says neither."""
    return np.clip(sums / np.maximum(sizes, 1.0), low, high)


def not_private_centres(data: ClusteringData, named: Named, epsilon: str, seed: int, divided: Division) -> Floats:
    """Find centres with the noise the paper prints, which protects nobody; for comparisons on public data only.

    Half of each round's epsilon goes to the sizes (claimed sensitivity 2), half to the sums (what the policy claims).
    """
    low, high = data.box
    points = np.repeat(data.points, data.weights, axis=0)
    generator, share = np.random.default_rng(seed), float(epsilon) / ROUNDS / 2
    centres: Floats = generator.uniform(low, high, (K, points.shape[1]))
    for _ in range(ROUNDS):
        sizes, sums = cluster_sums(points, centres)
        noisy = sizes + generator.laplace(0, 2 / share, K)
        moved = sums + generator.laplace(0, named.claimed(data) / share, sums.shape)
        centres = divided(moved, noisy[:, None], low, high)
    return centres


# SuLQ k-means [he2014, section 6] with a budget that holds: what the paper's algorithm costs when it is private.
#
# Every round releases sizes and sums of the clusters. A record that moves changes two sizes by one; and it takes its
# whole offset from the middle of the box from one cluster to another, |x - m| + |y - m| <= d(T) in L1, wherever it
# moves. So no policy with an edge across a cluster's border, which moves with the data, gains anything from short
# secret steps.


def sound_sulq_kmeans(data: ClusteringData, epsilon: Fraction) -> Floats:
    """Return centres; whole numbers with exact noise, half of every round's epsilon for each question."""
    source, share = SystemSource(), epsilon / ROUNDS / 2
    last = np.array(data.domain.shape, dtype=np.int64) - 1
    # Twice the offset from the middle is a whole number.
    offsets = 2 * data.positions - last
    diameter = Fraction(2 * int(last.sum()))
    centres: Floats = np.random.default_rng().uniform(0, last, (K, len(last)))
    for _ in range(ROUNDS):
        labels = nearest_centre(data.positions.astype(np.float64), centres)
        sizes = _totals(labels, data.weights) + discrete_laplace(2 / share, K, source=source)
        sums = np.stack([_totals(labels, data.weights * axis) for axis in offsets.T], axis=1)
        noisy = sums + discrete_laplace(diameter / share, sums.shape, source=source)
        centres = np.clip((noisy / np.maximum(sizes, 1)[:, None] + last) / 2, 0, last)
    return data.values(centres)


def _totals(labels: Integers, amounts: Integers) -> Integers:
    totals = np.zeros(K, dtype=np.int64)
    np.add.at(totals, labels, amounts)
    return totals


# K-means: what the panels of Figure 1 have in common.

Read: TypeAlias = tuple[float, float, float]


class KMeansCurves(Curves):
    """The objective of private centres over that of the non-private algorithm, k = 4."""

    named: ClassVar[dict[str, Named]]
    """For every policy its data, its secrets, and the sensitivity that the paper claims for the sums."""
    read_off: ClassVar[dict[str, Read]] = {}
    """What was read off this figure of the paper at epsilon 0.1, 0.5 and 1."""
    elsewhere: ClassVar[dict[str, Read]] = {}
    """Curves that another figure of the paper shows, that coincide with one read here, or that its text gives."""
    remarks: ClassVar[tuple[str, ...]] = ()
    """What the reader must know of this figure alone."""
    methods = (PRINTED, CLIPPED, SOUND, OURS)
    colours = {PRINTED: "tab:red", f"{PRINTED}, {MEDIAN}": "tab:red", CLIPPED: "tab:purple", SOUND: "tab:orange"}
    quantity = "objective / non-private objective"

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self.named)

    def plain(self, policy: str) -> str:
        data, several, _ = policy.partition(", ")
        return f"{data}, {FULL}" if several else FULL

    @property
    def read(self) -> int:
        return sum(map(len, self.read_off.values()))

    def published(self, policy: str, epsilon: str) -> float | None:
        read = (self.read_off | self.elsewhere).get(policy, ())
        values: dict[str, float] = dict(zip(QUICK_EPSILONS, read, strict=False))
        return values.get(epsilon)

    def notes(self, run: FigureRun) -> list[str]:
        return [
            *super().notes(run),
            "The published algorithm's noise is too small: it is not private (docs/errata.md).",
            "Reference, as printed and sound run 10 rounds from one random start; ours searches its noisy synopsis "
            "from several starts, which is how a ratio below 1 arises.",
            "As printed, noise may throw centres out of the box, and a few such runs make up most of a mean: the "
            "median says more. Clipped keeps centres in the box and sizes at one at least: the paper says neither.",
            *self.remarks,
        ]

    def repeated(self, method: str, policy: str, epsilon: str, run: FigureRun) -> Floats:
        named = self.named[policy]
        data = clustering_data(named.data, run)
        objectives = [data.objective(_centres(method, data, named, epsilon)) for _ in range(run.clusterings)]
        return np.array(objectives) / data.reference


def _centres(method: str, data: ClusteringData, named: Named, epsilon: str) -> Floats:
    """Find centres once, in one of four ways."""
    if named.exact and method != OURS:
        return data.lloyd(np.random.default_rng())
    if method == SOUND:
        return sound_sulq_kmeans(data, Fraction(epsilon))
    seed = int(np.random.default_rng().integers(2**31))
    if method == OURS:
        mechanism = _calibrated(data, named.secrets, epsilon)
        noisy = mechanism.draw(data.aggregates, SystemSource())
        return cluster(mechanism.points(noisy, data.records), K, seed=seed).centers
    return not_private_centres(data, named, epsilon, seed, as_printed if method == PRINTED else clipped)


@lru_cache(maxsize=64)
def _calibrated(data: ClusteringData, secrets: Secrets, epsilon: str) -> Synopsis:
    query = KMeans(list(data.domain.names), k=K)
    with warnings.catch_warnings():
        # Where blocks are single cells nothing is secret, as in the paper.
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = Policy(data.domain, secrets=secrets)
    mechanism = make_plan(query, policy, epsilon=epsilon, records=data.records).mechanism
    if not isinstance(mechanism, Synopsis):
        raise TypeError(f"{mechanism.name} releases no synopsis.")
    return mechanism


class Figure1a(KMeansCurves):
    """Longitude and latitude, on a 256 x 256 grid that stands for the paper's 300 x 400."""

    name = "1a"
    title = "Figure 1(a): k-means of tweets, distance thresholds"
    meaning = "km: places at most so far apart are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    named = {
        FULL: everything("twitter"),
        **{f"{distance} km": within("twitter", distance, **MAP_SCALE) for distance in (2000, 1000, 500, 100)},
    }
    read_off = {FULL: (1.29, 1.0, 1.0)}
    remarks = ("A grid of 256 x 256 cells stands for the paper's 300 x 400.",)


class Figure1b(KMeansCurves):
    """Records of three colours: blue, green and red."""

    name = "1b"
    title = "Figure 1(b): k-means of colours (skin01), distance thresholds"
    real_data = ("skin.tsv",)
    named = {
        FULL: everything("skin01"),
        **{f"theta {theta}": within("skin01", theta) for theta in (256, 128, 64, 32)},
    }
    read_off = dict(
        zip(named, ((35, 5.6, 4.7), (12.5, 3.2, 2.2), (9.5, 2.4, 1.6), (6, 2, 1.4), (5, 1.8, 1.25)), strict=True)
    )


class Figure1c(KMeansCurves):
    """1,000 points in four dimensions, made as the paper says: it is synthetic there too."""

    name = "1c"
    title = "Figure 1(c): k-means of 1,000 synthetic points in four dimensions, distance thresholds"
    named = {
        FULL: everything("synthetic"),
        **{f"theta {theta}": within("synthetic", theta) for theta in ("1.0", "0.5", "0.25", "0.1")},
    }
    read_off = {FULL: (180, 8, 4.3), "theta 0.25": (5.7, 2.6, 1.7), "theta 0.1": (3.7, 2.5, 1.6)}
    remarks = ("The data are synthetic, as in the paper; its own points are not published.",)


_SIZES = ("skin", "skin10", "skin01")
_NEAR = "theta 128"

QUOTIENT = "full domain / theta 128"


class Figure1d(KMeansCurves):
    """The paper divides the objective of full-domain noise by that of theta = 128; here all three are shown."""

    name = "1d"
    title = "Figure 1(d): k-means of colours by number of records, full domain and theta = 128"
    real_data = ("skin.tsv",)
    named = {
        f"{size}, {secrets}": everything(size) if secrets == FULL else within(size, 128)
        for size in _SIZES
        for secrets in (FULL, _NEAR)
    }
    elsewhere = {f"skin01, {name}": Figure1b.read_off[name] for name in (FULL, _NEAR)}
    remarks = (
        "The paper's figure is the quotient of the two objectives, in the last columns of the table; it is made "
        "of the values read off Figure 1(b); nothing was read off Figure 1(d).",
    )

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        made = super().rows(measured, run)
        every = {(row["policy"], row["epsilon"]): row for row in made}
        for row in made:
            if row["policy"].endswith(_NEAR):
                above = every[self.plain(row["policy"]), row["epsilon"]]
                columns = (PUBLISHED, f"{PRINTED}, {MEDIAN}", *self.methods)
                quotients = {name: above[name] / row[name] for name in columns if row[name]}
                if PUBLISHED in quotients:
                    quotients[PUBLISHED] = readable(quotients[PUBLISHED])
                row |= {f"{QUOTIENT}: {name}": quotient for name, quotient in quotients.items()}
        return made


_SETS = {"twitter": Figure1a, "skin01": Figure1b, "synthetic": Figure1c}


class Figure1e(KMeansCurves):
    """Which attribute a record differs in is secret, one at a time."""

    name = "1e"
    title = "Figure 1(e): k-means of all data sets, attribute secrets"
    meaning = "attributes: values that differ in one attribute are secret from each other; full domain: all values are."
    real_data = ("twitter_256x256.npy", "skin.tsv")
    named = {
        f"{data}, {secrets}": everything(data) if secrets == FULL else attributes(data)
        for data in _SETS
        for secrets in (FULL, "attributes")
    }
    read_off = {"skin01, attributes": (15, 3.4, 2.1)}
    elsewhere = {f"{data}, {FULL}": figure.read_off[FULL] for data, figure in _SETS.items()}
    remarks = ("Published: full domain is that of Figures 1(a), 1(b) and 1(c).",)


_WIDTHS = {"partition of 100": 26, "partition of 1,000": 8, "partition of 10,000": 3, "single cells": 1}


class Figure1f(KMeansCurves):
    """Who is in which block is public; where in it is secret."""

    name = "1f"
    title = "Figure 1(f): k-means of tweets, partitions"
    meaning = "partition: places of the same block are secret from each other; full domain: all places are."
    real_data = ("twitter_256x256.npy",)
    named = {FULL: everything("twitter"), **{name: blocks(width) for name, width in _WIDTHS.items()}}
    read_off = {"partition of 100": (1.007, 1.0, 1.0)}
    elsewhere = {
        FULL: Figure1a.read_off[FULL],
        **dict.fromkeys(("partition of 1,000", "partition of 10,000"), read_off["partition of 100"]),
        "single cells": (1.0, 1.0, 1.0),
    }
    remarks = (
        "A grid of 256 x 256 cells stands for the paper's 300 x 400; blocks of 26, 8 and 3 make about as many.",
        "Published: the three curves of partitions coincide and were read once; full domain is Figure 1(a)'s.",
        "Single cells: nothing is secret, so no mechanism adds noise, and the paper's text says that it is exact.",
    )
