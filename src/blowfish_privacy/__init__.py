"""Blowfish privacy: differential privacy tuned by a policy of what is secret and what is already known.

Names are imported when they are first used, so that ``import blowfish_privacy`` and ``blowfish --help`` stay instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blowfish_privacy.domain import Bin, Binned, Categorical, Domain, Integer
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
    from blowfish_privacy.policies import (
        Attributes,
        DistanceThreshold,
        ExplicitGraph,
        FullDomain,
        KnownCount,
        KnownMarginal,
        Partition,
        PerAttribute,
        Policy,
        Public,
    )

__version__ = "0.1.0"

_HOME = {
    "domain": ["Bin", "Binned", "Categorical", "Domain", "Integer"],
    "errors": [
        "BlowfishError",
        "BlowfishWarning",
        "BudgetError",
        "DataError",
        "DomainError",
        "LedgerError",
        "PolicyError",
        "QueryError",
        "RefusalError",
        "SpecError",
    ],
    "policies": [
        "Attributes",
        "DistanceThreshold",
        "ExplicitGraph",
        "FullDomain",
        "KnownCount",
        "KnownMarginal",
        "Partition",
        "PerAttribute",
        "Policy",
        "Public",
    ],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Attributes",
    "Bin",
    "Binned",
    "BlowfishError",
    "BlowfishWarning",
    "BudgetError",
    "Categorical",
    "DataError",
    "DistanceThreshold",
    "Domain",
    "DomainError",
    "ExplicitGraph",
    "FullDomain",
    "Integer",
    "KnownCount",
    "KnownMarginal",
    "LedgerError",
    "Partition",
    "PerAttribute",
    "Policy",
    "PolicyError",
    "Public",
    "QueryError",
    "RefusalError",
    "SpecError",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
