"""Clusters, and whatever else a noisy synopsis of where the records lie can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.errors import QueryError, brief
from blowfish_privacy.mechanisms import Points, Synopsis
from blowfish_privacy.mechanisms.clusters.centres import Clusters, cluster, meet_totals, nearest_centre
from blowfish_privacy.mechanisms.clusters.synopsis import MOST_DIMENSIONS
from blowfish_privacy.privacy.public_totals import MOST_CELLS
from blowfish_privacy.queries.counts import clusters_asked
from blowfish_privacy.release.document import seal
from blowfish_privacy.results.pictures.figure import Drawing
from blowfish_privacy.results.pictures.map import ClustersDrawing
from blowfish_privacy.results.result import Result, checked_share, whole_number
from blowfish_privacy.support.arrays import Floats, Integers, estimates
from blowfish_privacy.support.progress import task


class ClustersResult(Result):
    """The centres of clusters. The release is the synopsis: every k, picture and estimate from it is free.

    Equal documents give equal centres: the restarts are seeded by the document.
    """

    kind = "clusters"

    @property
    def domain(self) -> Domain:
        """The clustered attributes."""
        return self.release.query.own_domain(self.release.policy.domain)

    @property
    def k(self) -> int:
        """The number of clusters asked for."""
        return clusters_asked(self.release.query)

    @cached_property
    def points(self) -> Points:
        """Weighted points: the estimate of where the records lie."""
        mechanism = self.release.mechanism
        if not isinstance(mechanism, Synopsis):
            raise QueryError(f"{mechanism.name} releases no synopsis.")
        with task("Finding where the records lie"):
            points = mechanism.points(self.release.noisy, self.release.records)
        points = replace(points, places=_inside(self.domain, points.places, whole=False))
        if not mechanism.whole or not self.release.certificate.amount or self.domain.size > MOST_CELLS:
            return points
        constraints = self.release.constraints
        return points if constraints is None else meet_totals(points, self.domain, constraints)

    def clusters(self, k: int | None = None) -> Clusters:
        """Return the clusters for any k; free."""
        whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if k is not None and not (whole and 1 <= k <= self.domain.size):
            raise QueryError(f"the number of clusters lies between 1 and {self.domain.size:,}, got {brief(k)}.")
        wanted = self.k if k is None else int(k)
        if wanted != self.k:
            self._need_all_places(f"clusters for k = {wanted}")
        if wanted not in self._clusters:
            with task("Finding centres"):
                self._clusters[wanted] = cluster(self.points, wanted, seed=int(seal(self.release.body)[:8], 16))
        return self._clusters[wanted]

    @cached_property
    def _clusters(self) -> dict[int, Clusters]:
        return {}

    @property
    def centers(self) -> Floats:
        """The centres, one row for each cluster, in the units of the values; largest cluster first."""
        return self.clusters().centers

    @property
    def sizes(self) -> Floats:
        """The estimated number of records of each cluster."""
        return self.clusters().sizes

    def predict(self, points: npt.ArrayLike, k: int | None = None) -> Integers:
        """Say which cluster new points belong to: a table with one column for each attribute."""
        width = len(self.domain.names)
        try:
            table = np.asarray(points, dtype=np.float64)
        except (ValueError, TypeError):
            table: Floats = np.zeros(0)
        if table.ndim != 2 or int(table.shape[-1]) != width:
            raise QueryError(f"points are a table of numbers with {width} columns, one for each attribute.")
        if not np.isfinite(table).all():
            raise QueryError("points must be finite numbers.")
        return nearest_centre(table, self.clusters(k).centers)

    def elbow(self, largest: int = 10) -> dict[int, float]:
        """Return for every number of clusters the estimated sum of squared distances to the centres."""
        self._need_all_places("an elbow")
        most = whole_number(largest, "the largest number of clusters", 1)
        most = min(most, self.domain.size)
        return {k: self.clusters(k).objective for k in range(1, most + 1)}

    def mean(self, attribute: str, within: int | None = None) -> float:
        """Estimate the mean of an attribute, over all records or those of one cluster."""
        axis, weights = self.domain.axis(attribute), self._weights(within)
        return float(self.points.places[:, axis] @ weights / weights.sum())

    def quantile(self, attribute: str, share: Any, within: int | None = None) -> float:
        """Estimate a quantile of an attribute, over all records or those of one cluster."""
        self._need_all_places("a quantile")
        wanted = checked_share(share)
        axis, weights = self.domain.axis(attribute), self._weights(within)
        order = np.argsort(self.points.places[:, axis], kind="stable")
        reached = np.cumsum(weights[order])
        index = min(int(np.searchsorted(reached, wanted * reached[-1] - 1e-9)), len(order) - 1)
        return float(self.points.places[order[index], axis])

    def _weights(self, within: int | None) -> Floats:
        if within is None:
            return self.points.weights
        if not isinstance(within, int | np.integer) or isinstance(within, bool) or not 0 <= within < self.k:
            raise QueryError(f"clusters are numbered 0 to {self.k - 1}, got {brief(within)}.")
        chosen = self.points.weights * (nearest_centre(self.points.places, self.centers) == within)
        if not chosen.any():
            raise QueryError(f"cluster {within} is empty.")
        return chosen

    def synthetic(self, records: int | None = None, *, seed: int | None = None) -> Floats:
        """Draw synthetic records from the synopsis: a table with one column for each attribute; free.

        Like the data, they lie in the declared domain: declared numbers where it has numbers.
        """
        self._need_all_places("synthetic records")
        known = round(self.points.records) if self.release.records is None else self.release.records
        many = known if records is None else whole_number(records, "the number of records", 0)
        generator = np.random.default_rng(None if seed is None else whole_number(seed, "the seed", 0))
        chosen = generator.choice(len(self.points.weights), many, p=self.points.weights / self.points.records)
        jitter = generator.uniform(-0.5, 0.5, (many, len(self.domain.names)))
        return _inside(self.domain, self.points.places[chosen] + jitter * self.points.widths[chosen], whole=True)

    def _need_all_places(self, what: str) -> None:
        mechanism = self.release.mechanism
        if isinstance(mechanism, Synopsis) and not mechanism.whole:
            raise QueryError(
                f"{mechanism.name} releases its centres only, and {what} cannot be told from them.",
                hint=f"up to {MOST_DIMENSIONS} attributes, soft-grid tells where all records lie.",
            )

    @property
    def values(self) -> Floats:
        return self.centers

    def _remarks(self) -> list[str]:
        return ["Centres and sizes come from an estimate that is nowhere negative: they are biased."]

    @property
    def header(self) -> list[str]:
        return ["cluster", *self.domain.names, "records"]

    def rows(self) -> Iterator[list[Any]]:
        places = zip(self.domain.attributes, self.centers.T, strict=True)
        centres = [estimates(each, _reach(attribute) / 100).tolist() for attribute, each in places]
        for number, (size, *centre) in enumerate(zip(self.sizes.tolist(), *centres, strict=True)):
            yield [number, *centre, round(size)]

    def drawings(self) -> Sequence[Drawing]:
        return [ClustersDrawing(self.domain.names, self.points, self.clusters(), self.title())]

    def asked(self) -> str:
        return f"{self.k} clusters by {', '.join(self.domain.names)}"


def _reach(attribute: Attribute) -> float:
    """Return how far the declared values reach."""
    if isinstance(attribute, Numeric):
        return float(attribute.spacing) * (attribute.size - 1)
    return float(attribute.bounds[-1] - attribute.bounds[0]) if isinstance(attribute, Binned) else 0.0


def _inside(domain: Domain, places: Floats, *, whole: bool) -> Floats:
    """Keep places inside the declared values; numbers stand for the stretch half a step around them."""
    for axis, attribute in enumerate(domain.attributes):
        if isinstance(attribute, Numeric):
            low, step = float(attribute.lowest), float(attribute.spacing)
            steps = (places[:, axis] - low) / step
            inside = np.clip(np.rint(steps) if whole else steps, 0, attribute.size - 1)
            places[:, axis] = low + inside * step
    return places
