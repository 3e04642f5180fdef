"""Release documents for fixed bits, over every mechanism, query and kind of policy that go together.

Write what they are now, after a change that means to change them: ``python tests/documents/cases.py``.
"""

import json
import re
import warnings
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.testing.seeded import SeededSource

STORED = Path(__file__).parent / "digests.json"

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
}

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown": {"size": "unknown"},
    "rows": {"rows_per_person": 3},
    "facts": {"known": [bp.KnownCount(where={"v": (4, 5)})]},
    "moves": {"known": [bp.KnownCount(where={"v": (4, 5)})], "compensation": "secret-moves"},
}

QUERIES = {
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
}

MECHANISMS = [
    *(None, "laplace", "ordered", "ordered-hierarchical", "smooth-hierarchy", "grid-flow", "grid-hierarchy"),
    *("soft-grid", "soft-mesh", "lloyd", "adaptive-leaves", "adaptive-grid"),
]


def documents(every: int = 1) -> Iterator[tuple[str, str]]:
    """Go through cases: the name of each, and its document or the words of its refusal, but for the time."""
    cases = product(DOMAINS, SECRETS, OPTIONS, QUERIES, MECHANISMS)
    for domain, secrets, options, query, mechanism in islice(cases, 0, None, every):
        if set(QUERIES[query].attributes) <= set(DOMAINS[domain].names):
            name = f"{domain} {secrets} {options} {query} {mechanism or 'default'}"
            text = document(DOMAINS[domain], SECRETS[secrets], OPTIONS[options], QUERIES[query], mechanism)
            if text is not None:
                yield name, text


def document(domain: Any, secrets: Any, options: dict[str, Any], query: Any, mechanism: str | None) -> str | None:
    """Release with fixed bits; None where the policy cannot be or the mechanism does not answer such queries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            policy = bp.Policy(domain, secrets=secrets, **options)
        except bp.BlowfishError:
            return None
        counts = np.random.default_rng(7).integers(0, 30, domain.shape)
        session = bp.Session(bp.Counts(counts), policy, budget=100, source=SeededSource(11))
        try:
            result = session.release(query, epsilon="0.8", mechanism=mechanism, key="fixed")
        except bp.BlowfishError as error:
            return None if "cannot answer" in error.message else f"{type(error).__name__}: {error.message}"
    body = json.loads(result.text)
    return json.dumps({key: value for key, value in body.items() if key not in ("time", "sha256")}, indent=1)


def digest(text: str) -> str:
    """Hash a document, to nine digits where it states an expected error: processors differ in the last ones."""
    return sha256(re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", text).encode()).hexdigest()[
        :16
    ]


def digests(every: int = 1) -> dict[str, str]:
    """Hash the documents: all, or one of so many."""
    return {name: digest(text) for name, text in documents(every)}


if __name__ == "__main__":
    STORED.write_text(json.dumps(digests(), indent=0) + "\n")
