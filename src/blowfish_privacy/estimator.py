"""Private k-means with scikit-learn's manners."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from blowfish_privacy.clustering import nearest_centre
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines.arrays import ArrayEngine
from blowfish_privacy.errors import DataError, PolicyError, brief
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import KMeans
from blowfish_privacy.session import Session

Floats = npt.NDArray[np.float64]


class KMeansEstimator(BaseEstimator):
    """K-means whose centres are private: ``KMeansEstimator(n_clusters=4, policy=policy, epsilon="0.5").fit(X)``.

    The columns of X are the attributes of the policy's domain, in its order; the box is the domain's, never the data's.
    Without ``ledger`` (a path, or a ledger) nothing remembers what a fit cost: each fit spends ``epsilon`` anew.

    After ``fit``: ``cluster_centers_``, ``cluster_sizes_`` (estimated), ``release_`` (the result: other k, pictures,
    synthetic points, the document), ``n_features_in_``. Nothing here is an exact function of the data: there are no
    ``labels_`` and no ``inertia_``, since both would tell about single records. ``predict`` labels whatever points it
    is given; labels of private records are as private as these.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        policy: Policy,
        epsilon: Any,
        ledger: Any = None,
        mechanism: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.policy = policy
        self.epsilon = epsilon
        self.ledger = ledger
        self.mechanism = mechanism

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803
        """Release a synopsis of X under the policy and find the centres in it."""
        table = _table(self, X, reset=True)
        policy = self._policy_for(table.shape[1])
        domain = policy.domain
        if table.shape[1] != len(domain.names):
            raise DataError(
                f"X has {table.shape[1]} columns, but the domain has {len(domain.names)} attributes.",
                hint=f"one column for each of {', '.join(domain.names)}, in this order.",
            )
        engine = ArrayEngine({name: _column(domain, name, table[:, axis]) for axis, name in enumerate(domain.names)})
        budget = self.epsilon if self.ledger is None else None
        session = Session(engine, policy, budget=budget, ledger=self.ledger)
        query = KMeans(domain.names, _number(self.n_clusters))
        self.release_ = session.release(query, epsilon=self.epsilon, mechanism=self.mechanism)
        engine.close()
        self.cluster_centers_: Floats = self.release_.centers
        self.cluster_sizes_: Floats = self.release_.sizes
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the number of the centre nearest to each point of X."""
        check_is_fitted(self)
        return nearest_centre(_table(self, X, reset=False), self.cluster_centers_)

    def _policy_for(self, width: int) -> Policy:
        if not isinstance(self.policy, Policy):
            raise PolicyError(f"a policy is needed, got {brief(self.policy)}.")
        return self.policy


def _table(estimator: Any, given: Any, *, reset: bool) -> Floats:
    checked: Any = validate_data(estimator, given, reset=reset, dtype=np.float64)
    return cast(Floats, checked)


def _column(domain: Domain, name: str, column: Floats) -> npt.NDArray[Any]:
    if not isinstance(domain[name], Integer):
        return column
    if (column != np.floor(column)).any() or (np.abs(column) > 2**53).any():
        raise DataError(f"the column for {name} must hold whole numbers.", hint="no rounding is guessed; round it.")
    return column.astype(np.int64)


def _number(clusters: object) -> Any:
    return int(clusters) if isinstance(clusters, np.integer) else clusters
