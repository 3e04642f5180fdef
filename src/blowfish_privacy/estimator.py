"""Private k-means with scikit-learn's manners."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines.engine import ArrayEngine
from blowfish_privacy.errors import DataError, PolicyError, QueryError, brief
from blowfish_privacy.mechanisms.clusters.centres import nearest_centre
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import KMeans
from blowfish_privacy.results import ClustersResult
from blowfish_privacy.session import Session
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.exact import positive

_WITHOUT_VALUES = ("Found array with", "features, but", "Sparse data")
"""What scikit-learn says about shapes."""
_WORDS = (
    "Reshape your data", "Complex data not supported", "Input X contains NaN", "Input X contains infinity",
    "argument must be a string or a real number",
    "Feature names are only supported if all input features have string names",
)  # fmt: skip


class WrongTableError(DataError, ValueError):
    """X has a form or values that no table of numbers has, as scikit-learn expects it to be called."""


class WrongTypeError(DataError, TypeError):
    """X is of a type that holds no numbers, as scikit-learn expects it to be called."""


class KMeansEstimator(BaseEstimator):
    """K-means whose centres are private: ``KMeansEstimator(n_clusters=4, policy=policy, epsilon="0.5").fit(X)``.

    The columns of X are the attributes of the policy's domain, in its order, and carry their names or none; the box is
    the domain's, never the data's.
    Each fit learns from the X that it is given, so each spends ``epsilon`` anew, also on the same X; without
    ``ledger`` (a path of one that is there, or a ledger) nothing remembers what fits cost together.

    After ``fit``: ``cluster_centers_``, ``cluster_sizes_`` (estimated), ``release_`` (the result: other k, pictures,
    synthetic points, the document), ``n_features_in_``, and ``feature_names_in_`` (the domain's names) if X had names.
    Nothing here is an exact function of the data: there are no
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
        if self.epsilon is None:
            raise QueryError("epsilon is needed.", hint='KMeansEstimator(policy=policy, epsilon="0.5").')
        positive(self.epsilon, "epsilon", error=QueryError)
        (rows, width), names = _form(self, X)
        policy = self._policy_for(width)
        if not isinstance(policy, Policy):
            raise PolicyError(f"a policy is needed, got {brief(policy)}.")
        domain = policy.domain
        _check_names(names, domain)
        if width != len(domain.names):
            raise DataError(
                f"X has {width} columns, but the domain has {len(domain.names)} attributes.",
                hint=f"one column for each of {', '.join(domain.names)}, in this order.",
            )
        # Columns are handed over when they are read, after the charge: until then no value decides over anything.
        table = cache(lambda: _table(self, X))
        columns = {name: partial(_column, domain, name, axis, table) for axis, name in enumerate(domain.names)}
        engine = ArrayEngine(columns, rows)
        budget = self.epsilon if self.ledger is None else None
        session = Session(engine, policy, budget=budget, ledger=self.ledger)
        query = KMeans(domain.names, self.n_clusters)
        # Arrays have no name by which to know them again, and every fit must learn from the X that it is given.
        self.release_: ClustersResult = session.release(query, epsilon=self.epsilon, mechanism=self.mechanism, new=True)
        engine.close()
        self.cluster_centers_: Floats = self.release_.centers
        self.cluster_sizes_: Floats = self.release_.sizes
        with _without_values():
            validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def _policy_for(self, width: int) -> Policy:
        # For the checks of scikit-learn, whose tables differ in width: they replace it.
        return self.policy

    def predict(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the number of the centre nearest to each point of X."""
        check_is_fitted(self)
        _, names = _form(self, X)
        _check_names(names, self.release_.release.policy.domain)
        table = _table(self, X)
        with _without_values():
            validate_data(self, X, reset=False, skip_check_array=True)
        return nearest_centre(table, self.cluster_centers_)


def _form(estimator: KMeansEstimator, given: Any) -> tuple[tuple[int, int], list[str] | None]:
    """Let scikit-learn check the form of X, whatever its values; return its shape, and the names it would keep.

    It looks on a copy: where a header is missing, the names of the columns are the values of a person.
    """
    probe: Any = copy(estimator)
    with _without_values():
        checked: Any = validate_data(probe, given, reset=True, dtype=None, ensure_all_finite=False)
    names: Any = getattr(probe, "feature_names_in_", None)
    return checked.shape, None if names is None else list(names)


def _table(estimator: KMeansEstimator, given: Any) -> Floats:
    with _without_values():
        checked: Any = validate_data(copy(estimator), given, reset=True, dtype=np.float64)
    return cast(Floats, checked)


@contextmanager
def _without_values() -> Generator[None]:
    """What scikit-learn says may quote values, so only known words of it are repeated."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        if not any(mark in message for mark in _WITHOUT_VALUES):
            message = next((word for word in _WORDS if word in message), "X must be a table of finite numbers")
        kind = WrongTypeError if isinstance(error, TypeError) else WrongTableError
        raise kind(message) from None


def _check_names(names: list[str] | None, domain: Domain) -> None:
    if names is not None and names != list(domain.names):
        # The names given are not quoted: they may be values.
        raise WrongTableError(
            "the columns of X are not named like the policy's attributes, in their order.",
            hint=f"they are {', '.join(domain.names)}; a table without names is taken in this order.",
        )


def _column(domain: Domain, name: str, axis: int, table: Callable[[], Floats]) -> npt.NDArray[Any]:
    column = table()[:, axis]
    if not isinstance(domain[name], Integer):
        return column
    if (column != np.floor(column)).any() or (np.abs(column) > 2**53).any():
        raise DataError(f"the column for {name} must hold whole numbers.", hint="no rounding is guessed; round it.")
    return column.astype(np.int64)
