"""Release documents for fixed bits, over every mechanism, query, measure and kind of policy that go together."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.testing.seeded import SeededSource
from documents.fixed import stable

DOMAINS = {
    "line": bp.Domain(v=bp.Integer(3, 42)),
    "bins": bp.Domain(v=bp.Binned([0, 1, 2.5, 4, 8, 16, 20])),
    "plane": bp.Domain(v=bp.Integer(0, 8), w=bp.Integer(-2, 4)),
    "mixed": bp.Domain(v=bp.Integer(17, 26), sex=bp.Categorical(["Female", "Male"])),
}

SECRETS = {
    "full": bp.FullDomain(),
    "attributes": bp.Attributes(),
    "threshold": bp.DistanceThreshold(3),
    "partition": bp.Partition(widths={"v": 4}),
    "edges": bp.ExplicitGraph([({"v": 4}, {"v": 5}), ({"v": 5}, {"v": 8})]),
    "product": bp.PerAttribute(v=bp.DistanceThreshold(2), sex=bp.Public()),
    "blocks": bp.PerAttribute(v=bp.Partition(widths=5), w=bp.DistanceThreshold(1)),
    "public": bp.Public(),
    "presence": bp.AddRemove(),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown": {"size": "unknown"},
    "rows": {"rows_per_person": 3},
    "facts": {"known": [bp.KnownCount(where={"v": (4, 5)})]},
    "moves": {"known": [bp.KnownCount(where={"v": (4, 5)})], "compensation": "secret-moves"},
}

QUERIES: dict[str, Any] = {
    "histogram": bp.Histogram("v"),
    "table": bp.Histogram("v", "sex"),
    "cumulative": bp.Cumulative("v"),
    "quantiles": bp.Quantiles("v", ["0.25", "0.5"]),
    "ranges": bp.Ranges("v", [(4, 8)]),
    "sum": bp.Sum("v"),
    "mean": bp.Mean("v"),
    "linear": bp.Linear(lambda v: (str(v) >= "5", len(str(v))), attributes=["v"]),
    "grid": bp.RangeGrid("v", "w"),
    "clusters": bp.KMeans(["v"], 2),
    "plane-clusters": bp.KMeans(["v", "w"], 3),
    "weighted-mean": bp.Mean("w").weighted("v"),
    "selected": bp.Histogram("v").where(sex="Female"),
    "groups": bp.Mean("v").by("sex"),
    "tables": bp.Tables([["v"], ["v", "sex"]]),
    "records": bp.Synthetic(["v", "sex"], workload=2),
}

BESIDE = {
    **dict.fromkeys(("table", "selected", "groups", "tables", "records"), "sex"),
    **dict.fromkeys(("grid", "plane-clusters", "weighted-mean"), "w"),
}
"""The other attribute that a query asks about."""

MEASURES: dict[str, tuple[Any, dict[str, str]]] = {
    "epsilon": (100, {"epsilon": "0.8"}),
    "rho": ({"rho": 100}, {"rho": "0.08"}),
    "delta": ({"epsilon": 100, "delta": "1e-6"}, {"epsilon": "0.8", "delta": "1e-9"}),
}

OPTIONS_OF = {"epsilon": [*OPTIONS], "rho": ["plain", "unknown"], "delta": ["plain"]}

ONE_OF_EACH = {
    "adaptive-grid": "plane full plain grid epsilon",
    "counted-grid": "plane presence plain plane-clusters epsilon",
    "gaussian": "mixed product plain table rho",
    "gaussian-flow": "plane threshold plain grid rho",
    "gaussian-grid": "plane full plain grid rho",
    "gaussian-hierarchy": "line full unknown quantiles rho",
    "gaussian-marginals": "mixed product plain tables rho",
    "gaussian-ordered": "line threshold plain cumulative rho",
    "grid-flow": "plane threshold plain grid epsilon",
    "grid-hierarchy": "plane full plain grid epsilon",
    "laplace": "mixed partition rows histogram epsilon",
    "lloyd": "line threshold plain clusters epsilon",
    "marginals": "mixed public plain tables epsilon",
    "mean-offsets": "line full unknown mean epsilon",
    "ordered": "line threshold plain ranges epsilon",
    "ordered-hierarchical": "line full plain quantiles epsilon",
    "smooth-hierarchy": "bins full rows cumulative epsilon",
    "soft-grid": "plane blocks plain plane-clusters epsilon",
    "soft-mesh": "plane threshold plain plane-clusters epsilon",
    "synthetic": "mixed full plain records rho",
    "synthetic-laplace": "mixed full plain records epsilon",
    "weighted-offsets": "plane full plain weighted-mean epsilon",
}
"""A release by every mechanism that can be named: the quick part of the net."""

_NOT_ITS = ("cannot answer", " loses rho, not ", " loses epsilon, not ")


def releases(domain: str, measure: str) -> Iterator[tuple[str, str]]:
    """Release all that can be asked about a domain in a measure."""
    for secrets, options, query in product(SECRETS, OPTIONS_OF[measure], QUERIES):
        named = sorted(MECHANISMS) if measure != "delta" and options in ("plain", "unknown") else ()
        for mechanism in [None, *named]:
            yield from _named(domain, secrets, options, query, measure, mechanism)


def one_of_each() -> Iterator[tuple[str, str]]:
    """Release once by every mechanism, and by the one that is chosen in its place."""
    for mechanism, names in ONE_OF_EACH.items():
        for name, text in _named(*names.split(), mechanism):
            if f'"name": "{mechanism}"' not in text:
                raise ValueError(f"{name} is no release by it: {text}")
            yield name, text


def _named(
    domain: str, secrets: str, options: str, query: str, measure: str, mechanism: str | None
) -> Iterator[tuple[str, str]]:
    # Scales of sets of tables in epsilon are searched for, and processors end in different places.
    searched = query == "tables" and measure != "rho" and secrets != "public"
    if BESIDE.get(query, "v") in DOMAINS[domain].names and not searched:
        text = _document(DOMAINS[domain], SECRETS[secrets], OPTIONS[options], QUERIES[query], measure, mechanism)
        if text is not None:
            yield f"{secrets} {options} {query} {mechanism or 'default'}", text


def _document(
    domain: Any, secrets: Any, options: dict[str, Any], query: Any, measure: str, mechanism: str | None
) -> str | None:
    """Release with fixed bits; None where the policy cannot be or the mechanism does not answer such queries so."""
    budget, amount = MEASURES[measure]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            policy = bp.Policy(domain, secrets=secrets, **options)
        except bp.BlowfishError:
            return None
        counts = np.random.default_rng(7).integers(0, 30, domain.shape)
        session = bp.Session(bp.Counts(counts), policy, budget=budget, source=SeededSource(11))
        try:
            result = session.release(query, **amount, mechanism=mechanism, key="fixed")
        except bp.BlowfishError as error:
            unfit = any(words in error.message for words in _NOT_ITS)
            return None if unfit else f"{type(error).__name__}: {error.message}"
    body = json.loads(result.text)
    left = {key: value for key, value in body.items() if key not in ("time", "sha256", "package")}
    return stable(json.dumps(left, indent=1))
