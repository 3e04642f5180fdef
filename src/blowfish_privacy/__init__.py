"""Blowfish privacy: differential privacy tuned by a policy of what is secret and what is already known.

Names are imported when they are first used, so that ``import blowfish_privacy`` and ``blowfish --help`` stay instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blowfish_privacy.support.on_demand import attributes_of
from blowfish_privacy.version import __version__

if TYPE_CHECKING:
    from blowfish_privacy.batch import Batch
    from blowfish_privacy.domain import Bin, Binned, Categorical, Date, Decimal, Domain, Hierarchy, Integer
    from blowfish_privacy.engines import Counts
    from blowfish_privacy.errors import (
        BlowfishError,
        BlowfishWarning,
        BudgetError,
        DataError,
        DomainError,
        LedgerError,
        PolicyError,
        QueryError,
        RefusalError,
        SpecError,
    )
    from blowfish_privacy.estimator import KMeansEstimator
    from blowfish_privacy.graphs import (
        AddRemove,
        Attributes,
        ByValue,
        DistanceThreshold,
        ExplicitGraph,
        FullDomain,
        Partition,
        PerAttribute,
        Public,
        Within,
    )
    from blowfish_privacy.known_facts.facts import KnownCount, KnownMarginal
    from blowfish_privacy.policies import Policy
    from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity
    from blowfish_privacy.queries import (
        Cumulative,
        Histogram,
        KMeans,
        Linear,
        Mean,
        Median,
        Quantiles,
        RangeGrid,
        Ranges,
        Sum,
        Synthetic,
        Tables,
    )
    from blowfish_privacy.results import load
    from blowfish_privacy.session import Session
    from blowfish_privacy.support.progress import progress_to

_HOME = {
    "batch": "Batch",
    "domain": "Bin Binned Categorical Date Decimal Domain Hierarchy Integer",
    "estimator": "KMeansEstimator",
    "engines": "Counts",
    "errors": "BlowfishError BlowfishWarning BudgetError DataError DomainError LedgerError "
    "PolicyError QueryError RefusalError SpecError",
    "graphs": "AddRemove Attributes ByValue DistanceThreshold ExplicitGraph FullDomain "
    "Partition PerAttribute Public Within",
    "known_facts.facts": "KnownCount KnownMarginal",
    "policies": "Policy",
    "privacy.sensitivity": "Sensitivity sensitivity",
    "queries": "Cumulative Histogram KMeans Linear Mean Median Quantiles RangeGrid Ranges Sum Synthetic Tables",
    "results": "load",
    "session": "Session",
    "support.progress": "progress_to",
}
__all__ = [
    "AddRemove",
    "Attributes",
    "Batch",
    "Bin",
    "Binned",
    "BlowfishError",
    "BlowfishWarning",
    "BudgetError",
    "ByValue",
    "Categorical",
    "Counts",
    "Cumulative",
    "DataError",
    "Date",
    "Decimal",
    "DistanceThreshold",
    "Domain",
    "DomainError",
    "ExplicitGraph",
    "FullDomain",
    "Hierarchy",
    "Histogram",
    "Integer",
    "KMeans",
    "KMeansEstimator",
    "KnownCount",
    "KnownMarginal",
    "LedgerError",
    "Linear",
    "Mean",
    "Median",
    "Partition",
    "PerAttribute",
    "Policy",
    "PolicyError",
    "Public",
    "Quantiles",
    "QueryError",
    "RangeGrid",
    "Ranges",
    "RefusalError",
    "Sensitivity",
    "Session",
    "SpecError",
    "Sum",
    "Synthetic",
    "Tables",
    "Within",
    "__version__",
    "load",
    "progress_to",
    "sensitivity",
]

__getattr__ = attributes_of(__name__, {module: names.split() for module, names in _HOME.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
